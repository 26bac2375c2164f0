"""PostgreSQL: its own types and names, a role that may only read, constants that it folds early, and failures."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.data import (
    Aggregation,
    Call,
    Case,
    Cast,
    Column,
    CountRows,
    DataSet,
    Expression,
    Grid,
    Kind,
    Literal,
    Name,
    Project,
    Relation,
    Scan,
    Sum,
    Table,
)
from dither.data.engines import connect
from dither.data.engines.postgresql import PostgreSQLEngine
from dither.data.evaluation import evaluate
from dither.errors import EngineFailure, EngineUnavailable, InvalidParameter, MissingExtra
from dither.privacy import ROW, PureDP

MOST, LEAST = 2**63 - 1, -(2**63)
_numbers = itertools.count()


@pytest.fixture(scope="module")
def url(factories: dict[str, Any]) -> str:
    table = Table("none", (Column("a", Kind.INTEGER),), "none")
    return str(factories["postgresql"](DataSet("none", (table,), ROW), {"none": []}).dataset.engine)


@pytest.fixture
def execute(url: str) -> Iterator[Callable[..., Any]]:
    """Run statements as the owner of the database."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection.execute


def dataset(url: str, source: str, *columns: Column) -> DataSet:
    return DataSet("clinic", (Table("visits", columns, source),), ROW, engine=url)


def values(given: DataSet, *, portable: bool = False) -> set[tuple[Any, ...]]:
    """Return the different rows of the one table of a data set."""
    table = given.tables[0]
    with connect(given, portable=portable) as engine:
        engine.check()
        names = tuple(Name(name) for name in table.kinds)
        return set(engine.aggregate(Aggregation(Scan(table), names, (CountRows(),))).keys)


def test_types_of_postgresql_become_the_declared_kinds(url: str, execute: Callable[..., Any]) -> None:
    execute('CREATE SCHEMA IF NOT EXISTS "Odd Schema"')
    execute("CREATE TYPE colour AS ENUM ('red', 'green')")
    execute("CREATE DOMAIN percentage AS integer CHECK (VALUE <= 100)")
    execute(
        'CREATE TABLE "Odd Schema".types ("Mixed" colour, id uuid, share percentage, small smallint, price numeric,'
        " whole numeric, single real, word char(4), day date, seen timestamptz, noon timestamp, ok text, flag boolean)"
    )
    execute(
        "INSERT INTO \"Odd Schema\".types VALUES ('red', '00000000-0000-0000-0000-000000000001', 7, -3, 1e400, 2.5,"
        " 'NaN', 'ab', 'infinity', '2024-01-01 00:30+02', '-infinity', 'T', true),"
        " ('green', NULL, NULL, NULL, 'NaN', 9223372036854775807.5, 'Infinity', NULL, '0044-03-15 BC', 'infinity',"
        " '12000-01-01', 'maybe', NULL),"
        " (NULL, NULL, NULL, NULL, 1e-400, 9223372036854775808, 0.5, NULL, '2024-02-29', NULL, '2024-02-29 12:00', '0',"
        " false), (NULL, NULL, NULL, NULL, 0.1, 'Infinity', NULL, NULL, NULL, NULL, NULL, NULL, NULL)"
    )
    columns = (
        Column("Mixed", Kind.TEXT),
        Column("ID", Kind.TEXT),
        Column("word", Kind.TEXT),
        Column("share", Kind.INTEGER),
        Column("small", Kind.REAL),
        Column("whole", Kind.INTEGER),
        Column("flag", Kind.INTEGER),
        Column("price", Kind.REAL),
        Column("single", Kind.REAL),
        Column("day", Kind.DATE),
        Column("seen", Kind.TIMESTAMP),
        Column("noon", Kind.TIMESTAMP),
        Column("ok", Kind.BOOLEAN),
    )
    noon = datetime.datetime(2024, 2, 29, 12)
    utc = datetime.datetime(2023, 12, 31, 22, 30)
    key = "00000000-0000-0000-0000-000000000001"
    meant = {
        ("red", key, "ab", 7, -3.0, 2, 1, None, None, None, utc, None, True),
        ("green", None, None, None, None, MOST, None, None, None, None, None, None, None),
        (None, None, None, None, None, None, 0, 0.0, 0.5, datetime.date(2024, 2, 29), None, noon, False),
        (None, None, None, None, None, None, None, 0.1, None, None, None, None, None),
    }
    assert meant == values(dataset(url, "Odd Schema.types", *columns))


