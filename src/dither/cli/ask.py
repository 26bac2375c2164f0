"""``dither sql`` and ``dither quote``: private answers, and their price beforehand."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from dither.cli.console import complain, console, is_screen, note, print_json, say
from dither.cli.interrupted import tell, what_became
from dither.cli.options import (
    Analyst,
    AutoShare,
    Charged,
    DataSetName,
    Delta,
    Epsilon,
    Force,
    Home,
    Json,
    Key,
    LikelyEmpty,
    Noise,
    Quantiles,
    Quoted,
    Rho,
    Server,
    ThresholdShare,
    check_figures,
)
from dither.cli.outputs import (
    Output,
    check_outputs,
    check_screen,
    delivering,
    keep_files,
    keep_sources,
    table_output,
    write_whole,
)
from dither.cli.progress import paused, progress
from dither.cli.remote import connection
from dither.curator.folder import Curator
from dither.curator.ledger import Receipt
from dither.curator.price import Price, loss_not_stated
from dither.curator.session import Session
from dither.errors import InvalidParameter, LossNotStated, NotDelivered
from dither.pages.spreadsheet import write_csv
from dither.publish.queries import QueryResult, Quote
from dither.publish.queries.pictures import answer_page

_SUFFIXES = (".csv", ".parquet", ".json", ".html")


@contextmanager
def session(
    home: Path | None,
    dataset: str,
    analyst: str,
    outputs: Sequence[Output] = (),
    *,
    force: bool = False,
    key: str | None = None,
    how_on: str = "",
    tells_stored: bool = False,
) -> Iterator[Session]:
    """Open a session, and close what it holds; files that could not be written are refused before.

    Who interrupts what is done with it is told whether anything was charged.

    Args:
        home: the curator's folder.
        dataset: whose tables are asked.
        analyst: who asks.
        outputs: what is to be written of the answer.
        force: whether files that are there may be written over.
        key: of the request that is made; empty where none is, and None where it is not known.
        how_on: what who interrupts it is told further, about how to go on.
        tells_stored: whether people read that the same request is stored, before it is charged again.

    """
    check_outputs(outputs)
    with ExitStack() as held:
        asked = connection()
        if asked is None:
            here = held.enter_context(Curator.open(home))
            keep_sources(outputs, here)
            keep_files(outputs, force=force)
            opened = held.enter_context(here.session(dataset, analyst=analyst))
            opened._on_repeat = lambda stored: _say_free(stored, key)
            if tells_stored:
                opened._on_same = lambda stored: _say_stored(stored, dataset)
        else:
            # The token says who asks.
            held.callback(asked.close)
            keep_files(outputs, force=force)
            opened = asked.session(dataset)
            held.callback(opened.close)
        with _told(opened, outputs, key, how_on):
            yield opened


def _say_free(stored: Receipt, key: str | None) -> None:
    """Say that an answer was there already; what a query with found ranges asks in between has keys of its own."""
    if stored.key == key:
        note(
            f"this is the answer that key {key} was charged for before (entry {stored.entry}): nothing more is charged"
        )


def _say_stored(stored: str, dataset: str) -> None:
    """Say that the same request is stored, before it is charged again; ask whether it shall be, on a screen."""
    with paused():
        known = f"'dither answer {stored} --dataset {dataset}' shows it again for free"
        complain(f"the same request was answered before: {known}")
        try:
            is_wanted = not is_screen() or typer.confirm("Charge it again, for fresh noise?", default=False, err=True)
        except typer.Abort:
            raise KeyboardInterrupt from None
        if not is_wanted:
            note("nothing was charged")
            raise typer.Exit


@contextmanager
def _told(opened: Session, outputs: Sequence[Output], key: str | None, how_on: str) -> Iterator[None]:
    """Say what became of a request that was interrupted, and of an answer that was not delivered."""
    try:
        yield
    except KeyboardInterrupt:
        tell(what_became(opened, key, has_files=any(output.path.exists() for output in outputs)) + how_on)
        raise
    except NotDelivered as lost:
        has_files = any(output.path.exists() for output in outputs)
        raise NotDelivered(lost.key, lost.reason, has_files=has_files) from None
    except LossNotStated as refusal:
        raise loss_not_stated(refusal.parameter, opened.balance()) from None


def charged_session(charged: Charged, dataset: str, outputs: Sequence[Output] = ()) -> AbstractContextManager[Session]:
    """Return a session for a release as it was asked for, and for no more than its price where that was asked for.

    Args:
        charged: the loss, the key, and what else every release is told.
        dataset: whose tables are asked.
        outputs: what is to be written of the answer.

    """
    check_screen()
    written = () if charged.is_quoted else outputs
    key = "" if charged.is_quoted else charged.name
    if key:
        # Said before anything is paid for: who loses the window can ask for the answer all the same.
        note(f"key {key}")
    # Programs read what is printed with --json, and have keys.
    told = not charged.json
    return session(charged.home, dataset, charged.analyst, written, force=charged.force, key=key, tells_stored=told)


def say_price(price: Price, *, as_json: bool) -> None:
    """Print what a release would cost."""
    if as_json:
        print_json(price.to_dict())
    else:
        say(str(price))


def sql(
    dataset: DataSetName,
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="One SELECT; without it, a prompt as 'dither shell' has.")
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    analyst: Analyst = "curator",
    key: Key = None,
    noise: Noise = "auto",
    threshold_share: ThresholdShare = None,
    quantiles: Quantiles = "auto",
    auto_share: AutoShare = "0.1",
    likely_empty: LikelyEmpty = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Also write CSV, Parquet, JSON or HTML (a plot).")
    ] = None,
    force: Force = False,
    is_quoted: Quoted = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Without a query: ask each without showing its price first.")
    ] = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Answer a query privately, every number with its error bar, and charge the ledger."""
    if query is None:
        from dither.cli.shell import shell

        given = {"--out": out, "--key": key, "--threshold-share": threshold_share, "--quote": is_quoted or None}
        if about_one := [option for option, value in given.items() if value is not None]:
            raise InvalidParameter(
                "query", None, f"required with {', '.join(about_one)}: these options are about one query"
            )
        shell(dataset, epsilon, delta, rho, analyst, noise, yes, home)
        return
    outputs = () if out is None else (table_output("out", out, _SUFFIXES),)
    charged = Charged(
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        analyst=analyst,
        key=key,
        home=home,
        json=as_json,
        is_quoted=is_quoted,
        force=force,
    )
    how: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "noise": noise}
    how |= {"threshold_share": threshold_share, "quantiles": quantiles, "auto_share": auto_share}
    # Not passed unless set, so that a server of an earlier version answers, too.
    more: dict[str, Any] = {"likely_empty": True} if likely_empty else {}
    with charged_session(charged, dataset, outputs) as asked:
        if is_quoted:
            show(asked.quote(query, **how), as_json=as_json)
            return
        with progress("asking"):
            result: Any = asked.sql(query, **how, **more, key=charged.key)
        if not isinstance(result, QueryResult):
            if out is not None:
                raise InvalidParameter(
                    "out", str(out), "not allowed with EXPLAIN PRIVACY: its quote is not written to a file"
                )
            show(result, as_json=as_json)
            return
        with delivering(charged.name):
            if out is not None:
                save(result, out)
            show(result, as_json=as_json)
            if out is not None:
                note(f"wrote {out}")


