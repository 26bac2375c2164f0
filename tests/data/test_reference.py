"""The reference is what engines are compared with, so it is itself compared with expectations written by hand."""

import datetime
import hashlib
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.data import (
    Aggregation,
    Bounded,
    Call,
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
    PerPerson,
    Persons,
    Project,
    Scan,
    Smallest,
    Sum,
    Table,
    Window,
)
from dither.data.portable_hash import canonical, group_hash, row_hash
from dither.data.reference import ReferenceEngine, aggregate, rows_of
from dither.data.relations import PERSON
from dither.data.schema import person_unit
from dither.errors import EngineUnavailable, InvalidParameter

LEAST, MOST = -(2**63), 2**63 - 1
DAY = datetime.date

VISITS = Table(
    "visits",
    (
        Column("patient", Kind.INTEGER),
        Column("region", Kind.TEXT),
        Column("cost", Kind.REAL, lower=0, upper=100),
        Column("day", Kind.DATE),
    ),
    "visits.csv",
    person="patient",
)
DRUGS = Table("drugs", (Column("patient", Kind.INTEGER), Column("dose", Kind.INTEGER)), "drugs.csv", person="patient")
REGIONS = Table(
    "regions", (Column("region", Kind.TEXT), Column("people", Kind.INTEGER)), "r.csv", is_public=True, key=("region",)
)
CLINIC = DataSet("clinic", (VISITS, DRUGS, REGIONS), person_unit("patient"), rows=5)
ROWS = {
    "visits": [
        {"patient": 1, "region": "north", "cost": 10.0, "day": "2024-01-02"},
        {"patient": 1, "region": "north", "cost": 20, "day": "2024-01-01"},
        {"patient": "2", "region": "south", "cost": "30", "day": None},
        {"patient": 2, "region": None, "cost": float("nan"), "day": "yesterday"},
        {"patient": None, "region": "north", "cost": 1e9, "day": "2024-01-01"},
        {"patient": "nobody", "region": "north", "cost": 1e9, "day": "2024-01-01"},
        {"patient": 3, "region": "west", "cost": float("inf"), "day": "2024-01-03"},
    ],
    "drugs": [
        {"patient": 1, "dose": 5},
        {"patient": 1, "dose": None},
        {"patient": 3, "dose": 2**62},
        {"patient": 3, "dose": 2**62},
        {"patient": 4, "dose": 1},
    ],
    "regions": [
        {"region": "north", "people": 7},
        {"region": "north", "people": None},
        {"region": "south", "people": 8},
        {"region": None, "people": 9},
    ],
}


def brief(rows, *names):
    return sorted((tuple(row[name] for name in names) for row in rows), key=repr)


def test_scan_types_cells_and_drops_rows_of_nobody():
    rows = rows_of(Scan(VISITS), ROWS)
    assert brief(rows, PERSON, "cost") == [(1, 10.0), (1, 20.0), (2, 30.0), (2, None), (3, None)]
    assert brief(rows, "day") == [
        (None,),
        (None,),
        (DAY(2024, 1, 1),),
        (DAY(2024, 1, 2),),
        (DAY(2024, 1, 3),),
    ]


def test_filter_keeps_what_is_true_and_project_keeps_the_person():
    dear = Filter(Scan(VISITS), Call("more", (Name("cost"), Literal(10, Kind.INTEGER))))
    doubled = Project(dear, (("twice", Call("add", (Name("cost"), Name("cost")))),))
    assert brief(rows_of(doubled, ROWS), PERSON, "twice") == [(1, 40.0), (2, 60.0)]


def test_public_join_keeps_one_row_a_key():
    joined = JoinPublic(Scan(VISITS), REGIONS, (Name("region"),), keep_unmatched=False, prefix="r_")
    # Two rows of the public table claim to be north; the one whose columns come first (NULL) is the one.
    assert brief(rows_of(joined, ROWS), PERSON, "r_people") == [(1, None), (1, None), (2, 8)]
    kept = JoinPublic(Scan(VISITS), REGIONS, (Name("region"),), keep_unmatched=True, prefix="r_")
    assert brief(rows_of(kept, ROWS), PERSON, "r_region") == [
        (1, "north"),
        (1, "north"),
        (2, "south"),
        (2, None),
        (3, None),
    ]