def test_a_role_that_may_only_read_is_enough(url: str, execute: Callable[..., Any]) -> None:
    execute("CREATE TABLE guarded (a bigint, b text, secret text)")
    execute("INSERT INTO guarded VALUES (1, 'x', 's'), (2, 'y', 's')")
    execute("CREATE ROLE reader LOGIN")
    execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
    execute("GRANT USAGE ON SCHEMA public TO reader")
    execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    as_reader = url.replace("dither@", "reader@")
    columns = (Column("a", Kind.INTEGER), Column("b", Kind.TEXT))
    with pytest.raises(EngineUnavailable, match="may not read guarded; GRANT SELECT"):
        PostgreSQLEngine(dataset(as_reader, "guarded", *columns)).check()
    execute("GRANT SELECT (a, b) ON guarded TO reader")
    assert {(1, "x"), (2, "y")} == values(dataset(as_reader, "guarded", *columns), portable=True)


def test_nobody_can_put_a_function_in_place_of_one_that_is_used(url: str, execute: Callable[..., Any]) -> None:
    """Without a fixed search path an exact match of types in another schema would win."""
    execute("CREATE TABLE shadowed (t text)")
    execute("INSERT INTO shadowed VALUES ('a')")
    execute("CREATE FUNCTION public.right(text, bigint) RETURNS text LANGUAGE sql AS 'SELECT ''a''::text'")
    execute("CREATE FUNCTION public.strpos(text, varchar) RETURNS integer LANGUAGE sql AS 'SELECT 1'")
    given = dataset(url, "shadowed", Column("t", Kind.TEXT))
    asked = (
        Call("contains", (Name("t"), Literal("z", Kind.TEXT))),
        Call("ends_with", (Name("t"), Literal("z", Kind.TEXT))),
    )
    with PostgreSQLEngine(given) as engine:
        found = engine.aggregate(Aggregation(Scan(given.tables[0]), asked, (CountRows(),)))
        assert engine._setting("search_path") == "pg_catalog"
    assert found.keys == ((False, False),)


def test_nothing_can_be_written_even_through_a_view(url: str, execute: Callable[..., Any]) -> None:
    execute("CREATE TABLE written (a bigint)")
    execute(
        "CREATE FUNCTION sneak() RETURNS bigint LANGUAGE sql VOLATILE AS 'INSERT INTO written VALUES (1) RETURNING a'"
    )
    execute("CREATE VIEW sneaky AS SELECT sneak() AS a")
    given = dataset(url, "sneaky", Column("a", Kind.INTEGER))
    with PostgreSQLEngine(given) as engine, pytest.raises(EngineFailure):
        engine.aggregate(Aggregation(Scan(given.tables[0]), (), (Sum(Name("a")),)))
    assert execute("SELECT count(*) FROM written").fetchone() == (0,)


