"""The key of a ledger: one, whichever machine signs, and brought from one to another by hand.

The ledger's database says which key signs, and which salts its leaves have, by their public halves: a machine that has
another key refuses to sign rather than show another tree over the same entries. The secret itself is never in the
database, nor on the wire. It leaves a folder in a sealed file, and the code that opens the file goes another way.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from dither.curator.keys import SigningKey, new_secret, sealed, unsealed
from dither.curator.ledger.governed import GovernedBooks
from dither.curator.receipts.checkpoint import PublicKey
from dither.curator.receipts.heads import HEADS
from dither.curator.receipts.succession import key_change, successor
from dither.errors import DitherError, InvalidParameter

_SEALED: Final = "dither sealed key 1"
_FIELDS: Final = {"key", "first", "changes"}
_FIX: Final = (
    "the one that signs this ledger ({known}): on a machine that has it, 'dither receipt export-key FILE'; bring the "
    "file here, and here 'dither receipt import-key FILE'; where the key is lost, 'dither receipt new-key --lost'"
)


class Keyring:
    """The key with which a folder signs for its ledger.

    Args:
        books: which say whose key that is.
        folder: of the key's files.

    """

    def __init__(self, books: GovernedBooks, folder: Path) -> None:
        self._books, self._folder = books, folder
        folder.mkdir(mode=0o700, exist_ok=True)
        self.origin = f"dither/{books.id}"
        self._end_change()
        known = books.signing()
        if known is not None and not (folder / "key").exists():
            raise InvalidParameter("key", "none", _FIX.format(known=known[0]))
        with alone(folder):
            # Whoever comes while it is made would read half of it.
            self.key = SigningKey.kept(folder / "key")
        # The salts stay those of the first key, and with them the tree.
        first = folder / "first-key"
        self.salting = _salting(SigningKey.kept(first).secret if first.exists() else self.key.secret)
        if known is None:
            books.sign_with(str(self.public), _told(self.salting), instead_of=None)
        elif known != self._mine and self._follows(known):
            # A change of keys that went no further than this folder.
            books.sign_with(str(self.public), _told(self.salting), instead_of=known[0])
        self.check()

    @property
    def public(self) -> PublicKey:
        """The key that outsiders check with."""
        return PublicKey(self.origin, self.key.public)

    @property
    def changes(self) -> list[str]:
        """The notes by which keys took the place of others, from the oldest."""
        try:
            lines = (self._folder / "changes").read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        return [str(json.loads(line)) for line in lines]

    def check(self) -> None:
        """Refuse to sign with a key that is not the ledger's, or no longer."""
        known = self._books.signing()
        if known != self._mine:
            told = "none" if known is None else known[0]
            raise InvalidParameter("key", str(self.public), _FIX.format(known=told))

    def change(self) -> None:
        """Sign with a new key from now on, as the old one signs."""
        with alone(self._folder):
            self.check()
            old, first, draft = self.public, self._folder / "first-key", self._folder / "next-key"
            if not first.exists():
                os.link(self._folder / "key", first)
            new = SigningKey.kept(draft)
            with open(self._folder / "changes", "a", encoding="utf-8") as file:
                file.write(json.dumps(key_change(self.origin, self.key, new)) + "\n")
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._folder / "key")
            self.key = new
            self._books.sign_with(str(self.public), _told(self.salting), instead_of=str(old))

    def sealed(self) -> tuple[bytes, str]:
        """Return the secret key as the content of a sealed file, and the code that opens it."""
        self.check()
        first, code = self._folder / "first-key", new_secret()
        inside = {
            "key": self.key.secret.hex(),
            "first": (SigningKey.kept(first) if first.exists() else self.key).secret.hex(),
            "changes": self.changes,
        }
        text = base64.b64encode(sealed(json.dumps(inside).encode(), code, self.origin)).decode()
        return f"{_SEALED}\n{self.origin}\n{text}\n".encode(), code

    @property
    def _mine(self) -> tuple[str, str]:
        return str(self.public), _told(self.salting)

    def _follows(self, known: tuple[str, str]) -> bool:
        """Whether the key here is one to which the ledger's has handed over."""
        try:
            leads_here = successor(self.changes, PublicKey.read(known[0])) == self.public
        except DitherError:
            return False
        return leads_here and known[1] == _told(self.salting)

    def _end_change(self) -> None:
        """Finish a change of keys that was written down and went no further; one that was not never was."""
        draft = self._folder / "next-key"
        if draft.exists():
            with alone(self._folder):
                public = PublicKey(self.origin, SigningKey.kept(draft).public)
                if self.changes and str(public) in self.changes[-1]:
                    draft.replace(self._folder / "key")


