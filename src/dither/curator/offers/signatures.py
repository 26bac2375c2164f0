"""Signatures of verbs: those of the functions that make offers, without the data set."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

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
