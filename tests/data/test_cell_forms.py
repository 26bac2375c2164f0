# ruff: noqa: S608 - forms make the statement
"""Declared forms of cells: what they read in Python and in DuckDB, alone and among any other rows."""

from __future__ import annotations

import datetime
import string
from functools import cache

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dither.data.cell_forms import BLANKS, MINUS, MomentForm, NumberForm, forms_of, read_cell
from dither.data.engines.emit_duckdb import DuckDBEmitter
from dither.data.engines.emit_forms import read_form
from dither.data.expressions import Kind
from dither.errors import InvalidParameter

NUMBERS = ("1234.56", "1234,56", "1,234.56", "1.234,56", "1 234,56", "1'234.56", "1.234,56 €", "$1,234.56", "15 %")
MOMENTS = (
    *("DD.MM.YYYY", "MM/DD/YYYY", "YYYY-MM-DD", "YYYYMMDD", "DD.MM.YY", "DD MMM YYYY", "MMM DD, YYYY", "ISO"),
    *("DD.MM.YYYY HH:MM", "YYYY-MM-DD HH:MM:SS Z", "MM/DD/YYYY HH:MM:SS AM"),
)
#: Of the signs that forms are about, so that many texts are nearly of a form.
NEAR = st.text("0123456789.,' -+€$%eE:TZAPM/\u00a0\u202f\u2212ſaJjnN", max_size=22)
MOMENT = st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30))


def number_as(form: NumberForm, whole: int, decimals: str) -> str:
    """Return a number as a form writes it."""
    digits = f"{abs(whole):,}".replace(",", form.mark) if form.mark else str(abs(whole))
    number = digits + (form.decimal + decimals if decimals else "")
    return ("-" if whole < 0 else "") + number + (f" {form.unit}" if form.unit else "")


def moment_as(form: MomentForm, moment: datetime.datetime) -> str:
    """Return a moment as a form writes it."""
    names = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    known = {"YYYY": f"{moment.year:04}", "YY": f"{moment.year % 100:02}", "MM": f"{moment.month:02}"}
    known |= {"MMM": names[moment.month - 1].title(), "DD": f"{moment.day:02}"}
    first, second, third = (known[part] for part in form.parts)
    text = first + form.between[0] + second + form.between[1] + third
    if not form.time:
        return text
    hour = moment.hour if not form.is_half else moment.hour % 12 or 12
    text += f" {hour:02}:{moment.minute:02}:{moment.second:02}.{moment.microsecond:06}"
    return text + (" PM" if moment.hour >= 12 else " AM") * form.is_half + "+00:00" * bool(form.zone)


def in_duckdb(texts: list[str], written: tuple[str, ...], kind: Kind) -> list[object]:
    """Return what DuckDB reads, text by text."""
    emitter = DuckDBEmitter({}, lambda *_: "")
    read = [read_form(emitter, "x", form, kind) for form in forms_of("form", written, kind)]
    rows = "SELECT unnest(?::VARCHAR[]) AS x, generate_subscripts(?::VARCHAR[], 1) AS n"
    found = connection().execute(f"SELECT coalesce({', '.join(read)}) FROM ({rows}) ORDER BY n", [texts, texts])
    return [row[0] for row in found.fetchall()]


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """Return one connection for all examples: opening one takes longer than they do."""
    return duckdb.connect(":memory:", config={"threads": 1})


@given(st.sampled_from(NUMBERS), st.integers(-(10**15), 10**15), st.text(string.digits, max_size=4))
def test_a_number_is_what_was_written_in_each_form(written, whole, decimals):
    (form,) = forms_of("form", (written,), Kind.REAL)
    assert read_cell(number_as(form, whole, decimals), (form,), Kind.REAL) == float(f"{whole}.{decimals or 0}")
    assert read_cell(number_as(form, whole, ""), (form,), Kind.INTEGER) == whole


@given(st.sampled_from(MOMENTS), MOMENT)
def test_a_moment_is_what_was_written_in_each_form(written, moment):
    (form,) = forms_of("form", (written,), Kind.TIMESTAMP)
    if "YY" in form.parts:
        moment = moment.replace(year=1969 + moment.year % 100, day=min(moment.day, 28))
    text = moment_as(form, moment)
    meant = moment if form.time else datetime.datetime.combine(moment, datetime.time())
    assert read_cell(text, (form,), Kind.TIMESTAMP) == meant
    assert read_cell(text, (form,), Kind.DATE) == moment.date()


