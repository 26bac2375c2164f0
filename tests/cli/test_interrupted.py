"""An interruption at every stage says whether the charge stands, and how to come to the answer; the ledger agrees."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from dither.cli import ask, exits, main
from dither.cli import interrupted as interrupted_module
from dither.cli.app import app
from dither.curator.ledger.rules import Books
from dither.errors import LedgerUnavailable, ReleaseFailed

from .test_publish import SCHEMA, record, run

QUERY = ("sql", "shop", "SELECT city, COUNT(*) AS n FROM sales GROUP BY city", "--epsilon", "1")
LEDGER = "dither.curator.ledger.rules.Books"


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("interrupted")
    rows = "".join(f"{n},{('Basel', 'Bern')[n % 2]},{n % 40},{n % 10}\n" for n in range(60))
    (folder / "sales.csv").write_text("customer,city,price,items\n" + rows)
    (folder / "shop.yaml").write_text(SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DITHER_ANCHORS", str(folder / "anchors"))
        patch.setenv("DITHER_HOME", str(folder / "home"))
        patch.chdir(folder)
        run("init", "home")
        run("add", "shop.yaml", "--budget", "1000")
        yield folder


def stop(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def after(real: Any) -> Any:
    def call(*words: Any, **options: Any) -> None:
        real(*words, **options)
        raise KeyboardInterrupt

    return call


def interrupted(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == exits.INTERRUPTED, done.output
    return done.stderr


def books() -> tuple[int, Fraction]:
    shown = record("ledger", "show", "shop")[0]
    return shown["releases"], Fraction(shown["spent"]["epsilon"])


def key_in(said: str) -> str:
    return said.split("--key ")[1].split()[0]


@pytest.mark.parametrize(
    "stage", ["dither.curator.session.Session._open", "dither.curator.session.Session._request_of", f"{LEDGER}.reserve"]
)
def test_before_the_charge(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = books()
    with monkeypatch.context() as patch:
        patch.setattr(stage, stop)
        assert interrupted(*QUERY) == "dither: interrupted before anything was charged\n"
    assert books() == before


@pytest.mark.parametrize("stage", [f"{LEDGER}.reserve", "dither.data.engines.duckdb.DuckDBEngine.aggregate"])
def test_after_the_charge_and_before_the_draw(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same key goes on, and is not charged again."""
    releases, spent = books()
    with monkeypatch.context() as patch:
        patch.setattr(stage, after(Books.reserve) if stage.endswith("reserve") else stop)
        said = interrupted(*QUERY)
    assert "before noise was drawn; epsilon = 1 stays charged: the same command with --key" in said
    assert books() == (releases + 1, spent + 1)
    assert "95 %" in run(*QUERY, "--key", key_in(said))
    assert books() == (releases + 1, spent + 1)


