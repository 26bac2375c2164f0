"""Tables that fit: in a terminal no wider than it is; in a pipe as wide as they are, with no line broken."""

from __future__ import annotations

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

from dither.cli.console import console


def new_table(*titles: str, **options: str) -> Table:
    """Return a table whose cells break between words.

    Args:
        titles: of its columns.
        options: of the table, as Rich takes them.

    """
    table = Table(**options)  # type: ignore[arg-type]
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


def print_table(table: Table, *, or_list: bool = False) -> None:
    """Print a table: whole where a program reads, and with its cells broken between words where a terminal is narrow.

    Args:
        table: with a title for every column.
        or_list: whether, where a terminal is too narrow, every row is a list of its cells instead.

    """
    options = console.options
    wanted = Measurement.get(console, options.update(max_width=100_000), table).maximum
    if not console.is_terminal:
        Console(file=console.file, width=max(wanted, 1)).print(table)
        return
    if or_list and wanted > console.width:
        _print_list(table)
        return
    console.print(table)


def _print_list(table: Table) -> None:
    """Print every row as lines of title and cell."""
    titles = [str(column.header) for column in table.columns]
    width = max(map(len, titles), default=0)
    for cells in zip(*(list(column.cells) for column in table.columns), strict=True):
        for title, cell in zip(titles, cells, strict=True):
            console.print(f"{title:<{width}}  {cell}", highlight=False, soft_wrap=True)
        console.print()
