"""A typed record refuses fields of another type than it declares, by name, before it checks anything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.exact import Positive, typed


@dataclass(frozen=True)
@typed
class Base:
    kind: ClassVar[str] = "base"
    count: int


@dataclass(frozen=True)
@typed
class Everything(Base):
    share: Fraction
    size: float
    is_it: bool
    names: tuple[str, ...]
    pair: tuple[int, str]
    maybe: Base | None
    table: Mapping[str, int]
    whatever: Any
    scale: Positive = Positive()

    def __post_init__(self) -> None:
        # What is declared is there by now: nothing here asks for its type.
        if self.count < len(self.names):
            raise InvalidParameter("names", self.names, "fewer")


GOOD: dict[str, Any] = {
    "count": np.int64(2),
    "share": 1,
    "size": 1,
    "is_it": np.True_,
    "names": ("a", "b"),
    "pair": (1, "x"),
    "maybe": None,
    "table": {},
    "whatever": object(),
    "scale": "1/2",
}


def test_what_is_declared_is_taken() -> None:
    made = Everything(**GOOD)
    assert made.scale == Fraction(1, 2)
    Everything(**{**GOOD, "maybe": Base(1), "share": Fraction(1, 3), "size": float("nan")})


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("count", "2"),
        ("count", 2.0),
        ("count", True),
        ("count", None),
        ("share", 0.5),
        ("share", True),
        ("size", "1"),
        ("size", 1j),
        ("is_it", 1),
        ("names", ["a"]),
        ("names", "ab"),
        ("names", ("a", 1)),
        ("names", ("a", "b", "c")),
        ("pair", (1,)),
        ("pair", ("x", 1)),
        ("pair", (1, "x", "y")),
        ("maybe", 0),
        ("table", ()),
        ("scale", -1),
    ],
)
def test_anything_else_is_refused_by_name(name: str, bad: Any) -> None:
    with pytest.raises(InvalidParameter, match=name):
        Everything(**{**GOOD, name: bad})
