"""Secrets of the door, from the system's generator: tokens, links, the key that signs checkpoints. None is noise."""

from __future__ import annotations

import hashlib
import os
import secrets
from pathlib import Path

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from dither.errors import InvalidParameter

_BYTES = 32
_NONCE = 12


def new_name() -> str:
    """Return a public name that no other has: 16 hexadecimal digits."""
    return secrets.token_hex(8)


def new_secret() -> str:
    """Return 256 random bits as a text for people to carry."""
    return secrets.token_urlsafe(_BYTES)


class SigningKey:
    """A key of a curator's folder: 32 secret bytes, from which the signature's key and the salts of leaves follow."""

    def __init__(self, secret: bytes) -> None:
        self.secret = secret
        self._key = Ed25519PrivateKey.from_private_bytes(secret)

    @classmethod
    def kept(cls, path: Path) -> SigningKey:
        """Return the key in a file, made where there is none; readable by its owner alone.

        Args:
            path: the file.

        """
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            pass
        else:
            with os.fdopen(handle, "wb") as file:
                file.write(os.urandom(_BYTES))
                file.flush()
                os.fsync(file.fileno())
        if os.stat(path).st_mode & 0o077:
            raise InvalidParameter("key", str(path), f"readable by its owner alone: chmod 600 {path}")
        secret = path.read_bytes()
        if len(secret) != _BYTES:
            raise InvalidParameter("key", str(path), f"{_BYTES} bytes; it was cut short or is something else")
        return cls(secret)

    @property
    def public(self) -> bytes:
        """The public key: 32 bytes."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, text: bytes) -> bytes:
        """Return the Ed25519 signature of a text."""
        return self._key.sign(text)


def is_signed(public: bytes, signature: bytes, text: bytes) -> bool:
    """Whether a signature is that of a key on a text.

    Args:
        public: the key.
        signature: 64 bytes.
        text: what was signed.

    """
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, text)
    except (InvalidSignature, ValueError):
        return False
    return True


def sealed(content: bytes, code: str, about: str) -> bytes:
    """Return a content that only its code opens, and only as what it is about.

    Args:
        content: what is sealed.
        code: as ``new_secret`` makes it.
        about: what everybody may read beside it.

    """
    nonce = os.urandom(_NONCE)
    return nonce + AESGCM(_opener(code)).encrypt(nonce, content, about.encode())


def unsealed(closed: bytes, code: str, about: str) -> bytes | None:
    """Return what was sealed, or None where code, content or what it is about is another.

    Args:
        closed: as ``sealed`` returned it.
        code: that opens it.
        about: what it is about.

    """
    try:
        return AESGCM(_opener(code)).decrypt(closed[:_NONCE], closed[_NONCE:], about.encode())
    except (InvalidTag, ValueError):
        return None


def _opener(code: str) -> bytes:
    """Return the key that a code stands for. It has 256 random bits: nothing need be made slow."""
    return hashlib.sha256(f"dither sealed key\n{code.strip()}".encode("utf-8", "surrogatepass")).digest()
