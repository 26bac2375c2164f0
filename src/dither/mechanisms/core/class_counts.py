"""Counts by class: all that some learners need of rows, so that an engine can count where the rows are.

A learner that is ``OfClassCounts`` takes ``ClassCounts`` in place of rows. They are a function of the rows, so that its
guarantee is that for rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """How many rows each class has, and how many of these each category of each column. Private.

    Args:
        table: a row for each class: its rows, then those of each category of the first column, of the second, ...

    """

    table: NDArray[np.int64]


class OfClassCounts:
    """A learner that needs no more of rows than ``ClassCounts``.

    A row is a number for each column and a class at the end. Categories and classes are 0, 1, ...; any other number is
    none of them.
    """

    if TYPE_CHECKING:

        @property
        def sizes(self) -> tuple[int, ...]:
            """The number of categories of each column: a field."""

        @property
        def classes(self) -> int:
            """The number of classes: a field."""
