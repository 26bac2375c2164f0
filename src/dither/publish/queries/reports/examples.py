"""Reports on the clinic's visits, for the checks that every mechanism goes through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dither.data import Call, DataSet, Limits, Name, Scan
from dither.data.examples import clinic, neighbours_of, some_visits, visit
from dither.data.schema import person_unit
from dither.mechanisms import Example
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP, Unit
from dither.publish.queries.examples import aggregate, clinic_query
from dither.publish.queries.query import Query
from dither.publish.queries.reports.report import Report, release_of
from dither.publish.queries.reports.views import ViewScalar, ViewSelect


def clinic_report(unit: Unit = ROW, groups: str = "public") -> Report:
    """Return the share of each site in the visits: two counts, one divided by the other."""
    by_site = clinic_query("count", unit=unit, groups=groups)
    whole = clinic_query("count", unit=unit, groups="none")
    sites = release_of("by_site", by_site)
    both = ViewScalar(sites, "total", release_of("whole", whole))
    share = Call("divide", (Name("count"), Name("total")))
    view = ViewSelect(both, (("site", Name("site")), ("share", share)))
    return Report(by_site.dataset, (("by_site", by_site), ("whole", whole)), view)


def report_of_two_tables() -> Report:
    """Return how many visits there are, and what others cost: single rows of two tables, of which none is in both."""
    (visits,) = clinic(ROW).tables
    others = replace(visits, name="others", source="others.csv")
    dataset = DataSet("clinics", (visits, others), ROW)
    queries = []
    for table, function in ((visits, "count"), (others, "sum")):
        outputs = ((function, Name(function)),)
        queries.append(Query(dataset, Scan(table), (), (aggregate(function),), outputs, Limits()))
    first, second = (release_of(name, query) for name, query in zip(("visits", "others"), queries, strict=True))
    return Report(dataset, (("visits", queries[0]), ("others", queries[1])), ViewScalar(first, "cost", second))


def _two_tables() -> Iterator[Example]:
    from dither.data.reference import ReferenceEngine
    from dither.publish.queries.reports.mechanism import plan_report

    report = report_of_two_tables()

    def engine(visits: list[Any], others: list[Any]) -> ReferenceEngine:
        return ReferenceEngine(report.dataset, {"visits": visits, "others": others})

    rows, more = some_visits(), visit(9, "north", "a", 10**6, 1e300)
    neighbours = (
        (engine(rows, rows), engine([*rows, more], rows), 1),
        (engine(rows, rows), engine(rows, [*rows, more]), 1),
        (engine([more], []), engine([], []), 1),
    )
    for loss in (PureDP(1), ApproxDP(1, "1e-6")):
        yield Example(plan_report(report, loss), engine(rows, rows), neighbours)


def report_examples() -> Iterator[Example]:
    """Return reports of every kind of unit and loss, with public and with discovered groups."""
    from dither.data.reference import ReferenceEngine
    from dither.publish.queries.reports.mechanism import plan_report

    person = person_unit("person")
    cases: list[tuple[Unit, Loss, str]] = [
        (ROW, PureDP(1), "public"),
        (ROW_REPLACED, ZCDP("1/2"), "public"),
        (person, ApproxDP(1, "1e-6"), "public"),
        (person, ApproxDP(4, "1e-3"), "discovered"),
    ]
    for unit, loss, groups in cases:
        report = clinic_report(unit, groups)
        data = ReferenceEngine(report.dataset, {"visits": some_visits()})
        yield Example(plan_report(report, loss), data, neighbours_of(report.dataset))
    yield from _two_tables()