@settings(max_examples=15)
@given(st.sampled_from([(one,) for one in NUMBERS]), st.lists(NEAR, min_size=1, max_size=30))
@example(("1.234,56",), ["1.234", "12.34", "1.234.567,8", ",5", "5,", "1.234E2", "12E2", f"{MINUS}1", "--1", "1 €"])
@example(("1 234,56",), [f"1{blank}234,5" for blank in BLANKS])
@example(("1.234,56 €",), ["-€1", "€-1", "- € 1", "1€", "1 $", "-€-1", "€1€", "1", f"{MINUS}1.000 €"])
@example(("15 %",), ["15", "15%", "% 15", "15.5 %", "0.15", "15 %%"])
def test_duckdb_reads_numbers_as_python_does(written, texts):
    for kind in (Kind.REAL, Kind.INTEGER):
        forms = forms_of("form", written, kind)
        assert in_duckdb(texts, written, kind) == [read_cell(text, forms, kind) for text in texts]


@settings(max_examples=15)
@given(
    st.sampled_from([*((one,) for one in MOMENTS), ("DD.MM.YYYY", "ISO"), ("MM/DD/YY", "DD.MM.YYYY HH:MM")]),
    st.lists(NEAR | st.tuples(st.sampled_from(MOMENTS), MOMENT), min_size=1, max_size=30),
)
@example(("ISO",), ["2024-02-30", "2024-1-5", "9999-12-31T23:59:59.9999999", "0001-01-01 00:00:00+01", "0000-01-01"])
@example(("ISO",), ["2024-01-01T00:00Z", "2024-01-01 24:00:00", "2024-01-01 10:00:60", "2024-01-01 00:00:00,5+0530"])
@example(("ISO",), ["2024-01-01 00:00:00-23:59", "2024-01-01 00:00:00-24", "2024-01-01 00:00 UTC", "2024-01-01x"])
@example(("MM/DD/YYYY HH:MM AM",), ["1/2/2024 12:00 AM", "1/2/2024 12:00 pm", "1/2/2024 0:30 AM", "1/2/2024 13:00 PM"])
@example(
    ("DD MMM YYYY",), ["1 Sept 2024", "1 sep. 2024", "1 September 2024", "31 jan 2024", "1 ſep 2024", "31 Feb 2024"]
)
@example(("MM/DD/YY",), ["1/2/68", "1/2/69", "01/02/00", "1/2/2024"])
def test_duckdb_reads_moments_as_python_does(written, texts):
    texts = [one if isinstance(one, str) else moment_as(forms_of("f", one[:1], Kind.DATE)[0], one[1]) for one in texts]
    for kind in (Kind.TIMESTAMP, Kind.DATE):
        forms = forms_of("form", written, kind)
        assert in_duckdb(texts, written, kind) == [read_cell(text, forms, kind) for text in texts]


@settings(max_examples=15)
@given(st.sampled_from(NUMBERS), NEAR, st.lists(NEAR, max_size=6), st.lists(NEAR, max_size=6))
def test_a_cell_is_the_same_whatever_the_other_rows_are(written, cell, before, behind):
    alone = in_duckdb([cell], (written,), Kind.REAL)[0]
    assert in_duckdb([*before, cell, *behind], (written,), Kind.REAL)[len(before)] == alone


@pytest.mark.parametrize(
    ("written", "kind", "rule"),
    [
        (("1.234",), Kind.REAL, "write '1.234,5' or '1.23'"),
        (("1,234.56", "1.234,56"), Kind.REAL, "one form"),
        (("1 234",), Kind.REAL, "cannot be misread"),
        (("1.23,45",), Kind.REAL, "cannot be misread"),
        (("€ 5 €",), Kind.REAL, "cannot be misread"),
        (("(5)",), Kind.REAL, "cannot be misread"),
        ((), Kind.REAL, "cannot be misread"),
        (("DD.MM.YYYY",), Kind.REAL, "cannot be misread"),
        (("1,5",), Kind.DATE, "a pattern such as"),
        (("DD.MM",), Kind.DATE, "a pattern such as"),
        (("DD.DD.YYYY",), Kind.DATE, "a pattern such as"),
        (("DDMMYY",), Kind.DATE, "a pattern such as"),
        (("YYYY-MM-DD mm:ss",), Kind.DATE, "a pattern such as"),
        (("DD/MM/YYYY", "MM/DD/YYYY"), Kind.DATE, "no text is two different days"),
        (("DD.MM.YY", "YY.MM.DD"), Kind.DATE, "no text is two different days"),
        (("ISO",), Kind.TEXT, "absent for a text"),
    ],
)
def test_forms_that_could_be_misread_are_refused(written, kind, rule):
    with pytest.raises(InvalidParameter, match=rule):
        forms_of("form", written, kind)
