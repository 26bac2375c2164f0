# ruff: noqa: S608 - statements are made up here
"""What stands in FROM and WHERE: tables, joins of all kinds, subqueries, set operations, windows, totals of people."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tools.grammar.words import expression

_COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "people": {"id": "i", "ward": "t", "height": "i"},
    "visits": {
        "vid": "i",
        "id": "i",
        "region": "t",
        "age": "i",
        "cost": "r",
        "day": "d",
        "moment": "m",
        "smoker": "b",
        "note": "t",
        "change": "i",
    },
    "lab": {"lid": "i", "person": "i", "value": "r", "taken": "d", "kind": "t"},
    "bills": {"bill": "i", "visit": "i", "paid": "i", "late": "b"},
    "items": {"bill": "i", "item": "t", "many": "i", "line": "i"},
    "places": {"region": "t", "country": "t", "beds": "i"},
    "rates": {"level": "i", "label": "t"},
}
#: Columns that name people, and others that would make a group for each of them.
_HIDDEN: Final = frozenset(("vid", "id", "lid", "person", "bill", "visit"))
SETS: Final = ("UNION ALL", "UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL", "INTERSECT ALL")
_PERSON: Final = {"people": "id", "visits": "id", "lab": "person"}
_UNIQUE: Final = {"people": ("id",), "visits": ("vid",), "lab": ("lid",), "bills": ("bill",), "items": ("bill", "line")}
_DECLARED: Final = frozenset(("ward", "region", "smoker", "kind", "late", "item", "country", "label"))
_BOUNDED: Final = frozenset(("height", "age", "cost", "change", "value", "paid", "many", "beds", "level"))


@dataclass
class Frame:
    """Rows of people, as they stand in FROM.

    Attributes:
        text: what is written after FROM.
        columns: the columns that expressions are made of, as they are called there, with their kinds.
        person: the privacy id, if it can be named.
        unique: columns that tell the rows of a person apart.
        declared: columns with declared values.
        bounded: numbers with declared bounds.

    """

    text: str
    columns: dict[str, str]
    person: str | None
    unique: tuple[str, ...]
    declared: list[str] = field(default_factory=list)
    bounded: list[str] = field(default_factory=list)


class Rows:
    """Frames at random; ``withs`` collects what stands in WITH."""

    def __init__(self, source: random.Random) -> None:
        self.source = source
        self.withs: list[str] = []
        self._names = 0

    def name(self) -> str:
        """Return a name that is not used yet."""
        self._names += 1
        return f"t{self._names}"

    def table(self, table: str, alias: str | None = None) -> Frame:
        """Return a private table under an alias."""
        alias = alias or self.name()
        own = {f"{alias}.{name}": kind for name, kind in _COLUMNS[table].items() if name not in _HIDDEN}
        person = f"{alias}.{_PERSON[table]}" if table in _PERSON else None
        unique = tuple(f"{alias}.{name}" for name in _UNIQUE.get(table, ()))
        return Frame(f"{table} {alias}", own, person, unique, *_facts(own))

    def frame(self, depth: int) -> Frame:
        """Return rows of people: a table, a join, or a subquery."""
        if depth <= 0 or self.source.random() < 0.2:
            return self.table(self.source.choice(("visits", "visits", "visits", "lab", "people", "bills", "items")))
        return self.source.choice(
            (
                self.of_persons,
                self.of_persons,
                self.of_references,
                self.with_public,
                self.with_public,
                self.selected,
                self.totals,
                self.different,
                self.window,
                self.united,
                self.listed_rows,
                self.half_joined,
                self.natural,
            )
        )(depth - 1)

    def with_person(self, depth: int) -> Frame:
        """Return rows whose privacy id can be named."""
        while (found := self.frame(depth)).person is None:
            pass
        return found

    def told_apart(self, depth: int) -> Frame:
        """Return rows that their columns tell apart."""
        while not (found := self.with_person(depth)).unique:
            pass
        return found

    def of_persons(self, depth: int) -> Frame:
        """Return a join on the privacy id, of every kind."""
        left, right = self.with_person(depth - 1), self.with_person(depth - 2)
        while self._too_many(left) and self._too_many(right):
            right = self.table(self.source.choice(("people", "lab")))
        columns = left.columns | right.columns
        kind = self.source.choice(
            ("JOIN", "INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "LEFT OUTER JOIN", ",")
        )
        same = f"{left.person} = {right.person}"
        further = ""
        if self.source.random() < 0.4:
            further = f" AND {self.condition(columns, 1)}"
        if kind == ",":
            inner = self.name()
            chosen = self._chosen(left.columns | right.columns)
            return self._wrapped(
                f"SELECT {left.person} AS pid, {', '.join(self._unique(left, right))}, {chosen[0]} "
                f"FROM {left.text}, {right.text} WHERE {same}{further}",
                inner,
                chosen[1],
                tuple(f"u{n}" for n in range(len(left.unique + right.unique))),
            )
        person = {"R": right.person, "F": None}.get(kind[0], left.person)
        if kind == "FULL JOIN":
            person = f"COALESCE({left.person}, {right.person})"
        text = f"{left.text} {kind} {right.text} ON {same}{further}"
        return Frame(
            text,
            columns,
            person,
            left.unique + right.unique,
            left.declared + right.declared,
            left.bounded + right.bounded,
        )

    @staticmethod
    def _too_many(frame: Frame) -> bool:
        return frame.text.count("JOIN") > 1 or "UNION ALL" in frame.text or len(frame.text) > 400

    def of_references(self, depth: int) -> Frame:
        """Return a join along references; the privacy id need not be named."""
        kind = self.source.choice(("JOIN", "LEFT JOIN"))
        v, b, i = (self.name() for _ in "vbi")
        visits, bills, items = self.table("visits", v), self.table("bills", b), self.table("items", i)
        further = f" AND {self.condition(visits.columns | bills.columns, 1)}" if self.source.random() < 0.3 else ""
        of_bills = f"{v}.vid = {b}.visit{further}"
        of_items = f"{b}.bill = {i}.bill"
        made = self.source.choice(
            (
                (f"visits {v} {kind} bills {b} ON {of_bills}", (visits, bills)),
                (f"bills {b} {kind} visits {v} ON {of_bills}", (visits, bills)),
                (f"bills {b} {kind} items {i} ON {of_items}", (bills, items)),
                (f"bills {b} JOIN items {i} USING (bill)", (bills, items)),
                (f"visits {v} JOIN bills {b} ON {of_bills} {kind} items {i} ON {of_items}", (visits, bills, items)),
                (f"items {i} JOIN bills {b} ON {of_items} JOIN visits {v} ON {of_bills}", (visits, bills, items)),
            )
        )
        text, frames = made
        columns = {name: kind for frame in frames for name, kind in frame.columns.items()}
        person = f"{v}.id" if text.startswith("visits") else None
        unique = tuple(name for frame in frames for name in frame.unique)
        if "USING" in text:
            unique = (f"{b}.bill", f"{i}.line")
        return Frame(text, columns, person, unique, *_facts(columns))

    def with_public(self, depth: int) -> Frame:
        """Return a join with a public table, on its key or not."""
        v, p = self.name(), self.name()
        visits = self.table("visits", v)
        places = self.table("places", p)
        rates = self.table("rates", p)
        key = f"{v}.region = {p}.region"
        further = f" AND {self.condition(visits.columns | places.columns, 1)}" if self.source.random() < 0.3 else ""
        text, other, unique = self.source.choice(
            (
                (f"visits {v} JOIN places {p} ON {key}{further}", places, ()),
                (f"places {p} JOIN visits {v} ON {key}{further}", places, ()),
                (f"visits {v} LEFT JOIN places {p} ON {key}{further}", places, ()),
                (f"(visits {v} JOIN places {p} ON {p}.region = {v}.region)", places, ()),
                (f"visits {v} CROSS JOIN rates {p}", rates, (f"{p}.level",)),
                (f"visits {v} JOIN rates {p} ON {p}.level > {v}.age", rates, (f"{p}.level",)),
                (f"rates {p} JOIN visits {v} ON {p}.level < {v}.age AND {v}.change > 0", rates, (f"{p}.level",)),
                (f"visits {v} LEFT JOIN rates {p} ON {p}.level > {v}.age", rates, (f"{p}.level",)),
            )
        )
        columns = visits.columns | other.columns
        return Frame(text, columns, visits.person, visits.unique + unique, *_facts(columns))

    def selected(self, depth: int) -> Frame:
        """Return a subquery with computed columns and a condition, in FROM or in WITH."""
        below = self.with_person(depth - 1)
        texts, kinds = self._chosen(below.columns)
        keys = self._unique(below)
        text = f"SELECT {below.person} AS pid, {', '.join(keys)}, {texts} FROM {below.text}{self.where(below, depth)}"
        return self._wrapped(text, self.name(), kinds, tuple(f"u{n}" for n in range(len(keys))))

    def totals(self, depth: int) -> Frame:
        """Return totals of each person."""
        below = self.with_person(depth - 1)
        number = self.number(below)
        day = self.expression("d", below.columns, 1)
        choices = (
            ("COUNT(*)", "i"),
            (f"COUNT({number})", "i"),
            (f"SUM({number})", "r"),
            (f"AVG({number})", "r"),
            (f"MIN({number})", "r"),
            (f"MAX({number})", "r"),
            (f"MAX({day})", "d"),
            (f"COUNT(*) FILTER (WHERE {self.condition(below.columns, 1)})", "i"),
            (f"COUNT(DISTINCT {self.expression(self.source.choice('itb'), below.columns, 1)})", "i"),
            (f"COUNT(DISTINCT {number}) FILTER (WHERE {self.condition(below.columns, 1)})", "i"),
            ("CASE WHEN COUNT(*) > 2 THEN 'many' ELSE 'few' END", "t"),
        )
        chosen = self.source.sample(choices, 3)
        if self.source.random() < 0.1:
            chosen = [(f"COUNT(DISTINCT {self.expression('t', below.columns, 1)})", "i")]
        shown = ", ".join(f"{text} AS c{n}" for n, (text, _) in enumerate(chosen))
        key = self.source.choice(below.declared) if below.declared and self.source.random() < 0.4 else None
        keys = f", {key} AS k" if key else ""
        having = f" HAVING COUNT(*) > {self.source.randrange(3)}" if self.source.random() < 0.3 else ""
        text = (
            f"SELECT {below.person} AS pid{keys}, {shown} FROM {below.text}{self.where(below, depth)} "
            f"GROUP BY {below.person}{', ' + key if key else ''}{having}"
        )
        kinds = {f"c{n}": kind for n, (_, kind) in enumerate(chosen)}
        if key:
            kinds["k"] = below.columns[key]
        return self._wrapped(text, self.name(), kinds, ("pid", "k") if key else ("pid",))

    def different(self, depth: int) -> Frame:
        """Return different rows of each person."""
        below = self.with_person(depth - 1)
        texts, kinds = self._chosen(below.columns)
        text = f"SELECT DISTINCT {below.person} AS pid, {texts} FROM {below.text}{self.where(below, depth)}"
        return self._wrapped(text, self.name(), kinds, ("pid", *kinds))

    def window(self, depth: int) -> Frame:
        """Return rows with windows within a person beside them."""
        below = self.told_apart(depth - 1)
        order = ", ".join(below.unique)
        first = self.expression(self.source.choice("idt"), below.columns, 1)
        down = self.source.choice(("", " DESC"))
        parts = f"{below.person}" + (f", {self.source.choice(below.declared)}" if below.declared and down else "")
        number, value = self.number(below), self.source.choice([*below.columns])
        kind = below.columns[value]
        over = f"OVER (PARTITION BY {parts} ORDER BY {first}{down}, {order})"
        choices = (
            (f"ROW_NUMBER() {over}", "i"),
            (f"RANK() OVER (PARTITION BY {parts} ORDER BY {first}{down})", "i"),
            (f"DENSE_RANK() OVER (PARTITION BY {parts} ORDER BY {first}{down})", "i"),
            (f"LAG({value}) {over}", kind),
            (f"LEAD({value}, 2) {over}", kind),
            (f"FIRST_VALUE({value}) {over}", kind),
            (f"LAST_VALUE({value}) {over[:-1]} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)", kind),
            (f"COUNT(*) OVER (PARTITION BY {parts})", "i"),
            (f"SUM({number}) {over}", "r"),
            (f"AVG({number}) OVER (PARTITION BY {parts})", "r"),
            (f"MIN({number}) {over}", "r"),
            (f"{self.source.choice(('SUM', 'AVG', 'MAX'))}({number}) {over[:-1]} {self._frame()})", "r"),
            (f"COUNT({value}) {over[:-1]} {self._frame()})", "i"),
            (f"{self.source.choice(('FIRST', 'LAST'))}_VALUE({value}) {over[:-1]} {self._frame()})", kind),
            (f"MAX({number}) OVER (PARTITION BY {parts})", "r"),
        )
        chosen = self.source.sample(choices, 2)
        texts, kinds = self._chosen(below.columns)
        shown = ", ".join(f"{text} AS w{n}" for n, (text, _) in enumerate(chosen))
        keys = self._unique(below)
        qualify = ""
        if self.source.random() < 0.3:
            qualify = f" QUALIFY ROW_NUMBER() {over} <= 2"
        text = (
            f"SELECT {below.person} AS pid, {', '.join(keys)}, {texts}, {shown} FROM {below.text}"
            f"{self.where(below, depth)}{qualify}"
        )
        kinds |= {f"w{n}": kind for n, (_, kind) in enumerate(chosen)}
        return self._wrapped(text, self.name(), kinds, tuple(f"u{n}" for n in range(len(keys))))

    def _frame(self) -> str:
        """Return a frame of some rows before and after."""
        starts = ("UNBOUNDED PRECEDING", "2 PRECEDING", "1 PRECEDING", "CURRENT ROW", "1 FOLLOWING")
        ends = ("2 PRECEDING", "1 PRECEDING", "CURRENT ROW", "2 FOLLOWING", "UNBOUNDED FOLLOWING")
        start = self.source.randrange(5)
        return f"ROWS BETWEEN {starts[start]} AND {ends[self.source.randrange(max(start - 1, 0), 5)]}"

    def united(self, depth: int) -> Frame:
        """Return a set operation of rows of people."""
        left, right = self.with_person(depth - 1), self.with_person(depth - 2)
        kinds = self.source.choices("irtbd", k=2)
        word = self.source.choice(SETS)
        sides = [
            f"SELECT {one.person} AS pid, "
            + ", ".join(f"{self.expression(kind, one.columns, 1)} AS c{n}" for n, kind in enumerate(kinds))
            + f" FROM {one.text}{self.where(one, 1)}"
            for one in (left, right)
        ]
        named = {f"c{n}": kind for n, kind in enumerate(kinds)}
        return self._wrapped(
            f" {word} ".join(sides), self.name(), named, () if word.endswith("ALL") else ("pid", *named)
        )

    def half_joined(self, depth: int) -> Frame:
        """Return rows of people who have, or do not have, a row of another table."""
        below = self.with_person(depth - 1)
        while "COALESCE" in (below.person or ""):
            below = self.with_person(depth - 1)
        other = self.table(self.source.choice(("lab", "people", "visits")))
        further = f" AND {self.condition(below.columns | other.columns, 1)}" if self.source.random() < 0.5 else ""
        kind = self.source.choice(("SEMI", "ANTI"))
        text = f"{below.text} {kind} JOIN {other.text} ON {below.person} = {other.person}{further}"
        texts, kinds = self._chosen(below.columns)
        keys = self._unique(below)
        inner = f"SELECT {', '.join([f'{below.person} AS pid', *keys, texts])} FROM {text}"
        # In a subquery, since a join that keeps rows of its right side may come after it.
        return self._wrapped(inner, self.name(), kinds, tuple(f"u{n}" for n in range(len(keys))))

    def natural(self, depth: int) -> Frame:
        """Return tables that are joined on the columns that both have."""
        p, v = self.name(), self.name()
        first, kind = self.source.choice((("people", ""), ("places", ""), ("places", "LEFT ")))
        people, visits = self.table(first, p), self.table("visits", v)
        pair = [f"{first} {p}", f"visits {v}"]
        if kind or self.source.random() < 0.5:
            pair.reverse()
        columns = people.columns | visits.columns
        return Frame(f"{pair[0]} NATURAL {kind}JOIN {pair[1]}", columns, visits.person, visits.unique, *_facts(columns))

    def listed_rows(self, depth: int) -> Frame:
        """Return rows with each element of a list."""
        below = self.with_person(depth - 1)
        u = self.name()
        texts = [name for name, kind in below.columns.items() if kind == "t"]
        number = self.expression("i", below.columns, 1)
        listed, kind = self.source.choice(
            (
                ("[1, 2, NULL]", "i"),
                ("['a', 'north']", "t"),
                (f"[{number}, 3]", "i"),
                ("GENERATE_SERIES(1, 4)", "i"),
                (f"STRING_SPLIT({self.source.choice(texts)}, 'o')[1:3]" if texts else "[TRUE, FALSE]", "t"),
            )
        )
        kind = "b" if listed.startswith("[TRUE") else kind
        word = self.source.choice((",", " CROSS JOIN"))
        texts_of, kinds = self._chosen(below.columns)
        text = (
            f"SELECT {below.person} AS pid, {texts_of}, {u}.x AS x FROM {below.text}{word} UNNEST({listed}) AS {u}(x)"
            f"{self.where(below, depth)}"
        )
        return self._wrapped(text, self.name(), kinds | {"x": kind}, ())

    def where(self, frame: Frame, depth: int) -> str:
        """Return a WHERE clause, or nothing."""
        if self.source.random() < 0.4:
            return ""
        first = self.condition(frame.columns, depth)
        if self.source.random() < 0.35 and frame.person and "COALESCE" not in frame.person:
            first = f"{first} {self.source.choice(('AND', 'OR'))} {self._subquery(frame, depth)}"
        return f" WHERE {first}"

    def _subquery(self, frame: Frame, depth: int) -> str:
        """Return a condition that a subquery about the same person, or about a public table, decides."""
        a = self.name()
        table = self.source.choice(("lab", "visits"))
        other = self.table(table, a)
        inner = self.condition(other.columns, 1)
        both = self.condition(other.columns | frame.columns, 1)
        same = f"{other.person} = {frame.person}"
        number = self.number(other)
        return self.source.choice(
            (
                f"{frame.person} IN (SELECT {other.person} FROM {other.text} WHERE {inner})",
                f"{frame.person} NOT IN (SELECT {other.person} FROM {other.text} WHERE {inner})",
                f"{frame.person} = ANY (SELECT {other.person} FROM {other.text} WHERE {inner})",
                f"EXISTS (SELECT 1 FROM {other.text} WHERE {same} AND {both})",
                f"NOT EXISTS (SELECT 1 FROM {other.text} WHERE {same} AND {inner})",
                f"(SELECT MAX({number}) FROM {other.text} WHERE {same}) > 5",
                f"(SELECT COUNT(*) FROM {other.text} WHERE {same} AND {inner}) > 1",
                f"{self.expression('t', frame.columns, 1)} IN (SELECT p.region FROM places p WHERE p.beds > 100)",
                f"EXISTS (SELECT 1 FROM rates r WHERE r.level = {self.expression('i', frame.columns, 0)})",
            )
        )

    def condition(self, columns: Mapping[str, str], depth: int) -> str:
        """Return a condition about a row."""
        return self.expression("b", columns, max(1, depth))

    def expression(self, kind: str, columns: Mapping[str, str], depth: int) -> str:
        """Return an expression over a row."""
        return expression(self.source, kind, columns, depth)

    def number(self, frame: Frame, *, small: bool = False) -> str:
        """Return a number that has bounds, and lies within them."""
        if frame.bounded and self.source.random() < 0.5:
            return self.source.choice(frame.bounded)
        if small:
            return f"CLAMP(MOD({self.expression('i', frame.columns, 2)}, 500), -500, 500)"
        # Reals are measured in steps of a millionth of their range: quarters are exact.
        made = self.source.choice(
            (
                self.expression("i", frame.columns, 2),
                f"(FLOOR(4 * {self.expression('r', frame.columns, 2)} + 0.1) / 4)",
            )
        )
        return f"CLAMP({made}, -100000, 100000)"

    def _chosen(self, columns: Mapping[str, str]) -> tuple[str, dict[str, str]]:
        """Return columns of a subquery, copied or computed."""
        texts, kinds = [], {}
        for n in range(self.source.randrange(2, 5)):
            kind = self.source.choice("iirrttbdm")
            texts.append(f"{self.expression(kind, columns, self.source.randrange(3))} AS c{n}")
            kinds[f"c{n}"] = kind
        return ", ".join(texts), kinds

    @staticmethod
    def _unique(*frames: Frame) -> list[str]:
        names = [name for frame in frames for name in frame.unique]
        return [f"{name} AS u{n}" for n, name in enumerate(names)] or ["1 AS u0"]

    def _wrapped(self, text: str, name: str, kinds: Mapping[str, str], unique: tuple[str, ...]) -> Frame:
        columns = {f"{name}.{column}": kind for column, kind in kinds.items()}
        places = tuple(f"{name}.{column}" for column in unique)
        if self.source.random() < 0.3:
            self.withs.append(f"{name} AS ({text})")
            return Frame(name, columns, f"{name}.pid", places)
        return Frame(f"({text}) AS {name}", columns, f"{name}.pid", places)


def _facts(columns: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Return the columns with declared values, and those with declared bounds."""
    last = {name: name.rpartition(".")[2] for name in columns}
    return (
        [name for name, own in last.items() if own in _DECLARED],
        [name for name, own in last.items() if own in _BOUNDED],
    )
