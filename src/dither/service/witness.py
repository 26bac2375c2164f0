"""A witness: visits a service from time to time, and finds out whether its ledger was ever rewritten.

What is kept of a visit is the key and the signed head. At the next one the service must prove that its ledger begins
with the one of before. A witness needs no token and learns how many entries there are, and nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from dither.curator.receipts import PublicKey, read_checkpoint
from dither.curator.receipts.tree import is_consistent
from dither.errors import DitherError, InvalidParameter
from dither.service.transport import Transport


@dataclass(frozen=True)
class Visit:
    """What a witness found.

    Args:
        size: how many entries the ledger has.
        before: how many it had at the last visit; None at the first.
        is_consistent: whether it begins with the ledger of the last visit.
        reason: why not.

    """

    size: int
    before: int | None
    is_consistent: bool
    reason: str = ""

    def __str__(self) -> str:
        if not self.is_consistent:
            return f"NOT THE SAME LEDGER: {self.reason}"
        if self.before is None:
            return f"first visit: {self.size} entries, signed; the next visit compares"
        return f"the ledger of {self.before} entries is the beginning of the one of {self.size}: nothing was rewritten"


def visit(url: str, keep: Path) -> Visit:
    """Visit a service, compare with the last visit, and keep what was found.

    Args:
        url: where it is.
        keep: the file that remembers.

    """
    transport = Transport(url, None)
    key, note = (transport.get("v1", name).content.decode() for name in ("key", "checkpoint"))
    head = read_checkpoint(note, PublicKey.read(key))
    known = _kept(keep)
    if known is None:
        _keep(keep, key, note)
        return Visit(head.size, None, True)
    earlier = read_checkpoint(known["checkpoint"], PublicKey.read(known["key"]))
    if known["key"] != key:
        return Visit(head.size, earlier.size, False, "it is signed with another key")
    if head.size < earlier.size:
        return Visit(head.size, earlier.size, False, f"it has {head.size} entries and had {earlier.size}")
    if earlier.size:
        try:
            path = transport.get("v1", "consistency", earlier=earlier.size, size=head.size).json()["path"]
            hashes = [bytes.fromhex(one) for one in path]
        except (DitherError, ValueError, KeyError, TypeError):
            return Visit(head.size, earlier.size, False, "it proves nothing")
        if not is_consistent(earlier.size, earlier.root, head.size, head.root, hashes):
            return Visit(head.size, earlier.size, False, "entries of the last visit are gone or changed")
    _keep(keep, key, note)
    return Visit(head.size, earlier.size, True)


def _kept(path: Path) -> dict[str, str] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise InvalidParameter("keep", str(path), "a file that a visit wrote, or none") from None
    if not isinstance(found, dict) or set(found) != {"key", "checkpoint"}:
        raise InvalidParameter("keep", str(path), "a file that a visit wrote, or none")
    return found


def _keep(path: Path, key: str, note: str) -> None:
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text(json.dumps({"key": key, "checkpoint": note}), encoding="utf-8")
    draft.replace(path)
