"""``dither stream open|feed|release|show|close``: a query that is paid for once, and released tick by tick."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from dither.cli import ask
from dither.cli.console import complain, note, print_json, say
from dither.cli.options import Analyst, Charged, DataSetName, Delta, Epsilon, Force, Home, Json, Quoted, Rho, Server
from dither.cli.outputs import Output, table_output, write_whole
from dither.cli.progress import progress
from dither.curator.streams.seizable import SeizableStream
from dither.curator.streams.stream import NOTHING_FED, Stream
from dither.errors import InvalidParameter
from dither.publish.queries.result import QueryResult
from dither.publish.streams.asked import StreamAnswer
from dither.publish.streams.pictures import stream_page
from dither.verbs.streams import ticked_of

#: Up to which tick errors are said where no end is known.
_LONG = 10_000
#: How many rows are printed; more are in a file.
_MOST = 40
_SUFFIXES = (".csv", ".parquet", ".json", ".html")
Name = Annotated[str, typer.Argument(metavar="NAME", help="Your name for the stream.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Also write CSV, Parquet, JSON or HTML (a plot).")]


def open_stream(
    dataset: DataSetName,
    name: Name,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Counts, sums and means over public groups.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    released: Annotated[
        str,
        typer.Option(
            help=(
                "running: all since the start, at the end of each tick; tick: each tick separately; decayed: less "
                "the longer ago; quantiles: of the last group of a count; top: its largest groups."
            )
        ),
    ] = "running",
    horizon: Annotated[
        int | None, typer.Option(help="How many ticks are paid for; else as the schema declares, or any number.", min=1)
    ] = None,
    decay: Annotated[str | None, typer.Option(help="How much of a tick is left after one more: decayed.")] = None,
    ranks: Annotated[
        str | None,
        typer.Option(help="Shares of rows, with commas; 1 is the maximum: quantiles. Else the quartiles, 1."),
    ] = None,
    top: Annotated[int | None, typer.Option(help="How many of the largest groups: top.", min=1)] = None,
    changes: Annotated[
        int | None, typer.Option(help="How often that list is chosen; else by the number of ticks.", min=1)
    ] = None,
    kept: Annotated[
        str | None,
        typer.Option(
            help="exact: state survives a crash. noisy: only noisy state is stored, so a crash loses one tick."
        ),
    ] = None,
    analyst: Analyst = "curator",
    is_quoted: Quoted = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Pay for a query on a stream, for all of its ticks; nothing is released yet."""
    charged = Charged(
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        analyst=analyst,
        key=f"stream {name}",
        home=home,
        json=as_json,
        is_quoted=is_quoted,
    )
    words: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rho": rho, "released": released, "horizon": horizon}
    words |= {"decay": decay, "top": top, "changes": changes, "kept": kept}
    words["ranks"] = None if ranks is None else [one.strip() for one in ranks.split(",")]
    with ask.charged_session(charged, dataset) as session:
        if is_quoted:
            offer = session.offer.stream(query, **words)
            price, errors = session.quote(offer), _errors(ticked_of(offer))
            if as_json:
                print_json({**price.to_dict(), "errors": errors})
            else:
                say("\n".join([str(price), *(_in_words(name, found) for name, found in errors.items())]))
            return
        with contextlib.closing(session.stream(name, query, **words)) as opened:
            _show(opened, as_json=as_json)


def feed(
    dataset: DataSetName,
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Rows that have arrived: CSV or Parquet.")],
    batch: Annotated[
        str | None, typer.Option(help="Your name for these rows: the same name again is not counted again.")
    ] = None,
    analyst: Analyst = "curator",
    home: Home = None,
) -> None:
    """Take rows that have arrived; they count when their ticks are released."""
    if not file.is_file():
        raise InvalidParameter("file", str(file), "an existing file")
    with _found(home, dataset, analyst, name) as opened:
        if isinstance(opened, SeizableStream):
            rule = (
                "'exact', to be fed separately: this stream stores nothing when a command ends. Pass --rows to release"
            )
            raise InvalidParameter("kept", "noisy", rule)
        is_new, end = opened.feed(file, batch=batch), opened.ends_at
    # Public: how many of these rows lie beyond the end is not said.
    beyond = "" if end is None else f"; rows from {end} UTC on, after the last tick, were not"
    say(f"taken{beyond}" if is_new else f"batch {batch} was taken before, with these rows: nothing was done")


