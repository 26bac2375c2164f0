"""Verbs are imported when they are typed; a list of them shows the first line of each."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from dither.cli.app import BENCH, DATASETS, DISGUISE, LEDGER, PEOPLE, PUBLISH, RECEIPT, TOKEN, VERBS, app
from dither.cli.lazy import Verb, function_of, group

LISTS = (VERBS, PUBLISH, BENCH, DATASETS, DISGUISE, LEDGER, PEOPLE, TOKEN, RECEIPT)
EVERY = [(name, verb) for verbs in LISTS for name, verb in verbs.items()]


@pytest.mark.parametrize(("name", "verb"), EVERY)
def test_a_list_shows_the_first_line_of_each_verb(name: str, verb: Verb) -> None:
    said = inspect.getdoc(function_of(verb.place)) or ""
    assert " ".join(said.split("\n\n")[0].split()) == verb.summary


def test_help_imports_no_verb() -> None:
    """Nor anything that verbs need: engines, sessions, SciPy."""
    script = (
        "import sys\n"
        "from dither.cli import main\n"
        "sys.argv = ['dither', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('loaded:', *sorted(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    loaded = set(done.rpartition("loaded:")[2].split())
    assert {name for name in loaded if name.startswith("dither.cli.")} == {
        "dither.cli.app",
        "dither.cli.remote",
        "dither.cli.examples",
        "dither.cli.lazy",
        "dither.cli.process_exit",
        "dither.cli.summaries",
    }
    assert not loaded & {
        "scipy",
        "duckdb",
        "sqlglot",
        "dither.curator",
        "dither.publish",
        "dither.learn",
        "dither.data",
    }
    assert "quote" in done


def test_a_word_that_is_no_verb_is_refused() -> None:
    for words in (["catalo"], ["ledger", "burn"], ["disguise", "totls"]):
        assert CliRunner().invoke(app, words).exit_code == 2


def test_only_the_verb_that_is_typed_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def hello(name: str) -> None:
        """Greet."""
        typer.echo(f"hello {name}")

    def found(place: str) -> object:
        tried.append(place)
        return hello

    monkeypatch.setattr("dither.cli.lazy.function_of", found)
    made = group({"one": Verb("tests:one", "Greet."), "two": Verb("tests:two", "Greet.")}, help="Two verbs.")
    assert "one" in CliRunner().invoke(made, ["--help"]).output
    assert tried == []
    assert CliRunner().invoke(made, ["two", "world"]).output == "hello world\n"
    assert tried == ["tests:two"]