@pytest.mark.parametrize("stage", ["begin_draw", "complete"])
def test_while_noise_is_drawn(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is one noise for one charge: the same key draws it again, as was said."""
    releases, spent = books()
    with monkeypatch.context() as patch:
        patch.setattr(Books, stage, after(Books.begin_draw) if stage == "begin_draw" else stop)
        said = interrupted(*QUERY)
    assert "while noise was drawn; epsilon = 1 stays charged: the same command with --key" in said
    assert "resumes with the same noise at no additional cost" in said
    assert books() == (releases + 1, spent + 1)
    assert "95 %" in run(*QUERY, "--key", key_in(said))
    assert books() == (releases + 1, spent + 1)


@pytest.mark.parametrize("stage", ["begin_draw", "complete"])
def test_while_noise_is_drawn_that_cannot_be_drawn_again(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same key is refused, as was said."""
    words = ("synthesize", "shop", "--columns", "city", "-o", f"{stage}.json", "--epsilon", "1")
    releases, spent = books()
    with monkeypatch.context() as patch:
        patch.setattr(Books, stage, after(Books.begin_draw) if stage == "begin_draw" else stop)
        said = interrupted(*words, "--key", f"drawn-{stage}")
    assert "epsilon = 1 stays charged, and noise is not drawn twice for one charge: there is no answer" in said
    assert books() == (releases + 1, spent + 1)
    with pytest.raises(ReleaseFailed):
        run(*words, "--key", f"drawn-{stage}")


@pytest.mark.parametrize("stage", [f"{LEDGER}.complete", "dither.cli.ask.save", "dither.cli.ask.show"])
def test_after_the_answer_is_stored(stage: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words, (releases, spent) = (*QUERY, "-o", f"{stage}.csv"), books()
    with monkeypatch.context() as patch:
        patch.setattr(stage, after(Books.complete) if stage.endswith("complete") else stop)
        said = interrupted(*words)
    assert "epsilon = 1 stays charged and the answer is stored: the same command with --key" in said
    has_file = (place / f"{stage}.csv").exists()
    assert ("--force" in said) is has_file is stage.endswith("show")
    assert "95 %" in run(*words, "--key", key_in(said), *(["--force"] if has_file else []))
    assert books() == (releases + 1, spent + 1)


@pytest.mark.parametrize(
    "words",
    [
        ("publish", "histogram", "shop", "sales", "city"),
        ("synthesize", "shop", "--columns", "city", "-o", "made.json"),
        ("anonymize", "shop", "--columns", "city", "-o", "rows.json"),
        ("fit", "shop", "sales", "items", "--model", "LinearRegression", "--features", "price", "-o", "fit.json"),
    ],
)
def test_every_verb_that_charges_says_it(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("dither.curator.access.Run.carry_out", stop)
        said = interrupted(*words, "--epsilon", "1")
    charged = books()
    run(*words, "--epsilon", "1", "--key", key_in(said))
    assert books() == charged


def test_a_price_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("dither.curator.session.Session.quote", stop)
        assert "nothing was charged" in interrupted(*QUERY, "--quote")


def test_a_ledger_that_cannot_be_asked_is_no_reason_to_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> None:
        raise LedgerUnavailable("there", "gone")

    with monkeypatch.context() as patch:
        patch.setattr("dither.curator.access.Run.carry_out", stop)
        patch.setattr(f"{LEDGER}.entries", gone)
        said = interrupted(*QUERY)
    assert "the ledger cannot say now: the same command with --key" in said
    assert "95 %" in run(*QUERY, "--key", key_in(said))


def test_before_a_session_is_open(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Through the door of the command, for people and for programs: said once."""
    before = books()
    for words in (QUERY, (*QUERY, "--json")):
        for stage, said in (
            ("dither.curator.folder.Curator.open", "nothing was charged by this command"),
            ("dither.curator.session.Session._open", "before anything was charged"),
        ):
            with monkeypatch.context() as patch:
                patch.setattr(interrupted_module, "_told", [])
                patch.setattr(stage, stop)
                patch.setattr(sys, "argv", ["dither", *words])
                with pytest.raises(SystemExit) as left:
                    main()
            told = capsys.readouterr().err
            assert left.value.code == exits.INTERRUPTED
            assert told.count("interrupted") == 1
            assert said in (json.loads(told)["error"]["message"] if "--json" in words else told)
    assert books() == before


def test_a_session_that_does_not_say_its_key_makes_no_promise(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), ask.session(None, "shop", "curator"):
        raise KeyboardInterrupt
    assert "'dither ledger show' says what was charged" in capsys.readouterr().err


def test_an_engine_that_takes_the_signal_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """DuckDB raises a ``RuntimeError`` of its own while it looks at the rows of a file."""

    def caught(*_: Any, **__: Any) -> None:
        raise RuntimeError("Query interrupted")

    monkeypatch.setattr("dither.cli.curate.Facts", caught)
    monkeypatch.setattr("dither.cli.curate.is_screen", lambda: True)
    monkeypatch.setattr(interrupted_module, "_told", [])
    monkeypatch.setattr(sys, "argv", ["dither", "add", "sales.csv"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == exits.INTERRUPTED
    assert "interrupted; nothing was charged by this command" in capsys.readouterr().err


def test_rows_of_json_in_one_array_are_no_schema() -> None:
    Path("rows.json").write_text('[{"a": 1}]')
    done = CliRunner().invoke(app, ["add", "rows.json", "--budget", "1"])
    assert done.exit_code != 0
    assert "ends in .jsonl" in str(done.exception)


def test_the_question_whether_to_charge_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def left(*_: Any, **__: Any) -> bool:
        raise typer.Abort

    run(*QUERY)
    before = books()
    monkeypatch.setattr("dither.cli.ask.is_screen", lambda: True)
    monkeypatch.setattr("typer.confirm", left)
    assert "interrupted before anything was charged" in interrupted(*QUERY)
    assert books() == before
