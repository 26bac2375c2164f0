"""The meaning of one private cell: a number or missing, a declared class or none of them.

The meaning of a cell is a function of that cell and of public parameters alone. It never depends on the type that the
cells of an array have in common, on other cells of its row or column, or on how a container stores it: a text among
numbers is missing, and the numbers stay what they were. Nothing here raises because of a cell.

A number is a real number of any kind, true (1) or false (0), a complex number without imaginary part, or a text that
spells a number as the tables of a data set read it. An integer too large for a float is an infinity of its sign, which
means the bound of its column. Everything else is missing: NULL, dates, durations, lists, records.

A cell of a class that extends int, float, complex, str or bytes is the number or the text that it extends:
its own methods are not called. A number of another foreign type is asked, and counts as missing if it raises.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Number, Real
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.evaluation import cell as cell_of
from dither.data.expressions import Kind
from dither.errors import InvalidParameter

#: The code of a label that is none of the declared classes.
NO_CLASS: Final = -1
_LEAST: Final = -(2**63)
_OWN_NUMBERS: Final = (bool, int, float, Fraction, Decimal)
# NumPy counts a duration as an integer.
_NO_NUMBERS: Final = (np.timedelta64, np.datetime64, np.void)
_BASES: Final[tuple[tuple[type, Callable[[Any], Any]], ...]] = (
    (int, int.__index__),
    (float, float.__float__),
    (str, str.__str__),
    (bytes, lambda cell: bytes.__getitem__(cell, slice(None))),
    (complex, complex.__complex__),
)


def number_of(cell: Any) -> float:
    """Return the number that a cell stands for, NaN if it is not a number.

    >>> [number_of(cell) for cell in (1, 0.5, True, "1e3", "x", None, (1, 2), 1j, -(10**400))]
    [1.0, 0.5, 1.0, 1000.0, nan, nan, nan, nan, -inf]
    """
    if type(cell) is float:
        return cell
    try:
        exact = _exact(cell)
        return math.nan if exact is None else _nearest(exact)
    except KeyboardInterrupt:
        raise
    except BaseException:  # a number of a foreign kind that cannot say how large it is
        return math.nan


def whole_of(cell: Any) -> int | None:
    """Return the whole number of 64 bits that a cell is exactly, by the methods of Python's classes alone; else None.

    >>> [whole_of(cell) for cell in (1, 1.0, True, "1", "1.0", b"1", 1 + 0j, 1.5, "x", None, float("nan"), 2**70, [1])]
    [1, 1, 1, 1, 1, 1, 1, None, None, None, None, None, None]
    """
    if type(cell) is int:
        return cell if _LEAST <= cell < -_LEAST else None
    try:
        cell = plain(cell)
        text = cell.decode("ascii", "replace") if type(cell) is bytes else cell
        # A text is read as a cell of a column of integers is, and not as a real.
        exact: Any = cell_of(text, Kind.INTEGER) if type(text) is str else _exact(cell)
        if exact is None and type(text) is str:
            exact = _exact(_written(text))
        if type(exact) not in _OWN_NUMBERS or not _LEAST <= exact < -_LEAST or exact != int(exact):
            return None
        return int(exact)
    except KeyboardInterrupt:
        raise
    except BaseException:  # NaN, or a number of a foreign kind that cannot say how large it is
        return None


def _written(text: str) -> bool | float | complex | None:
    """Return the number of which a text is just what Python writes for it: a text in an array writes all numbers so.

    >>> [_written(text) for text in ("True", "-1e+17", "(2+0j)", "1e17", "true", "2 + 0j", "x")]
    [True, -1e+17, (2+0j), None, None, None, None]
    """
    if text in ("True", "False"):
        return text == "True"
    for kind in (float, complex):
        with contextlib.suppress(ValueError):
            found: float | complex = kind(text)
            if repr(found) == text:
                return found
    return None


def whole_numbers(cells: NDArray[Any], otherwise: int) -> NDArray[np.int64]:
    """Return ``whole_of`` each cell of an array of any type; one odd cell may have set the type of all of them.

    Args:
        cells: of any shape. Durations and moments count by their number of units: another cell may have made them.
        otherwise: what stands where a cell is masked or is no whole number.

    >>> whole_numbers(np.array([["0", "x"]]), -1).tolist(), whole_numbers(np.array([[2, float("nan")]]), -1).tolist()
    ([[0, -1]], [[2, -1]])

    """
    plain_cells = np.ma.getdata(cells)
    is_masked = np.ma.getmaskarray(cells) if isinstance(cells, np.ma.MaskedArray) else np.False_
    if plain_cells.dtype.kind == "c":
        is_masked = is_masked | (plain_cells.imag != 0)
        plain_cells = plain_cells.real
    kind = plain_cells.dtype.kind
    if kind in "mM":
        plain_cells = plain_cells.astype(np.int64)
    if kind == "u":
        is_masked = is_masked | (plain_cells > np.uint64(-_LEAST - 1))
    elif kind == "f":
        # NaN is in no range; a float below 2^63 is at most 2^63 - 1024.
        is_whole = (plain_cells >= _LEAST) & (plain_cells < -_LEAST) & (plain_cells == np.floor(plain_cells))
        plain_cells = np.where(is_whole, plain_cells, 0)
        is_masked = is_masked | ~is_whole
    elif kind not in "biumM":
        found = [whole_of(cell) for cell in plain_cells.reshape(-1).tolist()]
        filled = np.array([otherwise if one is None else one for one in found], dtype=np.int64)
        plain_cells = filled.reshape(plain_cells.shape)
    return np.where(is_masked, np.int64(otherwise), plain_cells.astype(np.int64))


def numbers_in(cells: Sequence[Any]) -> NDArray[np.float64]:
    """Return the number of each cell."""
    return np.fromiter(map(number_of, cells), dtype=np.float64, count=len(cells))


def codes_of(labels: Sequence[Any]) -> Callable[[Any], int]:
    """Return a function that gives the index of a cell among declared labels, ``NO_CLASS`` where it equals none.

    Numbers are equal by their exact value: 1, 1.0 and true are one label, 2^53 and 2^53 + 1 are two. Texts are equal by
    content. Where all labels are numbers, a text is the number that it spells.

    Args:
        labels: public and different, each as ``is_label`` says.

    >>> code = codes_of([0, 2**53, 2**53 + 1])
    >>> [code(cell) for cell in (False, 2.0**53, 2**53 + 1, "0", "x", None, (0, 1))]
    [0, 1, 2, 0, -1, -1, -1]

    """
    places = {_label(label, are_numbers=False): place for place, label in enumerate(labels)}
    are_numbers = not any(isinstance(label, str | bytes) for label in labels)

    def code(cell: Any) -> int:
        try:
            return places.get(_label(cell, are_numbers=are_numbers), NO_CLASS)
        except KeyboardInterrupt:
            raise
        except BaseException:  # what cannot be compared is none of the labels
            return NO_CLASS

    return code


def plain(cell: Any) -> Any:
    """Return the plain value of a cell whose class extends a plain type, by the methods of Python's class alone.

    >>> plain(np.float64(1)), plain(True), plain(np.str_("x")), plain(None)
    (1.0, True, 'x', None)
    """
    for kind, read in _BASES:
        # Not isinstance, which would ask the cell what it says its class is.
        if issubclass(type(cell), kind):
            return cell if type(cell) in (kind, bool) else read(cell)
    return cell


def is_label(label: Any) -> bool:
    """Whether a public value can be a label: a text, bytes, true or false, an integer or a finite float."""
    if isinstance(label, str | bytes | int | np.bool_):
        return True
    is_number = isinstance(label, float | np.integer | np.floating) and not isinstance(label, _NO_NUMBERS)
    return is_number and math.isfinite(label)


def sorted_classes(classes: Any, parameter: str = "classes") -> NDArray[Any]:
    """Return declared classes in order, in an array of their own kind, or raise an error that says what is wrong.

    Classes are all texts or all numbers. Numbers are bool, int64 or float64 where that keeps every one of them exactly,
    else Python's own.

    >>> sorted_classes([0.5, 2**53 + 1, 0]).tolist(), sorted_classes(["b", "a"]).tolist()
    ([0, 0.5, 9007199254740993], ['a', 'b'])
    """
    if classes is None:
        raise InvalidParameter(parameter, None, "declared: all labels that may occur; they are never taken from data")
    rule = "two or more different labels, all strings or all numbers"
    if isinstance(classes, str | bytes) or not hasattr(classes, "__len__") or getattr(classes, "ndim", 1) != 1:
        raise InvalidParameter(parameter, classes, rule)
    given = [label.item() if isinstance(label, np.generic) else label for label in classes]
    kinds = {str if isinstance(label, str) else bytes if isinstance(label, bytes) else Number for label in given}
    if len(given) < 2 or not all(map(is_label, given)) or len(kinds) != 1:
        raise InvalidParameter(parameter, classes, rule)
    found = sorted(given)
    if any(one == other for one, other in pairwise(found)):
        raise InvalidParameter(parameter, classes, rule)
    return _natural(found, kinds.pop())


def _nearest(exact: Any) -> float:
    """Return the nearest float, an infinity where the number is too large."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _natural(labels: list[Any], kind: type) -> NDArray[Any]:
    """Return labels in the first kind of array that keeps every one of them."""
    kept = np.empty(len(labels), dtype=object)
    kept[:] = labels
    types: tuple[Any, ...] = (np.bool_, np.int64, np.float64)
    for wanted in (kind,) if kind is not Number else types:
        try:
            array = kept.astype(wanted)
        except (TypeError, ValueError, OverflowError):
            continue
        same = all(one == other for one, other in zip(array.tolist(), labels, strict=True))
        if same and (wanted is not np.bool_ or all(isinstance(label, bool) for label in labels)):
            return array
    return kept


