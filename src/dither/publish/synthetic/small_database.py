"""The net mechanism: among all small tables, choose one that answers all queries about as the records do.

A reference for tiny universes: the candidates are all tables of ``size`` records, of which there are
C(cells + size - 1, size), and each is scored by its worst answer. Cost: a pass over all candidates. Correction: the
printed score divides by the number of records, which is private when records come and go; here answers are compared in
counts, and the number of records is measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Of, Positive, Whole, whole
from dither.lift.attributes import Attributes
from dither.lift.records import records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, InOrder, Loss, Metric, Plan, Use
from dither.publish.marginals.common import Names
from dither.publish.synthetic.cell_queries import CellQueries, check_table, named_sets, rounded_total
from dither.publish.synthetic.measuring import Seen
from dither.publish.synthetic.weighted import WeightedRecords

#: Tables that are looked at, and answers of all of them that are held.
MOST_TABLES: Final = 2**18
_MOST_ANSWERS: Final = 2**24
_MOST_SIZE: Final = 2**8
#: Of a budget, what the number of records is measured with.
_FOR_TOTAL: Final = Fraction(1, 10)


def tables_of(cells: int, size: int) -> int:
    """Return how many tables of ``size`` records over ``cells`` cells there are.

    >>> tables_of(4, 3)
    20

    """
    return math.comb(cells + size - 1, size)


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 2})
    rows = np.array([[0, 1], [1, 1], [5, -3], [1, 0]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    made = SmallDatabase(attributes=table, workload=table.every(1), size=2, total=Geometric(scale=2), choice=4)
    yield Example(made, rows, pairs)
    yield Example(replace(made, workload=table.every(2), size=1, total=DiscreteGaussian(sigma=2)), rows, pairs)


@register(
    examples=_examples,
    source="A Learning Theory Approach to Noninteractive Database Privacy (Blum, Ligett, Roth 2013), section 3; "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.4.1",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class SmallDatabase(Composed[Any, WeightedRecords]):
    """Choose one of all tables of few records by the exponential mechanism, by its worst answer.

    Guarantee: records ``d_in`` apart lose what ``total`` loses at ``d_in`` and epsilon = ``2 * size * d_in / choice``
    (rho = epsilon^2 / 8).

    Args:
        attributes: names and sizes of a tiny universe; public.
        workload: marginals, whose cells are the queries; public.
        size: the number of records of the small table.
        total: the noise for the number of records.
        choice: the scale of the exponential mechanism, in parts of 1/``size`` of a record.

    >>> from dither.privacy import PureDP
    >>> bits = Attributes.of({"a": 2, "b": 2, "c": 2})
    >>> net = SmallDatabase.calibrated(PureDP(1), attributes=bits, size=6)
    >>> net.tables, net.loss(1).epsilon
    (1716, Fraction(1, 1))

    """

    name: ClassVar[str] = "small-database"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well any table of so few records can answer depends on the records"
    no_interval_because: ClassVar[str] = "the chosen table says nothing about how good the best one was"

    attributes: Of[Attributes] = Of(Attributes)
    workload: Names = Names()
    size: Whole = Whole(least=1, most=_MOST_SIZE)
    total: OneCount = OneCount()
    choice: Positive = Positive()

    def __post_init__(self) -> None:
        object.__setattr__(self, "workload", named_sets(self.attributes, self.workload))
        check_table(self.attributes, [self.attributes.axes(names) for names in self.workload], MOST_TABLES)
        if self.tables > MOST_TABLES or self.tables * self.queries.size > _MOST_ANSWERS:
            rule = f"at most {MOST_TABLES} tables of {self.size} records, with at most {_MOST_ANSWERS} answers together"
            raise InvalidParameter("size", f"{self.tables} tables of {self.queries.size} answers", rule)

    @classmethod
    def calibrated(
        cls, within: Loss, *, attributes: Attributes, workload: Sequence[Sequence[str]] | None = None, size: int = 4
    ) -> Self:
        """Return the method whose loss for records 1 apart is within ``within``; a tenth counts the records.

        Args:
            within: the loss not to exceed.
            attributes: names and sizes.
            workload: marginals, whose cells are the queries; None for all pairs.
            size: the number of records of the small table.

        """
        purse, records = Purse.within(within), whole("size", size, least=1, most=_MOST_SIZE)
        return cls(
            attributes=attributes,
            workload=attributes.every(min(2, len(attributes.names))) if workload is None else workload,
            size=records,
            total=purse.share(_FOR_TOTAL).noise(),
            choice=purse.share(1 - _FOR_TOTAL).choice(records),
        )

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @property
    def tables(self) -> int:
        """The number of candidates."""
        return tables_of(self.attributes.cells, self.size)

    @cached_property
    def queries(self) -> CellQueries:
        """The cells of the workload."""
        return CellQueries(self.attributes, [self.attributes.axes(names) for names in self.workload])

    @cached_property
    def candidates(self) -> NDArray[np.int64]:
        """The tables: for each, a row of cell numbers in increasing order."""
        every = combinations_with_replacement(range(self.attributes.cells), self.size)
        flat = np.fromiter((cell for table in every for cell in table), dtype=np.int64, count=self.tables * self.size)
        return flat.reshape(self.tables, self.size)

    @property
    def chooser(self) -> Exponential:
        """The choice of a table."""
        return Exponential(candidates=self.tables, scale=self.choice)

    def plan(self) -> Plan:
        """Measure the number of records, then choose."""
        return InOrder.of(Use(self.total), Use(self.chooser, self.size))

    def release(self, data: Any, run: Runner) -> WeightedRecords:
        """Return the chosen table."""
        seen = Seen(records_of(self.attributes, data))
        noisy = int(run(self.total, int(seen.count(()))))
        scores = self.scores(self.queries.counts(seen), rounded_total(noisy))
        chosen = self.candidates[int(run(self.chooser, scores, stability=self.size))]
        codes = np.stack(np.unravel_index(chosen, self.attributes.sizes), axis=1)
        return WeightedRecords(self.attributes, float(noisy), codes.astype(np.int64))

    def scores(self, counts: NDArray[np.int64], total: int) -> NDArray[np.int64]:
        """Return minus the worst error of every table, times ``size``. Private; a record moves each by ``size``.

        Args:
            counts: the exact answers.
            total: the released number of records, for which a table of ``size`` records stands.

        """
        per_cell = self.queries.of_cells(np.arange(self.attributes.cells))
        worst = np.empty(self.tables, dtype=np.int64)
        at_a_time = max(1, _MOST_ANSWERS // (8 * self.queries.size * self.size))
        for first in range(0, self.tables, at_a_time):
            answers = per_cell[self.candidates[first : first + at_a_time]].sum(axis=1)
            worst[first : first + at_a_time] = np.abs(self.size * counts - total * answers).max(axis=1)
        return -worst
