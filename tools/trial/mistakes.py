"""Natural mistakes, and what a command must do with each: refuse it free, and name the next thing to type."""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dither.cli import main
from dither.curator.folder import Curator
from tools.trial.export import write_export

COUNT: Final = "SELECT COUNT(*) AS n FROM visits"
BY_REGION: Final = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
#: What registers the export that the mistakes are about.
ADDED: Final = (
    *("add", "visits.csv", "--person", "Customer_No", "--rows", "3", "--groups", "1", "--range", "amount=0..1000"),
    *("--kind", "age=integer", "--categories", "region=Genève,Köln,Zürich", "--range"),
    *("visit_date=2024-01-01..2024-12-31", "--out", "note", "--budget", "1"),
)


@dataclass(frozen=True)
class Mistake:
    """A command that is wrong.

    Args:
        what: is wrong with it.
        words: as they are typed after ``dither``.
        code: with which it must exit.
        next: what its message must hold, as a regular expression: the next thing to type.

    """

    what: str
    words: tuple[str, ...]
    code: int
    next: str


@dataclass(frozen=True)
class Outcome:
    """What a command did.

    Args:
        mistake: that it made.
        code: with which it exited.
        said: on both of its outputs.
        is_free: whether the ledger and the folder are as they were.

    """

    mistake: Mistake
    code: int
    said: str
    is_free: bool

    @property
    def problem(self) -> str:
        """What is wrong with it; empty if nothing is."""
        if "Traceback" in self.said:
            return "a traceback"
        if self.code != self.mistake.code:
            return f"exit code {self.code} in place of {self.mistake.code}"
        if not self.is_free:
            return "it was charged, or something was written"
        plain = " ".join(re.sub("[│╭╮╰╯─]", " ", self.said).split())
        return "" if re.search(self.mistake.next, plain) else f"the message does not name {self.mistake.next!r}"


def _sql(what: str, query: str, next_: str, *words: str, code: int = 2) -> Mistake:
    return Mistake(what, ("sql", "visits", query, *(words or ("--epsilon", "0.1"))), code, next_)


def _add(what: str, next_: str, *words: str, code: int = 2) -> Mistake:
    return Mistake(what, ("add", *words), code, next_)


_OPTIONS: Final = ("third.csv", "--person", "Customer_No", "--rows", "3", "--groups", "1", "--budget", "1")