def release(
    dataset: DataSetName,
    name: Name,
    until: Annotated[int | None, typer.Option(help="Release no more than this number of ticks in all.", min=0)] = None,
    now: Annotated[
        datetime.datetime | None, typer.Option(help="The present in UTC, in place of this machine's clock.")
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(help="Rows of the next tick alone, which are fed first; for a stream with --kept noisy."),
    ] = None,
    out: Out = None,
    force: Force = False,
    analyst: Analyst = "curator",
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Release the ticks that have ended; what was released before stays as it was."""
    outputs = () if out is None else (table_output("out", out, _SUFFIXES),)
    shown = f"'dither stream show {dataset} {name}'"
    how_on = f"; the same command continues, and {shown} shows what was released by then"
    with _found(home, dataset, analyst, name, outputs, force=force, how_on=how_on) as opened:
        if rows is not None:
            if not rows.is_file():
                raise InvalidParameter("rows", str(rows), "an existing file")
            opened.feed(rows)
        is_kept = not isinstance(opened, SeizableStream)
        if is_kept and opened.is_without_rows:
            complain(NOTHING_FED)
        before = opened.released
        with progress("releasing"):
            result = opened.release(until, now=now)
        empty = 0 if is_kept else opened.released - before - (rows is not None)
        if empty > 0:
            said = f"{empty} tick was" if empty == 1 else f"{empty} ticks were"
            complain(f"{said} released without rows: --rows has those of one tick, the next to be released")
        if out is not None:
            _save(result, out)
        if result.rows or as_json:
            _show_latest(result, as_json=as_json)
        else:
            say(f"nothing new: {_done(opened)} are released; {shown} shows them")
        if out is not None:
            note(f"wrote {out}")


def show(
    dataset: DataSetName,
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Of one stream; else all are listed.")] = None,
    first: Annotated[int, typer.Option(help="The first tick to show, counted from 0.", min=0)] = 0,
    end: Annotated[int | None, typer.Option(help="The tick before which to end.", min=0)] = None,
    out: Out = None,
    force: Force = False,
    analyst: Analyst = "curator",
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Show what a stream has released, and what kind it is; nothing is released by this."""
    if name is None:
        with ask.session(home, dataset, analyst, key="") as session:
            names = session.long_lived().streams
        if as_json:
            print_json({"streams": list(names)})
        else:
            say("\n".join(names) or f"{dataset} has no streams; 'dither stream open' makes one")
        return
    outputs = () if out is None else (table_output("out", out, _SUFFIXES),)
    with _found(home, dataset, analyst, name, outputs, force=force, only_read=True) as opened:
        result = opened.answers(first, end)
        if not as_json:
            _show(opened, as_json=False)
        if out is not None:
            _save(result, out)
        _show_latest(result, as_json=as_json)
        if out is not None:
            note(f"wrote {out}")


def close(
    dataset: DataSetName, name: Name, analyst: Analyst = "curator", server: Server = None, home: Home = None
) -> None:
    """End a stream permanently; what was paid for and not released is not refunded."""
    with _found(home, dataset, analyst, name) as opened:
        opened.end()
        say(f"closed after {_done(opened)}; nothing is given back")


@contextlib.contextmanager
def _found(
    home: Path | None,
    dataset: str,
    analyst: str,
    name: str,
    outputs: tuple[Output, ...] = (),
    *,
    force: bool = False,
    only_read: bool = False,
    how_on: str = "",
) -> Iterator[Stream]:
    """Open a stream that was paid for before."""
    with (
        ask.session(home, dataset, analyst, outputs, force=force, key="", how_on=how_on) as session,
        contextlib.closing(session.stream(name, only_read=only_read)) as opened,
    ):
        yield opened


def _errors(mechanism: StreamAnswer) -> dict[str, dict[str, int]]:
    """Return how far counts err at most, 95 times of 100, at some ticks: public facts, as the price is."""
    last = (mechanism.steps or _LONG) - 1
    found: dict[str, dict[str, int]] = {}
    for tick in sorted({0, last // 2, last}):
        for name, error in mechanism.errors_at(tick).items():
            found.setdefault(name, {})[str(tick)] = error
    return found


def _done(opened: Stream) -> str:
    """Say how many ticks are released, and of how many."""
    steps = opened.to_dict()["ticks"]
    return f"{opened.released} ticks" if steps is None else f"{opened.released} of {steps} ticks"


def _in_words(name: str, errors: dict[str, int]) -> str:
    if len(set(errors.values())) == 1:
        return f"{name} has an error of at most {next(iter(errors.values()))} at every tick, each 95 times of 100"
    several = ", ".join(f"{error} at tick {tick}" for tick, error in errors.items())
    return f"{name} has an error of at most {several}, each 95 times of 100"


def _save(result: QueryResult, out: Path) -> None:
    """Write what was released; a page has a line for each group over time."""
    if out.suffix.lower() != ".html":
        ask.save(result, out)
        return
    write_whole(out, lambda draft: draft.write_text(stream_page(result), encoding="utf-8"))


def _show_latest(result: QueryResult, *, as_json: bool) -> None:
    """Print the latest rows, and say how many there are; a program gets all."""
    before = 0 if as_json else max(0, len(result.rows) - _MOST)
    if before:
        say(f"the latest {_MOST} of {len(result.rows)} rows; --out FILE writes all, --first and --end of show others")
    parts = {name: getattr(result, name)[before:] for name in ("rows", "low", "high", "raw")}
    ask.show(replace(result, **parts) if before else result, as_json=as_json)


def _show(opened: Stream, *, as_json: bool) -> None:
    """Say what a stream is, from public facts."""
    if as_json:
        print_json(opened.to_dict())
    else:
        say(str(opened))
