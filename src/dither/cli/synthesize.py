"""``dither synthesize``: a private table becomes a synthetic one that can be shared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dither.cli import ask
from dither.cli.console import complain, print_json, say, words_of
from dither.cli.options import (
    Analyst,
    Bins,
    Charged,
    DataSetName,
    Delta,
    Epsilon,
    Force,
    Home,
    Json,
    Key,
    Model,
    OnlyTable,
    Other,
    Quoted,
    Report,
    Rho,
    Server,
    SomeColumns,
    Where,
)
from dither.cli.outputs import Output, delivering, rows_output, write_whole
from dither.cli.progress import progress
from dither.cli.publish import beside, bins_of
from dither.cli.which import only_table, say_what_counts
from dither.curator.for_owner import check_owner
from dither.curator.session import Session
from dither.errors import InvalidParameter
from dither.publish.synthetic import SyntheticFamilies, SyntheticTable
from dither.publish.synthetic.constraint_files import read_constraints
from dither.publish.synthetic.quality import Quality, quality_of
from dither.publish.synthetic.report import write_report


@dataclass(frozen=True)
class Wanted:
    """What is to be written, and how, as it was typed."""

    charged: Charged
    out: Path
    rows: int | None
    model: Path | None
    report: Path | None
    compare: bool

    def files(self, names: Sequence[str] = ()) -> list[Output]:
        """Return what is to be written.

        Args:
            names: of the tables, where there are several; put before the suffix.

        """
        if self.compare and self.report is None:
            raise InvalidParameter("compare_with_real", True, "given with --report, in which the figures are written")
        return files_of(self.out, self.model, self.report, names)


def files_of(out: Path, model: Path | None, report: Path | None, names: Sequence[str] = ()) -> list[Output]:
    """Return the files of drawn rows, of a model and of a report; rows and reports for each of several tables."""

    def several(path: Path) -> list[Path]:
        return [beside(path, name) for name in names] or [path]

    found = [rows_output("out", path) for path in several(out)]
    if model is not None:
        found.append(Output("model", model))
    if report is not None:
        found += [Output("report", path, (".html", ".json")) for path in several(report)]
    return found


def synthesize(
    dataset: DataSetName,
    table: OnlyTable = None,
    tables: Annotated[
        str | None,
        typer.Option(help="PARENT,CHILD: two tables with one privacy id instead of one; a file is written for each."),
    ] = None,
    children: Annotated[
        int | None,
        typer.Option(help="With --tables: how many children of a parent count; else as limits say.", min=1),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where rows go: .parquet, .csv or .json.")] = Path(
        "synthetic.parquet"
    ),
    columns: SomeColumns = None,
    bins: Bins = None,
    other: Other = None,
    constraints: Annotated[
        Path | None, typer.Option(help="A YAML file of public facts that every row keeps: impossible, determined.")
    ] = None,
    method: Annotated[str, typer.Option(help="'auto', or a method of the catalogue.")] = "auto",
    rows: Annotated[
        int | None, typer.Option(help="How many rows, or parents; else as many as are estimated.", min=0)
    ] = None,
    model: Model = None,
    report: Report = None,
    force: Force = False,
    quote: Quoted = False,
    compare: Annotated[
        bool,
        typer.Option(
            "--compare-with-real", help="In the report, compare with the real rows: NOT private, never publish."
        ),
    ] = False,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    where: Where = None,
    analyst: Analyst = "curator",
    key: Key = None,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Make a synthetic table that can be shared: its rows are drawn from a private model of the real ones."""
    charged = Charged(epsilon, delta, rho, where, analyst, key, home, as_json, quote, force)
    wanted = Wanted(charged, out, rows, model, report, compare)
    if tables is None:
        if children is not None:
            raise InvalidParameter("children", children, "given with --tables")
        _one_table(wanted, dataset, table, columns, bins or (), other or (), constraints, method)
        return
    if table is not None or constraints is not None or where is not None:
        rule = "given without a table, --constraints and --where, which are about one table"
        raise InvalidParameter("tables", tables, rule)
    _families(wanted, dataset, tables, columns, bins or (), other or (), method, children)


