"""Spark: the shared suite in few queries, files, and what happens when something is absent or breaks."""

from __future__ import annotations

import dataclasses
import datetime
import importlib.util
import itertools
import logging
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dither.curator.folder import Curator
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
    Kind,
    Limits,
    Literal,
    Name,
    Persons,
    Scan,
    Table,
)
from dither.data.engines import Engine, connect
from dither.data.engines import spark as spark_module
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.engines.spark import SparkEngine
from dither.data.expressions import FUNCTIONS, kind_of
from dither.data.reference import aggregate
from dither.data.schema import person_unit
from dither.errors import EngineFailure, EngineUnavailable, InvalidParameter, MissingExtra
from dither.privacy import ROW, PureDP
from dither.publish.microdata import ItemTable
from dither.publish.synthetic import codings_of
from dither.publish.synthetic.counted_families import children_of, parents_of

pytestmark = pytest.mark.slow
COLUMNS_A_QUERY = 60
CALLS_A_FUNCTION = 4


def sibling(name: str) -> ModuleType:
    """Return another file of the suite: tests are not a package."""
    spec = importlib.util.spec_from_file_location(f"spark_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hostile, random_relations = sibling("test_expressions"), sibling("test_relations")
extremes, limits_suite, owned = sibling("test_extremes"), sibling("test_limits"), sibling("test_owned")
arrow_table = sibling("conftest").arrow_table


@pytest.fixture(scope="module")
def open_spark(factories: dict[str, Any]) -> Callable[..., Engine]:
    # Opened once here: what skips where Spark cannot run must skip tests that open engines of their own, too.
    table = Table("none", (Column("a", Kind.INTEGER),), "none")
    factories["spark"](DataSet("none", (table,), ROW), {"none": []}).close()
    return factories["spark"]


@pytest.fixture(scope="module")
def cells(open_spark: Callable[..., Engine]) -> Engine:
    return open_spark(hostile.DATASET, {"cells": hostile.ROWS})


def some(expressions: list[Expression], most: int) -> list[Expression]:
    """Return a few of them, evenly spaced."""
    step = -(-len(expressions) // most)
    return expressions[::step]


def test_functions_and_casts_mean_the_same_over_hostile_cells(cells: Engine) -> None:
    chosen = [call for function in sorted(FUNCTIONS) for call in some(hostile.calls(function), CALLS_A_FUNCTION)]
    for named, kind in itertools.product(itertools.chain(*hostile.NAMED.values()), Kind):
        cast = Cast(named, kind)
        try:
            kind_of(cast, hostile.KINDS)
        except InvalidParameter:
            continue
        chosen.append(cast)
    assert {call.function for call in chosen if isinstance(call, Call)} == set(FUNCTIONS)
    inexact = [one for one in chosen if isinstance(one, Call) and one.function in hostile.INEXACT]
    exact = [one for one in chosen if one not in inexact]
    wrong = hostile.mismatches(cells, inexact, exact=False)
    for start in range(0, len(exact), COLUMNS_A_QUERY):
        wrong += hostile.mismatches(cells, exact[start : start + COLUMNS_A_QUERY])
    assert wrong[:5] == []


@pytest.mark.usefixtures("cells")  # Spark runs, or the test is skipped
def test_forms_over_extremes_of_stored_types_mean_the_same() -> None:
    extremes.check_spark()


def test_every_pattern_means_the_same_and_none_takes_long(cells: Engine) -> None:
    """Spark's own LIKE goes back: of a cell with thousands of one letter the last pattern would never be done."""
    patterns = [*hostile.PATTERNS, "_%_b", "%a_", "%🙂", "%_🙂_%", "%x" * 30 + "%y", "%x_" * 30 + "%y%"]
    asked = [Call("like", (Name("t"), hostile.text(pattern))) for pattern in patterns]
    assert hostile.mismatches(cells, asked)[:5] == []


def test_random_patterns_mean_the_same(open_spark: Callable[..., Engine]) -> None:
    limits_suite.check_patterns(open_spark, 1)


def test_a_statement_that_meets_the_time_limit_fails_as_any_other_and_the_next_one_is_answered(
    open_spark: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits_suite.check_time_limit(open_spark, monkeypatch, 0.05)


def test_texts_are_cut_at_code_points_and_longer_privacy_ids_are_none(open_spark: Callable[..., Engine]) -> None:
    limits_suite.check_texts(open_spark)


def test_rows_that_are_too_wide_are_refused_before_anything_is_asked(cells: Engine) -> None:
    grown = Call("replace", (Name("t"), Literal("x", Kind.TEXT), Literal("x" * 999, Kind.TEXT)))
    with pytest.raises(InvalidParameter, match="bytes of computed text in a row"):
        cells.prepare(Aggregation(Scan(hostile.TABLE), (grown,), (CountRows(),)))


def test_elementary_functions_agree_to_the_last_bit_in_portable_mode(open_spark: Callable[..., Engine]) -> None:
    hostile.check_elementary_functions(open_spark, 20)


def test_grids_and_chains_mean_the_same_over_hostile_cells(cells: Engine) -> None:
    hostile.test_membership_case_and_grids_mean_the_same_over_hostile_cells(cells)
    hostile.check_chains(cells, exact=False)


@settings(
    max_examples=2, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
@given(expressions=st.lists(hostile.NESTED, min_size=8, max_size=8))
def test_nested_expressions_mean_the_same_over_hostile_cells(cells: Engine, expressions: list[Expression]) -> None:
    assert hostile.mismatches(cells, expressions)[:3] == []


def test_a_long_operand_that_is_read_often_is_computed_once(cells: Engine) -> None:
    expression: Expression = Name("i")
    for _ in range(12):
        expression = Call("quotient", (Call("absolute", (expression,)), Literal(1, Kind.INTEGER)))
    assert len(cells.statement(Aggregation(Scan(hostile.TABLE), (expression,), (CountRows(),))).text) < 20_000  # type: ignore[attr-defined]
    assert hostile.mismatches(cells, [expression])[:3] == []


def test_an_expression_nested_deeply_is_answered_or_refused_before_its_sql_grows(cells: Engine) -> None:
    """Spark's search for common parts doubles its time with every level; without it sixty levels take a second."""
    hostile.check_deep_expression(cells)
    doubling: Expression = Name("i")
    for _ in range(14):
        doubling = Case(((Call("less", (doubling, Literal(3, Kind.INTEGER))), doubling),), Literal(1, Kind.INTEGER))
    assert hostile.mismatches(cells, [doubling])[:3] == []


@settings(
    max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate]
)
@given(tables=random_relations.TABLES, asked=st.lists(random_relations.aggregations(), min_size=3, max_size=3))
def test_portable_answers_are_those_of_the_reference(
    open_spark: Callable[..., Engine], tables: dict[str, Any], asked: list[Aggregation]
) -> None:
    counter = random_relations.as_counter
    with open_spark(random_relations.DATASET, tables, portable=True) as engine:
        for aggregation in asked:
            assert counter(aggregate(aggregation, tables)) == counter(engine.aggregate(aggregation)), aggregation


@settings(max_examples=1, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(tables=random_relations.TABLES, data=st.data())
def test_joins_unions_and_windows_give_the_rows_of_the_reference(
    open_spark: Callable[..., Engine], tables: dict[str, Any], data: st.DataObject
) -> None:
    with open_spark(random_relations.DATASET, tables, portable=True) as engine:
        for operator in ("several", "union", "running", "window"):
            relation = data.draw(random_relations.one_more(Scan(random_relations.VISITS), 0, (operator,)))
            asked = Aggregation(relation, tuple(Name(name) for name in relation.columns), (CountRows(),))
            counter = random_relations.as_counter
            assert counter(aggregate(asked, tables)) == counter(engine.aggregate(asked)), relation


def test_rows_of_referring_tables_are_those_of_the_reference(open_spark: Callable[..., Engine]) -> None:
    for shop in (owned.SHOP, owned.LIMITED):
        with open_spark(shop, owned.tables(), portable=True) as engine:
            owned.check(engine)


@pytest.mark.parametrize(
    "limits", [Limits(rows=2), Limits(groups=1, rows_per_group=2), Limits(rows=3, groups=2)], ids=str
)
def test_what_one_person_keeps_depends_on_that_person_alone(open_spark: Callable[..., Engine], limits: Limits) -> None:
    """With Spark's own hash: the limits hold, and other persons and the order of rows change nothing."""
    relations = random_relations
    rows = [
        {"id": person, "region": relations.TEXTS[place % 5], "cost": place / 3, "n": place % 4, "day": None}
        for person in (1, 2, 3, -(2**63), None)
        for place in range(9)
    ]
    every = tuple(Name(name) for name in relations.VISITS.kinds)
    bounded = Bounded(Scan(relations.VISITS), (Name("region"),), limits, tuple(relations.VISITS.kinds))
    aggregation = Aggregation(bounded, every, (CountRows(),))
    found = []
    for given_rows in (rows, [row for row in rows if row["id"] != 2], rows[::-1]):
        empty: dict[str, Any] = {table.name: [] for table in relations.DATASET.tables}
        with open_spark(relations.DATASET, {**empty, "visits": given_rows}) as engine:
            found.append(relations.as_counter(engine.aggregate(aggregation)))
    whole, without, reordered = found
    assert whole == reordered
    assert {entry for entry in whole if entry[0][0] != 2} == set(without)
    relations._check_limits(whole, bounded, rows)


def test_keys_sums_names_and_nothing(open_spark: Callable[..., Engine]) -> None:
    random_relations.test_a_hundred_thousand_public_keys(open_spark)
    random_relations.test_sums_are_exact_beyond_64_bits(open_spark)
    random_relations.test_names_that_differ_by_case_alone_are_different_columns(open_spark)


# Files, beside DuckDB.

VISITS = Table(
    "visits",
    (
        Column("who", Kind.TEXT),
        Column("region", Kind.TEXT),
        Column("cost", Kind.REAL),
        Column("n", Kind.INTEGER),
        Column("day", Kind.DATE),
        Column("seen", Kind.TIMESTAMP),
        Column("ok", Kind.BOOLEAN),
    ),
    "visits.csv",
)
CSV = """region;who;cost;n;day;seen;ok;unused
north;a;1.5;1;2024-02-29;2024-02-29 10:11:12;true;x
south;"b;b";nan;2;2023-02-29;2024-02-29T10:11:12;F;x
"no
rth";c;1e400;9223372036854775808;0001-01-01;;t;x
north;"d""d";-inf;1.0;9999-12-31;2024-02-29;yes;x
"";e;;;;;;x
;f;12;7;today;now;1;x
"""


def every_cell(table: Table) -> Aggregation:
    return Aggregation(Scan(table), tuple(Name(name) for name in table.kinds), (CountRows(),))


def test_a_file_reads_as_it_does_in_duckdb(tmp_path: Path, open_spark: Callable[..., Engine]) -> None:
    (tmp_path / "visits.csv").write_text(CSV, encoding="utf-8")
    dataset = DataSet("clinic", (VISITS,), ROW, engine="spark")
    with SparkEngine(dataset, folder=tmp_path) as spark, DuckDBEngine(dataset, folder=tmp_path) as duckdb:
        found, meant = spark.aggregate(every_cell(VISITS)), duckdb.aggregate(every_cell(VISITS))
    assert random_relations.as_counter(meant) == random_relations.as_counter(found)
    assert len(found.keys) == 6


def test_parquet_with_other_types_reads_as_declared(tmp_path: Path, open_spark: Callable[..., Engine]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    moments = [datetime.datetime(1, 1, 1), datetime.datetime(1500, 2, 3, 4, 5, 6), None]
    stored = pyarrow.table(
        {
            "who": pyarrow.array([1, None, 3], pyarrow.int32()),
            "region": ["x", "y", None],
            "cost": pyarrow.array([0.1, float("nan"), 3.5], pyarrow.float32()),
            "n": pyarrow.array([2.5, -2.5, 1e300]),
            "day": pyarrow.array(moments, pyarrow.timestamp("us")),
            "seen": pyarrow.array([datetime.date(1500, 2, 29 - 1), None, datetime.date(9999, 12, 31)]),
            "ok": ["T", "0", "maybe"],
        }
    )
    parquet.write_table(stored, tmp_path / "visits.parquet")
    table = dataclasses.replace(VISITS, source="visits.parquet")
    dataset = DataSet("clinic", (table,), ROW, engine="spark")
    with connect(dataset, folder=tmp_path) as spark, DuckDBEngine(dataset, folder=tmp_path) as duckdb:
        spark.check()
        found, meant = spark.aggregate(every_cell(table)), duckdb.aggregate(every_cell(table))
    assert random_relations.as_counter(meant) == random_relations.as_counter(found)
    assert {key[3] for key in found.keys} == {2, -3, None}


def test_what_cannot_be_opened_is_refused_with_the_reason(tmp_path: Path, open_spark: Callable[..., Engine]) -> None:
    (tmp_path / "visits.csv").write_text("who,regoin\na,b\n", encoding="utf-8")
    small = dataclasses.replace(VISITS, columns=VISITS.columns[:2])
    cases = [
        (small, "region of table visits is declared.*did you mean 'regoin'"),
        (dataclasses.replace(small, source="absent.csv"), "absent.csv does not exist"),
        (dataclasses.replace(small, source="absent.parquet"), "absent.parquet does not exist"),
        (dataclasses.replace(small, source="https://absent.csv"), "is text and remote"),
        (dataclasses.replace(small, source="./absent"), "is no Parquet that Spark can read"),
        (dataclasses.replace(small, source="absent"), "the catalogue has no such table"),
    ]
    for table, message in cases:
        with pytest.raises(EngineUnavailable, match=message):
            SparkEngine(DataSet("clinic", (table,), ROW, engine="spark"), folder=tmp_path).check()
    frame = pytest.importorskip("pyarrow").table({"who": ["a"], "region": [[1]]})
    with pytest.raises(EngineUnavailable, match="region of table visits is declared text, but Spark stores array"):
        SparkEngine(DataSet("clinic", (small,), ROW, engine="spark"), frames={"visits": frame}).check()
    with pytest.raises(EngineUnavailable, match="already runs with master"):
        SparkEngine(DataSet("clinic", (small,), ROW, engine="spark://elsewhere:7077"), folder=tmp_path).check()


def test_whatever_bytes_a_text_of_a_frame_has_spark_answers(open_spark: Callable[..., Engine]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    stored = pyarrow.array([b"p", b"q", b"q", b"\xff"])
    texts = pyarrow.Array.from_buffers(pyarrow.string(), len(stored), stored.buffers())
    table = Table("t", (Column("c", Kind.TEXT),), "frames")
    asked = Aggregation(Scan(table), (Name("c"),), (CountRows(),))
    for column in (texts, pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 2, 3]), texts)):
        frames = {"t": pyarrow.table({"c": column})}
        with SparkEngine(DataSet("d", (table,), ROW, engine="spark"), frames=frames) as engine:
            assert random_relations.as_counter(engine.aggregate(asked)) == {
                (("p",), (1,)): 1,
                (("q",), (2,)): 1,
                ((None,), (1,)): 1,
            }


def test_a_query_that_dies_says_one_thing_and_logs_nothing(
    tmp_path: Path,
    open_spark: Callable[..., Engine],
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    cell = "Aurelia Quist"
    rows = pytest.importorskip("pyarrow").table({"who": [cell], "region": ["x"]})
    parquet.write_table(rows, tmp_path / "visits.parquet")
    table = dataclasses.replace(VISITS, columns=VISITS.columns[:2], source="visits.parquet")
    asked = Aggregation(Filter(Scan(table), Call("like", (Name("who"), Literal("%A%", Kind.TEXT)))), (), (CountRows(),))
    with (
        caplog.at_level(logging.DEBUG),
        SparkEngine(DataSet("c", (table,), ROW, engine="spark"), folder=tmp_path) as engine,
    ):
        assert engine.aggregate(asked).measures == ((1,),)
        # Spark raises on a cell that is no number, and quotes it.
        raising = Aggregation(Scan(table), (), (CountOf(Name("who")),))
        clean = spark_module.SparkEmitter.clean
        try:
            spark_module.SparkEmitter.clean = lambda *_: "CAST(CAST(who AS BIGINT) AS STRING)"  # type: ignore[method-assign]
            with pytest.raises(EngineFailure) as failure:
                engine.aggregate(raising)
        finally:
            spark_module.SparkEmitter.clean = clean  # type: ignore[method-assign]
        assert engine.aggregate(asked).measures == ((1,),)
        (tmp_path / "visits.parquet").unlink()
        with pytest.raises(EngineFailure):
            engine.aggregate(Aggregation(Scan(table), (Name("region"),), (CountOf(Name("who")),)))
    assert str(EngineFailure()) == str(failure.value)
    assert failure.value.__cause__ is failure.value.__context__ is None
    output = capfd.readouterr()
    assert cell not in output.out + output.err + caplog.text


def test_a_session_reads_what_was_added(tmp_path: Path, open_spark: Callable[..., Engine]) -> None:
    """CSV is imported; a directory of Parquet is checked whole, stays where it is, and must stay as it is."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "one.csv").write_text('n,t\n1,"a\rb"\n2,c\n')
    (tmp_path / "many").mkdir()
    for part in range(2):
        parquet.write_table(pyarrow.table({"n": [part], "t": ["x"]}), tmp_path / "many" / f"part{part}.parquet")
    columns = (Column("n", Kind.INTEGER), Column("t", Kind.TEXT))
    tables = (Table("one", columns, str(tmp_path / "one.csv")), Table("many", columns, str(tmp_path / "many")))
    curator = Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")
    curator.add(DataSet("both", tables, ROW, engine="spark"), budget=PureDP(1))
    (tmp_path / "one.csv").unlink()
    session = curator.session("both")
    engine = session._open()
    assert [engine.aggregate(Aggregation(Scan(table), (), (CountRows(),))).measures for table in tables] == [
        ((2,),),
        ((2,),),
    ]
    parquet.write_table(pyarrow.table({"n": [7], "t": ["y"]}), tmp_path / "again.parquet")
    (tmp_path / "again.parquet").replace(tmp_path / "many" / "part0.parquet")
    with pytest.raises(EngineUnavailable, match="replaced or written to"):
        engine.check()
    with pytest.raises(EngineFailure):
        engine.aggregate(Aggregation(Scan(tables[1]), (), (CountRows(),)))
    session.close()
    with pytest.raises(EngineUnavailable, match="is not what was added; add it again"):
        session._open()
    second = DataSet("other", (dataclasses.replace(tables[1], name="seen"),), ROW, engine="spark")
    with pytest.raises(InvalidParameter, match="registered once: it belongs to the data set both"):
        curator.add(second, budget=PureDP(1))
    (tmp_path / "many" / "part1.parquet").write_bytes(b"PAR1")
    with pytest.raises(EngineUnavailable, match=r"part1\.parquet cannot be read|no Parquet that Spark can read"):
        curator.add(DataSet("both", tables[1:], ROW, engine="spark"), budget=PureDP(1))
    curator.close()


def test_without_java_or_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    dataset = DataSet("clinic", (VISITS,), ROW, engine="spark")
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(tmp_path))
        patched.delenv("JAVA_HOME", raising=False)
        with pytest.raises(MissingExtra, match=r"the Spark engine needs Java 17 or newer: .* or set JAVA_HOME"):
            SparkEngine(dataset).check()
    monkeypatch.setitem(__import__("sys").modules, "pyspark.sql", None)
    with pytest.raises(MissingExtra, match="'spark'"):
        SparkEngine(dataset).check()


def test_persons_are_counted_once(open_spark: Callable[..., Engine]) -> None:
    rows = [{"id": place % 7, "region": "x", "cost": 1.0, "n": place, "day": None} for place in range(50)]
    empty: dict[str, Any] = {table.name: [] for table in random_relations.DATASET.tables}
    with open_spark(random_relations.DATASET, {**empty, "visits": rows}) as engine:
        answer = engine.aggregate(Aggregation(Scan(random_relations.VISITS), (), (Persons(), CountRows())))
    assert answer.measures == ((7, 50),)


def test_a_session_makes_tables_of_rows_that_stay_in_spark(
    tmp_path: Path, open_spark: Callable[..., Engine], factories: dict[str, Any]
) -> None:
    """A synthetic table is charged and drawn; families and sets of items are counted as they are in DuckDB."""
    home, area = Column("home", Kind.INTEGER), Column("area", Kind.TEXT, categories=("hill", "lake"))
    item = Column("item", Kind.TEXT, categories=tuple(f"i{number}" for number in range(50)))
    tables = (Table("houses", (home, area), "frames", "home"), Table("items", (home, item), "frames", "home"))
    dataset = DataSet("town", tables, person_unit("home"), rows=3, engine="spark")
    houses = [{"home": number, "area": ("hill", "lake")[number % 2]} for number in range(20)]
    items = [{"home": number % 25, "item": f"i{number % 50}"} for number in range(60)]
    parents, children = (codings_of(dataset, name)[0] for name in ("houses", "items"))
    sets = ItemTable(dataset, children.relation, children.axes[0])
    counted = []
    for name in ("spark", "duckdb"):
        with factories[name](dataset, {"houses": houses, "items": items}) as engine:
            families = (parents_of(parents, children, 3), children_of(parents, children, 3))
            tabled = [cells.table(engine.aggregate(cells.asked)).tolist() for cells in families]
            found = sets.records(engine.aggregate(sets.asked)).astype(int).tolist()
            counted.append((tabled, sorted(found)))
    assert counted[0] == counted[1]
    assert len(counted[0][1]) == 25
    curator = Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")
    curator.add(dataset, budget=PureDP(50))
    frames = {"houses": arrow_table(tables[0], houses), "items": arrow_table(tables[1], items)}
    session = curator.session("town", frames=frames)
    made = session.synthesize("houses", epsilon=50)
    # Noise of scale 3/50 on twenty rows.
    assert abs(made.estimated_rows - 20) < 15
    assert set(made.sample(9).columns["area"].tolist()) <= {"hill", "lake"}
    assert session.balance().spent.pure == 50
    session.close()
    curator.close()


def test_a_folder_of_files_that_differ_is_refused_and_the_file_named(
    tmp_path: Path, open_spark: Callable[..., Engine]
) -> None:
    """Spark takes the columns of one file for those of all: cells of the others become NULL, or a query fails."""
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = Table("visits", (Column("age", Kind.INTEGER), Column("ward", Kind.TEXT)), "./visits")
    folder = tmp_path / "visits"
    folder.mkdir()
    parquet.write_table(pyarrow.table({"age": [1, 2], "ward": ["x", "y"]}), folder / "a.parquet")
    parquet.write_table(pyarrow.table({"ward": ["z"], "age": [3], "more": [1]}), folder / "b.parquet")
    far = dataclasses.replace(table, source=f"file://{folder}")
    for alike in (table, far):
        with SparkEngine(DataSet("clinic", (alike,), ROW, engine="spark"), folder=tmp_path) as spark:
            assert sorted(key[0] for key in spark.aggregate(every_cell(alike)).keys) == [1, 2, 3]
    for other in ({"age": [3]}, {"age": [3.5], "ward": ["z"]}, {"age": [3], "ward": [7]}):
        parquet.write_table(pyarrow.table(other), folder / "b.parquet")
        for differs in (table, far):
            with pytest.raises(EngineUnavailable, match=r"visits: .*/[ab]\.parquet (has|lacks) column (age|ward)"):
                SparkEngine(DataSet("clinic", (differs,), ROW, engine="spark"), folder=tmp_path).check()
