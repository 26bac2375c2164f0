"""Signatures of verbs: those of the functions that make offers, without the data set."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from dither.errors import InvalidParameter

F = TypeVar("F", bound=Callable[..., Any])


def without_dataset(verb: F, make: Callable[..., Any], *, first_word: str = "Offer") -> F:
    """Return a verb with the signature and help text of the function that makes its offer.

    Args:
        verb: a method, whose ``self`` stands for the data set.
        make: takes the data set first.
        first_word: of the help text, in place of "Offer".

    """
    signature = inspect.signature(make)
    _, *words = signature.parameters.values()
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = str(signature.return_annotation)
    if first_word != "Offer":
        given = given.removeprefix("Offer[").removesuffix("]")
    verb.__signature__ = signature.replace(parameters=[own, *words], return_annotation=given)  # type: ignore[attr-defined]
    text = (make.__doc__ or "").replace("        dataset: the schema.\n", "", 1)
    verb.__doc__ = text.replace("Offer ", f"{first_word} ", 1)
    verb.__annotations__ = {name: kind for name, kind in make.__annotations__.items() if name != "dataset"}
    verb.__annotations__["return"] = given
    return verb


def check_arguments(make: Callable[..., Any], words: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Refuse arguments that a verb does not have, and say which it has: before anything is planned or charged.

    Args:
        make: makes the verb's offer; takes the data set first.
        words: arguments by their place.
        options: arguments by their name.

    """
    signature = inspect.signature(make)
    try:
        signature.bind(None, *words, **options)
    except TypeError as error:
        wrong = str(error)
    else:
        return
    _, *named = signature.parameters
    given = [*(type(word).__name__ for word in words), *(f"{name}=" for name in options)]
    stated = "" if "epsilon" in named else "; what is lost is stated by the estimator" if "estimator" in named else ""
    rule = f"called with {', '.join(named)} ({wrong}{stated})"
    raise InvalidParameter(make.__name__, ", ".join(given) or "nothing", rule)
