"""The prompt: from a pipe and from a terminal; every query is priced first, and nothing is asked without a yes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli import exits, shell
from dither.cli.app import app

from .test_publish import SCHEMA, record, run

QUERY = "SELECT city, COUNT(*) AS n\nFROM sales GROUP BY city;"


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("shell")
    rows = "".join(f"{n},{('Basel', 'Bern')[n % 2]},{n % 40},{n % 10}\n" for n in range(60))
    (folder / "sales.csv").write_text("customer,city,price,items\n" + rows)
    (folder / "shop.yaml").write_text(SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DITHER_ANCHORS", str(folder / "anchors"))
        patch.setenv("DITHER_HOME", str(folder / "home"))
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.chdir(folder)
        run("init", "home")
        run("add", "shop.yaml", "--budget", "100")
        yield folder


def releases() -> int:
    return int(record("ledger", "show", "shop")[0]["releases"])


def piped(text: str, *words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["shell", "shop", *words], input=text)
    return done.exit_code, done.stdout, done.stderr


def test_a_pipe_is_answered_line_by_line() -> None:
    before = releases()
    code, out, _ = piped(f".tables\n.columns sales\n\n{QUERY}\n.left\n", "--epsilon", "1", "--yes")
    assert (code, releases()) == (0, before + 1)
    assert "sales: private, by customer" in out
    assert "sales.price: real; 0 to 50" in out
    assert "sales.city: text; Basel, Bern" in out
    assert "95 % intervals" in out
    assert "is left" in out


def test_the_commands_that_a_refusal_names_are_there() -> None:
    code, _, err = piped("SHOW TABLES;\n", "--epsilon", "1", "--yes")
    named = re.findall(r"(?<!\S)\.[a-z]+", err)
    assert (code, len(named)) == (exits.WRONG_REQUEST, 2)
    assert piped("".join(f"{one}\n" for one in named))[0] == 0


@pytest.mark.parametrize(
    ("text", "words", "code", "said"),
    [
        (f"{QUERY}\n", ["--epsilon", "1"], exits.WRONG_REQUEST, "--yes is required"),
        (f"{QUERY}\n", ["--yes"], exits.WRONG_REQUEST, "add --epsilon 0.1"),
        ("SELECT city FROM sales;\n", ["--yes", "--epsilon", "1"], exits.WRONG_REQUEST, "raw rows"),
        (f"{QUERY}\n", ["--yes", "--epsilon", "1000"], exits.OVER_BUDGET, "does not fit"),
        (
            "SELECT COUNT(*) AS n FROM sales\n",
            ["--yes", "--epsilon", "1"],
            exits.WRONG_REQUEST,
            "does not end with ';'",
        ),
        (".nonsense\n", [], exits.WRONG_REQUEST, ".help"),
        (".columns nowhere\n", [], exits.WRONG_REQUEST, "nowhere"),
    ],
)
def test_the_first_failure_of_a_pipe_ends_it(text: str, words: list[str], code: int, said: str) -> None:
    before = releases()
    found, out, err = piped(text if "end with" in said else f"{text}{QUERY}\n", *words)
    assert found == code
    assert said in err
    assert "95 % intervals;" not in out
    assert releases() == before


def test_a_price_alone_needs_no_yes() -> None:
    before = releases()
    code, out, _ = piped(
        f".epsilon 1/2\nEXPLAIN PRIVACY {QUERY}\n.rho 0.1\nEXPLAIN PRIVACY {QUERY}\n.quit\nnonsense;\n"
    )
    assert (code, releases()) == (0, before)
    assert "epsilon = 0.5" in out
    assert "rho = 0.1" in out


def test_help_and_quit_need_no_dot() -> None:
    code, out, _ = piped("help\n?\nquit\nnonsense;\n")
    assert code == 0
    assert out.count(".columns [TABLE]") == 2


class Typed:
    """A person: lines for the prompt, and what the history keeps of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lines: list[Any]) -> None:
        self.lines, self.prompts = iter(lines), []
        monkeypatch.setattr("builtins.input", self.read)
        monkeypatch.setattr(sys.stdin, "isatty", lambda: True)

    def read(self, prompt: str) -> str:
        self.prompts.append(prompt)
        line = next(self.lines, EOFError())
        if isinstance(line, BaseException):
            raise line
        return str(line)

    def run(self, *words: str, **options: Any) -> int:
        import typer

        with pytest.raises(typer.Exit) as left:
            shell.shell("shop", *words, home=None, analyst="curator", noise="auto", **options)
        return int(left.value.exit_code)


def test_a_person_is_shown_the_price_and_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = releases()
    lines = [*QUERY.split("\n"), ".epsilon 1", *QUERY.split("\n"), "n", *QUERY.split("\n"), "y", "SELECT 1;", ".quit"]
    person = Typed(monkeypatch, lines)
    assert person.run() == 0
    said = capsys.readouterr()
    assert ".epsilon 0.1; epsilon = " in said.err
    assert person.prompts.count("ask it? [y/N] ") == 2
    assert person.prompts.count("... ") == 3
    assert said.out.count("at most, in 95 % of cases") == 2
    # The answer that was paid for, and one that is made of no rows at all, about which nobody is asked.
    assert said.out.count("95 % intervals") == 1
    assert "1 row; epsilon = 0; " in said.out
    assert releases() == before + 2


def test_an_interruption_says_what_it_cost_and_stays(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = releases()

    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    person = Typed(monkeypatch, ["SELECT", KeyboardInterrupt(), ".epsilon 1", *QUERY.split("\n"), KeyboardInterrupt()])
    with monkeypatch.context() as patch:
        patch.setattr("dither.cli.ask.show", stop)
        assert person.run(yes=True) == 0
    said = capsys.readouterr().err
    assert "the answer is stored: the same query after .key " in said
    key = said.split("after .key ")[1].split()[0]
    person = Typed(monkeypatch, [".epsilon 1", f".key {key}", *QUERY.split("\n")])
    assert person.run(yes=True) == 0
    assert "95 % intervals" in capsys.readouterr().out
    assert releases() == before + 1


def test_the_history_has_what_was_typed_and_nothing_of_the_answers(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readline = pytest.importorskip("readline")
    readline.clear_history()
    lines = ["SELECT city, COUNT(*) AS n FROM sales GROUP BY city;", "y", ".quit"]
    person = Typed(monkeypatch, lines)
    read = person.read

    def remembered(prompt: str) -> str:
        line = read(prompt)
        readline.add_history(line)
        return line

    monkeypatch.setattr("builtins.input", remembered)
    assert person.run("1") == 0
    kept = place / "state" / "dither" / "history"
    # Editors of lines write blanks in their own way, and a title of their own.
    said = [line.replace("\\040", " ") for line in kept.read_text().splitlines() if not line.startswith("_HiStOrY")]
    assert said == [lines[0], lines[2]]
    assert kept.stat().st_mode & 0o777 == 0o600
    readline.clear_history()
