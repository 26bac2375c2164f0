"""MWEM: round by round, choose and measure the worst answered query, and learn from it by multiplicative weights.

For few attributes, whose table of all cells can be held: its queries are the cells of marginals of a workload. Cost: a
pass over the table for every marginal of the workload in each round. Corrections: the number of records is private
when records come and go, so it is measured and not assumed; and since the cells of a marginal are disjoint, measuring
all of them costs no more than measuring the chosen one, so all are measured. The release is the last table, after
several passes over all measurements; the theorem is about the average of all tables, which was worse in every trial.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.estimate.multiplicative_weights import learned_from_all
from dither.exact import Of, Whole, whole
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
from dither.publish.marginals.common import Names
from dither.publish.synthetic.cell_queries import CellQueries, check_table, named_sets, rounded_total
from dither.publish.synthetic.full_table import FullTable
from dither.publish.synthetic.measuring import (
    STEPS,
    Seen,
)

_MOST_ROUNDS: Final = 2**12
_USUAL_PASSES: Final = 10


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 2})
    rows = np.array([[0, 1], [1, 1], [5, -3], [1, 0]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    singles = (("a",), ("b",))
    yield Example(Mwem(attributes=table, workload=table.every(2), budget=ZCDP(1), rounds=1, passes=1), rows, pairs)
    yield Example(Mwem(attributes=table, workload=singles, budget=PureDP(3), rounds=2, passes=1), rows, pairs)


@register(
    examples=_examples,
    source="A Simple and Practical Algorithm for Differentially Private Data Release (Hardt, Ligett, McSherry 2012), "
    "section 2",
)
@dataclass(frozen=True, kw_only=True)
class Mwem(Composed[Any, FullTable]):
    """In every round, choose the worst answered cell of a workload, measure its marginal, and update a full table.

    Guarantee: records 1 apart lose ``budget``, whatever is chosen on the way; records ``d_in`` apart what group
    privacy makes of it.

    Args:
        attributes: names and sizes, with at most 2^20 cells; public.
        workload: marginals, whose cells are the queries; public.
        budget: what is spent, PureDP or ZCDP, in equal parts on the number of records, each choice and each marginal.
        rounds: how many cells are chosen.
        passes: over all measurements so far, after each round; free.

    >>> people = Attributes.of({"sex": 2, "age": 10, "region": 16})
    >>> mwem = Mwem.calibrated(PureDP(1), attributes=people)
    >>> mwem.loss(1), mwem.rounds, mwem.queries.size
    (PureDP('1'), 6, 212)

    """

    name: ClassVar[str] = "mwem"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well few marginals describe the records depends on the records"
    no_interval_because: ClassVar[str] = "cells that were not chosen have an error that depends on the data"

    attributes: Of[Attributes] = Of(Attributes)
    workload: Names = Names()
    budget: Spending = Spending()
    rounds: Whole = Whole(least=1, most=_MOST_ROUNDS)
    passes: Whole = Whole(_USUAL_PASSES, least=1, most=2**10)

    def __post_init__(self) -> None:
        object.__setattr__(self, "workload", named_sets(self.attributes, self.workload))
        check_table(self.attributes, [self.attributes.axes(names) for names in self.workload])

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        workload: Sequence[Sequence[str]] | None = None,
        rounds: int | None = None,
    ) -> Self:
        """Return the method that spends ``within`` on records 1 apart.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            workload: marginals, whose cells are the queries; None for all pairs.
            rounds: how many are chosen; None for two for each attribute.

        """
        width = len(attributes.names)
        return cls(
            attributes=attributes,
            workload=attributes.every(min(2, width)) if workload is None else workload,
            budget=Purse.within(within).loss,
            rounds=2 * width if rounds is None else whole("rounds", rounds, least=1, most=_MOST_ROUNDS),
        )

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @cached_property
    def queries(self) -> CellQueries:
        """The cells of the workload."""
        return CellQueries(self.attributes, [self.attributes.axes(names) for names in self.workload])

    def plan(self) -> Plan:
        """Measure the number of records, then choose and measure in each round; which marginals is left open."""
        return Within(self.budget, (Exponential, DiscreteGaussian, Geometric))

    def release(self, data: Any, run: Runner) -> FullTable:
        """Return the last table."""
        each = Purse.of(self.budget) / (2 * self.rounds + 1)
        node, queries = each.noise(), self.queries
        chooser = Exponential(candidates=queries.size, scale=each.choice(STEPS))
        inner, seen = run.within(), Seen(records_of(self.attributes, data))
        noisy = float(seen.measure(inner, node, ()).values)
        total = float(rounded_total(round(noisy)))
        exact = queries.counts(seen)
        table: Floats = np.full(self.attributes.sizes, total / self.attributes.cells)
        asked: list[tuple[Axes, Floats]] = []
        for _ in range(self.rounds):
            expected = np.rint(queries.answers(table) * STEPS).astype(np.int64)
            # A record moves a count by 1 at most, and so a distance to a public number by 1.
            chosen = int(inner(chooser, np.abs(exact * STEPS - expected), stability=STEPS))
            axes = queries.sets[queries.place(chosen)[0]]
            asked.append((axes, seen.measure(inner, node, axes).values))
            table = learned_from_all(table, asked, total, passes=self.passes)
        return FullTable(self.attributes, noisy, table)
