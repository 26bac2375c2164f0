"""What ``dither add`` stops at: columns that lose cells, and edges that name no declared node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from dither.cli.console import is_screen, print_json, tell_owner
from dither.cli.wizard import is_agreed
from dither.data.importing.fit import TableFit, loss_words

#: The exit code for what the owner has not decided: nothing was registered.
_OPEN = 3


def losses(fits: Sequence[TableFit], *, with_examples: bool) -> list[str]:
    """Return a line for each column that loses more than 1 % of its cells, and for edges between undeclared nodes.

    Args:
        fits: of the tables.
        with_examples: whether cells may be shown.

    """
    found = []
    for fit in fits:
        for one in fit.losing:
            reason = one.reason if with_examples else f"not of the kind {one.column.kind.value}"
            found.append(f"{fit.table.name}.{loss_words(one.column, one.lost, one.filled, reason)}")
        if fit.is_mostly_undeclared:
            ends = " or ".join(name for one in fit.table.declared for name in one.naming)
            found.append(
                f"{fit.table.name}: {fit.undeclared:,} of {fit.rows:,} edges name an undeclared node in {ends}, and do "
                "not count: check that bounds, categories or nodes belong to this file"
            )
    return found


def stop_at_losses(fits: Sequence[TableFit], *, may_lose: bool, as_json: bool) -> None:
    """Print what would be lost and leave, with the exit code of open questions, unless the owner accepts it.

    Args:
        fits: of the tables.
        may_lose: whether the owner accepts it.
        as_json: whether a program reads.

    """
    if may_lose or not losses(fits, with_examples=False):
        return
    if as_json:
        print_json({"registered": False, "lost": [record for fit in fits for record in _records(fit)]})
        raise typer.Exit(_OPEN)
    tell_owner("nothing was registered, because much of the data would not count:")
    for line in losses(fits, with_examples=is_screen()):
        tell_owner(f"  {line}")
    tell_owner("correct the schema or the file; 'dither add --allow-lost' registers it nevertheless")
    raise typer.Exit(_OPEN)


def accepts_losses(fits: Sequence[TableFit]) -> bool:
    """Ask the owner whether to register a table that loses cells; true where it does not."""
    if not losses(fits, with_examples=False):
        return True
    tell_owner("much of the data would not count:")
    for line in losses(fits, with_examples=True):
        tell_owner(f"  {line}")
    return is_agreed("Register it nevertheless?") is True


def _records(fit: TableFit) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"table": fit.table.name, "column": one.column.name, "lost": one.lost, "filled": one.filled}
        for one in fit.losing
    ]
    if fit.is_mostly_undeclared:
        found.append({"table": fit.table.name, "undeclared_edges": fit.undeclared, "rows": fit.rows})
    return found
