"""The wizard's screen: columns changed by number, errors that lose nothing, any terminal, and the same as options."""

from __future__ import annotations

import io
import shlex
from pathlib import Path

import pytest

from dither.cli import curate, wizard
from dither.cli.column_choices import Choices
from dither.cli.column_commands import NotUnderstoodError, join_values, split_values, take
from dither.cli.column_table import cost, show_columns, show_details, show_legend
from dither.cli.console import console
from dither.data.expressions import Kind
from dither.data.facts import FROM_DATA, FROM_NAME, ColumnFacts
from dither.errors import InvalidParameter
from tests.cli.test_curate import home, record, run
from tests.cli.test_owners import typed
from tools.trial.export import write_export

__all__ = ["home"]


class Few:
    """Six columns without a file."""

    path = "few.csv"
    decimal: str | None = None
    columns = (
        ColumnFacts("patient", "patient", Kind.TEXT, FROM_DATA, 9, 9, 9, 9),
        ColumnFacts("age", "age", Kind.INTEGER, FROM_NAME, 9, 9, 9, 9, 20, 80),
        ColumnFacts("wait", "wait", Kind.REAL, FROM_DATA, 9, 9, 9, 9, 0.5, 83.0),
        ColumnFacts("town", "town", Kind.TEXT, FROM_DATA, 9, 8, 8, 2, values=("Köln", "a, b\x1b[2J")),
        ColumnFacts("region", "region", Kind.TEXT, FROM_DATA, 10**6, 10**6, 10**6, 10**5),
        ColumnFacts("tax", "tax", Kind.TEXT, FROM_DATA, 9, 9, 9, 3, values=("15 %", "5 %", "N/A")),
    )


@pytest.fixture
def choices() -> Choices:
    return Choices(Few())


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curate, "is_screen", lambda: True)


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("7 out", "there is no column 7: columns have the numbers 1 to 6"),
        ("0", "there is no column 0"),
        ("2-4 3 out", "column 3 is named twice"),
        ("4-2 out", "write 2-4"),
        ("3 out please", "nothing may follow out"),
        ("3 5 nonsense", "after the numbers"),
        ("3 rang 0..5", "did you mean 'range'"),
        ("3 range 5", "two points between"),
        ("3 range 9..1", r"write 1\.\.9"),
        ("3 range a..b", r"written as 0\.\.99"),
        ("3 kind number", "boolean, integer, real"),
        ("3 categories", "commas between"),
        ("4 categories a, b, a", "'a' is listed twice"),
        ("6 form", "an example of a number"),
        ("6 form nonsense", "pattern"),
        ("1 missing", "nothing is grouped by it"),
        ("public", "needs the numbers"),
        ("public all", "single numbers"),
        ("public 3-4", "single numbers"),
        ("public 2", "nothing that was read from the rows"),
        ("public 5", "100,000 different values are too many to list"),
        ("public 6", "those of an amount"),
        ("all out", "only followed by 'others out'"),
        ("all others out", "name the columns that stay first"),
        ("undo", "nothing was changed yet"),
        ("undo 2", "nothing may follow undo"),
        ("publc 3", "did you mean 'public'"),
        ("3 range 0..5; 9 out", r"there is no column 9.*commands before it were done"),
    ],
)
def test_what_is_not_understood_is_one_line_and_loses_nothing(choices: Choices, line: str, rule: str) -> None:
    before = [one.tree() for one in choices]
    with pytest.raises(NotUnderstoodError, match=rule) as found:
        take(line, choices)
    assert "\n" not in str(found.value)
    if ";" not in line:
        assert [one.tree() for one in choices] == before


def test_what_was_read_from_the_rows_is_taken_by_its_number_alone(choices: Choices) -> None:
    assert choices.marked == ("wait", "town")
    assert [one.kind for one in choices] == [Kind.TEXT, Kind.INTEGER, *[Kind.TEXT] * 4]
    assert choices["age"].tree() == {"kind": "integer", "bounds": [0, 120]}
    take("public 3", choices)
    assert choices["wait"].tree() == {"kind": "real", "bounds": [0, 90]}
    take("4 categories Köln, Bonn", choices)
    assert choices.marked == ("town",)  # rows without a value could be a group: the rows say so
    take("public 4", choices)
    assert choices["town"].tree() == {"kind": "text", "categories": ["Köln", "Bonn"], "nullable": True}
    assert choices.marked == ()
    for _ in range(3):
        take("undo", choices)
    assert choices.marked == ("wait", "town")


def test_columns_go_out_by_number_range_or_all_others(choices: Choices) -> None:
    take("wait range 0..1e2; 4 in", choices)
    assert take("all others out", choices).changed == ("age", "region", "tax")
    assert choices.declared == ("patient", "wait", "town")
    take("undo", choices)
    take("2-3, 5 out", choices)
    assert choices.declared == ("patient", "town", "tax")
    take("2 range 1..9", choices)
    assert choices["age"].tree() == {"kind": "integer", "bounds": [1, 9]}
    take("6 form 15 %; 6 range 0..100", choices)
    assert choices["tax"].tree() == {"kind": "real", "form": "15 %", "bounds": [0, 100]}


