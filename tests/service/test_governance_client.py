"""What curators decide and auditors read through a connection, and the same as it is typed with ``--server``."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither import cli
from dither.cli.app import app
from dither.curator.folder import Curator
from dither.curator.ledger.terms import Allowance, Approval
from dither.errors import AnalystUnknown, DataSetNotOpen, DitherError, InvalidParameter, NotFound
from dither.privacy import PureDP
from dither.service.client import Connection, connect, connect_publicly
from dither.service.settings import Settings
from tests.curator.conftest import ROWS, SCHEMA
from tests.service.conftest import Running, serving

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


@pytest.fixture
def boss(running: Running) -> Connection:
    return connect(running.url, running.token("boss", "curator", quota=None))


def test_a_grant_is_given_read_and_ended(running: Running, boss: Connection) -> None:
    running.people.add("ana", "analyst")
    terms = {"most": PureDP("1/2"), "allowance": Allowance.of("1/5", 7), "approval": Approval(PureDP("1/4"), 2)}
    given = boss.grant("ana", "clinic", PureDP(1), usual=PureDP("1/8"), **terms)
    assert given in boss.grants("clinic")
    assert (given.quota, given.grant.usual, given.grant.approval) == (PureDP(1), PureDP("1/8"), terms["approval"])
    [kept] = running.people.grants("ana")
    assert (kept.most, kept.allowance and kept.allowance.each) == (PureDP("1/2"), terms["allowance"].each)
    # A new quota alone lifts no limit; None does.
    assert boss.grant("ana", "clinic", PureDP(2)).grant == given.grant
    assert boss.grant("ana", "clinic", PureDP(2), most=None, usual=None).grant.most is None
    with pytest.raises(InvalidParameter, match="quota"):
        boss.grant("ana", "clinic", 1)  # type: ignore[arg-type]
    boss.end_grant("ana", "clinic")
    with pytest.raises(AnalystUnknown):
        running.curator.session("clinic", analyst="ana").sql(COUNT, epsilon="0.1")


def test_an_approval_is_asked_for_agreed_to_and_refused(running: Running, boss: Connection) -> None:
    session = running.connect("asks", approval=Approval()).session("clinic")
    jobs = [session.begin(session.offer.sql(COUNT, epsilon=epsilon)) for epsilon in ("0.1", "0.2")]
    assert {job.progress(wait=30)["state"] for job in jobs} == {"waiting for approval"}
    mine = [one for one in boss.questions(is_waiting=True) if one.analyst == "asks"]
    small, large = sorted(mine, key=lambda one: one.loss.epsilon)
    assert (small.loss, large.loss) == (PureDP("0.1"), PureDP("0.2"))
    assert boss.approve(small.number).agreed == ("boss",)
    declined = boss.decline(large.number, because="too much")
    assert (declined.state, declined.because) == ("declined", "too much")
    assert declined in boss.questions()
    assert jobs[0].result() is not None
    with pytest.raises(DitherError, match="too much"):
        jobs[1].result()


def test_stages_budgets_and_publications(running: Running, boss: Connection) -> None:
    session = running.connect("published").session("clinic")
    entry = session.sql(COUNT, epsilon="0.1").receipt
    boss.set_stage("clinic", "paused", reason="a look")
    with pytest.raises(DataSetNotOpen):
        session.sql(COUNT, epsilon="0.3")
    boss.set_stage("clinic", "open")
    assert boss.raise_budget("hidden", epsilon=2, reason="more people agreed") == PureDP(2)
    assert running.curator.ledger.balance("hidden").budget == PureDP(2)
    with pytest.raises(InvalidParameter, match="reason"):
        boss.raise_budget("hidden", epsilon=3, reason=" ")
    # The answer of somebody else is published by its place.
    shown = boss.publish("clinic", entry, title="Visits")
    everybody = connect_publicly(running.url)
    assert shown in everybody.published()
    boss.withdraw("clinic", shown.answer, because="a mistake")
    assert shown not in everybody.published()
    last = [one for one in boss.entries() if one["record"]["kind"] == "withdraw"][-1]
    assert last["record"]["because"] == "a mistake"


def test_auditors_read_the_books_and_decide_nothing(running: Running) -> None:
    auditor = connect(running.url, running.token("auditor", "auditor", quota=None))
    entries = list(auditor.entries())
    assert [one["number"] for one in entries] == [one.number for one in running.curator.ledger.entries()]
    found = auditor.verify()
    assert (found.is_intact, found.entries) == (True, len(entries))
    assert {one.dataset for one in auditor.balances()} == {"clinic", "hidden"}
    for decides in (
        lambda: auditor.set_stage("clinic", "paused"),
        lambda: auditor.add({"dataset": "x"}, epsilon=1),
        lambda: auditor.grants("clinic"),
        lambda: auditor.approve(1),
    ):
        with pytest.raises(DitherError):
            decides()
    assert running.curator.standing("clinic").stage == "open"


def typed(token: str, running: Running, *words: str, code: int = 0, lines: str | None = None) -> str:
    environment = {"DITHER_TOKEN": token, "DITHER_HOME": "/nowhere", "COLUMNS": "200"}
    found = CliRunner().invoke(app, [*words, "--server", running.url], env=environment, input=lines)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == code, found.output
    return " ".join(found.output.split())


def decided(token: str, running: Running, *words: str) -> str:
    """Type a decision, which says at which address it was made."""
    said = typed(token, running, *words)
    assert said.endswith(f"; done at {running.url}")
    return said


def test_every_decision_is_typed_from_elsewhere(running: Running, tmp_path: Path) -> None:
    boss, asker = running.token("types", "curator", quota=None), running.token("typed", "analyst", quota=None)
    grant = ("people", "grant", "typed", "clinic", "--quota")
    said = decided(boss, running, *grant, "1", "--allowance", "0.5 every 7 days", "--approval", "above 0.1")
    assert "clinic for typed: epsilon = 1 in all; epsilon = 0.5 is left; 0.5 every 7 days" in said
    # A new quota alone keeps the terms.
    assert "epsilon = 1.5 in all" in (said := decided(boss, running, *grant, "1.5"))
    assert "0.5 every 7 days; a release above epsilon = 0.1 needs an approval" in said
    session = connect(running.url, asker).session("clinic")
    job = session.begin(session.offer.sql(COUNT, epsilon="0.2"))
    assert job.progress(wait=30)["state"] == "waiting for approval"
    waiting = json.loads(typed(boss, running, "approvals", "list", "--waiting", "--json"))
    number = str(next(one["number"] for one in waiting if one["analyst"] == "typed"))
    with pytest.raises(InvalidParameter, match="identifies who decides"):
        typed(boss, running, "approvals", "approve", number, "--as", "typed")
    assert "is approved" in decided(boss, running, "approvals", "approve", number)
    entry = job.result().receipt
    assert "is published" in decided(
        boss, running, "published", "add", entry, "--dataset", "clinic", "--title", "Wards"
    )
    assert "Wards" in typed("", running, "published", "list")
    assert "shown no more" in decided(boss, running, "published", "withdraw", entry, "--dataset", "clinic")
    with pytest.raises(InvalidParameter, match="dataset is required"):
        typed(boss, running, "published", "add", entry)
    again = session.begin(session.offer.sql(COUNT, epsilon="0.25"))
    number = str(again.progress(wait=30)["question"])
    assert "is declined" in decided(boss, running, "approvals", "decline", number, "--because", "no")
    assert "paused" in decided(boss, running, "datasets", "pause", "clinic", "--reason", "a look")
    assert "is open" in decided(boss, running, "datasets", "open", "clinic")
    raised = decided(boss, running, "datasets", "raise-budget", "hidden", "--budget", "4", "--reason", "agreed")
    assert "hidden: epsilon = 4 in all" in raised
    assert "may ask no more of clinic" in decided(boss, running, "people", "revoke", "typed", "clinic")
    with pytest.raises(InvalidParameter, match="dataset"):
        typed(boss, running, "people", "revoke", "typed")


def test_quotas_are_set_and_people_listed_from_elsewhere(running: Running) -> None:
    boss = running.token("lists", "curator", quota=None)
    running.token("listed", quota="1/2", most=PureDP("1/4"), allowance=Allowance.of("1/5", 7))
    said = decided(boss, running, "datasets", "set-quota", "clinic", "listed", "--epsilon", "2")
    assert "listed in clinic: epsilon = 2 in all, epsilon = 0.2 is left" in said
    [kept] = running.people.grants("listed")
    assert (kept.most, kept.allowance and kept.allowance.days) == (PureDP("1/4"), 7)
    rows = json.loads(typed(boss, running, "people", "list", "--json"))
    assert {"name": "listed", "grants": {"clinic": "epsilon = 0.2"}} in rows
    assert "clinic: epsilon = 0.2 (at most epsilon = 0.25 a release; 0.2 every 7 days" in typed(
        boss, running, "people", "list"
    )
    set_anew = ("datasets", "set-quota", "clinic", "listed", "--epsilon", "1", "--json")
    told = json.loads(typed(boss, running, *set_anew))
    assert (told["budget"], told["server"]) == (PureDP(1).to_dict(), running.url)
    with pytest.raises(DitherError, match="your role"):
        typed(running.token("small"), running, "people", "list")
    with pytest.raises(NotFound, match="no person is declared"):
        typed(boss, running, "datasets", "set-quota", "clinic", "nobody", "--epsilon", "1")


def folder_of(place: Path, *names: str) -> Curator:
    """Return a new folder with data sets of these names."""
    curator = Curator.create(place / "home", anchors=place / "anchors")
    for number, name in enumerate(names):
        (place / f"{name}.csv").write_text(ROWS + f"9{number},skin,{number},n0\n")
        schema = SCHEMA.replace("dataset: clinic", f"dataset: {name}").replace("visits.csv", f"{name}.csv")
        (place / f"{name}.yaml").write_text(schema)
        curator.add(place / f"{name}.yaml", budget=PureDP(1))
    return curator


def test_what_is_for_ever_says_where_it_was_decided(tmp_path: Path) -> None:
    with folder_of(tmp_path, "brief", "short") as curator:
        for apart in serving(curator, Settings(port=0, timing="off", requests_per_second=10_000)):
            boss = apart.token("ends", "curator", quota=None)
            assert "is closed permanently" in decided(boss, apart, "datasets", "close", "brief")
            assert "is retired" in decided(boss, apart, "datasets", "retire", "short", "--reason", "it is over")


def test_a_folder_that_is_typed_goes_before_a_service_in_a_variable(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DITHER_TOKEN", running.token("mistakes", "curator", quota=None))
    monkeypatch.setenv("DITHER_SERVER", running.url)
    curator, home = folder_of(tmp_path, "clinic"), ("--home", str(tmp_path / "home"))

    def said(*words: str) -> str:
        found = CliRunner().invoke(app, list(words), catch_exceptions=False)
        assert found.exit_code == 0, found.output
        return found.output

    def stages() -> tuple[str, str]:
        return curator.standing("clinic").stage, running.curator.standing("clinic").stage

    assert "done at" not in said(*home, "datasets", "pause", "clinic")
    assert stages() == ("paused", "open")
    assert "done at" not in said("datasets", "open", "clinic", *home)
    assert "done at" not in said("datasets", *home, "pause", "clinic")
    assert stages() == ("paused", "open")
    assert "hidden" not in said(*home, "datasets")
    assert "hidden" in said("datasets")
    assert f"done at {running.url}" in said("datasets", "pause", "clinic")
    assert f"done at {running.url}" in said("datasets", "open", "clinic")
    # Two places that were typed are one too many, wherever they stand.
    server = ("--server", running.url)
    for words in (
        (*home, "datasets", "close", "clinic", *server),
        ("datasets", "close", "clinic", *server, *home),
        (*home, "datasets", *server),
        (*home, "add", str(tmp_path / "clinic.yaml"), *server),
    ):
        with pytest.raises(InvalidParameter, match=r"--server is not allowed with --home"):
            said(*words)
    with pytest.raises(InvalidParameter, match="typed after the verb"):
        said("datasets", *server, "close", "clinic")
    assert stages() == ("paused", "open")
    curator.close()


#: Verbs of a folder that no route has, by module and function.
HERE = {
    "check.check": "reads rows without noise",
    "predict.predict": "reads a model and rows of one's own",
    "stream.feed": "rows never travel",
    "owners.rename": "the name stands for the people in the data, and is the folder's",
    **dict.fromkeys(("people.add", "people.new_token", "people.tokens", "people.revoke_token"), "made at the folder"),
    "receipts.state": "states what the folder's books have",
    **dict.fromkeys(("receipts.new_key", "receipts.export_key", "receipts.import_key"), "the key stays in the folder"),
    "receipts.checkpoint": "everybody reads the signed head at its address",
    "serve.serve": "is the service",
}


def test_every_verb_of_a_folder_whose_request_is_on_the_wire_takes_a_server() -> None:
    found = set()
    for path in Path(cli.__file__).parent.glob("*.py"):
        for one in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(one, ast.FunctionDef):
                options = {ast.unparse(word.annotation) for word in one.args.args if word.annotation is not None}
                if {"Home", "OwnHome"} & options and "Server" not in options:
                    found.add(f"{path.stem}.{one.name}")
    assert found <= HERE.keys()


def test_a_prompt_asks_elsewhere_and_the_same_again_is_free(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    asker = running.token("prompts", quota=1)
    lines = f"EXPLAIN PRIVACY {COUNT};\n{COUNT};\n{COUNT};\n.key anew\n{COUNT};\n.left\n"
    said = typed(asker, running, "shell", "clinic", "--epsilon", "0.1", "--yes", lines=lines)
    assert said.count("95 % intervals") == 3
    assert "epsilon = 0.8 is left" in said
    assert running.curator.ledger.balance("clinic", "prompts").releases == 2
    assert "epsilon = 0.8 is left" in typed(asker, running, "sql", "clinic", lines=".left\n")

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dither.cli.ask.show", stop)
    said = typed(asker, running, "shell", "clinic", "--epsilon", "0.1", "--yes", lines=f"{COUNT};\n", code=130)
    assert "the same query, after the same .key if it had one, gets what was paid for" in said


def test_the_books_are_read_from_elsewhere(running: Running, tmp_path: Path) -> None:
    auditor, asker = running.token("reads", "auditor", quota=None), running.token("spends", quota="1/2")
    assert "intact" in typed(auditor, running, "ledger", "verify")
    shown = json.loads(typed(auditor, running, "ledger", "show", "--json"))
    assert {one["dataset"] for one in shown} == {"clinic", "hidden"}
    # Others are told what they may spend themselves.
    [own] = json.loads(typed(asker, running, "ledger", "show", "--json"))
    assert own["budget"] == PureDP("1/2").to_dict()
    assert "fits into clinic" in typed(asker, running, "ledger", "show", "clinic", "--epsilon", "0.5")
    assert "does not fit" in typed(asker, running, "ledger", "show", "clinic", "--epsilon", "0.6", code=1)
    with pytest.raises(InvalidParameter, match="your own"):
        typed(auditor, running, "ledger", "show", "--analyst", "spends")
    out = tmp_path / "entries.jsonl"
    typed(auditor, running, "ledger", "export", "-o", str(out))
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [one["hash"] for one in lines] == [one.hash for one in running.curator.ledger.entries()]
    of_one = [json.loads(line) for line in CliRunner().invoke(
        app, ["ledger", "export", "hidden", "--server", running.url], env={"DITHER_TOKEN": auditor}
    ).output.splitlines()]  # fmt: skip
    assert {one["record"]["dataset"] for one in of_one} == {"hidden"}
