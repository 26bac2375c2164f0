"""Relations and aggregations over random small tables: every engine against the plain Python reference."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dither.data import (
    Aggregation,
    Bounded,
    Call,
    Case,
    Cast,
    Column,
    CountOf,
    CountRows,
    DataSet,
    Expression,
    Filter,
    Grid,
    JoinPersons,
    JoinPublic,
    Keep,
    Kind,
    Largest,
    Limits,
    Literal,
    Measure,
    Name,
    PerPerson,
    Persons,
    Project,
    Relation,
    Scan,
    Smallest,
    Sum,
    Table,
    UnionAll,
    Window,
    reference,
)
from dither.data.engines.bounding import effective_limits, preaggregates
from dither.data.public_rows import PublicScan
from dither.data.reference import ReferenceEngine, aggregate
from dither.data.relations import PERSON, rows_per_person
from dither.data.schema import person_unit
from dither.errors import InvalidParameter

VISITS = Table(
    "visits",
    (
        Column("id", Kind.INTEGER),
        Column("region", Kind.TEXT),
        Column("cost", Kind.REAL),
        Column("n", Kind.INTEGER),
        Column("day", Kind.DATE),
    ),
    "visits.parquet",
    person="id",
)
STAYS = Table(
    "stays",
    (Column("id", Kind.INTEGER), Column("ward", Kind.TEXT), Column("nights", Kind.INTEGER), Column("ok", Kind.BOOLEAN)),
    "stays.parquet",
    person="id",
)
REGIONS = Table(
    "regions",
    (Column("name", Kind.TEXT), Column("size", Kind.INTEGER), Column("rank", Kind.REAL)),
    "regions.parquet",
    is_public=True,
    key=("name",),
)
LEVELS = Table(
    "levels",
    (Column("level", Kind.REAL), Column("label", Kind.TEXT)),
    "levels.parquet",
    is_public=True,
    key=("level",),
)
DATASET = DataSet("clinic", (VISITS, STAYS, REGIONS, LEVELS), person_unit("id"), rows=3)
TEXTS = [None, "north", "south", "North", "é", "", "'"]
CELLS: dict[Kind, list[Any]] = {
    Kind.INTEGER: [None, 0, 1, 2, 3, -1, 2**62, 2**63 - 1, -(2**63)],
    Kind.REAL: [None, 0.0, -0.0, 0.5, 1.0, 2.0, -3.25, 1e300, float("nan"), float("inf"), 0.5 + 2.0**-30],
    Kind.TEXT: TEXTS,
    Kind.DATE: [None, datetime.date(2024, 2, 29), datetime.date(1, 1, 1), datetime.date(9999, 12, 31)],
    Kind.BOOLEAN: [None, True, False],
}
IDS = [None, 1, 2, -(2**63)]
#: Random cases an engine; each opens the engine anew, which takes some of them long.
EXAMPLES = {"duckdb": 24, "postgresql": 12, "spark": 2}


def checked_on(
    engine_name: str, share: int, *strategies: st.SearchStrategy[Any]
) -> Callable[[Callable[..., None]], None]:
    """Run a check on random cases, as many as the engine has time for divided by ``share``."""
    many = max(1, EXAMPLES[engine_name] // share)

    def run(check: Callable[..., None]) -> None:
        # Not shrunk: a case is small as it is, and to find a smaller one the engine would be opened hundreds of times.
        quick = settings(
            max_examples=many,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
        )
        quick(given(*strategies)(check))()

    return run


def rows_of(table: Table) -> st.SearchStrategy[list[dict[str, Any]]]:
    cells = {
        column.name: st.sampled_from(IDS if column.name == "id" else CELLS[column.kind]) for column in table.columns
    }
    return st.lists(st.fixed_dictionaries(cells), max_size=16)


TABLES = st.fixed_dictionaries({table.name: rows_of(table) for table in DATASET.tables})


def integer(value: int) -> Literal:
    return Literal(value, Kind.INTEGER)


def of_kind(relation: Relation, *kinds: Kind) -> list[str]:
    return [name for name, kind in relation.columns.items() if kind in kinds]


@st.composite
def conditions(draw: st.DrawFn, relation: Relation) -> Expression:
    name = draw(st.sampled_from(list(relation.columns)))
    kind = relation.columns[name]
    if kind is Kind.BOOLEAN:
        return Name(name)
    value = draw(st.sampled_from([cell for cell in CELLS[kind] if cell == cell and abs_ok(cell)]))
    function = draw(st.sampled_from(["equal", "less", "at_least", "unequal"]))
    return draw(st.sampled_from([Call(function, (Name(name), Literal(value, kind))), Call("is_null", (Name(name),))]))


def abs_ok(value: Any) -> bool:
    return not isinstance(value, float) or abs(value) != float("inf")


@st.composite
def keys(draw: st.DrawFn, relation: Relation, most: int = 2) -> tuple[Expression, ...]:
    names = draw(st.lists(st.sampled_from(list(relation.columns)), max_size=most, unique=True))
    return tuple(Name(name) for name in names)


@st.composite
def measures(draw: st.DrawFn, relation: Relation, *, own: bool = False) -> Measure:
    name = draw(st.sampled_from(list(relation.columns)))
    options: list[Measure] = [CountRows(), CountOf(Name(name))]
    if relation.has_persons:
        options.append(Persons())
    for number in of_kind(relation, Kind.INTEGER):
        options.append(Sum(Name(number)))
        options.append(Sum(Grid(Name(number), -5.0, 5.0, 0.0, 0)))
    for number in of_kind(relation, Kind.REAL):
        options.append(Sum(Grid(Name(number), -4.0, 4.0, 0.5, 40)))
    if own:
        options += [Smallest(Name(name)), Largest(Name(name))]
    return draw(st.sampled_from(options))


@st.composite
def relations(draw: st.DrawFn, depth: int = 3) -> Relation:
    relation: Relation = Scan(draw(st.sampled_from([VISITS, STAYS])))
    for step in range(draw(st.integers(0, depth))):
        relation = draw(one_more(relation, step))
    return relation


OPERATORS = (
    *("filter", "project", "public", "level", "persons", "per", "window", "keep", "bounded"),
    *("several", "union", "running"),
)


@st.composite
def one_more(draw: st.DrawFn, relation: Relation, step: int, operators: tuple[str, ...] = OPERATORS) -> Relation:
    columns = list(relation.columns)
    what = draw(st.sampled_from(operators))
    if what == "filter":
        return Filter(relation, draw(conditions(relation)))
    if what == "project":
        chosen = draw(st.lists(st.sampled_from(columns), min_size=1, max_size=3, unique=True))
        outputs: list[tuple[str, Expression]] = [(f"{name}_{step}", Name(name)) for name in chosen]
        for number in of_kind(relation, Kind.INTEGER, Kind.REAL)[:1]:
            outputs.append((f"q_{step}", Grid(Name(number), 0.0, 3.0, 0.0, 1)))
        return Project(relation, tuple(outputs))
    if what == "public" and of_kind(relation, Kind.TEXT):
        key = Name(draw(st.sampled_from(of_kind(relation, Kind.TEXT))))
        return JoinPublic(relation, REGIONS, (key,), draw(st.booleans()), f"region{step}_")
    if what == "level" and of_kind(relation, Kind.INTEGER, Kind.REAL):
        key = Name(draw(st.sampled_from(of_kind(relation, Kind.INTEGER, Kind.REAL))))
        return JoinPublic(relation, LEVELS, (key,), draw(st.booleans()), f"level{step}_")
    if what == "persons":
        right = draw(st.sampled_from([Scan(VISITS), Scan(STAYS), Filter(Scan(STAYS), Name("ok"))]))
        condition = None
        if draw(st.booleans()):
            first = draw(st.sampled_from(columns))
            other = [name for name, kind in right.columns.items() if kind is relation.columns[first]]
            if other:
                condition = Call("at_most", (Name(first), Name(f"other{step}_{other[-1]}")))
        left, right = (
            Bounded(side, (), Limits(draw(st.integers(1, 4))), tuple(side.columns)) for side in (relation, right)
        )
        return JoinPersons(left, right, condition, draw(st.booleans()), f"other{step}_")
    if what == "several":
        return draw(several(relation, step))
    if what == "union":
        right = draw(st.sampled_from([relation, Filter(relation, draw(conditions(relation))), Scan(STAYS)]))
        if right == Scan(STAYS):
            given = {kind: Name(name) for name, kind in right.columns.items()}
            outputs = [(f"u_{name}", given.get(kind, Literal(None, kind))) for name, kind in relation.columns.items()]
            right = Project(right, tuple(outputs))
        return UnionAll(*draw(st.permutations([relation, right])))
    if what == "per":
        wanted = draw(keys(relation))
        own = draw(st.lists(measures(relation, own=True), min_size=1, max_size=2))
        named = tuple((f"k{place}_{step}", key) for place, key in enumerate(wanted))
        return PerPerson(relation, named, tuple((f"m{place}_{step}", one) for place, one in enumerate(own)))
    if what in ("window", "running"):
        listed = [
            "row_number",
            "lag",
            "lead",
            "count",
            "sum",
            "smallest",
            "largest",
            "rank",
            "dense_rank",
            "first",
            "last",
        ]
        function = draw(st.sampled_from(listed if what == "window" else listed[3:7]))
        value: Expression | None = Name(draw(st.sampled_from(columns)))
        if function == "sum":
            value = Name(draw(st.sampled_from(of_kind(relation, Kind.INTEGER) or [""])))
            if not of_kind(relation, Kind.INTEGER):
                return relation
        if function in ("row_number", "rank", "dense_rank") or (function == "count" and draw(st.booleans())):
            value = None
        order = tuple((Name(name), draw(st.booleans())) for name in draw(st.permutations(columns))[:2])
        running = draw(st.sampled_from(["range", "rows"])) if what == "running" else None
        offset = draw(st.sampled_from([None, 2, 3])) if function in ("lag", "lead") else None
        frame = None
        if running is None and function in (*listed[3:7], "first", "last"):
            frame = draw(st.sampled_from([None, (-2, 0), (-1, 1), (None, -1), (1, 2), (None, 2)]))
        return Window(relation, f"w_{step}", function, value, draw(keys(relation, 1)), order, running, offset, frame)
    if what == "keep":
        wanted = draw(keys(relation))
        kinds = [relation.columns[key.name] for key in wanted if isinstance(key, Name)]
        cells = [st.sampled_from([cell for cell in CELLS[kind] if abs_ok(cell) and cell == cell]) for kind in kinds]
        return Keep(relation, wanted, tuple(draw(st.lists(st.tuples(*cells), max_size=6))))
    if what == "bounded":
        return draw(bounds(relation))
    return relation


@st.composite
def several(draw: st.DrawFn, relation: Relation, step: int) -> Relation:
    """Return a join to a public table on less than its key, or on nothing, with conditions of all sorts."""
    prefix = f"public{step}_"
    names = of_kind(relation, Kind.INTEGER, Kind.REAL)
    on, wanted = ((), ())
    if names and draw(st.booleans()):
        on, wanted = ("size",), (Name(draw(st.sampled_from(names))),)
    where = draw(st.sampled_from([None, Call("is_null", (Name("rank"),)), Call("less", (Name("size"), integer(3)))]))
    condition: Expression | None = None
    if names and draw(st.booleans()):
        condition = Call("at_most", (Name(draw(st.sampled_from(names))), Name(f"{prefix}rank")))
    most = draw(st.sampled_from([None, 2, 3]))
    below = Bounded(relation, (), Limits(2), tuple(relation.columns)) if most else relation
    return JoinPublic(below, REGIONS, wanted, draw(st.booleans()), prefix, on, most, where, condition)


@st.composite
def bounds(draw: st.DrawFn, relation: Relation) -> Bounded:
    limit = st.one_of(st.none(), st.integers(1, 4))
    limits = Limits(draw(limit), draw(limit), draw(limit))
    return Bounded(relation, draw(keys(relation)), limits, tuple(draw(st.permutations(list(relation.columns)))))


@st.composite
def aggregations(draw: st.DrawFn, depth: int = 3) -> Aggregation:
    relation = draw(relations(depth))
    shape = draw(st.sampled_from(["free", "bounded", "kept"]))
    wanted = draw(keys(relation))
    if shape == "bounded":
        relation = draw(bounds(relation))
        wanted = relation.keys if draw(st.booleans()) else wanted
    if shape == "kept" and wanted:
        kinds = [relation.columns[key.name] for key in wanted if isinstance(key, Name)]
        cells = [st.sampled_from([cell for cell in CELLS[kind] if abs_ok(cell) and cell == cell]) for kind in kinds]
        relation = Keep(relation, wanted, tuple(draw(st.lists(st.tuples(*cells), min_size=1, max_size=6))))
    return Aggregation(relation, wanted, tuple(draw(st.lists(measures(relation), min_size=1, max_size=3))))


def as_counter(answer: Any) -> Counter[Any]:
    return Counter(zip(answer.keys, answer.measures, strict=True))


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_gives_the_rows_of_the_reference(
    factories: dict[str, Any], engine_name: str, operator: str
) -> None:
    """All columns are keys, so that every row shows; rows of few persons and few values, so that many tie."""
    above = st.one_of(*(one_more(Scan(table), 0, (operator,)) for table in (VISITS, STAYS)))

    @checked_on(engine_name, 3, TABLES, st.lists(above, min_size=6, max_size=8))
    def check(tables: dict[str, Any], asked: list[Relation]) -> None:
        with factories[engine_name](DATASET, tables, portable=True) as engine:
            for relation in asked:
                rows = Aggregation(relation, tuple(Name(name) for name in relation.columns), (CountRows(),))
                assert as_counter(aggregate(rows, tables)) == as_counter(engine.aggregate(rows)), relation


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables=TABLES, relation=relations())
def test_no_person_has_more_rows_than_the_form_of_a_relation_allows(tables: dict[str, Any], relation: Relation) -> None:
    most = rows_per_person(relation)
    found = Counter(row[PERSON] for row in reference.rows_of(relation, tables))
    assert most is None or max(found.values(), default=0) <= most


def test_portable_answers_are_those_of_the_reference(factories: dict[str, Any], engine_name: str) -> None:
    @checked_on(engine_name, 1, TABLES, st.lists(aggregations(), min_size=4, max_size=6))
    def check(tables: dict[str, Any], asked: list[Aggregation]) -> None:
        with factories[engine_name](DATASET, tables, portable=True) as engine:
            for aggregation in asked:
                meant = as_counter(aggregate(aggregation, tables))
                assert meant == as_counter(engine.aggregate(aggregation)), aggregation


def test_what_one_person_keeps_depends_on_that_person_alone(factories: dict[str, Any], engine_name: str) -> None:
    """With the engine's own hash: the limits hold, and without another person everything else stays as it was."""

    @checked_on(engine_name, 2, TABLES, st.data())
    def check(tables: dict[str, Any], data: st.DataObject) -> None:
        bounded = data.draw(bounds(Scan(VISITS)))
        every = (Name("id"), *(Name(name) for name in VISITS.kinds if name != "id"))
        gone = data.draw(st.sampled_from(IDS[1:]))
        rows = tables["visits"]
        # Three tables of one engine: opening one takes longer than what is asked of it here.
        given_rows = {"all": rows, "fewer": [row for row in rows if row["id"] != gone], "moved": rows[::-1]}
        same = tuple(dataclasses.replace(VISITS, name=name) for name in given_rows)
        with factories[engine_name](dataclasses.replace(DATASET, tables=same), given_rows) as engine:
            asked = [dataclasses.replace(bounded, relation=Scan(table)) for table in same]
            found = [as_counter(engine.aggregate(Aggregation(one, every, (CountRows(),)))) for one in asked]
        whole, without, reordered = found
        assert whole == reordered
        assert without == Counter({entry: many for entry, many in whole.items() if entry[0][0] != gone})
        _check_limits(whole, bounded, tables["visits"])


