"""What a grant says beside its quota: the most for one release, an allowance, who must agree, whether it was ended.

All of it is kept in one text with the quota, as what an owner decided stands with a budget (``standing``): whatever
keeps, follows, remembers, restores or replays a quota does the same for these. None of them can add to a quota: each
only forbids what the quota would admit.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, Final

from dither.curator.ledger.amounts import ZERO, Amount
from dither.errors import InvalidParameter
from dither.exact import Number, exact
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP

_MOST, _USUAL, _ALLOWANCE, _APPROVAL, _ENDED = "most", "usual", "allowance", "approval", "ended"
#: What stands beside the figures of a quota, in its text.
GRANTED: Final = frozenset([_MOST, _USUAL, _ALLOWANCE, _APPROVAL, _ENDED])
LONGEST_DAYS: Final = 3660
MOST_APPROVERS: Final = 2


@dataclass(frozen=True)
class Allowance:
    """How fast a quota may be spent: a figure for each period of some days, of which what is not used stays.

    Args:
        each: epsilon, or rho where the quota is one of zCDP.
        days: how long a period is; the first begins with the grant.
        since: when the first period began, as an entry has it; set by the ledger.
        base: what stayed spent then; set by the ledger.

    """

    each: Fraction
    days: int
    since: str = ""
    base: Amount = ZERO

    def __post_init__(self) -> None:
        object.__setattr__(self, "each", exact("allowance", self.each))
        if self.each <= 0:
            raise InvalidParameter("allowance", str(self.each), "more than 0")
        is_whole = isinstance(self.days, int) and not isinstance(self.days, bool)
        if not is_whole or not 1 <= self.days <= LONGEST_DAYS:
            raise InvalidParameter("days", self.days, f"an integer number of days from 1 to {LONGEST_DAYS}")

    @classmethod
    def of(cls, each: Number, days: int) -> Allowance:
        """Return an allowance that begins when it is granted."""
        return cls(exact("allowance", each), days)

    def __str__(self) -> str:
        return f"{_shown(self.each)} every {'day' if self.days == 1 else f'{self.days} days'}"

    def periods(self, now: str) -> int:
        """Return how many periods have begun; one at least, and one where a clock tells nothing.

        >>> weekly = Allowance.of("0.1", 7)
        >>> weekly.begun("2026-01-01T00:00:00+00:00", ZERO).periods("2026-01-20T00:00:00+00:00")
        3
        """
        begun, moment = moment_of(self.since), moment_of(now)
        if begun is None or moment is None or moment < begun:
            return 1
        return 1 + (moment - begun) // timedelta(days=self.days)

    def begun(self, since: str, base: Amount) -> Allowance:
        """Return the allowance with its first period beginning at a moment, at which an amount was spent."""
        return replace(self, since=since, base=base)

    def more_from(self, now: str) -> str | None:
        """Return when the next period begins, if a clock can tell."""
        begun = moment_of(self.since)
        if begun is None:
            return None
        try:
            return (begun + self.periods(now) * timedelta(days=self.days)).isoformat(timespec="seconds")
        except OverflowError:
            return None

    def whole(self, quota: Loss, now: str) -> Loss:
        """Return what all releases since the first period began may lose, and never more than the quota."""
        figure = self.each * self.periods(now)
        if isinstance(quota, ZCDP):
            return ZCDP(min(figure, quota.rho), quota.delta)
        epsilon = min(figure, quota.pure or Fraction(0))
        return ApproxDP(epsilon, quota.delta) if quota.delta else PureDP(epsilon)

    def used(self, kept: Amount) -> Amount:
        """Return what was spent since the first period began.

        Args:
            kept: what stays spent of the quota in all.

        """
        base = self.base
        epsilon = None if kept.epsilon is None else max(0, kept.epsilon - (base.epsilon or 0))
        return Amount(epsilon, max(0, kept.rho - base.rho), max(0, kept.delta - base.delta))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"each": str(self.each), "days": self.days, "since": self.since, "base": self.base.to_dict()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Allowance:
        """Return what ``to_dict`` wrote."""
        return cls(Fraction(record["each"]), record["days"], str(record["since"]), Amount.from_dict(record["base"]))


@dataclass(frozen=True)
class Approval:
    """Which releases others must agree to before they are debited.

    Args:
        above: those that lose more than this; None for each.
        approvers: how many must agree, one or two; never the one who asks.

    """

    above: Loss | None = None
    approvers: int = 1

    def __post_init__(self) -> None:
        if type(self.approvers) is not int or not 1 <= self.approvers <= MOST_APPROVERS:
            raise InvalidParameter("approvers", self.approvers, f"an integer from 1 to {MOST_APPROVERS}")

    def __str__(self) -> str:
        which = "each release" if self.above is None else f"a release above {self.above}"
        return f"{which} needs {'an approval' if self.approvers == 1 else f'{self.approvers} approvals'}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"above": None if self.above is None else self.above.to_dict(), "approvers": self.approvers}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Approval:
        """Return what ``to_dict`` wrote."""
        above = record["above"]
        return cls(None if above is None else Loss.from_dict(above), record["approvers"])


@dataclass(frozen=True)
class Terms:
    """What a grant says beside its quota.

    Args:
        most: what one release may lose at most; None for as much as the quota has.
        usual: what a release loses where nothing is stated; None where it must be.
        allowance: how fast the quota may be spent; None for at once.
        approval: which releases others must agree to; None for none.
        is_ended: whether nothing more is debited to the analyst.

    """

    most: Loss | None = None
    usual: Loss | None = None
    allowance: Allowance | None = None
    approval: Approval | None = None
    is_ended: bool = False

    def __post_init__(self) -> None:
        if self.usual is not None and self.most is not None and not self.usual <= self.most:
            raise InvalidParameter("usual", self.usual, f"at most {self.most}, the largest loss of one release")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, with what is not said left out."""
        said: dict[str, Any] = {
            _MOST: self.most and self.most.to_dict(),
            _USUAL: self.usual and self.usual.to_dict(),
            _ALLOWANCE: self.allowance and self.allowance.to_dict(),
            _APPROVAL: self.approval and self.approval.to_dict(),
            _ENDED: self.is_ended or None,
        }
        return {name: value for name, value in said.items() if value is not None}

    def needs_approval(self, charge: Amount) -> bool:
        """Whether others must agree to a charge; nobody need where nothing is lost, or was agreed to before."""
        if self.approval is None or charge == ZERO:
            return False
        return self.approval.above is None or not charge.loss() <= self.approval.above

    def is_too_much(self, charge: Amount) -> bool:
        """Whether a charge is more than one release may lose."""
        return self.most is not None and not charge.loss() <= self.most


