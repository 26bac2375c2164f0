"""What becomes of the 22 queries: each answered beside the exact answer, with its price, or refused with a reason."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from tools.tpch.asking import Asked, ask_all
from tools.tpch.schemas import PROTECTED, schema

#: How many rows of an answer the page shows.
SHOWN: Final = 5


def page(scale: float, epsilon: str, delta: str) -> str:
    """Return the page, with the customer protected, and a table of what becomes of the queries for the supplier."""
    by_person = {person: list(ask_all(scale, epsilon, delta, person)) for person in PROTECTED}
    customers = round(150_000 * scale)
    lines = [
        "---\nhide:\n  - toc\n---\n",  # its tables are wide
        "# TPC-H, asked privately",
        "",
        "The 22 queries of the TPC-H benchmark, as the standard prints them and with its validation parameters, over",
        f"tables that our own generator makes in the shape of the standard (scale {scale:g}: {customers:,} customers).",
        "The privacy id is in one table; the others belong to people",
        "[through their foreign keys](schema.md#owners), as they are. Each query is answered beside the exact answer,",
        "with its price, or refused with the reason and, below it, the nearest query that can be answered.",
        "`python -m tools.tpch` writes this page; the noise is fresh each time.",
        "",
        f"Each query has epsilon {epsilon}, and delta {delta} only where it cannot be answered without:",
        "where groups are found in the data. Queries of public tables alone (parts, suppliers, nations) cost nothing.",
        "A person is a customer with all orders and lines; of one customer at most 30 orders of 7 lines, and 100 rows",
        "in all, count. Sums are clamped to the bounds that the columns declare, or that follow from them",
        "([the declaration](#the-declaration)); no query needs its own clamp. Suppliers are public, so that their",
        "numbers and names are declared and make public groups; and `AIR REG` is declared as a mode of shipping, which",
        "query 19 asks for though no line has it: a string that is not declared would be refused as a slip.",
        "",
        "In the tables *private* is the answer with its 95 % interval, *limits* the same at an epsilon so large that",
        "noise is next to nothing, which shows what the limits alone drop, and *exact* what a plain database says.",
        "Groups without an exact line have no row: their names are declared, so they are answered too. *error* is the",
        "relative error of the private answer. The noise covers all that a customer may contribute: with",
        f"{customers:,} customers a query about a few lines is drowned in it, and with a hundred times this number the",
        "same noise is a hundred times less of the answer.",
        "",
        *_summary(by_person),
    ]
    for asked in by_person["customer"]:
        lines += ["", f"## {asked.number}. {asked.title}", "", "```sql", asked.sql, "```", "", *_told(asked)]
        if asked.instead:
            both = " The prices of the two add up." if len(asked.instead) > 1 else ""
            title = asked.instead[0].title
            lines += ["", f"Asked instead: {title[0].lower()}{title[1:]}.{both}"]
        for other in asked.instead:
            lines += ["", "```sql", other.sql, "```", "", *_told(other)]
    lines += [
        "",
        "## The declaration",
        "",
        "With the customer as the person:",
        "",
        "```yaml",
        *_declared(schema("customer", scale)),
        "```",
        "",
        "With the supplier as the person, less the columns, which are the same:",
        "",
        "```yaml",
        *_without_columns(schema("supplier", scale)),
        "```",
    ]
    return "\n".join(lines) + "\n"


def _summary(by_person: dict[str, list[Asked]]) -> Iterator[str]:
    people = list(by_person)
    counts = [f"{sum(not one.refusal for one in by_person[person])} with the {person}" for person in people]
    yield f"Answered unchanged: {' and '.join(counts)} as the person, of {len(by_person[people[0]])} each."
    yield ""
    yield "| query | " + " | ".join(f"{person} protected" for person in people) + " |"
    yield "| --- | " + " | ".join("---" for _ in people) + " |"
    for row in zip(*by_person.values(), strict=True):
        cells = [f"answered: {one.price}" if not one.refusal else f"refused: {_cell(_reason(one))}" for one in row]
        yield f"| [{row[0].number}](#{_anchor(row[0])}). {row[0].title} | " + " | ".join(cells) + " |"


def _anchor(asked: Asked) -> str:
    return re.sub("[^a-z0-9]+", "-", f"{asked.number} {asked.title}".lower()).strip("-")


def _reason(asked: Asked) -> str:
    """Return the first clause of a refusal, without the place in the text."""
    return re.sub(r" \(line [0-9]+, column [0-9]+.*", "", asked.refusal.replace("\n", " ").split(";")[0])[:160]


def _told(asked: Asked) -> Iterator[str]:
    if asked.answer is None:
        yield f"**Refused.** {_cell(asked.refusal)}"
        return
    answer = asked.answer
    keys = [place for place, column in enumerate(answer.columns) if column.is_key]
    more = f", of which {SHOWN} are shown" if len(answer.rows) > SHOWN else ""
    counted = "1 row" if len(answer.rows) == 1 else f"{len(answer.rows):,} rows"
    many = f" {counted}{more}; the exact answer has {len(asked.exact):,}."
    yield f"Price: {asked.price}.{many if keys or len(answer.rows) != 1 else ''}"
    if not answer.rows:
        yield ""
        yield "Groups are found in the data here, and none of them has enough people to be released."
        return
    yield ""
    yield "| | " + " | ".join(map(_cell, answer.names)) + " |"
    yield "| --- | " + " | ".join("---" for _ in answer.names) + " |"
    exact, limited = (
        _by_key(rows, keys) for rows in (asked.exact, () if asked.limited is None else asked.limited.rows)
    )
    if asked.limited is None:
        for row in answer.rows[:SHOWN]:
            yield f"| free | {' | '.join(_number(value) for value in row)} |"
        return
    for row, low, high in itertools.islice(zip(answer.rows, answer.low, answer.high, strict=True), SHOWN):
        cells = [
            _number(value, is_key=place in keys)
            if least is None or most is None
            else f"{_number(value)} [{_number(least)}, {_number(most)}]"
            for place, (value, least, most) in enumerate(zip(row, low, high, strict=True))
        ]
        yield f"| private | {' | '.join(cells)} |"
        key = tuple(str(row[place]) for place in keys)
        for word, rows in (("limits", limited), ("exact", exact)):
            if key in rows:
                shown = (_number(value, is_key=place in keys) for place, value in enumerate(rows[key]))
                yield f"| {word} | {' | '.join(shown)} |"
        if key in exact:
            yield f"| error | {' | '.join(_errors(row, exact[key], keys))} |"


def _by_key(rows: Sequence[Sequence[Any]], keys: list[int]) -> dict[tuple[str, ...], Sequence[Any]]:
    return {tuple(str(row[place]) for place in keys): row for row in rows}


def _errors(row: Sequence[Any], exact: Sequence[Any], keys: list[int]) -> Iterator[str]:
    """Yield the relative error of each number; nothing beside keys and where the exact one is 0 or missing."""
    for place, (mine, true) in enumerate(zip(row, exact, strict=True)):
        are_numbers = all(isinstance(value, int | float | Decimal) for value in (mine, true))
        if place in keys or not are_numbers or not float(true):
            yield ""
            continue
        error = abs(float(mine) - float(true)) / abs(float(true))
        yield f"{error:.2%}" if error < 0.1 else f"{100 * error:,.0f}%"


def _number(value: Any, *, is_key: bool = False) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return _cell(str(value))
    number = float(value)
    if is_key and number == int(number):
        return str(int(number))
    if not math.isfinite(number):
        return "unbounded"
    return f"{number:,.4g}" if abs(number) < 1000 else f"{number:,.0f}"


def _cell(text: str) -> str:
    """Return a text that can stand in a cell of a table of Markdown."""
    return text.replace("|", "\\|").replace("\n", " ").replace("*", "\\*").replace("<", "&lt;")


def _declared(text: str) -> Iterator[str]:
    """Yield the lines of a schema, with the middle of long lists of categories left out."""
    for line in text.splitlines():
        parts = line.split(", ")
        yield line if len(parts) <= 8 else ", ".join([*parts[:4], "...", parts[-1]])


def _without_columns(text: str) -> Iterator[str]:
    """Yield the lines of a schema without its columns."""
    for line in text.splitlines():
        if not line.startswith("      "):
            yield line.replace("    columns:", "    columns: ...")
