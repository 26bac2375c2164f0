"""The report of an audit: one HTML page that needs nothing from outside, with the evidence drawn and in words."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from dither.audit.accounts import Account
from dither.audit.figures import Sheet
from dither.audit.sketches import Sketch
from dither.errors import InvalidParameter

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 3rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
table { border-collapse: collapse; } td, th { border-bottom: 1px solid #ddd; padding: .3rem .7rem; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; } .note { color: #555; }
.bad { background: #b00020; color: white; padding: .8rem 1rem; border-radius: .3rem; font-weight: 600; }
tr.refuted td { background: #fdecee; } code { overflow-wrap: anywhere; } details { margin: .4rem 0 1.2rem; }
svg text { font: 10px system-ui, sans-serif; } .key { display: inline-block; width: .8em; height: .8em; }
"""
_HERE, _THERE, _EVENT = "#4c78a8", "#f58518", "#fff3c4"
_WIDE, _HIGH = 640, 150


def write_report(
    path: Path | str,
    accounts: Sequence[Account],
    *,
    false_alarm: float,
    notes: Sequence[str] = (),
    sheets: Sequence[Sheet] = (),
) -> Path:
    """Write what was found as .html or .json, and return the path.

    Args:
        path: of the file.
        accounts: one for each instance.
        false_alarm: of the whole run.
        notes: what else was tried, in sentences.
        sheets: tables of what else was found; the first one comes first on the page.

    """
    target = checked_target(path)
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


def checked_target(path: Path | str) -> Path:
    """Return where a page is to be written, if it is a place for one."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".json"):
        raise InvalidParameter("report", str(path), "a file ending in .html or .json")
    if not target.absolute().parent.is_dir():
        raise InvalidParameter("report", str(path), "in a folder that exists")
    return target


def _page(accounts: Sequence[Account], false_alarm: float, notes: Sequence[str], sheets: Sequence[Sheet]) -> str:
    bad = [account for account in accounts if account.complaints]
    outcome = (
        f'<p class="bad">{len(bad)} of {len(accounts)} instances do not hold.</p>'
        if bad
        else f"<p><strong>Nothing was refuted</strong> in {len(accounts)} instances.</p>"
    )
    failed = sum(len(sheet.bad) for sheet in sheets)
    outcome += f'<p class="bad">{failed} lines of the tables below are bad.</p>' if failed else ""
    head, *others = [_sheet(sheet) for sheet in sheets] or [""]
    rows = "\n".join(_row(account) for account in accounts)
    said = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    details = "\n".join(_details(account) for account in accounts)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Audit</title><style>{_STYLE}</style></head><body>
<h1>Audit: is what they promise true?</h1>
{outcome}
<p class="note">An audit draws outputs on two neighbouring inputs and looks for an event that is likelier on one side
than the promise allows, beyond what chance explains. A refutation is wrong with probability {false_alarm:g} at most,
over this whole page. What is not refuted is not proved: events rarer than about ten in the number of outputs, and pairs
that were not tried, stay unseen.</p>
{head}
{f"<ul>{said}</ul>" if said else ""}
<h2>All instances</h2>
<table><tr><th>mechanism</th><th>claim</th><th>shown</th><th>share of claim</th><th>outputs a side</th><th>pairs</th>
<th>pairs replayed</th><th>seconds</th><th>verdict</th></tr>
{rows}</table>
<h2>Evidence</h2>
{details}
{"".join(others)}
</body></html>
"""


def _sheet(sheet: Sheet) -> str:
    headings = "".join(f"<th>{html.escape(heading)}</th>" for heading in sheet.headings)
    rows = "".join(
        f"<tr{' class=refuted' if place in sheet.bad else ''}>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
        + "</tr>"
        for place, row in enumerate(sheet.rows)
    )
    return f"<h2>{html.escape(sheet.title)}</h2><table><tr>{headings}</tr>{rows}</table>"


def _row(account: Account) -> str:
    share = "" if account.share is None else f"{account.share:.3f}"
    return (
        f"<tr{' class=refuted' if account.complaints else ''}>"
        f'<td><a href="#{_anchor(account)}">{html.escape(account.name)} {account.number}</a></td>'
        f"<td>{html.escape(account.claim)}</td><td>{html.escape(account.bound)}</td>"
        f'<td class="number">{share}</td><td class="number">{account.samples:,}</td>'
        f'<td class="number">{account.pairs}</td><td class="number">{account.replayed or ""}</td>'
        f'<td class="number">{account.seconds:.1f}</td><td>{account.verdict}</td></tr>'
    )


def _anchor(account: Account) -> str:
    return html.escape(f"{account.name}-{account.number}".replace(" ", "-"), quote=True)


def _details(account: Account) -> str:
    complaints = "".join(f'<p class="bad">{html.escape(complaint)}</p>' for complaint in account.complaints)
    is_open = " open" if account.complaints else ""
    return f"""<details id="{_anchor(account)}"{is_open}>
<summary><strong>{html.escape(account.name)} {account.number}</strong>: {html.escape(account.claim)} claimed,
{html.escape(account.bound)} shown, {account.verdict}</summary>
{complaints}<p><code>{html.escape(account.subject)}</code></p>
<table><tr><td>the pair</td><td>{html.escape(account.pair)}</td></tr>
<tr><td>the value</td><td><code>{html.escape(account.value)}</code></td></tr>
<tr><td>its neighbour</td><td><code>{html.escape(account.neighbour)}</code></td></tr>
<tr><td>the event</td><td>{html.escape(account.event)}</td></tr>
<tr><td>the bound</td><td>{html.escape(account.evidence)}</td></tr></table>
{_picture(account.sketch)}</details>"""


def _picture(sketch: Sketch | None) -> str:
    """Return both laws as bars side by side; the event is shaded behind them."""
    if sketch is None or not sketch.labels:
        return ""
    top = max(max(sketch.here), max(sketch.there), 1e-12)
    wide, parts = _WIDE / len(sketch.labels), []
    for number, label in enumerate(sketch.labels):
        left, inside = number * wide, sketch.inside[number]
        if inside > 0:
            parts.append(
                f'<rect x="{left:.1f}" y="0" width="{wide:.1f}" height="{_HIGH}" fill="{_EVENT}" '
                f'opacity="{inside:.2f}"/>'
            )
        for place, (share, colour) in enumerate(((sketch.here[number], _HERE), (sketch.there[number], _THERE))):
            high = (_HIGH - 12) * share / top
            box = f'x="{left + wide * (0.08 + 0.42 * place):.1f}" y="{_HIGH - high:.1f}"'
            size = f'width="{wide * 0.4:.1f}" height="{high:.1f}"'
            parts.append(f'<rect {box} {size} fill="{colour}"><title>{html.escape(label)}: {share:.3%}</title></rect>')
    ends = (
        f'<text x="0" y="{_HIGH + 12}">{html.escape(sketch.labels[0])}</text>'
        f'<text x="{_WIDE}" y="{_HIGH + 12}" text-anchor="end">{html.escape(sketch.labels[-1])}</text>'
    )
    return (
        f'<figure><svg width="{_WIDE}" height="{_HIGH + 16}" role="img">{"".join(parts)}{ends}</svg>'
        f'<figcaption class="note">{html.escape(sketch.feature)}: '
        f'<span class="key" style="background:{_HERE}"></span> on the value, '
        f'<span class="key" style="background:{_THERE}"></span> on the neighbour, '
        f'<span class="key" style="background:{_EVENT}"></span> the event</figcaption></figure>'
    )