def _check_limits(found: Counter[Any], bounded: Bounded, rows: list[dict[str, Any]]) -> None:
    names = ["id", *(name for name in VISITS.kinds if name != "id")]
    limits = bounded.limits
    kept: dict[Any, Counter[Any]] = {}
    for (key, (count,)), _ in found.items():
        row = dict(zip(names, key, strict=True))
        group = tuple(row[part.name] for part in bounded.keys if isinstance(part, Name))
        kept.setdefault(row["id"], Counter())[group] += count
    for person in kept:
        own = [row for row in rows if row["id"] == person]
        sizes = Counter(tuple(_clean(row[part.name]) for part in bounded.keys if isinstance(part, Name)) for row in own)
        capped = {group: min(size, limits.rows_per_group or size) for group, size in sizes.items()}
        assert len(kept[person]) <= (limits.groups or len(sizes))
        assert all(kept[person][group] <= capped[group] for group in kept[person])
        least = sum(sorted(capped.values())[: limits.groups])
        assert kept[person].total() <= (limits.rows or len(own))
        assert kept[person].total() >= min(limits.rows or len(own), least)


def _clean(value: Any) -> Any:
    if isinstance(value, float):
        return None if value != value or abs(value) == float("inf") else value + 0.0
    return value


def test_preaggregation_and_dropped_limits_are_the_same_statistic(factories: dict[str, Any], engine_name: str) -> None:
    """Row by row, spelled out as windows of the tree, against what is printed for the limits; in portable mode."""

    @checked_on(engine_name, 1, TABLES, st.data())
    def check(tables: dict[str, Any], data: st.DataObject) -> None:
        bounded = data.draw(bounds(Scan(VISITS)))
        counted = Aggregation(bounded, bounded.keys, (CountRows(), Persons()))
        summed = Aggregation(bounded, bounded.keys, (CountRows(), CountOf(Name("cost")), Sum(Name("n")), Persons()))
        with factories[engine_name](DATASET, tables, portable=True) as engine:
            for aggregation in (counted, summed):
                assert as_counter(aggregate(aggregation, tables)) == as_counter(engine.aggregate(aggregation))
        rows_limit = effective_limits(bounded).rows
        assert preaggregates(counted) == (not bounded.keys or rows_limit is None)


