"""Numbers far beyond use: every declared number is refused when it is given, or everything goes well with it.

Exact arithmetic takes numbers that no float holds. Where one of them becomes a float, or a scale of noise, only after
the charge, the release fails and its price is gone. So each declared number, budget and noise of an example is
replaced by such numbers, one at a time, and by those at which declared limits usually are. Deterministic, but for the
noise of the releases.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from dither.checks.law import conversed
from dither.checks.violation import ContractViolation
from dither.errors import BudgetExceeded, DitherError, InvalidValue
from dither.exact import FAR, Field
from dither.mechanisms import Composed, Example, Interactive, Mechanism, Primitive
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.noise import system_noise
from dither.privacy import ZCDP, Loss, PureDP
from dither.testing.replay import record

#: Beyond every float; the largest and the smallest that can be squared; the widest and the narrowest noise; shares.
EXTREMES: tuple[Fraction, ...] = (
    Fraction(10**400),
    Fraction(1, 10**400),
    Fraction(-(10**400)),
    Fraction(2**1000),
    Fraction(FAR),
    Fraction(1, FAR),
    Fraction(2**240),
    Fraction(1, 2**150),
    Fraction(2**40),
    Fraction(1, 2**40),
    1 - Fraction(1, 2**40),
)
_WIDTHS = ("scale", "sigma")


def check_extreme_numbers(example: Example, seen: set[Any] | None = None) -> None:
    """Check that each declared number is refused where it is absurd, or priced and released without an exception.

    Args:
        example: a mechanism, and data for it.
        seen: classes, fields and numbers that went well already and are not tried again; those that do are added.

    >>> from dither.mechanisms import find
    >>> check_extreme_numbers(next(iter(find("geometric").examples())))

    """
    mechanism: Any = example.mechanism
    known: set[Any] = set() if seen is None else seen
    for field in dataclasses.fields(mechanism):
        declared = inspect.getattr_static(type(mechanism), field.name, None)
        if not (isinstance(declared, Field) and field.init):
            continue
        content = getattr(mechanism, field.name)
        for extreme, replaced in _replaced(content):
            key = (type(mechanism), field.name, type(content), extreme)
            if key in known:
                continue
            where = f"{field.name} given {_about(extreme)}"
            try:
                changed = dataclasses.replace(mechanism, **{field.name: replaced()})
            except DitherError:
                continue
            except Exception as failure:
                raise ContractViolation(f"{where} is refused with {failure!r}, not an error of dither's own") from None
            if _goes_well(changed, example.data, where):
                known.add(key)


def _goes_well(mechanism: Mechanism[Any, Any], data: Any, where: str) -> bool:
    """Whether the mechanism released something; raise if it fails after a price was stated."""
    try:
        mechanism.loss(1)
        mechanism.error("0.9")
    except DitherError:
        return False  # refused before anything is charged
    except Exception as failure:
        raise ContractViolation(f"{where} is taken, and pricing it raises {failure!r}") from failure
    try:
        _run(mechanism, data)
    except (InvalidValue, BudgetExceeded):
        return False  # of another shape than the example's data, or too little for what the example asks
    except Exception as failure:
        raise ContractViolation(f"{where} is taken, and the release raises {failure!r}") from failure
    return True


def _run(mechanism: Mechanism[Any, Any], data: Any) -> None:
    if isinstance(mechanism, Primitive):
        mechanism.draw(data, system_noise())
    elif isinstance(mechanism, InteractivePrimitive):
        conversed(mechanism, list(data)[:3], system_noise())
    elif isinstance(mechanism, Composed | Interactive):
        record(mechanism, data)


def _replaced(value: Any) -> Iterator[tuple[Fraction, Callable[[], Any]]]:
    """Return each extreme number with what makes content of the field from it: a number, a budget, or noise."""
    make = _maker(value)
    if make is not None:
        # The limits of an integer are declared with it, and tried by the check of declared fields.
        for extreme in EXTREMES[:3] if isinstance(value, int) else EXTREMES:
            yield extreme, lambda extreme=extreme: make(extreme)  # type: ignore[misc]


def _maker(value: Any) -> Callable[[Fraction], Any] | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return lambda extreme: int(extreme) if extreme.denominator == 1 else extreme
    if isinstance(value, Fraction) or value is None:
        return lambda extreme: extreme
    if isinstance(value, PureDP | ZCDP):
        kind: Callable[[Fraction], Loss] = PureDP if isinstance(value, PureDP) else ZCDP
        return kind
    if isinstance(value, Mechanism):
        widths = [name for name in _WIDTHS if hasattr(value, name)]
        return (lambda extreme: dataclasses.replace(value, **{widths[0]: extreme})) if widths else None  # type: ignore[type-var]
    if isinstance(value, tuple) and value:
        first = _maker(value[0])
        # All of them, where they must be alike.
        return None if first is None else lambda extreme: tuple(first(extreme) for _ in value)
    return None


def _about(number: Fraction) -> str:
    """Return a long number by its size."""
    sign = "-" if number < 0 else ""
    return f"about {sign}2^{abs(number.numerator).bit_length() - number.denominator.bit_length()}"
