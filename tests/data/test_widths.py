"""How wide rows are is public: bounded before anything is charged, whatever cells hold."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
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
    JoinPersons,
    JoinPublic,
    Keep,
    Kind,
    Largest,
    Limits,
    Literal,
    Name,
    PerPerson,
    Project,
    Relation,
    Scan,
    Table,
    Window,
)
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.engines.protocol import Engine
from dither.data.evaluation import evaluate
from dither.data.expressions import kind_of, walk
from dither.data.lengths import extent
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.data.widths import PERSON_BYTES, ROW_BYTES, check_widths
from dither.errors import InvalidParameter
from dither.privacy import ROW

# The bound holds: whatever cells there are, no text that is made is longer.

LETTERS = "ab🙂"
LENGTH = 3
COLUMNS = {"t": Kind.TEXT, "u": Kind.TEXT, "i": Kind.INTEGER, "b": Kind.BOOLEAN}


def text(value: str) -> Literal:
    return Literal(value, Kind.TEXT)


def number(value: int) -> Literal:
    return Literal(value, Kind.INTEGER)


def texts() -> st.SearchStrategy[Expression]:
    """Return expressions that give texts, made of all forms that do."""
    some = st.text(alphabet=LETTERS, min_size=1, max_size=3).map(text)
    leaves = st.sampled_from([Name("t"), Name("u"), Cast(Name("i"), Kind.TEXT), Literal(None, Kind.TEXT)]) | some

    def grown(below: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
        many = st.lists(below, min_size=2, max_size=3).map(tuple)
        return st.one_of(
            many.map(lambda parts: Call("concatenate", parts)),
            many.map(lambda parts: Call("coalesce", parts)),
            many.map(lambda parts: Call("greatest", parts)),
            many.map(lambda parts: Call("null_if", parts[:2])),
            many.map(lambda parts: Case(((Name("b"), parts[0]),), parts[1])),
            st.tuples(below, some, some | st.just(text(""))).map(lambda parts: Call("replace", parts)),
            st.tuples(below, st.sampled_from(["lower", "upper", "trim"])).map(lambda pair: Call(pair[1], (pair[0],))),
            st.tuples(below, st.integers(1, 4), st.integers(0, 9)).map(
                lambda part: Call("substring", (part[0], number(part[1]), number(part[2])))
            ),
        )

    return st.recursive(leaves, grown, max_leaves=8)


CELLS = st.none() | st.text(alphabet=LETTERS, max_size=LENGTH)


@settings(max_examples=150, deadline=None)
@given(texts(), st.tuples(CELLS, CELLS, st.none() | st.integers(-(2**63), 2**63 - 1), st.booleans()))
def test_no_text_on_the_way_is_longer_than_the_bound(expression: Expression, cells: tuple[Any, ...]) -> None:
    row = dict(zip(COLUMNS, cells, strict=True))
    known = extent(expression, COLUMNS, {"t": LENGTH, "u": LENGTH})
    made = 0
    for node in walk(expression):
        if kind_of(node, COLUMNS) is Kind.TEXT:
            value = str(evaluate(node, row, COLUMNS) or "")
            assert len(value) <= known.largest
            is_written = isinstance(node, Call | Cast) and getattr(node, "function", "") not in ("coalesce", "null_if")
            made += len(value.encode()) if is_written and getattr(node, "function", "") != "greatest" else 0
    assert len(str(evaluate(expression, row, COLUMNS) or "")) <= known.longest
    assert made <= known.made <= known.work


# Every place where texts are computed or held is counted.

VISITS = Table(
    "visits",
    (Column("id", Kind.INTEGER), Column("note", Kind.TEXT), Column("cost", Kind.INTEGER)),
    "v.csv",
    person="id",
)
PLACES = Table(
    "places", (Column("name", Kind.TEXT), Column("size", Kind.INTEGER)), "p.csv", is_public=True, key=("name",)
)
CLINIC = DataSet("clinic", (VISITS, PLACES), person_unit("id"), rows=5)
ALL = ("id", "note", "cost")
#: What a row of visits may hold: four times what it declares beside the constant.
ALLOWED = ROW_BYTES + 4 * (4 * 1024 + 16)


def copies(many: int) -> Expression:
    """Return the note as many times over as its letters are replaced: up to 4,096 bytes each."""
    return Call("replace", (Name("note"), text("x"), text("y" * many)))


def at_every_place(wide: Expression) -> dict[str, Aggregation]:
    """Return a request for every place that a text can stand at."""
    scan = Scan(VISITS)
    is_short = Call("less", (Call("length", (wide,)), number(9)))
    entering = Bounded(scan, (), Limits(rows=2), ALL)
    named = Project(scan, (("id", Name("id")), ("long", wide)))

    def window(function: str, value: Expression | None, partition: Any = (), order: Any = ()) -> Relation:
        return Window(scan, "w", function, value, partition, order)

    relations: dict[str, Relation] = {
        "condition": Filter(scan, is_short),
        "output": named,
        "public key": JoinPublic(scan, PLACES, (wide,), False, "p_"),
        "join condition": JoinPersons(entering, entering, is_short, False, "o_"),
        "own key": PerPerson(scan, (("long", wide),), (("n", CountRows()),)),
        "own largest": PerPerson(scan, (), (("long", Largest(wide)),)),
        "own count": PerPerson(scan, (), (("n", CountOf(wide)),)),
        "partition": window("count", None, (wide,)),
        "order": window("row_number", None, (), ((wide, False),)),
        "lag": window("lag", wide, (), ((Name("cost"), False),)),
        "largest": window("largest", wide),
        "listed": Keep(scan, (wide,), (("a",),)),
        "bounded": Bounded(scan, (wide,), Limits(rows=1), ALL),
    }
    asked = {name: Aggregation(relation, (), (CountRows(),)) for name, relation in relations.items()}
    return {
        **asked,
        "key": Aggregation(scan, (wide,), (CountRows(),)),
        "bounded key": Aggregation(Bounded(scan, (wide,), Limits(rows=1), ALL), (wide,), (CountRows(),)),
        "counted": Aggregation(scan, (), (CountOf(wide),)),
    }


@pytest.mark.parametrize("place", list(at_every_place(copies(1))))
def test_a_wide_text_is_refused_wherever_it_stands(place: str) -> None:
    """Where it is only computed at the first place, and where it is held, sorted or grouped by as well."""
    check_widths(at_every_place(copies(2))[place])
    beyond = ALLOWED // 4096 + 1
    if "join" in place:
        beyond *= 2  # of two tables
    with pytest.raises(InvalidParameter, match=r"clinic must be limited to [\d,]+ bytes") as refused:
        check_widths(at_every_place(copies(beyond))[place], parameter="clinic")
    assert "most by replace" in str(refused.value)
    assert "declare a shorter length" in str(refused.value)


def test_a_column_that_is_carried_counts_again_wherever_rows_are_held() -> None:
    """A text of a third of the allowed width: once computed, once a column, once more in the order of a window."""
    third = copies(ALLOWED // 4096 // 3)
    computed: Relation = Project(Scan(VISITS), (("id", Name("id")), ("long", third)))
    check_widths(Aggregation(computed, (), (CountRows(),)))
    order = ((Name("long"), False),)
    with pytest.raises(InvalidParameter, match="the window w: "):
        check_widths(Aggregation(Window(computed, "w", "row_number", None, (), (*order, *order)), (), (CountRows(),)))


def test_a_declared_column_is_free_and_its_copies_are_not() -> None:
    wide = Table(
        "notes", tuple(Column(name, Kind.TEXT, length=65_536) for name in ("id", "a", "b")), "n.csv", person="id"
    )
    order = ((Name("a"), False),)
    check_widths(Aggregation(Window(Scan(wide), "w", "row_number", None, (), order), (Name("b"),), (CountRows(),)))
    many = tuple((f"c{copy}", Name("a")) for copy in range(20))
    with pytest.raises(InvalidParameter, match="the outputs of a SELECT: "):
        check_widths(Aggregation(Project(Scan(wide), many), (), (CountRows(),)))


# What one person may cost.


def joined(rows: int, value: Expression) -> Aggregation:
    entering = Bounded(Scan(VISITS), (), Limits(rows=rows), ALL)
    return Aggregation(JoinPersons(entering, entering, None, False, "o_"), (value,), (CountRows(),))


def test_rows_multiply_what_a_text_may_be() -> None:
    value = copies(4)
    check_widths(joined(10, value))
    with pytest.raises(InvalidParameter, match="written or searched for one person's rows"):
        check_widths(joined(1000, value))
    # What is computed before a join is computed for fewer rows.
    check_widths(joined(1000, Name("cost")))


def test_many_windows_over_the_same_rows_are_too_much_for_one_person() -> None:
    def windows(many: int) -> Relation:
        relation: Relation = Scan(VISITS)
        for place in range(many):
            relation = Window(relation, f"w{place}", "row_number", None, (), ((Name("cost"), False),))
        return relation

    check_widths(Aggregation(windows(40), (), (CountRows(),)))
    with pytest.raises(InvalidParameter, match=r"one person's rows.* most in the window w\d+"):
        check_widths(Aggregation(windows(500), (), (CountRows(),)))


def test_wide_frames_of_wide_values_are_too_much_for_one_person() -> None:
    """Some engines compare all values of a frame for each of its rows."""

    def framed(rows: int, value: str) -> Aggregation:
        order = ((Name("cost"), False),)
        window = Window(Scan(VISITS), "w", "largest", Name(value), (), order, None, None, (1 - rows, 0))
        return Aggregation(window, (), (CountRows(),))

    texts = next(name for name, kind in VISITS.kinds.items() if kind is Kind.TEXT)
    check_widths(framed(1000, "cost"))
    check_widths(framed(10, texts))
    with pytest.raises(InvalidParameter, match=r"one person's rows.* most in the window w"):
        check_widths(framed(1000, texts))
    with pytest.raises(InvalidParameter, match="start of the frame"):
        framed(1001, "cost")


def test_searching_costs_in_proportion_to_text_and_pattern() -> None:
    def searches(many: int, function: str, pattern: str) -> Aggregation:
        tests = tuple(CountOf(Call(function, (copies(2), text(pattern)))) for _ in range(many))
        return Aggregation(Scan(VISITS), (), tests)

    check_widths(searches(4, "like", "%a_b%"))
    check_widths(searches(4, "contains", "a" * 50))
    with pytest.raises(InvalidParameter, match="written or searched for one person's rows"):
        check_widths(searches(4, "like", "%a_" * 300))


def test_reading_texts_as_numbers_costs_in_proportion_to_their_length() -> None:
    def casts(many: int) -> Aggregation:
        tests = tuple(CountOf(Call("add", (Cast(Name("note"), Kind.REAL), Literal(n, Kind.REAL)))) for n in range(many))
        return Aggregation(Scan(VISITS), (), tests)

    check_widths(casts(4))
    with pytest.raises(InvalidParameter, match="written or searched for one person's rows"):
        check_widths(casts(100))


def test_where_every_row_is_a_unit_it_counts_once() -> None:
    """A row of a table without persons may cost as much as all rows of a person."""
    plain = Table("plain", (Column("note", Kind.TEXT),), "p.csv")
    tests = tuple(CountOf(Call("like", (Name("note"), text("%a_" * 300)))) for _ in range(40))
    check_widths(Aggregation(Scan(plain), (), tests))
    costs = 40 * 1024 * 900 // 2
    assert costs < PERSON_BYTES < 1000 * costs
    with pytest.raises(InvalidParameter, match="written or searched for one person's rows"):
        check_widths(Aggregation(Scan(VISITS), (), tests))


def test_one_person_cannot_take_the_memory_that_an_engine_says_it_has() -> None:
    """A hundred rows on each side of a join, some kilobytes each: more than a small engine has."""
    asked = joined(100, copies(2))
    rows = {"visits": [{"id": 1, "note": "x", "cost": 1}], "places": [{"name": "a", "size": 1}]}
    pyarrow = pytest.importorskip("pyarrow")
    frames = {name: pyarrow.Table.from_pylist(some) for name, some in rows.items()}
    with DuckDBEngine(CLINIC, frames=frames, memory="8GB") as engine:
        assert engine.aggregate(asked).measures == ((1,),)
    with DuckDBEngine(CLINIC, frames=frames, memory="200MB") as engine:
        with pytest.raises(InvalidParameter, match=r"half of the engine's memory of [\d,]+ bytes.*rows per join"):
            engine.prepare(asked)
        assert engine.aggregate(joined(10, copies(2))).measures == ((1,),)


def test_an_engine_looks_at_a_request_once_and_at_every_other_one() -> None:
    """A request that was admitted is known by itself and not by being equal; one that was refused is refused again."""
    table = Table("visits", (Column("note", Kind.TEXT),), "visits.csv")
    engine = ReferenceEngine(DataSet("clinic", (table,), ROW), {"visits": []})
    others = Table("visits", (Column("note", Kind.INTEGER),), "visits.csv")
    sound, foreign = (Aggregation(Scan(one), (), (CountRows(),)) for one in (table, others))
    for _ in range(2):
        Engine.check_tables(engine, sound)
        with pytest.raises(InvalidParameter):
            Engine.check_tables(engine, foreign)
    assert list(engine._admitted.values()) == [sound]
    for _ in range(200):
        Engine.check_tables(engine, Aggregation(Scan(table), (), (CountRows(),)))
    assert len(engine._admitted) <= 64
