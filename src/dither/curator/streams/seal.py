"""Seals: what a stream keeps on disk is encrypted and signed with a key that is kept elsewhere.

Whoever has the book without the key learns how many ticks there are, how many people have counted, what batches are
called, and how long records are. Whoever has both can compute every exact number, as whoever has the rows can.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dither.errors import StreamUnavailable

_KEY_BYTES = 32
_NONCE_BYTES = 12


class Seal:
    """One secret key, and the keys that follow from it for each purpose."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._cipher = AESGCM(self.derived("seal"))
        self._chain, self._people = self.derived("chain"), self.derived("people")

    @classmethod
    def new(cls) -> Seal:
        """Return a seal with a key from the system's generator."""
        return cls(os.urandom(_KEY_BYTES))

    @classmethod
    def read(cls, path: Path, what: str = "stream") -> Seal:
        """Return the seal whose key is in a file; ``what`` is sealed with it, as errors call it."""
        try:
            secret = path.read_bytes()
        except OSError:
            secret = b""
        if len(secret) != _KEY_BYTES:
            rule = f"its key is not in {path.parent}: without it the {what} cannot continue"
            raise StreamUnavailable(path.name, rule, what)
        return cls(secret)

    def write(self, path: Path) -> None:
        """Write the key durably to a new file that only its owner can read."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, self._secret)
            os.fsync(file)
        finally:
            os.close(file)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def derived(self, purpose: str) -> bytes:
        """Return the key for one purpose, from which neither the secret nor another key can be computed."""
        return hmac.digest(self._secret, purpose.encode(), hashlib.sha256)

    def close(self, what: str, record: Any) -> bytes:
        """Return plain data, sealed as the record ``what``: read back under that name alone."""
        return self.close_bytes(what, json.dumps(record, sort_keys=True, separators=(",", ":")).encode())

    def close_bytes(self, what: str, content: bytes) -> bytes:
        """Return bytes, sealed as the record ``what``."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, content, what.encode())

    def open(self, what: str, sealed: bytes) -> Any:
        """Return the plain data of a sealed record, or raise StreamUnavailable if it is not what was sealed."""
        return json.loads(self.open_bytes(what, sealed))

    def open_bytes(self, what: str, sealed: bytes) -> bytes:
        """Return the bytes of a sealed record, or raise StreamUnavailable if it is not what was sealed."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], what.encode())
        except (InvalidTag, ValueError):
            raise StreamUnavailable(what, "it is not what was written there") from None

    def link(self, before: str, content: bytes) -> str:
        """Return the next link of a chain, which follows from the one before, a content and the key."""
        return hmac.digest(self._chain, before.encode() + b" " + content, hashlib.sha256).hex()

    def fingerprint(self, parts: Iterable[bytes]) -> bytes:
        """Return what tells a content from any other, to whoever has the key."""
        found = hmac.new(self.derived("batches"), digestmod=hashlib.sha256)
        for part in parts:
            found.update(len(part).to_bytes(8, "big"))
            found.update(part)
        return found.digest()

    def name_of(self, person: str) -> bytes:
        """Return what stands for a person in the tally: the same for the same person, and nothing to anybody else."""
        return hmac.digest(self._people, person.encode("utf-8", "surrogatepass"), hashlib.sha256)[:16]
