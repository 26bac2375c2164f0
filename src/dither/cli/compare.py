"""``dither bench histograms``: run the comparison, print who stands where, and write a page with plots."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.progress import Progress
from rich.table import Table

from dither.bench.comparison import Outcome, Standing, compare, standings, trials
from dither.cli.console import console, print_json
from dither.errors import InvalidParameter
from dither.exact import positive, whole

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; }}
td, th {{ padding: .2rem .8rem; text-align: right; }} td:first-child, th:first-child {{ text-align: left; }}
</style></head><body><h1>{title}</h1><p>{about}</p>{table}{plot}</body></html>
"""


def histograms(
    out: Path,
    *,
    scales: str,
    domains: str,
    epsilons: str,
    methods: str | None,
    shapes: str | None,
    repeats: int,
    processes: int,
    as_json: bool,
) -> None:
    """Run what is not yet in the folder, then print a table and write ``index.html``."""
    wanted = list(
        trials(
            [whole("scales", int(text), least=1) for text in _numbers("scales", scales)],
            [whole("domains", int(text), least=2) for text in _numbers("domains", domains)],
            [str(positive("epsilons", text)) for text in _words(epsilons)],
            methods=None if methods is None else _words(methods),
            names=None if shapes is None else _words(shapes),
            repeats=repeats,
        )
    )
    out.mkdir(parents=True, exist_ok=True)
    record = out / "results.jsonl"
    if sys.stderr.isatty() and not as_json:
        with Progress(console=console) as shown:
            task = shown.add_task("trials", total=len(wanted))
            outcomes = compare(
                wanted, record, processes=processes, progress=lambda done, _: shown.update(task, completed=done)
            )
    else:
        outcomes = compare(wanted, record, processes=processes)
    found = standings(outcomes)
    (out / "index.html").write_text(page(outcomes, found), encoding="utf-8")
    if as_json:
        print_json([asdict(standing) for standing in found])
        return
    table = Table("method", "median ratio", "worst ratio", "worst to identity", "wins", "settings")
    for one in found:
        ratios = (f"{one.median_ratio:.2f}", f"{one.worst_ratio:.2f}", f"{one.to_identity:.2f}")
        table.add_row(one.method, *ratios, str(one.wins), str(one.settings))
    console.print(table)
    console.print(f"wrote {record} and {out / 'index.html'}", highlight=False, markup=False, soft_wrap=True)


def page(outcomes: Sequence[Outcome], found: Sequence[Standing]) -> str:
    """Return the page: standings, and the error of every method over the scale where plots can be drawn."""
    rows = "".join(
        f"<tr><td>{one.method}</td><td>{one.median_ratio:.2f}</td><td>{one.worst_ratio:.2f}</td>"
        f"<td>{one.to_identity:.2f}</td><td>{one.wins}</td><td>{one.settings}</td></tr>"
        for one in found
    )
    head = "<th>method</th><th>median ratio</th><th>worst</th><th>worst to identity</th><th>wins</th><th>settings</th>"
    about = (
        "Scaled error per query of all prefix queries, as DPBench has it; ratios to the best single method in "
        "hindsight of each setting (data, scale, cells, epsilon)."
    )
    plot = _plot(outcomes) if importlib.util.find_spec("altair") is not None else ""
    table = f"<table><tr>{head}</tr>{rows}</table>"
    return _PAGE.format(title="Histogram methods", about=about, table=table, plot=plot)


def _plot(outcomes: Sequence[Outcome]) -> str:
    altair: Any = importlib.import_module("altair")
    values = [json.loads(outcome.to_json()) for outcome in outcomes]
    chart = (
        altair.Chart(altair.Data(values=values))
        .mark_line(point=True)
        .encode(
            x=altair.X("scale:Q", scale=altair.Scale(type="log")),
            y=altair.Y("mean(error):Q", scale=altair.Scale(type="log"), title="scaled error per query"),
            color="method:N",
        )
        .properties(width=220, height=180)
        .facet(row="cells:N", column="epsilon:N")
    )
    return f"<iframe style='border:0;width:100%;height:60rem' srcdoc='{_quoted(chart.to_html(inline=True))}'></iframe>"


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace("'", "&#39;")


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(name: str, text: str) -> list[str]:
    words = _words(text)
    if not words or not all(word.isdecimal() for word in words):
        raise InvalidParameter(name, text, "whole numbers separated by commas")
    return words
