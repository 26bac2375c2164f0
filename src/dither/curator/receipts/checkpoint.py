"""Checkpoints: the size and root of a ledger's tree, signed, in the note format of C2SP.

::

    dither/0123...                  the ledger
    17                              how many entries
    vRRu...=                        the root, in base 64

    — dither/0123... 5Ge1...=       who signed: a hash of the key, and the signature
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass

from dither.curator.keys import SigningKey, is_signed
from dither.errors import InvalidParameter

_ED25519 = b"\1"
_RULE = "a signed checkpoint of a ledger"
_KEY_RULE = "a key as 'dither receipt key' writes it: NAME+HASH+KEY"


@dataclass(frozen=True)
class PublicKey:
    """A key that checkpoints are checked with, as C2SP writes it.

    Args:
        name: what it signs: ``dither/`` and the ledger.
        key: 32 bytes.

    """

    name: str
    key: bytes

    @property
    def hint(self) -> bytes:
        """Four bytes by which a signature says whose it is."""
        return hashlib.sha256(f"{self.name}\n".encode() + _ED25519 + self.key).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.hint.hex()}+{to_base64(_ED25519 + self.key)}"

    @classmethod
    def read(cls, text: str) -> PublicKey:
        """Return the key that a text is.

        Args:
            text: as ``str`` writes it.

        """
        name, _, rest = text.strip().partition("+")
        hint, _, written = rest.partition("+")
        content = from_base64(written)
        if not name or content is None or content[:1] != _ED25519 or len(content) != 33:
            raise InvalidParameter("key", text, _KEY_RULE)
        found = cls(name, content[1:])
        if found.hint.hex() != hint:
            raise InvalidParameter("key", text, _KEY_RULE)
        return found


@dataclass(frozen=True)
class Checkpoint:
    """The size and root of a tree.

    Args:
        origin: ``dither/`` and the ledger.
        size: how many entries.
        root: the hash of the tree.

    """

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """What is signed."""
        return f"{self.origin}\n{self.size}\n{to_base64(self.root)}\n"

    def signed(self, key: SigningKey) -> str:
        """Return the note.

        Args:
            key: of the folder.

        """
        public = PublicKey(self.origin, key.public)
        return f"{self.text}\n\u2014 {self.origin} {to_base64(public.hint + key.sign(self.text.encode()))}\n"


def read_checkpoint(note: str, key: PublicKey) -> Checkpoint:
    """Return the checkpoint that a note says, where the key has signed it.

    Args:
        note: as ``signed`` writes it; further signatures are left alone.
        key: whose signature must be there.

    Raises:
        InvalidParameter: it is no checkpoint, or this key has not signed it.

    """
    text, _, signatures = note.partition("\n\n") if isinstance(note, str) else ("", "", "")
    lines = text.split("\n")
    if len(lines) != 3 or lines[0] != key.name or not (lines[1].isascii() and lines[1].isdecimal()):
        raise InvalidParameter("checkpoint", "another text", _RULE)
    root = from_base64(lines[2])
    # One number has one text, so that two notes that differ are two notes.
    if root is None or len(root) != 32 or str(int(lines[1][:30])) != lines[1]:
        raise InvalidParameter("checkpoint", "another text", _RULE)
    found = Checkpoint(lines[0], int(lines[1]), root)
    for line in signatures.split("\n"):
        dash, _, rest = line.partition(" ")
        name, _, written = rest.partition(" ")
        content = from_base64(written)
        is_mine = dash == "\u2014" and name == key.name and content is not None and content[:4] == key.hint
        if is_mine and content is not None and is_signed(key.key, content[4:], found.text.encode()):
            return found
    raise InvalidParameter("checkpoint", "text without its signature", f"signed by {key.name}")


def to_base64(content: bytes) -> str:
    """Return bytes as a text."""
    return base64.b64encode(content).decode()


def from_base64(text: str) -> bytes | None:
    """Return what base 64 says, where it is the one way to say it."""
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return content if to_base64(content) == text else None
