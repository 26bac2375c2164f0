"""Refusals in the words of the command: the option's name as it is typed, and the value as it was typed.

The rooms below name parameters and show values as Python has them. What a person has typed is known here alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from dither.errors import InvalidParameter

_LONGEST: Final = 80
_NOTHING: Final = "nothing"
#: What the parser says of a verb's parameters, on a failure that passes through it.
_TYPED: Final = "typed"


def remember_typed(failure: InvalidParameter, parameters: Sequence[Any], values: Mapping[str, Any]) -> None:
    """Note on a failure how what it is about is typed.

    Args:
        failure: that a verb raised.
        parameters: of the verb, as the parser has them.
        values: that were typed, or are the defaults.

    """
    what, _, _ = failure.parameter.partition(" of ")
    for one in parameters:
        spelled = [word.lstrip("-").replace("-", "_") for word in one.opts]
        if what.replace(" ", "_") in (one.name, *spelled):
            setattr(failure, _TYPED, (name_of(one), values.get(one.name)))
            return


def name_of(parameter: Any) -> str:
    """Return how an option or an argument is typed, or is called in the help."""
    if getattr(parameter, "param_type_name", "") == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name).strip("[].").upper()


def refusal_words(failure: InvalidParameter) -> str:
    """Return what a refusal says to somebody who typed a command.

    >>> refusal_words(InvalidParameter("budget", None, "a finite number above 0"))
    'budget must be a finite number above 0, got nothing'
    """
    plain = str(failure)
    if not plain.startswith(f"{failure.parameter} must be {failure.rule}, got "):
        return plain
    name, value = getattr(failure, _TYPED, (failure.parameter, failure.offender))
    whole = failure.parameter
    if name != whole:
        _, of, rest = whole.partition(" of ")
        whole = f"{name}{of}{rest}"
    is_flag = isinstance(value, bool)
    offender = failure.offender if is_plain(failure.offender) or value is None else value
    said = "" if is_flag and isinstance(offender, bool) else f", got {said_value(offender)}"
    return f"{whole} must be {failure.rule}{said}"


def is_plain(value: object) -> bool:
    """Return whether a value looks the same to whoever typed it."""
    return isinstance(value, str | int | float | Fraction | Path) and not isinstance(value, bool)


def said_value(value: object) -> str:
    """Return a value as people write it: without the quotes, brackets and names of classes that Python has.

    >>> said_value(None), said_value(("a", "b")), said_value("x"), said_value(Fraction(1, 2))
    ('nothing', "'a', 'b'", "'x'", '1/2')
    """
    if value is None or (isinstance(value, str | Sequence) and not len(value)):
        return _NOTHING
    if isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, Enum):
        text = repr(value.value)
    elif isinstance(value, Mapping):
        text = ", ".join(f"{name}: {said_value(one)}" for name, one in value.items())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        text = ", ".join(map(said_value, value))
    elif isinstance(value, Path):
        text = repr(str(value))
    elif isinstance(value, str) or type(value).__str__ is object.__str__:
        text = repr(value)
    else:
        text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
