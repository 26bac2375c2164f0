"""Pages of comparisons: tables, and plots that carry the script which draws them."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; }}
td, th {{ padding: .2rem .8rem; text-align: right; }} td:first-child, th:first-child {{ text-align: left; }}
</style></head><body><h1>{title}</h1><p>{about}</p>{body}</body></html>
"""


def page_of(title: str, about: str, parts: Sequence[str]) -> str:
    """Return a page; the parts are HTML, all else is text."""
    return _PAGE.format(title=escape(title), about=escape(about), body="".join(parts))


def table_of(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts."""
    head = "".join(f"<th>{escape(text)}</th>" for text in titles)
    body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def framed(chart: Any, height: str) -> str:
    """Return an Altair chart in a frame of its own, with the script that draws it."""
    drawn = chart.to_html(inline=True).replace("&", "&amp;").replace("'", "&#39;")
    return f"<iframe style='border:0;width:100%;height:{height}' srcdoc='{drawn}'></iframe>"


def words_of(text: str) -> list[str]:
    """Return what commas separate."""
    return [word.strip() for word in text.split(",") if word.strip()]