def test_every_combination_of_limits_leaves_the_rows_of_the_reference(open_engine: Any) -> None:
    """Persons with one to nine rows in three groups: each limit alone, any two, all three, and with no keys at all."""
    rows = [
        {"id": person, "region": "xyz"[(number * number + person) % 3], "cost": None, "n": number, "day": None}
        for person in range(1, 10)
        for number in range(person)
    ]
    tables = {"visits": rows, "stays": [], "regions": [], "levels": []}
    some = ((None, 1, 4), (None, 1, 2), (None, 1, 2))
    with open_engine(DATASET, tables, portable=True) as engine:
        for limits in (Limits(*three) for three in itertools.product(*some)):
            for wanted in ((Name("region"),), ()):
                bounded = Bounded(Scan(VISITS), wanted, limits, ("id", "region", "n"))
                kept = Aggregation(bounded, tuple(map(Name, bounded.order)), (CountRows(),))
                counted = Aggregation(bounded, wanted, (CountRows(), Persons()))
                summed = Aggregation(bounded, wanted, (Sum(Name("n")), Persons()))
                for aggregation in (kept, counted, summed):
                    assert as_counter(aggregate(aggregation, tables)) == as_counter(engine.aggregate(aggregation)), (
                        limits
                    )


def test_a_hundred_thousand_public_keys(open_engine: Any) -> None:
    keys = tuple((number, f"k{number % 7}") for number in range(100_000))
    rows = [
        {"id": 1, "region": f"k{number % 7}", "cost": 1.0, "n": number, "day": None}
        for number in range(0, 100_000, 1000)
    ]
    rows += [{**rows[0], "region": "elsewhere"}, {**rows[0], "region": None}, {**rows[0], "n": None}]
    tables = {"visits": rows, "stays": [], "regions": [], "levels": []}
    with open_engine(DATASET, tables) as engine:
        kept = Keep(Scan(VISITS), (Name("n"), Name("region")), keys)
        late = engine.aggregate(Aggregation(kept, (Name("n"), Name("region")), (CountRows(),)))
        early = engine.aggregate(Aggregation(Filter(kept, Literal(True, Kind.BOOLEAN)), (), (CountRows(),)))
    assert 100 == len(late.keys) == early.measures[0][0]


