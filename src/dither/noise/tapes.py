"""Words that can be read again: a long stream of noise in the memory of a key.

Noise that mixes all noise so far must be known to any number of digits, long after it was drawn. Keeping it takes
memory that grows with the stream; here a secret key is kept in its place. A tape is a sequence of uniform words with a
public name, made from the key by AES in counter mode: read again, it gives the same words. The key is drawn like any
other noise, and whoever learns it learns all noise of its stream.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from dither.errors import HandleMisuse, InvalidParameter
from dither.noise.chances import Chance
from dither.noise.entropy import Entropy, SystemEntropy, Tosser
from dither.noise.kept import KeptEntropy

KEY_BYTES = 32


class Tapes(ABC):
    """Tapes by their public names, each a sequence of words that begins anew whenever it is asked for."""

    @abstractmethod
    def tape(self, *name: int) -> Entropy:
        """Return the tape of that name, at its beginning."""

    @property
    @abstractmethod
    def key(self) -> bytes:
        """The secret from which all tapes follow."""


class KeyedTapes(Tapes):
    """Tapes of one secret key.

    >>> one, again = (KeyedTapes(bytes(32)).tape(3).words(4).tolist() for _ in range(2))
    >>> one == again, one == KeyedTapes(bytes(32)).tape(4).words(4).tolist()
    (True, False)
    """

    def __init__(self, key: bytes) -> None:
        if not (isinstance(key, bytes) and len(key) == KEY_BYTES):
            raise InvalidParameter("key", "a secret", f"{KEY_BYTES} bytes")
        self._key = key

    @property
    def key(self) -> bytes:
        """The secret key."""
        return self._key

    def tape(self, *name: int) -> Entropy:
        """Return the tape of that name, at its beginning."""
        return _KeyedTape(self._key, repr(name).encode())


class _KeyedTape:
    """16-bit words of AES-256 in counter mode, under a key of its own: a keyed hash of the name."""

    word_bits = 16

    def __init__(self, key: bytes, name: bytes) -> None:
        own = hashlib.blake2b(name, key=key, digest_size=KEY_BYTES).digest()
        self._cipher = Cipher(AES(own), CTR(bytes(16))).encryptor()

    def words(self, count: int) -> NDArray[np.uint16]:
        return np.frombuffer(self._cipher.update(bytes(2 * count)), dtype=np.uint16)


class RecordedTapes(Tapes):
    """Tapes of a source that is not the system's: what was read is kept, and read again."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self._kept: dict[tuple[int, ...], list[int]] = {}

    @property
    def key(self) -> bytes:
        """Refused: nothing shorter than the words themselves says what they are."""
        raise HandleMisuse("noise of a scripted source has no key, and cannot be resumed in another process")

    def tape(self, *name: int) -> Entropy:
        """Return the tape of that name, at its beginning."""
        kept = self._kept.setdefault(name, [])
        kind = _TossedTape if isinstance(self._entropy, Tosser) else _RecordedTape
        return kind(self._entropy, kept)


class _RecordedTape:
    """Reads what was kept, then goes on and keeps more."""

    def __init__(self, entropy: Entropy, kept: list[int]) -> None:
        self._entropy, self._kept, self._place = entropy, kept, 0
        self.word_bits = entropy.word_bits

    def words(self, count: int) -> NDArray[np.uint16]:
        missing = self._place + count - len(self._kept)
        if missing > 0:
            self._kept += self._entropy.words(missing).tolist()
        self._place += count
        return np.array(self._kept[self._place - count : self._place], dtype=np.uint16)


class _TossedTape(_RecordedTape, Tosser):
    """The same for a source that decides whole coins."""

    def toss(self, chance: Chance) -> bool:
        if self._place == len(self._kept):
            assert isinstance(self._entropy, Tosser)  # noqa: S101 - for the type checker
            self._kept.append(int(self._entropy.toss(chance)))
        self._place += 1
        return bool(self._kept[self._place - 1])


def fresh_tapes(entropy: Entropy) -> Tapes:
    """Return tapes of a new secret."""
    if isinstance(entropy, SystemEntropy) or (isinstance(entropy, KeptEntropy) and entropy.has_keyed_tapes):
        return KeyedTapes(entropy.words(KEY_BYTES // 2).tobytes())
    return RecordedTapes(entropy)