def test_constants_that_would_raise_do_not_when_the_row_does_not_need_them(
    url: str, execute: Callable[..., Any]
) -> None:
    """PostgreSQL computes constant parts of a CASE before it knows the row: an unguarded one tells who is there."""
    execute("CREATE TABLE folded (a bigint, x double precision, t text)")
    execute("INSERT INTO folded VALUES (1, 2.5, 'b'), (0, -1e308, '2024-02-30')")
    given = dataset(url, "folded", Column("a", Kind.INTEGER), Column("x", Kind.REAL), Column("t", Kind.TEXT))
    table = given.tables[0]
    integers = [Literal(number, Kind.INTEGER) for number in (0, -1, MOST, LEAST)]
    reals = [Literal(number, Kind.REAL) for number in (0.0, 5e-324, 1e308, -746.0, 1e-200)]
    texts = [Literal(text, Kind.TEXT) for text in ("a", "9" * 30, "1e400", "2023-02-29", "1e-5000")]
    hazards: list[Expression] = []
    for function in ("add", "subtract", "multiply", "quotient", "remainder", "shift_right"):
        hazards += [Call(function, pair) for pair in itertools.product((Name("a"), *integers), integers)]
        hazards += [Call(function, (one, Name("a"))) for one in integers]
    for function in ("add", "subtract", "multiply", "divide", "power"):
        hazards += [Call(function, pair) for pair in itertools.product(reals, [*reals, Name("x")])]
        hazards += [Call(function, (Name("x"), one)) for one in reals]
    for function in ("square_root", "exponential", "logarithm", "floor"):
        hazards += [Call(function, (one,)) for one in reals]
    for kind in (Kind.INTEGER, Kind.REAL, Kind.DATE, Kind.TIMESTAMP):
        hazards += [Cast(one, kind) for one in (*texts, Name("t"))]
    hazards += [Call("add_days", (Literal(datetime.date(9999, 12, 31), Kind.DATE), one)) for one in integers]
    hazards += [Grid(one, -1e300, 1e300, 0.0, -940) for one in reals]
    is_absent = Call("equal", (Name("t"), Literal("nobody", Kind.TEXT)))
    hidden = []
    for hazard in hazards:
        kind = Kind.INTEGER if isinstance(hazard, Grid) else None
        for guess in Kind:
            try:
                case = Case(((is_absent, hazard),), Literal(None, kind or guess))
                Aggregation(Scan(table), (case,), ())
            except InvalidParameter:
                continue
            hidden.append(case)
            break
    rows = [{"a": 1, "x": 2.5, "t": "b"}, {"a": 0, "x": -1e308, "t": "2024-02-30"}]
    assert len(hidden) == len(hazards) > 250
    with PostgreSQLEngine(given) as engine:
        for wanted in (hidden, hazards):
            for start in range(0, len(wanted), 40):
                part = tuple(wanted[start : start + 40])
                found = engine.aggregate(Aggregation(Scan(table), (Name("a"), *part), (CountRows(),)))
                answers = {key[0]: key[1:] for key in found.keys}
                for row in rows:
                    for one, answer in zip(part, answers[row["a"]], strict=True):
                        meant = evaluate(one, row, table.kinds)
                        # Powers and logarithms are not defined to the last bit.
                        is_close = isinstance(meant, float) and answer == pytest.approx(meant, rel=1e-12)
                        assert is_close or answer == meant, one


def test_sql_grows_in_proportion_to_the_tree(url: str, execute: Callable[..., Any]) -> None:
    execute("CREATE TABLE grown (a bigint, x double precision)")
    execute("INSERT INTO grown VALUES (3, 1.5), (NULL, NULL), (-7, 1e300)")
    given = dataset(url, "grown", Column("a", Kind.INTEGER), Column("x", Kind.REAL))
    deep: Expression = Name("a")
    wide: Expression = Name("x")
    for place in range(40):
        deep = Call("multiply", (Call("subtract", (deep, Literal(place, Kind.INTEGER))), Literal(-1, Kind.INTEGER)))
        wide = Call("add", (Call("divide", (wide, Literal(3.0, Kind.REAL))), Literal(1.0, Kind.REAL)))
    asked = Aggregation(Scan(given.tables[0]), (Name("a"), deep, wide), (CountRows(),))
    with PostgreSQLEngine(given) as engine:
        assert len(engine.statement(asked).text) < 150_000
        found = engine.aggregate(asked).keys
    rows = [{"a": 3, "x": 1.5}, {"a": None, "x": None}, {"a": -7, "x": 1e300}]
    kinds = given.tables[0].kinds
    assert {(row["a"], evaluate(deep, row, kinds), evaluate(wide, row, kinds)) for row in rows} == set(found)


