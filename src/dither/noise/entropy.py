"""Uniform random words from the operating system, expanded by AES in counter mode.

With ``noise.client_words``, which serves clients, the only module that draws from the system generator. Every thread of
every process has its own key, taken from ``os.urandom``; a forked child throws its parent's keys away, and a key is
replaced after 2^30 bytes. There is no seed and no fallback: if the system gives no bits, nothing is drawn.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from dither.errors import EntropyFailure, HandleMisuse
from dither.noise.chances import Chance

_KEY_BYTES = 16
_BUFFER_BYTES = 1 << 16
_BYTES_PER_KEY = 1 << 30


class Entropy(Protocol):
    """A source of independent uniform words.

    Samplers are written for any ``word_bits``, so that the same code that runs with 16-bit words can be enumerated
    exhaustively with 2- to 4-bit words.
    """

    @property
    def word_bits(self) -> int:
        """The number of bits in a word; at most 16."""

    def words(self, count: int) -> NDArray[np.uint16]:
        """Return ``count`` independent words, uniform on [0, 2^word_bits)."""


class Tosser(ABC):
    """A source that decides whole coins itself, given their probability.

    Only for enumerating laws: a coin has two outcomes, however many words it takes to decide it.
    """

    @abstractmethod
    def toss(self, chance: Chance) -> bool:
        """Return one coin that is heads with that probability."""


def _system_bytes(count: int) -> bytes:
    try:
        return os.urandom(count)
    except (OSError, NotImplementedError) as failure:
        raise EntropyFailure("the operating system gave no random bytes") from failure


class _Stream:
    """One AES-CTR key stream, used by one thread of one process."""

    def __init__(self) -> None:
        self.process = os.getpid()
        #: Called before the next byte is handed out, and forgotten when it has returned.
        self.before: Callable[[], None] | None = None
        self._busy = False
        self._zeros = bytes(_BUFFER_BYTES)
        self._rekey()

    def _rekey(self) -> None:
        secret = _system_bytes(_KEY_BYTES + 16)
        self._cipher: CipherContext = Cipher(AES(secret[:_KEY_BYTES]), CTR(secret[_KEY_BYTES:])).encryptor()
        self._left = _BYTES_PER_KEY
        self._buffer, self._cursor = b"", 0

    def begin(self) -> None:
        """Do what is to be done before the next byte, if it is not done yet."""
        if self.before is not None:
            self.before()
            self.before = None

    def take(self, count: int) -> bytes:
        """Return fresh bytes, each used once."""
        self.begin()
        if self._busy:
            # A signal handler interrupted this very method: do not touch the half-moved cursor.
            return _system_bytes(count)
        self._busy = True
        try:
            start, end = self._cursor, self._cursor + count
            if end <= len(self._buffer):
                self._cursor = end
                return self._buffer[start:end]
            if count >= _BUFFER_BYTES // 4:
                return self._generate(count)
            self._buffer, self._cursor = self._generate(_BUFFER_BYTES), count
            return self._buffer[:count]
        finally:
            self._busy = False

    def _generate(self, count: int) -> bytes:
        if count > _BYTES_PER_KEY:
            # More than one key may give: each key its share.
            return b"".join(
                self._generate(min(_BYTES_PER_KEY, count - done)) for done in range(0, count, _BYTES_PER_KEY)
            )
        if count > self._left:
            self._rekey()
        self._left -= count
        zeros = self._zeros[:count] if count <= _BUFFER_BYTES else bytes(count)
        return self._cipher.update(zeros)


_local = threading.local()


def _forget() -> None:
    """Discard all key streams: the child of a fork must not share its parent's."""
    global _local
    _local = threading.local()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _stream() -> _Stream:
    stream: _Stream | None = getattr(_local, "stream", None)
    # The process number is compared as well: a fork that bypasses Python's hooks is noticed here.
    if stream is None or stream.process != os.getpid():
        stream = _local.stream = _Stream()
    return stream


@contextmanager
def before_first_draw(act: Callable[[], None]) -> Iterator[None]:
    """Call ``act`` before this thread draws its first random byte inside the block, once; if it raises, none is drawn.

    An ``act`` that raised is called again before the next attempt to draw: no byte comes before it has returned.
    """
    stream = _stream()
    if stream.before is not None:
        raise HandleMisuse("something else is to be done before this thread draws")
    stream.before = act
    try:
        yield
    finally:
        stream.before = None


def about_to_draw() -> None:
    """Do now what ``before_first_draw`` is to do, whether or not the draw that follows needs a byte.

    How many bytes a draw needs may depend on private values: noise for no cells needs none. That a draw was asked for
    does not.
    """
    stream: _Stream | None = getattr(_local, "stream", None)
    if stream is not None:
        stream.begin()


class SystemEntropy:
    """16-bit words from the operating system's generator. Stateless, so copies and pickles are safe."""

    word_bits = 16

    def words(self, count: int) -> NDArray[np.uint16]:
        """Return ``count`` independent uniform 16-bit words."""
        return np.frombuffer(_stream().take(2 * count), dtype=np.uint16)
