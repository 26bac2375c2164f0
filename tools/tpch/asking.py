"""The 22 queries asked privately: what comes back, what the limits alone would give, and the exact answer."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import duckdb

from dither.curator.folder import Curator
from dither.curator.session import Session
from dither.errors import DitherError, InvalidParameter, Unanswerable
from dither.privacy import ApproxDP
from dither.publish.queries import QueryResult
from tools.tpch.generate import tables, write
from tools.tpch.schemas import schema

QUERIES: Final = Path(__file__).with_name("queries.sql")
INSTEAD: Final = Path(__file__).with_name("instead.sql")
#: At this epsilon noise is nothing beside what the limits on a person's rows drop.
NO_NOISE: Final = "20000"
_HEAD: Final = re.compile(r"^-- (?P<number>[0-9]+): (?P<title>.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Asked:
    """One query: what came back, or why nothing did.

    Args:
        number: of the query.
        title: of the standard, or what is asked in place of it.
        sql: in the standard's words, or ours.
        answer: the private answer; None if it was refused.
        price: what it cost, in words.
        refusal: why it was refused; empty if it was answered.
        exact: the rows of the exact answer.
        limited: the answer without noise; None where it is not to be had.
        instead: what was asked in place of a query that was refused.

    """

    number: int
    title: str
    sql: str
    answer: QueryResult | None
    price: str
    refusal: str
    exact: Sequence[tuple[Any, ...]]
    limited: QueryResult | None = None
    instead: tuple[Asked, ...] = ()


def queries(file: Path = QUERIES) -> list[tuple[int, str, str]]:
    """Return the queries of a file: number, title, text."""
    text = file.read_text(encoding="utf-8")
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [
        (int(head["number"]), head["title"], text[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    ]


class Asking:
    """A session over generated tables, with a plain database beside it.

    Args:
        session: that is asked.
        plain: the same tables in a plain database.
        epsilon: for each query.
        delta: for queries that cannot be answered without one.

    """

    def __init__(self, session: Session, plain: Any, epsilon: str, delta: str) -> None:
        self._session, self._plain, self._epsilon, self._delta = session, plain, epsilon, delta

    def asked(self, number: int, title: str, sql: str, exact: str | None = None) -> Asked:
        """Return one query with its answers; ``exact`` is the text for the plain database if it is another one."""
        answer, refusal = self._answer(sql, self._epsilon)
        limited = None if answer is None or not _costs(answer) else self._answer(sql, NO_NOISE)[0]
        price = "" if answer is None else str(answer.loss)
        rows = self._plain.execute(exact or sql).fetchall()
        return Asked(number, title, sql, answer, price, refusal, rows, limited)

    def instead(self, number: int, title: str, text: str) -> Iterator[Asked]:
        """Yield the answers to what is asked in place of a query; each text may use the number before it."""
        first: Asked | None = None
        for sql in map(str.strip, text.split(";")):
            if first is None or first.answer is None:
                first = self.asked(number, title, sql)
                yield first
            else:
                answer, exact = f"{float(str(first.answer.rows[0][0])):.2f}", str(first.exact[0][0])
                yield self.asked(number, title, sql.replace("{first}", answer), sql.replace("{first}", exact))

    def _answer(self, sql: str, epsilon: str) -> tuple[QueryResult | None, str]:
        refusal = ""
        for delta in (None, self._delta):
            try:
                found = self._session.sql(sql, epsilon=epsilon, delta=delta)
            except (Unanswerable, InvalidParameter) as error:
                refusal = str(error)
            except DitherError as error:
                return None, f"{type(error).__name__}: {error}"
            else:
                return (found, "") if isinstance(found, QueryResult) else (None, f"a {type(found).__name__} came back")
        return None, refusal


def _costs(answer: QueryResult) -> bool:
    return str(answer.loss) != "epsilon = 0"


def ask_all(scale: float, epsilon: str, delta: str, person: str) -> Iterator[Asked]:
    """Ask every query of generated tables, and compute the exact answers beside it.

    Args:
        scale: of the tables.
        epsilon: for each query.
        delta: for queries that cannot be answered without one.
        person: who is protected: customer or supplier.

    """
    others = {number: (title, sql) for number, title, sql in queries(INSTEAD)} if person == "customer" else {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder, tables(scale))
        (folder / "schema.yaml").write_text(schema(person, scale), encoding="utf-8")
        plain = duckdb.connect()
        for file in sorted(folder.glob("*.csv")):
            plain.execute(f"CREATE TABLE {file.stem} AS FROM read_csv('{file}')")
        with Curator.create(folder / "home", anchors=folder / "anchors") as curator:
            dataset = curator.add(folder / "schema.yaml", budget=ApproxDP(10**6, "1/100")).name
            with curator.session(dataset, analyst="ana") as session:
                asking = Asking(session, plain, epsilon, delta)
                for number, title, sql in queries():
                    found = asking.asked(number, title, sql)
                    if found.refusal and number in others:
                        found = Asked(**{**vars(found), "instead": tuple(asking.instead(number, *others[number]))})
                    yield found
