"""Bugs in the arithmetic of the ledger and in its store of answers."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

from dither.curator.ledger import Account, Reservation, amounts, open_ledger, returns
from dither.curator.ledger.admission import Certificates
from dither.curator.ledger.amounts import UNITS, ZERO, Amount
from dither.curator.ledger.transaction import limit_text
from dither.errors import DitherError
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP
from tools.mutants.plants.record import Plant, edited

_FAMILY = "ledger arithmetic and stored answers"
_AMOUNT = "dither.curator.ledger.amounts:"


def _rounding() -> str:
    """Try a seventeenth, seventeen times: more than one, in units that are rounded up."""
    charge = amounts.Amount.of(PureDP(Fraction(1, 17)))
    spent = Fraction(17 * (charge.epsilon or 0), UNITS)
    return "" if spent >= 1 else f"seventeen times 1/17 are debited as 1 less {float(1 - spent):.3g}"


def _admitted(budget: Loss, charge: Loss, most: int) -> Fraction:
    """Return how many times a charge is admitted to a budget."""
    certificates, spent, times = Certificates(), ZERO, 0
    while times < most and certificates.admits(limit_text(budget), spent, Amount.of(charge)):
        spent, times = spent + Amount.of(charge), times + 1
    return Fraction(times)


def _ahead() -> str:
    """Try a budget of one, and a tenth after a tenth."""
    times = _admitted(PureDP(1), PureDP("1/10"), 40)
    return "" if times <= 10 else f"{times} tenths are admitted to a budget of 1"


def _deltas() -> str:
    """Try a budget with a delta of 1e-6, and releases of 1e-7 each that cost nearly no epsilon."""
    times = _admitted(ApproxDP(1, "1e-6"), ApproxDP("1e-9", "1e-7"), 80)
    return "" if times <= 10 else f"{times} times a delta of 1e-7 are admitted to a budget of 1e-6"


def _sum_of_deltas() -> str:
    """Try a thousandth and a thousandth."""
    half = Amount.of(ApproxDP("1/2", "1e-3"))
    found = Fraction((half + half).delta, UNITS)
    return "" if found >= Fraction(2, 1000) else f"two deltas of 1e-3 add up to {float(found):.6g}"


def _unequal_deltas() -> str:
    """Try a certificate for releases without a delta is no certificate for one with a delta above the budget's."""
    certificates, limit = Certificates(), limit_text(ApproxDP(1, "1e-6"))
    certificates.admits(limit, ZERO, Amount.of(PureDP("1/1000")))
    is_admitted = certificates.admits(limit, ZERO, Amount.of(ApproxDP("1/1000", "1e-3")))
    return "a delta of 1e-3 is admitted to a budget of 1e-6" if is_admitted else ""


def _other_digest() -> str:
    """Try a key that was answered, asked again with another request whose digest begins alike."""
    with tempfile.TemporaryDirectory() as place:
        ledger = open_ledger(Path(place) / "ledger.db", anchors=Path(place) / "anchors")
        try:
            ledger.register("clinic", budget=PureDP(4), unit="rows added or removed")
            account = Account("clinic", "analyst")
            held = ledger.reserve(account, "key", "0123456789abcdef", PureDP(1))
            if not isinstance(held, Reservation):
                return "the first request was not reserved"
            ledger.begin_draw(held)
            ledger.complete(held, b"first answer")
            try:
                again = ledger.reserve(account, "key", "0123456789abcdee", PureDP(1))
            except DitherError:
                return ""
            return f"another request with the same key gets {type(again).__name__}, the answer of the first"
        finally:
            ledger.close()


def _given_back() -> str:
    """Try a release that says what it spent in rho: nothing of its epsilon is known to be left."""
    back = returns.unused(Amount.of(PureDP(1)), ZCDP("1/2"))
    return "" if back == 0 else f"{Fraction(back, UNITS)} of an epsilon of 1 is given back for a release of rho 1/2"


def _joined() -> str:
    """Of two charges the larger in each figure: both must be below it."""
    first, second = Amount.of(ApproxDP(1, "1e-6")), Amount.of(ApproxDP("1/2", "1e-3"))
    both = first.join(second)
    return "" if both.delta >= second.delta else "the larger of two charges has a smaller delta than one of them"


LEDGER = (
    Plant(
        68,
        "debits are rounded to the nearest unit below",
        _FAMILY,
        "losses that are no multiple of a unit are debited as less",
        (),
        edited(_AMOUNT + "_round_up", ("-(-numerator * UNITS // denominator)", "numerator * UNITS // denominator")),
        _rounding,
        is_known_kind=True,
    ),
    Plant(
        69,
        "a certificate reaches farther than what was tested",
        _FAMILY,
        "debits beyond the budget are admitted without a look at the filter",
        (),
        edited(
            "dither.curator.ledger.admission:Certificates.admits",
            ("self._known[limit] = total", "self._known[limit] = far"),
        ),
        _ahead,
    ),
    Plant(
        70,
        "many charges have the delta of one",
        _FAMILY,
        "a certificate for many debits leaves their deltas out",
        (),
        edited(_AMOUNT + "Amount.times", ("count * self.delta)", "self.delta)")),
        _deltas,
    ),
    Plant(
        71,
        "charges are compared without their delta",
        _FAMILY,
        "a debit with a large delta fits under any certificate",
        (),
        edited(
            _AMOUNT + "Amount.__le__", ("self.rho <= other.rho and self.delta <= other.delta", "self.rho <= other.rho")
        ),
        _unequal_deltas,
    ),
    Plant(
        72,
        "requests are told apart by the beginning of their digest",
        _FAMILY,
        "the stored answer of one request is returned for another",
        (),
        edited(
            "dither.curator.ledger.rules:Books.reserve",
            ('checked_name("request_digest", request_digest)', "request_digest = request_digest[:8]"),
        ),
        _other_digest,
    ),
    Plant(
        73,
        "what was spent in rho counts as no epsilon",
        _FAMILY,
        "a release whose loss is known in rho alone is given its whole epsilon back",
        (),
        edited(
            "dither.curator.ledger.returns:unused",
            ("or spent.pure is None or spent.delta", "or spent.delta"),
            (
                "return 0 if lost is None else max(0, charge.epsilon - lost)",
                "return max(0, charge.epsilon - (lost or 0))",
            ),
        ),
        _given_back,
    ),
    Plant(
        74,
        "the larger of two charges has the delta of the first",
        _FAMILY,
        "a limit that should hold for both leaves the larger delta out",
        (),
        edited(_AMOUNT + "Amount.join", ("max(self.delta, other.delta)", "self.delta")),
        _joined,
    ),
    Plant(
        75,
        "two charges have the larger delta of both",
        _FAMILY,
        "deltas of debits do not add up",
        (),
        edited(_AMOUNT + "Amount.__add__", ("self.delta + other.delta", "max(self.delta, other.delta)")),
        _sum_of_deltas,
        is_known_kind=True,
    ),
)
