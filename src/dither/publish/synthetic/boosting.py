"""Boosting for queries: weak tables, each good for a sample of the queries, whose median is good for all.

A reference for tiny universes. In each round queries are sampled, those that were answered badly so far more often; the
sampled ones are measured and a table is fitted to them. Weights of queries move smoothly with the error of a table: up
beyond ``tolerance + ramp``, down within ``tolerance``, linearly between, so that a record moves them little. Cost: a
fit of a full table in each round. Corrections: which queries are sampled depends on the records, and every sampled one
is paid for as a choice; errors are in counts, so that nothing needs the number of records; and what is released is a
table that is fitted to the medians, not the medians alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.estimate.multiplicative_weights import learned_from_all
from dither.exact import Of, Positive, Whole, sqrt_up, whole
from dither.lift.attributes import Attributes
from dither.lift.records import records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import OneCount, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, Loss, Metric, Plan, Repeat, Use
from dither.privacy.plans import sequence
from dither.publish.histograms.common import Floats
from dither.publish.marginals.common import Names
from dither.publish.synthetic.cell_queries import MOST_COUNT, CellQueries, check_table, named_sets, rounded_total
from dither.publish.synthetic.full_table import FullTable
from dither.publish.synthetic.measuring import Seen, spread_of

_MOST_CELLS: Final = 2**14
_MOST_ROUNDS: Final = 2**8
_MOST_SAMPLES: Final = 2**8
#: Of a budget, what the number of records is measured with, and what queries are sampled with.
_FOR_TOTAL: Final = Fraction(1, 20)
_FOR_SAMPLING: Final = Fraction(2, 5)
_USUAL_PASSES: Final = 30


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 2})
    rows = np.array([[0, 1], [1, 1], [5, -3], [1, 0]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    made = BoostedQueries(
        attributes=table,
        workload=(("a",), ("b",)),
        total=Geometric(scale=2),
        single=Geometric(scale=4),
        scale=8,
        tolerance=1,
        ramp=2,
        rounds=2,
        samples=1,
        passes=1,
    )
    yield Example(made, rows, pairs)
    gaussian = DiscreteGaussian(sigma=2)
    yield Example(replace(made, total=gaussian, single=gaussian, tolerance=0, ramp=1, rounds=3), rows, pairs)


@register(
    examples=_examples,
    source="Boosting and Differential Privacy (Dwork, Rothblum, Vadhan 2010), sections 3 and 4; Differential Privacy "
    "and Applications (Zhu et al. 2017), section 5.4.1",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class BoostedQueries(Composed[Any, FullTable]):
    """Fit a table to a few sampled queries per round, badly answered ones more often, and combine by medians.

    Guarantee: records ``d_in`` apart lose what ``total`` loses at ``d_in``, what ``single`` loses at ``d_in`` for each
    of ``rounds * samples`` answers, and epsilon = ``4 (t - 1) d_in / scale`` (rho = epsilon^2 / 8) for each of
    ``samples`` choices of round t = 2, ..., ``rounds``.

    Args:
        attributes: names and sizes, with at most 2^14 cells; public.
        workload: marginals, whose cells are the queries; public.
        total: the noise for the number of records.
        single: the noise of an answer.
        scale: the scale of the choice of a query; a table moves the score of a query by ``ramp`` up or down.
        tolerance: errors up to this many records count as good.
        ramp: errors this many records larger count as bad.
        rounds: the number of tables that are fitted.
        samples: the number of queries that each is fitted to.
        passes: over the answers of one fit; free.

    >>> from dither.privacy import PureDP
    >>> bits = Attributes.of({"a": 2, "b": 2, "c": 2})
    >>> method = BoostedQueries.calibrated(PureDP(1), attributes=bits, rounds=3, samples=4)
    >>> method.loss(1).epsilon, method.queries.size
    (Fraction(1, 1), 12)

    """

    name: ClassVar[str] = "boosting"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well tables of few answers agree on the others depends on the records"
    no_interval_because: ClassVar[str] = "queries that were not sampled have an error that depends on the data"

    attributes: Of[Attributes] = Of(Attributes)
    workload: Names = Names()
    total: OneCount = OneCount()
    single: OneCount = OneCount()
    scale: Positive = Positive()
    tolerance: Whole = Whole(least=0, most=2**40)
    ramp: Whole = Whole(least=1, most=2**40)
    rounds: Whole = Whole(least=1, most=_MOST_ROUNDS)
    samples: Whole = Whole(least=1, most=_MOST_SAMPLES)
    passes: Whole = Whole(_USUAL_PASSES, least=1, most=2**10)

    def __post_init__(self) -> None:
        object.__setattr__(self, "workload", named_sets(self.attributes, self.workload))
        check_table(self.attributes, [self.attributes.axes(names) for names in self.workload], _MOST_CELLS)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        workload: Sequence[Sequence[str]] | None = None,
        rounds: int = 5,
        samples: int = 10,
    ) -> Self:
        """Return the method whose loss for records 1 apart is within ``within``.

        A twentieth pays for the number of records and at most two fifths for sampling. Errors within the noise of an
        answer count as good, errors beyond three times that as bad.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            workload: marginals, whose cells are the queries; None for all pairs.
            rounds: the number of tables that are fitted.
            samples: the number of queries that each is fitted to.

        """
        purse = Purse.within(within)
        times = whole("rounds", rounds, least=1, most=_MOST_ROUNDS)
        each = whole("samples", samples, least=1, most=_MOST_SAMPLES)
        for_sampling = _FOR_SAMPLING if times > 1 else Fraction(0)
        single = (purse.share(1 - _FOR_TOTAL - for_sampling) / (times * each)).noise()
        scale = Fraction(1)
        if times > 1:
            # All choices of a round move by twice the number of the tables before it.
            moves = [2 * done for done in range(1, times)]
            far = each * sum(moves), sqrt_up(Fraction(each * sum(move**2 for move in moves)))
            scale = purse.share(for_sampling).choice(*far)
        reach = min(max(1, round(spread_of(single))), 2**39)
        # Sharper would be worse: one bad table would make a query e^(1/2) times as likely already.
        scale = max(scale, Fraction(4 * reach))
        return cls(
            attributes=attributes,
            workload=attributes.every(min(2, len(attributes.names))) if workload is None else workload,
            total=purse.share(_FOR_TOTAL).noise(),
            single=single,
            scale=scale,
            tolerance=reach,
            ramp=2 * reach,
            rounds=times,
            samples=each,
        )

    @property
    def distance(self) -> Metric:
        """Records in one collection and not in the other."""
        return RECORDS

    @cached_property
    def queries(self) -> CellQueries:
        """The cells of the workload."""
        return CellQueries(self.attributes, [self.attributes.axes(names) for names in self.workload])

    @property
    def sampler(self) -> Exponential:
        """The choice of one query."""
        return Exponential(candidates=self.queries.size, scale=self.scale)

    def plan(self) -> Plan:
        """Measure the number of records; in every round sample queries and measure them. The first sampling is free."""
        rounds: list[Plan] = [Use(self.total), Repeat(Use(self.single), self.samples)]
        for done in range(1, self.rounds):
            rounds += [Repeat(Use(self.sampler, 2 * done), self.samples), Repeat(Use(self.single), self.samples)]
        return sequence(rounds)

    def release(self, data: Any, run: Runner) -> FullTable:
        """Return a table fitted to the medians of all tables' answers."""
        seen, queries = Seen(records_of(self.attributes, data)), self.queries
        noisy = int(run(self.total, int(seen.count(()))))
        total, exact = float(rounded_total(noisy)), queries.counts(seen)
        # All queries have the same weight at first, so any will do: some that are spread evenly over all.
        chosen = [number * queries.size // self.samples for number in range(self.samples)]
        weights = np.zeros(queries.size, dtype=np.int64)
        answers: list[Floats] = []
        for done in range(self.rounds):
            if done:
                chosen = [int(run(self.sampler, weights, stability=2 * done)) for _ in range(self.samples)]
            measured = [float(run(self.single, int(exact[number]))) for number in chosen]
            answers.append(queries.answers(self._fitted(chosen, measured, total)))
            weights = weights + self.moved(exact, answers[-1])
        middle = np.median(np.stack(answers), axis=0)
        start = np.full(self.attributes.sizes, total / self.attributes.cells)
        return FullTable(
            self.attributes, float(noisy), learned_from_all(start, queries.tables(middle), total, passes=self.passes)
        )

    def moved(self, exact: NDArray[np.int64], answers: Floats) -> NDArray[np.int64]:
        """Return by how much a table moves each query's score: from -``ramp`` to ``ramp``.

        Private; a record moves each by 2 at most.

        Args:
            exact: the exact answers.
            answers: those of the table.

        """
        errors = np.abs(exact - np.rint(np.minimum(answers, MOST_COUNT)).astype(np.int64))
        moved: NDArray[np.int64] = np.clip(2 * (errors - self.tolerance) - self.ramp, -self.ramp, self.ramp)
        return moved

    def _fitted(self, chosen: Sequence[int], measured: Sequence[float], total: float) -> Floats:
        """Return a table of all cells fitted to noisy answers; repeated answers are averaged."""
        sums = np.bincount(chosen, measured, minlength=self.queries.size)
        times = np.bincount(chosen, minlength=self.queries.size)
        known = np.where(times > 0, sums / np.maximum(times, 1), np.nan)
        asked = [(axes, table) for axes, table in self.queries.tables(known) if not np.isnan(table).all()]
        start = np.full(self.attributes.sizes, total / self.attributes.cells)
        return learned_from_all(start, asked, total, passes=self.passes)
