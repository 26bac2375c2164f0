"""A report as a mechanism: its private queries one after another under one plan, and public tables read beside them.

The stated loss is divided among the queries, equally unless shares are given, and their losses add up to no more than
it. Queries of different tables, where every row is a unit of its own, each have all of it: a row is in one table. What
is made of the released tables afterwards costs nothing: see ``presenting``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.data import Aggregation, CountRows, Name
from dither.data.engines.protocol import Engine
from dither.data.evaluation import sort_key
from dither.data.public_rows import PublicScan
from dither.data.relations import tables_read
from dither.data.returned import canonical, first_number
from dither.data.schema import FRAMES, Table
from dither.data.wire import decode, encode, register_records
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Number, Of
from dither.lift.over_data import OverData
from dither.mechanisms import Numerics, Runner, register
from dither.mechanisms.core.spec import Codec, register_codec
from dither.privacy import ROW, ZCDP, ApproxDP, InOrder, Loss, Parallel, Plan, PureDP, Unit, Use, Within, zcdp_rho
from dither.privacy.losses import largest
from dither.publish.queries.answer import Answer, Answered, Law, ShareField, badness
from dither.publish.queries.design import GAUSSIAN, LAPLACE
from dither.publish.queries.reports.examples import report_examples
from dither.publish.queries.reports.report import Report, check_work
from dither.publish.queries.sizes import check_query
from dither.publish.queries.split import check_shares
from dither.publish.queries.work import planning

#: A public table of more rows is refused: it is read whole, into memory.
MOST_PUBLIC: Final = 1_000_000
PublicRows = tuple[tuple[Any, ...], ...]


def _read_report(record: Any) -> Report:
    report = decode(record)
    if not isinstance(report, Report):
        raise InvalidParameter("report", type(report).__name__, "a Report")
    return report


register_records(Report)
register_codec("report", Codec(Report, encode, _read_report))


@dataclass(frozen=True)
class Reported:
    """What a report releases: what each query does, in order, and the rows of public tables, by name."""

    answers: tuple[Answered, ...]
    public: tuple[tuple[str, PublicRows], ...] = ()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all integers in one row if their number is public, else the record itself."""
        if self.public or any(answer.groups is not None for answer in self.answers):
            whole = np.empty((), dtype=object)
            whole[()] = repr(self)
            return whole
        return np.concatenate([np.asarray(answer) for answer in self.answers])


