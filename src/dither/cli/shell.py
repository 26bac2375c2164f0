"""``dither shell DATASET``: a prompt where every query is priced, and asked if the answer to that is yes.

At a terminal it keeps a history of what was typed, and nothing of what was answered. From a pipe it reads the same
lines; the first that fails ends it, with the exit code of that failure.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from dither.cli import ask
from dither.cli.console import complain, complain_of, say
from dither.cli.exits import code_of
from dither.cli.interrupted import what_became
from dither.cli.options import Analyst, DataSetName, Delta, Epsilon, Home, Noise, Rho, Server
from dither.cli.outputs import delivering, new_key
from dither.cli.progress import progress
from dither.cli.remote import is_elsewhere
from dither.curator.session import Session
from dither.data.schema import Column, DataSet
from dither.errors import DitherError, InvalidParameter, LossNotStated
from dither.publish.queries import QueryResult

_HELP = """\
SELECT ... ;             prices a query, and runs it if you say yes; it may take several lines, and ends with ;
EXPLAIN PRIVACY SELECT ... ;   prices it alone
.tables                  the tables
.columns [TABLE]         their columns, kinds, bounds and categories, as declared
.epsilon E, .delta D     privacy loss of each query from here on; .rho R in place of both
.left                    the remaining budget
.key KEY                 gives the next query this key: a repeated one returns its stored answer at no cost
.help                    this
.quit                    leaves; so does the end of the input"""
_LOSSES = ("epsilon", "delta", "rho")


def shell(
    dataset: DataSetName,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    analyst: Analyst = "curator",
    noise: Noise = "auto",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask each query without showing its price first.")] = False,
    home: Home = None,
    server: Server = None,
) -> None:
    """Ask many queries at a prompt: each is priced, and asked if you say yes.

    At a service the same query again is free and gives the same answer, unless it is given another key.
    """
    with ask.session(home, dataset, analyst, key="") as session:
        is_terminal = sys.stdin.isatty()
        stated = {"epsilon": epsilon, "delta": delta, "rho": rho}
        prompt = Prompt(session, stated, noise=noise, is_terminal=is_terminal, yes=yes)
        keep = _history() if is_terminal else _nothing
        try:
            code = prompt.run(_lines(dataset, prompt) if is_terminal else sys.stdin)
        finally:
            keep()
    raise typer.Exit(code)


class Prompt:
    """What was said so far, and what to do with the next line.

    Args:
        session: that is asked.
        stated: the loss of each query, in words.
        noise: of each query.
        is_terminal: whether a person types; where none does, nobody is asked, and the first failure is the last.
        yes: whether queries are asked without a question.

    """

    def __init__(
        self, session: Session, stated: dict[str, str | None], *, noise: str, is_terminal: bool, yes: bool
    ) -> None:
        self.session, self.stated, self.noise = session, stated, noise
        self.is_terminal, self.yes = is_terminal, yes
        self.lines: list[str] = []
        self._key: str | None = None

    def run(self, lines: Iterator[str] | Any) -> int:
        """Take lines until there are no more, and return the exit code.

        Args:
            lines: as they are typed, or as a pipe gives them.

        """
        if self.is_terminal:
            left = self.session.balance().left
            say(f"{self.session.dataset.name}: {left} is left. End a query with ';'. .help says more.")
        for line in lines:
            try:
                if self._take(line.rstrip("\n")):
                    return 0
            except DitherError as failure:
                self.lines = []
                if isinstance(failure, LossNotStated) and self.is_terminal:
                    complain(f"set the privacy loss of a query: .{failure.parameter} 0.1; {failure.left} is left")
                else:
                    complain_of(failure)
                if not self.is_terminal:
                    return code_of(failure)
        if self.lines and not self.is_terminal:
            complain("the last query does not end with ';' and was not asked")
            return 2
        return 0

    def _take(self, line: str) -> bool:
        """Do what a line says; return whether it says to leave."""
        words = line.split()
        if not self.lines:
            if not words:
                return False
            if line.strip() in ("\\q", ".quit", ".exit", "quit", "exit"):
                return True
            if line.strip() in ("help", "?", "\\?"):
                say(_HELP)
                return False
            if words[0].startswith("."):
                self._command(words[0][1:], words[1:])
                return False
        self.lines.append(line)
        if line.rstrip().endswith(";"):
            text, self.lines = "\n".join(self.lines).rstrip().rstrip(";"), []
            self._ask(text)
        return False

    def _command(self, word: str, rest: list[str]) -> None:
        if word == "help":
            say(_HELP)
        elif word == "tables":
            for line in tables_of(self.session.dataset):
                say(line)
        elif word == "columns":
            for line in columns_of(self.session.dataset, rest[0] if rest else None):
                say(line)
        elif word == "left":
            say(str(self.session.balance()))
        elif word == "key" and len(rest) == 1:
            self._key = rest[0]
        elif word in _LOSSES and len(rest) == 1:
            others = _LOSSES[:2] if word == "rho" else ("rho",)
            self.stated |= {word: rest[0], **dict.fromkeys(others)}
        else:
            raise InvalidParameter("command", f".{word}", "one of those that .help lists, with its arguments")

    def _ask(self, text: str) -> None:
        """Price a query, ask whether to pay, pay, and show the answer."""
        how: dict[str, Any] = {**self.stated, "noise": self.noise}
        if text.split()[:1] and text.split()[0].upper() == "EXPLAIN":
            ask.show(self.session.sql(text, **how), as_json=False)
            return
        if not self.yes:
            price = self.session.quote(text, **how)
            ask.show(price, as_json=False)
            # What is made of public tables alone costs nothing, and is not asked about.
            if not price.loss.is_zero and not self._agreed():
                return
        # A service has a name of its own for what nobody has named, by which the same query is answered the same.
        key, self._key = self._key or ("" if is_elsewhere() else new_key()), None
        try:
            with progress("asking"):
                result: QueryResult = self.session.sql(text, **how, key=key or None)
            with delivering(key):
                ask.show(result, as_json=False)
        except KeyboardInterrupt:
            # Who interrupts an answer is told what it cost, and stays.
            complain(_at_a_prompt(what_became(self.session, key)))
            if not self.is_terminal:
                raise
            return
        say(f"{self.session.balance().left} is left", style="dim")

    def _agreed(self) -> bool:
        """Return whether the price is right."""
        if not self.is_terminal:
            raise InvalidParameter("--yes", False, "required when input is not a terminal: it confirms each charge")
        try:
            said = input("ask it? [y/N] ")
        except EOFError:
            return False
        _forget_line()
        return said.strip().lower() in ("y", "yes")


def _at_a_prompt(sentence: str) -> str:
    """Return what is said of an interrupted command, said of a query."""
    again = sentence.replace("the same command with --key ", "the same query after .key ")
    return again.replace("the same command, with the same --key", "the same query, after the same .key")


def tables_of(dataset: DataSet) -> Iterator[str]:
    """Yield a line for each table: whose rows it has, and how many columns."""
    for table in dataset.tables:
        whose = "public" if table.is_public else f"private, by {table.person or table.owner or 'row'}"
        if table.rows_per_person is not None:
            whose += f", {table.rows_per_person} row{'' if table.rows_per_person == 1 else 's'} a person"
        yield f"{table.name}: {whose}; {', '.join(column.name for column in table.columns)}"


def columns_of(dataset: DataSet, name: str | None) -> Iterator[str]:
    """Yield a line for each column of a table, or of all: what is declared about it.

    Args:
        dataset: the schema.
        name: of a table; None for all.

    """
    for table in dataset.tables if name is None else (dataset.table(name),):
        for column in table.columns:
            yield f"{table.name}.{column.name}: {_declared(column)}"


def _declared(column: Column) -> str:
    parts = [column.kind.value]
    if column.lower is not None:
        parts.append(f"{column.lower} to {column.upper}")
    if column.categories is not None:
        shown = [str(value) for value in column.categories[:12]]
        parts.append(
            ", ".join([*shown, f"and {len(column.categories) - 12} more"] if len(column.categories) > 12 else shown)
        )
    return "; ".join(parts)


def _lines(dataset: str, prompt: Prompt) -> Iterator[str]:
    """Yield what is typed; an interruption drops the lines of a query that is not yet asked, or leaves."""
    while True:
        try:
            yield input("... " if prompt.lines else f"{dataset}> ")
        except EOFError:
            return
        except KeyboardInterrupt:
            if not prompt.lines:
                return
            prompt.lines = []
            say("")


def _nothing() -> None:
    """Keep nothing."""


def _forget_line() -> None:
    """Take the last line out of the history: an answer to a question is no query."""
    with suppress(ImportError, ValueError):
        import readline

        readline.remove_history_item(readline.get_current_history_length() - 1)


def _history() -> Callable[[], None]:
    """Load the history of the prompt, where the system has one, and return what saves it."""
    try:
        import readline
    except ImportError:
        return _nothing
    path = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "dither" / "history"
    with suppress(OSError):
        readline.read_history_file(path)

    def save() -> None:
        with suppress(OSError):  # a history that cannot be kept is no reason to fail
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            readline.set_history_length(1000)
            readline.write_history_file(path)
            path.chmod(0o600)

    return save
