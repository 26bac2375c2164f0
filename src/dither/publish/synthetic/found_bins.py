"""Found bins: ranges of a wide column that follow its mass, found under privacy, and a synthetic table on them.

For columns of thousands of values, some of which have heaps that nobody knows beforehand. A part of the loss buys
noisy counts of every value of the column, and of blocks of 64 and 4,096 of them; values that stand out of the noise
have a bin of their own, the rest is divided by its mass; any method on records then sees the bins alone. How many bins
there are is public, which ones is released with the model. Cost: one count of each column, and noise for each value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any, ClassVar, Final, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, NoGuarantee
from dither.estimate.mass_bins import FAN_OUT, bin_starts, level_sizes
from dither.exact import Number, Of, sqrt_up
from dither.lift.attributes import MOST_CELLS, Attributes
from dither.lift.records import Records, counts_of, records_of
from dither.lift.stored import keep_record
from dither.mechanisms.core.mechanism import Composed, Mechanism, Numerics, NumericsOf
from dither.mechanisms.core.purse import CountNoise, OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, InOrder, Loss, Metric, Plan, Use
from dither.publish.histograms.common import Share, variance_of
from dither.publish.synthetic.found_columns import Starts
from dither.publish.synthetic.independent import IndependentMarginals
from dither.publish.synthetic.models import Model

VERSION: Final = 1
#: Of the loss, what finds the bins of all columns together.
USUAL_SHARE: Final = Fraction(1, 20)
#: The factor of counts of single values; that of counts of blocks is 1.
_FINE: Final = 4
#: One in this number of bins may be a value that only noise made stand out, which does no harm.
_BY_CHANCE: Final = 8


@runtime_checkable
class Grouping(Protocol):
    """Records that can be seen by ranges of values."""

    def grouped(self, starts: Starts) -> Records:
        """Return the same records, ranges of values being one value each."""


class FoundModel:
    """A released model of records by bins, and where each bin begins.

    Args:
        starts: for each column whose bins were found, the first value of each bin.
        model: of the records by bins.

    """

    def __init__(self, starts: Starts, model: Model) -> None:
        sizes = dict(zip(model.attributes.names, model.attributes.sizes, strict=True))
        for name, own in starts.items():
            whole = all(type(start) is int for start in own)
            if not whole or len(own) != sizes.get(name) or own[0] != 0 or sorted(set(own)) != list(own):
                raise InvalidParameter("starts", name, "increasing integers from 0, one for each bin of the column")
        self.starts, self.model = dict(starts), model

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain JSON values."""
        starts = {name: list(own) for name, own in self.starts.items()}
        return {"found bins": VERSION, "starts": starts, "model": self.model.to_dict()}

    @staticmethod
    def from_dict(record: Any) -> FoundModel:
        """Return the model that plain JSON values describe, or reject them."""
        starts = record.get("starts") if isinstance(record, Mapping) else None
        is_known = isinstance(starts, Mapping) and all(isinstance(own, list) and own for own in starts.values())
        if not is_known or record.get("found bins") != VERSION:
            raise InvalidParameter("record", "another record", f"a model on found bins of version {VERSION}")
        own = {str(name): tuple(found) for name, found in starts.items()}  # type: ignore[union-attr]
        return FoundModel(own, Model.from_dict(record.get("model")))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FoundModel) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"FoundModel({', '.join(self.starts)}: {self.model!r})"


keep_record("found bins", FoundModel)


def _examples() -> Iterator[Example]:
    fine, binned = Attributes.of({"a": 2, "b": 70}), Attributes.of({"a": 2, "b": 4})
    rows = np.array([[0, 1], [1, 69], [5, -3], [0, 40]])
    pairs = (
        (rows, rows[1:], 1),
        (rows[:0], rows[:1], 1),
        (np.repeat(rows, 9, axis=0), np.repeat(rows, 9, axis=0)[1:], 1),
    )
    for noise in (Geometric(scale=2), DiscreteGaussian(sigma=2)):
        method = IndependentMarginals(attributes=binned, single=noise)
        yield Example(FoundBins(attributes=fine, noise=noise, method=method), rows, pairs)


