"""The Python builder makes the same record as SQL, and its partitions are disjoint."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from dither.data import Bounded, Filter, Literal, OneOf, Scan
from dither.data.expressions import Kind, Name
from dither.data.reference import rows_of
from dither.data.relations import PERSON
from dither.errors import DitherError, InvalidParameter, Unanswerable
from dither.privacy import ROW_REPLACED
from dither.publish.queries.builder import Groups, Rows, col, lit, rows, table, when
from dither.publish.queries.partitioned import Part, Partitioned
from dither.publish.queries.sql import parse_sql
from tests.publish.queries.exact import CLINIC, LOOSE, exact, tables

DAY = datetime.date
visits = table("visits")
PAIRS: list[tuple[str, Groups]] = [
    ("SELECT COUNT(*) FROM visits", visits.count()),
    ("SELECT COUNT(*) AS n FROM visits WHERE age > 50", visits.where(col("age") > 50).count("n")),
    ("SELECT COUNT(DISTINCT id) FROM visits", visits.persons()),
    ("SELECT COUNT(cost) FROM visits", visits.measure("count_of", "cost")),
    ("SELECT SUM(cost), AVG(cost) FROM visits", visits.sum("cost").mean("cost")),
    ("SELECT SUM(CLAMP(cost, 0, 100)) AS s FROM visits", visits.sum("cost", bounds=(0, 100), name="s")),
    ("SELECT AVG(CLAMP(cost * 2, 0, 10)) AS m FROM visits", visits.mean(col("cost") * 2, bounds=(0, 10), name="m")),
    ("SELECT MEDIAN(age) FROM visits", visits.quantile("age", "1/2")),
    ("SELECT QUANTILE(age, 0.9) AS p FROM visits", visits.quantile("age", 0.9, name="p")),
    (
        "SELECT MIN(age), MAX(age), VAR_POP(age), STDDEV_POP(age) FROM visits",
        visits.group().minimum("age").maximum("age").variance("age").deviation("age"),
    ),
    ("SELECT VARIANCE(age) FROM visits", visits.measure("sample_variance", "age")),
    ("SELECT STDDEV(age) FROM visits", visits.measure("sample_deviation", "age")),
    (
        "SELECT COVAR_POP(age, cost) AS c, CORR(age, cost) AS r FROM visits",
        visits.group().covariance("age", "cost", name="c").correlation("age", "cost", name="r"),
    ),
    ("SELECT MODE(region) FROM visits", visits.group().mode("region")),
    ("SELECT APPROX_TOP_K(region, 2) FROM visits", visits.group().top("region", 2)),
    ("SELECT region, COUNT(*) FROM visits GROUP BY region", visits.group("region").count()),
    (
        "SELECT region, smoker, COUNT(*) AS n, SUM(cost) FROM visits GROUP BY region, smoker",
        visits.group("region", "smoker").count("n").sum("cost"),
    ),
    (
        "SELECT age % 10 AS digit, COUNT(*) FROM visits GROUP BY digit",
        visits.group(digit=col("age") % 10).count(),
    ),
    (
        "SELECT CASE WHEN age < 18 THEN 'child' ELSE 'adult' END AS stage, COUNT(*) FROM visits GROUP BY stage",
        visits.group(stage=when(col("age") < 18).then("child").otherwise("adult")).count(),
    ),
    (
        "SELECT CASE WHEN age < 18 THEN 1 WHEN age > 60 THEN 2 END AS stage, COUNT(*) FROM visits GROUP BY stage",
        visits.group(stage=when(col("age") < 18).then(1).when(col("age") > 60).then(2).end()).count(),
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE age > 50 AND smoker",
        visits.where(col("age") > 50).where(col("smoker")).count(),
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE (age > 50 AND smoker) AND NOT (cost > 3 OR cost IS NULL)",
        visits.where((col("age") > 50) & col("smoker") & ~((col("cost") > 3) | col("cost").is_null())).count(),
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE region IN ('north', 'south')",
        visits.where(col("region").is_in(["north", "south"])).count(),
    ),
    ("SELECT COUNT(*) FROM visits WHERE age BETWEEN 3 AND 9", visits.where(col("age").between(3, 9)).count()),
    ("SELECT COUNT(*) FROM visits WHERE note LIKE 'a%'", visits.where(col("note").like("a%")).count()),
    (
        "SELECT COUNT(*) FROM visits WHERE LOWER(note) = 'x' OR UPPER(note) <> 'Y'",
        visits.where((col("note").lower() == "x") | (col("note").upper() != "Y")).count(),
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE day >= DATE '2023-03-04' AND YEAR(day) = 2023",
        visits.where(col("day") >= DAY(2023, 3, 4), col("day").year() == 2023).count(),
    ),
    (
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) FROM visits GROUP BY m",
        visits.group(m=col("day").truncate("month")).count(),
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE -change + 1 - age / 3 <= 2 * age // 7",
        visits.where(-col("change") + 1 - col("age") / 3 <= 2 * col("age") // 7).count(),
    ),
    ("SELECT COUNT(*) FILTER (WHERE smoker) AS n FROM visits", visits.count("n", where=col("smoker"))),
    (
        "SELECT SUM(cost) FILTER (WHERE age > 3) AS s FROM visits",
        visits.sum("cost", name="s", where=col("age") > 3),
    ),
    (
        "SELECT COALESCE(cost, 0) > 5 AS big, COUNT(*) FROM visits GROUP BY big",
        visits.group(big=col("cost").coalesce(0) > 5).count(),
    ),
    (
        "SELECT region, COUNT(*) AS n, 2 * COUNT(*) AS double FROM visits GROUP BY region",
        visits.group("region").count("n").show("region", "n", double=2 * col("n")),
    ),
    (
        "SELECT region, SUM(cost) / COUNT(*) AS rate FROM visits GROUP BY region HAVING COUNT(*) > 9 ORDER "
        "BY rate DESC LIMIT 2",
        visits.group("region")
        .sum("cost")
        .count()
        .show("region", rate=col("sum_cost") / col("count"))
        .having(col("count") > 9)
        .order_by("rate", descending=True)
        .limit(2),
    ),
    (
        "SELECT places.country AS land, COUNT(*) FROM visits JOIN places ON visits.region = places.region "
        "GROUP BY land",
        visits.join_public("places").group(land=col("places.country")).count(),
    ),
    (
        "SELECT COUNT(*) FROM visits v LEFT JOIN places p ON LOWER(v.region) = p.region WHERE p.people > 5",
        visits.join_public("places", {"region": col("region").lower()}, keep_unmatched=True, alias="p")
        .where(col("p.people") > 5)
        .count(),
    ),
    (
        "SELECT SUM(lab.value) AS s FROM visits JOIN lab ON visits.id = lab.person AND lab.taken > visits.day",
        visits.join("lab", col("lab.taken") > col("day")).sum("lab.value", name="s"),
    ),
    (
        "SELECT COUNT(*) FROM visits v LEFT JOIN (SELECT person, COUNT(*) AS n FROM lab GROUP BY person) t "
        "ON v.id = t.person",
        visits.join(table("lab").per_person(n=rows()), keep_unmatched=True, alias="t").count(),
    ),
    (
        "SELECT AVG(CLAMP(total, 0, 9)) AS m FROM (SELECT id, SUM(cost) AS total FROM visits GROUP BY id)",
        visits.per_person(total=col("cost").sum()).mean("total", bounds=(0, 9), name="m"),
    ),
    (
        "SELECT region, AVG(CLAMP(n, 0, 9)) AS m FROM (SELECT id, region, COUNT(*) AS n, MIN(age) AS y, MAX(age) AS o, "
        "AVG(change) AS c, COUNT(cost) AS known FROM visits GROUP BY id, region) GROUP BY region",
        visits.per_person(
            "region",
            n=rows(),
            y=col("age").minimum(),
            o=col("age").maximum(),
            c=col("change").mean(),
            known=col("cost").count(),
        )
        .group("region")
        .mean("n", bounds=(0, 9), name="m"),
    ),
    (
        "SELECT COUNT(*) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY day) AS rn FROM visits) "
        "WHERE rn = 1",
        visits.window("rn", "row_number", order=["day"]).where(col("rn") == 1).count(),
    ),
    (
        "SELECT SUM(CLAMP(s, 0, 9)) AS t FROM (SELECT *, SUM(age) OVER (PARTITION BY id, region) AS s FROM visits)",
        visits.window("s", "sum", "age", partition=["region"]).sum("s", bounds=(0, 9), name="t"),
    ),
    ("SELECT COUNT(*) FROM (SELECT DISTINCT id, region FROM visits)", visits.distinct("region").count()),
    (
        "SELECT COUNT(*) FROM visits WHERE id IN (SELECT person FROM lab WHERE value > 2)",
        visits.among(table("lab").where(col("value") > 2)).count(),
    ),
    ("SELECT COUNT(*) FROM visits WHERE id NOT IN (SELECT person FROM lab)", visits.not_among(table("lab")).count()),
    (
        "SELECT AVG(years) AS m FROM (SELECT id, age + 1 AS years FROM visits WHERE smoker) WHERE years > 3",
        visits.where(col("smoker")).select("id", years=col("age") + 1).where(col("years") > 3).mean("years", name="m"),
    ),
    (
        "SELECT CASE WHEN age >= 0 AND age < 50 THEN 0 WHEN age >= 50 AND age <= 100 THEN 50 END AS age, COUNT(*) "
        "FROM visits GROUP BY 1",
        visits.histogram("age", [0, 50, 100]),
    ),
]


@pytest.mark.parametrize(("sql", "built"), PAIRS, ids=[sql[:60] for sql, _ in PAIRS])
def test_the_builder_makes_the_record_of_sql(sql: str, built: Groups) -> None:
    """Equal requests are equal records: names, bounds, keys, tree and all."""
    query = built.build(CLINIC)
    expected = parse_sql(sql, CLINIC)
    if "THEN 50 END" in sql:  # a histogram leaves out what lies beyond its edges
        expected = replace(expected, keys=(replace(expected.keys[0], values=(0, 50)),))
    assert query == expected


def test_limits_may_only_shrink() -> None:
    """A query may let less of a person count, never more than the curator declared."""
    assert visits.count().limits(rows=2).build(CLINIC).limits.rows == 2
    with pytest.raises(InvalidParameter, match="rows"):
        visits.count().limits(rows=7).build(CLINIC)
    with pytest.raises(InvalidParameter, match="columns"):
        visits.count().limits(columns=1).build(CLINIC)


def test_given_keys() -> None:
    """Groups may be said in the request: one value each, or combinations."""
    query = visits.group("note", keys=["ab", "7"]).count().build(CLINIC)
    assert query.keys[0].values == ("ab", "7")
    assert not query.is_discovered
    pairs = [("north", True), ("south", False)]
    query = visits.group("region", "smoker", keys=pairs).count().build(CLINIC)
    assert query.key_values == tuple(pairs)


WRONG: list[tuple[str, Callable[[], object], type[DitherError], str]] = [
    ("unbounded", lambda: table("lab").sum(col("value") * 1e300 * 1e300).build(CLINIC), Unanswerable, "bounds"),
    ("unknown column", lambda: visits.where(col("agee") > 3).count().build(CLINIC), InvalidParameter, "agee"),
    ("unknown table", lambda: table("visit").count().build(CLINIC), InvalidParameter, "visit"),
    ("public table", lambda: table("places").count().build(CLINIC), Unanswerable, "public"),
    (
        "join of a private table as public",
        lambda: visits.join_public("lab").count().build(CLINIC),
        InvalidParameter,
        "lab",
    ),
    (
        "not the key",
        lambda: visits.join_public("places", {"country": col("note")}).count().build(CLINIC),
        Unanswerable,
        "key",
    ),
    (
        "key of another kind",
        lambda: visits.join_public("places", {"region": col("age")}).count().build(CLINIC),
        InvalidParameter,
        "text",
    ),
    ("grouping by the id", lambda: visits.group("id").count().build(CLINIC), Unanswerable, "privacy id"),
    ("persons of rows", lambda: visits.persons().build(LOOSE), Unanswerable, "its own unit"),
    (
        "windows of rows",
        lambda: visits.window("r", "row_number", order=["day"]).count().build(LOOSE),
        InvalidParameter,
        "person",
    ),
    ("joins of rows", lambda: visits.join("lab").count().build(LOOSE), InvalidParameter, "privacy id"),
    ("per person of rows", lambda: visits.per_person(n=rows()).count().build(LOOSE), Unanswerable, "privacy id"),
    ("nothing measured", lambda: visits.group().build(CLINIC), Unanswerable, "nothing is measured"),
    ("python and", lambda: (col("age") > 3) and (col("age") < 5), InvalidParameter, "&"),
    ("not a number", lambda: lit(float("nan")), InvalidParameter, "finite"),
    ("edges", lambda: visits.histogram("age", [3, 1]), InvalidParameter, "edges"),
    ("share", lambda: visits.quantile("age", 1.5), InvalidParameter, "share"),
    ("sum of text", lambda: visits.sum("note").build(CLINIC), Unanswerable, "text"),
    ("empty bounds", lambda: visits.sum("age", bounds=(3, 2)).build(CLINIC), InvalidParameter, "bounds"),
    ("unknown option", lambda: visits.sum("age", bound=(3, 2)), InvalidParameter, "bound"),
    ("injection as a column", lambda: visits.sum('age") FROM visits; --').build(CLINIC), InvalidParameter, "column"),
    ("condition that is none", lambda: visits.where(col("age")).count().build(CLINIC), InvalidParameter, "condition"),
]


@pytest.mark.parametrize(("what", "make", "error", "mention"), WRONG, ids=[one[0] for one in WRONG])
def test_what_makes_no_sense_is_refused(
    what: str, make: Callable[[], object], error: type[DitherError], mention: str
) -> None:
    """One error of our own, naming what is wrong."""
    with pytest.raises(error, match=mention):
        make()


def test_a_builder_is_never_changed() -> None:
    """A common beginning can be shared: every step is a new object."""
    start = visits.where(col("age") > 50)
    first = start.count().build(CLINIC)
    start.where(col("smoker")).count().sum("cost")
    assert start.count().build(CLINIC) == first


PARTS = {"cold": ["north"], "warm": ["south", "east"]}


def _split() -> Partitioned:
    return visits.partition("region", PARTS, groups=1).each(lambda part: part.count("n").mean("age")).build(CLINIC)


def test_parts_are_disjoint_and_touch_as_few_as_said() -> None:
    """Brute force: the rows of each part, and in how many parts the rows of any one person lie."""
    split = _split()
    assert split.touched == 1
    found = {part.label: rows_of(part.query.relation, tables()) for part in split.parts}
    assert {row["region"] for row in found["cold"]} == {"north"}
    assert {row["region"] for row in found["warm"]} == {"south", "east"}
    for person in {row["id"] for row in tables()["visits"]}:
        assert sum(any(row[PERSON] == person for row in part) for part in found.values()) <= 1
    # Without the limit some person lies in both, so that the test above can fail.
    loose = visits.partition("region", PARTS).each(lambda part: part.count()).build(CLINIC)
    assert loose.touched == 2
    both = [{row[PERSON] for row in rows_of(part.query.relation, tables())} for part in loose.parts]
    assert both[0] & both[1]


def test_what_rows_and_replaced_rows_touch() -> None:
    """A row lies in one part; a replaced one leaves one part and enters another."""
    made = visits.partition("region", PARTS).ask(cold=lambda part: part.count(), warm=lambda part: part.sum("age"))
    assert made.build(LOOSE).touched == 1
    assert made.build(replace(LOOSE, unit=ROW_REPLACED)).touched == 2


def test_a_partition_counts_what_its_filter_counts() -> None:
    """The parts of rows are plain filters: their exact answers are those of separate queries."""
    split = visits.partition("region", PARTS).each(lambda part: part.where(col("age") > 30).count()).build(LOOSE)
    for part in split.parts:
        alone = visits.where(col("region").is_in(PARTS[part.label]), col("age") > 30).count().build(LOOSE)
        assert exact(part.query) == exact(alone)


def test_parts_that_overlap_or_leave_their_rows_are_refused() -> None:
    """Parallel composition would be wrong for them."""
    with pytest.raises(InvalidParameter, match="disjoint"):
        visits.partition("region", {"a": ["north"], "b": ["north"]}).each(lambda part: part.count()).build(CLINIC)
    with pytest.raises(InvalidParameter, match="rows of its part"):
        visits.partition("region", PARTS).each(lambda part: visits.count()).build(CLINIC)
    # On the right side of a join a person outside the part still has rows.
    with pytest.raises(InvalidParameter, match="rows of its part"):
        visits.partition("region", PARTS).each(
            lambda part: visits.join(part, keep_unmatched=True, alias="part").count()
        ).build(CLINIC)


@pytest.mark.parametrize("values", [(2**53, 2**53 + 1), (2**62, 2**62 + 1), (1, 1.0), (0.0, -0.0)])
def test_whole_numbers_that_are_one_real_are_in_one_part(values: tuple[Any, Any]) -> None:
    """To an engine they are equal, so that a row would lie in both parts and be paid for once."""
    wide = col("cost") * 1e20
    split = visits.partition(wide, {"a": [values[0]], "b": [values[1]]}).each(lambda part: part.count())
    with pytest.raises(InvalidParameter, match="disjoint"):
        split.build(LOOSE)
    whole = visits.partition("id", {"a": [2**53], "b": [2**53 + 1]}).each(lambda part: part.count())
    assert whole.build(LOOSE).touched == 1


def test_a_bound_on_something_else_is_no_bound_on_parts() -> None:
    """A hand-made record whose rows are bounded by another key is priced for all parts."""
    by = Name("region")
    visits = Scan(CLINIC.table("visits"))
    source = Bounded(visits, (Name("age"),), _split().relation.limits, tuple(visits.columns))  # type: ignore[attr-defined]

    def part(label: str, value: str) -> Part:
        mine = Filter(source, OneOf(by, (Literal(value, Kind.TEXT),)))
        return Part(label, (value,), Rows(lambda dataset: mine).count().build(CLINIC))

    assert Partitioned(CLINIC, source, by, (part("a", "north"), part("b", "south"))).touched == 2
