"""The report of an audit: one self-contained HTML page, with the evidence drawn and in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dither.audit.accounts import Account
from dither.audit.figures import Sheet
from dither.audit.sketches import Sketch
from dither.pages.charts import Bars, bar_chart
from dither.pages.frame import Axis
from dither.pages.markup import Markup, joined, tag
from dither.pages.page import (
    alarm,
    bullets,
    code,
    details,
    figure,
    link,
    note,
    page,
    page_target,
    paragraph,
    section,
    table,
)

_HEADINGS = (
    "mechanism",
    "claim",
    "shown",
    "share of claim",
    "outputs a side",
    "pairs",
    "pairs replayed",
    "seconds",
    "verdict",
)


def write_report(
    path: Path | str,
    accounts: Sequence[Account],
    *,
    false_alarm: float,
    notes: Sequence[str] = (),
    sheets: Sequence[Sheet] = (),
) -> Path:
    """Write the findings as .html or .json, and return the path.

    Args:
        path: of the file.
        accounts: one for each instance.
        false_alarm: of the whole run.
        notes: the other parts that were tried, as sentences.
        sheets: tables of further findings; the first one comes first on the page.

    """
    target = page_target(path)
    if target.suffix.lower() == ".json":
        record = {
            "false_alarm": false_alarm,
            "notes": list(notes),
            "accounts": [account.to_dict() for account in accounts],
            "sheets": [asdict(sheet) | {"bad": sorted(sheet.bad)} for sheet in sheets],
        }
        target.write_text(json.dumps(record, indent=2), encoding="utf-8")
    else:
        target.write_text(_page(accounts, false_alarm, notes, sheets), encoding="utf-8")
    return target


def _page(accounts: Sequence[Account], false_alarm: float, notes: Sequence[str], sheets: Sequence[Sheet]) -> str:
    bad = {place for place, account in enumerate(accounts) if account.complaints}
    failed = sum(len(sheet.bad) for sheet in sheets)
    head, *others = [_sheet(sheet) for sheet in sheets] or [Markup()]
    return page(
        "Audit: is what they promise true?",
        alarm(f"{len(bad)} of {len(accounts)} instances do not hold.")
        if bad
        else paragraph(tag("strong", "Nothing was refuted"), f" in {len(accounts)} instances."),
        alarm(f"{failed} lines of the tables below are bad.") if failed else Markup(),
        note(
            "An audit draws outputs on two neighbouring inputs and looks for an event that is likelier on one side "
            "than the promise allows, beyond what chance explains. A refutation is wrong with probability "
            f"{false_alarm:g} at most, over this whole page. What is not refuted is not proved: events rarer than "
            "about ten in the number of outputs, and pairs that were not tried, stay unseen."
        ),
        head,
        bullets(notes),
        section("All instances", table(_HEADINGS, [_row(account) for account in accounts], bad=bad)),
        section("Evidence", *(_details(account) for account in accounts)),
        *others,
    )


def _sheet(sheet: Sheet) -> Markup:
    return section(sheet.title, table(sheet.headings, sheet.rows, bad=sheet.bad))


def _row(account: Account) -> tuple[object, ...]:
    return (
        link(f"{account.name} {account.number}", _anchor(account)),
        account.claim,
        account.bound,
        "" if account.share is None else f"{account.share:.3f}",
        f"{account.samples:,}",
        account.pairs,
        account.replayed or "",
        f"{account.seconds:.1f}",
        account.verdict,
    )


def _anchor(account: Account) -> str:
    return f"{account.name}-{account.number}".replace(" ", "-")


def _details(account: Account) -> Markup:
    said = f": {account.claim} claimed, {account.bound} shown, {account.verdict}"
    rows = (
        ("the pair", account.pair),
        ("the value", code(account.value)),
        ("its neighbour", code(account.neighbour)),
        ("the event", account.event),
        ("the bound", account.evidence),
    )
    return details(
        joined((tag("strong", f"{account.name} {account.number}"), said)),
        *(alarm(complaint) for complaint in account.complaints),
        paragraph(code(account.subject)),
        table((), rows),
        _picture(account.sketch),
        anchor=_anchor(account),
        is_open=bool(account.complaints),
    )


def _picture(sketch: Sketch | None) -> Markup:
    """Return both laws as bars side by side; the event is shaded behind them."""
    if sketch is None or not sketch.labels:
        return Markup()
    chart = bar_chart(
        f"{sketch.feature}: how often it fell where, on either side",
        sketch.labels,
        [Bars("on the value", sketch.here), Bars("on the neighbour", sketch.there)],
        across=Axis(sketch.feature),
        up=Axis("share of outputs", is_share=True),
        shaded=sketch.inside,
        shading="the event",
        width=720,
        area=150,
    )
    return figure(chart.markup())