MISTAKES: Final[Sequence[Mistake]] = (
    Mistake("a data set with a typo", ("sql", "vists", COUNT, "--epsilon", "0.1"), 4, "visits"),
    _sql("a table with a typo", COUNT.replace("FROM visits", "FROM vists"), "visits"),
    _sql("a column with a typo", BY_REGION.replace("region", "regoin"), "region"),
    _sql("a header in place of its column", "SELECT MEDIAN(Größe) AS n FROM visits", "Grosse"),
    _sql("a header with a space", "SELECT MAX(visit date) AS n FROM visits", r"line 1, column|visit_date"),
    _sql("no epsilon", COUNT, "--epsilon", "--key", "k"),
    _sql("epsilon of 0", COUNT, "above 0", "--epsilon", "0"),
    _sql("epsilon below 0", COUNT, "above 0", "--epsilon", "-1"),
    _sql("epsilon that is no number", COUNT, "number", "--epsilon", "much"),
    _sql("epsilon with a decimal comma", COUNT, r"number|0\.5", "--epsilon", "0,5"),
    _sql("delta above 1", COUNT, "delta", "--epsilon", "0.1", "--delta", "2"),
    _sql("epsilon and rho", COUNT, "rho", "--epsilon", "0.1", "--rho", "0.1"),
    _sql("over budget", COUNT, r"at most epsilon = [0-9.]+ would fit", "--epsilon", "99", code=3),
    _sql("an option with a typo", COUNT, "--epsilon", "--espilon", "0.1"),
    _sql("a raw column", "SELECT region FROM visits", r"COUNT\(\*\)"),
    _sql("all rows", "SELECT * FROM visits", r"COUNT\(\*\)"),
    _sql("a sum of texts", "SELECT SUM(smoker) AS n FROM visits", "CAST"),
    _sql("a sum without a range", "SELECT SUM(age) AS n FROM visits", "bounds|CLAMP"),
    _sql("a mean of categories", "SELECT AVG(region) AS n FROM visits", "number|CAST"),
    _sql("groups that are not listed, without a delta", BY_REGION.replace("region", "country"), "delta|categories"),
    _sql("a word that is not SQL", "SELEC COUNT(*) AS n FROM visits", "SELECT"),
    _sql("a query that ends early", "SELECT COUNT(* FROM visits", r"\)|line 1"),
    _sql("two queries", f"{COUNT}; {COUNT}", "one"),
    _sql("a statement that changes rows", "DELETE FROM visits", "SELECT"),
    _sql("a filter with a typo", f"{COUNT} WHERE agee > 30", "age"),
    _sql("an unknown function", "SELECT AVERAGE(age) AS n FROM visits", "AVG"),
    _sql("groups not selected from", "SELECT region, COUNT(*) AS n FROM visits", "GROUP BY"),
    _sql("a window", "SELECT ROW_NUMBER() OVER () AS n FROM visits", r"COUNT|aggregate"),
    _sql("an empty query", "", "SELECT|COUNT"),
    _sql("a folder that is missing", COUNT, "folder|mkdir", "--epsilon", "0.1", "-o", "nowhere/a.csv"),
    _sql("an unknown ending", COUNT, r"\.?csv", "--epsilon", "0.1", "-o", "a.xls"),
    _sql("a file that exists", COUNT, "--force", "--epsilon", "0.1", "-o", "old.csv"),
    _sql("a file that is a folder", COUNT, "file", "--epsilon", "0.1", "-o", "folder.csv"),
    _sql("the rows as output", COUNT, "another file", "--epsilon", "0.1", "-o", "visits.csv", "--force"),
    _sql("the ledger as output", COUNT, r"another file|csv", "--epsilon", "0.1", "-o", "home/ledger.sqlite"),
    _sql("an unknown noise", COUNT, "laplace, gaussian or auto", "--epsilon", "0.1", "--noise", "normal"),
    Mistake("a verb with a typo", ("sqll", "visits", COUNT), 2, "sql"),
    Mistake("no verb of a group", ("publish", "histogramm", "visits", "region", "--epsilon", "0.1"), 2, "histogram"),
    Mistake("a folder that is none", ("--home", "nowhere", "datasets"), 4, "dither init"),
    Mistake("a target without a number", ("quote", "visits", COUNT, "--target", "n"), 2, r"n=|=50|="),
    Mistake("a target of another column", ("quote", "visits", COUNT, "--target", "m=50"), 2, r"\bn\b"),
    Mistake(
        "a histogram of an unknown column",
        ("publish", "histogram", "visits", "regoin", "--epsilon", "0.1"),
        2,
        "region",
    ),
    Mistake(
        "a histogram without categories",
        ("publish", "histogram", "visits", "country", "--epsilon", "0.1"),
        2,
        "categories",
    ),
    Mistake(
        "a histogram over budget",
        ("publish", "histogram", "visits", "region", "--epsilon", "9"),
        3,
        r"at most epsilon = [0-9.]+ would fit",
    ),
    Mistake("bounds of categories", ("bounds", "visits", "region", "--epsilon", "0.1"), 2, "number|amount|age"),
    Mistake("bounds of an unknown column", ("bounds", "visits", "amuont", "--epsilon", "0.1"), 2, "amount"),
    Mistake("limits without a loss", ("limits", "visits"), 2, "--epsilon"),
    Mistake("a model of an unknown column", ("fit", "visits", "amuont", "--epsilon", "0.1"), 2, "amount"),
    Mistake(
        "an unknown model",
        ("fit", "visits", "amount", "--model", "Forest", "--epsilon", "0.1"),
        2,
        "LinearRegression|one of",
    ),
    Mistake("a graph of a table", ("graph", "visits", "edges", "--epsilon", "0.1"), 2, "graph"),
    Mistake("a map of a table", ("places", "visits", "heatmap", "--epsilon", "0.1"), 2, "places"),
    Mistake("an answer that was not given", ("answer", "monday"), 4, "history|ledger|key"),
    Mistake("an entry that does not exist", ("answer", "999"), 4, "history|ledger"),
    Mistake("a check of another name", ("check", "vists"), 4, "visits"),
    Mistake("a card of another name", ("card", "vists"), 4, "visits"),
    Mistake(
        "a budget that is lowered",
        ("datasets", "raise-budget", "visits", "--epsilon", "0.5", "--reason", "r"),
        2,
        "epsilon|lowered",
    ),
    Mistake("a budget without a reason", ("datasets", "raise-budget", "visits", "--epsilon", "2"), 2, "--reason"),
    Mistake("no query", ("quote", "visits"), 2, "QUERY"),
    _add("a file that is missing", "file that exists", "missing.csv", "--budget", "1"),
    _add("a file with a typo", "other.csv", "othr.csv", "--budget", "1"),
    _add("a schema with a typo", "other.yaml", "othr.yaml", "--budget", "1"),
    _add("a file of another kind", r"\.csv|\.yaml", "notes.doc", "--budget", "1"),
    _add("a folder in place of a file", "a file, and not a folder", "folder.csv", "--budget", "1"),
    _add("a schema without a budget", "--budget", "other.yaml"),
    _add("a schema that is not decided", "decided|decide", "draft.yaml", "--budget", "1"),
    _add("a key with a typo", "bounds", "typo.yaml", "--budget", "1"),
    _add("the same rows under another name", "add it as visits", "again.yaml", "--budget", "1"),
    _add("the same name with another budget", "raise-budget", "visits.yaml", "--budget", "2"),
    _add("a file in another encoding", "UTF-8", "latin.csv", "--person", "row", "--budget", "1", code=5),
    _add("a file with a broken quote", "line 2", "broken.csv", "--person", "row", "--budget", "1", code=5),
    _add("an empty file", "first line names its columns", "empty.csv", "--person", "row", "--budget", "1"),
    _add("a person with a typo", "Customer_No", "third.csv", "--person", "Custmer", "--rows", "3", "--budget", "1"),
    _add("a person without rows", "--rows", "third.csv", "--person", "Customer_No", "--budget", "1"),
    _add("rows without groups", "--groups", "third.csv", "--person", "Customer_No", "--rows", "3", "--budget", "1"),
    _add("a range of an unknown column", "amount", *_OPTIONS, "--range", "amuont=0..5"),
    _add("a range that runs backwards", r"0\.\.5", *_OPTIONS, "--range", "amount=5..0"),
    _add("a range without its column", "=", *_OPTIONS, "--range", "0..5"),
    _add("a range of one number", r"0\.\.500", *_OPTIONS, "--range", "amount=500"),
    _add("categories without values", "value,value", *_OPTIONS, "--categories", "region="),
    _add("a kind that is none", "integer", *_OPTIONS, "--kind", "age=number"),
    _add("the schema's file as --out", "-o third.yaml", *_OPTIONS, "--out", "third.yaml"),
    _add("a form that is none", "DD.MM.YYYY", *_OPTIONS, "--form", "paid_on=day.month"),
    _add("an amount that is no number of its column", "real|number", *_OPTIONS, "--range", "amount=low..high"),
    _add("rows that are no number", "integer", "third.csv", "--rows", "few", "--budget", "1"),
)