def quote(
    dataset: DataSetName,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One SELECT.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    target: Annotated[
        str | None,
        typer.Option(help="COLUMN=ERROR: find the least epsilon at which that column has at most this error."),
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="With --target on a mean: for groups of how many rows.", min=1)
    ] = None,
    noise: Noise = "auto",
    threshold_share: ThresholdShare = None,
    quantiles: Quantiles = "auto",
    auto_share: AutoShare = "0.1",
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Also show the law and scale of each noise, and all advice.")
    ] = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show the price and expected error of a query without opening the data."""
    check_figures(epsilon=epsilon, rho=rho)
    how: dict[str, Any] = {"noise": noise, "threshold_share": threshold_share, "auto_share": auto_share}
    how["quantiles"] = quantiles
    with session(home, dataset, "curator", key="") as asked:
        if target is not None:
            column, _, error = target.partition("=")
            if epsilon is not None or rho is not None or not error:
                raise InvalidParameter("target", target, "COLUMN=ERROR, instead of --epsilon and --rho")
            found = asked.loss_for_error(query, column.strip(), error.strip(), rows=rows, delta=delta)
            priced: Any = asked.quote(query, loss=found, **how)
        else:
            priced = asked.quote(query, epsilon=epsilon, delta=delta, rho=rho, **how)
        if verbose and isinstance(priced, Quote) and not as_json:
            say(priced.text(verbose=True))
        else:
            show(priced, as_json=as_json)


def save(result: QueryResult, out: Path) -> None:
    """Write a result: .csv, .parquet, .json, or .html with pictures."""
    write_whole(out, lambda draft: _save(result, draft))


def save_page(text: str, out: Path) -> None:
    """Write a page."""
    write_whole(out, lambda draft: draft.write_text(text, encoding="utf-8"))


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
        write_csv(out, names, (list(row.values()) for row in rows))


def show(result: Any, *, as_json: bool) -> None:
    """Print an answer or a quote."""
    if as_json:
        print_json(json.loads(result.to_json()))
    else:
        console.print(str(result), markup=False, highlight=False, soft_wrap=True)
