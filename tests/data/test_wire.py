"""The wire: exact both ways, closed, and nothing but our errors whatever arrives."""

import contextlib
import dataclasses
import datetime
import enum
import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.data import (
    Aggregated,
    Aggregation,
    Bounded,
    Call,
    Case,
    Cast,
    Column,
    CountOf,
    CountRows,
    DataSet,
    Filter,
    Grid,
    JoinPersons,
    JoinPublic,
    Keep,
    Kind,
    Largest,
    Limits,
    Literal,
    Name,
    OneOf,
    PerPerson,
    Persons,
    Project,
    Scan,
    Smallest,
    Sum,
    Table,
    UnionAll,
    Window,
)
from dither.data.schema import person_unit
from dither.data.wire import DEEPEST, LARGEST_TEXT, decode, dumps, encode, loads, register_records
from dither.errors import DitherError, InvalidParameter, NotSerialisable
from dither.privacy import ROW
from dither.publish.queries.query import Aggregate, Key, Query

register_records(Key, Aggregate, Query)

COLUMNS = {
    "flag": Kind.BOOLEAN,
    "whole": Kind.INTEGER,
    "number": Kind.REAL,
    "word": Kind.TEXT,
    "day": Kind.DATE,
    "at": Kind.TIMESTAMP,
}
ROWS = Table("rows", tuple(Column(name, kind) for name, kind in COLUMNS.items()), "rows.csv", person="whole")
OTHERS = Table("others", (Column("whole", Kind.INTEGER), Column("note", Kind.TEXT)), "others.csv", person="whole")
PUBLIC = Table("public", (Column("word", Kind.TEXT),), "public.csv", is_public=True, key=("word",))
DATASET = DataSet("all", (ROWS, OTHERS, PUBLIC), person_unit("whole"), rows=3, groups=2)

_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=5)
_values = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INTEGER: st.integers(-(2**63), 2**63 - 1),
    Kind.REAL: st.floats(allow_nan=False, allow_infinity=False),
    Kind.TEXT: _text,
    Kind.DATE: st.dates(),
    Kind.TIMESTAMP: st.datetimes().map(lambda moment: moment.replace(fold=0)),
}


def literals(kind):
    return (st.none() | _values[kind]).map(lambda value: Literal(value, kind))


@st.composite
def expressions(draw, kind, depth=2):
    name = next(name for name, held in COLUMNS.items() if held is kind)
    if depth == 0 or draw(st.booleans()):
        return draw(literals(kind) | st.just(Name(name)))

    def below(wanted):
        return draw(expressions(wanted, depth - 1))

    shapes = [
        lambda: Case(((below(Kind.BOOLEAN), below(kind)),), below(kind)),
        lambda: Call("coalesce", (below(kind), below(kind), below(kind))),
    ]
    if kind is Kind.BOOLEAN:
        shapes += [
            lambda: Call("less", (below(Kind.DATE), below(Kind.DATE))),
            lambda: Call("and", (below(kind), below(kind))),
            lambda: Call("like", (below(Kind.TEXT), Literal("%a_", Kind.TEXT))),
            lambda: OneOf(below(Kind.TEXT), tuple(draw(st.lists(literals(Kind.TEXT), max_size=3)))),
        ]
    elif kind is Kind.INTEGER:
        shapes += [
            lambda: Call("add", (below(kind), below(kind))),
            lambda: Cast(below(Kind.TEXT), kind),
            lambda: Grid(below(Kind.REAL), -1.5, 7.25, draw(st.floats(-9, 9)), draw(st.integers(-20, 40))),
        ]
    return draw(st.sampled_from(shapes))()