def test_join_of_persons_pairs_rows_of_one_person_only():
    visits, drugs = (Bounded(Scan(table), (), Limits(rows=9), tuple(table.kinds)) for table in (VISITS, DRUGS))
    joined = JoinPersons(visits, drugs, None, keep_unmatched=True, prefix="d_")
    assert brief(rows_of(joined, ROWS), PERSON, "cost", "d_dose") == sorted(
        [
            (1, 10.0, 5),
            (1, 10.0, None),
            (1, 20.0, 5),
            (1, 20.0, None),
            (2, 30.0, None),
            (2, None, None),
            (3, None, 2**62),
            (3, None, 2**62),
        ],
        key=repr,
    )
    strict = JoinPersons(visits, drugs, Call("less", (Name("d_dose"), Name("cost"))), keep_unmatched=False, prefix="d_")
    assert brief(rows_of(strict, ROWS), PERSON, "d_dose") == [(1, 5), (1, 5)]


def test_per_person_measures_each_person_alone():
    relation = PerPerson(
        Scan(DRUGS),
        (),
        (
            ("rows", CountRows()),
            ("known", CountOf(Name("dose"))),
            ("total", Sum(Name("dose"))),
            ("first", Smallest(Name("dose"))),
            ("last", Largest(Name("dose"))),
            ("one", Persons()),
        ),
    )
    assert brief(rows_of(relation, ROWS), PERSON, "rows", "known", "total", "first", "last", "one") == [
        (1, 2, 1, 5, 5, 5, 1),
        (3, 2, 2, None, 2**62, 2**62, 1),  # the sum is beyond 64 bits
        (4, 1, 1, 1, 1, 1, 1),
    ]


def test_windows_stay_within_a_person():
    by_day = ((Name("day"), False),)
    number = Window(Scan(VISITS), "n", "row_number", None, (), by_day)
    # Unknown days come first, and those are then in the order of all columns: cost NULL with region NULL first.
    assert brief(rows_of(number, ROWS), PERSON, "cost", "n") == [
        (1, 10.0, 2),
        (1, 20.0, 1),
        (2, 30.0, 2),
        (2, None, 1),
        (3, None, 1),
    ]
    latest = Window(Scan(VISITS), "n", "row_number", None, (), ((Name("day"), True),))
    assert brief(rows_of(latest, ROWS), PERSON, "cost", "n")[:2] == [(1, 10.0, 1), (1, 20.0, 2)]
    before = Window(Scan(VISITS), "b", "lag", Name("cost"), (), by_day)
    after = Window(Scan(VISITS), "b", "lead", Name("cost"), (), by_day)
    assert brief(rows_of(before, ROWS), "cost", "b")[:2] == [(10.0, 20.0), (20.0, None)]
    assert brief(rows_of(after, ROWS), "cost", "b")[:2] == [(10.0, None), (20.0, 10.0)]
    total = Window(Scan(DRUGS), "t", "sum", Name("dose"), (), ())
    assert brief(rows_of(total, ROWS), PERSON, "t") == [(1, 5), (1, 5), (3, None), (3, None), (4, 1)]
    parts = Window(Scan(VISITS), "c", "count", None, (Name("region"),), ())
    assert brief(rows_of(parts, ROWS), PERSON, "c") == [(1, 2), (1, 2), (2, 1), (2, 1), (3, 1)]


@pytest.mark.parametrize(
    ("function", "value", "order"),
    [
        ("row_number", None, ()),
        ("lag", None, ((Name("day"), False),)),
        ("row_number", Name("cost"), ((Name("day"), False),)),
        ("sum", Name("cost"), ()),
        ("median", Name("cost"), ()),
    ],
    ids=str,
)
def test_windows_that_mean_nothing_are_refused(function, value, order):
    with pytest.raises(InvalidParameter):
        Window(Scan(VISITS), "w", function, value, (), order)