@register(
    examples=report_examples,
    source="Privacy Integrated Queries (McSherry 2009), section 3.2.1, sequential composition and post-processing",
)
@dataclass(frozen=True, kw_only=True)
class ReportAnswer(OverData[Reported]):
    """Answer several queries one after another, as parts of one report.

    Guarantee: data sets one unit apart lose at most ``target``: the sum of what the queries lose, or the largest of
    such sums where queries see no row in common. What the report shows is made of their answers and of public tables
    alone, and loses nothing more.

    Args:
        report: the queries, and what is shown of their answers.
        target: the loss that all of them together may have; 0 where only public tables are read.
        noise: 'laplace' or 'gaussian', for all queries.
        shares: how the loss is divided among the queries that see the same rows, by their names; None for equal parts.

    >>> from dither.publish.queries.reports.examples import clinic_report
    >>> ReportAnswer(report=clinic_report(), target=PureDP(1), noise="laplace").loss(1).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "report"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "every column of every query has its own error: see the quote of the report"
    no_interval_because: ClassVar[str] = "every number has its own interval: see the result of the report"

    report: Of[Report] = Of(Report, rule="a Report")
    target: Of[Loss] = Of(Loss, rule="a loss")
    noise: Law = Law()
    shares: ShareField = ShareField(None)

    def __post_init__(self) -> None:
        """Reject reports that cannot be priced."""
        if self.shares is not None:
            check_shares(dict(self.shares), [name for name, _ in self.report.queries])
        if self.report.queries and not self.target.rho > 0:
            raise InvalidParameter("target", str(self.target), "a loss above 0: the query reads private rows")
        if not self.loss(1) <= self.target:
            raise NoGuarantee(f"the report would lose {self.loss(1)}, which is not within {self.target}")

    @property
    def distance(self) -> Unit:
        """The unit of the data set."""
        return self.report.dataset.unit

    @cached_property
    def answers(self) -> tuple[Answer, ...]:
        """The answer of every query."""
        parts: dict[int, Loss] = {}
        for group in self.groups:
            weights = tuple(self.weights[place] for place in group)
            found = [self.queries[place][1].is_discovered for place in group]
            parts |= zip(group, _divided(self.target, weights, self.noise, found), strict=True)
        return tuple(
            Answer(query=query, target=parts[place], noise=self.noise) for place, (_, query) in enumerate(self.queries)
        )

    @property
    def queries(self) -> tuple[tuple[str, Any], ...]:
        """The queries by name."""
        return self.report.queries

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The places of queries that may see the same rows; a unit of data counts in one group at most."""
        return queries_apart(self.report)

    @cached_property
    def weights(self) -> tuple[Fraction, ...]:
        """Every query's share of the loss; those of a group add up to 1."""
        said = dict(self.shares or ())
        given = [said.get(name, Fraction(1)) for name, _ in self.queries]
        sums = {place: sum(given[other] for other in group) for group in self.groups for place in group}
        return tuple(one / sums[place] for place, one in enumerate(given))

    def plan(self) -> Plan:
        """Return the answers in turn, or those of each group under a filter that holds what one group may lose."""
        in_turn = [InOrder(tuple(Use(self.answers[place]) for place in group)) for group in self.groups]
        if len(in_turn) < 2:
            return InOrder(tuple(Use(answer) for answer in self.answers))
        dearest = largest(plan.loss(1) for plan in in_turn)
        return Parallel(Within(dearest, (Answer,), self.distance), len(in_turn), 1)

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the engine's aggregations, query by query, and how public tables are read."""
        public = tuple(_all_rows(view.table) for view in self.report.public_tables)
        return (*(asked for answer in self.answers for asked in answer.aggregations()), *public)

    def check_public(self, data: Engine) -> None:
        """Reject public tables that are too long to be read whole: before anything is charged."""
        for view in self.report.public_tables:
            counted = data.aggregate(Aggregation(PublicScan(view.table), (), (CountRows(),)))
            many = first_number(counted.measures[0]) if counted.measures else 0
            if many > MOST_PUBLIC:
                rule = f"a public table of at most {MOST_PUBLIC:,} rows where it is read as a whole"
                raise InvalidParameter(f"table {view.table.name}", f"{many:,} rows", rule)

    def release(self, data: Engine, run: Runner) -> Reported:
        """Return what every query releases, and public rows as they are."""
        public = tuple((view.table.name, _read(data, view.table)) for view in self.report.public_tables)
        if len(self.groups) < 2:
            return Reported(tuple(run(answer, data) for answer in self.answers), public)
        released: dict[int, Answered] = {}
        for group, sibling in zip(self.groups, run.parallel(len(self.groups)), strict=True):
            inner = sibling.within()
            released |= {place: inner(self.answers[place], data) for place in group}
        return Reported(tuple(released[place] for place in range(len(self.answers))), public)


def queries_apart(report: Report) -> tuple[tuple[int, ...], ...]:
    """Return the places of the queries, in groups such that one unit of data counts in one group at most.

    A row of a data set is in one of its tables, so that queries of different tables have no row in common. A person may
    have rows in all tables, and a replaced row may leave one and enter another: there all queries are one group. So are
    those of tables that are given as frames: nothing shows whether two frames hold the same rows.
    """
    if report.dataset.unit != ROW:
        return (tuple(range(len(report.queries))),)
    framed = {("table", table.name) for table in report.dataset.tables if table.source == FRAMES}
    groups: list[tuple[frozenset[tuple[str, str]], tuple[int, ...]]] = []
    for place, (_, query) in enumerate(report.queries):
        read = tables_read(query.relation)
        read |= framed if read & framed else frozenset()
        mine: tuple[int, ...] = (place,)
        for tables, places in [group for group in groups if group[0] & read]:
            groups.remove((tables, places))
            read, mine = read | tables, (*places, *mine)
        groups.append((read, mine))
    return tuple(sorted(tuple(sorted(places)) for _, places in groups))


