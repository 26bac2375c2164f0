"""DualQuery: sample queries by how badly they are answered, and collect records that answer the sampled ones.

For workloads over more attributes than a table of all cells has room for: what is private is a law over queries, and
what is hard, finding a record that many sampled queries count, is a public problem that any solver may attack. Cost: a
sampled query for each of ``samples`` in each of ``rounds`` rounds, and a search for a record a round. Corrections: the
printed law is over shares of the records, whose sensitivity needs the number of records, which is private when
records come and go; here it is over counts, and the number of records is measured. A record that comes is counted by a
query or by its negation, so scores that are balanced between the two move half as far as is printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.best_record import best_record
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
from dither.publish.marginals.common import Names
from dither.publish.synthetic.cell_queries import CellQueries, named_sets, rounded_total
from dither.publish.synthetic.measuring import Seen
from dither.publish.synthetic.weighted import WeightedRecords

_MOST_ROUNDS: Final = 2**10
_MOST_SAMPLES: Final = 2**10
_MOST_QUERIES: Final = 2**18
#: Of a budget, what the number of records is measured with.
_FOR_TOTAL: Final = Fraction(1, 20)
#: The scale of the law, as a share of the records, at which few rounds lose least: found on tables that are public.
_LEAST_SCALE: Final = Fraction(4, 5)
#: More rounds than these gain little, and take long.
_USUAL_ROUNDS: Final = 32


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 2})
    rows = np.array([[0, 1], [1, 1], [5, -3], [1, 0]])
    pairs = ((rows, rows[1:], 1), (rows[:0], rows[:1], 1))
    made = DualQuery(
        attributes=table, workload=(("a",), ("a", "b")), total=Geometric(scale=2), scale=4, rounds=3, samples=2
    )
    yield Example(made, rows, pairs)
    yield Example(replace(made, total=DiscreteGaussian(sigma=2), rounds=2, samples=1), rows, pairs)


@register(
    examples=_examples,
    source="Dual Query: Practical Private Query Release for High Dimensional Data (Gaboardi, Gallego Arias, Hsu, Roth, "
    "Wu 2014), section 4; Differential Privacy and Applications (Zhu et al. 2017), section 5.4.1",
    reference=True,
)
@dataclass(frozen=True, kw_only=True)
class DualQuery(Composed[Any, WeightedRecords]):
    """Sample queries by how far the records found so far fall short of them, and add a record they count.

    Guarantee: records ``d_in`` apart lose what ``total`` loses at ``d_in`` and, for each of ``samples`` choices of
    round t = 2, ..., ``rounds``, epsilon = ``(t - 1) d_in / scale`` and rho = epsilon^2 / 8; all together
    epsilon = ``samples * rounds * (rounds - 1) / 2 * d_in / scale``.

    Args:
        attributes: names and sizes; public.
        workload: marginals, whose cells and their negations are the queries; public.
        total: the noise for the number of records.
        scale: how many records a query must fall short of more to be e times as likely.
        rounds: the number of records that are found.
        samples: the number of queries by which a record is found.

    >>> from dither.privacy import PureDP
    >>> people = Attributes.of({"sex": 2, "age": 10, "region": 16})
    >>> method = DualQuery.calibrated(PureDP(1), attributes=people, rounds=10, samples=5)
    >>> method.loss(1).epsilon, method.queries.size
    (Fraction(1, 1), 212)

    """

    name: ClassVar[str] = "dual-query"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how well few records answer the queries depends on the records"
    no_interval_because: ClassVar[str] = "what the found records are off by was never measured"

    attributes: Of[Attributes] = Of(Attributes)
    workload: Names = Names()
    total: OneCount = OneCount()
    scale: Positive = Positive()
    rounds: Whole = Whole(least=1, most=_MOST_ROUNDS)
    samples: Whole = Whole(least=1, most=_MOST_SAMPLES)

    def __post_init__(self) -> None:
        object.__setattr__(self, "workload", named_sets(self.attributes, self.workload))
        if self.queries.size > _MOST_QUERIES:
            rule = f"marginals of at most {_MOST_QUERIES} cells together"
            raise InvalidParameter("workload", f"{self.queries.size} cells", rule)

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        workload: Sequence[Sequence[str]] | None = None,
        rounds: int | None = None,
        samples: int | None = None,
        records: int = 20_000,
    ) -> Self:
        """Return the method whose loss for records 1 apart is within target; a twentieth or more counts the records.

        Args:
            within: the loss not to exceed.
            attributes: names and sizes.
            workload: marginals, whose cells are the queries; None for all pairs.
            rounds: the number of records that are found; None for as many, up to 32, as leave a scale of four fifths
                of ``records``. With 32 it is not made smaller than that, and what is left of the loss counts the
                records: a law that draws the worst query alone finds records that answer no other.
            samples: the number of queries by which a record is found; None for a twelfth of the rounds' square.
            records: about how many records there are, where that is public.

        """
        spent = Purse.within(within).share(1 - _FOR_TOTAL)
        sharpest = whole("records", records, least=1, most=2**60) * _LEAST_SCALE
        each = None if samples is None else whole("samples", samples, least=1, most=_MOST_SAMPLES)
        if rounds is None:
            low, high = 2, _USUAL_ROUNDS + 1
            while high - low > 1:
                between = (low + high) // 2
                fits = _scale(spent, between, each or _samples(between)) <= sharpest
                low, high = (between, high) if fits else (low, between)
            times = low
        else:
            times = whole("rounds", rounds, least=1, most=_MOST_ROUNDS)
        purse, each = Purse.within(within), each or _samples(times)
        scale, for_total = _scale(spent, times, each), _FOR_TOTAL
        if rounds is None and times == _USUAL_ROUNDS and scale < sharpest:
            # What a flatter law leaves over measures the number of records: epsilon falls as the scale rises, rho as
            # its square does.
            for_total = 1 - (1 - _FOR_TOTAL) * (scale / sharpest) ** (1 if purse.is_pure else 2)
            scale = sharpest
        return cls(
            attributes=attributes,
            workload=attributes.every(min(2, len(attributes.names))) if workload is None else workload,
            total=purse.share(for_total).noise(),
            scale=scale,
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
        """The choice of one query or negation; its scores are twice the number of records a query falls short by."""
        return Exponential(candidates=2 * self.queries.size, scale=2 * self.scale)

    def plan(self) -> Plan:
        """Measure the number of records, then sample in all rounds but the first, by scores that move ever more."""
        rounds = (Repeat(Use(self.sampler, found), self.samples) for found in range(1, self.rounds))
        return sequence((Use(self.total), *rounds))

    def release(self, data: Any, run: Runner) -> WeightedRecords:
        """Return the found records."""
        seen, queries = Seen(records_of(self.attributes, data)), self.queries
        noisy = int(run(self.total, int(seen.count(()))))
        total = rounded_total(noisy)
        counts = queries.counts(seen)
        # Records that a query counts less those that it does not: with a record more, every one moves by 1, up or down.
        balance = counts - queries.others(counts)
        exact = np.concatenate([balance, -balance])
        # The law of the first round is uniform, under which all records are worth the same: one in the middle is taken.
        found = [tuple(size // 2 for size in self.attributes.sizes)]
        answered = self._answers(found[0])
        for number in range(1, self.rounds):
            scores = number * exact - total * answered
            drawn = [int(run(self.sampler, scores, stability=number)) for _ in range(self.samples)]
            weights = np.bincount(drawn, minlength=2 * queries.size).astype(np.float64)
            # A negation that counts a record is worth as much as the query that does not, taken away.
            sought = queries.tables(weights[: queries.size] - weights[queries.size :])
            found.append(best_record(self.attributes.sizes, [one for one in sought if one[1].any()] or sought[:1]))
            answered = answered + self._answers(found[-1])
        return WeightedRecords(self.attributes, float(noisy), np.array(found, dtype=np.int64))

    def _answers(self, record: tuple[int, ...]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return 1 for the queries and negations that count a record, -1 for the others."""
        own = 2 * self.queries.of_records(np.array([record], dtype=np.int64))[0] - 1
        return np.concatenate([own, -own])


def _samples(rounds: int) -> int:
    """Return how many queries a record is found by."""
    return max(1, rounds**2 // 12)


def _scale(purse: Purse, rounds: int, samples: int) -> Fraction:
    """Return the sharpest scale of all choices together; one round samples nothing."""
    if rounds == 1:
        return Fraction(1)
    # All choices of a round move by the number of the rounds before it.
    moves = range(1, rounds)
    far = samples * sum(moves), sqrt_up(Fraction(samples * sum(move**2 for move in moves)))
    return purse.choice(*far, one_way=True)
