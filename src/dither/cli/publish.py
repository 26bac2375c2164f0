"""``dither publish histogram|workload|marginals``: private tables of counts, to the screen and to files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dither.cli import ask
from dither.cli.console import console, print_json
from dither.cli.options import (
    Analyst,
    Bins,
    Charged,
    Columns,
    DataSetName,
    Delta,
    Epsilon,
    Force,
    Home,
    Json,
    Key,
    Outside,
    Plot,
    Quoted,
    Rho,
    Server,
    TableOut,
    Where,
)
from dither.cli.outputs import Output, delivering, table_output
from dither.cli.progress import progress
from dither.cli.which import table_and_words
from dither.curator.session import Session
from dither.data import Kind
from dither.data.schema import Table
from dither.errors import InvalidParameter
from dither.lift.offer import Offer
from dither.publish.queries import QueryResult

_SUFFIXES = (".csv", ".parquet", ".json")
_QUERIES = ("ranges", "prefixes", "cells")


@dataclass(frozen=True)
class Asked:
    """What all three verbs have in common, as it was typed."""

    charged: Charged
    dataset: str
    table: str
    bins: Sequence[str]
    outside: str | None
    out: Path | None
    plot: bool

    def files(self, names: Sequence[str] = ("",)) -> list[Output]:
        """Return what is to be written: one file for each name, and its plot beside it.

        Args:
            names: of the tables, where there are several; put before the suffix.

        """
        if self.plot and self.out is None:
            raise InvalidParameter("plot", True, "given with --out: the plot is written beside the file, as HTML")
        found = []
        for path in () if self.out is None else [beside(self.out, name) for name in names]:
            found.append(table_output("out", path, _SUFFIXES))
            if self.plot:
                found.append(table_output("plot", path.with_suffix(".html"), (".html",)))
        return found

    @property
    def release(self) -> dict[str, Any]:
        """The loss, the key and which rows, as a session takes them."""
        return {**self.charged.asked, "outside": self.outside}


def histogram(
    dataset: DataSetName,
    words: Columns,
    bins: Bins = None,
    method: Annotated[str, typer.Option(help="How; 'auto' takes the least predicted error.")] = "auto",
    data_dependent: Annotated[
        bool, typer.Option("--data-dependent", help="Let 'auto' take methods that look at the counts: no intervals.")
    ] = False,
    rows: Annotated[
        int | None, typer.Option(help="With --data-dependent: about how many rows there are.", min=1)
    ] = None,
    questions: Annotated[
        str | None,
        typer.Option(help="What 'auto' chooses for: cells, as a GROUP BY asks, or ranges of them; else by column."),
    ] = None,
    outside: Outside = None,
    out: TableOut = None,
    plot: Plot = False,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    force: Force = False,
    is_quoted: Quoted = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Publish how many rows fall into each cell of one column or more, each count with its interval."""
    charged = Charged(epsilon, delta, rho, where, analyst, key, home, as_json, is_quoted, force)
    table, columns = _named(home, dataset, words)
    asked = Asked(charged, dataset, table, bins or (), outside, out, plot)
    with ask.charged_session(charged, dataset, asked.files()) as session:
        offer = session.offer.histogram(
            asked.table,
            columns,
            bins_of(session, asked.table, asked.bins, columns),
            method=method,
            questions=questions,
            data_dependent=data_dependent,
            rows=rows,
            **asked.release,
        )
        _release(session, asked, offer, lambda result: {"": result})


def count(
    dataset: DataSetName,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TABLE] [COLUMN]...", help="The table, which may be left out where there is one."),
    ] = None,
    share: Annotated[
        str, typer.Option(help="How far a count may be off, as a share of the true total: of one count, of itself.")
    ] = "0.05",
    levels: Annotated[int, typer.Option(help="How many levels of noise are tried, each with half of it.", min=1)] = 8,
    bins: Bins = None,
    outside: Outside = None,
    out: TableOut = None,
    plot: Plot = False,
    epsilon: Epsilon = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    force: Force = False,
    is_quoted: Quoted = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Count rows to a relative accuracy, for the least epsilon that shows it."""
    charged = Charged(epsilon, None, None, where, analyst, key, home, as_json, is_quoted, force)
    table, columns = table_and_words(home, dataset, words or [])
    asked = Asked(charged, dataset, table, bins or (), outside, out, plot)
    with ask.charged_session(charged, dataset, asked.files()) as session:
        edges = bins_of(session, asked.table, asked.bins, columns) if columns else None
        offer = session.offer.count(asked.table, columns, edges, share=share, levels=levels, **asked.release)
        _release(session, asked, offer, lambda result: {"": result})


def workload(
    dataset: DataSetName,
    words: Columns,
    queries: Annotated[str, typer.Option(help="ranges (all of them), prefixes or cells.")] = "ranges",
    ranges: Annotated[
        list[str] | None, typer.Option("--range", help="FIRST:LAST, numbers of cells: these ranges instead of all.")
    ] = None,
    bins: Bins = None,
    method: Annotated[str, typer.Option(help="hdmm (search a strategy), identity, or auto.")] = "auto",
    outside: Outside = None,
    out: TableOut = None,
    plot: Plot = False,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    force: Force = False,
    is_quoted: Quoted = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Publish the answers to many queries on the cells of one column or more, for one price."""
    from dither.lift.cells import cells_of
    from dither.publish.workloads import Workload

    charged = Charged(epsilon, delta, rho, where, analyst, key, home, as_json, is_quoted, force)
    table, columns = _named(home, dataset, words)
    asked = Asked(charged, dataset, table, bins or (), outside, out, plot)
    with ask.charged_session(charged, dataset, asked.files()) as session:
        edges = bins_of(session, asked.table, asked.bins, columns)
        shape = cells_of(session.dataset, asked.table, columns, edges, outside=asked.outside).shape
        if ranges:
            if len(shape) != 1:
                raise InvalidParameter("range", ranges, "given for one column alone")
            wanted = Workload.ranges(shape[0], [_ends(text) for text in ranges])
        else:
            if queries not in _QUERIES:
                raise InvalidParameter("queries", queries, f"one of {', '.join(_QUERIES)}")
            makers = {"ranges": Workload.all_ranges, "prefixes": Workload.prefixes, "cells": Workload.cells_of}
            parts = [makers[queries](size) for size in shape]
            wanted = parts[0] if len(parts) == 1 else Workload.kron(*parts)
        offer = session.offer.workload(asked.table, columns, wanted, edges, method=method, **asked.release)
        _release(session, asked, offer, lambda result: {"": result})


