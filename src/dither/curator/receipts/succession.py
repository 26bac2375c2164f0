"""From one key of a ledger to the next: the old key signs the new one, and the new one signs that it is meant.

Whoever has an old key can follow it to the present one without trusting anybody else. An old key's receipts stay
checked with the old key: the tree is the same, and so are the salts. A key that was stolen can sign a change, too: then
only those are safe who are told otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

from dither.curator.keys import SigningKey, is_signed
from dither.curator.receipts.checkpoint import PublicKey, from_base64, to_base64
from dither.errors import InvalidParameter

_TITLE = "key change"


def key_change(origin: str, old: SigningKey, new: SigningKey) -> str:
    """Return the note by which a key takes the place of another, signed by both.

    Args:
        origin: ``dither/`` and the ledger.
        old: the key so far.
        new: the one from now on.

    """
    keys = PublicKey(origin, old.public), PublicKey(origin, new.public)
    text = _text(*keys)
    lines = (
        f"\u2014 {origin} {to_base64(public.hint + key.sign(text.encode()))}\n"
        for public, key in zip(keys, (old, new), strict=True)
    )
    return f"{text}\n{''.join(lines)}"


def successor(notes: Sequence[str], known: PublicKey) -> PublicKey:
    """Return the key to which changes lead from a known one; the known one where there are none.

    Args:
        notes: all changes of a ledger, from the oldest.
        known: a key that is trusted.

    Raises:
        InvalidParameter: a change is not signed by the key before it, or by the one after.

    """
    for note in notes:
        old, new = _keys(note)
        if old == known:
            _check(note, old, new)
            known = new
    return known


def _text(old: PublicKey, new: PublicKey) -> str:
    return f"{old.name}\n{_TITLE}\n{old}\n{new}\n"


def _keys(note: str) -> tuple[PublicKey, PublicKey]:
    lines = note.partition("\n\n")[0].split("\n") if isinstance(note, str) else []
    if len(lines) != 4 or lines[1] != _TITLE:
        raise InvalidParameter("change", "another text", "a note by which one key takes the place of another")
    old, new = (PublicKey.read(line) for line in lines[2:])
    if not lines[0] == old.name == new.name:
        raise InvalidParameter("change", new.name, "about two keys of one ledger")
    return old, new


def _check(note: str, old: PublicKey, new: PublicKey) -> None:
    signatures = [from_base64(line.rpartition(" ")[2]) for line in note.partition("\n\n")[2].split("\n")]
    for key in (old, new):
        made = [one[4:] for one in signatures if one is not None and one[:4] == key.hint]
        if not any(is_signed(key.key, one, _text(old, new).encode()) for one in made):
            raise InvalidParameter("change", "text without its signature", "signed by the old key and by the new one")