def test_what_cannot_be_opened_is_refused_with_the_reason(url: str, execute: Callable[..., Any]) -> None:
    execute("CREATE TABLE opened (region text, extra jsonb)")
    region = Column("region", Kind.TEXT)
    cases = [
        (dataset(url, "nowhere", region), "the database has no nowhere"),
        (dataset(url, "a.b.c", region), "the database has no a.b.c"),
        (dataset(url, "opened", Column("regoin", Kind.TEXT)), "no such column; did you mean 'region'"),
        (dataset(url, "opened", Column("extra", Kind.TEXT)), "declared text, but the database stores jsonb"),
    ]
    for given, message in cases:
        with pytest.raises(EngineUnavailable, match=message):
            PostgreSQLEngine(given).check()
    with pytest.raises(EngineUnavailable, match="frames cannot be given"):
        PostgreSQLEngine(cases[0][0], frames={"visits": []})
    away = dataset("postgresql://ana:hunter2@/clinic?host=/nowhere", "opened", region)
    with pytest.raises(EngineUnavailable, match="cannot be reached") as refused:
        PostgreSQLEngine(away).check()
    assert "hunter2" not in str(refused.value)


def test_a_query_that_dies_says_one_thing_and_the_next_one_works(url: str, execute: Callable[..., Any]) -> None:
    execute("CREATE TABLE dying (t text)")
    execute("INSERT INTO dying VALUES ('Aurelia Quist')")
    # A view that raises, quoting a cell; one that never ends; a server that goes away.
    execute("CREATE VIEW raising AS SELECT t::bigint AS a FROM dying")
    execute("CREATE VIEW endless AS SELECT pg_sleep(600)::text AS t FROM dying")
    integer = dataset(url, "raising", Column("a", Kind.INTEGER))
    with PostgreSQLEngine(integer) as engine, pytest.raises(EngineFailure) as failure:
        engine.aggregate(Aggregation(Scan(integer.tables[0]), (), (Sum(Name("a")),)))
    assert str(EngineFailure()) == str(failure.value)
    assert failure.value.__cause__ is failure.value.__context__ is None
    slow = dataset(f"{url}&options=-c%20statement_timeout%3D50", "endless", Column("t", Kind.TEXT))
    with PostgreSQLEngine(slow) as engine, pytest.raises(EngineFailure):
        engine.aggregate(Aggregation(Scan(slow.tables[0]), (Name("t"),), (CountRows(),)))
    given = dataset(url, "dying", Column("t", Kind.TEXT))
    asked = Aggregation(Scan(given.tables[0]), (), (CountRows(),))
    with PostgreSQLEngine(given) as engine:
        assert engine.aggregate(asked).measures == ((1,),)
        execute("SELECT pg_terminate_backend(%s)", (engine._opened().info.backend_pid,))
        with pytest.raises(EngineFailure):
            engine.aggregate(asked)
        assert engine.aggregate(asked).measures == ((1,),)


def test_settings_of_a_role_do_not_change_what_a_query_means(url: str, execute: Callable[..., Any]) -> None:
    execute("CREATE TABLE settled (t text, seen timestamptz, day date, x double precision)")
    execute("INSERT INTO settled VALUES ('é', '2024-06-01 00:30+00', '2024-02-01', 0.1)")
    execute("CREATE ROLE elsewhere LOGIN")
    execute("GRANT ALL ON SCHEMA public TO elsewhere")
    execute("GRANT SELECT ON settled TO elsewhere")
    for setting in (
        "timezone = 'Asia/Tokyo'",
        "datestyle = 'SQL, DMY'",
        "extra_float_digits = 0",
        "client_encoding = 'LATIN1'",
    ):
        execute(f"ALTER ROLE elsewhere SET {setting}")
    columns = (Column("t", Kind.TEXT), Column("seen", Kind.TIMESTAMP), Column("day", Kind.DATE), Column("x", Kind.REAL))
    given = dataset(url.replace("dither@", "elsewhere@"), "settled", *columns)
    meant = {("é", datetime.datetime(2024, 6, 1, 0, 30), datetime.date(2024, 2, 1), 0.1)}
    assert meant == values(given)