def test_frames_measure_the_rows_that_they_name():
    """By hand, over places 0 to 4 of one person: ends are cut off at the first and the last row."""
    rows = {"drugs": [{"patient": 1, "dose": dose} for dose in (1, 2, 4, 8, 16)]}
    by_dose = ((Name("dose"), False),)
    for frame, sums, firsts in (
        ((-1, 0), [1, 3, 6, 12, 24], [1, 1, 2, 4, 8]),
        ((-1, 1), [3, 7, 14, 28, 24], [1, 1, 2, 4, 8]),
        ((None, -2), [0, 0, 1, 3, 7], [None, None, 1, 1, 1]),
        ((2, 3), [12, 24, 16, 0, 0], [4, 8, 16, None, None]),
        ((None, 1), [3, 7, 15, 31, 31], [1, 1, 1, 1, 1]),
    ):
        for function, expected in (("sum", sums), ("first", firsts)):
            made = Window(Scan(DRUGS), "w", function, Name("dose"), (), by_dose, None, None, frame)
            found = sorted((row["dose"], row["w"]) for row in rows_of(made, rows))
            assert [value for _, value in found] == expected


@pytest.mark.parametrize(
    ("function", "running", "frame"),
    [("lag", None, (-1, 0)), ("rank", None, (-1, 0)), ("sum", "rows", (-1, 0)), ("sum", None, (1, 0))],
)
def test_frames_that_mean_nothing_are_refused(function, running, frame):
    value = None if function == "rank" else Name("dose")
    with pytest.raises(InvalidParameter, match="frame"):
        Window(Scan(DRUGS), "w", function, value, (), ((Name("dose"), False),), running, None, frame)


def test_keep_counts_null_as_a_value():
    kept = Keep(Scan(VISITS), (Name("region"),), (("south",), (None,), ("nowhere",)))
    assert brief(rows_of(kept, ROWS), PERSON, "region") == [(2, "south"), (2, None)]


def test_aggregates_by_hand():
    grid = Grid(Name("cost"), 0.0, 100.0, 0.0, 1)
    asked = Aggregation(Scan(VISITS), (Name("region"),), (CountRows(), CountOf(Name("cost")), Persons(), Sum(grid)))
    answer = aggregate(asked, ROWS)
    assert dict(zip(answer.keys, answer.measures, strict=True)) == {
        ("north",): (2, 2, 1, 60),
        ("south",): (1, 1, 1, 60),
        (None,): (1, 0, 1, 0),
        ("west",): (1, 0, 1, 0),
    }
    nothing = Filter(Scan(VISITS), Literal(False, Kind.BOOLEAN))
    assert aggregate(Aggregation(nothing, (), (CountRows(), Sum(grid))), ROWS).measures == ((0, 0),)
    assert aggregate(Aggregation(nothing, (Name("region"),), (CountRows(),)), ROWS).keys == ()


def test_truth_is_counted_where_it_is_true_and_sums_do_not_overflow():
    dear = CountOf(Call("more", (Name("cost"), Literal(15, Kind.INTEGER))))
    assert aggregate(Aggregation(Scan(VISITS), (), (dear,)), ROWS).measures == ((2,),)
    assert aggregate(Aggregation(Scan(DRUGS), (), (Sum(Name("dose")),)), ROWS).measures == ((2**63 + 6,),)


# -------------------------------------------------------------------------------------------------------- the choice

EVENTS = Table(
    "events",
    (Column("who", Kind.TEXT), Column("shop", Kind.INTEGER), Column("paid", Kind.REAL)),
    "events.csv",
    person="who",
)


def event_rows(seed):
    generator = np.random.default_rng(seed)
    return [
        {"who": f"p{generator.integers(4)}", "shop": int(generator.integers(5)), "paid": float(generator.integers(6))}
        for _ in range(60)
    ]


def bounded(rows=None, groups=None, rows_per_group=None):
    return Bounded(Scan(EVENTS), (Name("shop"),), Limits(rows, groups, rows_per_group), order=("shop", "paid"))


def md5(text):
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def by_hand(rows, limits):
    """Choose by the text of the definition, with another algorithm: repeatedly take the smallest."""
    kept = []
    for who in sorted({row["who"] for row in rows}):
        own = [dict(row) for row in rows if row["who"] == who]
        for row in own:
            text = f"row;s{len(who)}:{who}i{row['shop']};r{int(row['paid'] * 2**20)};"
            row["hash"] = md5(text)
        shops = {}
        for row in own:
            shops.setdefault(row["shop"], []).append(row)
        for shop in shops:
            while limits.rows_per_group is not None and len(shops[shop]) > limits.rows_per_group:
                shops[shop].remove(max(shops[shop], key=lambda row: row["hash"]))
        while limits.groups is not None and len(shops) > limits.groups:
            last = max(shops, key=lambda shop: md5(f"group;s{len(who)}:{who}i{shop};"))
            del shops[last]
        left = [row for shop in shops.values() for row in shop]
        while limits.rows is not None and len(left) > limits.rows:
            left.remove(max(left, key=lambda row: row["hash"]))
        kept.extend(left)
    return sorted((row["who"], row["shop"], row["paid"]) for row in kept)


