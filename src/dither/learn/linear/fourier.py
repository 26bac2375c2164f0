"""Random Fourier features: public random columns whose products approximate those of a kernel of differences.

A feature is the cosine of a random sum of the columns. Its frequencies are integers made of SHA-256 in counter
mode, so that equal requests have equal features, and nothing about the data is in them. No guarantee rests on their
law, only accuracy does. A feature is found by integers alone, and read from a table.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from fractions import Fraction
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
KERNELS: Final = ("rbf", "laplacian", "matern")
_CELLS: Final = 2**12
_KEY: Final = "dither.learn.linear.fourier"


class FrequencyField(Array):
    """Public frequencies: integers, a row for each feature and a column for each column of the data.

    They are so small that phases stay below 2^53.
    """

    def __init__(self) -> None:
        rule = f"integers, at most {MOST_FEATURES} rows of them, each of a sum below 2^40"
        super().__init__("int", axes=2, most=MOST_FEATURES, where=_are_small, rule=rule)

    def offenders(self) -> Iterator[Any]:
        """Return values that are not an array of integers, and numbers that are too large."""
        yield from ([[2**40]], [[-(2**63)]], *super().offenders())


class OffsetField(Array):
    """Public offsets: an integer below a turn for each feature."""

    def __init__(self) -> None:
        rule = f"an integer from 0 to {TURN - 1} for each of at most {MOST_FEATURES} features"
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


def usual_gamma(columns: int, kernel: str = "rbf") -> Fraction:
    """Return the gamma for a number of columns scaled to [-1, 1]: 16, 8, 64/27, 1, ... and 2 / columns from six on.

    In few columns classes often lie in several pieces, a fraction of the bounds wide, and records are many for each
    piece; in many columns all records are far from one another, and the kernel must be wide. So it is chosen by the
    bounds and the number of columns, which are public. The gamma of a Laplacian kernel is the one at which records that
    differ alike in all columns are as near.

    >>> [float(usual_gamma(columns)) for columns in (1, 2, 4, 8)]
    [16.0, 8.0, 1.0, 0.25]
    """
    width = whole("columns", columns, least=1)
    narrow = min(Fraction(16), max(Fraction(2), Fraction(64, width**2))) / width
    return Fraction(math.sqrt(narrow / width)).limit_denominator(2**10) if kernel == "laplacian" else narrow


def public_features(
    columns: int, features: int, gamma: Number | None = None, kernel: str = "rbf"
) -> tuple[PublicArray, PublicArray]:
    """Return public frequencies and offsets for a kernel on columns scaled to [-1, 1].

    The kernels are exp(-gamma |x - z|^2) ("rbf"); exp(-gamma d), d the sum of absolute differences ("laplacian"); and
    (1 + s) exp(-s) with s^2 = 6 gamma |x - z|^2, Matern's of smoothness 3/2 ("matern").

    Args:
        columns: the number of columns.
        features: the number of features.
        gamma: how narrow the kernel is; by default ``usual_gamma``.
        kernel: "rbf", "laplacian" or "matern".

    >>> frequencies, offsets = public_features(3, 5)
    >>> frequencies.values.shape, offsets.values.shape, public_features(3, 5)[0] == frequencies
    ((5, 3), (5,), True)

    """
    width, count = whole("columns", columns, least=1), whole("features", features, least=1, most=MOST_FEATURES)
    if kernel not in KERNELS:
        raise InvalidParameter("kernel", kernel, f"one of {', '.join(KERNELS)}")
    narrow = usual_gamma(width, kernel) if gamma is None else positive("gamma", gamma)
    if not narrow <= MOST_GAMMA:
        raise InvalidParameter("gamma", gamma, f"at most {MOST_GAMMA}")
    uniform = _uniform(count * (2 * width + 1)).reshape(count, 2 * width + 1)
    normal, turn = _normal(uniform[:, :width], uniform[:, width:-1]), TURN / (2 * math.pi * STEPS)
    if kernel == "laplacian":  # the law of Cauchy in each column
        waves = float(narrow) * np.tan(np.pi * (uniform[:, :width] - 0.5))
    else:
        waves = math.sqrt(2 * float(narrow)) * normal
    if kernel == "matern":  # the law of Student with three degrees of freedom
        more = _uniform(6 * count, "dither.learn.linear.fourier:matern").reshape(count, 6)
        waves /= np.sqrt((_normal(more[:, :3], more[:, 3:]) ** 2).mean(axis=1, keepdims=True))
    # Steps are integers, so that a frequency may be taken modulo a turn; sums stay below 2^40.
    frequencies = np.mod(np.rint(waves * turn) + TURN // 2, TURN) - TURN // 2
    most = (2**40 - 1) // width
    frequencies = np.clip(frequencies, -most, most)
    offsets = np.minimum(np.floor(uniform[:, -1] * TURN), TURN - 1)
    return PublicArray(frequencies.astype(np.int64)), PublicArray(offsets.astype(np.int64))


def _normal(first: Floats, second: Floats) -> Floats:
    """Return normal numbers, each made of two uniform ones (Box and Muller)."""
    found: Floats = np.sqrt(-2 * np.log(first)) * np.cos(2 * np.pi * second)
    return found


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


def _uniform(count: int, key: str = _KEY) -> Floats:
    """Return numbers in (0, 1), the same for the same count: 32 bits each of SHA-256 in counter mode."""
    blocks = [hashlib.sha256(f"{number}:{key}".encode()).digest() for number in range(-(-count // 8))]
    words = np.frombuffer(b"".join(blocks), dtype=">u4")[:count]
    return (words.astype(np.float64) + 0.5) / 2.0**32
