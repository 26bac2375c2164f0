"""Parts of a public partition, asked one after the other: all questions together cost what one part may cost.

For questions that follow from earlier answers: what is asked of one site may depend on what another site has answered,
and the price stays that of the parts which one unit touches. Each part has a filter of its own, so that the budget of a
part is what its own questions use up. Cost: that of the questions. Correction: the printed Partition charges the
largest cost of a part as it grows; here it is stated, and paid, before the first question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

from dither.data import Bounded, DataSet, Expression, Filter, Limits, Literal, OneOf, Relation, Scan
from dither.data.engines.protocol import Engine
from dither.data.examples import clinic, neighbours_of, some_visits
from dither.data.expressions import Name, Value, kind_of
from dither.data.schema import person_unit
from dither.data.wire import decode, encode, register_records
from dither.errors import InvalidParameter, Unanswerable
from dither.exact import Of, typed
from dither.mechanisms import DiscreteGaussian, Geometric, Numerics, Runner, register
from dither.mechanisms.core.mechanism import Interactive
from dither.mechanisms.core.registry import Dialogue, Example
from dither.mechanisms.core.runner import quietly
from dither.mechanisms.core.spec import Codec, register_codec
from dither.mechanisms.stability_selection import ThresholdedCounts
from dither.privacy import ROW, Loss, Parallel, Plan, PureDP, Unit, Within
from dither.privacy import Filter as Account
from dither.publish.queries.answer import Answer, Answered, Target, plan_query
from dither.publish.queries.examples import aggregate
from dither.publish.queries.partitioned import Part, check_part, check_parts, touched_parts
from dither.publish.queries.present import present
from dither.publish.queries.query import Query
from dither.publish.queries.result import QueryResult

#: More parts are not opened together: each has an account of its own, and all are looked at for each question.
MOST_PARTS: Final = 4096


@dataclass(frozen=True)
@typed
class OpenPartition:
    """Public, disjoint parts of the same rows, about which nothing has been asked yet.

    Args:
        dataset: the schema.
        relation: the rows that are split; each person may be bounded to a number of parts.
        by: what decides the part of a row.
        parts: the label of every part, and the values that belong to it.

    """

    dataset: DataSet
    relation: Relation
    by: Expression
    parts: tuple[tuple[str, tuple[Value, ...]], ...]

    def __post_init__(self) -> None:
        """Reject too many parts, parts that overlap, and labels that are not different."""
        if len(self.parts) > MOST_PARTS:
            raise InvalidParameter("parts", f"{len(self.parts):,} parts", f"at most {MOST_PARTS:,}")
        check_parts(self.dataset, self.relation, self.by, [values for _, values in self.parts])
        if len(self._places) != len(self.parts):
            raise InvalidParameter("parts", [label for label, _ in self.parts], "with different labels")

    @property
    def touched(self) -> int:
        """In how many parts one unit of data can change anything."""
        return touched_parts(self.dataset, self.relation, self.by, [values for _, values in self.parts])

    def rows(self, label: str) -> Filter:
        """Return the rows of a part, to be asked about."""
        return Filter(self.relation, self._condition(self.parts[self.place(label)][1]))

    def conditions(self) -> Iterator[OneOf]:
        """Yield what the rows of each part meet, in the order of the parts."""
        for _, values in self.parts:
            yield self._condition(values)

    def place(self, label: str) -> int:
        """Return the number of a part."""
        if label not in self._places:
            raise InvalidParameter("label", label, f"one of {', '.join(self._places)}")
        return self._places[label]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {label: place for place, (label, _) in enumerate(self.parts)}

    def _condition(self, values: Iterable[Value]) -> OneOf:
        kind = kind_of(self.by, self.relation.columns)
        return OneOf(self.by, tuple(Literal(value, kind) for value in values))


def _read_partition(record: object) -> OpenPartition:
    partition = decode(record)
    if not isinstance(partition, OpenPartition):
        raise InvalidParameter("partition", type(partition).__name__, "an OpenPartition")
    return partition


register_records(OpenPartition)
register_codec("open-partition", Codec(OpenPartition, encode, _read_partition))


@dataclass(frozen=True)
@typed
class PartQuestion:
    """A question about one part: its label, and a planned answer to a query of its rows."""

    label: str
    answer: Answer


def clinic_parts(unit: Unit) -> OpenPartition:
    """Return the two sites of the clinic, each a part."""
    dataset = clinic(unit)
    return OpenPartition(dataset, Scan(dataset.tables[0]), Name("site"), (("north", ("north",)), ("south", ("south",))))


def clinic_parts_of_one_row(unit: Unit) -> OpenPartition:
    """Return the same of one row of each person, chosen before the part is looked at."""
    whole = clinic_parts(unit)
    one = Bounded(whole.relation, (), Limits(rows=1), tuple(whole.relation.columns))
    return OpenPartition(whole.dataset, one, whole.by, whole.parts)


def _examples() -> Iterator[Example]:
    from dither.data.reference import ReferenceEngine

    person, replaced = person_unit("person"), person_unit("person", replaced=True)
    for partition in (clinic_parts(ROW), clinic_parts(replaced), clinic_parts_of_one_row(person)):
        script = []
        for label, function in (("north", "count"), ("south", "sum"), ("north", "sum")):
            asked = aggregate(function)
            shown = ((function, Name(function)),)
            query = Query(partition.dataset, partition.rows(label), (), (asked,), shown, Limits())
            script.append(PartQuestion(label, plan_query(query, PureDP("1/2"))))
        mechanism = AdaptiveParts(partition=partition, each=PureDP(1))
        first = Dialogue(ReferenceEngine(partition.dataset, {"visits": some_visits()}), tuple(script))
        pairs = tuple(
            (Dialogue(here, tuple(script)), Dialogue(there, tuple(script)), apart)
            for here, there, apart in neighbours_of(partition.dataset)
        )
        yield Example(mechanism, first, pairs)


@register(
    examples=_examples,
    source="Privacy Integrated Queries (McSherry 2009), sections 3.2.2 and 4.2, the operation Partition",
)
@dataclass(frozen=True, kw_only=True)
class AdaptiveParts(Interactive[Any, "PartsConversation"]):
    """Answer questions about disjoint parts of the rows one after the other, each part within a loss of its own.

    Guarantee: data sets one unit apart lose at most ``partition.touched`` times ``each`` over the whole conversation,
    whatever is asked of which part, and in which order.

    Args:
        partition: the parts; public.
        each: what the questions about one part may lose together.

    >>> AdaptiveParts(partition=clinic_parts(ROW), each=PureDP(1)).loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "adaptive-parts"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "every question has its own error: see the quote of its query"
    no_interval_because: ClassVar[str] = "every number has its own interval: see the result of its query"

    partition: Of[OpenPartition] = Of(OpenPartition, rule="an OpenPartition")
    each: Target = Target()

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.partition.dataset.unit

    def plan(self) -> Plan:
        """Return the draws of any question, under a filter, in each of the parts."""
        inner = Within(self.each, (Geometric, DiscreteGaussian, ThresholdedCounts))
        return Parallel(inner, len(self.partition.parts), self.partition.touched)

    def open(self, data: Engine, run: Runner) -> PartsConversation:
        """Return the conversation about these rows."""
        check_fixed(data)
        return PartsConversation(self.partition, data, run.parallel(len(self.partition.parts)), self.each)