def _all_rows(table: Table) -> Aggregation:
    return Aggregation(PublicScan(table), tuple(map(Name, table.kinds)), (CountRows(),))


def _read(data: Engine, table: Table) -> PublicRows:
    """Return the rows of a public table, each as often as it occurs, sorted by all columns."""
    found = data.aggregate(_all_rows(table))
    kinds = tuple(table.kinds.values())
    rows: list[tuple[Any, ...]] = []
    for key, numbers in zip(found.keys, found.measures, strict=False):
        known = canonical(key, kinds)
        if known is not None:
            rows += [known] * min(first_number(numbers), MOST_PUBLIC)
    return tuple(sorted(rows, key=lambda row: [sort_key(value) for value in row])[:MOST_PUBLIC])


def _divided(loss: Loss, weights: tuple[Fraction, ...], noise: str, discovers: list[bool]) -> list[Loss]:
    """Return what each query may lose, such that they lose no more than the loss together."""
    if isinstance(loss, PureDP):
        return [PureDP(loss.epsilon * weight) for weight in weights]
    if isinstance(loss, ZCDP):
        return [ZCDP(loss.rho * weight, loss.delta * weight) for weight in weights]
    if not isinstance(loss, ApproxDP):
        raise InvalidParameter("loss", loss, "PureDP, ZCDP or ApproxDP")
    if noise == LAPLACE or len(weights) < 2:
        return [ApproxDP(loss.epsilon * weight, loss.delta * weight) for weight in weights]
    # One conversion for all of them: a rho is divided, and half of the delta where groups are discovered.
    found = sum(weight for weight, discovered in zip(weights, discovers, strict=True) if discovered)
    spare = loss.delta / 2 if found else Fraction(0)
    rho = zcdp_rho(loss.epsilon, loss.delta - spare)
    return [
        ZCDP(rho * weight, spare * weight / found if discovered else 0)
        for weight, discovered in zip(weights, discovers, strict=True)
    ]


def plan_report(
    report: Report, loss: Loss, *, noise: str = "auto", shares: Mapping[str, Number] | None = None
) -> ReportAnswer:
    """Return the mechanism that answers a report within a loss.

    Args:
        report: the queries, and what is shown of their answers.
        loss: what all queries together may cost: PureDP, ZCDP or ApproxDP.
        noise: 'laplace', 'gaussian', or 'auto': what has the smaller error at this loss.
        shares: how much of the loss each query gets, by name and in any unit; None for equal parts.

    """
    with planning():
        for name, query in report.queries:
            check_query(query, f"query {name}")
        check_work(report)
        given = check_shares(shares, [name for name, _ in report.queries])
        wanted = None if given is None else tuple(given.items())
        fixed: dict[str, Any] = {"report": report, "target": loss, "shares": wanted}
        if noise != "auto":
            return ReportAnswer(noise=noise, **fixed)
        if not isinstance(loss, ApproxDP) or loss.delta == 0:
            return ReportAnswer(noise=LAPLACE if isinstance(loss, PureDP | ApproxDP) else GAUSSIAN, **fixed)
        found = [ReportAnswer(noise=LAPLACE, **fixed)]
        # A delta too small for any rho leaves Laplace noise alone.
        with contextlib.suppress(NoGuarantee):
            found.append(ReportAnswer(noise=GAUSSIAN, **fixed))
        return min(found, key=lambda planned: sum(badness(answer.design) for answer in planned.answers))
