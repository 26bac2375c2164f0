"""The command as a whole: help with examples, who uses what, where the folder is, and what exit codes mean."""

from __future__ import annotations

import io
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

import dither.cli.app as command
from dither import errors
from dither.cli import console, exits, main, tables
from dither.cli.app import GROUPS, PANELS, VERBS, app
from dither.cli.examples import EXAMPLES
from dither.cli.option_errors import refusal_words, said_value
from dither.data.expressions import Kind
from dither.privacy import PureDP

from .test_publish import SCHEMA, record, run

EVERY = [*VERBS, *(f"{name} {verb}" for name, (verbs, _, _) in GROUPS.items() for verb in verbs)]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A curator's folder that no variable names."""
    folder = tmp_path_factory.mktemp("command")
    (folder / "sales.csv").write_text("customer,city,price,items\n1,Basel,3,1\n")
    (folder / "shop.yaml").write_text(SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DITHER_ANCHORS", str(folder / "anchors"))
        run("init", str(folder / "home"))
        run("add", str(folder / "shop.yaml"), "--budget", "2", "--home", str(folder / "home"))
    return folder


@pytest.fixture(autouse=True)
def anchors(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_ANCHORS", str(shop / "anchors"))
    monkeypatch.delenv("DITHER_HOME", raising=False)
    monkeypatch.chdir("/")


def typed(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """Return the exit code of what would be typed."""
    monkeypatch.setattr(sys, "argv", ["dither", *words])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


@pytest.mark.parametrize("words", ["", *GROUPS, *EVERY])
def test_every_help_ends_with_examples(words: str) -> None:
    shown = [CliRunner().invoke(app, [*words.split(), asked]).output for asked in ("-h", "--help")]
    assert shown[0] == shown[1]
    for line in EXAMPLES[words]:
        assert f"\n  {line}\n" in shown[0] + "\n"


def test_brackets_of_usage_are_single() -> None:
    for words, said in (
        ("synthesize", "[TABLE]"),
        ("ledger show", "[DATASET]"),
        ("sql", "[QUERY]"),
    ):
        usage = CliRunner().invoke(app, [*words.split(), "-h"]).output
        assert said in usage
        assert "[[" not in usage


def check_that_it_can_be_typed(line: str) -> None:
    """Parse a line, and run nothing."""
    words = shlex.split(line, comments=True)
    words = words[1 : words.index("<") if "<" in words else None]
    group: Any = typer.main.get_command(app)
    context = group.make_context("dither", list(words), resilient_parsing=words == ["--install-completion"])
    while hasattr(group, "resolve_command") and words != ["--install-completion"]:
        rest = [*context._protected_args, *context.args]
        if not rest and group.invoke_without_command:
            break
        name, group, rest = group.resolve_command(context, rest)
        context = group.make_context(name, rest, parent=context)
    assert not context.args


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines])
def test_examples_can_be_typed(line: str) -> None:
    """The parser takes each, and each is one of the verb below whose help it stands."""
    check_that_it_can_be_typed(line)


def test_the_page_of_tasks_has_every_verb_and_its_lines_can_be_typed() -> None:
    text = (Path(__file__).parents[2] / "docs" / "which-command.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    lines = [found for row in rows for found in re.findall(r"`(dither [^`]+)`", row)]
    assert len(lines) > 40
    assert {shlex.split(line)[1] for line in lines} == set(VERBS) | {name.split()[0] for name in GROUPS}
    for line in lines:
        if not line.endswith(" -h"):
            check_that_it_can_be_typed(line)


def test_examples_are_of_verbs_that_there_are() -> None:
    assert set(EXAMPLES) == {"", *GROUPS, *EVERY}
    for words, lines in EXAMPLES.items():
        assert all(line.startswith(f"dither {words}".rstrip()) for line in lines)


def test_verbs_are_listed_by_who_uses_them() -> None:
    assert sorted(name for names in PANELS.values() for name in names) == sorted(VERBS)
    shown = CliRunner().invoke(app, ["--help"]).output
    places = [shown.index(title) for title in (*PANELS, "Examples:")]
    assert places == sorted(places)
    assert places[1] < shown.index("\u2502 ledger") < places[2] < shown.index("\u2502 publish ") < places[3]


@pytest.mark.parametrize("words", ["--home {} ledger show", "ledger --home {} show", "ledger show --home {}"])
def test_the_folder_is_named_anywhere(words: str, shop: Path) -> None:
    assert record(*words.format(shop / "home").split())[0]["dataset"] == "shop"


def test_the_nearest_name_of_the_folder_counts(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DITHER_HOME", "/nowhere")
    assert record("--home", "/nowhere", "datasets", "--home", str(shop / "home"))[0]["dataset"] == "shop"
    with pytest.raises(errors.NotFound):
        run("datasets")


def test_python_runs_the_package(shop: Path) -> None:
    words = [sys.executable, "-m", "dither", "--home", "/nowhere", "datasets", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == exits.NOT_FOUND
    assert done.stdout == ""
    assert json.loads(done.stderr)["error"]["kind"] == "NotFound"


def test_a_shell_completes_data_sets_and_verbs(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def completed(*words: str) -> str:
        line = " ".join(words)
        env = {"_DITHER_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        return CliRunner().invoke(app, [], env=env, prog_name="dither").output

    home = str(shop / "home")
    assert completed("dither", "--home", home, "sql", "sh").split() == ["shop"]
    assert completed("dither", "--home", home, "sql", "x").split() == []
    assert completed("dither", "sql", "sh").split() == []  # no folder: no complaint, and no names
    assert "synthesize" in completed("dither", "syn")
    assert "--quote" in completed("dither", "sql", "--qu")


CODES = [
    (errors.BudgetExceeded(1, 2, 3), exits.OVER_BUDGET),
    (errors.QuotaExceeded(1, 2, 3, "ana"), exits.OVER_BUDGET),
    (errors.NotFound("no"), exits.NOT_FOUND),
    (errors.UnknownMechanism("no"), exits.NOT_FOUND),
    (errors.EngineFailure(), exits.FAILED),
    (errors.ReleaseFailed(), exits.FAILED),
    (errors.LedgerUnavailable("there", "why"), exits.FAILED),
    (errors.LedgerBehindAnchor("there", "why"), exits.FAILED),
    (errors.RequestSealed("key", 3), exits.FAILED),
    (errors.RequestUnderWay("key", 3), exits.FAILED),
    (errors.NotDelivered("key", "why"), exits.NOT_DELIVERED),
    (errors.InvalidParameter("a", 1, "2"), exits.WRONG_REQUEST),
    (errors.LossNotStated(), exits.WRONG_REQUEST),
    (errors.Unanswerable("no"), exits.WRONG_REQUEST),
    (errors.KeyReused("key"), exits.WRONG_REQUEST),
    (errors.MissingExtra("pictures", "plots"), exits.WRONG_REQUEST),
]


@pytest.mark.parametrize(("failure", "code"), CODES, ids=lambda value: type(value).__name__)
def test_a_failure_has_its_exit_code_in_words_and_in_json(
    failure: errors.DitherError, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(**_: Any) -> None:
        raise failure

    monkeypatch.setattr(command, "app", fail)
    assert code in exits.MEANINGS
    assert typed(monkeypatch, "sql") == code
    plain = capsys.readouterr()
    assert plain.out == ""
    assert plain.err.startswith("dither: ")
    assert plain.err.count("\n") == 1
    assert typed(monkeypatch, "sql", "--json") == code
    said = capsys.readouterr()
    record = json.loads(said.err)["error"]
    assert said.out == ""
    assert (record["kind"], record["exit_code"]) == (type(failure).__name__, code)
    assert f"dither: {record['message']}\n" == plain.err


def test_brackets_are_brackets(capsys: pytest.CaptureFixture[str]) -> None:
    console.complain_of(errors.MissingExtra("pictures", "plots"))
    console.complain("add [bold]x[/] to dither[plots]")
    said = capsys.readouterr().err
    assert "pip install 'dither[plots]'" in said
    assert "add [bold]x[/] to dither[plots]" in said


def test_wrong_usage_is_json_as_well(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["sql", "--json"], ["nonsense", "--json"], ["ledger", "show", "--no-such", "--json"]):
        assert typed(monkeypatch, *words) == exits.WRONG_REQUEST
        said = capsys.readouterr()
        assert json.loads(said.err)["error"]["exit_code"] == exits.WRONG_REQUEST
        assert said.out == ""


LOSING = [
    ("sql", "shop", "SELECT COUNT(*) AS n FROM sales"),
    ("sql", "shop", "SELECT COUNT(*) AS n FROM sales", "--quote"),
    ("quote", "shop", "SELECT COUNT(*) AS n FROM sales"),
    ("publish", "histogram", "shop", "sales", "city"),
    ("publish", "workload", "shop", "sales", "city", "--quote"),
    ("publish", "marginals", "shop", "sales", "city"),
    ("synthesize", "shop", "-o", "never.json"),
    ("synthesize", "shop", "--quote"),
    ("anonymize", "shop", "--columns", "city", "--quote"),
    ("fit", "shop", "sales", "items", "--model", "LinearRegression", "--features", "price", "--quote"),
]


@pytest.mark.parametrize("words", LOSING, ids=" ".join)
def test_a_forgotten_loss_says_what_to_add_and_what_is_left(
    words: tuple[str, ...],
    shop: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert typed(monkeypatch, *words, "--home", str(shop / "home")) == exits.WRONG_REQUEST
    assert "add --epsilon 0.1; epsilon = 2 is left" in capsys.readouterr().err


PRICED = [words for words in LOSING if words[0] != "quote"]
QUERY = "SELECT COUNT(*) AS n FROM sales"
TYPED = [
    ("sql shop QUERY --epsilon abc", "--epsilon must be a finite number above 0 and at most 1000000, got 'abc'"),
    ("sql shop QUERY --epsilon 1e400", "--epsilon must be a finite number above 0 and at most 1000000, got '1e400'"),
    ("quote shop QUERY --rho 1e400", "--rho must be a finite number above 0 and at most 1000000, got '1e400'"),
    ("sql shop QUERY --epsilon 1 --noise pink", "--noise must be laplace, gaussian or auto, got 'pink'"),
    (
        "sql shop --threshold-share 0.5",
        "QUERY is required with --threshold-share: these options are about one query",
    ),
    ("sql shop --quote", "QUERY is required with --quote: these options are about one query"),
    ("sql shop QUERY --epsilon 1 --threshold-share 2", "--threshold-share must be a number between 0 and 1"),
    ("publish histogram shop city --epsilon 1 --plot", "--plot must be combined with --out: the plot"),
    ("publish histogram shop city --epsilon 1 --questions all", "--questions must be omitted, or one of"),
    ("publish histogram shop price --bins x --epsilon 1", "--bins of price must be a number of bins, or edges"),
    ("synthesize shop --compare-with-real --epsilon 1", "--compare-with-real must be combined with --report"),
    ("anonymize shop --group nobody --epsilon 1 --quote", "--group must be groups of known attributes"),
    ("datasets raise-budget shop --rho 1 --reason x", "--epsilon must be of the same kind as epsilon = 2"),
    (
        "datasets set-quota shop ana --epsilon 7",
        "quota must be of the same kind as the budget, epsilon = 2, and within",
    ),
    ("predict SHOP sales.csv -o told.csv", "MODEL must be a model that 'dither fit' wrote"),
    ("fit shop --epsilon 1", "target must be a column to predict, unless --model names"),
    ("fit shop selas city --epsilon 1", "table must be one of sales, or omitted before one of its columns: customer"),
    ("bounds shop --epsilon 1", "Missing argument"),
    ("bounds shop sales --epsilon 1", "column must be a column of sales, got nothing"),
    ("bounds shop sales price items --epsilon 1", "column must be one column of sales, got 'price items'"),
    ("shell shop --epsilon 1", "--yes is required when input is not a terminal: it confirms each charge"),
]
PYTHON = re.compile(r"\b(None|True|False|Fraction|Path|PureDP|ZCDP|ApproxDP|PosixPath)\b|\(\)|\[\]|<\w+")


@pytest.mark.parametrize(("line", "said"), TYPED, ids=[line for line, _ in TYPED])
def test_a_refusal_names_the_option_and_the_value_as_they_are_typed(
    line: str,
    said: str,
    shop: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DITHER_HOME", str(shop / "home"))
    monkeypatch.setattr(sys, "stdin", io.StringIO(QUERY + ";\n"))
    words = [{"QUERY": QUERY, "SHOP": str(shop / "shop.yaml")}.get(word, word) for word in line.split()]
    assert typed(monkeypatch, *words) == exits.WRONG_REQUEST
    shown = capsys.readouterr().err
    assert said in " ".join(shown.split())
    assert PYTHON.search(shown) is None
    assert record("ledger", "show", "shop")[0]["releases"] == 0


def test_no_wrong_value_of_any_option_is_answered_in_the_words_of_python(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every verb that charges, every option that takes a text, two values that mean nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DITHER_HOME", str(shop / "home"))
    for words in PRICED:
        verb = words[:2] if words[0] in GROUPS else words[:1]
        group: Any = typer.main.get_command(app)
        for word in verb:
            _, group, _ = group.resolve_command(group.make_context("dither", [word], resilient_parsing=True), [word])
        options = [max(one.opts, key=len) for one in group.params if one.param_type_name == "option"]
        flags = {max(one.opts, key=len) for one in group.params if getattr(one, "is_flag", False)}
        for option in set(options) - flags - {"--home", "--key"}:
            for value in ("no such", ""):
                loss = () if option in ("--epsilon", "--rho") else ("--epsilon", "0.5")
                quote = () if "--quote" in words else ("--quote",)
                typed(monkeypatch, *words, *loss, *quote, option, value)
                shown = capsys.readouterr().err
                assert PYTHON.search(shown) is None, (words, option, value, shown)
    assert record("ledger", "show", "shop")[0]["releases"] == 0


def test_values_are_said_as_people_write_them() -> None:
    cases: list[tuple[object, str]] = [
        (None, "nothing"), ("", "nothing"), ((), "nothing"), ([], "nothing"), (True, "true"), (0, "0"),
        (("a", 1), "'a', 1"), ({"a": None}, "a: nothing"), (Path("x.csv"), "'x.csv'"), (PureDP("1/2"), "epsilon = 0.5"),
        (Kind.TEXT, "'text'"), ("x" * 99, f"'{'x' * 78}…"),
    ]  # fmt: skip
    for value, said in cases:
        assert said_value(value) == said
        assert refusal_words(errors.InvalidParameter("rows of t", value, "few")).startswith("rows of t must be few")
        required = errors.InvalidParameter("rows of t", value, "required: name them")
        assert refusal_words(required) == "rows of t is required: name them"


@pytest.mark.parametrize("words", PRICED, ids=" ".join)
def test_every_verb_that_charges_is_priced(words: tuple[str, ...], shop: Path) -> None:
    """With the data set's budget untouched, and nothing written."""
    home = ("--home", str(shop / "home"))
    priced = record(*words, *home, "--epsilon", "0.5", *([] if "--quote" in words else ["--quote"]))
    assert priced["loss"]["epsilon"] == "1/2"
    assert record("ledger", "show", "shop", *home)[0]["releases"] == 0


def test_no_budget_no_name_no_folder(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, query = ("--home", str(shop / "home")), "SELECT COUNT(*) AS n FROM sales"
    assert typed(monkeypatch, "sql", "shop", query, "--epsilon", "5", *home) == exits.OVER_BUDGET
    assert typed(monkeypatch, "sql", "market", query, "--epsilon", "1", *home) == exits.NOT_FOUND
    assert typed(monkeypatch, "sql", "shop", query, "--epsilon", "1", "--home", "/nowhere") == exits.NOT_FOUND
    assert typed(monkeypatch, "ledger", "show", "shop", "--epsilon", "5", *home) == exits.ANSWER_IS_NO
    assert typed(monkeypatch, "sql", "shop", "SELECT city FROM sales", "--epsilon", "1", *home) == exits.WRONG_REQUEST


def test_tables_fit_a_terminal_and_are_whole_in_a_pipe(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = ("--home", str(shop / "home"))
    unit = "people added or removed (all rows with one customer)"
    for words in (("ledger", "show"), ("datasets",)):
        piped = run(*words, *home).splitlines()
        assert len(piped) == 5
        assert unit in piped[3]
        for width in (40, 80, 120, 200):
            screen = Console(force_terminal=True, width=width, file=io.StringIO(), color_system=None)
            monkeypatch.setattr(tables, "console", screen)
            run(*words, *home)
            monkeypatch.undo()
            monkeypatch.setenv("DITHER_ANCHORS", str(shop / "anchors"))
            lines = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
            assert all(len(line) <= max(width, len(f"data set      {unit}")) for line in lines)
            assert "epsilon = 2" in "".join(lines)
