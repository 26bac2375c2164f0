"""What a curator types to grant on terms, to agree, to pause and to publish."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from dither.cli.app import app
from dither.curator.folder import Curator
from dither.errors import ApprovalPending, DataSetNotOpen, InvalidParameter
from dither.privacy import PureDP
from tests.curator.conftest import ROWS, SCHEMA

COUNT = "SELECT COUNT(*) AS n FROM visits"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "clinic.yaml").write_text(SCHEMA)
    Curator.create(tmp_path / "home").close()
    monkeypatch.setenv("DITHER_HOME", str(tmp_path / "home"))
    return tmp_path


def typed(*words: str) -> Result:
    found = CliRunner().invoke(app, words)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found


def test_a_grant_an_approval_a_publication_and_a_pause_as_they_are_typed(home: Path) -> None:
    assert "accepts them" in typed("add", str(home / "clinic.yaml"), "--budget", "2", "--draft").output
    with Curator.open(home / "home") as curator, pytest.raises(DataSetNotOpen):
        curator.session("clinic").sql(COUNT, epsilon="0.1")
    typed("datasets", "open", "clinic")
    typed("people", "add", "ana", "--role", "analyst")
    typed("people", "add", "boss", "--role", "curator")
    words = ("people", "grant", "ana", "clinic", "--quota", "1", "--allowance", "0.5 every 7 days")
    said = typed(*words, "--approval", "above 0.1", "--approvers", "2", "--most", "0.5").output
    assert "0.5 every 7 days; a release above epsilon = 0.1 needs 2 approvals" in " ".join(said.split())
    # A new quota alone keeps the terms.
    assert "needs 2 approvals" in " ".join(typed("people", "grant", "ana", "clinic", "--quota", "1.5").output.split())
    with Curator.open(home / "home") as curator, pytest.raises(ApprovalPending) as pending:
        curator.session("clinic", analyst="ana").sql(COUNT, epsilon="0.2", key="first")
    number = str(pending.value.entry)
    [asked] = json.loads(typed("approvals", "list", "--waiting", "--json").output)
    assert (asked["number"], asked["analyst"], asked["approvers"]) == (pending.value.entry, "ana", 2)
    assert "is waiting" in typed("approvals", "approve", number).output
    with pytest.raises(InvalidParameter, match="declared as curator"):
        typed("approvals", "approve", number, "--as", "ana")
    assert "is approved" in typed("approvals", "approve", number, "--as", "boss").output
    with Curator.open(home / "home") as curator:
        curator.session("clinic", analyst="ana").sql(COUNT, epsilon="0.2", key="first")
    typed("published", "add", "first", "--title", "Visits")
    [shown] = json.loads(typed("published", "list", "--json").output)
    assert (shown["title"], shown["dataset"]) == ("Visits", "clinic")
    assert "/v1/published/" in typed("published", "state", "clinic").output
    typed("published", "state", "clinic", "-o", str(home / "stated.json"))
    typed("receipt", "key", "-o", str(home / "curator.pub"))
    checked = ("receipt", "verify", str(home / "stated.json"), "--key", str(home / "curator.pub"))
    assert "proved: epsilon = 0.2 was spent of the budget of clinic, epsilon = 2," in typed(*checked).output
    told_json = json.loads(typed(*checked, "--json").output)
    assert (told_json["budget"]["epsilon"], told_json["spent"]["epsilon"], told_json["releases"]) == ("2", "1/5", 1)
    assert CliRunner().invoke(app, [*checked, "--answer", str(home / "stated.json")]).exit_code == 1
    typed("datasets", "raise-budget", "clinic", "--epsilon", "3", "--reason", "a second study")
    listed = " ".join(typed("published", "list").output.split())
    assert "the budget of clinic was raised from epsilon = 2 to epsilon = 3 on" in listed
    assert listed.endswith(": a second study")
    typed("published", "withdraw", "first", "--because", "a mistake")
    assert json.loads(typed("published", "list", "--json").output) == []
    typed("datasets", "pause", "clinic", "--reason", "a complaint")
    typed("datasets", "open", "clinic")
    typed("datasets", "close", "clinic", "--reason", "over")
    typed("people", "revoke", "ana", "clinic")
    history = typed("datasets", "history", "clinic", "--json").output
    told = " | ".join(act["what"] for act in json.loads(history))
    for words_told in ("is now paused (a complaint)", "is now closed", "approved", "published", "withdrawn", "no more"):
        assert words_told in told
    assert "nothing contradicts" in typed("ledger", "verify").output or Curator.open().ledger.verify().is_intact


@pytest.mark.parametrize(
    "wrong",
    [
        ("--allowance", "0.1"),
        ("--allowance", "0.1 every week"),
        ("--approval", "sometimes"),
        ("--approval", "each", "--approvers", "3"),
    ],
)
def test_terms_that_cannot_be_read_are_refused_before_anything_is_granted(home: Path, wrong: tuple[str, ...]) -> None:
    with Curator.open(home / "home") as curator:
        curator.add(home / "clinic.yaml", budget=PureDP(1))
    typed("people", "add", "ana", "--role", "analyst")
    with pytest.raises(InvalidParameter):
        typed("people", "grant", "ana", "clinic", "--quota", "1", *wrong)
    with Curator.open(home / "home") as curator:
        assert not curator.standing("clinic").is_closed