@st.composite
def relations(draw, depth=4):
    """Relations that all have the columns above, so that they can be stacked."""
    if depth == 0:
        return Scan(ROWS)
    below = draw(relations(depth - 1))
    kind = draw(st.sampled_from(Kind))
    identity = tuple((name, Name(name)) for name in COLUMNS)
    shape = draw(st.integers(0, 6))
    if shape == 0:
        return Filter(below, draw(expressions(Kind.BOOLEAN)))
    if shape == 1:
        return Project(below, (*identity[:-1], ("at", draw(expressions(Kind.TIMESTAMP)))))
    if shape == 2:
        joined = JoinPublic(below, PUBLIC, (draw(expressions(Kind.TEXT)),), draw(st.booleans()), "p_")
        return Project(joined, identity)
    if shape == 3:
        left, right = (Bounded(side, (), Limits(9), tuple(side.columns)) for side in (below, Scan(OTHERS)))
        joined = JoinPersons(left, right, draw(st.none() | expressions(Kind.BOOLEAN)), draw(st.booleans()), "o_")
        return Project(joined, identity)
    if shape == 4:
        measures = (
            ("flag", Smallest(draw(expressions(Kind.BOOLEAN)))),
            ("whole", draw(st.sampled_from([CountRows(), Persons(), CountOf(Name("at")), Sum(Name("whole"))]))),
            ("number", Largest(Name("number"))),
        )
        keys = (("word", Name("word")), ("day", Name("day")), ("at", Name("at")))
        return Project(PerPerson(below, keys, measures), identity)
    if shape == 5:
        order = ((draw(expressions(kind)), draw(st.booleans())),)
        window = Window(below, "w", "lag", draw(expressions(kind)), (draw(expressions(Kind.TEXT)),), order)
        return Project(window, identity)
    values = tuple((value,) for value in draw(st.lists(st.none() | _values[kind], max_size=3)))
    return Keep(below, (draw(expressions(kind)),), values)


@st.composite
def aggregations(draw):
    limits = Limits(*(draw(st.none() | st.integers(1, 2**31)) for _ in range(3)))
    key = (draw(expressions(Kind.TEXT)),)
    bounded = Bounded(draw(relations(2)), key, limits, tuple(COLUMNS))
    return Aggregation(bounded, key, (CountRows(), Persons(), Sum(draw(expressions(Kind.INTEGER)))))


@settings(deadline=None, max_examples=40)
@given(aggregations())
def test_what_is_written_is_read(aggregation):
    text = dumps(aggregation)
    again = loads(text)
    assert again == aggregation
    assert dumps(again) == text
    assert text.isascii()


def types_of(record):
    """The types of all leaves, because 1 == 1.0 == True hides a change of kind."""
    if dataclasses.is_dataclass(record):
        return (type(record), *(types_of(getattr(record, field.name)) for field in dataclasses.fields(record)))
    return tuple(map(types_of, record)) if isinstance(record, tuple) else type(record)


@given(st.sampled_from(Kind).flatmap(literals))
def test_types_of_values_survive(literal):
    again = loads(dumps(literal))
    assert types_of(again) == types_of(literal)
    assert repr(again) == repr(literal)  # tells -0.0 from 0.0


def query():
    return Query(
        DATASET,
        Scan(ROWS),
        (Key("word", Name("word"), ("a", "b", None)),),
        (
            Aggregate("n", "count"),
            Aggregate("middle", "quantile", (Name("number"),), ((0.0, 1.5),), share=Fraction(1, 3), granularity=0.25),
        ),
        (("word", Name("word")), ("n", Name("n"))),
        Limits(rows=3),
        having=Call("more", (Name("n"), Literal(10, Kind.INTEGER))),
        order=((Name("n"), True),),
        limit=5,
    )


def test_queries_are_registered_from_above():
    asked = query()
    assert loads(dumps(asked)) == asked
    assert types_of(loads(dumps(asked))) == types_of(asked)


def test_one_request_has_one_text():
    first, second = dumps(query()), dumps(query())
    assert first == second
    assert json.loads(first)["dither"] == 1
    # Another order of keys or other blanks are the same request, and come out as the same text.
    loose = json.dumps(json.loads(first), indent=3, sort_keys=False)
    assert dumps(loads(loose)) == first


def test_what_came_later_is_written_only_where_something_is_said():
    """A request of before has the same text and the same digest, and is read as before."""
    table = Table("t", (Column("word", Kind.TEXT), Column("whole", Kind.INTEGER)), "t.csv", person="whole")
    plain = DataSet("all", (table,), person_unit("whole"), rows=3)
    for name in ("length", "rows_per_join", "time_limit"):
        assert name not in dumps(plain)
    said = dataclasses.replace(plain, rows_per_join=7, time_limit=60)
    said = dataclasses.replace(
        said, tables=(dataclasses.replace(table, columns=(Column("word", Kind.TEXT, length=5), table.columns[1])),)
    )
    assert loads(dumps(plain)) == plain
    assert loads(dumps(said)) == said
    written = encode(plain)
    with pytest.raises(InvalidParameter, match="omitted rather than null"):
        decode({**written, "time_limit": None})
    with pytest.raises(InvalidParameter, match="time_limit"):
        decode({**written, "time_limit": "soon"})


