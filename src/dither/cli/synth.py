"""``dither synth``: a private table becomes a synthetic one that can be shared."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dither.cli import ask
from dither.cli.console import print_json, progress, say, words_of
from dither.cli.options import Charged
from dither.cli.publish import bins_of
from dither.curator.price import Price
from dither.curator.session import Session
from dither.errors import InvalidParameter, MissingExtra
from dither.publish.synthetic import Constraint, Determined, Impossible, SyntheticFamilies, SyntheticTable
from dither.publish.synthetic.quality import Quality, quality_of
from dither.publish.synthetic.report import write_report

_SUFFIXES = (".csv", ".parquet", ".json")


@dataclass(frozen=True)
class Wanted:
    """What is to be written, and how, as it was typed."""

    charged: Charged
    out: Path
    rows: int | None
    model: Path | None
    report: Path | None
    compare: bool
    is_quoted: bool

    def check(self) -> None:
        """Refuse files that could not be written, before anything is paid for."""
        check_files(self.out, self.model, self.report)
        if self.compare and self.report is None:
            raise InvalidParameter("compare_with_real", True, "given with --report, in which the figures are written")


def say_price(price: Price, *, as_json: bool) -> None:
    """Print what a release would cost."""
    if as_json:
        print_json(price.to_json())
    else:
        say(str(price))


def check_files(out: Path, model: Path | None, report: Path | None) -> None:
    """Refuse files that could not be written: rows, a model, a report."""
    if out.suffix.lower() not in _SUFFIXES:
        raise InvalidParameter("out", str(out), f"a file ending in {', '.join(_SUFFIXES)}")
    if report is not None and report.suffix.lower() not in (".html", ".json"):
        raise InvalidParameter("report", str(report), "a file ending in .html or .json")
    for path in (out, model, report):
        if path is not None and not path.resolve().parent.is_dir():
            raise InvalidParameter("out", str(path), "in a folder that exists")
    if out.suffix.lower() != ".json" and importlib.util.find_spec("pyarrow") is None:
        raise MissingExtra("CSV and Parquet files of drawn rows", "frames")


def synth(
    wanted: Wanted,
    dataset: str,
    table: str | None,
    *,
    columns: str | None,
    bins: Sequence[str],
    other: Sequence[str],
    constraints: Path | None,
    method: str,
) -> None:
    """Learn a model of a table, draw rows from it and write them."""
    wanted.check()
    with ask.session(wanted.charged.home, dataset, wanted.charged.analyst) as session:
        _check_owner(session, wanted)
        name = table or only_table(session)
        names = words_of(columns)
        known = tuple(session.dataset.table(name).kinds)
        asked: dict[str, Any] = {
            **wanted.charged.asked,
            "method": method,
            "bins": bins_of(session, name, bins, known),
            "other": dict(map(pair_of, other)),
            "constraints": () if constraints is None else read_constraints(constraints),
        }
        if wanted.is_quoted:
            say_price(session.price(lambda door: door.synthesize(name, names, **asked)), as_json=wanted.charged.json)
            return
        with progress("learning"):
            found = session.synthesize(name, names, **asked)
        quality = None
        if wanted.report is not None:
            where = wanted.charged.where
            quality = session.compare_synthetic(found, where=where) if wanted.compare else quality_of(found)
        _deliver(found, wanted, quality)


def families(
    wanted: Wanted,
    dataset: str,
    tables: str,
    *,
    columns: str | None,
    bins: Sequence[str],
    other: Sequence[str],
    method: str,
    children: int | None,
) -> None:
    """Learn a model of a table of parents and one of children, draw both and write each to a file of its own."""
    wanted.check()
    named = words_of(tables) or ()
    if len(named) != 2:
        raise InvalidParameter("tables", tables, "PARENT,CHILD: two tables with one privacy id")
    with ask.session(wanted.charged.home, dataset, wanted.charged.analyst) as session:
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
        if wanted.is_quoted:
            price = session.price(lambda door: door.synthesize_families(parent, child, **asked))
            say_price(price, as_json=wanted.charged.json)
            return
        with progress("learning"):
            found = session.synthesize_families(parent, child, **asked)
        views, qualities = found.views(), []
        if wanted.report is not None:
            qualities = (
                list(session.compare_families(found)) if wanted.compare else [quality_of(view) for view in views]
            )
        drawn = found.sample(wanted.rows)
        written = {name: str(rows.write(_beside(wanted.out, name))) for name, rows in drawn.items()}
        if wanted.model is not None:
            written["model"] = str(found.save(wanted.model))
        for view, quality in zip(views, qualities, strict=False):
            path = _beside(wanted.report or Path(), view.table)
            written[f"report on {view.table}"] = str(write_report(path, view, quality))
        _say_families(found, {name: len(rows) for name, rows in drawn.items()}, written, wanted)


def _say_families(found: SyntheticFamilies, rows: dict[str, int], written: dict[str, str], wanted: Wanted) -> None:
    if wanted.charged.json:
        said = {"method": found.method, "loss": str(found.loss), "unit": found.unit, "receipt": found.receipt}
        print_json({**said, "rows": rows, "written": written})
        return
    for name, many in rows.items():
        say(f"{many} synthetic rows of {name} in {written[name]}, by {found.method}")
    if wanted.compare:
        say(f"{wanted.report} compares with the real rows: it is NOT PRIVATE, do not publish it", style="bold red")
    say(f"cost {found.loss}, for {found.unit}; {found.receipt}")


def _beside(path: Path, name: str) -> Path:
    """Return the path of one of several files: a name is put before the suffix."""
    return path.with_name(f"{path.stem}-{name}{path.suffix}")


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
        session.check_owner("a comparison with real rows")


def read_constraints(path: Path) -> tuple[Constraint, ...]:
    """Return the constraints of a YAML file.

    ``impossible`` is a list of ``{columns: [sex, pregnant], values: [[male, true]]}``, ``determined`` a list of
    ``{column: state, by: city, values: {Turin: Italy}}``.
    """
    import yaml

    try:
        record = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        raise InvalidParameter("constraints", str(path), "a readable file of YAML") from None
    if not isinstance(record, dict) or not set(record) <= {"impossible", "determined"}:
        raise InvalidParameter("constraints", str(path), "a file with the lists `impossible` and `determined`")
    found: list[Constraint] = []
    try:
        for entry in record.get("impossible") or []:
            found.append(Impossible(tuple(entry["columns"]), tuple(tuple(row) for row in entry["values"])))
        for entry in record.get("determined") or []:
            found.append(Determined(entry["column"], entry["by"], tuple(dict(entry["values"]).items())))
    except (KeyError, TypeError, AttributeError):
        rule = "entries with `columns` and `values`, or with `column`, `by` and `values`"
        raise InvalidParameter("constraints", str(path), rule) from None
    return tuple(found)


def _deliver(found: SyntheticTable, wanted: Wanted, quality: Quality | None) -> None:
    drawn = found.sample(wanted.rows)
    drawn.write(wanted.out)
    written = {"rows": str(wanted.out)}
    if wanted.model is not None:
        found.save(wanted.model)
        written["model"] = str(wanted.model)
    if wanted.report is not None and quality is not None:
        write_report(wanted.report, found, quality)
        written["report"] = str(wanted.report)
    said: dict[str, Any] = {
        "table": found.table,
        "rows": len(drawn),
        "columns": [name for name, _ in found.columns],
        "method": found.method,
        "loss": str(found.loss),
        "unit": found.unit,
        "receipt": found.receipt,
        "written": written,
    }
    if quality is not None:
        said["quality"] = quality.to_json()
    if wanted.charged.json:
        print_json(said)
        return
    say(f"{len(drawn)} synthetic rows of {found.table} in {wanted.out}, by {found.method}")
    if quality is not None and quality.compares_real:
        say(f"{wanted.report} compares with the real rows: it is NOT PRIVATE, do not publish it", style="bold red")
    say(f"cost {found.loss}, for {found.unit}; {found.receipt}")


def only_table(session: Session) -> str:
    """Return the private table of a data set that has one alone."""
    private = [table.name for table in session.dataset.tables if not table.is_public]
    if len(private) != 1:
        raise InvalidParameter("table", None, f"one of {', '.join(private)}")
    return private[0]


def pair_of(text: str) -> tuple[str, str]:
    """Return a column and a label from "COLUMN=LABEL"."""
    name, has_label, label = text.partition("=")
    if not has_label or not label:
        raise InvalidParameter("other", text, "COLUMN=LABEL")
    return name.strip(), label.strip()
