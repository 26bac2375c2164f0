"""Images in a column of a table: the bytes of files as base64, each read alone to a declared size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.data import Kind
from dither.data.cell_values import is_label
from dither.data.column_values import code_column
from dither.data.columns import Values
from dither.data.joins import check_relation
from dither.data.wire import register_records
from dither.errors import InvalidParameter
from dither.exact import typed
from dither.learn.images.features import MOST_SIDE
from dither.learn.images.files import pixels_of_files
from dither.lift.rows import Rows


@dataclass(frozen=True)
@typed
class ImageRows(Rows):
    """A row of pixels for each counted private row: those of the image in its one column, then its label.

    What is not an image of the declared size is NaN in every pixel. The limits say how many rows of each person count.

    Args:
        dataset: the schema, with the unit and the limits.
        relation: the private rows.
        columns: the column of images.
        label: the column to predict.
        classes: the declared labels, whose places stand for them, -1 for any other.
        size: rows of pixels, pixels in a row, and numbers of a pixel.

    """

    size: tuple[int, int, int] = (1, 1, 1)

    def __post_init__(self) -> None:
        check_relation(self.relation, self.dataset)
        kinds, persons = self.relation.columns, self.dataset.identifying
        if len(self.columns) != 1 or self.label is None or self.label in self.columns:
            raise InvalidParameter("columns", self.columns, "one column of images, and a label beside it")
        for name in self.names:
            if name not in kinds or name in persons:
                raise InvalidParameter("columns", name, "columns of the rows, and not the privacy id")
        if kinds[self.columns[0]] is not Kind.TEXT:
            raise InvalidParameter("columns", self.columns[0], "a column of strings: images in base64")
        if self.classes is None or not all(map(is_label, self.classes)):
            raise InvalidParameter("classes", self.classes, "the declared labels")
        if (self.threshold, self.categories, self.as_codes) != (None, None, None):
            raise InvalidParameter("categories", self.categories, "not allowed for images")
        if not (all(1 <= side <= MOST_SIDE for side in self.size[:2]) and self.size[2] in (1, 3)):
            raise InvalidParameter("size", self.size, f"sides from 1 to {MOST_SIDE}, and 1 or 3 numbers a pixel")

    @property
    def width(self) -> int:
        """How many numbers an image has."""
        return self.size[0] * self.size[1] * self.size[2]

    def _blocks(self, columns: Sequence[Values], length: int) -> Iterator[NDArray[np.float64]]:
        cells = [None] * length if columns[0] is None else columns[0]
        yield pixels_of_files(cells, *self.size, "bytes")
        yield code_column(columns[1], length, self.classes or ())[:, None].astype(np.float64)


register_records(ImageRows)
