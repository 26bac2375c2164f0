# mypy: disable-error-code="untyped-decorator"
"""Frames: what a cell means, and whether anything is refused, depends on no other cell; nothing raises because of one.

Each column is read with and without one further cell, by an engine: the answers differ by that row alone.
"""

from __future__ import annotations

import collections
import datetime
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.data import Aggregation, Column, CountRows, DataSet, Kind, Name, Scan, Table
from dither.data.engines import Engine
from dither.data.engines.arrow_columns import clean
from dither.data.engines.duckdb import DuckDBEngine
from dither.data.engines.frames import prepared
from dither.data.engines.spark import _arrow
from dither.data.evaluation import cell
from dither.data.reference import ReferenceEngine
from dither.privacy import ROW

pandas: Any = pytest.importorskip("pandas")
pyarrow: Any = pytest.importorskip("pyarrow")
polars: Any = pytest.importorskip("polars")
HALF = "\ud800"  # of a surrogate pair
LAST = 2**63 - 1
DAY = datetime.datetime(2020, 1, 1)


def counted(engine: Engine, table: Table) -> collections.Counter[Any]:
    """Return how many rows hold each value of the one column."""
    engine.check()
    found = engine.aggregate(Aggregation(Scan(table), (Name("c"),), (CountRows(),)))
    return collections.Counter({key[0]: numbers[0] for key, numbers in zip(found.keys, found.measures, strict=True)})


def declared(kind: Kind) -> Table:
    return Table("t", (Column("c", kind),), "frames")


def read(kind: Kind, frame: Any) -> collections.Counter[Any]:
    table = declared(kind)
    with DuckDBEngine(DataSet("d", (table,), ROW), frames={"t": frame}, threads=1) as engine:
        return counted(engine, table)


def read_all(frames: list[tuple[Kind, Any]]) -> list[collections.Counter[Any]]:
    """Read many frames as tables of one engine: to open one takes longer than to read a frame."""
    tables = [Table(f"t{place}", (Column("c", kind),), "frames") for place, (kind, _) in enumerate(frames)]
    given = {table.name: frame for table, (_, frame) in zip(tables, frames, strict=True)}
    with DuckDBEngine(DataSet("d", tuple(tables), ROW), frames=given, threads=1) as engine:
        return [counted(engine, table) for table in tables]


class LoudText(str):
    """A text that fails at whatever it is asked."""

    __slots__ = ()

    def _fail(self, *given: Any) -> Any:
        raise ValueError("secret")

    __eq__ = __hash__ = __str__ = __repr__ = __len__ = lower = isascii = _fail  # type: ignore[assignment]


class LoudInteger(int):
    """An integer that fails at whatever it is asked."""

    def _fail(self, *given: Any) -> Any:
        raise ValueError("secret")

    __eq__ = __hash__ = __le__ = __ge__ = __lt__ = __gt__ = __int__ = __float__ = __abs__ = __str__ = _fail  # type: ignore[assignment]


class LoudReal(float):
    """A real that fails at whatever it is asked."""

    def _fail(self, *given: Any) -> Any:
        raise ValueError("secret")

    __eq__ = __hash__ = __le__ = __ge__ = __lt__ = __gt__ = __int__ = __float__ = __floor__ = __str__ = _fail  # type: ignore[assignment]


class LoudDay(datetime.datetime):
    """A moment that fails at whatever it is asked."""

    @property
    def year(self) -> int:  # type: ignore[override]
        raise ValueError("secret")


class _Nowhere(datetime.tzinfo):
    """A zone that does not know how far it is from UTC."""

    def utcoffset(self, moment: Any) -> None:
        return None


class Liar:
    """What says that it is a text, and fails at whatever it is asked."""

    def __getattribute__(self, name: str) -> Any:
        raise ValueError("secret")


class _LoudKind(type):
    """A class that says it is every other class, and fails where it is looked up."""

    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        raise ValueError("secret")


