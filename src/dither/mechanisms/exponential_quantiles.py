"""Quantiles by the exponential mechanism: several at once, by recursion, on a grid of up to 2^32 cells.

For medians and quantiles of numbers with a public range. A cell's score is the distance, in rows, of the wanted rank
from the ranks that the cell covers, so that it changes only at values that occur: weights are exact, by the gaps
between these values. Of several quantiles the middle one is chosen first; the rows on its left and those on its right
are then searched separately, and a level costs what one quantile costs. Cost: one pass over the different values for
each level. Corrections: rows of one value are shared out between both sides by a public rule, because quantiles of
data with ties would be lost otherwise; the target of a smallest or largest value lies inside of the rows, because all
cells beyond them are equally far from the last row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Field, Number, Positive, Real, TupleOf, Whole, exact, positive, probability
from dither.mechanisms.core.accuracy import share_of_failure
from dither.mechanisms.core.mechanism import Bound, Composed, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import raw_number
from dither.mechanisms.line_choice import Integers, Line, LineChoices
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Unit, Use, calibrate
from dither.privacy.fields import RowUnit

#: Into how many places the rows of one value are divided where they go to both sides of a quantile.
PLACES: Final = 256
#: Denominators of shares up to this keep scores within 62 bits.
MOST_DENOMINATOR: Final = 2**16
_MOST_RANK: Final = 2**42
_MOST_COUNT: Final = 2**40
_BEYOND: Final = 2**1024
_FARTHEST: Final = 2**1000
_HALF: Final = Fraction(1, 2)


class Rows(NamedTuple):
    """Rows on the grid: the cells that occur, ascending, and how many rows are in each."""

    cells: Integers
    counts: Integers

    @classmethod
    def of(cls, counted: Iterable[tuple[int, int]], cells: int) -> Rows:
        """Return the rows of pairs of a cell and a count, moved into the range; counts of 0 or less are dropped."""
        last = cells - 1
        pairs = [(min(max(cell, 0), last), min(count, _MOST_COUNT)) for cell, count in counted if count > 0]
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        order = np.argsort(table[:, 0], kind="stable")
        table = table[order]
        starts = np.flatnonzero(np.diff(table[:, 0], prepend=-1))
        sums = np.minimum(np.add.reduceat(table[:, 1], starts), _MOST_COUNT) if starts.size else table[:0, 1]
        return cls(table[starts, 0], sums)

    @property
    def before(self) -> Integers:
        """How many rows lie below each cell that occurs, and last how many there are; cut off at 2^42."""
        # Counts are below 2^40, and there are fewer than 2^22 of them before a sum reaches the cut.
        whole = np.concatenate(([0], np.cumsum(self.counts.astype(np.float64))))
        sums = np.concatenate(([0], np.cumsum(self.counts)))
        return np.where(whole >= _MOST_RANK, _MOST_RANK, sums)

    def split(self, candidate: int, places: int) -> tuple[Rows, Rows]:
        """Return the rows on the left and on the right of a candidate; those of its cell by their number alone."""
        cell, place = divmod(candidate, places)
        at = int(np.searchsorted(self.cells, cell))
        if at == self.cells.size or self.cells[at] != cell:
            return Rows(self.cells[:at], self.counts[:at]), Rows(self.cells[at:], self.counts[at:])
        count = int(self.counts[at])
        left = (2 * place + 1) * count // (2 * places)
        first = Rows(self.cells[: at + 1], np.append(self.counts[:at], left))
        second = Rows(self.cells[at:], np.concatenate(([count - left], self.counts[at + 1 :])))
        return first._kept(), second._kept()

    def _kept(self) -> Rows:
        is_some = self.counts > 0
        return Rows(self.cells[is_some], self.counts[is_some])


class Node(NamedTuple):
    """One quantile to choose among the rows of a node: which, its share of these rows, and who comes after it."""

    place: int
    share: Fraction
    has_left: bool
    has_right: bool

    @property
    def is_extreme(self) -> bool:
        """Whether it is the smallest or the largest value."""
        return self.share in (0, 1)

    @property
    def move(self) -> Fraction:
        """How far a score moves with one row, in rows."""
        return max(self.share, 1 - self.share)


Level = tuple[Node, ...]


def schedule(shares: Sequence[Fraction]) -> tuple[Level, ...]:
    """Return which of some ascending shares are chosen at each level, from left to right.

    >>> [[(node.place, str(node.share)) for node in level] for level in schedule([Fraction(k, 4) for k in (1, 2, 3)])]
    [[(1, '1/2')], [(0, '1/2'), (2, '1/2')]]
    """
    levels: list[list[Node]] = []

    def visit(places: Sequence[int], relative: Sequence[Fraction], depth: int) -> None:
        # Extremes last: what lies beyond them is nobody's quantile, and their targets lie a little inside.
        inner = [number for number, share in enumerate(relative) if 0 < share < 1] or range(len(places))
        chosen = inner[(len(inner) - 1) // 2]
        share = relative[chosen]
        if len(levels) == depth:
            levels.append([])
        levels[depth].append(Node(places[chosen], share, chosen > 0, chosen + 1 < len(places)))
        if chosen > 0:
            visit(places[:chosen], [one / share for one in relative[:chosen]], depth + 1)
        if chosen + 1 < len(places):
            rest = [1 - (1 - one) / (1 - share) for one in relative[chosen + 1 :]]
            visit(places[chosen + 1 :], rest, depth + 1)

    visit(range(len(shares)), list(shares), 0)
    return tuple(map(tuple, levels))


class Recursion:
    """Several quantiles of rows on a grid, chosen level by level.

    Args:
        shares: which quantiles; different, ascending, with denominators of moderate size.
        cells: the number of cells.

    """

    def __init__(self, shares: Sequence[Fraction], cells: int) -> None:
        self.shares, self.cells = tuple(shares), cells
        self.levels = schedule(self.shares)
        #: Without a second quantile nothing is split.
        self.places = 1 if len(self.shares) == 1 else PLACES
        self.candidates = cells * self.places

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """Into how many parts a row is divided at each level, so that all ranks are integers."""
        return tuple(math.lcm(2, *(node.share.denominator for node in level)) for level in self.levels)

    @property
    def fits(self) -> bool:
        """Whether all ranks, in parts of rows, are small enough."""
        return max(self.parts) <= 2 * MOST_DENOMINATOR

    def moves(self, level: int) -> Fraction:
        """Return how far the lines of a level move with one row, in rows: only one of them does."""
        return max(node.move for node in self.levels[level])

    def stability(self, level: int, rows: Number) -> Fraction:
        """Return how far the lines of a level move with that many rows, in parts of rows."""
        return self.moves(level) * self.parts[level] * Fraction(rows)

    def inset(self, scale: Fraction) -> int:
        """Return how far inside of the rows the targets of extremes lie, for a scale in rows."""
        return math.ceil(float(scale) * math.log(self.candidates) + 1)

    def walk(self, scales: Sequence[Fraction], choose: Callable[[int, list[Line]], Integers], rows: Rows) -> None:
        """Choose all levels for one group of rows.

        Args:
            scales: of every level, in rows.
            choose: takes a level and its lines, and returns the chosen candidates.
            rows: the private rows.

        """
        here = [rows]
        for number in range(len(self.levels)):
            here = self.split(number, here, choose(number, self.lines(number, scales[number], here)))

    def lines(self, level: int, scale: Fraction, rows: Sequence[Rows]) -> list[Line]:
        """Return the lines of a level's nodes."""
        inset = self.inset(scale)
        return [
            rank_line(mine, node.share, self.parts[level], self.places, inset=inset if node.is_extreme else 0)
            for node, mine in zip(self.levels[level], rows, strict=True)
        ]

    def split(self, level: int, rows: Sequence[Rows], chosen: Integers) -> list[Rows]:
        """Return the rows of the next level's nodes."""
        found = []
        for node, mine, candidate in zip(self.levels[level], rows, chosen.tolist(), strict=True):
            left, right = mine.split(candidate, self.places)
            found += [left] * node.has_left + [right] * node.has_right
        return found

    def values(self, chosen: Sequence[Integers]) -> Integers:
        """Return the cell of every share: what was chosen, moved between its neighbours."""
        found = np.zeros(len(self.shares), dtype=np.int64)
        ranges = [(0, self.cells - 1)]
        for level, drawn in zip(self.levels, chosen, strict=True):
            below: list[tuple[int, int]] = []
            for node, (low, high), candidate in zip(level, ranges, drawn.tolist(), strict=True):
                cell = min(max(candidate // self.places, low), high)
                found[node.place] = cell
                below += [(low, cell)] * node.has_left + [(cell, high)] * node.has_right
            ranges = below
        return found


def rank_line(rows: Rows, share: Fraction, parts: int, places: int, *, inset: int = 0) -> Line:
    """Return the scores of all candidates: how far the wanted rank lies from the ranks of each, in parts of a row.

    Args:
        rows: the private rows.
        share: which quantile.
        parts: into how many parts a row is divided; a multiple of 2 and of the share's denominator.
        places: into how many candidates each cell is divided.
        inset: of extremes, how many rows inside; at most half of the rows.

    """
    before = rows.before
    total = int(before[-1])
    target = int(share * parts) * total
    if inset:
        inwards = min(inset * parts, total * parts // 2)
        target += inwards if share == 0 else -inwards
    starts, low, high = _candidates(rows, before, places)
    return Line(starts, -np.maximum(0, np.maximum(low * parts - target, target - high * parts)))


def scout_line(rows: Rows, share: Fraction, parts: int, cells: int, *, offset: int, is_upper: bool) -> Line:
    """Return the scores of the cells at which an interval of a quantile may end, in parts of a row.

    The target lies ``offset`` rows below or above the rank of the quantile. One further candidate, before the first
    cell or after the last one, covers ``offset`` ranks beyond the rows: it stands for the end of the range.
    """
    before = rows.before
    total = int(before[-1])
    # The quantile of share 0 is that of the first row.
    target = int(share * parts) * total + parts * ((offset if is_upper else -offset) + (share == 0))
    starts, low, high = _candidates(rows, before, 1)
    beyond = (cells, total, total + offset) if is_upper else (0, -offset, 0)
    starts = starts if is_upper else starts + 1
    # A cell that occurs at the end of the range is followed by nothing but the further candidate, which counts.
    starts, low, high = (np.append(part, end) for part, end in zip((starts, low, high), beyond, strict=True))
    return Line(starts, -np.maximum(0, np.maximum(low * parts - target, target - high * parts)))


def _candidates(rows: Rows, before: Integers, places: int) -> tuple[Integers, Integers, Integers]:
    """Return where candidates begin that cover other ranks than those before, and the ends of these ranks."""
    cells, counts = rows.cells * places, np.minimum(rows.counts, before[1:] - before[:-1])
    # After every cell that occurs, and before the first one, nothing is covered but an edge.
    gaps = np.concatenate(([0], cells + places)), before, before
    if places == 1:
        found = [gaps, (cells, before[:-1], before[1:])]
    else:
        is_full = 2 * counts > places
        found = [gaps, *_sparse(cells[~is_full], before[:-1][~is_full], counts[~is_full], places)]
        found.append(_full(cells[is_full], before[:-1][is_full], counts[is_full], places))
    # Of two that begin together the later one counts: cells after gaps, and what begins a cell after what ends one.
    first, low, high = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return first, low, high


Steps = tuple[Integers, Integers, Integers]


def _full(cells: Integers, before: Integers, counts: Integers, places: int) -> Steps:
    """Return the candidates of cells with many rows: every place is a step."""
    edges = before[:, None] + np.arange(places + 1)[None, :] * counts[:, None] // places
    starts = cells[:, None] + np.arange(places)[None, :]
    return starts.reshape(-1), edges[:, :-1].reshape(-1), edges[:, 1:].reshape(-1)


def _sparse(cells: Integers, before: Integers, counts: Integers, places: int) -> list[Steps]:
    """Return the candidates of cells with few rows: one that covers each row, and those between two rows."""
    owner = np.repeat(np.arange(cells.size), counts)
    row = np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    # The place that covers the row number j of c is the last one i with floor(i c / places) < j.
    place = cells[owner] + -(-row * places // counts[owner]) - 1
    rank = before[owner] + row
    # A place between two rows comes before the next row, which may begin at the same place and then counts.
    return [(cells, before, before), (place + 1, rank, rank), (place, rank - 1, rank)]


class ShareOfRows(Field[Number, Fraction]):
    """A number from 0 to 1, with a denominator of moderate size."""

    def convert(self, name: str, value: Number) -> Fraction:
        """Return the exact rational."""
        share = exact(name, value, rule="a number from 0 to 1")
        if not (0 <= share <= 1 and share.denominator <= MOST_DENOMINATOR):
            raise InvalidParameter(name, value, f"from 0 to 1, with a denominator of at most {MOST_DENOMINATOR}")
        return share

    def offenders(self) -> Iterator[Any]:
        """Return numbers outside of the interval, and anything that is not a number."""
        yield from (-1, 2, Fraction(1, 2 * MOST_DENOMINATOR + 1), "x", None, float("nan"), object())

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return both ends and a share between."""
        yield from (Fraction(1), Fraction(0), Fraction(2, 3))


def _examples() -> Iterator[Example]:
    few: dict[str, Any] = {"lower": 0, "step": 1}
    rows = [1, 2, 2, 2, 3, 5]
    yield Example(ExponentialQuantiles(unit=ROW, shares=("1/2",), cells=7, scale=2, **few), rows)
    quartiles = ("1/4", "1/2", "3/4")
    yield Example(ExponentialQuantiles(unit=ROW_REPLACED, shares=quartiles, cells=4, scale=6, **few), rows)
    yield Example(ExponentialQuantiles(unit=ROW, shares=(0, "1/3", 1), cells=5, scale=3, **few), [0.5, 4.0, 4.0])


@register(
    examples=_examples,
    source="Differentially Private Approximate Quantiles (Kaplan, Schnapp, Stemmer 2022); Differential Privacy and "
    "Applications (Zhu et al. 2017), section 6.1.1",
)
@dataclass(frozen=True, kw_only=True)
class ExponentialQuantiles(Composed[Any, list[float]]):
    """Choose quantiles of numbers on a grid, each with probability falling with its distance in ranks.

    Guarantee: data ``d_in`` rows apart loses epsilon = ``2 touched d_in m / scale`` for each level, where m is at least
    1/2 and at most 1 (the larger of a share and the rest, among the rows of a node), there are about log2 of the number
    of shares levels, and touched is 1 for rows added or removed and 2 for rows replaced.

    Args:
        unit: ROW or ROW_REPLACED. A row is one number; what is not a number does not count.
        shares: which quantiles, ascending: 1/2 is the median, 0 the smallest value.
        lower: the lower end of the range; smaller numbers count as this.
        step: the length of a cell.
        cells: how many cells there are; numbers beyond the last one count as in it.
        scale: how many rows farther off a cell must be to be e times less likely.

    >>> median = ExponentialQuantiles(unit=ROW, shares=("1/2",), lower=0, step=1, cells=2**32, scale=1)
    >>> median.loss(1)
    PureDP('1', rho='1/8')
    >>> quartiles = ExponentialQuantiles(unit=ROW, shares=("1/4", "1/2", "3/4"), lower=0, step=1, cells=100, scale=2)
    >>> quartiles.loss(1).pure
    Fraction(1, 1)

    """

    name: ClassVar[str] = "exponential-quantiles"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_interval_because: ClassVar[str] = "a chosen cell does not bound the distance to other rows"

    unit: RowUnit = RowUnit()
    shares: TupleOf = TupleOf(
        ShareOfRows(),
        most=256,
        where=lambda shares: list(shares) == sorted(set(shares)),
        rule="a tuple of different numbers from 0 to 1, ascending",
    )
    lower: Real = Real()
    step: Positive = Positive()
    cells: Whole = Whole(least=1, most=2**32)
    scale: Positive = Positive()

    def __post_init__(self) -> None:
        ends = {"lower": self.lower, "step": self.lower + self.step * self.cells, "scale": self.scale}
        for name, end in ends.items():
            if not -_FARTHEST < end < _FARTHEST:
                raise InvalidParameter(
                    name, "a larger number", "small enough that it and both ends of the range are within 2^1000"
                )
        if not self.recursion.fits:
            raise InvalidParameter("shares", self.shares, "with small denominators, also of their ratios")

    @cached_property
    def recursion(self) -> Recursion:
        """The levels."""
        return Recursion(self.shares, self.cells)

    @property
    def distance(self) -> Unit:
        """The declared unit."""
        return self.unit

    @classmethod
    def calibrated(
        cls, within: Loss, *, unit: Unit, shares: Sequence[Number], lower: Number, step: Number, cells: int
    ) -> ExponentialQuantiles:
        """Return the sharpest quantiles within a loss; the other words are those of the class."""
        parameters: dict[str, Any] = {"unit": unit, "shares": shares, "lower": lower, "step": step, "cells": cells}
        if within.pure:
            at_one = cls(scale=1, **parameters).loss(1).pure or Fraction(1)
            sharpest = cls(scale=positive("scale", at_one / within.pure), **parameters)
            if sharpest.loss(1) <= within:
                return sharpest
        return calibrate(lambda scale: cls(scale=scale, **parameters), within)

    def choice(self, level: int) -> LineChoices:
        """Return the choices of a level."""
        made, nodes = self.recursion, len(self.recursion.levels[level])
        return LineChoices(shape=(nodes,), candidates=made.candidates, scale=self.scale * made.parts[level])

    def plan(self) -> Plan:
        """One draw for each level, of which a row is in one node only."""
        made, touched = self.recursion, self.unit.touched
        return InOrder.of(*(Use(self.choice(n), made.stability(n, touched)) for n in range(len(made.levels))))

    def error(self, confidence: Number) -> Bound:
        """Return how far off a rank may be: what every level of the recursion adds, and the inset of extremes."""
        wanted = probability("confidence", confidence, open_below=True)
        failure = share_of_failure(wanted, len(self.shares))
        each = self.choice(0).reach(failure) / self.recursion.parts[0]
        inset = self.recursion.inset(self.scale) if {0, 1} & set(self.shares) else 0
        what = f"the rows between a quantile and its rank, apart from 1/{PLACES} of those of one value"
        return Bound(len(self.recursion.levels) * (each + 1) + inset, wanted, what)

    def release(self, data: Any, run: Runner) -> list[float]:
        """Return the lower ends of the chosen cells."""
        made = self.recursion
        rows = Rows.of(((cell, 1) for cell in map(self._cell, data) if cell is not None), self.cells)
        chosen: list[Integers] = []

        def choose(level: int, lines: list[Line]) -> Integers:
            drawn: Integers = run(self.choice(level), tuple(lines), stability=made.stability(level, self.unit.touched))
            chosen.append(drawn)
            return drawn

        made.walk([self.scale] * len(made.levels), choose, rows)
        return [float(self.lower + self.step * cell) for cell in made.values(chosen).tolist()]

    def _cell(self, row: Any) -> int | None:
        number = raw_number(row)
        if number is None or (isinstance(number, float) and math.isnan(number)):
            return None
        if isinstance(number, float) and math.isinf(number):
            number = _BEYOND if number > 0 else -_BEYOND
        place: int = math.floor((Fraction(number) - self.lower) / self.step)
        return min(max(place, 0), self.cells - 1)
