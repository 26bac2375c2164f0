"""The system's bits: never twice, never stale, never from anywhere else.

Whoever draws takes 16 bytes at a time, the size of one AES block: two workers that share a key and a counter would show
the same block. By chance two of 50,000 random blocks agree once in 10^29 runs.
"""

from __future__ import annotations

import ast
import copy
import errno
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from dither.errors import EntropyFailure, HandleMisuse
from dither.noise import Noise, SystemEntropy, entropy, system_noise
from dither.noise.entropy import before_first_draw

BLOCK_BYTES = 16
BLOCKS_PER_WORKER = 1_000
WORDS_PER_WORKER = BLOCKS_PER_WORKER * BLOCK_BYTES // 2

may_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
# Newer Pythons warn of forks beside threads; here the child only draws, writes and leaves.
forks_on_purpose = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


def blocks(stretch: bytes) -> list[bytes]:
    return [stretch[at : at + BLOCK_BYTES] for at in range(0, len(stretch), BLOCK_BYTES)]


def repeats(stretches: list[bytes]) -> int:
    every = [block for stretch in stretches for block in blocks(stretch)]
    return len(every) - len(set(every))


def draw_singly(source: SystemEntropy) -> bytes:
    return b"".join(source.words(BLOCK_BYTES // 2).tobytes() for _ in range(BLOCKS_PER_WORKER))


def draw_through_noise(noise: Noise) -> bytes:
    """Return 8,000 uniform 2-byte integers, which are the words themselves."""
    return noise.uniform_below(2**16, WORDS_PER_WORKER).astype(np.uint16).tobytes()


def in_threads(workers: list[Callable[[], bytes]]) -> list[bytes]:
    drawn: list[bytes] = []
    barrier = threading.Barrier(len(workers))

    def run(worker: Callable[[], bytes]) -> None:
        barrier.wait()
        drawn.append(worker())

    threads = [threading.Thread(target=run, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return drawn


def in_forks(workers: list[Callable[[], bytes]]) -> list[bytes]:
    """Fork one child for each worker, all of them before the first has drawn."""
    pipes = []
    for worker in workers:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reader)
                with os.fdopen(writer, "wb") as sink:
                    sink.write(worker())
            finally:
                os._exit(0)
        os.close(writer)
        pipes.append((child, reader))
    drawn = []
    for child, reader in pipes:
        with os.fdopen(reader, "rb") as source:
            drawn.append(source.read())
        assert os.waitpid(child, 0)[1] == 0
    return drawn


def in_forks_of_forks(worker: Callable[[], bytes]) -> bytes:
    return in_forks([worker])[0] + worker()


@may_fork
@forks_on_purpose
def test_no_block_is_drawn_by_two_of_fifty_workers() -> None:
    source, noise = SystemEntropy(), system_noise()
    copies = [pickle.loads(pickle.dumps(source)), copy.deepcopy(source)]  # noqa: S301
    noises = [pickle.loads(pickle.dumps(noise)), copy.deepcopy(noise)]  # noqa: S301
    # The parent is in the middle of its buffer, so that a child which kept it would go on with the same bytes.
    stretches = [draw_singly(source)]
    workers = [
        *(lambda one=one: draw_singly(one) for one in (source, *copies) * 4),
        *(lambda one=one: draw_through_noise(one) for one in (noise, *noises) * 4),
    ][:21]
    stretches += in_threads(workers)
    stretches += in_forks(workers)
    stretches += in_forks([lambda: in_forks_of_forks(lambda: draw_singly(source))])
    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        stretches += [words.tobytes() for words in pool.map(source.words, [WORDS_PER_WORKER] * 2, chunksize=1)]
    # A spawned process starts from nothing and unpickles the source.
    with multiprocessing.get_context("spawn").Pool(3, maxtasksperchild=1) as pool:
        stretches += [words.tobytes() for words in pool.map(source.words, [WORDS_PER_WORKER] * 3, chunksize=1)]
    stretches.append(draw_singly(source))
    assert sum(map(len, stretches)) >= 50 * BLOCKS_PER_WORKER * BLOCK_BYTES
    assert repeats(stretches) == 0


@may_fork
@forks_on_purpose
def test_a_key_kept_over_a_fork_would_be_seen() -> None:
    kept = entropy._Stream()
    kept.take(BLOCK_BYTES)

    def draw_from_kept() -> bytes:
        return b"".join(kept.take(BLOCK_BYTES) for _ in range(BLOCKS_PER_WORKER))

    assert repeats(in_forks([draw_from_kept, draw_from_kept])) == BLOCKS_PER_WORKER


@may_fork
@forks_on_purpose
def test_a_fork_that_no_hook_announces_is_seen_by_its_process_number(monkeypatch: pytest.MonkeyPatch) -> None:
    SystemEntropy().words(8)
    stream = entropy._stream()
    assert entropy._stream() is stream
    monkeypatch.setattr(entropy.os, "getpid", lambda: stream.process + 1)
    assert entropy._stream() is not stream


def test_each_thread_has_a_key_of_its_own() -> None:
    seen: list[Any] = []
    thread = threading.Thread(target=lambda: seen.append(entropy._stream()))
    thread.start()
    thread.join()
    assert seen[0] is not entropy._stream()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The secrets that the system hands out from here on."""
    handed: list[bytes] = []
    real = os.urandom

    def urandom(count: int) -> bytes:
        handed.append(real(count))
        return handed[-1]

    monkeypatch.setattr(entropy.os, "urandom", urandom)
    return handed


def test_a_key_serves_two_to_the_thirtieth_bytes() -> None:
    assert entropy._BYTES_PER_KEY == 2**30


@pytest.mark.parametrize("at_once", [16, 1000, 1 << 14, 1 << 16, 100_000])
def test_key_is_replaced_when_its_bytes_are_used(
    at_once: int, keys: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entropy, "_BYTES_PER_KEY", 1 << 18)
    stream = entropy._Stream()
    stretches, ciphers = [], {id(stream._cipher): stream._cipher}
    for _ in range((1 << 20) // at_once):
        stretches.append(stream.take(at_once))
        ciphers[id(stream._cipher)] = stream._cipher
    assert all(len(stretch) == at_once for stretch in stretches)
    # A mebibyte at a quarter each; large requests do not fill a key to the brim.
    assert 4 <= len(keys) <= 8
    assert len(set(keys)) == len(keys) == len(ciphers)
    joined = b"".join(stretches)
    assert repeats([joined[: len(joined) // BLOCK_BYTES * BLOCK_BYTES]]) == 0


def test_same_secret_again_would_give_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the test above relies on: only the fresh secret makes the bytes differ."""
    monkeypatch.setattr(entropy, "_BYTES_PER_KEY", 1 << 16)
    monkeypatch.setattr(entropy.os, "urandom", lambda count: bytes(count))
    stream = entropy._Stream()
    assert stream.take(1 << 16) == stream.take(1 << 16)


def test_buffer_of_the_old_key_is_not_mixed_with_the_new(keys: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy, "_BYTES_PER_KEY", 1 << 16)
    stream = entropy._Stream()
    first = stream.take(16)
    large = stream.take(1 << 16)
    assert len(keys) == 2
    assert repeats([first, large, stream.take(16)]) == 0


def interrupted_everywhere(draw: Callable[[], bytes], handler: Callable[[], bytes]) -> tuple[bytes, list[bytes]]:
    """Draw while ``handler`` is called before every single instruction of ``dither.noise.entropy``."""
    interruptions: list[bytes] = []

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != entropy.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            interruptions.append(handler())
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        drawn = draw()
    finally:
        sys.settrace(before)
    return drawn, interruptions


@pytest.mark.parametrize("words", [8, 1 << 13, 1 << 16])
@pytest.mark.parametrize("fresh", [True, False])
def test_signal_handler_may_draw_at_any_instruction(words: int, fresh: bool) -> None:
    """A handler that interrupts a draw gets other bytes, and leaves those of the interrupted draw alone."""
    source = SystemEntropy()
    if fresh:
        entropy._forget()
    drawn, interruptions = interrupted_everywhere(
        lambda: b"".join(source.words(words).tobytes() for _ in range(3)), lambda: source.words(8).tobytes()
    )
    assert len(drawn) == 3 * 2 * words
    assert len(interruptions) > 30
    assert repeats([drawn, *interruptions]) == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timer")
def test_real_signals_during_draws() -> None:
    source, interruptions = SystemEntropy(), []

    def handle(number: int, frame: FrameType | None) -> None:
        interruptions.append(source.words(8).tobytes())

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
        stretches, deadline = [], time.monotonic() + 120
        while len(interruptions) < 50 and time.monotonic() < deadline:
            stretches.append(source.words(8 * 500).tobytes())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(interruptions) >= 50
    assert repeats([*stretches, *interruptions]) == 0


@pytest.fixture(
    params=[OSError(errno.ENOSYS, "no getrandom"), NotImplementedError("no source of randomness")], ids=repr
)
def no_system_bits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def urandom(count: int) -> bytes:
        raise request.param

    entropy._forget()
    monkeypatch.setattr(entropy.os, "urandom", urandom)
    yield
    entropy._forget()


DRAWS: dict[str, Callable[[Noise], Any]] = {
    "discrete_laplace": lambda noise: noise.discrete_laplace(1, 3),
    "discrete_gaussian": lambda noise: noise.discrete_gaussian(1, 3),
    "geometric": lambda noise: noise.geometric(1, 3),
    "bernoulli": lambda noise: noise.bernoulli("1/3", 3),
    "bernoulli_exp": lambda noise: noise.bernoulli_exp(1, 3),
    "uniform_below": lambda noise: noise.uniform_below(10, 3),
    "select": lambda noise: noise.select([1, 2], 1, 3),
    "permute_and_flip": lambda noise: noise.permute_and_flip([1, 2], 1, 3),
    "rounded_laplace_on_grid": lambda noise: noise.rounded_laplace_on_grid(Fraction(2), 3),
    "rounded_laplace": lambda noise: noise.rounded_laplace(Fraction(2), np.array([0.25]), lambda _: Fraction(1, 4)),
    "rounded_gaussian": lambda noise: noise.rounded_gaussian(Fraction(2), np.array([0.25]), lambda _: Fraction(1, 4)),
}


@pytest.mark.usefixtures("no_system_bits")
@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())
def test_without_system_bits_nothing_is_drawn(draw: Callable[[Noise], Any]) -> None:
    for _ in range(2):
        with pytest.raises(EntropyFailure, match="the operating system gave no random bytes") as refusal:
            draw(system_noise())
        assert isinstance(refusal.value.__cause__, OSError | NotImplementedError)


def test_key_that_cannot_be_replaced_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy, "_BYTES_PER_KEY", 1 << 16)
    stream = entropy._Stream()
    stream.take(1 << 16)

    def urandom(count: int) -> bytes:
        raise OSError(errno.EIO, "no bytes")

    monkeypatch.setattr(entropy.os, "urandom", urandom)
    for count in (1 << 16, 16, 1):
        with pytest.raises(EntropyFailure):
            stream.take(count)


def test_interrupting_handler_without_system_bits_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = entropy._Stream()
    stream._busy = True

    def urandom(count: int) -> bytes:
        raise OSError(errno.EIO, "no bytes")

    monkeypatch.setattr(entropy.os, "urandom", urandom)
    with pytest.raises(EntropyFailure):
        stream.take(16)


def test_no_other_source_of_randomness_is_imported() -> None:
    """Only these may name a generator, and only the system's: a client has no NumPy, and so a source of its own."""
    for path in Path(entropy.__file__).parent.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {
            name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for name in (
                [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
            )
        }
        attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        assert not {name.partition(".")[0] for name in imported} & {"random", "secrets", "uuid", "time", "scipy"}
        assert not attributes & {"random", "default_rng", "RandomState", "getrandbits"}
        assert ("urandom" in attributes) == (path.name in ("client_words.py", "entropy.py"))


def test_words_use_all_sixteen_bits_and_cannot_be_written_over() -> None:
    words = SystemEntropy().words(4_000)
    assert words.dtype == np.uint16
    # Each bit is one somewhere and zero somewhere, but for once in 2^3995.
    assert np.bitwise_or.reduce(words) == 0xFFFF
    assert np.bitwise_and.reduce(words) == 0
    assert not words.flags.writeable


def test_what_is_to_be_done_before_the_first_draw_is_done_once() -> None:
    source, done = SystemEntropy(), []
    with before_first_draw(lambda: done.append("told")):
        assert not done
        for _ in range(3):
            source.words(1)
        assert done == ["told"]
        # A thread has a stream of its own.
        assert in_threads([lambda: source.words(1).tobytes()])
    with before_first_draw(lambda: done.append("not drawn")):
        pass
    source.words(1)
    assert done == ["told"]


def test_nothing_is_drawn_before_it_is_done() -> None:
    """Whoever catches the failure and tries to draw again meets it again."""
    tried = []

    def refuse() -> None:
        tried.append(1)
        raise ValueError("not now")

    with before_first_draw(refuse):
        for _ in range(3):
            with pytest.raises(ValueError, match="not now"):
                system_noise().bernoulli("1/2", 1)
        with pytest.raises(HandleMisuse), before_first_draw(refuse):
            pass
    assert len(tried) == 3
    assert system_noise().bernoulli("1/2", 1).size == 1
