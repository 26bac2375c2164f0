"""Sample-and-aggregate: compute any statistic on disjoint blocks of the rows, and combine the answers privately.

For statistics of unknown sensitivity. It is computed on each of ``blocks`` blocks, so that one row can change
one answer; the answers are clamped to public bounds and released as a noisy mean, as a private median, or as their
centre of attention with noise that follows their spread. Cost: one hash a row and one statistic a block. Correction:
rows are usually divided at random or by position; here a row's block depends on the row alone, because a position moves
with every row before it.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import repeat
from statistics import fmean
from statistics import median as middle
from typing import Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Field, Number, Of, Positive, Real, Text, Whole, probability
from dither.mechanisms.centre_of_attention import centre_of_attention
from dither.mechanisms.core.mechanism import Bound, Composed, Numerics
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import raw_entries, raw_item, raw_number, raw_text
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.mechanisms.permute_and_flip import PermuteAndFlip
from dither.mechanisms.smooth_cauchy import SmoothCauchy
from dither.mechanisms.smooth_gaussian import SmoothGaussian
from dither.mechanisms.smooth_laplace import SmoothLaplace
from dither.privacy import ROW, ROW_REPLACED, Plan, Unit, Use
from dither.privacy.fields import RowUnit

Statistic = Callable[[list[Any]], Any]
_Smooth = SmoothCauchy | SmoothLaplace | SmoothGaussian
_PART = "noise for one number, or a choice among candidates"

_statistics: dict[str, Statistic] = {}
_MOST_STEPS = 2**40
_MOST_CANDIDATES = 2**22
_BEYOND = 2**1024
_MOST_ENTRIES = 2**16
_DEEPEST = 100
_LEAST_SMOOTHNESS = Fraction(1, 2**30)


def block_statistic(name: str) -> Callable[[Statistic], Statistic]:
    """Return a decorator that registers a function of a block of rows under a public name, permanently.

    The function sees one block of plain rows (see ``plain``) at a time and must keep nothing between blocks. What it
    raises, and what it returns that is not a number, means the declared value ``otherwise``.

    >>> @block_statistic("example-range")
    ... def spread(rows):
    ...     return max(rows) - min(rows)
    """
    if not (isinstance(name, str) and name and name == name.lower() and " " not in name):
        raise InvalidParameter("name", name, "a lower-case name without blanks")

    def add(function: Statistic) -> Statistic:
        known = _statistics.get(name)
        if known is not None and known.__qualname__ != function.__qualname__:
            raise InvalidParameter("name", name, f"new, and not that of {known.__qualname__}")
        _statistics[name] = function
        return function

    return add


@block_statistic("mean")
def _mean(rows: list[Any]) -> float:
    return fmean(rows)


@block_statistic("median")
def _median(rows: list[Any]) -> Any:
    return middle(rows)


class _Named(Field[str, str]):
    """The name of a registered statistic."""

    def convert(self, name: str, value: str) -> str:
        if not (isinstance(value, str) and value in _statistics):
            raise InvalidParameter(name, value, f"one of {', '.join(sorted(_statistics))} (see block_statistic)")
        return value

    def offenders(self) -> Iterator[Any]:
        """Return anything that is not the name of a statistic."""
        yield from ("no such statistic", "", 0, None, [], object())

    def samples(self, kept: Any = None) -> Iterator[Any]:
        """Return every statistic that there is here."""
        yield from ("mean", "median")


def _examples() -> Iterator[Example]:
    bounds = {"lower": 0, "upper": 4, "otherwise": 2, "grid": "1/2"}
    mean: dict[str, Any] = {"statistic": "mean", "blocks": 3, **bounds}
    yield Example(SampleAndAggregate(unit=ROW, part=Geometric(scale=8), **mean), [0, 1, 3, 3])
    yield Example(
        SampleAndAggregate(unit=ROW_REPLACED, part=DiscreteGaussian(sigma=16), **mean), np.array([0.5, 3.0, 3.0])
    )
    middle_of: dict[str, Any] = {"statistic": "median", "blocks": 4, **bounds}
    yield Example(SampleAndAggregate(unit=ROW, part=Exponential(candidates=9, scale=2), **middle_of), [1, 2, 2])
    part = PermuteAndFlip(candidates=9, scale=4)
    yield Example(SampleAndAggregate(unit=ROW_REPLACED, part=part, **middle_of), [1, 2, 2, 2])
    centre = SmoothCauchy(power=2, least=1, smoothness="1/2", scale=2, grid=4)
    yield Example(SampleAndAggregate(unit=ROW, part=centre, **middle_of), [1, 2, 2])


@register(
    examples=_examples,
    source="Smooth Sensitivity and Sampling in Private Data Analysis (Nissim, Raskhodnikova, Smith 2007), section 4; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 6.1.2",
)
@dataclass(frozen=True, kw_only=True)
class SampleAndAggregate(Composed[Any, float]):
    """Compute a statistic on disjoint blocks of the rows, and release a noisy mean, median or centre of the answers.

    Guarantee: data ``d_in`` rows apart loses what ``part`` loses at ``touched * d_in`` whole ranges (a mean) or ranks
    (a median), where touched is 1 for rows added or removed and 2 for rows replaced, or at ``d_in`` neighbours (a
    centre of attention).

    Args:
        statistic: the public name of a function of a block of rows (see ``block_statistic``).
        unit: ROW or ROW_REPLACED.
        blocks: how many blocks there are.
        lower: answers are clamped to at least this.
        upper: answers are clamped to at most this.
        otherwise: the value of an answer that fails or is not a number, such as an empty block's.
        grid: the step to which answers are rounded down.
        part: Geometric or DiscreteGaussian noise on the sum of the answers in steps, for a mean; Exponential or
            PermuteAndFlip over ``steps + 1`` candidates, for a median; SmoothCauchy, SmoothLaplace or SmoothGaussian
            noise on one number in steps, for a centre of attention.
        public_seed: a public text that decides the division together with the rows.

    >>> mean = SampleAndAggregate(
    ...     statistic="mean", unit=ROW, blocks=100, lower=0, upper=10, otherwise=5, grid=0.1, part=Geometric(scale=200)
    ... )
    >>> mean.steps, mean.loss(1)
    (100, PureDP('1/2'))

    """

    name: ClassVar[str] = "sample-and-aggregate"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = (
        "the private median is bounded in rank and the noise of a centre follows the answers; the distance between "
        "the two is private"
    )
    no_interval_because: ClassVar[str] = "the statistic of all rows may be far from that of a block"

    part: Of[Geometric | DiscreteGaussian | Exponential | PermuteAndFlip | _Smooth] = Of(
        Geometric, DiscreteGaussian, Exponential, PermuteAndFlip, *get_args(_Smooth), rule=_PART
    )
    unit: RowUnit = RowUnit(rule="ROW or ROW_REPLACED: the rows of a user fall into many blocks")
    statistic: _Named = _Named()
    blocks: Whole = Whole(least=1, most=2**20)
    lower: Real = Real()
    upper: Real = Real()
    otherwise: Real = Real()
    grid: Positive = Positive()
    public_seed: Text = Text("")

    def __post_init__(self) -> None:
        if not (self.lower + self.grid <= self.upper and self.steps <= _MOST_STEPS):
            raise InvalidParameter(
                "grid", str(self.grid), "at most the range of the answers, and not below 2^-40 of it"
            )
        if not self.lower <= self.otherwise <= self.upper:
            raise InvalidParameter("otherwise", str(self.otherwise), "within the bounds")
        if isinstance(self.part, Exponential | PermuteAndFlip):
            right = self.part.candidates == self.steps + 1 <= _MOST_CANDIDATES
            if not (right and self.part.grid is None and not self.part.one_way):
                rule = f"a choice among {self.steps + 1} candidates by integer scores that may move any way"
                raise InvalidParameter("part", self.part, rule)
        elif isinstance(self.part, _Smooth):
            if not (self.part.dimension == 1 and Fraction(self.part.smoothness) >= _LEAST_SMOOTHNESS):
                raise InvalidParameter("part", self.part, "noise for one number, of a smoothness of at least 2^-30")
            if not self.blocks > self.unit.touched:
                raise InvalidParameter("blocks", self.blocks, f"above {self.unit.touched}, all that one unit may touch")
        elif self.part.shape != ():
            raise InvalidParameter("part", self.part, _PART)

    @property
    def steps(self) -> int:
        """The number of grid steps between the bounds."""
        return math.floor((self.upper - self.lower) / self.grid)

    @property
    def distance(self) -> Unit:
        """The declared unit."""
        return self.unit

    @property
    def stability(self) -> int:
        """How far one unit moves the sum of all answers, the score of any candidate, or the centre with its bound."""
        if isinstance(self.part, _Smooth):
            # The bound is computed for all the answers that one unit touches: neighbours in data are neighbours here.
            return 1
        return self.unit.touched * (self.steps if isinstance(self.part, Geometric | DiscreteGaussian) else 1)

    def plan(self) -> Plan:
        """One draw."""
        return Use(self.part, self.stability)

    def error(self, confidence: Number) -> Bound | None:
        """Return a bound on the released mean's error relative to the mean of the clamped answers, before rounding."""
        probability("confidence", confidence, open_below=True)
        if not isinstance(self.part, Geometric | DiscreteGaussian):
            return None
        reach = self.part.error(confidence)
        off = float((Fraction(reach.value) / self.blocks + 1) * self.grid) * (1 + 1e-9)
        return Bound(off, reach.confidence, "the distance from the mean of the clamped answers of the blocks")

    def release(self, data: Any, run: Runner) -> float:
        """Return the mean, median or centre of the blocks' answers, within the declared range."""
        answers = np.array(
            [self._answer(block) for block in divided(data, self.blocks, self.public_seed)], dtype=np.int64
        )
        if isinstance(self.part, Geometric | DiscreteGaussian):
            total = run(self.part, int(answers.sum()), stability=self.stability)
            combined = Fraction(total, self.blocks)
        elif isinstance(self.part, _Smooth):
            pair = centre_of_attention(
                answers, changed=self.unit.touched, most=self.steps, smoothness=self.part.smoothness
            )
            combined = Fraction(run(self.part, pair, stability=self.stability))
        else:
            combined = Fraction(run(self.part, _depths(answers, self.steps + 1), stability=self.stability))
        return float(self.lower + min(max(combined, Fraction(0)), Fraction(self.steps)) * self.grid)

    def _answer(self, block: list[Any]) -> int:
        """Return the statistic of a block in integer steps above the lower bound; total for any statistic."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = float(_statistics[self.statistic](block))
        except Exception:
            # Whatever it is, it may depend on data: it has one meaning, and no message.
            found = math.nan
        value = self.otherwise if math.isnan(found) else self.upper if found > self.upper else self.lower
        if self.lower <= found <= self.upper:
            value = Fraction(found)
        return math.floor((value - self.lower) / self.grid)


def divided(rows: Any, blocks: int, public_seed: str) -> list[list[Any]]:
    """Return the plain rows in blocks, assigned by a hash of each row's content, in the order of the hashes.

    Equal rows are told apart by their number among their equals, which is no position: one row more is one number more.

    >>> [len(block) for block in divided([7] * 1000, 2, "")]
    [484, 516]
    """
    seen: Counter[str] = Counter()
    found: list[list[tuple[bytes, Any]]] = [[] for _ in range(blocks)]
    for row in map(plain, rows):
        text = repr(row)
        seen[text] += 1
        digest = hashlib.sha256(
            f"{len(public_seed)}:{public_seed}:{seen[text]}:{text}".encode("utf-8", "surrogatepass")
        ).digest()
        found[int.from_bytes(digest[:16], "big") % blocks].append((digest, row))
    return [[row for _, row in sorted(block, key=lambda pair: pair[0])] for block in found]


def plain(row: Any) -> Any:
    """Return the row as a plain number, text, bytes, None, or a tuple of these; equal rows become equal. Never raises.

    An integer is an int however it was written, any NaN is one NaN, numbers beyond 2^1024 are infinite; what is
    none of these becomes None. So does a row nested more than 100 deep, or of more than 2^16 entries, those of lists in
    lists counted, unless it is an array of numbers.

    >>> plain((True, 1.0, np.float32(0.5), Fraction(1, 2), -0.0, "a")), plain(np.array([[2, 3]])), plain({1})
    ((1, 1, 0.5, 0.5, 0, 'a'), ((2, 3),), None)
    """
    try:
        return _plain(row, iter(range(_MOST_ENTRIES)), _DEEPEST)
    except (RecursionError, _TooLong):
        return None


class _TooLong(Exception):
    """A row with more entries than are read."""


def _plain(row: Any, room: Iterator[int], depth: int) -> Any:
    """Return the plain row; every entry uses up some of ``room``, so that nested lists end."""
    if depth < 0 or next(room, None) is None:
        raise _TooLong
    # Most cells are numbers and texts of Python's own, which need none of the care below.
    kind = type(row)
    if kind is float or kind is int:
        return _plain_number(row)
    if kind is str:
        return row
    row = raw_item(row)
    number = raw_number(row)
    if number is not None:
        return _plain_number(number)
    kind = type(row)
    if issubclass(kind, str):
        return raw_text(row)
    if issubclass(kind, bytes):
        return bytes.__getitem__(row, slice(None))
    if issubclass(kind, np.ndarray):
        # Numbers lie side by side in memory and share nothing; objects may.
        room = room if np.ndarray.view(row, np.ndarray).dtype.hasobject else repeat(0)
        entries = raw_entries(row)
    else:
        entries = raw_entries(row, _MOST_ENTRIES + 1) if issubclass(kind, (tuple, list)) else None
    return None if entries is None else tuple(_plain(entry, room, depth - 1) for entry in entries)


def _plain_number(number: int | float | Fraction) -> int | float | Fraction:
    if type(number) is float and math.isfinite(number):
        return int(number) if number.is_integer() else number
    if type(number) is int and -_BEYOND < number < _BEYOND:
        return number
    if number != number:
        return math.nan
    if isinstance(number, Fraction) and number.denominator >= _BEYOND:
        # Too long to be written down. Its nearest float takes no longer to find than the number to read.
        return _nearest(number)
    if number >= _BEYOND or number <= -_BEYOND:
        return math.inf if number > 0 else -math.inf
    if number == int(number):
        return int(number)
    nearest = float(number)
    # A rational that no float equals stays one.
    return nearest if nearest == number else number


def _nearest(number: Fraction) -> float:
    """Return the nearest float, or an infinity if the number is out of range."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _depths(answers: NDArray[np.int64], candidates: int) -> NDArray[np.int64]:
    """Return every candidate's score: minus the number of answers on the side with more of them."""
    counts = np.bincount(answers, minlength=candidates)
    below = np.cumsum(counts) - counts
    above = answers.size - below - counts
    depths: NDArray[np.int64] = -np.maximum(below, above)
    return depths