def test_costs_never_add_up_days_nor_group_amounts(choices: Choices) -> None:
    assert [cost(one) for one in choices] == [
        "may identify people",
        "a sum ± 360",
        "a sum ± 270",
        "2 groups, each ± 3 rows",
        "100,000 different values are too many to list; groups from about 21 people, with a delta",
        "groups from about 21 people, with a delta",
    ]
    take("2 kind date; 2 range 2024-01-01..2024-12-31; 3 kind boolean; 4 out; 5 kind real", choices)
    assert [cost(one) for one in choices][1:5] == [
        "366 days as groups, each ± 3 rows",
        "2 groups, each ± 3 rows",
        "not declared",
        "no sums and no groups without a range",
    ]


@pytest.mark.parametrize("width", [40, 80, 130])
@pytest.mark.parametrize("coding", ["ascii", "utf-8"])
def test_any_terminal_shows_the_screen(
    choices: Choices, width: int, coding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(console, "_file", io.TextIOWrapper(raw, encoding=coding))
    monkeypatch.setattr(console, "_width", width)
    show_columns(choices)
    show_legend(choices)
    show_details(choices, ("town",))
    console.file.flush()
    seen = raw.getvalue().decode(coding)
    assert ("±" if coding == "utf-8" else "+-") in seen
    assert "\x1b[2J" not in seen
    assert "values: " in seen
    assert all(len(line) <= width for line in seen.splitlines() if "|" in line or "│" in line)
    assert ("│" in seen or "|" in seen) is (width > 40)


def test_values_are_written_and_read_alike() -> None:
    for values in (("a", "b"), ("a, b", 'say "x"', " c"), ("x\ny", "z")):
        assert split_values(join_values(values)) == values


#: Until the person is asked.
COLUMNS = ("public 4 7 10 11", "6 form 15 %; 6 range 0..100; 8 form DD.MM.YYYY; 2 9 out")


@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize("lines", [COLUMNS, (*COLUMNS, "", "", "3", "")])
def test_a_wizard_that_is_left_goes_on_where_it_was(home: Path, lines: tuple[str, ...]) -> None:
    write_export(home / "visits.csv", 60)
    shown = run("add", "visits.csv", code=wizard.OPEN, text=typed(*lines))
    assert record("datasets") == []
    again = shlex.split(shown.partition("continue where you were: ")[2])
    # The screen is shown again, and Enter continues to what is open.
    rest = ("", "", "3", "") if lines == COLUMNS else ("",)
    run(*again[1:], text=typed(*rest, "1, 1e-6", "y"))
    run("init", "second")
    first = (home / "visits.yaml").read_text()
    whole = ("", "", "3", "", "1, 1e-6", "y")
    (home / "visits.yaml").unlink()
    run("add", "visits.csv", "--home", "second", text=typed(*COLUMNS, *whole))
    assert (home / "visits.yaml").read_text() == first


@pytest.mark.usefixtures("screen")
def test_the_command_at_the_end_does_the_same(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_export(home / "visits.csv", 60)
    shown = run("add", "visits.csv", text=typed(*COLUMNS, "", "", "3", "2", "1, 1e-6", "y"))
    same = shlex.split(shown.partition("the same without questions: ")[2])
    assert "next: dither sql visits 'SELECT region, COUNT(*) AS n FROM visits GROUP BY region' --epsilon 0.1" in shown
    schema = (home / "visits.yaml").read_text()
    assert "contribution: {rows: 3, groups: 2}" in schema
    (home / "visits.yaml").unlink()
    run("init", "second")
    monkeypatch.setattr(curate, "is_screen", lambda: False)
    added = record(*same[1:], "--home", "second")
    assert added["budget"] == {"kind": "approx", "epsilon": "1", "delta": "1/1000000"}
    assert (home / "visits.yaml").read_text() == schema


def test_options_are_refused_where_they_mean_nothing(home: Path) -> None:
    for words in (["shop.yaml", "--budget", "1"], ["--suggest", "sales.csv"]):
        with pytest.raises(InvalidParameter, match="person must be omitted"):
            run("add", *words, "--person", "customer")
    for words, lacking in (
        (["--person", "customer"], "rows"),
        (["--person", "customer", "--rows", "3"], "groups"),
        (["--person", "row"], "budget"),
        (["--range", "price=0..50"], "person"),
    ):
        with pytest.raises(InvalidParameter, match=f"{lacking} must be required|{lacking} is required"):
            run("add", "sales.csv", *words)
    assert record("datasets") == []
