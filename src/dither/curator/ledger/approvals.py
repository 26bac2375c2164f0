"""Releases that others must agree to: what was asked, who agreed, and for how long that holds.

What is agreed to is the digest of a request, what it may lose, and the edition of the rows: a promise about one
release, which one debit uses up. Whoever is no longer a curator has agreed to nothing that is still open; whoever
cancels what they asked for has asked for nothing. Times are those of the ledger, which never go back: one entry with a
clock far ahead makes everything before it old, and nothing after it. An analyst who asks for something that needs an
approval makes an entry, and nothing else: what waits, is declined or expires costs nothing. A debit looks for its
approval in its own transaction. The rules are here, on plain records, so that the ledger and ``verify`` decide by the
same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from dither.curator.ledger.amounts import Amount
from dither.curator.ledger.terms import moment_of

#: For how long a question waits, an agreement holds, and a refusal stands.
HOLDS: Final = timedelta(days=7)
#: How many questions of one analyst wait at most, of one data set.
MOST_WAITING: Final = 64
ASKING: Final = ("ask", "approve", "decline", "retract", "cancel")
_UTC: Final = "+00:00"
_USUAL: Final = len("2026-01-01T00:00:00.000+00:00")


@dataclass
class Question:
    """A release that somebody asked others to agree to.

    Args:
        entry: the number of the entry that says so.
        time: when.
        dataset: of which data set, by the name that it is registered with.
        analyst: who asks.
        digest: of the request.
        charge: what it may lose.
        key: the name that it was asked with.
        description: in public words.
        edition: of the rows that it is about; None where it was asked before questions said so.
        agreed: who agreed, and when.
        declined: who declined, when, and why.
        is_cancelled: whether whoever asked wants it no more.
        used: the debit that used it up.

    """

    entry: int
    time: str
    dataset: str
    analyst: str
    digest: str
    charge: Amount
    key: str
    description: str = ""
    edition: int | None = None
    agreed: dict[str, str] = field(default_factory=dict)
    declined: tuple[str, str, str] | None = None
    is_cancelled: bool = False
    used: int | None = None

    def state(self, approvers: int, now: str, edition: int) -> str:
        """Return ``waiting``, ``approved``, ``declined``, ``used``, ``cancelled`` or ``expired``.

        Args:
            approvers: how many must agree.
            now: the time, or any that is not before it.
            edition: of the rows that would be asked.

        """
        if self.used is not None:
            return "used"
        if self.is_cancelled:
            return "cancelled"
        if self.edition not in (None, edition):
            # Nobody agreed to a release about these rows.
            return "expired"
        if self.declined is not None:
            return "expired" if _is_over(self.declined[1], now) else "declined"
        times = sorted(self.agreed.values())
        if len(times) >= approvers:
            return "expired" if _is_over(times[approvers - 1], now) else "approved"
        return "expired" if _is_over(self.time, now) else "waiting"

    def covers(self, charge: Amount) -> bool:
        """Whether what was asked about is no less than a charge."""
        return charge <= self.charge


def questions_of(records: Iterable[Mapping[str, Any]]) -> dict[int, Question]:
    """Return what was asked, by the number of its entry, as entries tell it in their order."""
    found: dict[int, Question] = {}
    for record in records:
        take(found, record)
    return found


def take(found: dict[int, Question], record: Mapping[str, Any]) -> None:
    """Take one more entry into account."""
    kind, at = record["kind"], record.get("at", record["time"])
    if kind == "ask":
        found[record["seq"]] = Question(
            record["seq"],
            at,
            record["dataset"],
            record["analyst"],
            record["digest"],
            Amount.from_dict(record["charge"]),
            record["key"],
            record["description"],
            record.get("edition"),
        )
    elif kind == "approve":
        found[record["about"]].agreed.setdefault(record["by"], at)
    elif kind == "decline":
        found[record["about"]].declined = record["by"], at, record["because"]
    elif kind == "retract":
        found[record["about"]].agreed.pop(record["by"], None)
    elif kind == "cancel":
        found[record["about"]].is_cancelled = True


def later(first: str, second: str) -> str:
    """Return the later of two times that entries carry; one that tells nothing is the earlier."""
    if len(first) == len(second) == _USUAL and first.endswith(_UTC) and second.endswith(_UTC):
        # As this package writes them: the order of texts is that of times.
        return max(first, second)
    one, other = moment_of(first), moment_of(second)
    if one is None or (other is not None and other > one):
        return second
    return first


def latest_of(texts: Iterable[str]) -> str:
    """Return the latest time that entries carry, by their texts; nothing where none tells one."""
    latest = ""
    for text in texts:
        try:
            latest = later(latest, str(json.loads(text).get("time", "")))
        except (ValueError, AttributeError):
            # Not an entry: ``verify`` complains of it.
            continue
    return latest


def _is_over(begun: str, now: str) -> bool:
    start, moment = moment_of(begun), moment_of(now)
    # Where a clock tells nothing, nothing holds any more.
    return start is None or moment is None or moment - start >= HOLDS