def test_two_tables_of_rows_are_not_two_names_of_one_table(
    url: str, execute: Callable[..., Any], tmp_path: Path
) -> None:
    """Else a union of them would count a row twice where every row is a unit of its own."""
    execute("CREATE TABLE rows_once (n bigint)")
    execute("CREATE TABLE rows_apart (n bigint)")
    execute("CREATE VIEW rows_seen AS SELECT n FROM rows_once")
    first, column = dataset(url, "rows_once", Column("n", Kind.INTEGER)), Column("n", Kind.INTEGER)
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        for source in ("ROWS_ONCE", "public.rows_once", "rows_seen"):
            two = (*first.tables, Table("second", (column,), source))
            with pytest.raises(InvalidParameter, match="different rows for visits and second"):
                curator.add(dataclasses.replace(first, tables=two), budget=PureDP(1))
        two = (*first.tables, Table("second", (column,), "rows_apart"))
        curator.add(dataclasses.replace(first, tables=two), budget=PureDP(1))


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match="'postgres'"):
        PostgreSQLEngine(dataset("postgresql:///x", "t", Column("a", Kind.INTEGER))).check()


def test_rows_are_known_again_whatever_name_leads_to_them(
    url: str, execute: Callable[..., Any], tmp_path: Path
) -> None:
    execute("CREATE TABLE visits (n bigint, kind text) PARTITION BY LIST (kind)")
    execute("CREATE TABLE visits_a PARTITION OF visits FOR VALUES IN ('a')")
    execute("CREATE VIEW seen AS SELECT n FROM visits")
    execute("CREATE VIEW seen_again AS SELECT n FROM seen WHERE n > 0")
    execute("CREATE TABLE apart (n bigint)")
    execute("CREATE ROLE asker LOGIN")
    execute("GRANT USAGE ON SCHEMA public TO asker")
    execute("GRANT SELECT ON visits TO asker")
    execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    column = Column("n", Kind.INTEGER)
    curator = Curator.create(tmp_path / "home", anchors=tmp_path / "anchors")
    curator.add(dataclasses.replace(dataset(url, "visits", column), name="first"), budget=PureDP(1))
    for source in ("visits", "public.visits", "VISITS", "visits_a", "seen", "seen_again"):
        again = dataclasses.replace(dataset(url, source, column), name="second")
        with pytest.raises(InvalidParameter, match="registered once: it belongs to the data set first"):
            curator.add(again, budget=PureDP(1))
    assert curator.ledger.datasets() == ("first",)
    curator.add(dataclasses.replace(dataset(url, "apart", column), name="second"), budget=PureDP(1))
    curator.close()
    # A role whom the server does not tell its number knows it by its address.
    told = set()
    for user in ("dither@", "asker@"):
        with PostgreSQLEngine(dataset(url.replace("dither@", user), "visits", column)) as engine:
            told.add(frozenset(engine.places(engine.dataset.tables[0])))
            assert engine.aggregate(Aggregation(Scan(engine.dataset.tables[0]), (), (CountRows(),))).measures == ((0,),)
    owner, asker = sorted(told, key=len, reverse=True)
    assert (len(owner), len(asker)) == (4, 2)
    assert asker < owner


def test_stacked_outputs_are_computed_once_and_not_written_out_wherever_they_are_read(
    url: str, execute: Callable[..., Any]
) -> None:
    """The server would put each output in place of its name: twice as much at every level, for those who get there."""
    execute("CREATE TABLE stacked (n bigint)")
    given = dataset(url, "stacked", Column("n", Kind.INTEGER))

    def plan(levels: int) -> int:
        rows: Relation = Scan(given.tables[0])
        for _ in range(levels):
            is_large = Call("more", (Name("n"), Literal(3, Kind.INTEGER)))
            less = Call("subtract", (Name("n"), Literal(1, Kind.INTEGER)))
            rows = Project(rows, (("n", Case(((is_large, less),), Name("n"))),))
        with PostgreSQLEngine(given) as engine:
            statement = engine.statement(Aggregation(rows, (Name("n"),), (CountRows(),)))
        return sum(len(line[0]) for line in execute(f"EXPLAIN (VERBOSE) {statement.text}").fetchall())

    two, four, eight = plan(2), plan(4), plan(8)
    assert eight - four <= 3 * (four - two)
