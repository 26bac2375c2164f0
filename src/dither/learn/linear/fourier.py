"""Random Fourier features: public random columns whose products approximate those of a Gaussian kernel.

A feature is the cosine of a random sum of the columns. Its frequencies are integers made of SHA-256 in counter
mode, so that equal requests have equal features, and nothing about the data is in them. No guarantee rests on their
law, only accuracy does. A feature is found by integers alone, and read from a table.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, positive, whole
from dither.learn.rows import STEPS, Floats
from dither.mechanisms.core.public import Array, PublicArray

#: A whole turn of a feature.
TURN: Final = 2**30
MOST_FEATURES: Final = 2**11
#: Kernels narrower than this are refused: with columns in [-1, 1] every record would be alone.
MOST_GAMMA: Final = 2**10
_CELLS: Final = 2**12
_KEY: Final = "dither.learn.linear.fourier"


class FrequencyField(Array):
    """Public frequencies: integers, a row for each feature and a column for each column of the data.

    They are so small that phases stay below 2^53.
    """

    def __init__(self) -> None:
        rule = f"whole numbers, at most {MOST_FEATURES} rows of them, each of a sum below 2^40"
        super().__init__("int", axes=2, most=MOST_FEATURES, where=_are_small, rule=rule)

    def offenders(self) -> Iterator[Any]:
        """Return values that are not an array of integers, and numbers that are too large."""
        yield from ([[2**40]], [[-(2**63)]], *super().offenders())


class OffsetField(Array):
    """Public offsets: an integer below a turn for each feature."""

    def __init__(self) -> None:
        rule = f"a whole number from 0 to {TURN - 1} for each of at most {MOST_FEATURES} features"
        super().__init__("int", axes=1, most=MOST_FEATURES, within=(0, TURN - 1), rule=rule)


def _are_small(frequencies: NDArray[Any]) -> bool:
    # In Python's integers, which do not overflow.
    return all(sum(map(abs, row)) < 2**40 for row in frequencies.tolist())


def check_features(frequencies: PublicArray, offsets: PublicArray, columns: int) -> None:
    """Refuse frequencies and offsets that do not fit each other or the columns."""
    if frequencies.values.shape[1] != columns:
        raise InvalidParameter("frequencies", frequencies, f"a frequency for each of {columns} columns")
    if offsets.values.shape != (len(frequencies.values),):
        raise InvalidParameter("offsets", offsets, "an offset for each feature")


def public_features(columns: int, features: int, gamma: Number | None = None) -> tuple[PublicArray, PublicArray]:
    """Return public frequencies and offsets for the kernel exp(-gamma |x - z|^2) on columns scaled to [-1, 1].

    Args:
        columns: the number of columns.
        features: the number of features.
        gamma: how narrow the kernel is; by default 1 / columns.

    >>> frequencies, offsets = public_features(3, 5)
    >>> frequencies.values.shape, offsets.values.shape, public_features(3, 5)[0] == frequencies
    ((5, 3), (5,), True)

    """
    width, count = whole("columns", columns, least=1), whole("features", features, least=1, most=MOST_FEATURES)
    narrow = positive("gamma", 1 if gamma is None else gamma) / (width if gamma is None else 1)
    if not narrow <= MOST_GAMMA:
        raise InvalidParameter("gamma", gamma, f"at most {MOST_GAMMA}")
    uniform = _uniform(count * (2 * width + 1)).reshape(count, 2 * width + 1)
    # Box and Muller: two uniform numbers make a normal one.
    normal = np.sqrt(-2 * np.log(uniform[:, :width])) * np.cos(2 * np.pi * uniform[:, width:-1])
    turns = math.sqrt(2 * float(narrow)) / (2 * math.pi) * TURN / STEPS
    offsets = np.minimum(np.floor(uniform[:, -1] * TURN), TURN - 1)
    return PublicArray(np.rint(normal * turns).astype(np.int64)), PublicArray(offsets.astype(np.int64))


def features_of(steps: Floats, frequencies: PublicArray, offsets: PublicArray) -> Floats:
    """Return integers between -STEPS and STEPS, as floats: STEPS times the cosine of each feature.

    Products and sums are of integers below 2^53, so that a record's features depend on that record alone.

    Args:
        steps: records on the grid.
        frequencies: a row for each feature.
        offsets: one for each feature.

    """
    phases = steps @ frequencies.values.T.astype(np.float64) + offsets.values
    cells = np.floor_divide(np.mod(phases, TURN), TURN // _CELLS)
    found: Floats = _table()[cells.astype(np.int64)]
    return found


@lru_cache(maxsize=1)
def _table() -> Floats:
    table: Floats = np.rint(STEPS * np.cos(2 * np.pi * (np.arange(_CELLS) + 0.5) / _CELLS))
    table.setflags(write=False)
    return table


def _uniform(count: int) -> Floats:
    """Return numbers in (0, 1), the same for the same count: 32 bits each of SHA-256 in counter mode."""
    blocks = [hashlib.sha256(f"{number}:{_KEY}".encode()).digest() for number in range(-(-count // 8))]
    words = np.frombuffer(b"".join(blocks), dtype=">u4")[:count]
    return (words.astype(np.float64) + 0.5) / 2.0**32
