"""Rows that are foreign objects: classes whose every method raises, and objects longer than memory.

What one row is must change nothing but that row's meaning: no release may raise, hang or take another path because of
one, and none may show a word of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

_KEPT = {"__new__", "__init__", "__class__", "__init_subclass__", "__subclasshook__", "__dict__", "__doc__"}
_KEPT |= {"__getattribute__", "__setattr__", "__delattr__", "__slots__", "__module__", "__array_finalize__"}
_MORE = ("__array__", "__bool__", "__complex__", "__float__", "__index__", "__int__", "__iter__", "__len__")


def foreign_rows() -> list[Any]:
    """Return objects to be rows, or cells of rows."""
    bases: list[tuple[type, tuple[Any, ...]]] = [
        *((object, ()), (int, (3,)), (float, (0.5,)), (complex, (1.0,)), (str, ("a",)), (bytes, (b"a",))),
        *((Fraction, (1, 3)), (Decimal, ("1.5",)), (dict, ()), (tuple, ([1, "a"],)), (list, ([1, "a"],))),
        *((set, ([1, "a"],)), (frozenset, ([1, "a"],)), (np.float64, (1.5,)), (np.str_, ("a",))),
    ]
    raising = [_raising(base, *content) for base, content in bases]
    array: Any = np.arange(2.0).view(type("OwnArray", (np.ndarray,), _methods(np.ndarray)))
    return [*raising, array, _Refuses(), _Quits(), _Claims(), *_endless()]


def with_foreign(rows: Sequence[Any], *, is_replaced: bool) -> Iterator[list[Any]]:
    """Return rows with one foreign row added, or in place of the first; and with one that holds a foreign cell."""
    kept = [*rows][1:] if is_replaced else [*rows]
    for odd in foreign_rows():
        yield [*kept, odd]
        yield [*kept, (odd,)]


def _raise(*_: Any, **__: Any) -> NoReturn:
    raise ValueError("a private word")


def _methods(base: type) -> dict[str, Any]:
    """Return a method that raises for each that a class has, and for those that it might have."""
    own = {name for name in dir(base) if name.startswith("__") and callable(getattr(base, name))}
    return dict.fromkeys((own | set(_MORE) | {"item", "tolist"}) - _KEPT, _raise)


def _raising(base: type, *content: Any) -> Any:
    return type(f"Own{base.__name__.title()}", (base,), _methods(base))(*content)


class _Refuses:
    """Does not even reveal its class."""

    @property  # type: ignore[misc]
    def __class__(self) -> NoReturn:  # type: ignore[override]
        _raise()


class _Quits:
    """Ends the program when asked for its class."""

    @property  # type: ignore[misc]
    def __class__(self) -> NoReturn:  # type: ignore[override]
        raise SystemExit("a private word")


class _Claims:
    """Claims to be a list."""

    __class__ = list  # type: ignore[assignment]


def _endless() -> Iterator[Any]:
    """Return objects that are longer than memory, or as deep as the stack."""
    doubled: list[Any] = [1, "a"]
    for _ in range(64):
        doubled = [doubled, doubled]
    itself: list[Any] = []
    itself += [itself, itself]
    yield from (range(10**30), range(10**12), doubled, itself)
    for cell in (1, 0.5, "a"):
        yield np.broadcast_to(np.array(cell), (10**12,))
    yield np.lib.stride_tricks.sliding_window_view(np.arange(2**18), 2**17)
    yield from (10**5000, -(10**5000), Fraction(10**6000, 7), Fraction(1, 10**6000), Decimal("1e999999"))
    yield from (Decimal("sNaN"), None, 1j, "\ud800", b"\xff", np.datetime64("NaT"), np.timedelta64(5, "ns"))
    yield np.array([(1, "a")], dtype=[("n", int), ("t", "U1")])[0]