def test_fields_that_came_later_are_left_out_where_nothing_is_said():
    """So that requests of before have the digest that they had."""
    public = Table("regions", (Column("name", Kind.TEXT),), "r.csv", is_public=True, key=("name",))
    rows = Scan(Table("visits", (Column("id", Kind.TEXT),), "v.csv", person="id"))
    join = JoinPublic(rows, public, (Name("id"),), False, "r_")
    window = Window(rows, "n", "row_number", None, (), ((Name("id"), False),))
    for record, later in ((join, ("on", "most", "where", "condition", "rows")), (window, ("running", "offset"))):
        assert not any(f'"{name}"' in dumps(record) for name in later)
        assert loads(dumps(record)) == record
    few = Bounded(rows, (), Limits(rows=2), ("id",))
    truth = Call("is_null", (Name("name"),))
    wide = JoinPublic(
        few, dataclasses.replace(public, rows=7), (), True, "r_", (), 7, truth, Call("is_null", (Name("r_name"),))
    )
    total = Window(rows, "n", "count", None, (), ((Name("id"), False),), "range")
    for record in (
        wide,
        total,
        dataclasses.replace(window, function="lag", value=Name("id"), offset=3),
        UnionAll(rows, few),
    ):
        assert loads(dumps(record)) == record


def test_a_password_is_never_written():
    secret = DataSet("all", DATASET.tables, DATASET.unit, rows=3, engine="postgresql://ana:hunter2@db/clinic")
    text = dumps(secret)
    assert "hunter2" not in text
    assert loads(text).engine == "postgresql://ana:***@db/clinic"