def marginals(
    dataset: DataSetName,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="[TABLE] SET...",
            help="A private table, which may be left out if it is the only one; and columns of a marginal each, such "
            "as sex,age.",
        ),
    ],
    bins: Bins = None,
    outside: Outside = None,
    out: TableOut = None,
    plot: Plot = False,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    force: Force = False,
    is_quoted: Quoted = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Publish several marginals of one table, which agree with each other."""
    charged = Charged(epsilon, delta, rho, where, analyst, key, home, as_json, is_quoted, force)
    table, sets = _named(home, dataset, words)
    asked = Asked(charged, dataset, table, bins or (), outside, out, plot)
    wanted = [tuple(name.strip() for name in text.split(",") if name.strip()) for text in sets]
    columns = tuple(dict.fromkeys(name for names in wanted for name in names))
    # The columns of a marginal come in the order in which they were first named.
    names = dict.fromkeys("-".join(sorted(names, key=columns.index)) for names in wanted)
    files = asked.files(tuple(names))
    with ask.charged_session(charged, dataset, files) as session:
        edges = bins_of(session, asked.table, asked.bins, columns)
        offer = session.offer.marginals(asked.table, wanted, edges, **asked.release)
        _release(session, asked, offer, lambda found: {"-".join(names): result for names, result in found.items()})


def _named(home: Path | None, dataset: str, words: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the table and its columns, of which there must be one."""
    table, columns = table_and_words(home, dataset, words)
    if not columns:
        raise InvalidParameter("column", None, f"at least one of {table}")
    return table, columns


def _release(
    session: Session, asked: Asked, offer: Offer[Any], tables: Callable[[Any], dict[str, QueryResult]]
) -> None:
    """Release an offer and deliver its tables, by name; or say what it would cost, where that was asked."""
    if asked.charged.is_quoted:
        ask.say_price(session.quote(offer), as_json=asked.charged.json)
        return
    with progress("counting"):
        found = session.release(offer)
    _deliver(asked, tables(found))


def _deliver(asked: Asked, results: dict[str, QueryResult]) -> None:
    """Print the tables and write them, one file for each: a name is put before the suffix where there are several."""
    with delivering(asked.charged.name):
        for name, result in results.items():
            if asked.out is not None:
                path = beside(asked.out, name)
                ask.save(result, path)
                if asked.plot:
                    ask.save(result, path.with_suffix(".html"))
        if asked.charged.json:
            records = {name: json.loads(result.to_json()) for name, result in results.items()}
            print_json(records.get("", records))
            return
        for name, result in results.items():
            if name:
                console.print(name, style="bold", markup=False)
            console.print(str(result), markup=False, highlight=False, soft_wrap=True)


def beside(path: Path, name: str) -> Path:
    """Return the path of one of several files."""
    # A path without a name is refused as a folder later on.
    return path if not name or not path.name else path.with_name(f"{path.stem}-{name}{path.suffix}")


def bins_of(session: Session, name_of_table: str, texts: Sequence[str], columns: Sequence[str]) -> dict[str, Any]:
    """Return bins by column from "COLUMN=10", "COLUMN=0,18,65,120" or, for one column, without its name."""
    table = session.dataset.table(name_of_table)
    found: dict[str, Any] = {}
    for text in texts:
        name, has_name, said = text.partition("=")
        if not has_name:
            if len(columns) != 1:
                raise InvalidParameter("bins", text, "COLUMN=BINS where there is more than one column")
            name, said = columns[0], text
        found[name.strip()] = _read_bins(table, name.strip(), said)
    return found


def _read_bins(table: Table, name: str, text: str) -> Any:
    kind = table.column(name).kind
    words = [word.strip() for word in text.split(",")]
    if kind is Kind.TEXT:
        return words
    if kind is Kind.BOOLEAN:
        return [word.lower() == "true" for word in words]
    if words == ["found"]:
        return "found"  # what synthetic tables take; others refuse it
    try:
        if len(words) == 1:
            return int(words[0])
        if kind is Kind.INTEGER:
            return [int(word) for word in words]
        return words if kind is Kind.DATE else [float(word) for word in words]
    except ValueError:
        rule = "a number of bins, or edges separated by commas"
        raise InvalidParameter(f"bins of {name}", text, rule) from None


def _ends(text: str) -> tuple[int, int]:
    first, _, last = text.partition(":")
    try:
        return int(first), int(last)
    except ValueError:
        raise InvalidParameter("range", text, "FIRST:LAST, the numbers of two cells") from None
