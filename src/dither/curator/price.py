"""The price of a release before it is made: from public facts alone, with the data closed."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from dither.curator.ledger import Account, Balance, Ledger
from dither.errors import InvalidParameter, LossNotStated, NoGuarantee
from dither.mechanisms.notebook import decimals, html
from dither.privacy import Loss, PureDP
from dither.privacy.losses import states_rho

#: More releases are not counted beforehand.
MOST_AFFORDABLE: Final = 1024


@dataclass(frozen=True)
class Price:
    """What a release would cost.

    Args:
        release: what would be released, in words.
        loss: what it would lose.
        unit: whom it would protect, in words.
        left: what the analyst may still spend.
        fits: whether it would be admitted now; nothing is promised for a moment later.
        is_at_most: whether the answer decides how much of the loss stays charged.
        error: how far the answer may be off, in words, as far as that is public; "" where nothing is said.
        after: what would be left after it, where its noise is counted by rho; "" where the difference is what is left.
        stated: the loss as it was requested, where the release states another figure; None where it is the same.

    """

    release: str
    loss: Loss
    unit: str
    left: str
    fits: bool
    is_at_most: bool = False
    error: str = ""
    after: str = ""
    stated: Loss | None = None

    @property
    def cost(self) -> str:
        """The loss in words."""
        if self.stated is not None:
            return f"{self.loss} (requested: {self.stated})"
        return f"at most {self.loss}, usually less" if self.is_at_most else str(self.loss)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        said: dict[str, Any] = {"release": self.release, "unit": self.unit, "left": self.left, "fits": self.fits}
        if self.is_at_most:
            said["is_at_most"] = True
        if self.error:
            said["error"] = self.error
        if self.after:
            said["after"] = self.after
        if self.stated is not None:
            said["stated"] = self.stated.to_dict()
        return {**said, "loss": self.loss.to_dict(), "loss_decimals": decimals(self.loss)}

    def to_json(self) -> str:
        """Return plain values as JSON."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def __repr__(self) -> str:
        return f"<Price: {self.cost} for {self.release}>"

    def _repr_html_(self) -> str:
        facts = [("cost", self.cost), ("protects", self.unit), ("left", self.left)]
        facts += [("left after it", self.after)] if self.after else []
        facts += [("expected error", self.error)] if self.error else []
        return html(f"Price of {self.release}", facts=[*facts, ("fits", "yes" if self.fits else "no")])

    def __str__(self) -> str:
        fits = "it fits" if self.fits else "it does not fit"
        fits += f", and {self.after} would be left after it" if self.after else ""
        price = f"{self.release} would cost {self.cost}, for {self.unit}; {self.left} is left: {fits}"
        return f"{price}\nexpected error: {self.error}" if self.error else price


@dataclass(frozen=True)
class Room:
    """What an account has room for.

    Args:
        left: what may still be spent, in words.
        fits: whether one release of the loss would be admitted now; nothing is promised for a moment later.
        releases: how many of them would be, one after another, up to a thousand; None where that was not asked.
        takes_back: whether its budget takes back what a release was debited and did not lose.
        after: what would be left after one of them, where its noise is counted by rho; "" otherwise.

    """

    left: str
    fits: bool
    releases: int | None = None
    takes_back: bool = False
    after: str = ""


def room_for(ledger: Ledger, account: Account, loss: Loss, *, is_counted: bool = False) -> Room:
    """Return what an account has room for.

    Args:
        ledger: where releases would be charged.
        account: whose releases.
        loss: of each of them.
        is_counted: whether to say how many.

    """
    left, budget = ledger.balance(account.dataset, account.analyst).left, ledger.balance(account.dataset).budget
    takes_back = isinstance(budget, PureDP) and not states_rho(budget)
    many = affordable(ledger, account, loss) if is_counted else None
    fits = ledger.would_admit(account, loss)
    after = ledger.left_after(account, loss) if fits and loss.pure is None else None
    return Room(str(left), fits, many, takes_back, "" if after is None else str(after))


def requested(loss: Loss, stated: Loss) -> Loss | None:
    """Return the loss as it was requested, where a release by rho shows another figure; None otherwise.

    Args:
        loss: of the release.
        stated: as it was requested.

    """
    return stated if loss.pure is None and stated.pure is not None else None


def affordable(ledger: Ledger, account: Account, loss: Loss) -> int:
    """Return how many releases of a loss would be admitted one after another, up to a thousand.

    Args:
        ledger: where they would be charged.
        account: whose releases.
        loss: of each of them.

    """

    def fits(many: int) -> bool:
        try:
            return ledger.would_admit(account, loss, many)
        except InvalidParameter:
            return False  # more than any budget: deltas of 1 and more promise nothing
        except NoGuarantee:
            return False

    low, high = 0, 1
    while high <= MOST_AFFORDABLE and fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return min(low, MOST_AFFORDABLE)


@contextlib.contextmanager
def saying_what_is_left(balance: Callable[[], Balance]) -> Iterator[None]:
    """Say what is left, where nobody said what a release may lose.

    Args:
        balance: tells what the analyst may still spend; asked only then.

    """
    try:
        yield
    except LossNotStated as refusal:
        raise loss_not_stated(refusal.parameter, balance()) from None


def loss_not_stated(parameter: str, balance: Balance) -> LossNotStated:
    """Return that a loss is not stated, with what is left, and with the most for one release where that is less.

    Args:
        parameter: which states it.
        balance: of who asks.

    """
    is_less = balance.most is not None and not balance.left <= balance.most
    return LossNotStated(parameter, balance.left, balance.most if is_less else None)