def test_a_key_that_is_listed_twice_counts_its_rows_once(open_engine: Any) -> None:
    rows = [{"id": 1, "region": region, "cost": None, "n": 4, "day": None} for region in ("x", None, "y")]
    keep = Keep(Scan(VISITS), (Name("region"),), (("x",), (None,), ("x",), (None,)))
    with open_engine(DATASET, {"visits": rows, "stays": [], "regions": [], "levels": []}) as engine:
        for relation in (keep, Filter(keep, Literal(True, Kind.BOOLEAN))):
            answer = engine.aggregate(Aggregation(relation, (Name("region"),), (CountRows(),)))
            assert as_counter(answer) == Counter({(("x",), (1,)): 1, ((None,), (1,)): 1})


def test_whole_numbers_that_are_one_real_count_their_rows_once(open_engine: Any) -> None:
    # Would catch: a list that is made different in Python and not in the engine, which joined a row to both.
    rows = [{"id": 1, "region": "x", "cost": 2.0**53, "n": 4, "day": None}]
    keep = Keep(Scan(VISITS), (Name("cost"),), ((2**53,), (2**53 + 1,), (2.0**53,), (1,)))
    with open_engine(DATASET, {"visits": rows, "stays": [], "regions": [], "levels": []}) as engine:
        for relation in (keep, Filter(keep, Literal(True, Kind.BOOLEAN))):
            answer = engine.aggregate(Aggregation(relation, (Name("cost"),), (CountRows(),)))
            assert as_counter(answer) == Counter({((2.0**53,), (1,)): 1})
    with pytest.raises(InvalidParameter, match="categories of cost must be different"):
        Column("cost", Kind.REAL, categories=(2**53, 2**53 + 1))