class Masked(metaclass=_LoudKind):
    """What says that it is a text."""

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        return str


#: Cells that somebody may have put into a column of objects.
OBJECTS: tuple[Any, ...] = (
    object(), HALF, "a" + HALF, LoudText("q"), LoudInteger(5), LoudReal(5.5), LoudDay(2020, 1, 1), Liar(), Masked(),
    10**400, 2**63, -(2**63), float("nan"), float("inf"), pandas.NA, pandas.NaT, None, (1, 2), b"\xff", 1j, True,
    np.datetime64("NaT"), np.datetime64(LAST, "Y"), np.datetime64(-LAST, "s"), np.datetime64(2**62, "us"),
    np.datetime64(-LAST, "ns"), np.timedelta64(5, "s"), np.longdouble(1), np.float16(1), np.array(3), np.array([1, 2]),
    pandas.Timestamp.min, pandas.Timestamp.max, Decimal("sNaN"), Decimal("1e999999"), Decimal("-2.5"),
    datetime.datetime(1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=14))), datetime.date(1, 1, 1),
    pandas.Period("2020"), pandas.Interval(0, 1), pandas.Timedelta(5), "x\x00y", "2020-02-30", "1e309", "9" * 5000,
)  # fmt: skip
BASES: dict[Kind, list[Any]] = {
    Kind.TEXT: ["p", "q", "q"],
    Kind.INTEGER: [1, 2, 2],
    Kind.REAL: [1.5, 2.5, 2.5],
    Kind.BOOLEAN: [True, False, False],
    Kind.DATE: [DAY.date()] * 3,
    Kind.TIMESTAMP: [DAY] * 3,
}


def objects(cells: list[Any]) -> Any:
    array = np.empty(len(cells), dtype=object)
    for place, value in enumerate(cells):
        array[place] = value
    return pandas.DataFrame({"c": pandas.Series(array, dtype=object)})


@pytest.mark.parametrize("kind", Kind)
def test_an_object_of_any_kind_is_a_cell_or_null_and_never_raises(kind: Kind) -> None:
    alone = [cell(value, kind) for value in OBJECTS]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for door in (
            lambda cells: counted(
                ReferenceEngine(DataSet("d", (declared(kind),), ROW), {"t": [{"c": value} for value in cells]}),
                declared(kind),
            ),
            lambda cells: read(kind, objects(cells)),
        ):
            found = door([*BASES[kind], *OBJECTS])
            assert not door(BASES[kind]) - found
            assert sum(found.values()) == len(BASES[kind]) + len(OBJECTS)
            # A frame also reads a wide float as the real that it is, and reals without fraction as texts of integers.
            further = found - collections.Counter([*BASES[kind], *alone])
            assert sum(further.values()) - (further["1"] if kind is Kind.TEXT else 0) <= 1


def test_classes_of_their_own_count_as_what_they_derive_from() -> None:
    assert cell(LoudText("q"), Kind.TEXT) == "q"
    assert type(cell(LoudText("q"), Kind.TEXT)) is str
    assert (cell(LoudInteger(5), Kind.INTEGER), cell(LoudInteger(5), Kind.TEXT)) == (5, "5")
    assert (cell(LoudReal(5.5), Kind.REAL), cell(LoudReal(5.5), Kind.INTEGER)) == (5.5, 5)
    assert type(cell(LoudReal(5.5), Kind.REAL)) is float
    assert [cell(LoudDay(2020, 1, 1), kind) for kind in (Kind.DATE, Kind.TIMESTAMP)] == [None, None]
    assert all(cell(odd, kind) is None for kind in Kind for odd in (Liar(), Masked()))
    assert cell(np.datetime64("2020-01-01T00:00:00.000001999", "ns"), Kind.TIMESTAMP) == DAY.replace(microsecond=1)
    assert cell(np.datetime64(2**62, "s"), Kind.INTEGER) is None


