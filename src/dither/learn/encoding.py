"""Columns declared by name, and the numbers that their cells become: bounds for numbers, categories for labels.

``bounds={"age": (0, 90)}`` declares columns of numbers, ``categories={"ward": ["heart", "skin"]}`` columns of labels. A
column of categories becomes a column of zeros and ones for each of them, or, for learners that count codes, the place
of the category. A cell that equals none of them, a missing one included, is zeros alone, or the code that follows the
last category. Each cell is read by itself, and what it becomes follows from it and from declarations alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.cell_values import codes_of, is_label
from dither.data.column_values import code_column, label_numbers
from dither.errors import InvalidParameter
from dither.learn.containers import cells_in, column_as_numbers, columns_named

Floats = NDArray[np.float64]
_BOUNDS: Final = "a pair (lower, upper) of finite numbers for the name of each column, the lower below the upper"
_LABELS: Final = "a list of different labels, one at least, for the name of each column"


@dataclass(frozen=True)
class Encoding:
    """What is declared about columns by name: first those of numbers, then those of categories.

    Args:
        bounds: (lower, upper) of each column of numbers.
        categories: the labels of each column of categories.
        as_codes: whether categories become codes, and not a column each.

    """

    bounds: Mapping[str, tuple[float, float]]
    categories: Mapping[str, tuple[Any, ...]]
    as_codes: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order in which a row without names has them."""
        return (*self.bounds, *self.categories)

    @property
    def labels(self) -> tuple[tuple[Any, ...] | None, ...] | None:
        """The labels of each column, None for one of numbers; None where all are."""
        if not self.categories:
            return None
        return (*(None for _ in self.bounds), *self.categories.values())

    @property
    def coded_places(self) -> list[int]:
        """Where the codes of categories stand, if they become codes."""
        return list(range(len(self.bounds), len(self.names))) if self.as_codes else []

    def box(self) -> tuple[Floats, Floats]:
        """Return the lower and the upper bound of each number that a row becomes."""
        pairs = list(self.bounds.values())
        for labels in self.categories.values():
            pairs += [(0.0, float(len(labels)))] if self.as_codes else [(0.0, 1.0)] * len(labels)
        low, high = np.array(pairs, dtype=np.float64).T
        return low, high

    def numbers(self, X: Any, threshold: float | None = None) -> Floats:  # noqa: N803
        """Return rows as numbers; containers are refused by type, names and width alone.

        Args:
            X: rows in a container of any kind: by names where it has them, else in the order of ``names``.
            threshold: above which a number of a column of numbers is 1, and else 0.

        """
        columns = columns_named(X, self.names)
        parts = []
        for name, column in zip(self.names, columns, strict=True):
            if name in self.bounds:
                values = column_as_numbers(column)
                if threshold is not None:
                    values = np.where(np.isnan(values), np.nan, (values > threshold).astype(np.float64))
                parts.append(values.reshape(-1, 1))
                continue
            labels, cells = self.categories[name], cells_in(column)
            codes = code_column(cells, len(cells), labels)
            parts.append(label_numbers(codes, len(labels), as_codes=self.as_codes))
        return np.hstack(parts)


def encoding_of(bounds: Any, categories: Any, *, as_codes: bool = False) -> Encoding | None:
    """Return what is declared by name, or None where columns have no declared names.

    Args:
        bounds: by name, or in another form that columns in order have.
        categories: by name, or None.
        as_codes: whether categories become codes.

    """
    if not isinstance(categories, Mapping) and not isinstance(bounds, Mapping):
        return None
    if bounds is not None and not isinstance(bounds, Mapping):
        raise InvalidParameter("bounds", bounds, f"by name where categories are: {_BOUNDS}")
    if categories is not None and not isinstance(categories, Mapping):
        raise InvalidParameter("categories", categories, f"by name where bounds are: {_LABELS}")
    pairs = {_name("bounds", name): _pair(pair) for name, pair in (bounds or {}).items()}
    labels = {_name("categories", name): _labels(listed) for name, listed in (categories or {}).items()}
    if not pairs and not labels:
        raise InvalidParameter("bounds", bounds, "declared for one column at least")
    if both := sorted(set(pairs) & set(labels)):
        raise InvalidParameter("categories", both[0], "columns that have no bounds")
    return Encoding(pairs, labels, as_codes)


def _name(parameter: str, name: Any) -> str:
    if not isinstance(name, str):
        raise InvalidParameter(parameter, name, "declared by the names of columns, as strings")
    return name


def _pair(pair: Any) -> tuple[float, float]:
    low, high = np.nan, np.nan
    with suppress(TypeError, ValueError, OverflowError):
        low, high = (float(side) for side in pair)
    if not (np.isfinite([low, high]).all() and low < high):
        raise InvalidParameter("bounds", pair, _BOUNDS)
    return low, high


def _labels(listed: Any) -> tuple[Any, ...]:
    if not isinstance(listed, list | tuple | np.ndarray) or np.ndim(listed) != 1:
        raise InvalidParameter("categories", listed, _LABELS)
    labels = tuple(label.item() if isinstance(label, np.generic) else label for label in listed)
    if not labels or not all(map(is_label, labels)):
        raise InvalidParameter("categories", listed, _LABELS)
    code = codes_of(labels)
    if [code(label) for label in labels] != list(range(len(labels))):
        raise InvalidParameter("categories", listed, _LABELS)
    return labels