def _label(cell: Any, *, are_numbers: bool) -> Hashable:
    """Return the form of a label that comparisons use: an exact number, a text, bytes, or None."""
    if issubclass(type(cell), str | bytes) and not are_numbers:
        return plain(cell)  # type: ignore[no-any-return]
    number: Hashable = _exact(cell, whole_first=True)
    return number


def _exact(cell: Any, *, whole_first: bool = False) -> Any:
    """Return the exact number that a cell is, or None."""
    if type(cell) is int or type(cell) is float:
        return cell
    if issubclass(type(cell), np.ndarray) and cell.ndim == 0:
        cell = np.asarray(cell)[()]
    if cell is None or issubclass(type(cell), _NO_NUMBERS):
        return None
    cell = plain(cell)
    if issubclass(type(cell), bytes):
        cell = cell.decode("ascii", "replace")
    if issubclass(type(cell), str):
        whole = cell_of(cell, Kind.INTEGER) if whole_first else None
        return cell_of(cell, Kind.REAL) if whole is None else whole
    if issubclass(type(cell), complex | np.complexfloating):
        return float(cell.real) if cell.imag == 0 else None
    if issubclass(type(cell), np.generic):
        cell = float(cell) if issubclass(type(cell), np.longdouble) else cell.item()
    return cell if issubclass(type(cell), Real | Decimal) else None
