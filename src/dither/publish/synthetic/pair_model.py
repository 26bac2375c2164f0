"""A model of all pairs of attributes: a distribution for each pair, on groups of values, and records that fit all.

No junction tree holds all pairs of a wide table, so this model has no formula for all attributes together. Single
attributes and pairs are asked of it directly. For three and more it gives the law of largest entropy that agrees with
all their pairs. Records are moved until their pairs are the model's (``dither.estimate.record_fitting``); they depend
on attributes outside a marginal too, so their marginals of three and more may differ from those of ``table``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.fitting import proportional_fit
from dither.estimate.public_randomness import Generator
from dither.estimate.record_fitting import MOST_VALUES, TOUCHING_UP, WantedPairs, fit_records, shared_out
from dither.lift.attributes import MOST_CELLS, Attributes, Axes
from dither.publish.histograms.common import Floats
from dither.publish.synthetic.merging import Merging
from dither.publish.synthetic.models import MOST_RECORDS, Model

#: Records that are fitted; beyond, patterns of groups are repeated.
_MOST_FITTED: Final = 2**17
_LEAST_FITTED: Final = 2**12
#: Steps of one round of the fit: records times attributes times values.
_STEPS: Final = 2**31
#: Up to this many values of all attributes together, records are improved value by value, not only by groups.
_MOST_TOUCHED: Final = 1280
#: How far rare cells count for more when single values are touched up.
_POWER: Final = 0.8
_ROUNDS: Final = 200
_TOLERANCE: Final = 1e-7
_NEAR: Final = 1e-6
#: How far the sums of pairs, found step by step, may be from single attributes.
_AGREED: Final = 1e-3


class PairModel(Model):
    """Distributions of pairs of attributes.

    Args:
        attributes: names and sizes.
        total: the estimated number of records.
        singles: for each attribute the law of its groups of values.
        pairs: for pairs of attributes, in increasing order, the law of their groups, which has those of ``singles`` as
            its sums. A pair without a law is independent as far as ``table`` knows; in drawn records it is what the
            other pairs make of it.
        merging: which values are in a group, and their shares of it; None where each has its own.

    >>> law = {(0, 1): np.array([[0.4, 0.1], [0.1, 0.4]])}
    >>> model = PairModel(Attributes.of({"a": 2, "b": 2}), 10.0, [np.full(2, 0.5), np.full(2, 0.5)], law)
    >>> model.table((0, 1)).tolist(), model.table((1,)).tolist()
    ([[4.0, 1.0], [1.0, 4.0]], [5.0, 5.0])
    >>> records = model.sample()
    >>> records.shape, int((records[:, 0] == records[:, 1]).sum()) in (6, 7, 8, 9, 10)
    ((10, 2), True)

    """

    kind: ClassVar[str] = "pairs"

    def __init__(
        self,
        attributes: Attributes,
        total: float,
        singles: Sequence[Floats],
        pairs: Mapping[Axes, Floats],
        merging: Merging | None = None,
    ) -> None:
        self.attributes, self.total = attributes, float(min(max(total, 0.0), MOST_RECORDS))
        self.merging = Merging.none(attributes) if merging is None else merging
        self.singles = tuple(np.asarray(law, dtype=np.float64) for law in singles)
        self.pairs = {axes: np.asarray(law, dtype=np.float64) for axes, law in sorted(pairs.items())}

    def table(self, axes: Axes) -> Floats:
        """Return the marginal on these attributes in estimated numbers of records.

        Of two attributes their own; of more the one of largest entropy that agrees with all their pairs.
        """
        return self.merging.spread(self._law(axes), axes) * self.total

    def _law(self, axes: Axes) -> Floats:
        """Return the distribution of groups on these attributes."""
        if not axes:
            return np.ones(())
        if len(axes) == 1:
            return self.singles[axes[0]]
        if len(axes) == 2:
            known = self.pairs.get(axes)
            return np.multiply.outer(self.singles[axes[0]], self.singles[axes[1]]) if known is None else known
        if self.attributes.cells_of(axes) > MOST_CELLS:
            raise InvalidParameter("axes", self.attributes.named(axes), f"a marginal of at most {MOST_CELLS} cells")
        start = np.ones(())
        for axis in axes:
            start = np.multiply.outer(start, self.singles[axis])
        wanted: dict[tuple[int, ...], Floats] = {
            (one, other): self.pairs[axes[one], axes[other]]
            for one, other in combinations(range(len(axes)), 2)
            if (axes[one], axes[other]) in self.pairs
        }
        fitted = proportional_fit(start, wanted, tolerance=_TOLERANCE, most_rounds=_ROUNDS) if wanted else start
        # Pairs that no law has together leave a rest.
        return fitted / float(fitted.sum())

    def draw(self, rows: int, generator: Generator) -> NDArray[np.int64]:
        """Return records whose single attributes and pairs are close to the model's.

        Up to 2^17 records, or fewer for very wide tables, are fitted one by one; of more, the patterns of groups repeat
        and the values within groups do not.
        """
        if not rows:
            return np.zeros((0, len(self.singles)), dtype=np.int64)
        wide = len(self.singles)
        is_touched = bool(self.merging.merged_axes) and sum(self.attributes.sizes) <= _MOST_TOUCHED
        values = sum(self.attributes.sizes) if is_touched else sum(self.merging.sizes)
        fitted = min(rows, _MOST_FITTED, max(_LEAST_FITTED, _STEPS // (wide * values)))
        groups = self._groups(fitted, generator)
        if fitted < rows:
            rest = generator.permutation(fitted)[: rows % fitted]
            groups = groups[:, np.concatenate([np.tile(np.arange(fitted), rows // fitted), rest])]
        records = np.stack([self._members(axis, groups[axis], generator) for axis in range(wide)])
        if fitted == rows and is_touched:
            whole = range(wide)
            laws = {pair: self.merging.spread(law, pair) for pair, law in self.pairs.items()}
            wanted = WantedPairs([self.merging.spread(self.singles[axis], (axis,)) for axis in whole], laws)
            records = fit_records(records, wanted, generator, rounds=TOUCHING_UP, power=_POWER)
        return np.ascontiguousarray(records.T)

    def _groups(self, rows: int, generator: Generator) -> NDArray[np.int64]:
        """Return records of groups, a row for each attribute."""
        if sum(self.merging.sizes) > MOST_VALUES:
            return np.stack([shared_out(law, rows, generator) for law in self.singles])
        wanted = WantedPairs(self.singles, self.pairs)
        return fit_records(wanted.independent(rows, generator), wanted, generator)

    def _members(self, axis: int, groups: NDArray[np.int64], generator: Generator) -> NDArray[np.int64]:
        """Return a value for each record, within its group and as often as its share says."""
        if axis not in self.merging.merged_axes:
            return groups
        places, shares = self.merging.places[axis], self.merging.shares[axis]
        found = np.zeros_like(groups)
        for group in range(self.merging.sizes[axis]):
            rows, members = np.flatnonzero(groups == group), np.flatnonzero(places == group)
            if len(rows):
                found[rows] = members[shared_out(shares[members], len(rows), generator)]
        return found

    def write(self) -> dict[str, Any]:
        """Return distributions and groups as plain JSON values."""
        return {
            "singles": [law.tolist() for law in self.singles],
            "pairs": [[list(axes), law.ravel().tolist()] for axes, law in self.pairs.items()],
            "merging": self.merging.write(),
        }

    @classmethod
    def read(cls, attributes: Attributes, total: float, record: Mapping[str, Any]) -> Self:
        """Return the model that ``write`` wrote, or reject a damaged record."""
        merging = Merging.read(attributes, record.get("merging"))
        singles, pairs = record.get("singles"), record.get("pairs")
        wide = len(attributes.sizes)
        rule = "a law for each attribute, and for pairs of increasing numbers of attributes"
        if not isinstance(singles, list) or len(singles) != wide or not isinstance(pairs, list):
            raise InvalidParameter("singles", "a record", rule)
        laws: dict[Axes, Floats] = {}
        for entry in pairs:
            if not (isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], list) and len(entry[0]) == 2):
                raise InvalidParameter("pairs", "a record", rule)
            first, second = entry[0]
            if type(first) is not int or type(second) is not int or not 0 <= first < second < wide:
                raise InvalidParameter("pairs", "a record", rule)
            laws[first, second] = _law(entry[1], merging.shape_of((first, second)))
        single_laws = [_law(law, (size,)) for law, size in zip(singles, merging.sizes, strict=True)]
        for axes, law in laws.items():
            for place, axis in enumerate(axes):
                if np.abs(law.sum(axis=1 - place) - single_laws[axis]).max() > _AGREED:
                    raise InvalidParameter("pairs", "a record", "laws that agree with those of single attributes")
        return cls(attributes, total, single_laws, laws, merging)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PairModel) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        # Coarse on purpose: it is for people, and an auditor tells outcomes apart by it.
        return f"PairModel(of about {self.total:.0f} records, {len(self.pairs)} pairs)"


def _law(numbers: Any, shape: tuple[int, ...]) -> Floats:
    """Return a written distribution, or reject it."""
    rule = "a number of at least 0 for each cell, which add up to 1"
    if not isinstance(numbers, list) or len(numbers) != math.prod(shape):
        raise InvalidParameter("pairs", "a record", rule)
    if not all(type(number) in (int, float) and math.isfinite(number) and number >= 0 for number in numbers):
        raise InvalidParameter("pairs", "a record", rule)
    law = np.array(numbers, dtype=np.float64).reshape(shape)
    if abs(float(law.sum()) - 1) > _NEAR:
        raise InvalidParameter("pairs", "a record", rule)
    return law
