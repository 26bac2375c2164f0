"""Queries of disjoint parts of the same rows, priced in parallel.

A unit of data that lies in one part changes nothing in the others, so all parts together cost what ``touched`` of them
cost, however many there are. A person counts in at most ``touched`` parts because the rows that are split are bounded
so; a replaced unit leaves some parts and enters others.

Each part is answered as it would be alone. Its draws are made under a filter that holds what one part may lose: what a
part sees of a replaced unit is one that leaves, enters or changes, and the sensitivities of an answer bound all three.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from dither.data import Aggregation, Filter, Limits, Literal, Name, OneOf, Scan
from dither.data.engines.protocol import Engine
from dither.data.examples import clinic, neighbours_of, some_visits
from dither.data.expressions import Kind
from dither.data.schema import person_unit
from dither.data.wire import decode, encode, register_records
from dither.errors import InvalidParameter, NoGuarantee, Unanswerable
from dither.exact import Number, Of
from dither.lift.over_data import OverData
from dither.mechanisms import DiscreteGaussian, Example, Geometric, Numerics, Runner, register
from dither.mechanisms.core.spec import Codec, register_codec
from dither.mechanisms.stability_selection import ThresholdedCounts
from dither.privacy import ROW, ZCDP, ApproxDP, Loss, Parallel, Plan, PureDP, Unit, Within
from dither.privacy.losses import largest
from dither.publish.queries.answer import Answer, Answered, Law, Target, plan_query
from dither.publish.queries.examples import aggregate
from dither.publish.queries.partitioned import Part, Partitioned
from dither.publish.queries.present import present
from dither.publish.queries.query import Query
from dither.publish.queries.result import QueryResult
from dither.publish.queries.sizes import check_query


def _read_partitioned(record: object) -> Partitioned:
    partitioned = decode(record)
    if not isinstance(partitioned, Partitioned):
        raise InvalidParameter("partitioned", type(partitioned).__name__, "a Partitioned")
    return partitioned


register_records(Part, Partitioned)
register_codec("partitioned", Codec(Partitioned, encode, _read_partitioned))


def clinic_halves(unit: Unit) -> Partitioned:
    """Return a count and a sum of the two sites of the clinic, each site a part."""
    dataset = clinic(unit)
    source = Scan(dataset.tables[0])
    parts = []
    for site, function in (("north", "count"), ("south", "sum")):
        rows = Filter(source, OneOf(Name("site"), (Literal(site, Kind.TEXT),)))
        asked = aggregate(function)
        parts.append(Part(site, (site,), Query(dataset, rows, (), (asked,), ((function, Name(function)),), Limits())))
    return Partitioned(dataset, source, Name("site"), tuple(parts))


def _examples() -> Iterator[Example]:
    from dither.data.reference import ReferenceEngine

    for unit, loss in ((ROW, PureDP(1)), (person_unit("person", replaced=True), ZCDP("1/2"))):
        mechanism = plan_partitioned(clinic_halves(unit), loss)
        dataset = mechanism.partitioned.dataset
        yield Example(mechanism, ReferenceEngine(dataset, {"visits": some_visits()}), neighbours_of(dataset))


@register(examples=_examples, source="Privacy Integrated Queries (McSherry 2009), section 3.2.2, parallel composition")
@dataclass(frozen=True, kw_only=True)
class PartitionedAnswer(OverData[tuple[Answered, ...]]):
    """Answer a query in each of several disjoint parts of the rows, at the price of as many parts as one unit touches.

    Guarantee: data sets one unit apart lose at most ``partitioned.touched`` times what the dearest part may lose.

    Args:
        partitioned: the parts, and what is asked of each.
        each: what each part may lose.
        noise: 'laplace' or 'gaussian'.

    >>> PartitionedAnswer(partitioned=clinic_halves(ROW), each=PureDP(1), noise="laplace").loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "partitioned-query"
    version: ClassVar[int] = 3
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "every column of every part has its own error: see the quotes of the queries"
    no_interval_because: ClassVar[str] = "every number has its own interval: see the results of the queries"

    partitioned: Of[Partitioned] = Of(Partitioned, rule="a Partitioned")
    each: Target = Target()
    noise: Law = Law()

    def __post_init__(self) -> None:
        """Reject queries that cannot be priced, or need a split of their own within a part."""
        for answer in self.answers:
            if answer.design.picks:
                raise Unanswerable(
                    "the commonest value of a part is not offered in a partition",
                    "request it alone, or group by it",
                )
        self.fixed_plan.check(self.distance)

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.partitioned.dataset.unit

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the engine's aggregations, part by part."""
        return tuple(asked for answer in self.answers for asked in answer.aggregations())

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The answer of every part."""
        return tuple(Answer(query=part.query, target=self.each, noise=self.noise) for part in self.partitioned.parts)

    @property
    def one_part(self) -> Loss:
        """The loss of the most expensive part, figure by figure."""
        return largest(answer.loss(1) for answer in self.answers)

    def plan(self) -> Plan:
        """Return the draws of any part, under a filter, in each of the parts."""
        inner = Within(self.one_part, (Geometric, DiscreteGaussian, ThresholdedCounts))
        return Parallel(inner, len(self.answers), self.partitioned.touched)

    def release(self, data: Engine, run: Runner) -> tuple[Answered, ...]:
        """Return what every part releases, in the order of the parts."""
        siblings = run.parallel(len(self.answers))
        return tuple(answer.release(data, sibling) for answer, sibling in zip(self.answers, siblings, strict=True))


def plan_partitioned(partitioned: Partitioned, loss: Loss, *, noise: str = "auto") -> PartitionedAnswer:
    """Return the mechanism that answers the queries of all parts within a loss.

    Args:
        partitioned: the parts, and what is asked of each.
        loss: what all of them may cost together.
        noise: 'laplace', 'gaussian', or 'auto': what suits the first part best.

    """
    each = _per_part(loss, partitioned.touched)
    for part in partitioned.parts:
        check_query(part.query, f"query of part {part.label}")
    law = plan_query(partitioned.parts[0].query, each).noise if noise == "auto" else noise
    planned = PartitionedAnswer(partitioned=partitioned, each=each, noise=law)
    if not planned.loss(1) <= loss:
        raise NoGuarantee(f"the parts would lose {planned.loss(1)}, which is not within {loss}")
    return planned


def present_partitioned(
    answer: PartitionedAnswer, released: tuple[Answered, ...], *, confidence: Number = Fraction(19, 20)
) -> Mapping[str, QueryResult]:
    """Return every part's table by its label; each states its own part's loss."""
    labels = (part.label for part in answer.partitioned.parts)
    tables = (present(one, out, confidence=confidence) for one, out in zip(answer.answers, released, strict=True))
    return dict(zip(labels, tables, strict=True))


def _per_part(loss: Loss, touched: int) -> Loss:
    if isinstance(loss, PureDP):
        return PureDP(loss.epsilon / touched)
    if isinstance(loss, ApproxDP):
        return ApproxDP(loss.epsilon / touched, loss.delta / touched)
    if isinstance(loss, ZCDP):
        return ZCDP(loss.rho / touched, loss.delta / touched)
    raise InvalidParameter("loss", loss, "PureDP, ZCDP or ApproxDP")
