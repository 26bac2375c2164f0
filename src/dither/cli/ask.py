"""``dither sql`` and ``dither quote``: private answers, and their price beforehand."""

from __future__ import annotations

import csv
import importlib
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dither.cli.console import complain_of, console, print_json
from dither.cli.options import Analyst, DataSetName, Delta, Epsilon, Home, Json, Key, Noise, Rho, Stated
from dither.cli.outputs import Output, check_outputs, delivering, keep_sources, new_key, table_output, write_whole
from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.errors import DitherError, InvalidParameter
from dither.publish.queries import QueryResult
from dither.publish.queries.pictures import answer_page

_SUFFIXES = (".csv", ".parquet", ".json", ".html")


@contextmanager
def session(home: Path | None, dataset: str, analyst: str, outputs: Sequence[Output] = ()) -> Iterator[Session]:
    """Open a session, and close what it holds; files that could not be written are refused before.

    Args:
        home: the curator's folder.
        dataset: whose tables are asked.
        analyst: who asks.
        outputs: what is to be written of the answer.

    """
    check_outputs(outputs)
    curator = Curator.open(home)
    keep_sources(outputs, curator)
    opened = curator.session(dataset, analyst=analyst)
    try:
        yield opened
    finally:
        opened.close()
        curator.close()


def sql(
    dataset: DataSetName,
    query: Annotated[str | None, typer.Argument(help="One SELECT; without it, a prompt with history.")] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    analyst: Analyst = "curator",
    key: Key = None,
    noise: Noise = "auto",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write CSV, Parquet, JSON or HTML (a plot).")
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Answer a query privately, every number with its error bar, and charge the ledger."""
    if query is None:
        prompt(home, dataset, analyst=analyst, loss=Stated(epsilon, delta, rho), noise=noise)
        return
    outputs = () if out is None else (table_output("out", out, _SUFFIXES),)
    name = new_key() if key is None else key
    with session(home, dataset, analyst, outputs) as asked:
        with console.status("asking", spinner="dots") if sys.stderr.isatty() and not as_json else _quiet():
            result: Any = asked.sql(query, epsilon=epsilon, delta=delta, rho=rho, key=name, noise=noise)
        if not isinstance(result, QueryResult):
            if out is not None:
                raise InvalidParameter("out", str(out), "left out: EXPLAIN PRIVACY gives a quote, which is not written")
            _show(result, as_json=as_json)
            return
        with delivering(name):
            if out is not None:
                save(result, out)
            _show(result, as_json=as_json)


def quote(
    dataset: DataSetName,
    query: Annotated[str, typer.Argument(help="One SELECT.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    target: Annotated[
        str | None, typer.Option(help="COLUMN=ERROR: find the epsilon at which that column errs by at most so much.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="With --target on a mean: for groups of how many rows.", min=1)
    ] = None,
    noise: Noise = "auto",
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Say what a query would cost and how far it would err; the data stays closed."""
    with session(home, dataset, "curator") as asked:
        if target is not None:
            column, _, error = target.partition("=")
            if epsilon is not None or rho is not None or not error:
                raise InvalidParameter("target", target, "COLUMN=ERROR, instead of --epsilon and --rho")
            found = asked.loss_for_error(query, column.strip(), error.strip(), rows=rows, delta=delta)
            _show(asked.quote(query, loss=found, noise=noise), as_json=as_json)
            return
        _show(asked.quote(query, epsilon=epsilon, delta=delta, rho=rho, noise=noise), as_json=as_json)


def save(result: QueryResult, out: Path) -> None:
    """Write a result: .csv, .parquet, .json, or .html with pictures."""
    write_whole(out, lambda draft: _save(result, draft))


def _save(result: QueryResult, out: Path) -> None:
    kind = out.suffix.lower()
    if kind == ".json":
        out.write_text(result.to_json(), encoding="utf-8", newline="")
    elif kind == ".parquet":
        importlib.import_module("pyarrow.parquet").write_table(result.to_arrow(), out)
    elif kind == ".html":
        out.write_text(answer_page(result), encoding="utf-8")
    else:
        rows = result.to_rows()
        names = list(rows[0]) if rows else list(result.names)
        with out.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, names)
            writer.writeheader()
            writer.writerows(rows)


def prompt(home: Path | None, dataset: str, *, analyst: str, loss: Stated, noise: str) -> None:
    """Read queries line by line, with history; a line that ends with a semicolon is asked."""
    history = _history()
    with session(home, dataset, analyst) as asked:
        console.print(
            f"{dataset}: {asked.balance().left} left. End a query with ';'. EXPLAIN PRIVACY prices it. \\q leaves."
        )
        lines: list[str] = []
        while True:
            try:
                line = input("... " if lines else f"{dataset}> ")
            except (EOFError, KeyboardInterrupt):
                break
            if not lines and line.strip() in ("\\q", "quit", "exit"):
                break
            lines.append(line)
            if not line.rstrip().endswith(";"):
                continue
            text, lines = "\n".join(lines).rstrip().rstrip(";"), []
            key = new_key()
            try:
                result: Any = asked.sql(
                    text, epsilon=loss.epsilon, delta=loss.delta, rho=loss.rho, key=key, noise=noise
                )
                with delivering(key) if isinstance(result, QueryResult) else _quiet():
                    _show(result, as_json=False)
                console.print(f"{asked.balance().left} left", style="dim")
            except DitherError as failure:
                complain_of(failure)
    history()


def _show(result: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(json.loads(result.to_json()))
    else:
        console.print(str(result), markup=False, highlight=False, soft_wrap=True)


@contextmanager
def _quiet() -> Iterator[None]:
    yield


def _history() -> Any:
    """Load the history of the prompt, where the system has one, and return what saves it."""
    try:
        import readline
    except ImportError:
        return lambda: None
    path = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "dither" / "history"
    if path.is_file():
        readline.read_history_file(path)

    def save() -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        readline.set_history_length(1000)
        readline.write_history_file(path)
        path.chmod(0o600)

    return save