@pytest.mark.parametrize(
    "value",
    [
        Aggregated((), ()),
        object(),
        {"a": 1},
        float("nan"),
        float("inf"),
        2**63,
        "\ud800",
        b"bytes",
        datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
        len,
        Kind,
        1 + 2j,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_place_in_a_request_is_refused(value):
    with pytest.raises(NotSerialisable):
        encode(value)


def test_only_frozen_records_with_new_names_can_be_registered():
    @dataclasses.dataclass
    class Loose:
        a: int

    @dataclasses.dataclass(frozen=True)
    class Filter:
        a: int

    for record in (Loose, Filter, int, "Name", print):
        with pytest.raises(InvalidParameter, match="record"):
            register_records(record)
    assert loads(dumps(Limits())) == Limits()


REFUSED = {
    "unknown class": {"is": "Popen", "args": "rm"},
    "class that is no text": {"is": ["Name"], "name": "a"},
    "abstract class": {"is": "Expression"},
    "private answer": {"is": "Aggregated", "keys": [], "measures": []},
    "missing field": {"is": "Name"},
    "further field": {"is": "Name", "name": "a", "__class__": "b"},
    "field of another type": {"is": "Name", "name": 7},
    "list for text": {"is": "Name", "name": ["a"]},
    "truth for number": {"is": "Limits", "rows": True, "groups": None, "rows_per_group": None},
    "relation for expression": {"is": "CountOf", "value": {"is": "CountRows"}},
    "text for expression": {"is": "CountOf", "value": "whole"},
    "unknown choice": {"is": "Kind", "value": "complex"},
    "number for choice": {"is": "Kind", "value": 1},
    "unknown function": {"is": "Call", "function": "eval", "arguments": []},
    "value of another kind": {"is": "Literal", "value": "a", "kind": {"is": "Kind", "value": "integer"}},
    "real as a text": {"is": "Literal", "value": {"real": "1.5"}, "kind": {"is": "Kind", "value": "real"}},
    "infinite real": {"real": "inf"},
    "real that overflows": {"real": "0x1p99999"},
    "two texts of one real": {"real": "0x1.8p+0"},
    "no date": {"date": "2024-02-30"},
    "two texts of one date": {"date": "20240101"},
    "zone": {"timestamp": "2024-01-01T00:00:00+00:00"},
    "fraction with blanks": {"fraction": " 1/3"},
    "fraction not reduced": {"fraction": "2/6"},
    "fraction without sense": {"fraction": "1/0"},
    "long number": {"real": "0x" + "1" * 5000},
    "unknown scalar": {"decimal": "1.5"},
    "two scalars": {"date": "2024-01-01", "real": "0x0.0p+0"},
    "empty": {},
    "beyond 64 bits": 2**63,
    "half a sign": "\ud800",
    "a float": 1.5,
    "a set": {1, 2},
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_what_is_not_of_the_encoding_is_refused(mistake):
    with pytest.raises(InvalidParameter, match="request"):
        decode(REFUSED[mistake])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        '{"dither": 2, "record": null}',
        '{"dither": true, "record": null}',
        '{"record": null}',
        '{"dither": 1, "record": 1.5}',
        '{"dither": 1, "record": 1e999}',
        '{"dither": 1, "record": NaN}',
        '{"dither": 1, "dither": 1, "record": null}',
        '{"dither": 1, "record": ' + "9" * 5000 + "}",
        "[" * 100_000,
        '{"dither": 1, "record": ' + "[" * (DEEPEST + 2) + "]" * (DEEPEST + 2) + "}",
        b"\xff\xfe",
    ],
    ids=range(15),
)
def test_texts_that_are_no_request(text):
    with pytest.raises(InvalidParameter):
        loads(text)


def test_caps():
    with pytest.raises(InvalidParameter, match="at most"):
        loads(" " * (LARGEST_TEXT + 1))
    deep = Name("a")
    for _ in range(DEEPEST):
        deep = Call("not", (deep,))
    with pytest.raises(NotSerialisable, match="deep"):
        encode(deep)
    record = {"is": "Name", "name": "a"}
    for _ in range(5000):
        record = {"is": "Call", "function": "not", "arguments": [record]}
    with pytest.raises(InvalidParameter, match="deep"):
        decode(record)
    # What a person may well write fits: a sum of ninety terms.
    long = Name("a")
    for _ in range(90):
        long = Call("add", (long, Literal(1, Kind.INTEGER)))
    assert loads(dumps(long)) == long


_SAMPLES = json.dumps(
    [
        encode(query()),
        encode(
            Aggregation(
                Bounded(
                    Window(Scan(ROWS), "w", "sum", Name("whole"), (), ()),
                    (Name("word"),),
                    Limits(rows=2),
                    ("word", "w"),
                ),
                (Name("word"),),
                (Sum(Name("w")),),
            )
        ),
        encode(Keep(Scan(ROWS), (Grid(Name("number"), 0.0, 1.0, 0.0, 3), Name("day")), ((1, None),))),
    ]
)


def places(value, found):
    found.append(value)
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        places(part, found)
    return found


_junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.floats(),
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.text(max_size=3), below, max_size=2),
    max_leaves=4,
)


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_damaged_requests_give_only_our_errors(data):
    sample = data.draw(st.sampled_from(json.loads(_SAMPLES)))
    for _ in range(data.draw(st.integers(1, 3))):
        found = places(sample, [])
        container = data.draw(st.sampled_from([part for part in found if isinstance(part, dict | list) and part]))
        key = data.draw(
            st.sampled_from(list(container) if isinstance(container, dict) else list(range(len(container))))
        )
        # Junk, or something that is well formed but belongs elsewhere.
        if data.draw(st.integers(0, 4)) == 0:
            del container[key]
        else:
            container[key] = json.loads(json.dumps(data.draw(_junk | st.sampled_from(found))))
    # Whatever is accepted must also be usable: its columns and kinds can be asked for.
    with contextlib.suppress(DitherError):
        record = decode(sample)
        encode(record)
        for part in (record, getattr(record, "relation", None)):
            with contextlib.suppress(AttributeError):
                dict(part.columns)


def test_enumerations_can_be_registered():
    class Colour(enum.Enum):
        RED = "red"

    register_records(Colour)
    assert loads(dumps(Colour.RED)) is Colour.RED
    assert decode(encode(ROW)) == ROW
