"""Refusals in the words of the command: the option's name and the value as they are typed.

The rooms below name parameters and show values as Python has them. How a person types them is known here alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Final

from dither.errors import InvalidParameter

_LONGEST: Final = 80
_NOTHING: Final = "nothing"
#: Where a failure remembers how its parameter is typed.
_TYPED: Final = "typed"


def remember_typed(failure: InvalidParameter, parameters: Sequence[Any]) -> None:
    """Note on a failure how the parameter that it is about is typed.

    Args:
        failure: that a verb raised.
        parameters: of the verb, as the parser has them.

    """
    what, _, _ = failure.parameter.partition(" of ")
    for one in parameters:
        spelled = {one.name, *(word.lstrip("-").replace("-", "_") for word in one.opts)}
        # Several of an option are a list of them further down.
        if what.replace(" ", "_") in spelled | {f"{word}s" for word in spelled}:
            setattr(failure, _TYPED, name_of(one))
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
    what, of, whose = failure.parameter.partition(" of ")
    name = f"{getattr(failure, _TYPED, what)}{of}{whose}"
    _, _, shown = plain.partition(f"{failure.rule}, got ")
    if plain != failure.worded(failure.parameter, shown):
        return plain  # not its own words alone
    # A refusal of a service: the value stayed there, and its words have it.
    if failure.offender is not None or shown == repr(None):
        # A flag was typed or was not: its rule says which it should have been.
        shown = "" if isinstance(failure.offender, bool) else said_value(failure.offender)
    return failure.worded(name, shown)


def said_value(value: object) -> str:
    """Return a value as people write it: without the quotes, brackets and names of classes that Python has.

    >>> from fractions import Fraction
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
