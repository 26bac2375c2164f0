"""``dither ask``: any number of questions about some columns or a graph, for one price."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from dither.cli import ask
from dither.cli.console import note, print_json, say
from dither.cli.options import Analyst, Charged, DataSetName, Delta, Epsilon, Home, Json, Quoted, Rho, Server
from dither.cli.table_choice import say_what_counts
from dither.curator.conversations import Talk
from dither.curator.session import Session
from dither.errors import DitherError, InvalidParameter
from dither.publish.interactive.question_kinds import COUNTS, CUTS

Name = Annotated[str, typer.Argument(metavar="NAME", help="Your name for the conversation.")]
Asked = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="QUESTION...", help="SELECT COUNT(*) ... WHERE ..., or the condition alone; of cuts A, B | C."
    ),
]


def converse(
    dataset: DataSetName,
    name: Name,
    questions: Asked = None,
    columns: Annotated[
        str | None, typer.Option(help="To open it: the columns to ask about, separated by commas.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="To open it: the table, where there is more than one.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="To open it: counts; or cuts of a graph, distances, disjunctions, minimisers."),
    ] = None,
    bins: Annotated[
        list[str] | None, typer.Option(help="To open it: COLUMN=NUMBER, how many cells a numeric column has.")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Of distances: line or circle.")] = None,
    degree: Annotated[int | None, typer.Option(help="Of disjunctions: that of the polynomial.", min=1)] = None,
    candidates: Annotated[int | None, typer.Option(help="Of minimisers: how many a question has.", min=2)] = None,
    top: Annotated[int | None, typer.Option(help="Of minimisers: the largest loss on one row.", min=1)] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="A question on each line; - for the standard input.")
    ] = None,
    confidence: Annotated[str, typer.Option(help="The level of the intervals.")] = "0.95",
    analyst: Analyst = "curator",
    is_read: Annotated[bool, typer.Option("--answers", help="Show all answers so far, and ask nothing.")] = False,
    is_quoted: Quoted = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Ask any number of questions about some columns or a graph, for one price."""
    asked = [*(questions or ()), *_lines(file)]
    if is_read and (asked or columns is not None):
        raise InvalidParameter("--answers", True, "not allowed with questions or columns")
    charged = Charged(
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        analyst=analyst,
        key=f"conversation {name}",
        home=home,
        json=as_json,
        is_quoted=is_quoted,
    )
    further = {"metric": metric, "degree": degree, "candidates": candidates, "top": top}
    if columns is None and kind != CUTS:
        said = (epsilon, delta, rho, table, bins, kind, *further.values())
        if any(word is not None for word in said) or is_quoted:
            raise InvalidParameter("--columns", None, "required to open or price a conversation")
        with (
            ask.session(home, dataset, analyst, key="") as session,
            contextlib.closing(session.conversation(name, only_read=is_read)) as talk,
        ):
            if is_read:
                _show(talk, talk.answers(confidence=confidence), as_json=as_json)
            else:
                _answer(talk, asked, confidence, as_json=as_json)
        return
    with ask.charged_session(charged, dataset) as session:
        words: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "bins": _bins(bins)}
        words |= {"kind": kind or COUNTS, **further}
        chosen = None if columns is None else [one.strip() for one in columns.split(",") if one.strip()]
        source = table if kind == CUTS else _table(session, table)
        if chosen is not None and not as_json:
            say_what_counts(session.dataset.table(_table(session, table)), chosen)
        if is_quoted:
            ask.say_price(session.quote(session.offer.conversation(source, chosen, **words)), as_json=as_json)
            return
        with contextlib.closing(session.conversation(name, source, chosen, **words)) as talk:
            _answer(talk, asked, confidence, as_json=as_json)


def _answer(talk: Talk, asked: list[str], confidence: str, *, as_json: bool) -> None:
    """Print the answers, or what the conversation is where nothing is asked."""
    if not asked:
        if as_json:
            print_json(talk.to_dict())
        else:
            say(str(talk))
        return
    _show(talk, _asked_in_turn(talk, asked, confidence), as_json=as_json)


def _asked_in_turn(talk: Talk, asked: list[str], confidence: str) -> Iterator[Any]:
    """Yield the answers; of several questions a refusal names the one that it is about."""
    for number, question in enumerate(asked, 1):
        try:
            yield talk.ask(question, confidence=confidence)
        except DitherError as failure:
            if len(asked) > 1:
                failure.add_note(f"that is question {number} of {len(asked)}: {question}")
            raise


def _show(talk: Talk, answers: Iterable[Any], *, as_json: bool) -> None:
    """Print answers as they come, or all of them as JSON."""
    found = []
    for answer in answers:
        found.append(answer)
        if not as_json:
            say(f"{answer}  {answer.question}")
    if as_json:
        print_json({"answers": [one.to_dict() for one in found], "receipt": talk.receipt})
    else:
        questions = "1 question" if talk.asked == 1 else f"{talk.asked} questions"
        note(f"{questions} asked so far; {talk.loss} for all of them")


def _lines(file: Path | None) -> list[str]:
    """Return the questions of a file, one a line."""
    if file is None:
        return []
    if str(file) == "-":
        text = sys.stdin.read()
    elif file.is_file():
        text = file.read_text(encoding="utf-8")
    else:
        raise InvalidParameter("--file", str(file), "an existing file, or -")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _bins(given: list[str] | None) -> dict[str, int] | None:
    """Return the numbers of cells that were typed, by column."""
    found = {}
    for one in given or ():
        column, _, number = one.rpartition("=")
        if not column or not number.isascii() or not number.isdigit():
            raise InvalidParameter("--bins", one, "COLUMN=NUMBER")
        found[column] = int(number)
    return found or None


def _table(session: Session, said: str | None) -> str:
    """Return the table that was typed, or the only private one."""
    if said is not None:
        return said
    private = [one.name for one in session.dataset.tables if not one.is_public]
    if len(private) != 1:
        raise InvalidParameter("--table", None, f"required: the data set has {', '.join(private)}")
    return private[0]
