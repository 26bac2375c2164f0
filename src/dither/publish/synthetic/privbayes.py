"""PrivBayes: a Bayesian network, chosen one parent set at a time, with noisy tables for its conditionals.

For tables of mixed sizes when records should follow from few dependences of several attributes at once. Attributes are
taken up one by one; which is next, and which of the earlier ones it depends on, is chosen by how far its joint counts
with them are from independence. Cost: a pass over the rows for each candidate. Corrections: the printed score, mutual
information, has a sensitivity that depends on the number of records, and no bounded one in counts; the score here is
half the L1 distance in counts, which a record moves by less than 2 (derived on the page, and tried on all small
tables). The number of records, from which follows how large a table is useful, is measured and not assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import FAR, Of, OneOf, Positive, Whole
from dither.lift.attributes import Attributes, Axes
from dither.lift.records import records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import Purse, Spending
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, ZCDP, Loss, Metric, Plan, PureDP, Within
from dither.publish.histograms.common import Floats
from dither.publish.synthetic.bits import BinaryModel, BitRecords, Bits
from dither.publish.synthetic.measuring import (
    STEPS,
    Seen,
    spread_of,
)
from dither.publish.synthetic.models import Model
from dither.publish.synthetic.network import Conditional, NetworkModel, conditional_of

#: How far a score moves per record, in steps: by less than two records.
SCORE_STABILITY: Final = 2 * STEPS
#: Of a budget, what the number of records and the choices are paid with.
_FOR_TOTAL: Final = Fraction(1, 50)
_FOR_NETWORK: Final = Fraction(3, 10)
_MOST_PARENTS: Final = 8
_MOST_ATTRIBUTES: Final = 512
#: No less is taken for the noise of a cell where tables are judged useful.
_LEAST_NOISE: Final = 1e-6
#: Candidates of one choice; with more, fewer parents are allowed.
_MOST_CANDIDATES: Final = 2**12
_LARGEST_TABLE: Final = 2**16
#: Up to here products of two counts, and sums of such products, fit into 64 bits.
_SMALL: Final = 2**30

#: An attribute and its parents.
Candidate = tuple[int, Axes]


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 3})
    rows = np.array([[0, 1], [1, 1], [5, -3], [1, 2]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    made = PrivBayes(attributes=table, budget=PureDP(4), usefulness="1/8")
    yield Example(made, rows, pairs)
    yield Example(replace(made, budget=ZCDP(2), parents=1, encoding="binary"), rows, pairs)


@register(
    examples=_examples,
    source="PrivBayes: Private Data Release via Bayesian Networks (Zhang, Cormode, Procopiuc, Srivastava, Xiao 2017), "
    "sections 3 to 5; Differential Privacy and Applications (Zhu et al. 2017), section 5.4.2",
)
@dataclass(frozen=True, kw_only=True)
class PrivBayes(Composed[Any, Model]):
    """Choose a Bayesian network by how far parts of the table are from independence, and measure its tables.

    Guarantee: records 1 apart lose ``budget``, whatever is chosen on the way; records ``d_in`` apart what group
    privacy makes of it.

    Args:
        attributes: names and sizes; public.
        budget: what is spent, PureDP or ZCDP: a fiftieth on the number of records, three tenths on the network, the
            rest on its tables.
        parents: the most attributes that one may depend on.
        usefulness: how many times the mean noise of a cell a cell must hold on average; larger tables are not chosen.
        encoding: "general", or "binary" for a network of bits.
        largest_table: how many cells a table may have at most.

    >>> people = Attributes.of({"sex": 2, "age": 10, "region": 16})
    >>> method = PrivBayes.calibrated(PureDP(1), attributes=people)
    >>> method.loss(1), method.parents
    (PureDP('1'), 4)

    """

    name: ClassVar[str] = "privbayes"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well a network of few parents describes the records depends on the records"
    no_interval_because: ClassVar[str] = "dependences outside the network have an error that depends on the data"

    attributes: Of[Attributes] = Of(Attributes)
    budget: Spending = Spending()
    parents: Whole = Whole(4, least=1, most=_MOST_PARENTS)
    usefulness: Positive = Positive(4, least=Fraction(1, FAR), most=FAR)
    encoding: OneOf = OneOf("general", "binary", default="general")
    largest_table: Whole = Whole(_LARGEST_TABLE, least=1, most=2**22)

    def __post_init__(self) -> None:
        if len(self.modelled.names) > _MOST_ATTRIBUTES:
            raise InvalidParameter("attributes", len(self.modelled.names), f"at most {_MOST_ATTRIBUTES}, or bits")

    @classmethod
    def calibrated(cls, within: Loss, *, attributes: Attributes, parents: int = 4, encoding: str = "general") -> Self:
        """Return the method that spends ``within`` on records 1 apart.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            parents: the most attributes that one may depend on.
            encoding: "general", or "binary" for a network of bits.

        """
        return cls(attributes=attributes, budget=Purse.within(within).loss, parents=parents, encoding=encoding)

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @cached_property
    def bits(self) -> Bits | None:
        """The bits of a binary encoding."""
        return Bits(self.attributes) if self.encoding == "binary" else None

    @property
    def modelled(self) -> Attributes:
        """The attributes of the network: the given ones, or their bits."""
        return self.attributes if self.bits is None else self.bits.attributes

    def plan(self) -> Plan:
        """Measure the number of records, choose parent sets, measure their tables; which sets is left open."""
        return Within(self.budget, (Exponential, DiscreteGaussian, Geometric))

    def release(self, data: Any, run: Runner) -> Model:
        """Return the network."""
        inner, records = run.within(), records_of(self.attributes, data)
        seen = Seen(records if self.bits is None else BitRecords(self.bits, records))
        purse, width = Purse.of(self.budget), len(self.modelled.names)
        total = seen.measure(inner, purse.share(_FOR_TOTAL).noise(), ())
        tables = purse.share(1 - _FOR_TOTAL - (_FOR_NETWORK if width > 1 else 0))
        # As much noise as if every attribute needed a table of its own.
        noise = max(spread_of((tables / width).noise()), _LEAST_NOISE)
        limit = min(self.largest_table, int(max(float(total.values), 1.0) / (float(self.usefulness) * noise)))
        network: list[Candidate] = [(0, ())]
        # Scores do not change from round to round.
        scored: dict[Candidate, int] = {}
        while len(network) < width:
            candidates = self.candidates([axis for axis, _ in network], limit)
            scored |= {one: self.score(seen, *one) for one in candidates if one not in scored}
            scores = np.array([scored[one] for one in candidates], dtype=np.int64)
            scale = (purse.share(_FOR_NETWORK) / (width - 1)).choice(SCORE_STABILITY)
            chooser = Exponential(candidates=len(candidates), scale=scale)
            network.append(candidates[int(inner(chooser, scores, stability=SCORE_STABILITY))])
        sets = _largest_sets(network)
        node = (tables / len(sets)).noise()
        noisy = {axes: seen.measure(inner, node, axes).values for axes in sets}
        model = NetworkModel(self.modelled, float(total.values), [_law(one, noisy) for one in network])
        return model if self.bits is None else BinaryModel(self.attributes, model)

    def candidates(self, known: list[int], limit: int) -> list[Candidate]:
        """Return what may come next: attributes not yet in the network, with maximal sets of known ones as parents.

        A set is as large as ``parents`` and ``limit``, the number of cells of its table, allow. Public.
        """
        rest = [axis for axis in range(len(self.modelled.sizes)) if axis not in known]
        for most in range(min(self.parents, len(known)), 0, -1):
            if len(rest) * sum(_choices(len(known), size) for size in range(most + 1)) <= _MOST_CANDIDATES or most == 1:
                return [(axis, parents) for axis in rest for parents in self._sets(axis, sorted(known), most, limit)]
        return [(axis, ()) for axis in rest]

    def _sets(self, axis: int, known: list[int], most: int, limit: int) -> list[Axes]:
        """Return sets of parents to which no other known attribute can be added."""
        fits = [
            parents
            for size in range(most + 1)
            for parents in combinations(known, size)
            if not size or self._fits((*parents, axis), limit)
        ]
        # Parts of a set that fits are smaller still, so it is enough to look at those that lack one attribute.
        extended = {part for parents in fits if parents for part in combinations(parents, len(parents) - 1)}
        return [parents for parents in fits if parents not in extended]

    def _fits(self, numbers: Axes, limit: int) -> bool:
        axes = tuple(sorted(numbers))
        if self.bits is not None and self.attributes.cells_of(self.bits.owners(axes)) > self.largest_table:
            return False
        return self.modelled.cells_of(axes) <= limit

    def score(self, seen: Seen, axis: int, parents: Axes) -> int:
        """Return how far an attribute is from independence of its parents, in steps. Private.

        A record moves it by at most ``SCORE_STABILITY``.
        """
        if not parents:
            return 0
        axes = tuple(sorted((*parents, axis)))
        counts = np.moveaxis(seen.count(axes), axes.index(axis), -1)
        return half_distance(counts.reshape(-1, counts.shape[-1]), STEPS)


def half_distance(counts: NDArray[np.int64], steps: int) -> int:
    """Return half the L1 distance between a table of two sides and the product of its sides, in whole steps.

    In records: 1/2 sum |c_xy - c_x c_y / n|, rounded down to a multiple of 1/``steps``. A record more or less moves it
    by less than 2 records before rounding, so by at most ``2 * steps`` steps.

    >>> half_distance(np.array([[4, 0], [0, 4]]), 1), half_distance(np.array([[2, 2], [2, 2]]), 1)
    (4, 0)

    """
    total = int(counts.sum())
    if not total:
        return 0
    # In 64 bits where all products fit, in whole numbers of any size otherwise: exact in both.
    exact = counts if total < _SMALL else counts.astype(object)
    apart = np.abs(exact * total - exact.sum(axis=1, keepdims=True) * exact.sum(axis=0, keepdims=True)).sum()
    return int(apart) * steps // (2 * total)


def _largest_sets(network: list[Candidate]) -> list[Axes]:
    """Return the maximal attribute sets of a network: all other tables follow from theirs."""
    sets = {tuple(sorted((*parents, axis))) for axis, parents in network}
    return sorted(axes for axes in sets if not any(set(axes) < set(other) for other in sets))


def _law(one: Candidate, noisy: dict[Axes, Floats]) -> Conditional:
    """Return an attribute's conditional distribution from the first table that contains it and its parents."""
    axis, parents = one
    axes = next(axes for axes in noisy if {axis, *parents} <= set(axes))
    return conditional_of(axis, parents, axes, noisy[axes])


def _choices(known: int, size: int) -> int:
    """Return how many sets of ``size`` known attributes there are."""
    found = 1
    for number in range(size):
        found = found * (known - number) // (number + 1)
    return found
