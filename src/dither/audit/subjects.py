"""Everything to audit under a name: a registered mechanism, or a caller's own mechanism or plain function.

``laplace`` is a registered mechanism. ``module:thing`` and ``file.py:thing`` are looked up in a module: a mechanism
class that is registered with examples, an instance of a mechanism, an ``Example`` or a list of them, a ``Subject``, or
any function of one input, or of an input and a count. A function does not say what it promises or which inputs are
neighbours: these are given beside it.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.pairs import Pair
from dither.audit.samplers import Sampler
from dither.errors import InvalidParameter
from dither.mechanisms import Example, InteractivePrimitive, Mechanism, Primitive, find
from dither.mechanisms.core.values import Category, IntegerArray, RealArray
from dither.privacy import Loss

_RULE = "a mechanism, a class that is registered, an Example, a list of them, a Subject or a function"


@dataclass(frozen=True)
class Subject:
    """A caller's own sampler, its claim, and pairs of neighbours to try it on."""

    name: str
    sample: Sampler
    claim: Loss
    pairs: tuple[Pair, ...]


def subject(function: Callable[..., Any], claim: Loss, *pairs: tuple[Any, Any]) -> Subject:
    """Return a plain function as a subject of an audit.

    Args:
        function: of an input, returning one outcome; or of an input and a count, returning that many, one a row.
        claim: its promise for every pair.
        pairs: of inputs that are neighbours.

    >>> from dither.privacy import PureDP
    >>> subject(lambda value: value, PureDP(1), (0, 1)).sample(7, 3).tolist()
    [7, 7, 7]

    """
    if not isinstance(claim, Loss):
        raise InvalidParameter("claim", claim, "the loss that the function is claimed to have")
    if not pairs:
        raise InvalidParameter("pairs", pairs, "at least one pair of neighbours")
    listed = tuple(
        Pair(f"given pair {number}", value, neighbour, Fraction(1)) for number, (value, neighbour) in enumerate(pairs)
    )
    return Subject(getattr(function, "__name__", "function"), sampler_from(function), claim, listed)


def sampler_from(function: Callable[..., Any]) -> Sampler:
    """Return a sampler: the function itself if it takes an input and a count, otherwise one call for each outcome."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        parameters = ()  # type: ignore[assignment]
    needed = [each for each in parameters if each.kind in kinds and each.default is inspect.Parameter.empty]
    if len(needed) == 2:
        return function

    def sample(value: Any, count: int) -> NDArray[Any]:
        return np.array([function(value) for _ in range(count)])

    sample.__name__ = getattr(function, "__name__", "function")
    return sample


def subjects_of(
    name: str, *, claim: Loss | None = None, pairs: Iterable[tuple[Any, Any]] = ()
) -> list[Example | Subject]:
    """Return everything to audit under a name.

    Args:
        name: of a registered mechanism, or ``module:thing``, or ``file.py:thing``.
        claim: the promise of a plain function.
        pairs: neighbours for a plain function.

    >>> len(subjects_of("randomised-response"))
    2

    """
    if ":" not in name:
        return list(find(name).examples())
    thing = _loaded(name)
    if isinstance(thing, type) and issubclass(thing, Mechanism):
        return list(find(thing.name).examples())
    if isinstance(thing, Example | Subject):
        return [thing]
    if isinstance(thing, Mechanism):
        return [Example(thing, _plain_input(thing))]
    if isinstance(thing, list | tuple) and thing and all(isinstance(each, Example | Subject) for each in thing):
        return list(thing)
    if callable(thing):
        if claim is None:
            raise InvalidParameter("claim", None, "required for a plain function, which declares no promise")
        return [subject(thing, claim, *pairs)]
    raise InvalidParameter("name", f"{name}, which is a {type(thing).__name__}", _RULE)


def _plain_input(mechanism: Mechanism[Any, Any]) -> Any:
    """Return an input for a primitive, whose domain says what it may be."""
    if isinstance(mechanism, InteractivePrimitive):
        return [0, 1, 0]
    domain = mechanism.domain if isinstance(mechanism, Primitive) else None
    if isinstance(domain, Category):
        return 0
    if isinstance(domain, IntegerArray | RealArray):
        return np.zeros(domain.shape, dtype=np.int64)[()] if domain.shape else 0
    raise InvalidParameter("name", mechanism.name, "an Example with data, or registered: its domain suggests no input")


def _loaded(name: str) -> Any:
    where, _, what = name.rpartition(":")
    with _from_here():
        if where.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(where).stem, where)
            if spec is None or spec.loader is None or not Path(where).is_file():
                raise InvalidParameter("name", name, "a file that exists")
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
        else:
            try:
                module = importlib.import_module(where)
            except ModuleNotFoundError as missing:
                raise InvalidParameter("name", name, f"in a module that can be imported ({missing})") from None
    try:
        return getattr(module, what)
    except AttributeError:
        raise InvalidParameter("name", name, f"something that the module {where} has") from None


@contextmanager
def _from_here() -> Iterator[None]:
    """Search the working directory for modules too, as Python itself does when it runs a file."""
    sys.path.insert(0, os.getcwd())
    try:
        yield
    finally:
        sys.path.remove(os.getcwd())
