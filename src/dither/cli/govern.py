"""``dither datasets open | pause | close``, ``dither approvals`` and ``dither published``: what a curator decides.

Each is decided in a folder, or by a person with a token at a service.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from dither.cli.console import print_json, say
from dither.cli.options import DataSetName, Home, Json, Server
from dither.cli.remote import connection, named_elsewhere, with_address
from dither.cli.tables import new_table, print_table
from dither.curator.folder import Curator
from dither.curator.governing import AskedFor
from dither.curator.ledger import OWNER
from dither.curator.people import People, Role
from dither.errors import InvalidParameter

Reason = Annotated[str, typer.Option(help="Why; the books keep it.")]
Question = Annotated[int, typer.Argument(metavar="NUMBER", help="As 'dither approvals list' has it.")]
By = Annotated[
    str | None,
    typer.Option("--as", metavar="PERSON", help="Which curator decides; else the folder's own, or whose token it is."),
]
Answer = Annotated[str, typer.Argument(metavar="ID", help="An entry's number from the history, a key, or a receipt.")]
Whose = Annotated[str | None, typer.Option(help="Whose answer, where a key was used with several.")]


def open_dataset(dataset: DataSetName, reason: Reason = "", home: Home = None, server: Server = None) -> None:
    """Accept requests for a draft or a paused data set."""
    _set_stage(home, dataset, "open", reason)
    say(with_address(f"{dataset} is open: it accepts requests from those who may ask"))


def pause(dataset: DataSetName, reason: Reason = "", home: Home = None, server: Server = None) -> None:
    """Debit nothing to a data set until it is opened again; stored answers stay."""
    _set_stage(home, dataset, "paused", reason)
    say(with_address(f"{dataset} is paused: it can be priced, and nothing is debited; 'dither datasets open' opens it"))


def close(dataset: DataSetName, reason: Reason = "", home: Home = None, server: Server = None) -> None:
    """Close a data set permanently: it takes no more charges; rows and stored answers stay.

    There is no way back. 'dither datasets retire' removes the rows as well.
    """
    _set_stage(home, dataset, "closed", reason)
    say(with_address(f"{dataset} is closed permanently: its answers can still be fetched"))


def questions(
    waiting: Annotated[bool, typer.Option("--waiting", help="Only those that are still undecided.")] = False,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """List the releases that others must agree to: analyst, request and privacy loss."""
    with connection() or Curator.open(home) as curator:
        found = curator.questions(is_waiting=waiting)
    if as_json:
        print_json([one.to_dict() for one in found])
        return
    table = new_table("number", "when (UTC)", "data set", "who", "what", "loss", "state")
    for one in found:
        said = f"{one.state} ({len(one.agreed)} of {one.approvers} agreed)" if one.state == "waiting" else one.state
        table.add_row(
            str(one.number), one.time[:19].replace("T", " "), one.dataset, escape(one.analyst),
            escape(" ".join(one.what.split())), str(one.loss), said,
        )  # fmt: skip
    print_table(table, or_list=True)


def approve(question: Question, by: By = None, home: Home = None, server: Server = None) -> None:
    """Agree to a release: to what it asks and what it may lose, for seven days and one debit."""
    asked = connection()
    if asked is not None:
        with asked:
            _check_own_token(by)
            found = asked.approve(question)
    else:
        with Curator.open(home) as curator:
            found = curator.approve(question, by=_decider(curator, by))
    say(with_address(f"{_told(found)}; {found.analyst} may ask it within seven days"))


def decline(
    question: Question,
    because: Annotated[str, typer.Option(help="Why, for the one who asks.")] = "",
    by: By = None,
    home: Home = None,
    server: Server = None,
) -> None:
    """Do not agree to a release; nothing was debited for it."""
    asked = connection()
    if asked is not None:
        with asked:
            _check_own_token(by)
            found = asked.decline(question, because=because)
    else:
        with Curator.open(home) as curator:
            found = curator.decline(question, by=_decider(curator, by), because=because)
    say(with_address(_told(found)))


def published(home: Home = None, server: Server = None, as_json: Json = False) -> None:
    """List the answers that everybody may see."""
    with connection(is_public=True) or Curator.open(home) as curator:
        found = curator.published()
    if as_json:
        print_json([one.to_dict() for one in found])
        return
    table = new_table("answer", "data set", "title", "since (UTC)", "by", "spent now")
    for one in found:
        spent = "" if one.spent is None else f"{one.spent} of {one.budget}"
        since = one.time[:19].replace("T", " ")
        table.add_row(str(one.answer), one.dataset, escape(one.title), since, escape(one.by), spent)
    print_table(table, or_list=True)
    for name, raises in {one.dataset: one.raises for one in found}.items():
        for each in raises:
            say(f"the budget of {name} was {each}")


def publish(
    name: Answer,
    title: Annotated[str, typer.Option(help="Public title.")] = "",
    dataset: Whose = None,
    home: Home = None,
    server: Server = None,
) -> None:
    """Let everybody see a stored answer; nothing is charged.

    The books then state the budget and what was spent of it, for everybody too. A service has to be told with --dataset
    whose answer it is.
    """
    asked = connection()
    if asked is not None:
        with asked:
            shown = asked.publish(named_elsewhere(dataset), name, title=title)
    else:
        with Curator.open(home) as curator:
            shown = curator.publish(name, dataset=dataset, title=title)
    place = f"a service shows it at /v1/published/{shown.answer}"
    say(with_address(f"answer {shown.answer} about {shown.dataset} is published; {place}"))


def withdraw(
    name: Answer,
    because: Annotated[str, typer.Option(help="Why; the books keep it.")] = "",
    dataset: Whose = None,
    home: Home = None,
    server: Server = None,
) -> None:
    """Show a published answer no more; it was released, and nothing is given back.

    A service has to be told with --dataset whose answer it is.
    """
    asked = connection()
    if asked is not None:
        with asked:
            asked.withdraw(named_elsewhere(dataset), name, because=because)
    else:
        with Curator.open(home) as curator:
            curator.withdraw(name, dataset=dataset, because=because)
    say(with_address(f"answer {name} is shown no more; what was spent for it stays spent"))


def _set_stage(home: Path | None, dataset: str, stage: str, reason: str) -> None:
    """Decide how far a data set is open, here or elsewhere."""
    with connection() or Curator.open(home) as curator:
        curator.set_stage(dataset, stage, reason=reason)


def _check_own_token(by: str | None) -> None:
    """Refuse another name than that of the token by which a service knows who decides."""
    if by is not None:
        raise InvalidParameter("as", by, "not allowed with --server: the token identifies who decides")


def _decider(curator: Curator, by: str | None) -> str:
    """Return who decides: the owner of the folder, or a person who is declared as curator."""
    if by is None:
        return OWNER
    if People(curator).person(by).role is not Role.CURATOR:
        raise InvalidParameter("as", by, "a person who is declared as curator")
    return by


def _told(found: AskedFor) -> str:
    return f"{found.what or 'a release'} from {found.dataset} for {found.loss} is {found.state}"