def check_fixed(data: Engine) -> None:
    """Refuse rows that may change from one question to the next: what was in one part may be in another by then."""
    if changing := data.changing_tables:
        raise Unanswerable(
            f"rows of {', '.join(changing)} may change between two questions, and a row that moves to another part "
            "would be lost in both",
            "ask about all parts in one request, or add a copy of the rows",
        )


class PartsConversation:
    """Parts of private rows, and what has been asked about each. Its runners bind it to thread and process."""

    def __init__(self, partition: OpenPartition, data: Engine, runners: list[Runner], each: Loss) -> None:
        self._partition, self._data, self._runners = partition, data, runners
        self._accounts = [Account(each) for _ in runners]

    def resume(self, asked: Iterable[tuple[str, Loss]]) -> None:
        """Take from the parts what questions of before may have lost, so that nothing is asked for it again.

        Args:
            asked: the label and the loss of each question that was ever begun, in their order.

        """
        for label, loss in asked:
            self._accounts[self._partition.place(label)].spend(loss)

    def left(self, label: str) -> Loss:
        """Return the largest question about a part that still fits."""
        return self._accounts[self._partition.place(label)].room()

    def check(self, question: PartQuestion) -> int:
        """Return the part of a question, or refuse it by public facts alone: other rows, or more than is left."""
        if not isinstance(question, PartQuestion):
            raise InvalidParameter("question", question, "a PartQuestion")
        place, answer = self._partition.place(question.label), question.answer
        # What is asked is public and is refused before it costs anything.
        whole, (label, values) = self._partition, self._partition.parts[place]
        check_part(whole.dataset, whole.relation, whole.by, Part(label, values, answer.query))
        if answer.design.picks or answer.quantiles != "tree":
            raise Unanswerable(
                "choices of a part are not offered in a partition", "group by the value, or ask with quantiles='tree'"
            )
        if not self._accounts[place].admits(answer.loss(1)):
            raise self._accounts[place].refusal(answer.loss(1))
        return place

    @quietly
    def ask(self, question: PartQuestion) -> Answered:
        """Return the noisy integers of a question, or raise BudgetExceeded and take nothing."""
        place, answer = self.check(question), question.answer
        self._accounts[place].spend(answer.loss(1))
        return answer.release(self._data, self._runners[place])


def ask_part(talk: PartsConversation, label: str, query: Query, loss: Loss, *, noise: str = "auto") -> QueryResult:
    """Return the answer to a query of a part, with its intervals.

    Args:
        talk: the conversation.
        label: which part.
        query: of the rows of that part: ``OpenPartition.rows``.
        loss: what the answer may lose.
        noise: 'laplace', 'gaussian', or 'auto'.

    """
    answer = plan_query(query, loss, noise=noise, quantiles="tree")
    return present(answer, talk.ask(PartQuestion(label, answer)))