def test_a_row_of_a_list_is_the_dictionary_that_it_extends_or_nothing() -> None:
    class Silent(dict[str, Any]):
        def get(self, *given: Any) -> Any:
            raise ValueError("secret")

    table = declared(Kind.INTEGER)
    rows: list[Any] = [{"c": 1}, Silent(c=2), None, 5, Liar(), [("c", 1)], {"c": 1, LoudText: 3}]
    engine = ReferenceEngine(DataSet("d", (table,), ROW), {"t": rows})
    assert counted(engine, table) == {1: 2, 2: 1, None: 4}


# Columns of a type: the maker of a frame, its cells, and one more of them.

TEXTS = (b"p", b"q", b"q")


def arrow_texts(cells: list[bytes | None], kind: Any = None) -> Any:
    """Return an Arrow array whose texts are any bytes."""
    kind = kind or pyarrow.string()
    stored = {"string": "binary", "large_string": "large_binary", "string_view": "binary_view"}[str(kind)]
    array = pyarrow.array(cells, getattr(pyarrow, stored)())
    return pyarrow.Array.from_buffers(kind, len(array), array.buffers(), array.null_count)


def moments(unit: str) -> Callable[[list[int]], Any]:
    return lambda cells: pyarrow.array(cells, pyarrow.int64()).cast(pyarrow.timestamp(unit))


