"""A refusal carries no other error along: what a library or a foreign object said might show a private value.

Python hangs the error that is being handled on every new one (``__context__``), and ``from None`` only hides it from
print. So where private values are read, nothing is raised inside an ``except``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import dither
from dither.errors import DitherError
from dither.mechanisms.core.values import Category, IntegerArray, RealArray
from dither.noise import source
from dither.privacy.distances import Relation
from dither.privacy.sensitivity.universe import Listed, Universe

ROOT = Path(dither.__file__).parent
ROOMS = ("data", "learn", "lift", "mechanisms", "noise", "privacy", "publish")
#: What these say of an operation tells nothing of values.
HARMLESS = {"ImportError", "OSError", "RecursionError", "duckdb.Error"}
#: Modules that read public things alone: schemas, queries, parameters, and what was released before.
PUBLIC = {
    *("data/files.py", "data/kinds.py", "data/suggest.py", "data/places/regions.py"),
    *("data/wire.py", "data/yaml_tree.py"),
    *("learn/models.py", "learn/preparing/public.py", "learn/saved.py", "learn/selection/model.py"),
    *(
        "learn/theory/concepts.py",
        "learn/trees/bins.py",
        "mechanisms/core/public.py",
        "mechanisms/core/registry.py",
        "mechanisms/core/spec.py",
    ),
    *("privacy/losses.py", "privacy/sensitivity/search.py", "publish/microdata/anonymized.py"),
    *(
        "publish/microdata/hierarchies.py",
        "publish/queries/result.py",
        "publish/queries/stored_columns.py",
        "publish/synthetic/families.py",
    ),
    *(
        "publish/synthetic/result.py",
        "lift/axes.py",
        "publish/workloads/record.py",
        "noise/client_words.py",
        "noise/entropy.py",
    ),
}
SQL = "publish/queries/sql/"


def raised_while_handling(text: str) -> Iterator[int]:
    """Yield the lines of a module that raise a new error where another one is handled."""
    for handler in ast.walk(ast.parse(text)):
        if not isinstance(handler, ast.ExceptHandler):
            continue
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type] if handler.type else []
        if kinds and {ast.unparse(kind) for kind in kinds} <= HARMLESS:
            continue
        for inner in ast.walk(handler):
            if isinstance(inner, ast.Raise) and inner.exc is not None:
                yield inner.lineno


def test_nothing_is_raised_while_an_error_about_private_values_is_handled() -> None:
    found = {
        (name, line)
        for room in ROOMS
        for path in (ROOT / room).rglob("*.py")
        if (name := path.relative_to(ROOT).as_posix()) not in PUBLIC and not name.startswith(SQL)
        for line in raised_while_handling(path.read_text(encoding="utf-8"))
    }
    assert found == set()


def test_the_walk_finds_what_it_looks_for() -> None:
    bad = "try:\n    f()\nexcept (OSError, ValueError):\n    if g():\n        raise E() from None\n"
    assert list(raised_while_handling(bad)) == [5]
    for good in ("raise", "pass"):
        assert not list(raised_while_handling(f"try:\n    f()\nexcept ValueError:\n    {good}\n"))
    assert not list(raised_while_handling("try:\n    f()\nexcept ImportError:\n    raise E() from None\n"))


def said(error: BaseException | None) -> str:
    """Return all words of an error and of those that hang on it."""
    return "" if error is None else f"{error!r} {error} {said(error.__cause__)} {said(error.__context__)}"


def refuse(*_: Any, **__: Any) -> NoReturn:
    raise ValueError("4711")


class Hostile:
    """Fails to become an array."""

    __array__ = __len__ = __getitem__ = __index__ = __float__ = refuse


DOORS: list[tuple[Callable[[Any], Any], Any]] = [
    (IntegerArray((2,)).admit, [np.zeros((2, 3)), np.full((3, 2), 4711)]),
    (IntegerArray((2,)).admit, Hostile()),
    (RealArray((2,)).admit, Hostile()),
    (RealArray((1,)).admit, [Hostile()]),
    (Category(3).admit, Hostile()),
    (Universe([0, 1], sizes=range(1, 3), relation=Relation.ADD_REMOVE).canonical, (4711,)),
    (Listed([(0,), (1,)], lambda data: []).canonical, (4711,)),
    (Listed([(0,), (1,)], lambda data: []).canonical, [4711]),
    (source._scores, [[4711], [4711, 4712]]),
]


@pytest.mark.parametrize(("door", "value"), DOORS, ids=lambda given: getattr(given, "__qualname__", ""))
def test_a_refusal_carries_no_words_about_the_value(door: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(DitherError) as raised:
        door(value)
    assert "471" not in said(raised.value)
    assert raised.value.__context__ is None


@pytest.mark.parametrize("base", [int, float, Fraction])
def test_a_number_of_a_class_of_its_own_is_the_number_that_it_extends(base: type) -> None:
    asked = ("__eq__", "__float__", "__ge__", "__gt__", "__hash__", "__index__", "__int__", "__le__", "__lt__")
    owned = type("Owned", (base,), {name: refuse for name in asked if hasattr(base, name)})
    assert RealArray((2,)).admit([owned(3), 1]).tolist() == [3, 1]
    if base is int:
        assert IntegerArray((2,)).admit([owned(3), 1]).tolist() == [3, 1]
        assert IntegerArray(()).admit(owned(3)).tolist() == [3]
        assert Category(3).admit(owned(7)) == 2