def test_sums_are_exact_beyond_64_bits(open_engine: Any) -> None:
    most, least = 2**63 - 1, -(2**63)
    numbers = [most] * 5 + [least] * 2 + [7, -1, None]
    rows = [{"id": 1, "region": "x", "cost": None, "n": number, "day": None} for number in numbers]
    with open_engine(DATASET, {"visits": rows, "stays": [], "regions": [], "levels": []}) as engine:
        whole = engine.aggregate(Aggregation(Scan(VISITS), (), (Sum(Name("n")), CountOf(Name("n")))))
        own = PerPerson(Scan(VISITS), (), (("total", Sum(Name("n"))), ("most", Largest(Name("n")))))
        per_person = engine.aggregate(Aggregation(own, (Name("total"), Name("most")), (CountRows(),)))
    assert ((5 * most + 2 * least + 6, 9),) == whole.measures
    assert all(type(value) is int for value in whole.measures[0])
    assert ((None, most),) == per_person.keys


def test_nothing_to_count_is_one_row_of_zeros_without_keys_and_none_with(open_engine: Any) -> None:
    with open_engine(DATASET, {table.name: [] for table in DATASET.tables}) as engine:
        measures: tuple[Measure, ...] = (CountRows(), Persons(), Sum(Name("n")), CountOf(Name("cost")))
        for relation in (Scan(VISITS), Bounded(Scan(VISITS), (), Limits(rows=2), ("n", "cost"))):
            assert engine.aggregate(Aggregation(relation, (), measures)).measures == ((0, 0, 0, 0),)
            assert engine.aggregate(Aggregation(relation, (Name("n"),), measures)).keys == ()
        counts = Aggregation(Bounded(Scan(VISITS), (), Limits(rows=2), ()), (), (CountRows(), Persons()))
        assert engine.aggregate(counts).measures == ((0, 0),)