def as_table(make: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    return lambda cells: pyarrow.table({"c": make(cells)})


def as_pandas(make: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    return lambda cells: pandas.DataFrame({"c": pandas.Series(make(cells))})


def as_polars(make: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    return lambda cells: polars.DataFrame({"c": make(cells)})


def in_dictionary(cells: list[bytes]) -> Any:
    return pyarrow.DictionaryArray.from_arrays(pyarrow.array(range(len(cells))), arrow_texts(cells))


def in_chunks(cells: list[bytes]) -> Any:
    return pyarrow.chunked_array([arrow_texts([raw]) for raw in cells])


def typed_columns() -> Iterator[tuple[str, Kind, Callable[[list[Any]], Any], list[Any], Any]]:
    """Yield a name, a kind, what makes a frame of cells, the cells of others, and one more cell."""
    large = pyarrow.large_string()
    for bad in (b"\xff", b"\xed\xa0\x80", b"a\xc3"):
        for kind in (Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN, Kind.DATE):
            yield "arrow utf8", kind, as_table(arrow_texts), [*TEXTS], bad
        yield "arrow large utf8", Kind.TEXT, as_table(lambda cells: arrow_texts(cells, large)), [*TEXTS], bad
        yield "arrow dictionary", Kind.TEXT, as_table(in_dictionary), [*TEXTS], bad
        yield "arrow chunks", Kind.TEXT, as_table(in_chunks), [*TEXTS], bad
        yield (
            "pandas arrow",
            Kind.TEXT,
            as_pandas(lambda cells: pandas.arrays.ArrowExtensionArray(arrow_texts(cells))),
            [*TEXTS],
            bad,
        )
        yield "polars", Kind.TEXT, as_polars(lambda cells: polars.Series(arrow_texts(cells))), [*TEXTS], bad
    python = pandas.StringDtype("python")
    yield "pandas text", Kind.TEXT, as_pandas(lambda cells: pandas.Series(cells, dtype=python)), ["p", "q"], HALF
    for unit in ("s", "ms", "us", "ns"):
        for extreme in (LAST, -LAST, -LAST - 1, 253402300800 * 10**6, -62135596801):
            for kind in (Kind.TIMESTAMP, Kind.DATE):
                yield f"arrow {unit}", kind, as_table(moments(unit)), [0, 5], extreme
                yield (
                    f"pandas {unit}",
                    kind,
                    as_pandas(lambda cells, unit=unit: np.array(cells, dtype="i8").view(f"M8[{unit}]")),
                    [0, 5],
                    extreme,
                )
    for extreme in (LAST, -LAST - 1):
        for kind in (Kind.TIMESTAMP, Kind.DATE):
            yield (
                "polars ns",
                kind,
                as_polars(lambda cells: polars.Series(cells, dtype=polars.Int64).cast(polars.Datetime("ns"))),
                [0, 5],
                extreme,
            )
    days = as_table(lambda cells: pyarrow.array(cells, pyarrow.int32()).cast(pyarrow.date32()))
    for extreme in (2**31 - 1, -(2**31)):
        yield "arrow days", Kind.DATE, days, [0, 5], extreme
    wide = as_polars(lambda cells: polars.Series(cells, dtype=polars.Int128))
    yield "polars wide", Kind.INTEGER, wide, [1, 2], 2**100


def test_one_cell_of_a_typed_column_changes_nothing_about_the_others() -> None:
    cases = list(typed_columns())
    sides = read_all(
        [(kind, make(cells)) for _, kind, make, others, more in cases for cells in (others, [*others, more])]
    )
    for (name, kind, _, _, more), without, found in zip(cases, sides[::2], sides[1::2], strict=True):
        assert sum((found - without).values()) == 1, (name, kind, more)
        assert not without - found, (name, kind, more)


def test_what_spark_is_given_has_the_same_cells_and_only_plain_ones() -> None:
    for name, kind, make, others, more in typed_columns():
        column = _arrow(prepared(declared(kind), make([*others, more]))).column("c")
        column.validate(full=True)
        assert not pyarrow.types.is_dictionary(column.type)
        without = _arrow(prepared(declared(kind), make(others))).column("c")
        assert column.type == without.type, (name, kind)
        assert column.slice(0, len(others)).to_pylist() == without.to_pylist(), (name, kind, more)


def test_invalid_texts_are_null_and_valid_ones_are_not_copied() -> None:
    texts = pyarrow.array(["p", "", None, "é\x00"])
    assert clean(texts).chunk(0).buffers()[2].address == texts.buffers()[2].address
    found = clean(arrow_texts([b"p", b"\xff", None, "é".encode(), b"\xed\xa0\x80"]))
    assert found.to_pylist() == ["p", None, None, "é", None]
    many = [b"p"] * 1000
    for bad in ([0], [999], [3, 4, 500], range(0, 1000, 7), range(1000)):
        given = [b"\xff" if place in bad else raw for place, raw in enumerate(many)]
        for kind in (pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()):
            texts = arrow_texts(given, kind)
            assert clean(texts).to_pylist() == [None if place in bad else "p" for place in range(1000)]
    places = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0, 2, -1, None, 1]), pyarrow.array(["a", None]), safe=False
    )
    assert clean(places).to_pylist() == ["a", None, None, None, None]


# Categories.

#: The cells of others, one more, and the kind: one more cell decides of what type the categories are.
CATEGORIES: tuple[tuple[Kind, list[Any], Any], ...] = (
    *(
        (kind, [1, 2], more)
        for kind in Kind
        for more in (2.5, "x", 1j, True, Decimal(1), Fraction(2), 2**70, 10**400, None, b"\xff")
    ),
    *((kind, ["1", "2", "true", "2020-01-01"], more) for kind in Kind for more in (7, 2.5, None)),
    *((kind, [True, False], more) for kind in Kind for more in ("x", 1, 0.5, 1.0, None)),
    *((kind, [1.0, 2.5], more) for kind in Kind for more in ("x", 1, 1j, True, pandas.Interval(0, 1))),
    *((kind, [2**53 - 1, 2**53 + 1, 2], more) for kind in Kind for more in (0.5, "x", -(2**63))),
    *(
        (kind, [pandas.Timestamp("2020-01-01"), pandas.Timestamp("2021-01-01")], more)
        for kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TEXT)
        for more in (
            "x",
            1,
            pandas.Timestamp("2020-01-01 00:00:00.000000001"),
            pandas.Timestamp(253402300800, unit="s"),
        )
    ),
)