@pytest.mark.parametrize("limits", [(3, None, None), (None, 2, None), (None, None, 1), (4, 2, 3), (100, 100, 100)])
def test_the_choice_follows_the_definition(limits):
    rows = event_rows(sum(limit or 0 for limit in limits))
    relation = bounded(*limits)
    found = sorted((row["who"], row["shop"], row["paid"]) for row in rows_of(relation, {"events": rows}))
    assert found == by_hand(rows, Limits(*limits))


def test_the_choice_depends_on_the_persons_own_rows_alone():
    rows = event_rows(1)
    relation = bounded(4, 3, 2)
    whole = rows_of(relation, {"events": rows})
    for who in {row["who"] for row in rows}:
        alone = rows_of(relation, {"events": [row for row in rows if row["who"] == who]})
        assert brief(alone, "who", "shop", "paid") == brief(
            [row for row in whole if row["who"] == who], "who", "shop", "paid"
        )


def test_the_choice_does_not_depend_on_where_rows_are_even_where_hashes_tie():
    # Reals closer than 2^-20 have one hash: the values themselves must break the tie.
    rows = [{"who": "a", "shop": 1, "paid": 1 + place * 2.0**-30} for place in range(4)]
    relation = bounded(rows=2)
    chosen = {
        tuple(sorted(row["paid"] for row in rows_of(relation, {"events": list(order)}))) for order in permutations(rows)
    }
    assert chosen == {(1.0, 1 + 2.0**-30)}


def test_what_decides_which_rows_stay_must_cover_what_is_read():
    with pytest.raises(InvalidParameter, match="decide which rows stay"):
        Bounded(Scan(EVENTS), (Name("shop"),), Limits(rows=1), order=("paid",))
    relation = Bounded(Scan(EVENTS), (), Limits(rows=1), order=("shop",))
    with pytest.raises(InvalidParameter, match="decide which rows stay"):
        Aggregation(relation, (), (Sum(Grid(Name("paid"), 0.0, 1.0, 0.0, 0)),))


_KINDS = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INTEGER: st.integers(LEAST, MOST),
    Kind.TEXT: st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    Kind.DATE: st.dates(),
    Kind.TIMESTAMP: st.datetimes(),
}
_fields = st.lists(
    st.sampled_from(list(_KINDS)).flatmap(lambda kind: st.tuples(st.none() | _KINDS[kind], st.just(kind))), max_size=4
)


@given(_fields, _fields)
def test_canonical_texts_are_injective(first, second):
    def key(fields):
        return [(value, kind if value is not None else None) for value, kind in fields]

    def text(fields):
        return "".join(canonical(value, kind) for value, kind in fields)

    assert (key(first) == key(second)) == (text(first) == text(second))
    assert row_hash(first) != group_hash(first)


# --------------------------------------------------------------------------------------------------------- the engine


def test_the_reference_is_an_engine():
    with ReferenceEngine(CLINIC, ROWS) as engine:
        engine.check()
        asked = Aggregation(Scan(VISITS), (), (Persons(),))
        assert engine.aggregate(asked).measures == ((3,),)
    with pytest.raises(EngineUnavailable, match="drugs"):
        ReferenceEngine(CLINIC, {"visits": ROWS["visits"]}).check()
    with pytest.raises(EngineUnavailable, match="region"):
        ReferenceEngine(CLINIC, {**ROWS, "regions": [{"people": 1}]}).check()


def test_privacy_ids_are_of_one_kind():
    other = Table("other", (Column("patient", Kind.TEXT),), "other.csv", person="patient")
    with pytest.raises(InvalidParameter, match="one kind"):
        DataSet("clinic", (VISITS, other), person_unit("patient"), rows=5)