@register(
    examples=_examples,
    source="Winning the NIST Contest (McKenna, Miklau, Sheldon 2021), for domains that are compressed by noisy counts",
    made_for="Made for a method that is built within: its own tests have one.",
)
@dataclass(frozen=True, kw_only=True)
class FoundBins(Composed[Any, FoundModel]):
    """Find bins of some attributes from noisy counts, and release a model of the records by these bins.

    Guarantee: records ``d_in`` apart lose what ``noise`` loses at ``d_in * stability``, and what ``method`` loses at
    ``d_in``.

    Args:
        attributes: names and sizes; public.
        noise: of one weighted count.
        method: a synthetic method on the same attributes, of which those whose bins are found have fewer values: their
            number of bins.

    >>> from dither.privacy import PureDP
    >>> fine, binned = Attributes.of({"sex": 2, "gain": 100_000}), Attributes.of({"sex": 2, "gain": 256})
    >>> build = lambda loss: IndependentMarginals.calibrated(loss, attributes=binned)
    >>> made = FoundBins.calibrated(PureDP(1), attributes=fine, build=build)
    >>> made.found, made.loss(1).epsilon, made.method.loss(1).epsilon
    (('gain',), Fraction(1, 1), Fraction(19, 20))

    """

    name: ClassVar[str] = "found-bins"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = NumericsOf("method")  # type: ignore[assignment]
    no_error_because: ClassVar[str] = "how well bins describe a column depends on the records"
    no_interval_because: ClassVar[str] = no_error_because

    attributes: Of[Attributes] = Of(Attributes)
    noise: OneCount = OneCount()
    method: Of[Any] = Of(Mechanism, rule="a synthetic method, whose distance is counted in records")

    def __post_init__(self) -> None:
        binned = getattr(self.method, "attributes", None)
        if self.method.distance is not RECORDS or binned is None or binned.names != self.attributes.names:
            rule = f"a synthetic method on the columns {', '.join(self.attributes.names)}"
            raise InvalidParameter("method", self.method.name, rule)
        for name, size, bins in zip(binned.names, self.attributes.sizes, binned.sizes, strict=True):
            if bins > size or (bins < size and bins < 2):
                raise InvalidParameter("method", f"{bins} values of {name}", f"2 to {size} values of {name}")
        if not self.found or self.cells > MOST_CELLS:
            rule = f"attributes with more values than bins, with at most {MOST_CELLS} cells and blocks together"
            raise InvalidParameter("attributes", f"{self.cells} cells and blocks", rule)

    @classmethod
    def calibrated(
        cls, within: Loss, *, attributes: Attributes, build: Callable[[Loss], Any], share: Number = USUAL_SHARE
    ) -> Self:
        """Return the method whose loss for records 1 apart is within ``within``.

        Args:
            within: the loss not to exceed.
            attributes: names and sizes.
            build: makes the method on bins, from its loss for records 1 apart.
            share: of the loss, what finds the bins of all attributes together.

        """
        part = Share().convert("share", share)
        purse = Purse.within(within)
        method = build(purse.share(1 - part).loss)
        draft = cls(attributes=attributes, noise=purse.share(part).noise(), method=method)
        noise = purse.share(part).noise(*draft._moved)
        made = cls(attributes=attributes, noise=noise, method=method)
        if not made.loss(1) <= within:
            raise NoGuarantee(f"the release would lose {made.loss(1)}, which is not within {within}")
        return made

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @cached_property
    def found(self) -> tuple[str, ...]:
        """The attributes whose bins are found."""
        sizes = zip(self.attributes.names, self.attributes.sizes, self.method.attributes.sizes, strict=True)
        return tuple(name for name, size, bins in sizes if bins < size)

    @cached_property
    def _levels(self) -> tuple[tuple[int, ...], ...]:
        sizes = dict(zip(self.attributes.names, self.attributes.sizes, strict=True))
        return tuple(level_sizes(sizes[name]) for name in self.found)

    @cached_property
    def cells(self) -> int:
        """The number of weighted counts: of the values of all such attributes, and of their blocks."""
        return sum(map(sum, self._levels))

    @cached_property
    def _moved(self) -> tuple[Fraction, Fraction]:
        """How far a record moves all weighted counts, in L1 and L2: it lies in one cell of each level."""
        blocks = sum(len(levels) - 1 for levels in self._levels)
        singles = len(self._levels)
        return Fraction(singles * _FINE + blocks), sqrt_up(Fraction(singles * _FINE**2 + blocks))

    @property
    def stability(self) -> Fraction:
        """How far a record moves all weighted counts, in the distance of the noise."""
        return self._moved[0 if isinstance(self.noise, Geometric) else 1]

    @cached_property
    def counting(self) -> CountNoise:
        """The noise for all weighted counts."""
        return replace(self.noise, shape=(self.cells,))

    def plan(self) -> Plan:
        """One draw for all weighted counts, and the method."""
        return InOrder.of(Use(self.counting, self.stability), Use(self.method))

    def release(self, data: Any, run: Runner) -> FoundModel:
        """Return the bins, and a model of the records by bins."""
        starts = self._starts(records_of(self.attributes, data), run)
        return FoundModel(starts, run(self.method, _by_bins(self.attributes, data, starts)))

    def _starts(self, records: Records, run: Runner) -> dict[str, tuple[int, ...]]:
        weighted = []
        for name in self.found:
            axis = self.attributes.names.index(name)
            counts = counts_of(records, (axis,))
            # So low that no sum of them overflows; cutting off moves no two tables farther apart.
            singles, *blocks = level_sums(np.minimum(counts, LARGEST_VALUE // (_FINE * counts.size)))
            weighted += [singles * _FINE, *blocks]
        noisy = np.asarray(run(self.counting, np.concatenate(weighted), stability=self.stability), dtype=np.float64)
        pieces = iter(np.split(noisy, np.cumsum([size for levels in self._levels for size in levels])[:-1]))
        bins = dict(zip(self.attributes.names, self.method.attributes.sizes, strict=True))
        found = {}
        for name, sizes in zip(self.found, self._levels, strict=True):
            levels = [next(pieces) / (1 if level else _FINE) for level in range(len(sizes))]
            limits = [_seldom(self.noise, sizes[0], bins[name] / _BY_CHANCE) / _FINE]
            limits += [_seldom(self.noise, size) for size in sizes[1:]]
            found[name] = tuple(bin_starts(levels, limits, bins[name]).tolist())
        return found


def level_sums(counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return counts of cells, and their sums over the blocks of each level, which do not overlap.

    >>> [level.tolist() for level in level_sums(np.ones(65, dtype=np.int64))][1]
    [64, 1]

    """
    found = [counts]
    for size in level_sizes(counts.size)[1:]:
        found.append(np.add.reduceat(found[-1], np.arange(size) * FAN_OUT))
    return found


def _seldom(noise: CountNoise, cells: int, times: float = 1.0) -> float:
    """Return what the noise of a number of cells exceeds about that often, or more seldom."""
    part = min(times / cells, 0.5)
    if isinstance(noise, Geometric):
        return float(noise.scale) * -math.log(2 * part)
    return math.sqrt(variance_of(noise)) * -NormalDist().inv_cdf(part)


def _by_bins(attributes: Attributes, data: Any, starts: Starts) -> Any:
    """Return the records with bins in the place of values."""
    if isinstance(data, Grouping):
        return data.grouped(starts)
    codes: NDArray[np.int64] = attributes.codes(data)
    for axis, name in enumerate(attributes.names):
        if name in starts:
            codes[axis] = np.searchsorted(np.array(starts[name]), codes[axis], side="right") - 1
    return np.ascontiguousarray(codes.T)
