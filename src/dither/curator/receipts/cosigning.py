"""Cosignatures: a witness signs, beside the curator, a head that it has seen to begin with all those before.

In the format of C2SP: the witness signs ``cosignature/v1``, the time and the text of the checkpoint, and adds a line to
the note. Whoever trusts one of several witnesses then knows that everybody was shown one ledger.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from dither.curator.keys import SigningKey, is_signed
from dither.curator.receipts.checkpoint import Checkpoint, from_base64, to_base64
from dither.errors import InvalidParameter

_COSIGNATURE = b"\4"
_RULE = "a key as 'dither witness --cosign' prints it: NAME+HASH+KEY"


@dataclass(frozen=True)
class WitnessKey:
    """A key that cosignatures are checked with, as C2SP writes it.

    Args:
        name: what the witness calls itself: no spaces and no plus.
        key: 32 bytes.

    """

    name: str
    key: bytes

    def __post_init__(self) -> None:
        is_name = isinstance(self.name, str) and 0 < len(self.name) <= 100 and self.name.isprintable()
        if not is_name or "+" in self.name or any(sign.isspace() for sign in self.name):
            raise InvalidParameter("name", self.name, "1 to 100 printable signs without spaces and plus")

    @property
    def hint(self) -> bytes:
        """Four bytes by which a signature says whose it is."""
        return hashlib.sha256(f"{self.name}\n".encode() + _COSIGNATURE + self.key).digest()[:4]

    def __str__(self) -> str:
        return f"{self.name}+{self.hint.hex()}+{to_base64(_COSIGNATURE + self.key)}"

    @classmethod
    def read(cls, text: str) -> WitnessKey:
        """Return the key that a text is.

        Args:
            text: as ``str`` writes it.

        """
        name, _, rest = text.strip().partition("+")
        hint, _, written = rest.partition("+")
        content = from_base64(written)
        if content is None or content[:1] != _COSIGNATURE or len(content) != 33:
            raise InvalidParameter("witness", text, _RULE)
        found = cls(name, content[1:])
        if found.hint.hex() != hint:
            raise InvalidParameter("witness", text, _RULE)
        return found


def cosigned(note: str, head: Checkpoint, name: str, key: SigningKey, seconds: int) -> str:
    """Return a note with the line of a witness.

    Args:
        note: a signed checkpoint.
        head: what it says, checked before.
        name: what the witness calls itself.
        key: of the witness.
        seconds: since 1970, now.

    """
    public = WitnessKey(name, key.public)
    signature = key.sign(_signed_text(head, seconds))
    return f"{note}\u2014 {name} {to_base64(public.hint + seconds.to_bytes(8, 'big') + signature)}\n"


def cosigned_at(note: str, head: Checkpoint, key: WitnessKey) -> int:
    """Return when a witness has cosigned a note, in seconds since 1970.

    Args:
        note: with the witness's line.
        head: what it says, checked before.
        key: of the witness.

    Raises:
        InvalidParameter: this witness has not.

    """
    for line in note.partition("\n\n")[2].split("\n"):
        dash, _, rest = line.partition(" ")
        name, _, written = rest.partition(" ")
        content = from_base64(written)
        if dash == "\u2014" and name == key.name and content is not None and content[:4] == key.hint:
            seconds = int.from_bytes(content[4:12], "big")
            if len(content) == 76 and is_signed(key.key, content[12:], _signed_text(head, seconds)):
                return seconds
    raise InvalidParameter("checkpoint", "text without its cosignature", f"cosigned by {key.name}")


def _signed_text(head: Checkpoint, seconds: int) -> bytes:
    return f"cosignature/v1\ntime {seconds}\n{head.text}".encode()
