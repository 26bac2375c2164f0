"""``dither anonymize``: a private table becomes an anonymized one, or is kept and asked about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dither.cli import ask
from dither.cli.console import print_json, say, words_of
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
from dither.cli.outputs import Output, delivering, write_whole
from dither.cli.progress import progress
from dither.cli.publish import bins_of
from dither.cli.synthesize import files_of, pair_of
from dither.cli.which import only_table
from dither.curator.session import Session
from dither.data import Kind
from dither.errors import InvalidParameter
from dither.publish.microdata import AnonymizedTable, read_taxonomies

KEPT = "kept-table"


@dataclass(frozen=True)
class Asked:
    """What is asked for, as it was typed."""

    charged: Charged
    dataset: str
    table: str | None
    method: str
    columns: str | None
    target: str | None
    taxonomies: Path | None
    steps: int | None
    terms: Sequence[str]
    groups: Sequence[str]
    rows: int | None
    bins: Sequence[str]
    other: Sequence[str]
    questions: Sequence[str]
    out: Path | None
    model: Path | None
    report: Path | None

    def files(self) -> list[Output]:
        """Return what is to be written."""
        if (self.method == KEPT) != bool(self.questions):
            raise InvalidParameter("ask", list(self.questions), f"required with {KEPT}, and not allowed otherwise")
        if self.method != KEPT:
            return [] if self.charged.is_quoted else files_of(self.out or Path(), self.model, self.report)
        unheard = (self.columns, self.target, self.taxonomies, self.steps, self.rows, self.out, self.model, self.report)
        if any(value is not None for value in unheard) or self.groups or self.bins or self.other:
            raise InvalidParameter("ask", list(self.questions), "combined only with --terms, --where and a loss")
        return []

    @property
    def release(self) -> dict[str, Any]:
        """The loss, the key and which rows, as a session takes them."""
        return {**self.charged.asked, "terms": terms_of(self.terms)}


def anonymize(
    dataset: DataSetName,
    table: OnlyTable = None,
    method: Annotated[
        str, typer.Option(help="priv-fuzzy, diffgen, diffpart, perturbed-rows, or kept-table, which answers --ask.")
    ] = "priv-fuzzy",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where rows go: .parquet, .csv or .json.")] = None,
    columns: SomeColumns = None,
    target: Annotated[str | None, typer.Option(help="For diffgen: the column that groups should predict.")] = None,
    taxonomies: Annotated[
        Path | None, typer.Option(help="For diffgen, diffpart: a YAML file of trees over declared values, by column.")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="For diffgen: how many specialisations, at most.", min=1)] = None,
    terms: Annotated[
        list[str] | None,
        typer.Option("--terms", help="COLUMN=young,middle,old: a column of numbers published in terms."),
    ] = None,
    group: Annotated[
        list[str] | None, typer.Option("--group", help="COLUMN,COLUMN: columns that belong together; public.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="How many rows; for perturbed-rows needed, from public knowledge.", min=0)
    ] = None,
    bins: Bins = None,
    other: Other = None,
    question: Annotated[
        list[str] | None, typer.Option("--ask", help="COLUMN=VALUE,VALUE: for kept-table; all of them must hold.")
    ] = None,
    model: Model = None,
    report: Report = None,
    force: Force = False,
    quote: Quoted = False,
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
    """Anonymize a table with noise: generalised values, merged groups of columns, sets of items, or rows at random."""
    asked = Asked(
        charged=Charged(epsilon, delta, rho, where, analyst, key, home, as_json, quote, force),
        dataset=dataset,
        table=table,
        method=method,
        columns=columns,
        target=target,
        taxonomies=taxonomies,
        steps=steps,
        terms=terms or (),
        groups=group or (),
        rows=rows,
        bins=bins or (),
        other=other or (),
        questions=question or (),
        out=out,
        model=model,
        report=report,
    )
    with ask.charged_session(asked.charged, asked.dataset, asked.files()) as session:
        name = session.dataset.table(asked.table or only_table(session.dataset)).name
        if asked.method == KEPT:
            conditions = dict(_condition(session, name, asked, text) for text in asked.questions)
            if asked.charged.is_quoted:
                price = session.quote(session.offer.ask_kept(name, conditions, **asked.release))
                ask.say_price(price, as_json=asked.charged.json)
                return
            with progress("asking"):
                answer = session.ask_kept(name, conditions, **asked.release)
            with delivering(asked.charged.name):
                if asked.charged.json:
                    print_json(json.loads(answer.to_json()))
                else:
                    say(str(answer))
            return
        is_stated = asked.method == "perturbed-rows"
        wanted: dict[str, Any] = {
            "columns": words_of(asked.columns),
            "method": asked.method,
            "target": asked.target,
            "taxonomies": None if asked.taxonomies is None else read_taxonomies(asked.taxonomies),
            "steps": asked.steps,
            "groups": [words_of(text) or () for text in asked.groups] or None,
            "rows": asked.rows if is_stated else None,
            "bins": bins_of(session, name, asked.bins, tuple(session.dataset.table(name).kinds)),
            "other": dict(map(pair_of, asked.other)),
            **asked.release,
        }
        if asked.charged.is_quoted:
            ask.say_price(session.quote(session.offer.anonymize(name, **wanted)), as_json=asked.charged.json)
            return
        with progress("anonymizing"):
            found = session.anonymize(name, **wanted)
        with delivering(asked.charged.name):
            _deliver(found, asked, None if is_stated else asked.rows)


def _deliver(found: AnonymizedTable, asked: Asked, rows: int | None) -> None:
    from dither.publish.microdata.report import write_anonymized_report

    drawn = found.rows(rows)
    written = {"rows": str(write_whole(asked.out or Path(), drawn.write))}
    if asked.model is not None:
        written["model"] = str(write_whole(asked.model, found.save))
    if asked.report is not None:
        report = write_whole(asked.report, lambda path: write_anonymized_report(path, found))
        written["report"] = str(report)
    if asked.charged.json:
        said = {"table": found.table, "method": found.method, "rows": len(drawn), "columns": list(drawn.columns)}
        cost = {"loss": str(found.loss), "unit": found.unit, "receipt": found.receipt, "key": asked.charged.name}
        print_json({**said, **cost, "notes": list(found.notes), "written": written})
        return
    say(f"wrote {len(drawn):,} anonymized rows of {found.table} to {asked.out}, by {found.method}")
    for note in found.notes:
        say(note)
    for name, path in written.items():
        if name != "rows":
            say(f"wrote the {name} to {path}")
    say(f"cost {found.loss}, for {found.unit}; the same again costs nothing: --key {asked.charged.name}")


def terms_of(texts: Sequence[str]) -> dict[str, list[str]]:
    """Return the terms of columns from "age=young,middle,old"."""
    found = {}
    for text in texts:
        name, has_name, said = text.partition("=")
        words = words_of(said) or ()
        if not has_name or len(words) < 2:
            raise InvalidParameter("terms", text, "COLUMN=LABEL,LABEL, with at least two labels")
        found[name.strip()] = list(words)
    return found


def _condition(session: Session, table: str, asked: Asked, text: str) -> tuple[str, list[Any]]:
    """Return a column and values of its kind from "city=Basel,Bern"; terms are texts."""
    name, has_name, said = text.partition("=")
    words = words_of(said)
    if not has_name or not words:
        raise InvalidParameter("ask", text, "COLUMN=VALUE,VALUE")
    column = name.strip()
    kind = session.dataset.table(table).column(column).kind
    if column in terms_of(asked.terms) or kind is Kind.TEXT:
        return column, list(words)
    if kind is Kind.BOOLEAN:
        return column, [word.lower() == "true" for word in words]
    try:
        return column, [int(word) for word in words]
    except ValueError:
        raise InvalidParameter("ask", text, "strings, integers, or terms of a column") from None
