"""Calculators: how many questions a loss pays for, and what no mechanism can do.

*Capacity*: how many counting questions are answered within an error, by each family of mechanisms. *Discrepancy*: how
much of a table two sets of answers within an error can leave open, and lower bounds that follow; for ranges and for
half-planes. *Hardness*: beyond how many questions no efficient mechanism is known to exist. Functions of public numbers
alone; small cases are enumerated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import DitherError, InvalidParameter
from dither.estimate.tails import laplace_combination_reach
from dither.exact import Number, positive, probability, whole
from dither.mechanisms.core.accuracy import discrete_laplace_reach
from dither.privacy import PureDP
from dither.publish.interactive.construction import COMPARED, compared_reach, comparing

Bits = NDArray[np.int64]
#: No more questions than this are counted.
MOST_QUESTIONS: Final = 2**40
_MOST_POINTS: Final = 12
#: Powers of the number of rows beyond which no efficient mechanism answers all questions, if one-way functions exist:
#: Ullman 2013 for questions that are fixed beforehand, Hardt and Ullman 2014 for those that follow from answers.
HARD_POWERS: Final = {"fixed": 2, "adaptive": 3}


@dataclass(frozen=True)
class Capacity:
    """How many counting questions each family of mechanisms answers within an error; 2^40 stands for any number.

    Args:
        separate: noise on each question, the loss divided among them.
        table: noise on each cell once, and sums of cells.
        iterative: a model that learns, compared with the data question by question.

    """

    separate: int
    table: int
    iterative: int


def capacity(*, rows: int, cells: int, error: Number, epsilon: Number, confidence: Number = "0.95") -> Capacity:
    """Return how many counting questions are all answered within an error, with a probability, for an epsilon.

    Args:
        rows: about how many there are.
        cells: of the table that questions are about; the worst question has all of them.
        error: in rows.
        epsilon: what all answers together may lose.
        confidence: with which all answers are within the error.

    >>> capacity(rows=10**6, cells=64, error=500, epsilon=1)
    Capacity(separate=69, table=1099511627776, iterative=0)

    """
    far, spent = positive("error", error), positive("epsilon", epsilon)
    many, size = whole("rows", rows, least=1, most=2**50), whole("cells", cells, least=2, most=2**50)
    missed = float(1 - probability("confidence", confidence, open_below=True))
    if not missed > 0:
        raise InvalidParameter("confidence", confidence, "below 1")

    def separate(questions: int) -> bool:
        return discrete_laplace_reach(questions / spent, missed / questions) <= far

    def table(questions: int) -> bool:
        return laplace_combination_reach(2.0 * size / float(spent) ** 2, missed / questions) <= far

    def iterative(questions: int) -> bool:
        # A step for an error beyond half of it shrinks the entropy between model and truth: this number can be needed.
        steps = math.ceil(16 * many**2 * math.log(size) / float(far) ** 2)
        try:
            sparse = comparing(PureDP(spent), steps, questions)
        except DitherError:
            return False
        level = Fraction(1) - Fraction(missed) / questions
        return bool(compared_reach(sparse, COMPARED, level) <= far)

    return Capacity(*(_largest(fits) for fits in (separate, table, iterative)))


def _largest(fits: Callable[[int], bool]) -> int:
    """Return the largest number for which a falling condition holds; 0 where there is none."""
    if not fits(1):
        return 0
    low, high = 1, 2
    while high <= MOST_QUESTIONS and fits(high):
        low, high = high, 2 * high
    if high > MOST_QUESTIONS:
        return MOST_QUESTIONS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def discrepancy(sets: Sequence[Sequence[int]]) -> int:
    """Return the least, over all ways to mark each point +1 or -1, of the largest sum over a set.

    Args:
        sets: a row of 0 and 1 for each; at most 12 points.

    >>> discrepancy(ranges(6)), discrepancy([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    (1, 2)

    """
    table = _table(sets)
    marks = np.array(list(itertools.product((-1, 1), repeat=table.shape[1])), dtype=np.int64)
    return int(np.abs(marks @ table.T).max(axis=1).min())


def hereditary_discrepancy(sets: Sequence[Sequence[int]]) -> int:
    """Return the largest discrepancy of the sets within any of the points.

    >>> hereditary_discrepancy(ranges(5))
    1

    """
    table = _table(sets)
    points = range(table.shape[1])
    chosen = (one for size in range(1, len(points) + 1) for one in itertools.combinations(points, size))
    return max(discrepancy(np.unique(table[:, list(one)], axis=0).tolist()) for one in chosen)


def determinant_bound(sets: Sequence[Sequence[int]], largest: int = 4) -> float:
    """Return a lower bound on the hereditary discrepancy, from determinants (Lovasz, Spencer, Vesztergombi 1986).

    Half of the largest k-th root of the determinant of k sets on k points.

    Args:
        sets: a row of 0 and 1 for each.
        largest: the most sets and points that are tried together.

    >>> determinant_bound([[1, 1, 0], [0, 1, 1], [1, 0, 1]]) <= 2
    True

    """
    table = np.unique(_table(sets), axis=0)
    best = 0.0
    for size in range(1, min(largest, *table.shape) + 1):
        for rows in itertools.combinations(range(len(table)), size):
            for columns in itertools.combinations(range(table.shape[1]), size):
                found = abs(round(float(np.linalg.det(table[np.ix_(rows, columns)]))))
                best = max(best, found ** (1 / size) / 2)
    return best


def left_open(sets: Sequence[Sequence[int]], error: Number) -> int:
    """Return in how many rows at most two tables of yes and no can differ, whose answers are both within an error.

    Two such tables differ by marks -1, 0 and 1 whose sum over each set is at most twice the error. Whoever is told all
    answers so accurately knows all rows but as many.

    Args:
        sets: the questions: a row of 0 and 1 for each, a column for each row of the table, at most 12.
        error: of every answer.

    >>> every = [list(bits) for bits in itertools.product((0, 1), repeat=6)]
    >>> left_open(every, 0), left_open(every, 1)
    (0, 4)

    """
    table, most = _table(sets), 2 * Fraction(positive("error", error) if error else 0)
    found = 0
    marks = np.array(list(itertools.product((-1, 0, 1), repeat=min(table.shape[1], 6))), dtype=np.int64)
    rest = table.shape[1] - marks.shape[1]
    for tail in itertools.product((-1, 0, 1), repeat=rest):
        sums = marks @ table[:, : marks.shape[1]].T + np.array(tail, dtype=np.int64) @ table[:, marks.shape[1] :].T
        fits = np.abs(sums).max(axis=1) <= float(most)
        if fits.any():
            found = max(found, int(np.abs(marks[fits]).sum(axis=1).max()) + sum(map(abs, tail)))
    return found


def ranges(points: int) -> list[list[int]]:
    """Return all ranges of points on a line.

    >>> len(ranges(4))
    10

    """
    size = whole("points", points, least=1, most=_MOST_POINTS)
    return [
        [int(first <= place <= last) for place in range(size)] for first in range(size) for last in range(first, size)
    ]


def half_planes(points: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Return all sets of points that a half-plane holds, in exact arithmetic.

    Args:
        points: with whole coordinates; at most 12.

    >>> len(half_planes([(0, 0), (1, 0), (0, 1)]))
    8

    """
    if not 1 <= len(points) <= _MOST_POINTS:
        raise InvalidParameter("points", len(points), f"1 to {_MOST_POINTS} points")
    found = {tuple([0] * len(points)), tuple([1] * len(points))}
    for first, second in itertools.permutations(range(len(points)), 2):
        (x, y), (u, v) = points[first], points[second]
        sides = [(u - x) * (q - y) - (v - y) * (p - x) for p, q in points]
        along = [(u - x) * (p - x) + (v - y) * (q - y) for p, q in points]
        on_line = sorted({along[place] for place, side in enumerate(sides) if side == 0})
        # The line, turned or moved by a little: of the points on it, those up to any of them, from either end, or none.
        for cut in (*on_line, on_line[0] - 1):
            for turned in (False, True):
                found.add(
                    tuple(
                        int(side > 0 or (side == 0 and (at > cut if turned else at <= cut)))
                        for side, at in zip(sides, along, strict=True)
                    )
                )
    return [list(one) for one in sorted(found)]


def half_space_error(rows: int, dimensions: int) -> float:
    """Return how the mean squared error of counts in half-spaces must grow, up to logarithms: rows^(1 - 1/dimensions).

    Of order, and not in rows: Muthukrishnan and Nikolov 2012 leave constants open. Ranges along axes need powers of the
    logarithm only.

    >>> half_space_error(10_000, 2)
    100.0

    """
    many, size = whole("rows", rows, least=1, most=2**50), whole("dimensions", dimensions, least=1, most=2**10)
    return float(many ** (1 - 1 / size))


def is_hard(questions: int, rows: int, kind: str = "fixed") -> bool:
    """Return whether no efficient mechanism answers this number of arbitrary questions, if one-way functions exist.

    Args:
        questions: how many.
        rows: how many.
        kind: "fixed" beforehand, or "adaptive": chosen after earlier answers.

    >>> is_hard(10**7, 1000), is_hard(10**7, 10**4)
    (True, False)

    """
    if kind not in HARD_POWERS:
        raise InvalidParameter("kind", kind, f"one of {', '.join(HARD_POWERS)}")
    asked, many = whole("questions", questions, least=1), whole("rows", rows, least=1, most=2**50)
    return bool(asked > many ** HARD_POWERS[kind])


def family_variances(queries: Sequence[Sequence[int]], epsilon: Number = 1) -> dict[str, float]:
    """Return the variance of all answers together, by family of mechanisms, at the same epsilon.

    Of the five families of the textbook these have one that is known beforehand: *laplace* (noise on each query for all
    of them together), *partition* (noise on each cell), *transformation* (noise on sums and differences of halves) and
    *separation* (queries that do not follow from others are measured, and the others computed). That of *iteration*
    depends on the data.

    Args:
        queries: a row of 0 and 1 for each.
        epsilon: what all answers together may lose.

    >>> {name: round(value, 2) for name, value in family_variances([[1, 1, 0, 0], [0, 1, 0, 0]]).items()}
    {'laplace': 16.0, 'partition': 6.0, 'transformation': 15.75, 'separation': 16.0}

    """
    table, spent = _table(queries).astype(np.float64), float(positive("epsilon", epsilon))
    kept: list[list[float]] = []
    for row in table.tolist():
        if np.linalg.matrix_rank(np.array([*kept, row])) > len(kept):
            kept.append(row)
    strategies = {
        "laplace": table,
        "partition": np.eye(table.shape[1]),
        "transformation": _wavelets(table.shape[1]),
        "separation": np.array(kept),
    }
    found = {}
    for name, strategy in strategies.items():
        reach = np.abs(strategy).sum(axis=0).max()
        spread = table @ np.linalg.pinv(strategy) if name != "laplace" else np.eye(len(table))
        found[name] = float(2 * (reach / spent) ** 2 * np.square(spread).sum())
    return found


def _wavelets(cells: int) -> NDArray[np.float64]:
    """Return sums and differences of halves, down to single cells."""
    rows = [np.ones(cells)]

    def divide(low: int, high: int) -> None:
        if high - low > 1:
            middle = (low + high) // 2
            row = np.zeros(cells)
            row[low:middle], row[middle:high] = 1, -1
            rows.append(row)
            divide(low, middle)
            divide(middle, high)

    divide(0, cells)
    return np.array(rows)


def _table(sets: Sequence[Sequence[int]]) -> Bits:
    """Return sets as a table of 0 and 1, of at most 12 points."""
    table = np.array(sets, dtype=np.int64)
    if table.ndim != 2 or not 1 <= table.shape[1] <= _MOST_POINTS or not np.isin(table, (0, 1)).all():
        raise InvalidParameter("sets", table.shape, f"rows of 0 and 1 for 1 to {_MOST_POINTS} points")
    return table
