"""What texts of a file stand for, dates on a scale, frames in and out, and columns that are not what they seem."""

from __future__ import annotations

import datetime
import itertools
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dither.disguise import (
    Cell,
    CMeans,
    Hierarchy,
    KMember,
    LocalSuppression,
    Mondrian,
    Reading,
    Roles,
    Rules,
    SetPartition,
    k_anonymity,
)
from dither.disguise.dates import LocalDates, day_of, is_local, standard
from dither.disguise.odd import identifiers_left, left_in, odd_columns
from dither.disguise.reading import hints
from dither.disguise.table import Column, Table
from dither.errors import InvalidParameter

DAYS = [datetime.date(2021, 1, day) for day in (1, 1, 1, 2, 3, 9)]


@pytest.mark.parametrize("how", ["day-first", "month-first"])
def test_every_day_of_two_years_is_read_as_it_was_written(how: LocalDates) -> None:
    one = datetime.date(2020, 1, 1)
    for day in (one + datetime.timedelta(days) for days in range(731)):
        first, second = (day.day, day.month) if how == "day-first" else (day.month, day.day)
        for between, wide in itertools.product("/.-", (True, False)):
            text = f"{first:02}{between}{second:02}{between}{day.year}" if wide else f"{first}/{second}/{day.year}"
            assert is_local(text)
            assert standard(text, how) == day.isoformat()
            assert day_of(day.isoformat()) == day.toordinal()


@pytest.mark.parametrize("text", ["2021/04/03", "3/4/21", "3/4", "3/4-2021", "03/04/2021 10:00", "x", ""])
def test_other_texts_are_no_local_dates(text: str) -> None:
    assert not is_local(text)
    assert day_of(text) is None


def test_a_date_that_is_none_is_named_with_its_column() -> None:
    dates = ["03/04/2021", "28/02/2021", "29/02/2021"]
    with pytest.raises(InvalidParameter, match="seen must be a date such as 03/04/2021, day-first, got '29/02/2021'"):
        Reading(dates="day-first").of({"seen": dates})
    with pytest.raises(InvalidParameter, match="month-first, got '28/02/2021'"):
        Reading(dates="month-first").of({"seen": dates})
    with pytest.raises(InvalidParameter, match="one of day-first"):
        Reading(dates="year-first")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="not one string"):
        Reading("n/a")  # type: ignore[arg-type]


def test_words_that_stand_for_nothing_leave_numbers() -> None:
    table = Table.of({"age": ["31", "n/a", "", "40", " n/a "], "note": ["N/A", "x", "y", "z", "-"]})
    assert table["age"].numbers() is None
    read, said = Reading(("n/a", "none")).told(table)
    assert read["age"].cells() == ["31", None, None, "40", None]
    assert read["age"].numbers() is not None
    assert read["note"].cells() == table["note"].cells()
    assert said == ("age: 2 cells are read as missing.", "null: no cell is 'none'.")
    assert Reading(dates="day-first").told(table)[1] == ("dates: no column has dates such as 03/04/2021.",)


def test_years_of_two_digits_are_told_and_never_guessed() -> None:
    table = Table.of({"seen": ["03.04.21", "20.02.21", None], "other": ["1.2.3", "03.04.21", "x"]})
    assert Reading(dates="day-first").of(table)["seen"].cells() == table["seen"].cells()
    (said,) = hints(table, table.names)
    assert said.startswith("seen looks like dates with years of two digits, such as '03.04.21'")


def test_classes_of_dates_are_spans_of_days() -> None:
    people = {"seen": ["03/04/2021", "20/02/2021", "01/05/2021", "02/05/2021"], "ill": ["a", "b", "a", "b"]}
    made = Mondrian(Roles(("seen",), ("ill",)), Rules(k=2)).apply(Reading(dates="day-first").of(people))
    spans = ["2021-02-20 to 2021-04-03"] * 2 + ["2021-05-01 to 2021-05-02"] * 2
    assert made.frame()["seen"] == spans
    # As texts, the second of May would come before the third of April.
    plain = Mondrian(Roles(("seen",), ("ill",)), Rules(k=2)).apply(people)
    assert any("--dates day-first or month-first" in one for one in plain.done)


FRAMES: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


@pytest.mark.parametrize("kind", [Mondrian, KMember, LocalSuppression, CMeans, Cell, SetPartition])
@pytest.mark.parametrize("library", FRAMES)
def test_every_library_gets_its_frame_back(library: str, kind: Any) -> None:
    given = FRAMES[library](
        {"age": [20, 20, 20, 31, 35, 40], "seen": DAYS, "town": ["a", "a", None, "b", "b", "b"], "n": [1, None] * 3}
    )
    made = kind(Roles(("age", "seen", "town")), Rules(k=2)).apply(given)
    back = made.frame()
    assert type(back) is type(given)
    assert k_anonymity(back, ["age", "seen", "town"]) >= 2
    assert Table.of(back)["n"].cells() == [1, None] * 3


