"""The owner's verbs: the wizard, the check, the life of a data set, and answers told again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dither.cli import curate, main, wizard
from dither.cli.wizard import count_error, limits_of
from dither.curator.folder import Curator
from dither.data.expressions import Kind
from dither.data.files import load_schema
from dither.data.schema import Column
from dither.errors import DataSetRetired, EngineUnavailable, InvalidParameter, NotFound
from tests.cli.test_curate import QUERY, home, record, run
from tests.workbook_files import rows_of, write_workbook

__all__ = ["home"]

AWKWARD = """\
Patient No.,smoker?,cost,region,visit date,Größe
P00663,yes,"8.777,25",north,2024-01-03,171
P00663,no,"2,5",south,2024-02-01,182
P00664,no,"99,0",north,2024-11-30,164
P00665,yes,"7,0",east,2023-05-05,
"""


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curate, "is_screen", lambda: True)


def typed(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


def test_a_life_by_commands(home: Path) -> None:
    run("add", "shop.yaml", "--budget", "2")
    first = record("sql", "shop", QUERY, "--epsilon", "0.5", "--key", "monday")
    raised = record("datasets", "raise-budget", "shop", "--epsilon", "3", "--reason", "the board agreed")
    assert raised["budget"] == {"kind": "pure", "epsilon": "3"}
    assert record("card", "shop")["privacy_loss"]["raised"][0]["reason"] == "the board agreed"
    with pytest.raises(InvalidParameter, match="never lowered"):
        run("datasets", "raise-budget", "shop", "--epsilon", "1", "--reason", "a slip")
    assert record("datasets", "set-quota", "shop", "ana", "--epsilon", "0.25")["left"]["epsilon"] == "1/4"
    run("datasets", "rename", "shop", "store")
    listed = record("datasets")[0]
    assert (listed["dataset"], listed["registered_as"], listed["edition"]) == ("store", "shop", 1)
    assert record("sql", "store", QUERY, "--epsilon", "0.5", "--key", "monday")["rows"] == first["rows"]
    assert record("ledger", "show", "store")[0]["releases"] == 1
    told = record("datasets", "history", "store")
    assert [one["who"] for one in told] == ["curator"] * 6
    asked = next(one for one in told if one["price"] is not None)
    assert (asked["what"], asked["outcome"], asked["key"]) == (QUERY, "answered", "monday")
    shown = run("datasets", "history", "store")
    assert "renamed" in shown
    assert "answered" in shown
    again = record("answer", str(asked["number"]))
    assert again["answer"]["rows"] == first["rows"]
    assert again["receipt"]["dataset"] == "shop"
    assert "monday" in run("answer", "monday", "-o", "again.csv")
    assert (home / "again.csv").read_text().startswith('"city",')
    with pytest.raises(InvalidParameter, match="out must be a new file; --force"):
        run("answer", "monday", "-o", "again.csv")
    run("answer", "monday", "-o", "again.csv", "--force")
    with pytest.raises(NotFound):
        run("answer", "tuesday")
    run("datasets", "retire", "store", "--reason", "over")
    assert record("datasets")[0]["is_retired"]
    with pytest.raises(DataSetRetired):
        run("sql", "store", QUERY, "--epsilon", "0.1")
    assert record("answer", "monday")["answer"]["rows"] == first["rows"]
    assert record("ledger", "verify")["is_intact"]


def test_an_answer_of_an_earlier_edition_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert record("add", "shop.yaml", "--budget", "2")["edition"] == 1
    run("sql", "shop", QUERY, "--epsilon", "0.5", "--key", "monday")
    with (home / "sales.csv").open("a") as stream:
        stream.write("7,Bern,3\n")
    assert "edition 2" in run("add", "shop.yaml", "--budget", "2")
    monkeypatch.setattr(sys, "argv", ["dither", "sql", "shop", QUERY, "--epsilon", "0.5", "--key", "monday"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    assert "before edition 2 of shop" in capsys.readouterr().err
    assert "about those before" in run("answer", "monday")


def test_every_owners_verb_has_an_example(home: Path) -> None:
    for words in (
        ["add"], ["check"], ["answer"], ["datasets", "raise-budget"], ["datasets", "set-quota"],
        ["datasets", "rename"], ["datasets", "retire"], ["datasets", "history"],
    ):  # fmt: skip
        assert "Example" in run(*words, "--help")


def test_a_check_says_what_does_not_fit_any_more(home: Path) -> None:
    run("add", "shop.yaml", "--budget", "2")
    assert "300 of 300 rows loaded" in run("check", "shop")
    (home / "sales.csv").write_text('customer,city,price\nP1,Basel,1\n2,Ulm,"3,5"\n3,Bern,99\n,Bern,x\n')
    shown = " ".join(run("check", "shop", code=1).split())
    for words in ("'P1' is not an integer", "'Ulm'", "decimals are written with a point", "are outside [0, 50]"):
        assert words in shown or words.replace(" ", "") in shown.replace(" ", "").replace("│", "")
    (found,) = record("check", "shop", code=1)
    assert (found["rows"], found["without_id"], found["is_right"]) == (4, 2, False)
    columns = {one["column"]: one for one in found["columns"]}
    assert (columns["customer"]["lost"], columns["price"]["lost"]) == (1, 2)
    assert (columns["city"]["outside"], columns["price"]["outside"]) == (1, 1)
    assert "changed since it was added" in found["note"]
    (home / "sales.csv").unlink()
    assert "is gone" in record("check", "shop", code=1)[0]["note"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("customer,city,price\n", "it has no rows"),
        ("customer,city,price\nP1,Bern,3\nP2,Bern,4\n", "none has a customer"),
    ],
)
def test_a_table_of_which_nothing_is_kept_is_not_registered(home: Path, text: str, why: str) -> None:
    (home / "sales.csv").write_text(text)
    with pytest.raises(InvalidParameter, match=why):
        run("add", "shop.yaml", "--budget", "2")
    assert record("datasets") == []
    run("add", "shop.yaml", "--budget", "2", "--allow-empty")
    assert record("datasets")[0]["dataset"] == "shop"


def test_an_add_tells_what_was_lost_and_shows_cells_on_a_screen_only(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "sales.csv").write_text('customer,city,price\n1,Bern,"1.234,5"\n2,Bern,3\n')
    stopped = run("add", "shop.yaml", "--budget", "2", code=wizard.OPEN)
    assert "sales.price: 1 of 2 filled cells (50 %) become NULL: not of the kind real" in stopped
    assert "--allow-lost" in stopped
    assert "1.234,5" not in stopped
    assert record("datasets") == []
    told = record("add", "shop.yaml", "--budget", "2", code=wizard.OPEN)
    assert told["lost"] == [{"table": "sales", "column": "price", "lost": 1, "filled": 2}]
    shown = run("add", "shop.yaml", "--budget", "2", "--allow-lost")
    assert "2 of 2 rows loaded, 5 of 6 filled cells" in shown
    assert "price: 1 cells become NULL" in shown
    assert "1.234,5" not in shown
    monkeypatch.setattr(curate, "is_screen", lambda: True)
    assert "'1.234,5' is not a real" in run("add", "shop.yaml", "--budget", "2", "--allow-lost")


def test_nobody_to_ask_gets_a_draft_and_the_questions_and_nothing_of_the_rows(home: Path) -> None:
    (home / "clinic.csv").write_text(AWKWARD)
    shown = run("add", "clinic.csv", "--budget", "2", code=wizard.OPEN)
    assert "unit: ???" in shown
    for place in ("unit", "contribution", "tables.clinic.privacy id", "tables.clinic.columns.Patient_No.kind"):
        assert f"  {place}" in shown
    assert "nothing was registered" in shown
    for cell in ("P00663", "north", "171", "8.777"):
        assert cell not in shown
    assert record("datasets") == []
    assert not (home / "clinic.yaml").exists()
    # Whatever is piped in counts for nothing.
    run("add", "clinic.csv", "--budget", "2", code=wizard.OPEN, text=typed(*["y"] * 50))
    assert record("datasets") == []


@pytest.mark.usefixtures("screen")
def test_the_wizard_asks_and_registers(home: Path) -> None:
    (home / "clinic.csv").write_text(AWKWARD)
    answers = (
        "public 4 6",  # region: categories from the data; Größe: its kind
        "2 categories yes, no",
        "3 range 0..500",  # cost: with the form in which its cells are written
        "5 range 2020-01-01..2029-12-31",  # round bounds in place of the data's
        "6 range 100..220", "6 missing", "",
        "1", "2", "",  # whose, rows, groups
        "1.5",  # budget
        "?", "y",  # register: what is neither yes nor no is asked again
    )  # fmt: skip
    shown = run("add", "clinic.csv", text=typed(*answers))
    for words in (
        "NOT PRIVATE", "read from your rows", "stores none of them", 'form: "1.234,5"',
        "rows a person", "clinic: epsilon = 1.5", "1 (from the defaults)",
    ):  # fmt: skip
        assert words in shown
    schema = load_schema(home / "clinic.yaml")
    table = schema.table("clinic")
    assert (schema.rows, schema.groups, table.person) == (2, 1, "Patient_No")
    assert table.column("smoker") == Column("smoker", Kind.TEXT, categories=("yes", "no"), source="smoker?")
    assert table.column("region").categories == ("east", "north", "south")
    assert table.column("Grosse") == Column("Grosse", Kind.INTEGER, 100, 220, nullable=True, source="Größe")
    assert str(table.column("visit_date").lower) == "2020-01-01"
    assert record("datasets")[0]["dataset"] == "clinic"
    record("sql", "clinic", "SELECT region, COUNT(*) AS n FROM clinic GROUP BY region", "--epsilon", "0.5")
    # What was shown is kept nowhere: no cell of the file is in any text that the folder has.
    texts = [path.read_bytes() for path in (home / "home").rglob("*") if path.is_file() and path.suffix != ".parquet"]
    assert not any(b"P00663" in text or b"8.777" in text for text in texts)
    assert table.column("cost").form == ("1.234,5",)


@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize("lines", [(), ("4 out",), ("", "", "Patient_No"), ("", "", "nobody", "Patient_No", "0")])
def test_a_wizard_that_is_left_registers_nothing(home: Path, lines: tuple[str, ...]) -> None:
    (home / "clinic.csv").write_text(AWKWARD)
    shown = run("add", "clinic.csv", "--budget", "1", code=wizard.OPEN, text=typed(*lines))
    assert "nothing was registered" in shown
    assert record("datasets") == []
    assert not (home / "clinic.yaml").exists()


@pytest.mark.usefixtures("screen")
def test_who_does_not_register_may_keep_the_answers_and_go_on_later(home: Path) -> None:
    (home / "few.csv").write_text("age,education-num\n30,1\n31,2\n")
    answers = ("2 range 0..20", "", "row", "1/2", "n")
    shown = run("add", "few.csv", code=wizard.OPEN, text=typed(*answers, "n"))
    assert "nothing was written" in shown
    assert not (home / "few.yaml").exists()
    shown = run("add", "few.csv", "--delta", "1e-6", code=wizard.OPEN, text=typed(*answers, "y"))
    assert "'dither add few.yaml --budget 0.5 --delta 1e-06'" in shown
    assert record("datasets") == []
    assert load_schema(home / "few.yaml").table("few").column("education_num").upper == 20
    added = record("add", "few.yaml", "--budget", "1/2", "--delta", "1/1000000")
    assert added["budget"] == {"kind": "approx", "epsilon": "1/2", "delta": "1/1000000"}


@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize("is_comma", [True, False])
def test_a_decimal_comma_is_asked_declared_read_and_checked(home: Path, is_comma: bool) -> None:
    (home / "few.csv").write_text("size;price\n1,5;2\n2,25;3\n")
    # Enter is not enough for the comma: the column's number is typed.
    answers = ("1 range 0..10", "2 range 0..10") if is_comma else ("decimal point", "2 range 0..10")
    shown = run("add", "few.csv", "--budget", "1", text=typed(*answers, "", "row", "y"))
    assert "numbers are read with ',' before their decimals" in shown
    schema = load_schema(home / "few.yaml")
    assert schema.tables[0].decimal == ("," if is_comma else None)
    assert schema.tables[0].column("size").kind is (Kind.REAL if is_comma else Kind.TEXT)
    if not is_comma:
        return
    assert record("check", "few")[0]["is_right"]
    (home / "few.csv").write_text("size;price\n1.5;2\n2,25;3\n")
    (found,) = record("check", "few", code=1)
    assert found["columns"][0]["reason"] == (
        "'1.5' is not a real: with decimal ',' no number has a point, not even between thousands"
    )
    # Another reading of the same bytes is another edition.
    (home / "few.csv").write_text("size;price\n1,5;2\n2,25;3\n")
    (home / "few.yaml").write_text((home / "few.yaml").read_text().replace('    decimal: ","\n', ""))
    assert record("add", "few.yaml", "--budget", "1", "--allow-lost")["edition"] == 2


@pytest.mark.usefixtures("screen")
def test_who_leaves_at_the_budget_may_not_be_asked_and_nothing_is_written(home: Path) -> None:
    (home / "few.csv").write_text("age\n30\n31\n")
    assert "nothing was written" in run("add", "few.csv", code=wizard.OPEN, text=typed("", "row"))
    assert not (home / "few.yaml").exists()


def test_a_program_gets_the_draft_as_json(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "clinic.csv").write_text(AWKWARD)
    for is_screen in (False, True):
        monkeypatch.setattr(curate, "is_screen", lambda seen=is_screen: seen)
        told = record("add", "clinic.csv", "--budget", "2", code=wizard.OPEN)
        assert told == record("add", "--suggest", "clinic.csv")
        assert told["open"][:3] == ["unit", "contribution", "tables.clinic.privacy id"]
        assert (told["written"], told["registered"]) == (None, False)
        assert told["draft"].startswith("# A draft")
    told = record("add", "clinic.csv", "-o", "draft.yaml", code=wizard.OPEN)
    assert (told["written"], told["draft"]) == ("draft.yaml", (home / "draft.yaml").read_text())
    assert record("datasets") == []


def test_rows_of_a_renamed_data_set_are_claimed_by_its_present_name(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("add", "shop.yaml", "--budget", "2")
    run("datasets", "rename", "shop", "store")
    (home / "other.yaml").write_text((home / "shop.yaml").read_text().replace("dataset: shop", "dataset: other"))
    with pytest.raises(InvalidParameter, match=r"it belongs to the data set store, .* add it as store"):
        run("add", "other.yaml", "--budget", "2")
    with pytest.raises(NotFound, match=r"the data set shop is called store now; .* 'dataset: store'"):
        run("add", "shop.yaml", "--budget", "2")
    monkeypatch.setattr(curate, "is_screen", lambda: True)
    with pytest.raises(NotFound, match="is called store now"):
        run("add", "sales.csv", "--name", "shop", "--budget", "2")  # before any question
    (home / "again.yaml").write_text((home / "shop.yaml").read_text().replace("dataset: shop", "dataset: store"))
    assert record("add", "again.yaml", "--budget", "2")["dataset"] == "store"


def test_a_history_is_whole_where_a_program_reads(home: Path) -> None:
    run("add", "shop.yaml", "--budget", "2")
    long = QUERY.replace("GROUP", "WHERE price > 1 AND price < 49 AND price > 2 AND price < 48 GROUP")
    run("sql", "shop", long, "--epsilon", "0.5")
    lines = run("datasets", "history", "shop").splitlines()
    assert any(long in line and "answered" in line for line in lines)
    assert record("datasets", "history", "shop")[1]["what"] == long


@pytest.mark.usefixtures("screen")
def test_nothing_from_the_data_is_taken_by_enter(home: Path) -> None:
    """A column that nobody named is text without categories, whatever its cells are."""
    (home / "plain.csv").write_text("a,b\n1,x\n2,y\n")
    shown = run("add", "plain.csv", "--budget", "1", text=typed("", "", "row", "y"))
    assert "'public 1 2'" in shown
    table = load_schema(home / "plain.yaml").table("plain")
    assert table.columns == (Column("a", Kind.TEXT), Column("b", Kind.TEXT))


@pytest.mark.usefixtures("screen")
def test_a_draft_on_a_screen_shows_the_rows_beside_it_and_not_in_it(home: Path) -> None:
    (home / "clinic.csv").write_text(AWKWARD)
    shown = run("add", "--suggest", "clinic.csv", "-o", "draft.yaml")
    assert "north" in shown
    assert "region" in shown
    draft = (home / "draft.yaml").read_text()
    assert "???" in draft
    assert not any(cell in draft for cell in ("north", "P00663", "171"))
    paid = run("add", "clinic.csv", "--budget", "1", code=wizard.OPEN, text=typed("", "", "Patient_No", "?"))
    assert "'dither limits clinic clinic --epsilon 0.1'" in paid


@pytest.mark.usefixtures("screen")
@pytest.mark.parametrize("whose", ["patient_no", "Patient No.", "PATIENT NO."])
def test_the_wizard_knows_a_column_by_its_header_and_says_what_may_be_typed(home: Path, whose: str) -> None:
    (home / "clinic.csv").write_text(AWKWARD)
    lines = ("4", "", "", "?", whose, "y", "n", "2", "?", "")
    shown = run("add", "clinic.csv", "--budget", "1", code=wizard.OPEN, text=typed(*lines))
    assert "not a column" not in shown
    for words in (
        "the same in all rows of one person", "nothing is proposed: type a value\n", "this one must be decided",
        "values: east, north, south", "12 for months",
    ):  # fmt: skip
        assert words in shown


@pytest.mark.usefixtures("screen")
def test_a_budget_that_is_none_is_refused_before_the_questions_or_asked_again(home: Path) -> None:
    (home / "few.csv").write_text("age\n30\n31\n")
    for words in (("--budget", "abc"), ("--delta", "abc")):
        with pytest.raises(InvalidParameter, match="abc"):
            run("add", "few.csv", *words)
    shown = run("add", "few.csv", text=typed("", "row", "much", "1", "y"))
    assert "budget must be a finite number above 0, got 'much'" in shown
    assert "few: epsilon = 1" in shown


def test_a_file_in_another_encoding_is_refused_with_the_one_that_is_read(home: Path) -> None:
    (home / "latin.csv").write_bytes(AWKWARD.encode("latin-1"))
    with pytest.raises(EngineUnavailable, match="must be text in UTF-8"):
        run("add", "--suggest", "latin.csv")


def test_limits_count_what_they_drop() -> None:
    counts = {1: 10, 3: 4, 9: 1}
    found = limits_of(counts)
    assert [limit.rows for limit in found] == [1, 2, 4, 8, 16]
    rows = [many for many, people in counts.items() for _ in range(people)]
    for limit in found:
        assert limit.dropped == sum(max(0, many - limit.rows) for many in rows)
        assert limit.people == sum(many > limit.rows for many in rows)
    assert found[-1].dropped == 0
    assert count_error(8) > 7 * count_error(1) > 0
    assert [limit.rows for limit in limits_of({})] == [1]


def test_a_failed_registration_after_the_questions_leaves_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curate, "is_screen", lambda: True)
    (home / "few.csv").write_text("age\n30\n31\n")
    monkeypatch.setattr(Curator, "_keep", _fails)
    with pytest.raises(InvalidParameter, match="a full disk"):
        run("add", "few.csv", "--budget", "1", text=typed("", "row", "y"))
    assert not (home / "few.yaml").exists()
    assert record("datasets") == []


def _fails(*_: object) -> None:
    raise InvalidParameter("disk", "this one", "not a full disk")


def test_edges_between_undeclared_nodes_stop_an_add(home: Path) -> None:
    ends = "columns: {a: {kind: integer, bounds: [0, 9]}, b: {kind: integer, bounds: [0, 9]}}"
    table = f"  net:\n    source: net.csv\n    graph: {{ends: [a, b]}}\n    {ends}\n"
    (home / "net.yaml").write_text(f"dataset: net\nunit: edge\ntables:\n{table}")
    (home / "net.csv").write_text("a,b\n1,2\n3,40\n50,6\n")
    stopped = run("add", "net.yaml", "--budget", "1", code=wizard.OPEN)
    assert "2 of 3 edges name an undeclared node in a or b" in stopped
    told = record("add", "net.yaml", "--budget", "1", code=wizard.OPEN)
    assert told["lost"] == [{"table": "net", "undeclared_edges": 2, "rows": 3}]
    (home / "net.csv").write_text("a,b\n1,2\n3,4\n50,6\n,99\n")
    run("add", "net.yaml", "--budget", "1")


def test_a_workbook_is_added_by_options_and_several_sheets_are_refused_with_their_names(home: Path) -> None:
    pytest.importorskip("python_calamine")
    rows = rows_of([["id", "paid"], *([n, "1.234,5 €"] for n in range(20))])
    write_workbook(home / "shop2.xlsx", {f"S{n}": rows for n in range(3)})
    options = ("--person", "row", "--form", "paid=1.234,5 €", "--range", "paid=0..2000", "--budget", "1")
    with pytest.raises(InvalidParameter, match=r"sheet must be one of the 3 sheets of .*: 'S0', 'S1', 'S2'"):
        run("add", "shop2.xlsx", *options)
    run("add", "shop2.xlsx", "--sheet", "S1", *options)
    table = load_schema(home / "shop2.yaml").table("shop2")
    assert (table.sheet, table.column("paid").form) == ("S1", ("1.234,5 €",))
    assert record("check", "shop2")[0]["is_right"]


@pytest.mark.usefixtures("screen")
def test_the_sheet_is_asked_for_on_a_terminal(home: Path) -> None:
    pytest.importorskip("python_calamine")
    rows = rows_of([["age"], [30], [31]])
    write_workbook(home / "ages.xlsx", {"Old": "", "New": rows})
    shown = run("add", "ages.xlsx", code=wizard.OPEN, text=typed("7", "2"))
    assert "2 New" in shown
    assert "type a number from 1 to 2, or the name of a sheet" in shown
    assert "ages.xlsx: 2 rows" in shown


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--decimal", ";"), "decimal must be '.' or ','"),
        (("--delimiter", "x"), "delimiter must be one of"),
        (("--sheet", "A"), "sheet must be for a workbook"),
    ],
)
def test_options_about_a_file_say_what_they_are_for(home: Path, options: tuple[str, str], says: str) -> None:
    (home / "few.csv").write_text("age\n30\n")
    with pytest.raises(InvalidParameter, match=says):
        run("add", "few.csv", "--budget", "1", *options)


@pytest.mark.parametrize("allowed", [False, True])
def test_a_decimal_sign_that_changes_half_way_stops_an_add(home: Path, allowed: bool) -> None:
    (home / "half.csv").write_text("id;paid\n" + "1;3,5\n" * 60 + "2;3.5\n" * 40)
    said = ("--decimal", ",", "--person", "row", "--kind", "paid=real", "--budget", "1", *["--allow-lost"] * allowed)
    shown = run("add", "half.csv", *said, code=0 if allowed else wizard.OPEN)
    assert ("40 of 100 filled cells (40 %) become NULL" in shown) is not allowed
    assert (home / "half.yaml").exists() is allowed
