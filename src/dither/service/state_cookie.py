"""What a browser remembers while it is at the issuer: state, nonce and verifier, signed, and good for ten minutes.

The signature is checked before the issuer is contacted: a request with a state that this service did not make costs the
issuer nothing, and nobody waits for it. The key follows from the folder's own, so that every process and every machine
that serves the same ledger reads what another one has signed.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final, NamedTuple

from dither.curator.keys import new_secret

SECONDS: Final = 600


class SignInState(NamedTuple):
    """One sign-in at an issuer.

    Args:
        state: what the browser brings back.
        nonce: what the ID token must have.
        verifier: what the code is exchanged with.

    """

    state: str
    nonce: str
    verifier: str

    @classmethod
    def new(cls) -> SignInState:
        """Return a sign-in that nobody else has begun."""
        return cls(*(new_secret() for _ in range(3)))

    def signed(self, key: bytes, now: float) -> str:
        """Return the content of the cookie.

        Args:
            key: that signs.
            now: seconds, by the clock on the wall.

        """
        content = ".".join((*self, str(int(now) + SECONDS)))
        return f"{content}.{_signature(key, content)}"


def read_state(cookie: str, key: bytes, now: float) -> SignInState | None:
    """Return the sign-in that a cookie is about; None where this service did not sign it, or its time is over.

    Args:
        cookie: its content, as it came.
        key: that signs.
        now: seconds, by the clock on the wall.

    >>> begun = SignInState("a", "b", "c")
    >>> read_state(begun.signed(b"key", 0), b"key", 599) == begun
    True
    >>> read_state(begun.signed(b"key", 0), b"key", 600), read_state(begun.signed(b"key", 0), b"other", 0)
    (None, None)

    """
    content, _, signature = cookie.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(key, content).encode()):
        return None
    *parts, ends = content.split(".")
    return SignInState(*parts) if now < int(ends) else None


def _signature(key: bytes, content: str) -> str:
    return hmac.new(key, f"dither sign-in\n{content}".encode(), hashlib.sha256).hexdigest()