def _one_table(
    wanted: Wanted,
    dataset: str,
    table: str | None,
    columns: str | None,
    bins: Sequence[str],
    other: Sequence[str],
    constraints: Path | None,
    method: str,
) -> None:
    """Learn a model of a table, draw rows from it and write them."""
    with ask.charged_session(wanted.charged, dataset, wanted.files()) as session:
        _check_owner(session, wanted)
        name = table or only_table(session.dataset)
        known = tuple(session.dataset.table(name).kinds)
        edges = bins_of(session, name, bins, known)
        names = words_of(columns)
        if not names:
            names, left_out = usable_columns(session, name, edges)
            if left_out and not wanted.charged.json:
                complain(f"left out, because neither categories nor bounds are declared: {', '.join(left_out)}")
        if not wanted.charged.json:
            say_what_counts(session.dataset.table(name), names)
        asked: dict[str, Any] = {
            **wanted.charged.asked,
            "method": method,
            "bins": edges,
            "other": dict(map(pair_of, other)),
            "constraints": () if constraints is None else read_constraints(constraints),
        }
        if wanted.charged.is_quoted:
            ask.say_price(session.quote(session.offer.synthesize(name, names, **asked)), as_json=wanted.charged.json)
            return
        with progress("learning"):
            found = session.synthesize(name, names, **asked)
        with delivering(wanted.charged.name):
            quality = None
            if wanted.report is not None:
                where = wanted.charged.where
                quality = session.compare_synthetic(found, where=where) if wanted.compare else quality_of(found)
            _deliver(found, wanted, quality)


def _families(
    wanted: Wanted,
    dataset: str,
    tables: str,
    columns: str | None,
    bins: Sequence[str],
    other: Sequence[str],
    method: str,
    children: int | None,
) -> None:
    """Learn a model of a table of parents and one of children, draw both and write each to a file of its own."""
    named = words_of(tables) or ()
    if len(named) != 2:
        raise InvalidParameter("tables", tables, "PARENT,CHILD: two tables with one privacy id")
    with ask.charged_session(wanted.charged, dataset, wanted.files(tuple(dict.fromkeys(named)))) as session:
        _check_owner(session, wanted)
        parent, child = (session.dataset.table(name).name for name in named)
        asked: dict[str, Any] = {
            "columns": words_of(columns),
            **{name: value for name, value in wanted.charged.asked.items() if name != "where"},
            "method": method,
            "bins": dict(_bins_of_one(session, (parent, child), text) for text in bins),
            "other": dict(map(pair_of, other)),
            "children": children,
        }
        if wanted.charged.is_quoted:
            price = session.quote(session.offer.synthesize_families(parent, child, **asked))
            ask.say_price(price, as_json=wanted.charged.json)
            return
        with progress("learning"):
            found = session.synthesize_families(parent, child, **asked)
        with delivering(wanted.charged.name):
            _deliver_families(session, found, wanted)


def _deliver_families(session: Session, found: SyntheticFamilies, wanted: Wanted) -> None:
    views, qualities = found.views(), []
    if wanted.report is not None:
        qualities = list(session.compare_families(found)) if wanted.compare else [quality_of(view) for view in views]
    drawn = found.sample(wanted.rows)
    written = {name: str(write_whole(beside(wanted.out, name), rows.write)) for name, rows in drawn.items()}
    if wanted.model is not None:
        written["model"] = str(write_whole(wanted.model, found.save))
    for view, quality in zip(views, qualities, strict=False):
        path = beside(wanted.report or Path(), view.table)
        written[f"report on {view.table}"] = str(write_whole(path, _reporting(view, quality)))
    _say_families(found, {name: len(rows) for name, rows in drawn.items()}, written, wanted)


def _reporting(found: SyntheticTable, quality: Quality) -> Callable[[Path], object]:
    """Return what writes a report to a path."""
    return lambda path: write_report(path, found, quality)