NOTHING: Final = Terms()


@functools.lru_cache(maxsize=256)
def terms_of(limit: str | None) -> Terms:
    """Return what the text of a quota says beside its figures; raises where that is nothing sensible.

    >>> terms_of('{"epsilon":"1","kind":"pure","most":{"epsilon":"1/10","kind":"pure"}}').most
    PureDP('1/10')
    """
    record = {} if limit is None else json.loads(limit)
    if GRANTED.isdisjoint(record):
        return NOTHING
    return Terms(
        most=_loss(record.get(_MOST)),
        usual=_loss(record.get(_USUAL)),
        allowance=None if _ALLOWANCE not in record else Allowance.from_dict(record[_ALLOWANCE]),
        approval=None if _APPROVAL not in record else Approval.from_dict(record[_APPROVAL]),
        is_ended=record.get(_ENDED) is True,
    )


def with_terms(record: Mapping[str, Any], terms: Terms) -> dict[str, Any]:
    """Return the record of a quota with these terms in the place of those it had."""
    return {name: value for name, value in record.items() if name not in GRANTED} | terms.to_dict()


def moment_of(text: str) -> datetime | None:
    """Return the time that an entry carries, if its clock could tell."""
    try:
        found = datetime.fromisoformat(text)
    except (ValueError, TypeError):
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _loss(record: Mapping[str, Any] | None) -> Loss | None:
    return None if record is None else Loss.from_dict(record)


def _shown(figure: Fraction) -> str:
    return f"{float(figure):g}"
