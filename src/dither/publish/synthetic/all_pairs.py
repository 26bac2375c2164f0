"""All pairs: measure every pair of attributes, on groups of values, and make records that fit all of them.

For tables of up to a few hundred columns, when pairs matter and no pair shall be left out. Single attributes are
measured first; neighbouring values are put into groups that are large enough to be told from noise; the interactions
of all pairs of groups are measured in one draw, as the residual planner does; what is mostly noise is shrunk. Nothing
is selected, so nothing is paid for selecting. Cost: one pass over the rows for each pair, and a few seconds for drawing
records. Corrections: projection of noisy pairs alone leaves most of the noise in tables of many cells, so values are
grouped and deviations from independence shrunk first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.fitting import proportional_fit
from dither.estimate.pair_shrinking import shrink_pairs
from dither.estimate.projections import non_negative_with_total
from dither.estimate.record_fitting import MOST_VALUES
from dither.estimate.value_groups import group_values
from dither.exact import Of, Whole, sqrt_up
from dither.lift.attributes import MOST_CELLS, Attributes, Axes
from dither.lift.records import records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Purse, one_number
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.privacy import RECORDS, InOrder, Loss, Metric, Plan, Use
from dither.publish.histograms.common import Floats, variance_of
from dither.publish.marginals.common import rounded_weights
from dither.publish.marginals.interactions import centred
from dither.publish.marginals.residual_planner import whole_interaction
from dither.publish.synthetic.measuring import Seen
from dither.publish.synthetic.merging import Merging
from dither.publish.synthetic.pair_model import PairModel

#: How far all measurements of pairs move together per record: so large that weights are fine, and counts have room.
REACH: Final = 2**24
_SHARES: Final = 2**24
#: The part of rho that single attributes have, and how their parts and those of pairs grow with the number of cells.
_SINGLES: Final = Fraction(9, 20)
_SINGLE_POWER: Final = 0.8
_PAIR_POWER: Final = 2 / 3
#: Beyond this many values an attribute's part stops growing: they cannot be told apart, and would take it all.
_COUNTED_VALUES: Final = 256
#: The records of a group per standard deviation of a pair's cell. There are at least ``_LEAST_GROUPS`` groups all the
#: same, and attributes of up to ``_FEW_VALUES`` values are left as they are.
_RECORDS_PER_NOISE: Final = 30
_LEAST_GROUPS: Final = 8
_FEW_VALUES: Final = 16
#: Cells of all pairs together.
_MOST_MEASURED: Final = 2**24
#: What is left of every cell of independent attributes, as a share of it.
_LEFT: Final = 1e-3
_ROUNDS: Final = 1000
_TOLERANCE: Final = 1e-8


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 3})
    rows = np.array([[0, 1], [1, 2], [5, -3]])
    single, pair = DiscreteGaussian(sigma=1024), DiscreteGaussian(sigma=REACH)
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    yield Example(AllPairs(attributes=table, single=single, pair=pair, most_groups=2), rows, pairs)
    alone = AllPairs(attributes=Attributes.of({"a": 2}), single=DiscreteGaussian(sigma=1), pair=pair)
    yield Example(alone, rows[:, :1], ((rows[:, :1], rows[1:, :1], 1),))


@register(
    examples=_examples,
    source="An Optimal and Scalable Matrix Mechanism for Noisy Marginals under Convex Loss Functions (Xiao, He, Zhang, "
    "Kifer 2023), section 4, for what is measured; PrivSyn: Differentially Private Data Synthesis (Zhang et al. 2021), "
    "section 4.3, for records from pairs",
    takes="gaussian",
)
@dataclass(frozen=True, kw_only=True)
class AllPairs(Composed[Any, PairModel]):
    """Measure single attributes, group their values, measure all pairs of groups, and shrink them to a model.

    Guarantee: records ``d_in`` apart lose rho = ``d_in^2 s^2 / (2 single.sigma^2)``, s^2 being the sum of the squares
    of ``weights``, and ``d_in^2 2^48 / (2 pair.sigma^2)`` for the pairs, if there are any.

    Args:
        attributes: names and sizes; public.
        single: the noise of a weighted count of one attribute.
        pair: the noise of a measurement of a pair; all of them move by 2^24 a record.
        most_groups: how many groups of values an attribute has at most where it is one of a pair.

    >>> from dither.privacy import ApproxDP
    >>> people = Attributes.of({"sex": 2, "age": 100, "region": 16})
    >>> method = AllPairs.calibrated(ApproxDP(1, "1e-9"), attributes=people)
    >>> len(method.pairs), method.loss(1).to_approx("1e-9").epsilon <= 1
    (3, True)

    """

    name: ClassVar[str] = "all-pairs"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how much is lost by grouping and shrinking depends on the records"
    no_interval_because: ClassVar[str] = "shrunk estimates have an error that depends on the data"

    attributes: Of[Attributes] = Of(Attributes)
    single: Of[DiscreteGaussian] = Of(DiscreteGaussian, **one_number(DiscreteGaussian))
    pair: Of[DiscreteGaussian] = Of(DiscreteGaussian, **one_number(DiscreteGaussian))
    most_groups: Whole = Whole(32, least=2, most=256)

    def __post_init__(self) -> None:
        if sum(self.attributes.sizes) > MOST_CELLS:
            raise InvalidParameter("attributes", sum(self.attributes.sizes), f"at most {MOST_CELLS} values together")
        if self.cells > _MOST_MEASURED:
            rule = f"at most {_MOST_MEASURED} measurements; take fewer groups of values or fewer attributes"
            raise InvalidParameter("most_groups", f"{self.cells} measurements", rule)

    @classmethod
    def calibrated(cls, within: Loss, *, attributes: Attributes, most_groups: int = 32) -> Self:
        """Return the method whose loss for records 1 apart is within ``within``.

        Args:
            within: the loss not to exceed, in rho or with a delta.
            attributes: names and sizes.
            most_groups: how many groups of values an attribute has at most; fewer where there are very many pairs.

        """
        purse = Purse.within(within)
        groups, pairs = most_groups, _pairs(attributes)
        # So few that all can be measured, and that records can be fitted to all of them at once.
        while groups > 2 and (
            _measured(attributes, pairs, groups) > _MOST_MEASURED
            or sum(min(size, groups) for size in attributes.sizes) > MOST_VALUES
        ):
            groups -= 1
        draft = cls(attributes=attributes, single=_UNIT, pair=_UNIT, most_groups=groups)
        single = purse.share(_SINGLES if draft.pairs else 1).gaussian_noise(draft.stability)
        pair = purse.share(1 - _SINGLES).gaussian_noise(REACH) if draft.pairs else single
        return replace(draft, single=single, pair=pair)

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The factor of each attribute's counts: larger for attributes with more values."""
        return rounded_weights([min(size, _COUNTED_VALUES) ** (_SINGLE_POWER / 2) for size in self.attributes.sizes])

    @cached_property
    def stability(self) -> Fraction:
        """How far all weighted counts of single attributes move together per record."""
        return sqrt_up(Fraction(sum(weight**2 for weight in self.weights)))

    @cached_property
    def pairs(self) -> tuple[Axes, ...]:
        """The measured pairs: all except those with a constant, or with too many cells to count."""
        return _pairs(self.attributes)

    @cached_property
    def cells(self) -> int:
        """The number of measurements of pairs, including those of groups that are not needed."""
        return _measured(self.attributes, self.pairs, self.most_groups)

    @cached_property
    def singles_part(self) -> DiscreteGaussian:
        """The noise for all single attributes."""
        return replace(self.single, shape=(sum(self.attributes.sizes),))

    @cached_property
    def pairs_part(self) -> DiscreteGaussian:
        """The noise for all pairs."""
        return replace(self.pair, shape=(self.cells,))

    def plan(self) -> Plan:
        """One draw for all single attributes, one for all pairs."""
        singles = Use(self.singles_part, self.stability)
        return InOrder.of(singles, Use(self.pairs_part, REACH)) if self.pairs else singles

    def release(self, data: Any, run: Runner) -> PairModel:
        """Return a model of all pairs."""
        seen = Seen(records_of(self.attributes, data))
        total, laws = self._singles(seen, run)
        if not self.pairs:
            return PairModel(self.attributes, total, laws, {})
        merging = self._grouped(total, laws)
        seen.merge(merging)
        singles = [np.asarray(merging.merged(law, (axis,))) for axis, law in enumerate(laws)]
        tables = self._fitted(total, singles, self._measured(seen, run))
        return PairModel(self.attributes, total, singles, tables, merging)

    def _singles(self, seen: Seen, run: Runner) -> tuple[float, list[Floats]]:
        """Return the estimated number of records, and the distribution of each attribute."""
        weighted = [
            np.minimum(seen.count((axis,)), LARGEST_VALUE // weight) * weight
            for axis, weight in enumerate(self.weights)
        ]
        noisy = np.asarray(run(self.singles_part, np.concatenate(weighted), stability=self.stability), dtype=np.float64)
        pieces = np.split(noisy, np.cumsum(self.attributes.sizes)[:-1])
        counts = [piece / weight for piece, weight in zip(pieces, self.weights, strict=True)]
        # Every attribute says how many records there are, the better the fewer values and the more weight it has.
        trusts = [weight**2 / size for weight, size in zip(self.weights, self.attributes.sizes, strict=True)]
        total = math.fsum(trust * float(count.sum()) for trust, count in zip(trusts, counts, strict=True))
        total = max(total / math.fsum(trusts), 0.0)
        if total < 1:
            return total, [np.full(size, 1 / size) for size in self.attributes.sizes]
        return total, [non_negative_with_total(count, total) / total for count in counts]

    def _grouped(self, total: float, laws: list[Floats]) -> Merging:
        """Return groups of values, fewer of them when there is more noise."""
        noise = math.sqrt(variance_of(self.pair) * len(self.pairs)) / REACH
        affordable = max(_LEAST_GROUPS, math.floor(min(total / (_RECORDS_PER_NOISE * noise), self.most_groups)))
        few = min(_FEW_VALUES, self.most_groups)
        groups = [law.size if law.size <= few else min(affordable, self.most_groups) for law in laws]
        places = [group_values(law, most) for law, most in zip(laws, groups, strict=True)]
        shares = []
        for law, place in zip(laws, places, strict=True):
            held, members = np.bincount(place, law)[place], np.bincount(place)[place]
            shares.append(np.where(held > 0, law / np.where(held > 0, held, 1.0), 1 / members))
        return Merging(tuple(places), tuple(shares))

    def _measured(self, seen: Seen, run: Runner) -> dict[Axes, tuple[Floats, float]]:
        """Return the noisy interaction of each pair of groups, and the standard deviation of a cell's noise."""
        sizes = seen.merging.sizes
        weights = pair_weights([(sizes[one], sizes[other]) for one, other in self.pairs])
        exact = np.zeros(self.cells, dtype=np.int64)
        places, end = [], 0
        for axes, weight in zip(self.pairs, weights, strict=True):
            shape = seen.merging.shape_of(axes)
            place = slice(end, end + math.prod(shape) if weight else end)
            if weight:
                # Cutting counts off moves no two tables farther apart, and keeps all products in range.
                most = LARGEST_VALUE // (weight * math.prod(2 * (size - 1) for size in shape))
                exact[place] = whole_interaction(np.minimum(seen.count(axes), most)).ravel() * weight
            places.append(place)
            end = place.stop
        noisy = np.asarray(run(self.pairs_part, exact, stability=REACH), dtype=np.float64)
        spread = math.sqrt(variance_of(self.pair))
        found = {}
        for axes, weight, place in zip(self.pairs, weights, places, strict=True):
            if weight:
                shape = seen.merging.shape_of(axes)
                unit = weight * math.prod(shape)
                found[axes] = centred(noisy[place].reshape(shape) / unit), spread / unit
        return found

    def _fitted(
        self, total: float, singles: list[Floats], measured: Mapping[Axes, tuple[Floats, float]]
    ) -> dict[Axes, Floats]:
        """Return the distributions of all pairs: non-negative, and consistent with those of single attributes."""
        if total < 1:
            return {}
        expected = {axes: np.multiply.outer(singles[axes[0]], singles[axes[1]]) * total for axes in measured}
        deviations = {axes: table - centred(expected[axes]) for axes, (table, _) in measured.items()}
        spreads = {axes: spread for axes, (_, spread) in measured.items()}
        shrunk = shrink_pairs([law.size for law in singles], deviations, spreads, expected)
        laws = {}
        for axes, product in expected.items():
            # Wherever both values occur a little is left, so that the sums can be met.
            start = np.maximum(product + shrunk[axes], _LEFT * product) / total
            sums: dict[tuple[int, ...], Floats] = {(0,): singles[axes[0]], (1,): singles[axes[1]]}
            laws[axes] = proportional_fit(start, sums, tolerance=_TOLERANCE, most_rounds=_ROUNDS)
        return laws


_UNIT: Final = DiscreteGaussian(sigma=1)


def pair_weights(shapes: list[tuple[int, int]]) -> list[int]:
    """Return the factor of each pair's integer interaction, given the numbers of groups; 0: not measured.

    Post-condition: the sum over all pairs of weight^2 n (n - 1) m (m - 1) is at most 2^48, the square of ``REACH``.
    """
    parts = [(n * m) ** _PAIR_POWER if n > 1 and m > 1 else 0.0 for n, m in shapes]
    whole = math.fsum(parts)
    weights = []
    for (n, m), part in zip(shapes, parts, strict=True):
        # Rounded down twice, in integers: shares add up to less than 1, squares to less than their share. The
        # factor is for the rounding of the division.
        share = math.floor(part / whole * (1 - 2**-40) * _SHARES) if part else 0
        weights.append(math.isqrt(REACH**2 * share // (_SHARES * n * (n - 1) * m * (m - 1))) if share else 0)
    return weights


def _pairs(attributes: Attributes) -> tuple[Axes, ...]:
    many = [axis for axis, size in enumerate(attributes.sizes) if size > 1]
    return tuple(pair for pair in combinations(many, 2) if attributes.cells_of(pair) <= MOST_CELLS)


def _measured(attributes: Attributes, pairs: tuple[Axes, ...], groups: int) -> int:
    kept = np.minimum(attributes.sizes, groups)
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return int(kept[ends[:, 0]] @ kept[ends[:, 1]])
