# ruff: noqa: S608 - statements are made up here
"""Whole statements: aggregates, groups, different values, totals of groupings, and reports over released rows."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Final

from tools.grammar.rows import SETS, Frame, Rows
from tools.grammar.words import spelled

_SPREADS: Final = ("VAR_POP", "VAR_SAMP", "VARIANCE", "STDDEV_POP", "STDDEV_SAMP", "STDDEV")
_PAIRS: Final = (
    "COVAR_POP",
    "COVAR_SAMP",
    "CORR",
    "REGR_SLOPE",
    "REGR_INTERCEPT",
    "REGR_R2",
    "REGR_COUNT",
    "REGR_AVGX",
    "REGR_AVGY",
)
#: What other systems say of privacy in a query.
_CLAUSES: Final = (
    "« WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, privacy_unit_column = id)¦»",
    "« WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-6, max_rows_contributed = 3000)¦»",
    "« WITH ANONYMIZATION OPTIONS (epsilon = 1, max_groups_contributed = 3000)¦»",
    "« WITH DIFFERENTIAL_PRIVACY¦»",
)
#: Columns whose range can be found.
_FOUND: Final = (".height", ".age", ".cost", ".change", ".value", ".paid", ".many")
_OTHER_NAMES: Final = (("STD", "STDDEV"), ("VAR", "VARIANCE"), ("VARP", "VAR_POP"), ("STDDEVP", "STDDEV_POP"))


@dataclass(frozen=True)
class Statement:
    """A statement in both spellings.

    Attributes:
        text: what is asked.
        plain: what DuckDB is asked.
        keys: how many of its first columns are keys.
        ordered: whether the order of its rows is said.

    """

    text: str
    plain: str
    keys: int
    ordered: bool


class Statements(Rows):
    """Statements at random."""

    def statement(self) -> Statement:
        """Return one of any form."""
        depth = self.source.randrange(4)
        made = self.source.choice(
            (
                self.totalled,
                self.grouped,
                self.grouped,
                self.listed,
                self.sets,
                self.report,
                self.per_person,
            )
        )
        text, keys, ordered = made(depth)
        if made in (self.totalled, self.grouped, self.per_person) and self.source.random() < 0.15:
            text = f"SELECT{self.source.choice(_CLAUSES)} {text.removeprefix('SELECT ')}"
        if self.withs:
            # In the order in which they were begun: what a subquery reads was made before it.
            text = f"WITH {', '.join(self.withs)} {text}"
        return Statement(spelled(text, plain=False), spelled(text, plain=True), keys, ordered)

    def aggregate(self, frame: Frame) -> str:
        """Return an aggregate, or what is computed from some."""
        x, y, z = self.number(frame), self.number(frame, small=True), self.number(frame, small=True)
        pair = self.source.choice(_PAIRS)
        ours, theirs = self.source.choice(_OTHER_NAMES)
        value = self.expression(self.source.choice("itbd"), frame.columns, 1)
        condition = self.condition(frame.columns, 1)
        days = [name for name in frame.columns if name.endswith((".day", ".taken"))]
        day = self.source.choice(days) if days else None
        share = self.source.choice(("0.25", "0.9"))
        person = frame.person
        found = [name for name in frame.bounded if name.endswith(_FOUND)]
        auto = f"CLAMP({self.source.choice(found)}, AUTO)" if found else x
        return self.source.choice(
            (
                "COUNT(*)",
                f"{self.source.choice(('SUM', 'AVG', 'MAX'))}({auto})",
                "«ANON_COUNT¦COUNT»(*)",
                f"«ANON_SUM¦SUM»({x})",
                f"«ANON_AVG¦AVG»({x})",
                f"SUM(«{y}, contribution_bounds_per_row => (0, 50)¦CLAMP({y}, 0, 50)»)",
                f"COUNT({value})",
                f"COUNT(*) FILTER (WHERE {condition})",
                f"COUNT_IF({condition})",
                f"«COUNTIF¦COUNT_IF»({condition})",
                f"COUNT(DISTINCT {person})" if person and "(" not in person else "COUNT(1)",
                f"COUNT(DISTINCT {value})",
                f"«APPROX_COUNT_DISTINCT(¦COUNT(DISTINCT »{value})",
                f"SUM({x})",
                f"SUM({x}) FILTER (WHERE {condition})",
                f"SUM(CASE WHEN {condition} THEN {x} ELSE 0 END)",
                f"AVG({x})",
                f"AVG({x}) FILTER (WHERE {condition})",
                f"{self.source.choice(_SPREADS)}({y})",
                f"«{ours}¦{theirs}»({y})",
                f"{pair}({y}, {z})",
                f"{pair}({z}, {y})",
                f"«MEDIAN({y})¦QUANTILE_DISC({y}, 0.5)»",
                f"«QUANTILE¦QUANTILE_DISC»({y}, {share})",
                f"«APPROX_QUANTILES({y}, 8)[OFFSET(3)]¦QUANTILE_DISC({y}, 0.375)»",
                f"«APPROX_QUANTILES({y}, 5)[4]¦QUANTILE_DISC({y}, 0.8)»",
                f"«PERCENTILE_CONT¦PERCENTILE_DISC»({share}) WITHIN GROUP (ORDER BY {y})",
                f"MIN({y})",
                f"MAX({y})",
                f"MAX({day})" if day else "COUNT(*)",
                f"MIN({day})" if day else "COUNT(*)",
                f"100.0 * SUM({x}) / COUNT(*)",
                f"SUM({x}) / NULLIF(COUNT({x}), 0)",
                f"COUNT(*) + COUNT({value})",
            )
        )

    def totalled(self, depth: int) -> tuple[str, int, bool]:
        """Return aggregates of all rows."""
        frame = self.frame(depth)
        many = self.source.randrange(1, 4)
        shown = ", ".join(f"{self.aggregate(frame)} AS a{n}" for n in range(many))
        return f"SELECT {shown} FROM {frame.text}{self.where(frame, depth)}", 0, False

    def key(self, frame: Frame) -> str:
        """Return what rows are grouped by: declared values, parts of them, or values that are discovered."""
        if frame.declared and self.source.random() < 0.6:
            return self.source.choice(frame.declared)
        kind = self.source.choice("itbd")
        depth = self.source.randrange(3)
        return self.expression(kind, frame.columns, depth if any(own == kind for own in frame.columns.values()) else 2)

    def keys(self, frame: Frame, many: int) -> list[str]:
        """Return different keys."""
        found: list[str] = []
        while len(found) < many:
            key = self.key(frame)
            if key not in found and any(name in key for name in frame.columns):
                found.append(key)
        return found

    def grouped(self, depth: int) -> tuple[str, int, bool]:
        """Return aggregates of groups, with what HAVING, ORDER BY and LIMIT make of them."""
        frame = self.frame(depth)
        keys = self.keys(frame, self.source.randrange(1, 3))
        shown = [f"{key} AS k{n}" for n, key in enumerate(keys)]
        shown += [f"{self.aggregate(frame)} AS a{n}" for n in range(self.source.randrange(1, 3))]
        if self.source.random() < 0.15:
            shown.append(f"{self.source.choice(('ANY_VALUE', 'MIN', 'MAX'))}({keys[0]}) AS a9")
        by = self.source.choice((", ".join(keys), ", ".join(f"k{n}" for n in range(len(keys))), "1"))
        by = ", ".join(str(n + 1) for n in range(len(keys))) if by == "1" else by
        having = "COUNT(*) > 0"
        if self.source.random() < 0.3:
            having += f" AND {self.source.choice(('COUNT(*) > 2', 'k0 IS NOT NULL', 'SUM(1) < 30'))}"
        text = f"SELECT {', '.join(shown)} FROM {frame.text}{self.where(frame, depth)} GROUP BY {by} HAVING {having}"
        if self.source.random() < 0.3:
            order = ", ".join(f"k{n}" for n in range(len(keys)))
            first = self.source.choice(("", "COUNT(*) DESC, ", "k0 DESC, "))
            text += f" ORDER BY {first}{order}"
            if self.source.random() < 0.6:
                text += self.source.choice((" LIMIT 2", " LIMIT 3 OFFSET 1", " LIMIT 5"))
            return text, len(keys), True
        return text, len(keys), False

    def listed(self, depth: int) -> tuple[str, int, bool]:
        """Return which values occur."""
        frame = self.frame(depth)
        keys = self.keys(frame, self.source.randrange(1, 3))
        shown = ", ".join(f"{key} AS k{n}" for n, key in enumerate(keys))
        below = f"FROM {frame.text}{self.where(frame, depth)}"
        if self.source.random() < 0.5:
            return f"SELECT DISTINCT {shown} {below}", len(keys), False
        return f"SELECT {shown} {below} GROUP BY {', '.join(keys)}", len(keys), False

    def per_person(self, depth: int) -> tuple[str, int, bool]:
        """Return totals whose bounds are those of a person in a group; nobody reaches them."""
        # Reals are counted in steps of a millionth of the bounds: few rows of a person, so that these may be narrow.
        frame = self.table(self.source.choice(("visits", "visits", "lab", "people")))
        keys = self.keys(frame, self.source.randrange(2))
        x, y = self.number(frame, small=True), self.number(frame, small=True)
        wide = "contribution_bounds_per_group => (-50000, 50000)"
        shown = [
            *(f"{key} AS k{n}" for n, key in enumerate(keys)),
            f"SUM({x}«, {wide}¦») AS a0",
            f"«ANON_SUM({y} CLAMPED BETWEEN -50000 AND 50000)¦SUM({y})» AS a1",
            "COUNT(*«, contribution_bounds_per_group => (0, 900)¦») AS a2",
        ]
        text = f"SELECT {', '.join(shown)} FROM {frame.text}{self.where(frame, depth)}"
        group = f" GROUP BY {', '.join(keys)} HAVING COUNT(*«, contribution_bounds_per_group => (0, 900)¦») > 0"
        return text + (group if keys else ""), len(keys), False

    def sets(self, depth: int) -> tuple[str, int, bool]:
        """Return totals of several groupings."""
        frame = self.frame(depth)
        keys = self.keys(frame, 2)
        inner = ", ".join(f"{key} AS k{n}" for n, key in enumerate(keys))
        kinds = [f"{frame.text}{self.where(frame, depth)}"]
        numbers = list(frame.bounded)
        value = f", {self.source.choice(numbers)} AS x" if numbers else ""
        sums = self.source.choice((", SUM(x) AS s", ", AVG(x) AS s", ", MAX(x) AS s")) if numbers else ""
        by = self.source.choice(
            (
                "ROLLUP (k0, k1)",
                "CUBE (k0, k1)",
                "GROUPING SETS ((k0), (k1), ())",
                "GROUPING SETS ((k0, k1), (k0))",
                "k0, ROLLUP (k1)",
                "«k0, k1 WITH ROLLUP¦ROLLUP (k0, k1)»",
            )
        )
        rows = f"(SELECT {inner}{value} FROM {kinds[0]}) AS g"
        text = (
            f"SELECT k0, k1, GROUPING(k0) AS g0, GROUPING(k1) AS g1, COUNT(*) AS n{sums} FROM {rows} GROUP BY {by} "
            "HAVING COUNT(*) > 0"
        )
        return text, 4, False

    def released(self, depth: int) -> tuple[str, list[str]]:
        """Return a subquery of released rows with integers n and m, and its keys."""
        frame = self.frame(depth)
        keys = self.keys(frame, self.source.randrange(1, 3))
        names = [f"k{n}" for n in range(len(keys))]
        shown = ", ".join(f"{key} AS {name}" for key, name in zip(keys, names, strict=True))
        condition = self.condition(frame.columns, 1)
        return (
            f"(SELECT {shown}, COUNT(*) AS n, COUNT(*) FILTER (WHERE {condition}) AS m FROM {frame.text}"
            f"{self.where(frame, depth)} GROUP BY {', '.join(keys)} HAVING COUNT(*) > 0)"
        ), names

    def report(self, depth: int) -> tuple[str, int, bool]:
        """Return what is made of released rows and of public tables."""
        below, keys = self.released(depth)
        all_keys, key = ", ".join(keys), keys[0]
        value = self.source.choice(("n", "m", "n * 2 - m", "CASE WHEN n > 5 THEN n END", "n / 7.0"))
        function = self.source.choice(("SUM", "AVG", "MIN", "MAX", "COUNT", "MEDIAN", "STDDEV", "VAR_POP"))
        ranked = self.source.choice(("RANK", "DENSE_RANK", "CUME_DIST", "PERCENT_RANK", "ROW_NUMBER"))
        again = self.released(depth - 1)[0]
        frame = self.frame(0)
        window = self.source.choice(
            (
                f"{function}({value}) OVER (PARTITION BY {key})",
                f"{ranked}() OVER (ORDER BY n DESC, {all_keys})",
                f"NTILE(2) OVER (ORDER BY n, {all_keys})",
                f"{function}({value}) OVER (ORDER BY {all_keys} ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING)",
                f"SUM(n) OVER (ORDER BY {all_keys})",
                f"LAG({value}, 1, 0) OVER (ORDER BY {all_keys})",
                f"FIRST_VALUE({value}) OVER (ORDER BY n, {all_keys})",
            )
        )
        return self.source.choice(
            (
                (f"SELECT {function}({value}) AS x, COUNT(*) AS c FROM {below}", 0, False),
                (f"SELECT {key}, {function}({value}) AS x FROM {below} GROUP BY {key}", 1, False),
                (f"SELECT n > 3 AS big, SUM(n) AS s FROM {below} GROUP BY big ORDER BY big", 1, True),
                (f"SELECT {all_keys}, {window} AS x FROM {below}", len(keys), False),
                (
                    f"SELECT {all_keys}, n FROM {below} QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC, {all_keys}) <= 2",
                    len(keys),
                    False,
                ),
                (f"SELECT {all_keys}, n FROM {below} WHERE n >= (SELECT AVG(n) FROM {below})", len(keys), False),
                (
                    f"SELECT {all_keys}, n * 1.0 / (SELECT SUM(n) FROM {below}) AS share FROM {below} "
                    f"ORDER BY n DESC, {all_keys} LIMIT 3 OFFSET 1",
                    len(keys),
                    True,
                ),
                (f"SELECT COUNT(*) * 1.0 / (SELECT SUM(n) FROM {again}) AS share FROM {frame.text}", 0, False),
                (
                    f"SELECT n AS k, m FROM {below} "
                    f"{self.source.choice(SETS)} "
                    f"SELECT COUNT(*) AS k, COUNT(*) AS m FROM {frame.text}",
                    1,
                    False,
                ),
                (
                    f"SELECT l.{key} AS k, l.n, r.n AS other FROM {below} l "
                    f"{self.source.choice(('', 'LEFT ', 'FULL ', 'RIGHT '))}JOIN {below} r ON l.{key} = r.{key} "
                    "AND l.n > r.n",
                    1,
                    False,
                ),
                (f"SELECT l.k0, l.n, p.beds FROM {below} l, places p WHERE p.beds > l.n", 1, False),
                (f"SELECT l.k0, u.x, l.n * u.x AS m FROM {below} l, UNNEST([2, 3]) AS u(x)", 2, False),
                (
                    f"SELECT v.w, SUM(n) AS s FROM {below} l, (VALUES (1, 'a'), (5, 'b')) AS v(y, w) WHERE n > y "
                    "GROUP BY v.w",
                    1,
                    False,
                ),
                (f"SELECT DISTINCT n > 3 AS big FROM {below} ORDER BY ALL", 1, True),
                (
                    f"SELECT EXISTS (SELECT 1 FROM {below} WHERE n > 4) AS some, (SELECT MAX(n) FROM {below}) AS x",
                    1,
                    False,
                ),
                (
                    "SELECT country, COUNT(*) AS c, SUM(beds) AS s FROM places GROUP BY country ORDER BY country",
                    1,
                    True,
                ),
                (
                    "SELECT p.region, r.label, p.beds - r.level AS x FROM places p CROSS JOIN rates r "
                    "WHERE p.beds > r.level ORDER BY 1, 2",
                    2,
                    True,
                ),
            )
        )


def statements(seed: int, many: int) -> list[Statement]:
    """Return statements that a seed makes; each of them has its own, so that one can be made alone."""
    return [Statements(random.Random(f"{seed}/{place}")).statement() for place in range(many)]  # noqa: S311
