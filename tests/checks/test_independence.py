"""Samples and noise are independent: each check passes on what is registered, and is stopped by what it is for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from dither.checks import ContractViolation
from dither.checks.independence import (
    check_noise_of_every_tick,
    check_own_words,
    check_samples_apart,
    check_words_once,
)
from dither.checks.sampling import check_samples_in_turn
from dither.mechanisms import Composed, Example, Geometric, Numerics, TickNoise, find
from dither.mechanisms.core.runner import Runner
from dither.noise import Noise
from dither.noise.entropy import _Stream
from dither.noise.kept import KeptEntropy
from dither.noise.tapes import KeyedTapes
from dither.privacy import ROW, Plan, Repeat, Use
from dither.testing.replay import RecordingRunner, Tape
from dither.testing.words import repeated

SAMPLING = ["minibatch-descent", "bootstrap-means", "poisson-sample", "fixed-size-sample"]


def examples(name: str) -> list[Example]:
    return list(find(name).examples())


@pytest.mark.parametrize("name", SAMPLING)
def test_every_step_samples_for_itself(name: str) -> None:
    for example in examples(name):
        check_samples_apart(example)


def several(name: str) -> Example:
    """Return an example with several samples."""
    example = examples(name)[0]
    return replace(example, mechanism=replace(example.mechanism, bags=3)) if name == "bootstrap-means" else example


@pytest.mark.parametrize("name", SAMPLING[:2])
def test_a_sample_that_serves_every_step_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = Runner.sampled

    def reused(self: Any, data: Any, rate: Any) -> Any:
        rows, inner = before(self, data, rate)
        return self.__dict__.setdefault("_kept", rows), inner

    check_samples_apart(several(name))
    monkeypatch.setattr(Runner, "sampled", reused)
    with pytest.raises(ContractViolation, match="sample of step"):
        check_samples_apart(several(name))


def test_rows_taken_without_the_sample_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sample is drawn, and everything is used."""
    before = Runner.sampled
    monkeypatch.setattr(Runner, "sampled", lambda self, data, rate: (data, before(self, data, rate)[1]))
    with pytest.raises(ContractViolation, match="decides nothing"):
        check_samples_apart(examples("poisson-sample")[0])


def test_a_runner_that_keeps_its_sample_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Runner._sample

    def kept(self: Any, data: Any, rate: Any) -> Any:
        return self.__dict__.setdefault("_mask", before(self, data, rate))

    monkeypatch.setattr(Runner, "_sample", kept)
    with pytest.raises(ContractViolation, match="same sample twice"):
        check_samples_in_turn(Fraction(1, 3))


def test_equal_rows_and_equal_steps_are_told_apart() -> None:
    runner = RecordingRunner(examples("poisson-sample")[0].mechanism.plan(), Noise(None), tape=Tape(given=7))  # type: ignore[arg-type, attr-defined]
    rows = [5] * 400
    first, second = runner._hashes(rows), runner._hashes(rows)
    assert len({*first, *second}) == 800


@pytest.mark.parametrize("name", ["laplace", "tree-counter", "noisy-moments", "prefix-counter", "above-threshold"])
def test_every_draw_has_its_own_words(name: str) -> None:
    for example in examples(name):
        check_own_words(example)
        check_words_once(example)


@dataclass(frozen=True, kw_only=True)
class TwoCounts(Composed[Any, tuple[int, int]]):
    """How many rows there are, twice."""

    name: ClassVar[str] = "two-counts"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    part: ClassVar[Geometric] = Geometric(scale=3)
    distance: ClassVar[Any] = ROW

    def plan(self) -> Plan:
        return Repeat(Use(self.part), 2)

    def release(self, data: Any, run: Runner) -> tuple[int, int]:
        return run(self.part, len(data)), run(self.part, len(data))


@pytest.mark.parametrize("mechanism", [Geometric(scale=3), TwoCounts()], ids=["one part", "a plan"])
def test_noise_that_is_kept_for_the_next_draw_is_found(mechanism: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    example = Example(mechanism, 3 if isinstance(mechanism, Geometric) else [1, 2, 3])
    check_own_words(example)
    before = Noise.discrete_laplace

    def kept(self: Any, scale: Any, size: int) -> Any:
        return self.__dict__.setdefault("_drawn", {}).setdefault((scale, size), before(self, scale, size))

    monkeypatch.setattr(Noise, "discrete_laplace", kept)
    with pytest.raises(ContractViolation, match="also serve"):
        check_own_words(example)


def test_a_stream_of_words_that_stands_still_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    before = _Stream.take

    def again(self: Any, count: int) -> bytes:
        start = self._cursor
        found = before(self, count)
        if start + count <= len(self._buffer):
            self._cursor = start
        return found

    monkeypatch.setattr(_Stream, "take", again)
    with pytest.raises(ContractViolation, match="handed out twice"):
        check_words_once(examples("identity-histogram")[0])


def test_noise_of_one_tick_that_serves_the_next_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    example = Example(TickNoise(steps=6, node=Geometric(scale=3)), [1, 0, 2])
    check_noise_of_every_tick(example)
    before, drawn = TickNoise.reply, {}

    def reused(self: Any, state: Any, value: Any, noise: Noise) -> tuple[Any, bool]:
        answer, is_over = before(self, state, value, noise)
        return value + drawn.setdefault(id(state), answer - value), is_over

    monkeypatch.setattr(TickNoise, "reply", reused)
    with pytest.raises(ContractViolation, match="follows from that of earlier ticks"):
        check_noise_of_every_tick(example)


@pytest.mark.parametrize(
    "name", ["window-publisher", "tick-noise", "tree-counter", "hybrid-counter", "decayed-counter"]
)
def test_every_tick_has_noise_of_its_own_or_says_nothing_new(name: str) -> None:
    for example in examples(name):
        check_noise_of_every_tick(example)


def test_kept_words_and_tapes_never_come_again() -> None:
    """What outlives a process: long conversations from one key, and the tapes of a stream by their names."""
    kept = KeptEntropy(bytes(32))
    words = np.concatenate([kept.words(2**15 + 3) for _ in range(3)])
    assert repeated(words) == 0
    tapes = KeyedTapes(bytes(range(32)))
    assert repeated(np.concatenate([tapes.tape(*name).words(64) for name in ((0,), (1,), (0, 1), (1, 0), (11,))])) == 0
