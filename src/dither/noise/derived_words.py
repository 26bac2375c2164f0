"""Random words of one release, derived step by step from one secret key and from what each step is used for.

A release that is killed can be drawn again with the same noise only if that noise never meets another value. So every
step, a draw or a secret sample, moves a chain of keyed hashes on by a full description of itself: its mechanism, all
parameters, and the exact value. The words of a step follow from the chain at that step. A run that hands over the same
descriptions gets the same words; from the first difference on, all words are independent. The proof is in
docs/theory/ledger.md.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dither.errors import InvalidParameter
from dither.noise.entropy import _system_bytes
from dither.noise.source import Noise
from dither.noise.tapes import KeyedTapes

KEY_BYTES = 32


def new_key() -> bytes:
    """Return 32 secret bytes of the system's generator; nothing is drawn with them yet."""
    return _system_bytes(KEY_BYTES)


def derived_key(secret: bytes, *purpose: str) -> bytes:
    """Return the 32 bytes that follow from a secret for one purpose (HKDF, RFC 5869).

    Args:
        secret: uniform bytes.
        purpose: any number of texts; different ones have independent keys.

    """
    info = json.dumps(["dither", *purpose]).encode()
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=info).derive(secret)


class DerivedWords:
    """The words of one release.

    Args:
        begin: called once, before the first step; returns the 32 secret bytes from which all words follow. If it
            raises, nothing is drawn.

    >>> one, again, other = (DerivedWords(lambda: bytes(32)) for _ in range(3))
    >>> first = one.noise(b"a count of 3").discrete_laplace(10, 5).tolist()
    >>> first == again.noise(b"a count of 3").discrete_laplace(10, 5).tolist()
    True
    >>> first == other.noise(b"a count of 4").discrete_laplace(10, 5).tolist()
    False

    """

    def __init__(self, begin: Callable[[], bytes]) -> None:
        self._begin = begin
        self._link: bytes | None = None
        self._steps = 0

    def noise(self, description: bytes) -> Noise:
        """Return the samplers of the next step.

        Args:
            description: an unambiguous encoding of what the words are used for, or the SHA-256 of one.

        """
        if self._link is None:
            key = self._begin()
            if not (isinstance(key, bytes) and len(key) == KEY_BYTES):
                raise InvalidParameter("key", "a secret", f"{KEY_BYTES} bytes")
            self._link = key
        self._steps += 1
        step = b"step" + self._steps.to_bytes(8, "big") + hashlib.sha256(description).digest()
        self._link = hmac.digest(self._link, step, "sha256")
        return Noise(KeyedTapes(hmac.digest(self._link, b"words", "sha256")).tape())