def take_key(books: GovernedBooks, folder: Path, content: bytes, code: str) -> PublicKey:
    """Keep the key of a sealed file in a folder, if it is the ledger's; return its public half.

    Args:
        books: which say whose key signs.
        folder: of the key's files.
        content: of the sealed file.
        code: that opens it.

    """
    origin, known = f"dither/{books.id}", books.signing()
    inside = _opened(origin, content, code)
    key, first = SigningKey(bytes.fromhex(inside["key"])), bytes.fromhex(inside["first"])
    public = PublicKey(origin, key.public)
    if known != (str(public), _told(_salting(first))):
        told = "none yet: this machine may make one" if known is None else known[0]
        raise InvalidParameter("file", str(public), f"the key that signs this ledger now, {told}")
    folder.mkdir(mode=0o700, exist_ok=True)
    with alone(folder):
        # The tree's files may have other salts: they are made again.
        for name in (HEADS, "next-key", *(path.name for path in folder.glob("level-*"))):
            (folder / name).unlink(missing_ok=True)
        _write(folder / "first-key", first)
        _write(folder / "changes", "".join(json.dumps(note) + "\n" for note in inside["changes"]).encode())
        _write(folder / "key", key.secret)
    return public


def begin_anew(books: GovernedBooks, folder: Path) -> PublicKey:
    """Sign with a new key that no other has signed, since that one is lost; return its public half.

    Args:
        books: which say whose key signs.
        folder: of the key's files.

    """
    known = books.signing()
    if known is None:
        raise InvalidParameter("key", "none", "lost: nothing has signed this ledger yet")
    folder.mkdir(mode=0o700, exist_ok=True)
    with alone(folder):
        for path in (*folder.glob("level-*"), *folder.glob("*key"), folder / HEADS, folder / "changes"):
            path.unlink(missing_ok=True)
        key = SigningKey.kept(folder / "key")
        public = PublicKey(f"dither/{books.id}", key.public)
        books.sign_with(str(public), _told(_salting(key.secret)), instead_of=known[0])
    return public


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Let one process at a time change a folder's key or tree."""
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _opened(origin: str, content: bytes, code: str) -> dict[str, Any]:
    """Return what a sealed file holds."""
    lines = content.decode("utf-8", "replace").splitlines()
    if len(lines) != 3 or lines[0] != _SEALED:
        raise InvalidParameter("file", "something else", "one that 'dither receipt export-key' wrote")
    if lines[1] != origin:
        raise InvalidParameter("file", lines[1][:80], f"about this ledger, {origin}")
    try:
        opened = unsealed(base64.b64decode(lines[2], validate=True), code, origin)
    except ValueError:
        opened = None
    if opened is None:
        raise InvalidParameter("code", "another", "the one that was shown when the file was written")
    found = json.loads(opened)
    if not isinstance(found, dict) or set(found) != _FIELDS:
        raise InvalidParameter("file", "other parts", "one that 'dither receipt export-key' wrote")
    return found


def _salting(secret: bytes) -> bytes:
    return hmac.digest(secret, b"dither salts of leaves", "sha256")


def _told(salting: bytes) -> str:
    """Return by what salts are known that nobody may know."""
    return hashlib.sha256(b"dither salts\n" + salting).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """Write a file that its owner alone reads, whole or not at all."""
    draft = path.with_name(f"{path.name}.draft")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