def categorical(cells: list[Any]) -> Any:
    """Return categories of the type that pandas finds; None where it fails, as it does at long numbers before 3.1."""
    try:
        return pandas.Categorical(cells)
    except OverflowError:
        return None


@pytest.mark.parametrize("is_first", [False, True])
def test_one_category_changes_nothing_about_the_others(is_first: bool) -> None:
    for kind, others, more in CATEGORIES:
        cells = [more, *others] if is_first else [*others, more]
        if categorical(cells) is None:
            continue
        without, found = (
            prepared(declared(kind), pandas.DataFrame({"c": categorical(part)}))["c"] for part in (others, cells)
        )
        assert found.dtype == without.dtype, (kind, others, more)
        ours = found.iloc[1:] if is_first else found.iloc[:-1]
        assert plain(ours) == plain(without), (kind, others, more)


def plain(column: Any) -> list[Any]:
    return [None if pandas.isna(value) else value for value in column]


def test_a_category_is_a_cell_and_equal_numbers_are_one() -> None:
    def of(kind: Kind, *cells: Any) -> collections.Counter[Any]:
        return read(kind, pandas.DataFrame({"c": pandas.Categorical(cells)}))

    assert of(Kind.TEXT, 1, 2.5, "x", None, "x") == {"1": 1, None: 2, "x": 2}
    assert of(Kind.BOOLEAN, True, 0, "t", 2) == {True: 2, False: 1, None: 1}
    assert of(Kind.INTEGER, 1.0, 2.5, 2**53) == {1: 1, 2: 1, None: 1}
    assert of(Kind.REAL, 2**53 + 2, 1) == {2.0**53 + 2: 1, 1.0: 1}
    assert of(Kind.DATE, pandas.Timestamp("2020-01-01"), "2020-01-01") == {DAY.date(): 2}


def test_dictionaries_of_polars_and_arrow_are_texts_whatever_they_are_declared_as() -> None:
    for make in (
        lambda cells: polars.DataFrame({"c": polars.Series(cells, dtype=polars.Categorical)}),
        lambda cells: polars.DataFrame({"c": polars.Series(cells, dtype=polars.Enum(["1", "x"]))}),
        lambda cells: pyarrow.table({"c": pyarrow.array(cells).dictionary_encode()}),
    ):
        for kind, meant in ((Kind.TEXT, {"1": 2, "x": 1, None: 1}), (Kind.INTEGER, {1: 2, None: 2})):
            assert read(kind, make(["1", "x", "1", None])) == meant


@pytest.mark.parametrize("kind", Kind)
def test_objects_of_polars_are_read_cell_by_cell(kind: Kind) -> None:
    """One cell that is of no type of Polars makes objects of a whole column: that refuses nothing."""
    cells = [1, 2.0, "1", object(), None, DAY, True, [1], b"1", 2**70, float("nan")]
    assert read(kind, polars.DataFrame({"c": polars.Series([], dtype=polars.Object)})) == {}
    found = read(kind, polars.DataFrame({"c": polars.Series(cells, dtype=polars.Object)}))
    assert found == collections.Counter(cell(value, kind) for value in cells)


@pytest.mark.parametrize("kind", [Kind.TIMESTAMP, Kind.DATE])
def test_one_cell_that_makes_objects_of_moments_with_a_zone_changes_none_of_the_others(kind: Kind) -> None:
    """Another zone, none, or a text: then the column has no zone of its own, and each cell its own."""
    late = pandas.Timestamp("2024-05-01 00:30:00.000000999", tz="Europe/Berlin")
    odd = (late.tz_convert("America/New_York"), pandas.Timestamp("2020-01-01"), "x", 5)
    first = prepared(declared(kind), pandas.DataFrame({"c": [late]}))["c"].iloc[0]
    assert first == pandas.Timestamp("2024-04-30 22:30")
    for more in odd:
        frame = pandas.DataFrame({"c": [late, more]})
        assert frame["c"].dtype == object
        found = prepared(declared(kind), frame)["c"].iloc[0]
        assert found == (first if kind is Kind.TIMESTAMP else first.normalize()), more
    moments_of_polars = polars.Series([late.to_pydatetime(warn=False), object()], dtype=polars.Object)
    found = prepared(declared(kind), polars.DataFrame({"c": moments_of_polars})).column("c")[0].as_py()
    assert found == (first.date() if kind is Kind.DATE else first)
    zoneless = datetime.datetime(2024, 5, 1, tzinfo=_Nowhere())
    assert cell(zoneless, kind) is None


