"""A witness: visits a service from time to time, and finds out whether its ledger was ever rewritten.

What is kept of a visit is the key and the signed head. At the next one the service must prove that its ledger begins
with the one of before. A witness needs no token and learns how many entries there are, and nothing else.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dither.curator.keys import SigningKey
from dither.curator.receipts import PublicKey, WitnessKey, cosigned, read_checkpoint, successor
from dither.curator.receipts.tree import is_consistent
from dither.errors import DitherError, InvalidParameter
from dither.service.routes import path_to
from dither.service.transport import Transport


@dataclass(frozen=True)
class Visit:
    """What a witness found.

    Args:
        size: how many entries the ledger has.
        before: how many it had at the last visit; None at the first.
        is_consistent: whether it begins with the ledger of the last visit.
        reason: why not.
        is_changed: whether it is signed with another key than before, which the one before has signed.
        note: the signed head, with the witness's line where it has cosigned.

    """

    size: int
    before: int | None
    is_consistent: bool
    reason: str = ""
    is_changed: bool = False
    note: str = ""

    def __str__(self) -> str:
        if not self.is_consistent:
            return f"NOT THE SAME LEDGER: {self.reason}"
        if self.before is None:
            return f"first visit: {self.size} entries, signed; the next visit compares"
        changed = "; the key was changed, as the one before has signed" if self.is_changed else ""
        same = f"the ledger of {self.before} entries is the beginning of the one of {self.size}"
        return f"{same}: nothing was rewritten{changed}"


@dataclass(frozen=True)
class Cosigner:
    """A witness that signs what it has seen.

    Args:
        name: what it calls itself.
        key: its key.

    """

    name: str
    key: SigningKey

    @property
    def public(self) -> WitnessKey:
        """The key that its cosignatures are checked with."""
        return WitnessKey(self.name, self.key.public)


def visit(url: str, keep: Path, cosigner: Cosigner | None = None, *, now: Callable[[], float] = time.time) -> Visit:
    """Visit a service, compare with the last visit, and keep what was found.

    Args:
        url: where it is.
        keep: the file that remembers.
        cosigner: who signs the head where nothing is wrong with it; None for nobody.
        now: tells seconds since 1970.

    """
    transport = Transport(url, None)
    key, note = (transport.get(*path_to(name)).content.decode() for name in ("key", "checkpoint"))

    def prove(earlier: int, size: int) -> Any:
        return transport.get(*path_to("consistency"), earlier=earlier, size=size).json()["path"]

    def changes() -> Any:
        return transport.get(*path_to("keys")).json()["changes"]

    found = compared(_kept(keep), key, note, prove, changes)
    if found.is_consistent:
        if cosigner is not None:
            head = read_checkpoint(note, PublicKey.read(key))
            note = cosigned(note, head, cosigner.name, cosigner.key, int(now()))
        _keep(keep, key, note)
    return replace(found, note=note)


def compared(
    known: Mapping[str, str] | None,
    key: str,
    note: str,
    prove: Callable[[int, int], Any],
    changes: Callable[[], Any] = tuple,
) -> Visit:
    """Return how the head that a service shows goes with the one that it showed before.

    Args:
        known: the key and the checkpoint of the last visit; None at the first.
        key: as the service shows it now.
        note: the signed head, likewise.
        prove: returns the hashes that prove that the tree of a size begins with that of an earlier one.
        changes: returns the notes by which keys took the place of others.

    """
    head = read_checkpoint(note, PublicKey.read(key))
    if known is None:
        return Visit(head.size, None, True)
    before = PublicKey.read(known["key"])
    earlier = read_checkpoint(known["checkpoint"], before)

    def refused(reason: str) -> Visit:
        return Visit(head.size, earlier.size, False, reason)

    is_changed = known["key"].strip() != key.strip()
    if is_changed:
        try:
            if str(successor(changes(), before)) != key.strip():
                return refused("it is signed with another key, which the one before has not signed")
        except (DitherError, ValueError, KeyError, TypeError):
            return refused("it is signed with another key, and proves no change")
    if head.size < earlier.size:
        return refused(f"it has {head.size} entries and had {earlier.size}")
    if earlier.size:
        try:
            hashes = [bytes.fromhex(one) for one in prove(earlier.size, head.size)]
        except (DitherError, ValueError, KeyError, TypeError):
            return refused("it proves nothing")
        if not is_consistent(earlier.size, earlier.root, head.size, head.root, hashes):
            return refused("entries of the last visit are gone or changed")
    return Visit(head.size, earlier.size, True, is_changed=is_changed)


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
