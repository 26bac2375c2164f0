"""What happened to a data set, as its books tell: releases with their prices, and what its owner decided.

From entries of the ledger alone: public words, times and losses, never a row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from dither.curator.ledger import OWNER, Entry, Ledger, Receipt, Standing
from dither.curator.ledger.amounts import UNITS
from dither.errors import DitherError
from dither.privacy import Loss, PureDP
from dither.publish.queries import QueryResult

#: What an owner's act is called, by the kind of its entry.
_ACTS: Final = {
    "register": "registered",
    "raise": "budget raised",
    "close": "open to analysts with quotas only",
    "quota": "quota set",
    "rename": "renamed",
    "retire": "retired",
    "edition": "other rows were added: a new edition",
    "stage": "is now",
    "revoke": "may ask no more:",
    "ask": "an approval is requested:",
    "approve": "a release is approved",
    "decline": "a release is declined",
    "retract": "an approval counts no more",
    "cancel": "a question is taken back",
    "publish": "an answer is published",
    "withdraw": "an answer is withdrawn",
    "state": "budget and what is spent of it are stated",
}
#: What becomes of a release, by the kind of a later entry.
_OUTCOMES: Final = {"answer": "answered", "seal": "failed", "draw": "drawn, not answered", "renew": "begun again"}


@dataclass(frozen=True)
class Act:
    """One thing that happened.

    Args:
        number: of its entry in the ledger; ``curator.answer`` takes that of a release.
        time: when, in UTC.
        who: the analyst who asked, or the owner.
        what: was asked, or decided, in public words.
        price: what was debited for it, less what came back; None where nothing was.
        outcome: of a release: whether it was answered.
        key: of a release: the name that it was asked with.
        edition: of the rows at that time.

    """

    number: int
    time: str
    who: str
    what: str
    price: Loss | None = None
    outcome: str = ""
    key: str | None = None
    edition: int = 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        record = {name: getattr(self, name) for name in ("number", "time", "who", "what", "outcome", "key", "edition")}
        return record | {"price": None if self.price is None else self.price.to_dict()}


@dataclass(frozen=True)
class Answered:
    """A stored answer that was fetched again.

    Args:
        receipt: what was debited for it, and where the ledger says so.
        is_earlier: whether other rows have taken the place of those that it is about.

    """

    receipt: Receipt
    is_earlier: bool

    @property
    def value(self) -> QueryResult | Any:
        """The answer: a table of results where it is one, else plain data as it was stored."""
        place = f"{self.receipt.ledger}:{self.receipt.entry}:{self.receipt.hash}"
        try:
            return QueryResult.stored(self.receipt.answer, place)
        except (DitherError, ValueError, TypeError, KeyError, AttributeError):
            return json.loads(self.receipt.answer)


def answered(receipt: Receipt, standing: Standing) -> Answered:
    """Return an answer, with whether it is about rows of before.

    Args:
        receipt: as the ledger has it.
        standing: how its data set stands now.

    """
    return Answered(receipt, receipt.entry < standing.since)


def history_of(ledger: Ledger, dataset: str) -> tuple[Act, ...]:
    """Return all that happened to a data set, from the oldest.

    Args:
        ledger: the books.
        dataset: the name that it is registered with.

    """
    acts: dict[int, Act] = {}
    latest: dict[tuple[str | None, str | None], int] = {}
    edition = 1
    for entry in ledger.entries(dataset):
        if entry.kind == "edition":
            edition += 1
        if entry.kind == "reserve":
            who, what = str(entry.analyst), str(entry.record.get("description") or "a release")
            latest[entry.analyst, entry.key] = entry.number
            acts[entry.number] = Act(
                entry.number, entry.time, who, what, entry.loss, "waiting for its answer", entry.key, edition
            )
        elif entry.kind in _ACTS:
            by = entry.analyst if entry.kind == "ask" else entry.record.get("by", OWNER)
            acts[entry.number] = Act(entry.number, entry.time, str(by), _decided(entry), edition=edition)
        elif entry.kind in _OUTCOMES or entry.kind == "return":
            number = latest.get((entry.analyst, entry.key))
            if number is not None:
                acts[number] = _after(acts[number], entry)
    return tuple(acts[number] for number in sorted(acts))


def _after(act: Act, entry: Entry) -> Act:
    """Return a release after another entry about it."""
    if entry.kind != "return":
        return replace(act, outcome=_OUTCOMES[entry.kind])
    debited = act.price.pure if act.price is not None else None
    stays = PureDP((debited or 0) - Fraction(int(entry.record["epsilon"]), UNITS))
    return replace(act, price=stays, outcome=f"answered; of {act.price} the rest came back")


def raises(ledger: Ledger, dataset: str) -> list[dict[str, Any]]:
    """Return when a budget was raised, to what and why, for a release card."""
    return [
        {"time": entry.time, "budget": _loss(entry.record["budget"]), "reason": str(entry.record.get("reason", ""))}
        for entry in ledger.entries(dataset)
        if entry.kind == "raise"
    ]


def _decided(entry: Entry) -> str:
    record = entry.record
    told: dict[str, Callable[[], str]] = {
        "register": lambda: f"with {_loss(record['budget'])}",
        "raise": lambda: f"to {_loss(record['budget'])}",
        "quota": lambda: f"for {record['analyst']}: {_loss(record['quota'])}",
        "rename": lambda: f"to {record['name']}",
        "edition": lambda: str(record["budget"].get("edition", "")),
        "stage": lambda: str(record["stage"]),
        "revoke": lambda: str(record["analyst"]),
        "ask": lambda: str(record["description"] or "a release"),
        "approve": lambda: f"(question {record['about']})",
        "decline": lambda: f"(question {record['about']})",
        "retract": lambda: f"(question {record['about']})",
        "cancel": lambda: f"(question {record['about']})",
        "publish": lambda: f"(entry {record['about']})",
        "withdraw": lambda: f"(entry {record['about']})",
    }
    words = _ACTS[entry.kind] + (f" {told[entry.kind]()}" if entry.kind in told else "")
    because = record.get("reason") or record.get("because")
    return f"{words} ({because})" if because else words


def _loss(record: Mapping[str, Any]) -> str:
    return str(Loss.from_dict({name: figure for name, figure in record.items() if name in _FIGURES}))


_FIGURES: Final = ("kind", "epsilon", "delta", "rho")
