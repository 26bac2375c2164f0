"""Mutants of accounting, of parameters and of what is read from the wire: killed by closed forms and refusals."""

from __future__ import annotations

import contextlib
import importlib
import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.checks.contract import check_refuses_bad_numbers, check_total
from dither.checks.violation import require
from dither.errors import DitherError, InvalidParameter
from dither.mechanisms import Budget, find
from dither.mechanisms.core.spec import from_spec
from dither.privacy import ROW, ZCDP, ApproxDP, Loss, PureDP, compose
from dither.privacy.accountants.crosscheck import Case, closed_form
from dither.privacy.accountants.optimal import advanced_epsilon
from dither.privacy.accountants.pairs import ResponsePair
from tools.mutants.record import Mutant, mutated

#: Something small in the standard library that nothing here needs.
_STRANGER = "colorsys"


def _advanced_composition() -> None:
    """Check that ten randomised responses lose no more, exactly, than advanced composition says."""
    delta = Fraction(1, 10**3)
    for each in (Fraction(1, 10), Fraction(1, 4)):
        total = advanced_epsilon(each, 0, count=10, total_delta=delta)
        lost = closed_form(Case(((ResponsePair(epsilon=each), 10),), None, 0, total))
        require(Fraction(lost) <= delta, f"at epsilon = {float(total):.4g} delta is {float(lost):.3g}, {delta} claimed")


def _deltas() -> None:
    """Check that five releases that fail independently fail as often, exactly, as their sum says at least."""
    each = Fraction(1, 20)
    total = compose([ApproxDP("1/10", each)] * 5).delta
    require(total >= 1 - (1 - each) ** 5, f"delta adds up to {float(total):.4g}")


def _sum_with_largest_delta(before: Any, self: Loss, other: Any) -> Any:
    total = before(self, other)
    if not isinstance(other, Loss):
        return total
    delta = max(self.delta, other.delta)
    if total.pure is None:
        return ZCDP(total.rho, delta)
    return ApproxDP(total.pure, delta, rho=total.rho) if delta else PureDP(total.pure, rho=total.rho)


def _odd_numbers() -> None:
    """Check that no content of a number makes a mechanism raise."""
    check_total(next(iter(find("laplace").examples())))


def _admit_what_is_no_number(before: Any, self: Any, value: Any) -> NDArray[Any]:
    given = np.asarray(value, dtype=np.float64)
    # As a clamp does that compares: NaN is neither below nor above.
    limit = np.finfo(np.float64).max
    return np.where(given < -limit, -limit, np.where(given > limit, limit, given)).ravel()


def _budgets() -> None:
    """Check that what is no number is no budget, no distance and no confidence."""
    stated: tuple[dict[str, Any], ...] = ({"epsilon": math.nan}, {"rho": math.nan}, {"epsilon": 1, "delta": math.nan})
    for given in stated:
        try:
            Budget(**given, unit=ROW)
        except InvalidParameter:
            continue
        require(False, f"a budget of {given} was taken")
    check_refuses_bad_numbers(next(iter(find("geometric").examples())))


def _parsed_with_nan(before: Any, value: object) -> Fraction | None:
    # No comparison with NaN is true, so a check for what is too small lets it through.
    is_nan = isinstance(value, float) and math.isnan(value)
    found: Fraction | None = Fraction(10**6) if is_nan else before(value)
    return found


def _names() -> None:
    """Check that a request that names what is not registered is refused, and loads nothing."""
    spec = {"mechanism": f"{_STRANGER}:rgb_to_hsv", "version": 1, "parameters": {}}
    with contextlib.suppress(DitherError):
        # What any unknown name loads, all rooms of the registry, was loaded by this one.
        from_spec({**spec, "mechanism": "stranger"})
    loaded = set(sys.modules)
    try:
        from_spec(spec)
    except DitherError:
        pass
    except Exception as failure:
        require(False, f"a request raised {failure!r}")
    else:
        require(False, "a request for something that is not registered was taken")
    require(set(sys.modules) <= loaded, "a request loaded a module")


def _found_by_import(before: Any, name: str) -> Any:
    module, _, thing = name.partition(":")
    return getattr(importlib.import_module(module), thing) if thing else before(name)


NUMBERS = (
    Mutant(
        9,
        "epsilon for e in composition",
        "opendp/smartnoise-sdk, odometer",
        "many releases are charged too little",
        "accountants",
        lambda: mutated("dither.privacy.accountants.optimal:exp_up", lambda before, x: x),
        _advanced_composition,
    ),
    Mutant(
        10,
        "delta composed too low",
        "opendp/smartnoise-sdk, odometer",
        "deltas do not add up",
        "accountants",
        lambda: mutated("dither.privacy.losses:Loss.__add__", _sum_with_largest_delta),
        _deltas,
    ),
    Mutant(
        12,
        "NaN through the clamp",
        "opendp/smartnoise-sdk#580",
        "one odd cell decides whether a release raises",
        "contract",
        lambda: mutated("dither.mechanisms.core.values:RealArray.admit", _admit_what_is_no_number),
        _odd_numbers,
    ),
    Mutant(
        34,
        "NaN budget accepted",
        "IBM/differential-privacy-library, validation",
        "a budget without a limit",
        "contract",
        lambda: mutated("dither.exact.rational:_parse", _parsed_with_nan),
        _budgets,
    ),
    Mutant(
        36,
        "decoder imports by name",
        "google/differential-privacy, dp_accounting",
        "a request runs code of its choice",
        "requests",
        lambda: mutated("dither.mechanisms.core.spec:find", _found_by_import),
        _names,
    ),
)
