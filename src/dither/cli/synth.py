"""``dither synth``: a private table becomes a synthetic one that can be shared."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dither.cli import ask
from dither.cli.console import console, print_json
from dither.cli.publish import bins_of
from dither.curator.session import Session
from dither.errors import InvalidParameter, MissingExtra
from dither.publish.synthetic import Constraint, Determined, Impossible, SyntheticTable
from dither.publish.synthetic.quality import Quality, quality_of
from dither.publish.synthetic.report import write_report

_SUFFIXES = (".csv", ".parquet", ".json")


@dataclass(frozen=True)
class Wanted:
    """What is to be written, and how, as it was typed."""

    out: Path
    rows: int | None
    model: Path | None
    report: Path | None
    compare: bool
    as_json: bool

    def check(self) -> None:
        """Refuse files that could not be written, before anything is paid for."""
        if self.out.suffix.lower() not in _SUFFIXES:
            raise InvalidParameter("out", str(self.out), f"a file ending in {', '.join(_SUFFIXES)}")
        if self.report is not None and self.report.suffix.lower() not in (".html", ".json"):
            raise InvalidParameter("report", str(self.report), "a file ending in .html or .json")
        if self.compare and self.report is None:
            raise InvalidParameter("compare_with_real", True, "given with --report, in which the figures are written")
        for path in (self.out, self.model, self.report):
            if path is not None and not path.resolve().parent.is_dir():
                raise InvalidParameter("out", str(path), "in a folder that exists")
        if self.out.suffix.lower() != ".json" and importlib.util.find_spec("pyarrow") is None:
            raise MissingExtra("CSV and Parquet files of drawn rows", "frames")


def synth(
    home: Path | None,
    dataset: str,
    table: str | None,
    wanted: Wanted,
    *,
    columns: str | None,
    bins: Sequence[str],
    other: Sequence[str],
    constraints: Path | None,
    method: str,
    loss: ask.Stated,
    analyst: str,
    key: str | None,
    where: str | None,
) -> None:
    """Learn a model of a table, draw rows from it and write them."""
    wanted.check()
    with ask.session(home, dataset, analyst) as session:
        name = table or _only_table(session)
        names = None if columns is None else tuple(word.strip() for word in columns.split(",") if word.strip())
        known = tuple(session.dataset.table(name).kinds)
        with console.status("learning", spinner="dots") if sys.stderr.isatty() else nullcontext():
            found = session.synthesize(
                name,
                names,
                epsilon=loss.epsilon,
                delta=loss.delta,
                rho=loss.rho,
                method=method,
                bins=bins_of(session, name, bins, known),
                other=dict(map(_pair, other)),
                constraints=() if constraints is None else read_constraints(constraints),
                where=where,
                key=key,
            )
        quality = None
        if wanted.report is not None:
            quality = session.compare_synthetic(found, where=where) if wanted.compare else quality_of(found)
        _deliver(found, wanted, quality)


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
    if wanted.as_json:
        print_json(said)
        return
    console.print(
        f"{len(drawn)} synthetic rows of {found.table} in {wanted.out}, by {found.method}",
        markup=False,
        highlight=False,
    )
    if quality is not None and quality.compares_real:
        warning = f"{wanted.report} compares with the real rows: it is NOT PRIVATE, do not publish it"
        console.print(warning, style="bold red", markup=False, highlight=False, soft_wrap=True)
    console.print(
        f"cost {found.loss}, for {found.unit}; {found.receipt}", markup=False, highlight=False, soft_wrap=True
    )


def _only_table(session: Session) -> str:
    private = [table.name for table in session.dataset.tables if not table.is_public]
    if len(private) != 1:
        raise InvalidParameter("table", None, f"one of {', '.join(private)}")
    return private[0]


def _pair(text: str) -> tuple[str, str]:
    name, has_label, label = text.partition("=")
    if not has_label or not label:
        raise InvalidParameter("other", text, "COLUMN=LABEL")
    return name.strip(), label.strip()
