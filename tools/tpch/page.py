"""What becomes of the 22 queries: each answered beside the exact answer, with its price, or refused with a reason."""

from __future__ import annotations

import itertools
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import duckdb

from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.errors import DitherError, InvalidParameter, Unanswerable
from dither.privacy import ApproxDP
from dither.publish.queries import QueryResult
from tools.tpch.generate import tables, write
from tools.tpch.schemas import PROTECTED, schema

QUERIES: Final = Path(__file__).with_name("queries.sql")
#: How many rows of an answer the page shows.
SHOWN: Final = 5
_HEAD: Final = re.compile(r"^-- (?P<number>[0-9]+): (?P<title>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """One query: what came back, or why nothing did.

    Args:
        number: of the query.
        title: of the standard.
        sql: in the standard's words.
        answer: the private answer; None if it was refused.
        price: what it cost, in words.
        refusal: why it was refused; empty if it was answered.
        exact: the rows of the exact answer.

    """

    number: int
    title: str
    sql: str
    answer: QueryResult | None
    price: str
    refusal: str
    exact: Sequence[tuple[Any, ...]]


def queries() -> list[tuple[int, str, str]]:
    """Return the 22 queries: number, title, text."""
    text = QUERIES.read_text(encoding="utf-8")
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [
        (int(head["number"]), head["title"], text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    ]


def ask_all(scale: float, epsilon: str, delta: str, person: str) -> Iterator[Asked]:
    """Ask every query of generated tables, and compute the exact answers beside it.

    Args:
        scale: of the tables.
        epsilon: for each query.
        delta: for queries that cannot be answered without one.
        person: who is protected: customer or supplier.

    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder, tables(scale))
        (folder / "schema.yaml").write_text(schema(person), encoding="utf-8")
        plain = duckdb.connect()
        for file in sorted(folder.glob("*.csv")):
            plain.execute(f"CREATE TABLE {file.stem} AS FROM read_csv('{file}')")
        with Curator.create(folder / "home", anchors=folder / "anchors") as curator:
            dataset = curator.add(folder / "schema.yaml", budget=ApproxDP(100_000, "1/100")).name
            with curator.session(dataset, analyst="ana") as session:
                for number, title, sql in queries():
                    answer, refusal = _asked(session, sql, epsilon, delta)
                    price = "" if answer is None else str(answer.loss)
                    yield Asked(number, title, sql, answer, price, refusal, plain.execute(sql).fetchall())


def _asked(session: Session, sql: str, epsilon: str, delta: str) -> tuple[QueryResult | None, str]:
    refusal = ""
    for its_delta in (None, delta):
        try:
            found = session.sql(sql, epsilon=epsilon, delta=its_delta)
        except (Unanswerable, InvalidParameter) as error:
            refusal = str(error)
        except DitherError as error:
            return None, f"{type(error).__name__}: {error}"
        else:
            return (found, "") if isinstance(found, QueryResult) else (None, f"a {type(found).__name__} came back")
    return None, refusal


def page(scale: float, epsilon: str, delta: str) -> str:
    """Return the page, with the customer protected, and a table of what becomes of the queries for the supplier."""
    by_person = {person: list(ask_all(scale, epsilon, delta, person)) for person in PROTECTED}
    lines = [
        "# TPC-H, asked privately",
        "",
        "The 22 queries of the TPC-H benchmark, in the standard's words and with its validation parameters, over",
        "tables that our own generator makes in the shape of the standard "
        f"(scale {scale:g}: {round(150_000 * scale):,} customers).",
        "The privacy id stands in one table; the others belong to people",
        "[through their foreign keys](schema.md#owners), as they are. Each query is answered beside the exact answer,",
        "with its price, or refused with the reason. `python -m tools.tpch` writes this page; the noise is fresh each",
        "time.",
        "",
        f"Each query has epsilon {epsilon} of its own, and delta {delta} only where it cannot be answered without.",
        "A person is a customer with all orders and lines; of one customer at most 30 orders of 7 lines, and 100 rows",
        "in all, count.",
        "",
        *_summary(by_person),
    ]
    for asked in by_person["customer"]:
        lines += ["", f"## {asked.number}. {asked.title}", "", "```sql", asked.sql, "```", "", *_told(asked)]
    lines += [
        "",
        "## The declaration",
        "",
        "With the customer as the person:",
        "",
        "```yaml",
        *_without_columns(schema("customer")),
        "```",
        "",
        "With the supplier as the person:",
        "",
        "```yaml",
        *_without_columns(schema("supplier")),
        "```",
    ]
    return "\n".join(lines) + "\n"


def _summary(by_person: dict[str, list[Asked]]) -> Iterator[str]:
    people = list(by_person)
    counts = [f"{sum(not one.refusal for one in by_person[person])} with the {person}" for person in people]
    yield f"Answered: {' and '.join(counts)} as the person, of {len(by_person[people[0]])} each."
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
    groups = f"; {len(answer.rows)} groups, {len(asked.exact)} of them with rows" if keys else ""
    yield f"Price: {asked.price}{groups}. With 95 % intervals:"
    yield ""
    yield "| | " + " | ".join(answer.names) + " |"
    yield "| --- | " + " | ".join("---" for _ in answer.names) + " |"
    known = {tuple(str(row[place]) for place in keys): row for row in asked.exact}
    for row, low, high in itertools.islice(zip(answer.rows, answer.low, answer.high, strict=True), SHOWN):
        cells = [
            _number(value) if least is None or most is None else f"{_number(value)} [{_number(least)}, {_number(most)}]"
            for value, least, most in zip(row, low, high, strict=True)
        ]
        yield f"| private | {' | '.join(cells)} |"
        exact = known.get(tuple(str(row[place]) for place in keys))
        if exact is not None:
            yield f"| exact | {' | '.join(map(_number, exact))} |"


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return _cell(str(value))
    number = float(value)
    return f"{number:,.4g}" if abs(number) < 1000 else f"{number:,.0f}"


def _cell(text: str) -> str:
    """Return a text that can stand in a cell of a table of Markdown."""
    return text.replace("|", "\\|").replace("\n", " ").replace("*", "\\*").replace("<", "&lt;")


def _without_columns(text: str) -> Iterator[str]:
    """Yield the lines of a schema without its columns, which are the same in both."""
    for line in text.splitlines():
        if not line.startswith("      "):
            yield line.replace("    columns:", "    columns: ...")