def test_columns_that_stayed_have_the_type_that_they_had(tmp_path: Path) -> None:
    years = [2**60 + 1, None, 3, 4]
    roles, rules = Roles(("a",), others=("n",)), Rules(k=2)
    frame = pd.DataFrame({"a": [1, 1, 2, 9], "n": pd.array(years, dtype="Int64"), "c": pd.Categorical(list("uvuv"))})
    back = Mondrian(roles, rules).apply(frame).frame()
    assert back["n"].dtype == "Int64"
    assert back["n"][0] == 2**60 + 1
    assert back["c"].dtype == "category"
    table = pa.table({"a": [1, 1, 2, 9], "n": pa.array([1, None, 3, 4], pa.int8()), "when": DAYS[:4]})
    made = Mondrian(roles, rules).apply(table)
    assert made.frame().schema.field("n").type == pa.int8()
    assert made.frame()["a"].to_pylist() == ["1", "1", "2-9", "2-9"]
    again = Table.read(made.table.write(tmp_path / "t.parquet"))
    assert again["a"].cells() == ["1", "1", "2-9", "2-9"]
    enum = pl.Series(["u", "v", "u", None], dtype=pl.Enum(["u", "v", "w"]))
    drawn = pl.DataFrame({"a": [1, 1, 2, 9], "n": [1, 2, 3, 4], "c": enum})
    assert Mondrian(roles, rules).apply(drawn).frame()["c"].dtype == enum.dtype


def test_categories_of_rows_that_are_left_out_are_gone() -> None:
    frame = pd.DataFrame({"a": [1, 1, 2], "c": pd.Categorical(["u", "v", "rare"])})
    assert Table.of(frame).taken(np.array([0, 1])).frame()["c"].cat.categories.tolist() == ["u", "v"]


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame([[1, 2]], columns=[1, "1"]),
        pa.table([[1], [2]], names=["a", "a"]),
        pd.DataFrame(),
    ],
)
def test_names_of_columns_are_different(given: Any) -> None:
    with pytest.raises(InvalidParameter, match="a different name each"):
        Table.of(given)


def test_names_in_a_file_lose_blanks_and_an_error_lists_some(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("age, town\n1, a\n")
    assert Table.read(file).columns() == {"age": ["1"], "town": [" a"]}
    wide = Table.of({f"c{place}": [1] for place in range(400)})
    with pytest.raises(InvalidParameter, match=r"one of c0, .*, c19 and 380 more, got 'age'"):
        wide["age"]


def test_odd_cells_have_a_stated_meaning() -> None:
    moments = np.array(["2020-01-01", "2020-01-05", "NaT"], dtype="datetime64[ns]")
    assert Column.of(moments).cells() == [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 5), None]
    assert Column.of([Decimal("NaN"), Decimal(1)]).cells() == [None, Decimal(1)]
    assert Column.of(["1e308", "1"]).numbers() is None
    aware = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
    assert day_of(aware) == datetime.date(2020, 1, 1).toordinal() + 0.5
    assert Column.of([None]).scale() is None
    for values in ([], [None]):
        with pytest.raises(InvalidParameter, match="numbers, if there are to be intervals"):
            Hierarchy.intervals(values, [5])
    with pytest.raises(InvalidParameter, match="a sequence of one or more columns"):
        k_anonymity({"a": [1]}, "a")
    with pytest.raises(InvalidParameter, match="a sequence of names"):
        Roles(None)  # type: ignore[arg-type]


def test_identifiers_that_nobody_spoke_of_are_told() -> None:
    table = Table.of(
        {
            "age": list(range(10)),
            "card": [f"x{row}" for row in range(9)] + ["x0"],
            "surname": ["Smith"] * 10,
            "postcode": ["N1"] * 10,
            "weight": [70.5 + row for row in range(10)],
            "note": [None] * 9 + ["once"],
        }
    )
    roles = Roles(("age",))
    assert left_in(table, roles) == []
    assert left_in(table, Roles(("surname",))) == ["age"]
    assert identifiers_left(table, roles) == [
        "80.0% of the rows have their own value of card, which stays: does it name people?",
        "surname is called like a column that names people, and stays as it is.",
        "postcode is called like a column that others may know of people, and stays as it is.",
    ]
    assert identifiers_left(table, Roles(("age",), identifiers=("card", "surname", "postcode"))) == []


def test_formulae_of_spreadsheets_are_told() -> None:
    table = Table.of({"age": ["-1", "+2"], "note": ["=1+2", "x"], "name": ["@a", "@b"]})
    said = odd_columns(table, Roles(("age",), identifiers=("name",)))
    assert [one for one in said if "formula" in one] == [
        "note has '=1+2', which a spreadsheet may take for a formula; it stays as it is."
    ]
