"""``python -m tools.ledgers``: audit the arithmetic of the ledger and its store of answers.

Amounts, sums, comparisons, admissions and returns are recomputed in fractions by code that shares nothing with the
ledger's. A ledger on disk is asked again for what it answered: the same request gets the same bytes, every other one
with the same key is refused, however alike their digests are, and what is debited covers the sum of all losses. Part of
``make audit``; ends with status 1 when something is wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

from dither.curator.ledger import Account, Ledger, Reservation, Stored, open_ledger, returns
from dither.curator.ledger.admission import Certificates
from dither.curator.ledger.amounts import UNITS, ZERO, Amount
from dither.curator.ledger.transaction import limit_text
from dither.errors import BudgetExceeded, KeyReused
from dither.noise import system_noise
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP

#: How many losses, sequences of debits and requests are tried.
ROUNDS: Final = 2000
_DEBITS: Final = 40
_UNIT: Final = Fraction(1, UNITS)
#: Floats decide where a rho is compared with what it converts to: claims closer than this are not told apart.
_NEAR: Final = 1e-9

Lots = Callable[[int], int]


def audit_ledger(rounds: int = ROUNDS) -> list[str]:
    """Return what is wrong with arithmetic and store, as sentences; none if nothing was found.

    Args:
        rounds: how many losses are tried; a tenth as many sequences of debits, and a twentieth as many requests.

    """
    noise = system_noise()

    def lots(below: int) -> int:
        return int(noise.uniform_below(below, 1)[0])

    found = [*_amounts(lots, rounds), *_returns(lots, rounds), *_admissions(lots, max(rounds // 10, 4))]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ledger = open_ledger(place / "ledger.db", anchors=place / "anchors")
        try:
            found += _store(ledger, lots, max(rounds // 20, 6))
        finally:
            ledger.close()
    return list(dict.fromkeys(found))


def _amounts(lots: Lots, rounds: int) -> Iterator[str]:
    """Compare amounts with fractions: each figure is rounded up by less than a unit, and sums are exact."""
    for _ in range(rounds):
        first, second, times = _loss(lots), _loss(lots), lots(70)
        one, other = Amount.of(first), Amount.of(second)
        for loss, amount in ((first, one), (second, other)):
            for name, exact, stored in _figures(loss, amount):
                if not exact <= stored * _UNIT < exact + _UNIT:
                    yield f"the {name} of {loss!r} is debited as {stored} units"
            if not loss <= amount.loss():
                yield f"{loss!r} is debited as {amount.loss()!r}, which does not cover it"
            if Amount.from_texts(*amount.texts()) != amount or Amount.from_dict(amount.to_dict()) != amount:
                yield f"{amount} does not survive being written"
        if _plain(one + other) != _added(one, other):
            yield f"{one} and {other} add up to {one + other}"
        if _plain(one.times(times)) != tuple(None if x is None else x * times for x in _plain(one)):
            yield f"{times} times {one} is {one.times(times)}"
        if any(not amount <= one.join(other) for amount in (one, other)):
            yield f"the larger of {one} and {other} is {one.join(other)}"
        if (one <= other) != _is_at_most(one, other):
            yield f"{one} counts as at most {other}: {one <= other}"


def _returns(lots: Lots, rounds: int) -> Iterator[str]:
    """Give nothing back but epsilon of pure losses, and never more than was left of it."""
    for _ in range(rounds):
        charged, spent = _loss(lots), _loss(lots)
        back = returns.unused(Amount.of(charged), spent)
        left = Fraction(0)
        if isinstance(charged, PureDP) and isinstance(spent, PureDP):
            left = max(Fraction(0), Amount.of(charged).loss().pure or Fraction(0)) - spent.epsilon
        if not 0 <= back * _UNIT <= max(left, Fraction(0)):
            yield f"of {charged!r} {float(back * _UNIT):.6g} is given back after {spent!r} was spent"


def _admissions(lots: Lots, rounds: int) -> Iterator[str]:
    """Ask for many debits in random sizes: what is admitted fits the budget, however sums are remembered."""
    for _ in range(rounds):
        budget, certificates, spent = _budget(lots), Certificates(), ZERO
        sizes = [_charge(budget, lots) for _ in range(3)]
        charges: list[Loss] = []
        for _ in range(_DEBITS):
            charge = sizes[lots(3)]
            if certificates.admits(limit_text(budget), spent, Amount.of(charge)):
                spent = spent + Amount.of(charge)
                charges.append(charge)
        if not _fits(budget, charges):
            yield f"{len(charges)} debits were admitted to {budget!r}, and do not fit: {charges[:3]!r:.200}"


def _store(ledger: Ledger, lots: Lots, requests: int) -> Iterator[str]:
    """Answer requests, and ask again: the same bytes for the same request, a refusal for any other."""
    budget, account = PureDP(4), Account("clinic", "analyst")
    ledger.register("clinic", budget=budget, unit="rows added or removed")
    answered: list[tuple[str, str, bytes, Loss]] = []
    for number in range(requests):
        key, digest, loss = f"key {number}", hashlib.sha256(str(lots(2**60)).encode()).hexdigest(), _pure(lots, 30)
        try:
            held = ledger.reserve(account, key, digest, loss)
        except BudgetExceeded:
            continue
        if not isinstance(held, Reservation):
            yield "a new key was answered before anything was drawn"
            continue
        ledger.begin_draw(held)
        answer = hashlib.sha256(f"{digest} {lots(2**60)}".encode()).digest()
        ledger.complete(held, answer)
        answered.append((key, digest, answer, loss))
    for key, digest, answer, lost in answered:
        again = ledger.reserve(account, key, digest, lost)
        if not isinstance(again, Stored):
            yield f"{key} was answered, and is drawn again"
        elif again.receipt.answer != answer:
            yield f"{key} was answered with other bytes"
        for other in _alike(digest, lots):
            try:
                ledger.reserve(account, key, other, lost)
            except KeyReused:
                continue
            yield f"{key} belongs to {digest}, and {other} is not refused"
    spent = sum((lost.pure or Fraction(0) for *_, lost in answered), Fraction(0))
    if (ledger.balance("clinic").spent.pure or Fraction(0)) < spent or spent > budget.epsilon:
        yield f"losses of {spent} were answered, and {ledger.balance('clinic').spent!r} is debited of {budget!r}"
    yield from ledger.verify().problems


def _alike(digest: str, lots: Lots) -> Iterator[str]:
    """Yield digests that differ in one letter, at the end, at the beginning and anywhere; shorter and longer ones."""
    for place in (0, len(digest) - 1, lots(len(digest))):
        yield digest[:place] + ("0" if digest[place] != "0" else "1") + digest[place + 1 :]
    yield from (digest[:-1], digest + "0", digest.upper() if digest.upper() != digest else digest + "x")


def _fits(budget: Loss, charges: list[Loss]) -> bool:
    """Return whether charges fit a budget, by the rules of composition in fractions, as generous as they allow."""
    delta = sum((charge.delta for charge in charges), Fraction(0))
    rho = sum((charge.rho for charge in charges), Fraction(0))
    pure = [charge.pure for charge in charges]
    epsilon = None if None in pure else sum((one for one in pure if one is not None), Fraction(0))
    if delta > budget.delta:
        return False
    if isinstance(budget, ZCDP):
        return rho <= budget.rho
    if epsilon is not None and budget.pure is not None and epsilon <= budget.pure:
        return True
    left = float(budget.delta - delta)
    return left > 0 and _converted(float(rho), left) <= float(budget.pure or 0) * (1 + _NEAR) + _NEAR


def _converted(rho: float, delta: float) -> float:
    """Return the epsilon of a rho at a delta: the least over many orders (Canonne, Kamath and Steinke 2020)."""
    orders = (1 + math.exp(step / 40) for step in range(-320, 480))
    return min(
        (order * rho + math.log1p(-1 / order) - math.log(delta * order) / (order - 1) for order in orders),
        default=math.inf,
    )


def _figures(loss: Loss, amount: Amount) -> Iterator[tuple[str, Fraction, int]]:
    if loss.pure is not None and amount.epsilon is not None:
        yield "epsilon", loss.pure, amount.epsilon
    yield "rho", loss.rho, amount.rho
    yield "delta", loss.delta, amount.delta


def _plain(amount: Amount) -> tuple[int | None, int, int]:
    return amount.epsilon, amount.rho, amount.delta


def _added(one: Amount, other: Amount) -> tuple[int | None, int, int]:
    epsilon = None if one.epsilon is None or other.epsilon is None else one.epsilon + other.epsilon
    return epsilon, one.rho + other.rho, one.delta + other.delta


def _is_at_most(one: Amount, other: Amount) -> bool:
    fits = other.epsilon is None or (one.epsilon is not None and one.epsilon <= other.epsilon)
    return fits and one.rho <= other.rho and one.delta <= other.delta


def _pure(lots: Lots, below: int) -> PureDP:
    """Return a loss whose figures are no multiples of a unit of the ledger: primes divide them."""
    return PureDP(Fraction(1 + lots(99), (17, 19, 23, 29, 31)[lots(5)] * (1 + lots(below))))


def _loss(lots: Lots) -> Loss:
    epsilon, kind = _pure(lots, 10**6).epsilon, lots(4)
    delta = Fraction(1 + lots(99), 37 * 10 ** (3 + lots(6)))
    return (PureDP(epsilon), ZCDP(epsilon), ApproxDP(epsilon, delta), ZCDP(epsilon, delta))[kind]


def _budget(lots: Lots) -> Loss:
    kinds: tuple[Loss, ...] = (PureDP(1), ZCDP("1/2"), ApproxDP(1, "1e-6"), ApproxDP(1, "1e-3"))
    return kinds[lots(4)]


def _charge(budget: Loss, lots: Lots) -> Loss:
    """Return a debit of a tenth to nearly all of a budget, of any kind that it may admit."""
    part = Fraction(1 + lots(30), 31)
    delta = budget.delta * Fraction(1 + lots(12), 12)
    kinds: list[Loss] = [PureDP((budget.pure or Fraction(1)) * part), ZCDP(part / 20)]
    if budget.delta:
        kinds += [ApproxDP(part / 1000, delta), ApproxDP((budget.pure or Fraction(1)) * part, delta)]
    return kinds[lots(len(kinds))]


def main(arguments: list[str] | None = None) -> int:
    """Audit the ledger, print what was found, and return 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tools.ledgers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="losses; a tenth as many sequences of debits")
    found = audit_ledger(parser.parse_args(arguments).rounds)
    print("\n".join(found) or "ledger: amounts, returns, admissions and stored answers hold")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
