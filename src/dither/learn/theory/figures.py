"""The result of a calculator: a number with its formula, its assumptions, its source, and errors in print."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dither.errors import InvalidParameter
from dither.exact import Number, positive, probability
from dither.privacy import Unit
from dither.privacy.fields import RowUnit


@dataclass(frozen=True)
class Figure:
    """A sample size or a risk, with its formula and source.

    Args:
        value: the number; a sample size is an integer.
        formula: how it is computed.
        assumes: what must hold.
        source: where it is from; "derived" where the page of learning theory has the proof.
        correction: the wrong value of a printed table, if there is one.
        is_order: whether the value is a growth rate without its constant, which is not a bound.

    """

    value: float
    formula: str
    assumes: tuple[str, ...]
    source: str
    correction: str = ""
    is_order: bool = False

    def __str__(self) -> str:
        kind = "grows like" if self.is_order else "is"
        return f"{kind} {self.value:.6g} ({self.formula}), if {'; '.join(self.assumes)}"


def asked(table: Mapping[str, Callable[..., Figure]], kind: str, name: str, options: dict[str, Any]) -> Figure:
    """Return the result of a calculator from a table, refusing unknown names and options."""
    if name not in table:
        raise InvalidParameter(kind, name, f"one of {', '.join(table)}")
    known = inspect.signature(table[name]).parameters
    for option in options:
        if option not in known:
            raise InvalidParameter(option, options[option], f"not allowed: {name} takes {', '.join(known)}")
    for option, parameter in known.items():
        if parameter.default is parameter.empty and option not in options:
            raise InvalidParameter(option, None, f"required for {name}")
    return table[name](**options)


def share(name: str, value: Number) -> float:
    """Return a number strictly between 0 and 1."""
    return float(probability(name, value, open_below=True))


def above_zero(name: str, value: Number) -> float:
    """Return a number above 0."""
    return float(positive(name, value))


def touched_by(unit: Unit) -> int:
    """Return the number of rows that one unit touches."""
    return RowUnit().convert("unit", unit).touched