def run_command(words: Sequence[str]) -> tuple[int, str]:
    """Run the command as it is typed, and return its exit code and all that it printed.

    Args:
        words: after ``dither``.

    """
    said = io.StringIO()
    before, sys.argv = sys.argv, ["dither", *words]
    stdin, sys.stdin = sys.stdin, io.StringIO("")
    code = 0
    try:
        with redirect_stdout(said), redirect_stderr(said):
            main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except Exception as failure:  # what a person would see as a traceback
        code = 1
        said.write(f"Traceback: {type(failure).__name__}: {failure}")
    finally:
        sys.argv, sys.stdin = before, stdin
    return code, said.getvalue()


@contextlib.contextmanager
def surroundings(folder: Path) -> Iterator[Path]:
    """Work in a folder that commands take for their own; afterwards all is as before.

    Args:
        folder: that exists and is empty.

    """
    before, where = dict(os.environ), Path.cwd()
    os.environ |= {"DITHER_ANCHORS": str(folder / "anchors"), "DITHER_HOME": str(folder / "home"), "COLUMNS": "200"}
    os.environ["XDG_STATE_HOME"] = str(folder / "state")
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(where)
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def prepared(folder: Path) -> Iterator[Path]:
    """Make a curator's folder with the export, and the files that mistakes are made with; work in it.

    Args:
        folder: that exists and is empty.

    """
    with surroundings(folder):
        write_export(folder / "visits.csv")
        write_export(folder / "other.csv", rows=600)
        write_export(folder / "third.csv", rows=300)
        for words in (("init", "home"), ADDED):
            code, said = run_command(words)
            if code:
                raise RuntimeError(said)
        _write_wrong_files(folder)
        yield folder


def _write_wrong_files(folder: Path) -> None:
    schema = (folder / "visits.yaml").read_text(encoding="utf-8")
    other = schema.replace("dataset: visits", "dataset: other").replace("  visits:", "  other:")
    other = other.replace("visits.csv", "other.csv")
    texts = {
        "other.yaml": other,
        "draft.yaml": other.replace("unit: person", "unit: ???"),
        "typo.yaml": other.replace("bounds:", "bonds:", 1),
        "again.yaml": schema.replace("dataset: visits", "dataset: again"),
        "notes.doc": "region,amount\nKöln,5\n",
        "old.csv": "an answer of last week\n",
        "broken.csv": 'region,amount\n"Köln"x,5\n',
        "empty.csv": "",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.csv").write_bytes("région,amount\nGenève,5\n".encode("latin-1"))
    (folder / "folder.csv").mkdir()


def try_mistakes(mistakes: Sequence[Mistake], folder: Path) -> list[Outcome]:
    """Make mistakes one after another, and return what became of each.

    Args:
        mistakes: to be made.
        folder: an empty one.

    """
    found = []
    with prepared(folder):
        before = _state(folder)
        for mistake in mistakes:
            code, said = run_command(mistake.words)
            after = _state(folder)
            found.append(Outcome(mistake, code, said, after == before))
            before = after
    return found


def _state(folder: Path) -> tuple[object, ...]:
    """Return what nothing free changes: the balance, the data sets, and the files beside the folder."""
    with Curator.open(folder / "home") as curator:
        names = [dataset.name for dataset in curator.datasets()]
        balance = curator.ledger.balance("visits")
        spent = (str(balance.spent), balance.releases, str(balance.budget))
    files = {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.is_file()}
    return tuple(names), spent, tuple(sorted(files.items()))