def test_public_rows_are_read_as_they_are_each_as_often_as_it_occurs(open_engine: Any) -> None:
    values = [cell for cell in CELLS[Kind.REAL] if cell is None or abs(cell) < 1e9]
    regions = [
        {"name": name, "size": size, "rank": rank}
        for name, size, rank in itertools.product(TEXTS, (None, -(2**63), 7), values)
    ]
    data: dict[str, Any] = {table.name: [] for table in DATASET.tables} | {"regions": regions + regions[:3]}
    asked = Aggregation(PublicScan(REGIONS), tuple(map(Name, REGIONS.kinds)), (CountRows(),))
    with open_engine(DATASET, data) as engine:
        found = engine.aggregate(asked)
    wanted = ReferenceEngine(DATASET, data).aggregate(asked)
    ours, theirs = (dict(zip(one.keys, one.measures, strict=True)) for one in (found, wanted))
    assert ours == theirs


@pytest.mark.parametrize("portable", [False, True])
def test_rows_that_differ_only_within_the_hash_are_chosen_by_their_values(open_engine: Any, portable: bool) -> None:
    """Reals closer than the portable hash can tell: the order columns decide, wherever the rows are stored."""
    rows = [{"id": 1, "region": "x", "cost": 0.25 + place * 2.0**-40, "n": 7, "day": None} for place in range(8)]
    aggregation = Aggregation(Bounded(Scan(VISITS), (), Limits(rows=3), ("n", "cost")), (Name("cost"),), (CountRows(),))
    answers = []
    for given_rows in (rows, rows[::-1], rows[3:] + rows[:3]):
        tables = {"visits": given_rows, "stays": [], "regions": [], "levels": []}
        with open_engine(DATASET, tables, portable=portable) as engine:
            answers.append(as_counter(engine.aggregate(aggregation)))
    assert answers[0] == answers[1] == answers[2]
    if portable:
        assert {key[0] for key, _ in answers[0]} == {row["cost"] for row in rows[:3]}


