"""A folder is served by one command; people, tokens, receipts and ``--server`` are typed as the guide has them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.cli.serve import _Example, _example, _tell
from dither.curator.folder import Curator
from dither.curator.people import People, Role
from dither.errors import NotFound
from dither.privacy import PureDP
from dither.service.starting import in_use
from tests.curator.conftest import ROWS, SCHEMA

TAKEN = "in dither-demo-service/home, the folder of the demonstration that is served from here; --home names another\n"
COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


def run(*words: str, code: int = 0) -> str:
    """Type a command."""
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    monkeypatch.setenv("DITHER_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("DITHER_TOKEN", raising=False)
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "clinic.yaml").write_text(SCHEMA)
    run("init", "home")
    run("add", "clinic.yaml", "--budget", "10")
    return tmp_path


@pytest.mark.parametrize("way", ["oidc issuer", "oidc_issuer", "variable", "option"])
def test_the_issuer_of_a_subject_is_found_wherever_the_service_finds_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    place, words = "https://login.example", ["people", "add", "ana", "--role", "analyst", "--subject", "s-1"]
    assert "issuer is required" in str(CliRunner().invoke(app, words).exception)
    if way == "variable":
        monkeypatch.setenv("DITHER_SERVICE_OIDC_ISSUER", place)
    elif way == "option":
        words += ["--issuer", place]
    else:
        settings = home / "home" / "dither.yaml"
        settings.write_text(f"{settings.read_text()}service: {{{way}: '{place}'}}\n")
    assert "declared" in run(*words)
    with Curator.open(home / "home") as curator:
        found = People(curator).identified(place, "s-1")
    assert found is not None
    assert found.name == "ana"


def test_people_and_tokens_are_declared_listed_and_ended(home: Path) -> None:
    assert "declared as analyst" in run("people", "add", "ana", "--role", "analyst")
    assert "epsilon = 0.5 is left" in run("people", "grant", "ana", "clinic", "--quota", "0.5", "--most", "0.1")
    token = run("token", "new", "ana", "--days", "3").strip()
    (listed,) = json.loads(run("token", "list", "--json"))
    assert listed["id"] == token.split("_")[1]
    assert "ana" in run("token", "list")
    (person,) = json.loads(run("people", "list", "--json"))
    assert person["grants"] == {"clinic": "epsilon = 0.5"}
    assert "analyst" in run("people", "list")
    run("token", "revoke", listed["id"])
    assert "revoked" in run("token", "list")
    run("people", "revoke", "ana", "clinic")
    run("people", "revoke", "ana")
    assert "let in no more" in run("people", "list")
    for wrong in (
        ("people", "add", "Curator", "--role", "analyst"),
        ("people", "add", "bob", "--role", "king"),
        ("people", "grant", "ana", "clinic"),
        ("token", "new", "ana"),
        ("people", "revoke", "nobody"),
    ):
        assert CliRunner().invoke(app, list(wrong)).exit_code != 0


def test_settings_in_force_are_shown_and_unknown_ones_refused(home: Path) -> None:
    assert json.loads(run("serve", "--check", "--json", "--port", "9"))["port"] == 9
    assert "timing: buckets" in run("serve", "--check")
    path = home / "home" / "dither.yaml"
    path.write_text(path.read_text() + "service: {colour: red}\n")
    assert CliRunner().invoke(app, ["serve", "--check"]).exit_code != 0


def test_a_receipt_is_checked_without_the_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("sql", "clinic", COUNT, "--epsilon", "1", "--key", "mine")
    run("receipt", "show", "mine", "-o", "receipt.json")
    run("receipt", "key", "-o", "curator.pub")
    assert "dither/" in run("receipt", "checkpoint")
    monkeypatch.delenv("DITHER_HOME")
    assert "proved: epsilon = 1 was debited" in run("receipt", "verify", "receipt.json", "--key", "curator.pub")
    told = json.loads(run("receipt", "verify", "receipt.json", "--key", "curator.pub", "--json"))
    assert told["is_proved"]
    Path("other.json").write_text(Path("receipt.json").read_text().replace('"salt":"', '"salt":"0', 1))
    assert "NOT PROVED" in run("receipt", "verify", "other.json", "--key", "curator.pub", code=1)
    Path("answer").write_text("another")
    run("receipt", "verify", "receipt.json", "--key", "curator.pub", "--answer", "answer", code=1)


def test_a_new_quota_lifts_no_limit_of_a_release(home: Path) -> None:
    run("people", "add", "ana", "--role", "analyst")
    run("people", "grant", "ana", "clinic", "--quota", "0.5", "--most", "0.1", "--usual", "0.05")
    assert "at most epsilon = 0.1 a release" in run("people", "grant", "ana", "clinic", "--quota", "1")
    assert "at most epsilon = 0.1 a release" in run("people", "list")
    assert "0.2 a release" in run("people", "grant", "ana", "clinic", "--quota", "1", "--most", "0.2")
    assert "a release" not in run("people", "grant", "ana", "clinic", "--quota", "1", "--most", "none")
    with Curator.open(home / "home") as curator:
        (grant,) = People(curator).grants("ana")
    assert (grant.most, grant.usual) == (None, PureDP("0.05"))


def test_a_demonstration_whose_folder_was_deleted_says_what_to_do(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the place of the process that makes it: one that says why it could not."""
    code = "raise SystemExit('Traceback:\\n  a line\\ndither.errors.LedgerBehindAnchor: remove x.anchor to begin anew')"
    original = subprocess.run

    def broken(_command: list[str], **how: Any) -> Any:
        return original([sys.executable, "-S", "-c", code], **how)

    monkeypatch.setattr("dither.cli.serve.subprocess.run", broken)
    found = CliRunner().invoke(app, ["serve", "--demo", "--check"])
    assert isinstance(found.exception, NotFound)
    assert str(found.exception) == "dither-demo-service could not be made: remove x.anchor to begin anew"


