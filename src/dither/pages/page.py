"""The one HTML page: title, sections, tables, notes and figures. It needs nothing from outside and runs no script."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

from dither.errors import InvalidParameter
from dither.pages.markup import Markup, breakable, joined, tag
from dither.pages.style import PAGE_STYLE

#: Neither a script nor anything from outside: whatever got onto a page, a browser would not run it.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_NUMBER: Final = re.compile(r"[-+\N{MINUS SIGN}]?[0-9][0-9,]*(\.[0-9]+)?([eE][-+]?[0-9]+)?( ?%)?|nan|-?inf")


def page(title: str, *parts: object) -> str:
    """Return a whole page, with the title as its heading.

    Args:
        title: a text.
        parts: sections, tables, paragraphs and figures; what is not markup is escaped.

    """
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Markup(PAGE_STYLE)),
    )
    body = tag("body", tag("main", tag("h1", breakable(title)), Markup("\n"), joined(parts, "\n")))
    return whole(head, body)


def whole(head: Markup, body: Markup) -> str:
    """Return a document: for pages with another head, such as one that loads a script from its server."""
    return f"<!doctype html>\n{tag('html', head, Markup(chr(10)), body, lang='en')}\n"


def page_target(path: Path | str, *, option: str = "report", endings: Sequence[str] = (".html", ".json")) -> Path:
    """Return where a page is to be written, if its name ends as it may and its folder is there.

    Args:
        path: as it was given.
        option: what the refusal calls it.
        endings: how a name may end.

    """
    target = Path(path)
    if target.suffix.lower() not in endings:
        raise InvalidParameter(option, str(path), f"a file ending in {' or '.join(endings)}")
    if not target.absolute().parent.is_dir():
        raise InvalidParameter(option, str(path), "in a folder that exists")
    return target


def section(title: str, *parts: object) -> Markup:
    """Return parts under a heading."""
    return tag("section", tag("h2", title), Markup("\n"), joined(parts, "\n"))


def paragraph(*parts: object) -> Markup:
    """Return a paragraph."""
    return tag("p", *parts)


def note(*parts: object) -> Markup:
    """Return a paragraph in a softer tone."""
    return tag("p", *parts, class_="note")


def alarm(*parts: object) -> Markup:
    """Return a paragraph that nobody overlooks."""
    return tag("p", *parts, class_="alarm", role="alert")


def bullets(items: Iterable[object]) -> Markup:
    """Return a list, or nothing where there are no items."""
    found = [tag("li", item) for item in items]
    return tag("ul", *found) if found else Markup()


def code(value: object) -> Markup:
    """Return a text as code within a line."""
    return tag("code", breakable(value))


def listing(value: object) -> Markup:
    """Return a text of several lines as it stands."""
    return tag("pre", value)


def details(summary: object, *parts: object, anchor: str | None = None, is_open: bool = False) -> Markup:
    """Return parts that a reader unfolds."""
    return tag("details", tag("summary", summary), joined(parts, "\n"), id=anchor, open=is_open)


def link(words: object, anchor: str) -> Markup:
    """Return a link to a place on the same page."""
    return tag("a", words, href=f"#{anchor}")


def table(
    headings: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    bad: Collection[int] = (),
    numbers: Collection[int] = (),
    groups: Sequence[tuple[object, int]] = (),
) -> Markup:
    """Return a table; a column of numbers is aligned at its right.

    Args:
        headings: of the columns; none for a table without a head.
        rows: of cells, texts or markup.
        bad: the places of rows that are marked.
        numbers: the places of columns of numbers and intervals; columns that hold nothing but numbers are found.
        groups: headings above those of the columns, each with the number of columns that it is above.

    """
    cells = [list(row) for row in rows]
    wide = max((len(row) for row in cells), default=0)
    right = [
        place in numbers or _are_numbers([row[place] for row in cells if place < len(row)]) for place in range(wide)
    ]
    body = [
        tag(
            "tr",
            *(tag("td", breakable(cell), class_="number" if right[place] else None) for place, cell in enumerate(row)),
            class_="bad" if number in bad else None,
        )
        for number, row in enumerate(cells)
    ]
    names = [
        tag("th", breakable(heading), scope="col", class_="number" if place < wide and right[place] else None)
        if heading
        else tag("td")  # a corner is no heading
        for place, heading in enumerate(headings)
    ]
    above = [
        tag("th", title, scope="colgroup", colspan=many, class_="group") if title else tag("td", colspan=many)
        for title, many in groups
    ]
    head = tag("thead", *([tag("tr", *above)] if above else []), tag("tr", *names)) if names else Markup()
    return _scrolling(tag("table", head, tag("tbody", joined(body, "\n"))))


def _scrolling(inside: Markup) -> Markup:
    """Return a box that scrolls sideways in narrow windows, by keys too."""
    return tag("div", inside, class_="scroll", tabindex=0, role="group", aria_label="Table")


def _are_numbers(cells: Sequence[object]) -> bool:
    shown = [cell for cell in cells if str(cell)]
    return bool(shown) and all(not isinstance(cell, Markup) and _NUMBER.fullmatch(str(cell)) for cell in shown)


def figure(picture: Markup, caption: object = "") -> Markup:
    """Return a picture with its caption."""
    return tag("figure", picture, tag("figcaption", caption) if caption else Markup())


def figures(pictures: Iterable[Markup]) -> Markup:
    """Return figures side by side, as many as fit."""
    return tag("div", *pictures, class_="figures")
