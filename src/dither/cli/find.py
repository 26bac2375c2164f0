"""``dither bounds`` and ``dither limits``: facts that a schema should have and nobody knows, found under privacy."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dither.cli import ask
from dither.cli.options import (
    Analyst,
    Charged,
    DataSetName,
    Delta,
    Epsilon,
    Home,
    Json,
    Key,
    OnlyTable,
    Quoted,
    Rho,
    Server,
    Where,
)
from dither.cli.outputs import delivering
from dither.cli.progress import progress
from dither.cli.which import only_table, table_and_column
from dither.curator.session import Session
from dither.lift.offer import Offer


def bounds(
    dataset: DataSetName,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[TABLE] COLUMN",
            help="A private table (optional if it is the only one) and a column of numbers.",
        ),
    ],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    is_quoted: Quoted = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Find a range that holds nearly all values of a column, to declare or to clamp to, and charge the ledger."""
    charged = Charged(epsilon, delta, rho, where, analyst, key, home, as_json, is_quoted)
    table, column = table_and_column(home, dataset, words, "column")
    with ask.charged_session(charged, dataset) as session:
        offer = session.offer.bounds(
            table, column or "", epsilon=epsilon, delta=delta, rho=rho, where=where, key=charged.key
        )
        _find(session, offer, charged)


def limits(
    dataset: DataSetName,
    table: OnlyTable = None,
    share: Annotated[str, typer.Option(help="Of the people, how many shall have all their rows counted.")] = "0.95",
    most: Annotated[int, typer.Option(help="The largest limit that is considered.", min=1)] = 1024,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    is_quoted: Quoted = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Find a limit of rows a person that leaves most people all their rows, and charge the ledger."""
    charged = Charged(epsilon, delta, rho, where, analyst, key, home, as_json, is_quoted)
    with ask.charged_session(charged, dataset) as session:
        offer = session.offer.limits(
            table or only_table(session.dataset),
            share=share,
            most=most,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            where=where,
            key=charged.key,
        )
        _find(session, offer, charged)


def _find(session: Session, offer: Offer[Any], charged: Charged) -> None:
    """Price or release an offer, and print it."""
    if charged.is_quoted:
        ask.say_price(session.quote(offer), as_json=charged.json)
        return
    with progress("counting"):
        found = session.release(offer)
    with delivering(charged.name):
        ask.show(found, as_json=charged.json)
