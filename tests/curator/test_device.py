"""The book of one device: debited first, added up exactly, and never trusted when it is damaged."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.curator.device import read_book, report_answer, report_location
from dither.curator.device_file import read_file
from dither.data.places import Box
from dither.errors import BudgetExceeded, InvalidParameter, RequestSealed
from dither.local.document import Document
from dither.local.domains import Categories
from dither.local.frequencies import KaryResponse
from dither.local.rounds import MemoisedHashing, MemoisedKary, RapporResponse
from dither.privacy import PureDP

_BOX = Box.of(48, 2, 49, 3)


def test_the_hundredth_report_says_what_all_cost(tmp_path: Path) -> None:
    book = tmp_path / "phone.json"
    for number in range(1, 101):
        made = report_location("48.5", "2.5", epsilon="0.003", book=book, box=_BOX)
        assert (made.book.reports, made.book.spent) == (number, number * Fraction(3, 1000))
    assert read_book(book) == made.book
    assert made.book.last == (made.latitude, made.longitude)
    assert "48.5" not in book.read_text().replace(str(made.latitude), "")


def test_a_limit_holds_from_the_first_report_on(tmp_path: Path) -> None:
    book = tmp_path / "phone.json"
    report_location(48.5, 2.5, epsilon="0.01", book=book, box=_BOX, limit="0.02")
    report_location(48.5, 2.5, epsilon="0.01", book=book)
    before = book.read_text()
    with pytest.raises(BudgetExceeded):
        report_location(48.5, 2.5, epsilon="0.01", book=book)
    with pytest.raises(InvalidParameter, match="limit"):
        report_location(48.5, 2.5, epsilon="0.01", book=book, limit=1)
    with pytest.raises(InvalidParameter, match="box"):
        report_location(48.5, 2.5, epsilon="0.01", book=book, box=Box.of(47, 2, 48, 3))
    assert book.read_text() == before


def test_a_report_that_fails_stays_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = tmp_path / "phone.json"

    def broken(*_: object, **__: object) -> None:
        raise OSError("no noise")

    monkeypatch.setattr("dither.curator.device.release", broken)
    with pytest.raises(OSError, match="no noise"):
        report_location(48.5, 2.5, epsilon="0.01", book=book, box=_BOX)
    assert read_book(book).spent == Fraction(1, 100)
    assert read_book(book).last is None


@pytest.mark.parametrize("text", ["", "{}", '{"dither": 1}', "null", "[1]", "[" * 100_000])
def test_a_damaged_book_reports_nothing(tmp_path: Path, text: str) -> None:
    book = tmp_path / "phone.json"
    book.write_text(text)
    with pytest.raises(InvalidParameter, match="damaged"):
        report_location(48.5, 2.5, epsilon="0.01", book=book, box=_BOX)
    assert book.read_text() == text


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("spent", -1), ("reports", -1), ("reports", True), ("box", -1), ("limit", -1), ("last", -1), ("last", [1])),
        *(("last", [math.nan, 2]), ("last", [math.inf, 2]), ("last", [10**400, 2]), ("spent", "1e999999999")),
    ],
)
def test_a_changed_book_reports_nothing(tmp_path: Path, field: str, value: object) -> None:
    book = tmp_path / "phone.json"
    report_location(48.5, 2.5, epsilon="0.01", book=book, box=_BOX)
    record = json.loads(book.read_text())
    book.write_text(json.dumps({**record, field: value}))
    with pytest.raises(InvalidParameter):
        report_location(48.5, 2.5, epsilon="0.01", book=book)


@pytest.mark.parametrize(
    ("place", "word"), [((91, 2), "swapped"), ((48.5, 181), "swapped"), ((math.nan, 2), "latitude")]
)
def test_what_is_not_a_place_is_refused_before_the_charge(
    tmp_path: Path, place: tuple[float, float], word: str
) -> None:
    book = tmp_path / "phone.json"
    with pytest.raises(InvalidParameter, match=word):
        report_location(*place, epsilon="0.01", book=book, box=_BOX)
    assert not book.exists()


def test_the_command_reports_counts_and_repeats(tmp_path: Path) -> None:
    book = str(tmp_path / "phone.json")
    run = CliRunner()
    words = ["report-location", "40.7", "-74.0", "--epsilon-per-metre", "0.005", "--budget", book]
    said = run.invoke(app, [*words, "--box", "40.5,-74.3,40.9,-73.7"])
    assert said.exit_code == 0, said.output
    assert "1 report of this device cost 0.005 per metre" in said.output
    more = run.invoke(app, [*words, "--json"])
    told = json.loads(more.output)
    assert (told["reports"], told["spent_per_metre"]) == (2, "1/100")
    again = json.loads(run.invoke(app, ["report-location", "--again", "--budget", book, "--json"]).output)
    assert (again["latitude"], again["reports"]) == (told["latitude"], 2)


def test_a_book_has_one_name(tmp_path: Path) -> None:
    book, link = tmp_path / "phone.json", tmp_path / "folder" / "link.json"
    link.parent.mkdir()
    link.symlink_to(book)
    for path in (link, book):
        report_location(48.5, 2.5, epsilon="0.01", book=path, box=_BOX, limit="0.02")
    for path in (link, book):
        assert read_book(path).reports == 2
        with pytest.raises(BudgetExceeded):
            report_location(48.5, 2.5, epsilon="0.01", book=path)
    assert link.is_symlink()
    (tmp_path / "second.json").hardlink_to(book)
    with pytest.raises(InvalidParameter, match="one name"):
        report_location(48.5, 2.5, epsilon="0.001", book=book)


def test_a_number_beyond_a_plane_is_reported_from(tmp_path: Path) -> None:
    plane = Box.of(0, 0, 1000, 1000, plane=True)
    made = report_location(10**400, "-1e400", epsilon="0.1", book=tmp_path / "phone.json", box=plane)
    assert math.isfinite(made.latitude)
    assert math.isfinite(made.longitude)


def test_a_refused_place_is_not_repeated(tmp_path: Path) -> None:
    for latitude, longitude in (("48,5777", "2.5"), ("2.5", "48.5777 E"), ("148.5777", "2.5")):
        with pytest.raises(InvalidParameter) as refused:
            report_location(latitude, longitude, epsilon="0.01", book=tmp_path / "phone.json", box=_BOX)
        assert "5777" not in str(refused.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["48.5"], "LON is required"),
        (["48.5", "2.5"], "--epsilon-per-metre is required"),
        (["48.5", "2.5", "--epsilon-per-metre", "0.01", "--box", "47,2,48,3"], "or 48,2,49,3 as in the first report"),
    ],
)
def test_the_command_names_what_is_missing_or_changed(tmp_path: Path, words: list[str], said: str) -> None:
    book = tmp_path / "phone.json"
    report_location(48.5, 2.5, epsilon="0.01", book=book, box=Box.of(48, 2, 49, 3))
    done = CliRunner().invoke(app, ["report-location", *words, "--budget", str(book)])
    assert said in str(done.exception)


def test_somebody_at_a_screen_is_told_that_a_place_is_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr("dither.cli.report_location.note", told.append)
    words = ["--epsilon-per-metre", "0.01", "--box", "48,2,49,3", "--budget", str(tmp_path / "phone.json")]
    for place in (["48.5", "2.5"], ["2.5", "48.5"]):
        assert CliRunner().invoke(app, ["report-location", *place, *words]).exit_code == 0
    assert [text for text in told if "outside of the box" in text] == [told[-2]]
    assert "swapped" in told[-2]
    assert CliRunner().invoke(app, ["report-location", "50", "2.5", *words]).exit_code == 0
    assert "outside of the box" in told[-2]
    assert "swapped" not in told[-2]


def _survey(epsilon: str = "1", question: str = "Which colour?") -> Document:
    law = KaryResponse.calibrated(PureDP(epsilon), categories=3)
    return law.document(question, Categories(("red", "green", "other"), "other"))


def test_a_survey_is_answered_once_whatever_the_answer_is_by_then(tmp_path: Path) -> None:
    book = tmp_path / "phone.json"
    made = report_answer("red", document=_survey(), book=book, cap=2)
    for answer in ("green", None, "red") * 5:
        again = report_answer(answer, document=_survey(), book=book)
        assert (again.text, again.is_new, again.spent) == (made.text, False, made.epsilon)
    assert 0.999 < float(made.epsilon) <= 1
    # The file holds the report and the price, and no answer.
    assert "red" not in book.read_text()


@pytest.mark.parametrize("law", [MemoisedKary, MemoisedHashing, RapporResponse])
def test_a_survey_of_rounds_is_refused_before_it_is_paid_for(tmp_path: Path, law: Any) -> None:
    """A book stores no permanent response: a fresh one in every round would be a loss in every round."""
    book, survey = tmp_path / "phone.json", tmp_path / "rounds.json"
    document = law.calibrated(PureDP(2), categories=3).document("Which colour?", _survey().domain)
    with pytest.raises(InvalidParameter, match=r"single reports: rounds need .*RoundsClient"):
        report_answer("red", document=document, book=book, cap=9)
    survey.write_text(document.text)
    words = ["survey", "answer", str(survey), "red", "--budget", str(book), "--cap", "9"]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, InvalidParameter)
    assert not book.exists()
    shown = CliRunner().invoke(app, ["survey", "show", str(survey)]).stdout
    assert "2 for all rounds of a device" in " ".join(shown.split())
    record = json.loads(CliRunner().invoke(app, ["survey", "show", str(survey), "--json"]).stdout)
    assert Fraction(record["epsilon"]) < Fraction("1.9") < Fraction(record["epsilon_of_all_rounds"]) <= 2


def test_the_cap_is_that_of_all_surveys(tmp_path: Path) -> None:
    book = tmp_path / "phone.json"
    with pytest.raises(InvalidParameter, match="required with the first survey"):
        report_answer("red", document=_survey(), book=book)
    assert not book.exists()
    report_answer("red", document=_survey(), book=book, cap="1.5")
    before = book.read_text()
    with pytest.raises(BudgetExceeded):
        report_answer("red", document=_survey(question="And now?"), book=book)
    with pytest.raises(InvalidParameter, match="cap"):
        report_answer("red", document=_survey("0.1", "And now?"), book=book, cap=3)
    assert book.read_text() == before
    assert report_answer("red", document=_survey("0.1", "And now?"), book=book).spent > 1


def test_a_report_that_was_paid_for_and_not_stored_is_sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    book = tmp_path / "phone.json"

    def broken(*_: object) -> None:
        # The debit is on the disk before the first random word.
        assert read_file(book).surveys[_survey().identifier].epsilon > 0
        raise OSError("no words")

    with monkeypatch.context() as patched:
        patched.setattr("dither.curator.device.draw_report", broken)
        with pytest.raises(OSError, match="no words"):
            report_answer("red", document=_survey(), book=book, cap=2)
    for _ in range(3):
        with pytest.raises(RequestSealed):
            report_answer("red", document=_survey(), book=book)


def test_places_and_answers_share_a_file_and_no_sum(tmp_path: Path) -> None:
    book = tmp_path / "phone.json"
    report_location("48.5", "2.5", epsilon="0.01", book=book, box=_BOX)
    assert json.loads(book.read_text())["version"] == 1
    report_answer("red", document=_survey(), book=book, cap=1)
    assert json.loads(book.read_text())["version"] == 2
    made = report_location("48.5", "2.5", epsilon="0.02", book=book)
    assert made.book.spent == Fraction(3, 100)
    assert not report_answer("red", document=_survey(), book=book).is_new
    answers = tmp_path / "tablet.json"
    report_answer("red", document=_survey(), book=answers, cap=1)
    with pytest.raises(InvalidParameter, match="reported a place"):
        read_book(answers)
    assert report_location("48.5", "2.5", epsilon="0.02", book=answers, box=_BOX).book.reports == 1


@pytest.mark.parametrize("field", ["cap", "surveys", "places"])
def test_a_damaged_file_of_answers_reports_nothing(tmp_path: Path, field: str) -> None:
    book = tmp_path / "phone.json"
    report_answer("red", document=_survey(), book=book, cap=1)
    for value in (-1, "x", [1], {"a": 1}):
        record = {**json.loads(book.read_text()), field: value}
        other = tmp_path / "other.json"
        other.write_text(json.dumps(record))
        with pytest.raises(InvalidParameter, match="damaged"):
            report_answer("red", document=_survey(), book=other)


def _places(tmp_path: Path) -> dict[str, Any]:
    report_location("48.5", "2.5", epsilon="0.01", book=tmp_path / "places.json", box=_BOX)
    record: dict[str, Any] = json.loads((tmp_path / "places.json").read_text())
    return record


@pytest.mark.parametrize("changed", [{"version": True}, {"version": 1.0}, {"reports": -1}, {"spent": "x"}, None])
@pytest.mark.parametrize("is_alone", [True, False])
def test_no_survey_is_answered_on_a_damaged_record_of_places(tmp_path: Path, changed: Any, is_alone: bool) -> None:
    book, places = tmp_path / "phone.json", _places(tmp_path)
    bare = {name: places[name] for name in ("dither", "version")}
    record = bare if changed is None else {**places, **changed}
    if not is_alone:
        report_answer("red", document=_survey(), book=book, cap=1)
        record = {**json.loads(book.read_text()), "places": record}
    book.write_text(json.dumps(record))
    before = book.read_text()
    with pytest.raises(InvalidParameter, match="damaged"):
        report_answer("red", document=_survey("0.1", "And now?"), book=book, cap=1)
    assert book.read_text() == before


def test_the_version_of_a_file_of_answers_is_a_number(tmp_path: Path) -> None:
    book = tmp_path / "phone.json"
    report_answer("red", document=_survey(), book=book, cap=1)
    book.write_text(json.dumps({**json.loads(book.read_text()), "version": 2.0}))
    with pytest.raises(InvalidParameter, match="damaged"):
        report_answer("red", document=_survey(), book=book)