def test_names_that_differ_by_case_alone_are_different_columns(open_engine: Any) -> None:
    rows = [{"id": 1, "region": "x", "cost": None, "n": 4, "day": None}]
    project = Project(
        Scan(VISITS), (("a", Name("n")), ("A", Call("add", (Name("n"), integer(1)))), ('"; --', Name("region")))
    )
    case = Case(((Call("equal", (Name('"; --'), Literal("x", Kind.TEXT))), Cast(Name("A"), Kind.TEXT)),), Name('"; --'))
    with open_engine(DATASET, {"visits": rows, "stays": [], "regions": [], "levels": []}) as engine:
        answer = engine.aggregate(Aggregation(project, (Name("a"), Name("A"), case), (CountRows(),)))
    assert answer.keys == ((4, 5, "5"),)


def test_all_requests_over_one_bound_see_the_same_rows(factories: dict[str, Any], engine_name: str) -> None:
    """A finer grouping adds up to a coarser one, also with the engine's own hash: searches rely on it."""

    @checked_on(engine_name, 3, TABLES, st.data())
    def check(tables: dict[str, Any], data: st.DataObject) -> None:
        bounded = data.draw(bounds(Scan(VISITS)))
        fine = tuple(Name(name) for name in ("region", "n", "cost", "day"))
        measures: tuple[Measure, ...] = (CountRows(), CountOf(Name("cost")), Sum(Name("n")))
        with factories[engine_name](DATASET, tables) as engine:
            finest = engine.aggregate(Aggregation(bounded, fine, measures))
            for many in (0, 1, 2):
                coarse = engine.aggregate(Aggregation(bounded, fine[:many], measures))
                added: dict[Any, tuple[int, ...]] = {(): (0, 0, 0)} if many == 0 else {}
                for key, values in zip(finest.keys, finest.measures, strict=True):
                    before = added.get(key[:many], (0, 0, 0))
                    added[key[:many]] = tuple(a + b for a, b in zip(before, values, strict=True))
                assert dict(zip(coarse.keys, coarse.measures, strict=True)) == added
