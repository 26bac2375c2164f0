"""Releases that others must agree to: what was asked, who agreed, and for how long that holds.

What is agreed to is the digest of a request and what it may lose: a promise about one release, which one debit uses up.
An analyst who asks for something that needs an approval makes an entry, and nothing else: what waits, is declined or
expires costs nothing. A debit looks for its approval in its own transaction. The rules are here, on plain records, so
that the ledger and ``verify`` decide by the same.
"""

from __future__ import annotations

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
ASKING: Final = ("ask", "approve", "decline")


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
        agreed: who agreed, and when.
        declined: who declined, when, and why.
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
    agreed: dict[str, str] = field(default_factory=dict)
    declined: tuple[str, str, str] | None = None
    used: int | None = None

    def state(self, approvers: int, now: str) -> str:
        """Return ``waiting``, ``approved``, ``declined``, ``used`` or ``expired``.

        Args:
            approvers: how many must agree.
            now: the time, or any that is not before it.

        """
        if self.used is not None:
            return "used"
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
    kind = record["kind"]
    if kind == "ask":
        found[record["seq"]] = Question(
            record["seq"],
            record["time"],
            record["dataset"],
            record["analyst"],
            record["digest"],
            Amount.from_dict(record["charge"]),
            record["key"],
            record["description"],
        )
    elif kind == "approve":
        found[record["about"]].agreed.setdefault(record["by"], record["time"])
    elif kind == "decline":
        found[record["about"]].declined = record["by"], record["time"], record["because"]


def later(first: str, second: str) -> str:
    """Return the later of two times that entries carry; one that tells nothing is the earlier."""
    one, other = moment_of(first), moment_of(second)
    if one is None or (other is not None and other > one):
        return second
    return first


def _is_over(begun: str, now: str) -> bool:
    start, moment = moment_of(begun), moment_of(now)
    # Where a clock tells nothing, nothing holds any more.
    return start is None or moment is None or moment - start >= HOLDS
