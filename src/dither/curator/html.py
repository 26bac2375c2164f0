"""What notebooks show of a session and of a curator's folder: what is declared, spent and left. No row is opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dither.data.schema import Column
from dither.errors import DitherError
from dither.mechanisms.notebook import html

if TYPE_CHECKING:
    from dither.curator.folder import Curator
    from dither.curator.session import Session

_MOST_CATEGORIES = 8


def session_html(session: Session) -> str:
    """Return whom a session protects, what is left, its columns, and what it can be asked."""
    dataset = session.dataset
    facts = [("protects", str(dataset.protected)), ("analyst", session._account.analyst), *_books(session)]
    columns = [(table.name, column) for table in dataset.tables for column in table.columns]
    rows = (
        (f"{table}.{column.name}", column.kind.value, _known(column), column.source or "", column.description)
        for table, column in columns
    )
    asked = f"sql('SELECT COUNT(*) AS n FROM {dataset.tables[0].name}', epsilon=0.1)"  # noqa: S608 - an example to read
    notes = [
        f"{asked} asks; quote and offer price; histogram, workload, marginals, synthesize, anonymize, fit and release "
        "publish more; balance and card say what was spent"
    ]
    head = ("column", "kind", "public", "in its source", "description")
    return html(f"Session on {session._called}", facts=facts, head=head, rows=rows, of_rows=len(columns), notes=notes)


def curator_html(curator: Curator) -> str:
    """Return the data sets of a folder with their budgets."""
    rows, notes = [], []
    try:
        for dataset in curator.datasets():
            balance = curator.ledger.balance(dataset.name)
            tables = ", ".join(table.name for table in dataset.tables)
            rows.append(
                (curator.called(dataset.name), tables, balance.unit, balance.budget, balance.spent, balance.left)
            )
    except DitherError as failure:
        notes.append(str(failure))
    notes.append("session('NAME') asks; add('SCHEMA.yaml', budget=...) adds")
    head = ("data set", "tables", "protects", "budget", "spent", "left")
    return html(f"Curator of {curator.folder}", head=head, rows=rows, of_rows=len(rows), notes=notes)


def _books(session: Session) -> Iterator[tuple[str, str]]:
    try:
        balance = session.balance()
    except DitherError as failure:
        yield "budget", str(failure)
        return
    yield "spent", f"{balance.spent} of {balance.budget}"
    yield "left", str(balance.left)
    from dither.curator.access import curator_of

    if not curator_of(session).ledger.is_durable:
        yield "ledger", "in memory: unledgered, and gone with this process"


def _known(column: Column) -> str:
    """Return what is public about the values of a column."""
    parts = []
    if column.lower is not None:
        parts.append(f"{column.lower} to {column.upper}")
    if column.categories is not None:
        shown = ", ".join(map(str, column.categories[:_MOST_CATEGORIES]))
        more = len(column.categories) - _MOST_CATEGORIES
        parts.append(f"{shown} and {more} more" if more > 0 else shown)
    return "; ".join([*parts, *(["or NULL"] if column.nullable else [])])