def test_a_missing_or_odd_cell_changes_no_text_of_an_integer() -> None:
    for odd in (None, float("nan"), 1.5, 1j, "x", object()):
        found = read(Kind.TEXT, pandas.DataFrame({"c": [0, 1, 1, odd]}))
        assert (found["0"], found["1"]) == (1, 2)
        # So are reals without fraction, of which one odd cell makes objects.
        assert read(Kind.TEXT, pandas.DataFrame({"c": [0.0, 1.0, 1.0, odd]})) == found


@pytest.mark.parametrize("dtype", ["int64", "float64", "bool", "Int64", "Float64", "boolean", "int64[pyarrow]"])
def test_what_is_written_into_a_pandas_frame_after_it_was_opened_is_not_read(dtype: str) -> None:
    kind = {"f": Kind.REAL, "b": Kind.BOOLEAN}.get(dtype[0].lower(), Kind.INTEGER)
    frame, table = pandas.DataFrame({"c": pandas.array([0, 0, 0], dtype=dtype)}), declared(kind)
    with DuckDBEngine(DataSet("d", (table,), ROW), frames={"t": frame}, threads=1) as engine:
        before = counted(engine, table)
        frame.loc[1, "c"] = frame["c"].dtype.type(1)
        frame["c"].array[2:] = frame["c"].array[1:2]
        assert counted(engine, table) == before == {0: 3}


@pytest.mark.parametrize("library", ["arrow", "arrow texts", "batch", "polars", "pandas", "pandas of arrow"])
def test_memory_that_a_frame_was_made_over_may_be_written_later(library: str) -> None:
    numbers, letters = np.zeros(5, dtype=np.int64), bytearray(b"aaaaa")
    array, ends = pyarrow.array(numbers), pyarrow.array(range(6), pyarrow.int32()).buffers()[1]
    texts = pyarrow.StringArray.from_buffers(5, ends, pyarrow.py_buffer(letters))
    frames = {
        "arrow": lambda: pyarrow.table({"c": array}),
        "arrow texts": lambda: pyarrow.table({"c": texts}),
        "batch": lambda: pyarrow.record_batch({"c": array}),
        "polars": lambda: polars.DataFrame({"c": polars.from_arrow(array)}),
        "pandas": lambda: pandas.DataFrame(numbers.reshape(-1, 1), columns=["c"], copy=False),
        "pandas of arrow": lambda: pandas.DataFrame({"c": pandas.arrays.ArrowExtensionArray(array)}),
    }
    table = declared(Kind.TEXT if library == "arrow texts" else Kind.INTEGER)
    frame = frames[library]()
    with DuckDBEngine(DataSet("d", (table,), ROW), frames={"t": frame}, threads=1) as engine:
        before = counted(engine, table)
        numbers[2], letters[2] = 7, ord("z")
        assert counted(engine, table) == before
    # The frame itself has changed: it lies over that memory.
    with DuckDBEngine(DataSet("d", (table,), ROW), frames={"t": frame}, threads=1) as engine:
        assert counted(engine, table) != before


def test_an_index_may_hold_anything() -> None:
    frame = pandas.DataFrame({"c": pandas.Series([1, 2, 3], index=pandas.Index([0, 0, Liar()], dtype=object))})
    assert read(Kind.INTEGER, frame) == {1: 1, 2: 1, 3: 1}
