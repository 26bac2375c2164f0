"""Words from a key that is kept: the same key gives the same words again, in this process or a later one.

For conversations that outlive a process. Whoever has the key can compute the noise; so it is made by the system's
generator, kept like the rows themselves, and used for one conversation.
"""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR
from numpy.typing import NDArray

from dither.errors import InvalidParameter

KEY_BYTES = 32
_BLOCK_BYTES = 1 << 16


class KeptEntropy:
    """16-bit words that follow from a key, one after the other, however many are asked for at once.

    Args:
        key: 32 secret bytes.
        has_keyed_tapes: whether tapes have a key of their own, drawn from the words, and need no memory. Conversations
            that were begun without continue without.

    >>> one, other = KeptEntropy(bytes(32)), KeptEntropy(bytes(32))
    >>> one.words(3).tolist() + one.words(2).tolist() == other.words(5).tolist()
    True

    """

    word_bits = 16

    def __init__(self, key: bytes, *, has_keyed_tapes: bool = False) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            raise InvalidParameter("key", f"{len(key)} bytes", f"{KEY_BYTES} bytes")
        self._key = key
        self.has_keyed_tapes = has_keyed_tapes
        self._blocks = 0
        self._rest = b""

    @property
    def position(self) -> int:
        """How many 16-bit numbers were read."""
        return (self._blocks * _BLOCK_BYTES - len(self._rest)) // 2

    @position.setter
    def position(self, words: int) -> None:
        self._blocks, used = divmod(2 * words, _BLOCK_BYTES)
        self._rest = self._block()[used:] if used else b""

    def words(self, count: int) -> NDArray[np.uint16]:
        """Return the next ``count`` words."""
        parts, missing = [self._rest], 2 * count - len(self._rest)
        while missing > 0:
            parts.append(self._block())
            missing -= _BLOCK_BYTES
        found = b"".join(parts)
        self._rest = found[2 * count :]
        return np.frombuffer(found[: 2 * count], dtype=np.uint16)

    def _block(self) -> bytes:
        """Return the next block, from a key that follows from the kept one and from its number alone."""
        derived = hmac.digest(self._key, self._blocks.to_bytes(8, "big"), hashlib.sha256)
        self._blocks += 1
        return Cipher(AES(derived[:16]), CTR(derived[16:])).encryptor().update(bytes(_BLOCK_BYTES))
