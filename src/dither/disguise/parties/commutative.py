"""Encryption that commutes: under two keys it does not matter which came first (Pohlig, Hellman 1978).

A name is hashed to a square modulo a safe prime, and raised to a secret power. Squares form a group of prime order, so
that every power but 0 can be undone, and powers are exchanged freely. The prime is that of group 14 of RFC 3526, with
2,048 bits. That nothing is learned of names rests on the decisional Diffie-Hellman assumption in that group, with
exponents of 256 bits, and on the hash being like a random function; somebody who holds a key can try names one by one.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

#: 2^2048 - 2^1984 - 1 + 2^64 (floor(2^1918 pi) + 124476).
PRIME: Final = int(
    "FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74"
    "020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6DF25F1437"
    "4FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
    "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3DC2007CB8A163BF05"
    "98DA48361C55D39A69163FA8FD24CF5F83655D23DCA3AD961C62F356208552BB"
    "9ED529077096966D670C354E4ABC9804F1746C08CA18217C32905E462E36CE3B"
    "E39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF695581718"
    "3995497CEA956AE515D2261898FA051015728E5A8AACAA68FFFFFFFFFFFFFFFF",
    16,
)
_EXPONENT_BITS: Final = 256
#: More bits than the prime has, so that the remainder is as good as even.
_HASH_BYTES: Final = 256 + 16


def square_of(name: str) -> int:
    """Return the element of the group that a name is hashed to."""
    wide = hashlib.shake_256(b"dither two parties 1:" + name.encode()).digest(_HASH_BYTES)
    return pow(int.from_bytes(wide, "big") % PRIME, 2, PRIME)


@dataclass(frozen=True, repr=False)
class CommutativeKey:
    """A secret exponent, drawn anew for every key."""

    _exponent: int = field(default_factory=lambda: secrets.randbits(_EXPONENT_BITS) | 1)

    def over(self, elements: Iterable[int]) -> list[int]:
        """Return elements of the group under this key, in their order."""
        try:
            from gmpy2 import powmod
        except ImportError:
            return [pow(one, self._exponent, PRIME) for one in elements]
        return [int(powmod(one, self._exponent, PRIME)) for one in elements]