def _say_families(found: SyntheticFamilies, rows: dict[str, int], written: dict[str, str], wanted: Wanted) -> None:
    if wanted.charged.json:
        said = {"method": found.method, "loss": str(found.loss), "unit": found.unit, "receipt": found.receipt}
        print_json({**said, "key": wanted.charged.name, "rows": rows, "written": written})
        return
    for name, many in rows.items():
        say(f"wrote {many:,} synthetic rows of {name} to {written[name]}")
    say(
        f"released: private models of parents and of their children, by {found.method}; their rows describe nobody, "
        "and may be shared"
    )
    for name, path in written.items():
        if name not in rows:
            say(f"wrote the {name} to {path}")
    if wanted.compare:
        say(f"{wanted.report} compares with the real rows: it is NOT PRIVATE, do not publish it", style="bold red")
    _say_cost(found, wanted)


def _say_cost(found: SyntheticTable | SyntheticFamilies, wanted: Wanted) -> None:
    """Say what it cost, and that more rows cost nothing."""
    # A service knows a request without a key by what it asks.
    name = wanted.charged.name
    again = f"--rows N --key {name}" if name else "the same command with --rows N"
    say(f"cost {found.loss}, for {found.unit}; further rows of it cost nothing: {again}")


def _bins_of_one(session: Session, tables: tuple[str, str], text: str) -> tuple[str, Any]:
    """Return the bins of one column of either table, which may be named with its table."""
    said = text.partition("=")[0].strip()
    named, has_table, column = said.rpartition(".")
    for name in tables:
        if column in session.dataset.table(name).kinds and (not has_table or named == name):
            return said, bins_of(session, name, [f"{column}={text.partition('=')[2]}"], ())[column]
    raise InvalidParameter("bins", text, f"COLUMN=BINS for a column of {' or '.join(tables)}")


def _check_owner(session: Session, wanted: Wanted) -> None:
    """Refuse a comparison that is not the curator's, before anything is paid for."""
    if wanted.compare:
        check_owner(session.account.analyst, "a comparison with real rows")


def _deliver(found: SyntheticTable, wanted: Wanted, quality: Quality | None) -> None:
    drawn = found.sample(wanted.rows)
    write_whole(wanted.out, drawn.write)
    written = {"rows": str(wanted.out)}
    if wanted.model is not None:
        write_whole(wanted.model, found.save)
        written["model"] = str(wanted.model)
    if wanted.report is not None and quality is not None:
        write_whole(wanted.report, _reporting(found, quality))
        written["report"] = str(wanted.report)
    said: dict[str, Any] = {
        "table": found.table,
        "rows": len(drawn),
        "columns": [name for name, _ in found.columns],
        "method": found.method,
        "loss": str(found.loss),
        "unit": found.unit,
        "receipt": found.receipt,
        "key": wanted.charged.name,
        "written": written,
    }
    if quality is not None:
        said["quality"] = quality.to_dict()
    if wanted.charged.json:
        print_json(said)
        return
    columns = [name for name, _ in found.columns]
    say(f"wrote {len(drawn):,} synthetic rows of {found.table} to {wanted.out}: {', '.join(columns)}")
    say(f"released: a private model of these columns, by {found.method}; its rows describe nobody, and may be shared")
    for name, path in written.items():
        if name != "rows":
            say(f"wrote the {name} to {path}")
    if quality is not None and quality.compares_real:
        say(f"{wanted.report} compares with the real rows: it is NOT PRIVATE, do not publish it", style="bold red")
    _say_cost(found, wanted)


def usable_columns(session: Session, table: str, bins: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of which a model can be made, by what is declared, and those that are left out.

    Where none can be, all are returned, so that the refusal says what is missing.

    Args:
        session: that is asked.
        table: a private table.
        bins: that were given for columns.

    """
    from dither.publish.synthetic.columns import codings_of

    declared = session.dataset.table(table)
    usable, left_out = [], []
    for name in declared.kinds:
        if name in declared.identifying:
            continue
        try:
            if name not in bins:  # what was said of a column is refused as it was said
                codings_of(session.dataset, table, (name,))
        except InvalidParameter:
            left_out.append(name)
        else:
            usable.append(name)
    return (tuple(usable), tuple(left_out)) if usable else (tuple(left_out), ())


def pair_of(text: str) -> tuple[str, str]:
    """Return a column and a label from "COLUMN=LABEL"."""
    name, has_label, label = text.partition("=")
    if not has_label or not label:
        raise InvalidParameter("other", text, "COLUMN=LABEL")
    return name.strip(), label.strip()