def test_the_demonstration_that_is_served_from_here_is_found_where_no_folder_is(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the guide has it: in the same directory, without a further word; and never in the place of a folder."""
    demo = home / "dither-demo-service" / "home"
    with Curator.create(demo) as curator:
        curator.add(home / "clinic.yaml", epsilon=10)
    (home / "home" / "dither.yaml").rename(home / "put-aside.yaml")
    monkeypatch.delenv("DITHER_HOME")

    def typed(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, list(words))
        return done.exit_code, f"{done.stderr}{done.exception or ''}"

    def names(place: Path) -> list[str]:
        with Curator.open(place) as curator:
            return [one.name for one in People(curator).all()]

    declaring = ("people", "add", "analyst1", "--role", "analyst")
    # Nobody serves it: it is named, and not taken.
    code, said = typed(*declaring)
    assert code != 0
    assert "such as --home dither-demo-service/home" in said
    with in_use(demo):
        assert typed(*declaring) == (0, TAKEN)
        assert typed("people", "grant", "analyst1", "clinic", "--quota", "0.5") == (0, TAKEN)
        assert typed("datasets") == (0, TAKEN)
        assert names(demo) == ["analyst1"]
        # What brings rows, or serves, is told which folder is meant; what asks elsewhere needs none.
        for words in (("add", "clinic.yaml", "--budget", "1"), ("serve", "--check")):
            code, said = typed(*words)
            assert code != 0
            assert "no curator's folder here or above" in said
        monkeypatch.setattr("dither.service.transport._LASTING", 0)
        monkeypatch.setenv("DITHER_SERVER", "http://127.0.0.1:9")
        monkeypatch.setenv("DITHER_TOKEN", "token")
        for words in (("people", "list"), ("datasets",), ("sql", "clinic", COUNT, "--epsilon", "1")):
            assert TAKEN not in typed(*words)[1]
        monkeypatch.delenv("DITHER_SERVER")
        # A folder that is there, above, or named, comes first.
        (home / "put-aside.yaml").rename(home / "home" / "dither.yaml")
        (home / "home" / "deep" / "dither-demo-service").mkdir(parents=True)
        (home / "home" / "deep" / "dither-demo-service" / "home").symlink_to(demo)
        monkeypatch.chdir(home / "home" / "deep")
        assert typed("people", "add", "real", "--role", "analyst") == (0, "")
        monkeypatch.chdir(home)
        assert typed("people", "add", "said", "--role", "analyst", "--home", "home") == (0, "")
        monkeypatch.setenv("DITHER_HOME", str(home / "home"))
        assert typed("people", "add", "set", "--role", "analyst") == (0, "")
    assert names(demo) == ["analyst1"]
    assert sorted(names(home / "home")) == ["real", "said", "set"]


def test_the_guide_takes_a_folder_to_three_analysts(home: Path) -> None:
    """Each line as it stands; what asks a service asks this folder, and what is paid for is priced."""
    text = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    section = text.split("## From a folder to three analysts\n")[1].split("\n## ")[0]
    lines = [line for block in section.split("```\n")[1::2] for line in block.splitlines()]
    typed = [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("dither ")]
    run("datasets", "rename", "clinic", "visits")
    said = ""
    for words in typed:
        if words[0] != "serve":
            own = words[: words.index("--server")] if "--server" in words else words
            said += run(*own, *(["--quote"] if words[0] == "sql" else []))
    assert ["serve", "--demo"] in typed
    with Curator.open(home / "home") as curator:
        people, granted = People(curator).all(), {one.person: one for one in People(curator).grants()}
        tokens = {one.person for one in People(curator).tokens()}
    assert {one.name for one in people} == granted.keys() == tokens
    assert [one.role for one in people] == [Role.ANALYST] * 3
    assert sum(one.allowance is not None for one in granted.values()) == 1
    assert sum(one.approval is not None for one in granted.values()) == 1
    assert "0.1 every 7 days" in " ".join(said.split())
    assert "epsilon = 0.1" in said


def test_what_is_typed_next_names_a_data_set_of_the_folder(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed when a service starts can be typed as it is."""
    with Curator.open(home / "home") as curator:
        example = _example(curator)
    _tell("http://127.0.0.1:1", "link", home / "home", example)
    told = capsys.readouterr().out
    assert "dither people grant ana clinic --quota 0.5" in told
    assert 'dither sql clinic "SELECT COUNT(*) AS n FROM visits" --epsilon 0.1 --server http://127.0.0.1:1' in told
    assert "http://127.0.0.1:1/v1/datasets/clinic/releases" in told


def test_a_folder_whose_data_answers_no_query_is_asked_for_its_card(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _tell("http://127.0.0.1:1", "link", home, _Example("roads", None))
    told = capsys.readouterr().out
    assert "dither card roads --server http://127.0.0.1:1" in told
    assert "http://127.0.0.1:1/v1/datasets/roads/card" in told
    run("init", "empty")
    with Curator.open(home / "empty") as curator:
        assert _example(curator) is None
    _tell("http://127.0.0.1:1", "link", home, None)
    assert "dither add SCHEMA.yaml" in capsys.readouterr().out


def test_the_lines_that_are_printed_work_as_they_stand(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In two processes: the link works in either, and the ledger is theirs by the time the lines are printed."""
    pytest.importorskip("uvicorn")
    bash, curl = shutil.which("bash"), shutil.which("curl")
    if bash is None or curl is None:
        pytest.skip("curl and bash, which run the lines, are not both installed")
    command = [sys.executable, "-m", "dither", "serve", "--port", "0", "--workers", "2"]
    served = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        lines: list[str] = []
        while not (lines and lines[-1].startswith("  curl") and "releases" in lines[-1]):
            assert served.stdout is not None
            line = served.stdout.readline()
            assert line, lines
            lines.append(line)
        typed = [line.strip() for line in lines if line.startswith("  ")]
        signing_in, asking = typed[0], typed[1:]
        monkeypatch.delenv("DITHER_HOME")
        # As the command is called where the package is installed.
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
        first = subprocess.run([bash, "-c", signing_in], capture_output=True, text=True, check=True)
        assert [one["name"] for one in json.loads(first.stdout)["datasets"]] == ["clinic"]
        used = subprocess.run([bash, "-c", signing_in], capture_output=True, text=True, check=True)
        assert json.loads(used.stdout)["title"] == "NotAuthenticated"
        said = subprocess.run([bash, "-e", "-c", "\n".join(asking)], capture_output=True, text=True, check=True)
        answer = json.loads(said.stdout.splitlines()[-1])
        assert answer["columns"][0]["name"] == "n"
        assert answer["loss"] == {"kind": "pure", "epsilon": "1/10"}
    finally:
        served.send_signal(signal.SIGTERM)
        served.communicate(timeout=60)
    assert served.returncode == 0


def test_a_served_folder_is_asked_from_elsewhere_and_stops_when_told(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("uvicorn")
    run("people", "add", "ana", "--role", "analyst")
    run("people", "grant", "ana", "clinic", "--quota", "5")
    token = run("token", "new", "ana").strip()
    command = [sys.executable, "-m", "dither", "serve", "--port", "0", "--json"]
    served = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ.copy())
    try:
        text = ""
        while text.count("{") == 0 or text.count("{") != text.count("}"):
            line = served.stdout.readline() if served.stdout else ""
            assert line, served.stderr.read() if served.stderr else ""
            text += line
        told: dict[str, Any] = json.loads(text)
        monkeypatch.delenv("DITHER_HOME")
        monkeypatch.setenv("DITHER_TOKEN", token)
        server = ("--server", told["address"])
        (listed,) = json.loads(run("datasets", *server, "--json"))
        assert (listed["dataset"], listed["tables"], listed["is_granted"]) == ("clinic", ["visits"], True)
        assert "you may ask" in run("datasets", *server)
        first = run("sql", "clinic", COUNT, "--epsilon", "1", *server)
        assert first == run("sql", "clinic", COUNT, "--epsilon", "1", *server)
        assert "would cost" in run("publish", "histogram", "clinic", "ward", "--epsilon", "1", "--quote", *server)
        # A service has a key of its own for what is asked: the same command gives further rows of one model, free.
        made = ("synthesize", "clinic", "--columns", "ward", "--method", "independent", "--epsilon", "1", *server)
        assert "draw more rows for free with the same command with --rows N" in run(*made, "-o", "made.csv")
        run(*made, "-o", "more.csv", "--rows", "7")
        assert len(Path("more.csv").read_text().splitlines()) == 8
        asked = json.loads(run("datasets", "history", "clinic", *server, "--json"))
        assert sum("synthetic" in one["what"] for one in asked) == 1
        assert "first visit" in run("witness", told["address"], "--keep", "ledger.note")
        assert "nothing was rewritten" in run("witness", told["address"], "--keep", "ledger.note")
    finally:
        served.send_signal(signal.SIGTERM)
        _, errors = served.communicate(timeout=60)
    assert served.returncode == 0, errors
    assert json.loads(errors.splitlines()[0])["person"] == "ana"
