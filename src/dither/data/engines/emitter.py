# ruff: noqa: S608 - printing SQL is what this module is for; every name and constant in it is quoted by the emitter
"""Printing aggregations: a request as one SELECT of one dialect, and how its rows are read.

``Emitter`` walks the tree once for all engines. A dialect gives templates for functions (``emit_expressions``) and
overrides the few methods of ``emit_relations`` that are listed there, and ``limbs``. What is printed is a function of
the tree alone: no private value is read, and the same request always has the same text.

An emitter prints one statement and is then thrown away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from dither.data.engines.bounding import effective_limits, limit_in_group, preaggregates
from dither.data.engines.emit_crowded import where_many
from dither.data.engines.emit_expressions import Scope, Span
from dither.data.engines.emit_relations import Printed, RelationEmitter
from dither.data.expressions import Kind, kind_of
from dither.data.relations import (
    Aggregated,
    Aggregation,
    Bounded,
    CountOf,
    CountRows,
    Keep,
    Limits,
    Measure,
    Persons,
    Sum,
)
from dither.errors import InvalidParameter

#: Sums are returned as a low limb of this many bits and the rest.
LIMB_BITS: Final = 30
_LIMB: Final = 2**LIMB_BITS


@dataclass(frozen=True)
class Statement:
    """The SQL of an aggregation, and how its rows are read.

    Args:
        text: the SQL; the key columns come first.
        keys: the kinds of the keys.
        measures: for each measure the places of its limbs among the columns after the keys, low one first.

    """

    text: str
    keys: tuple[Kind, ...]
    measures: tuple[tuple[int, ...], ...]

    def read(self, rows: Iterable[Sequence[Any]]) -> Aggregated:
        """Return the answer in the engine's rows; every number becomes a Python integer."""
        width, has_reals = len(self.keys), Kind.REAL in self.keys
        keys, measures = [], []
        for row in rows:
            keys.append(tuple(map(_zero, row[:width])) if has_reals else tuple(row[:width]))
            limbs = row[width:]
            measures.append(
                tuple(
                    sum(int(limbs[place] or 0) << (LIMB_BITS * rank) for rank, place in enumerate(places))
                    for places in self.measures
                )
            )
        if not width and not measures:
            return Aggregated(((),), (tuple(0 for _ in self.measures),))
        return Aggregated(tuple(keys), tuple(measures))


@dataclass
class _Sums:
    """The sums of the outer SELECT, and for each measure the positions of its limbs."""

    printed: list[str] = field(default_factory=list)
    places: list[tuple[int, ...]] = field(default_factory=list)

    def add(self, printed: Sequence[str]) -> None:
        """Add the sums of a further measure."""
        self.places.append(tuple(range(len(self.printed), len(self.printed) + len(printed))))
        self.printed.extend(printed)


@dataclass(frozen=True)
class _Asked:
    """The parts of an aggregation over printed rows: columns of keys and values, with their kinds, and sums of them."""

    keys: list[str]
    columns: list[tuple[str, str]]
    kinds: list[Kind]
    sums: _Sums


class Emitter(RelationEmitter):
    """Prints one aggregation of one dialect.

    Args:
        portable: whether rows are chosen, and functions computed, such that all engines agree to the last bit.

    """

    def limbs(self, sql: str) -> tuple[str, str]:
        """Return the low limb (0 to 2^30 - 1) and the rest (towards minus infinity) of an integer."""
        return f"({sql} & {self.integer(_LIMB - 1)})", f"({sql} >> {LIMB_BITS})"

    def aggregation(self, aggregation: Aggregation) -> Statement:
        """Return the statement of an aggregation."""
        relation, keys = aggregation.relation, aggregation.keys
        if isinstance(relation, Bounded) and preaggregates(aggregation):
            return self._preaggregated(aggregation, relation)
        if isinstance(relation, Keep) and relation.keys == keys and keys:
            # A condition on the keys alone may as well be put to the groups: all rows of a group share the keys, so
            # it holds for all of them or for none. There are fewer groups than rows.
            statement = self._grouped(self.relation(relation.relation), aggregation)
            return self._kept_groups(statement, relation)
        if isinstance(relation, Bounded) and not self.portable and effective_limits(relation) != Limits():
            return self._bounded_sums(aggregation, relation)
        return self._grouped(self.relation(relation), aggregation)

    def _grouped(self, rows: Printed, aggregation: Aggregation) -> Statement:
        """Return the aggregation of printed rows: one inner SELECT with keys and values, one outer with sums."""
        asked = self._asked(aggregation, rows)
        text = self.select([*asked.columns, *([(rows.person, rows.person)] if rows.person else [])], rows)
        return self._summed_up(text, asked)

    def _bounded_sums(self, aggregation: Aggregation, bounded: Bounded) -> Statement:
        """Return an aggregation of bounded rows that carries the counted values instead of the columns they come from.

        The order of a person's rows is the engine's hash of the ``order`` columns, and where that ties the keys and
        values that the aggregation reads. Rows that still tie are alike in all of them, so with any of them the answer
        is the same: it is a function of each person's own rows. Few and short columns make the sort cheap.
        """
        below = self.relation(bounded.relation)
        person = (str(below.person), below.person_kind or Kind.TEXT)
        asked = self._asked(aggregation, below)
        known = {sql: name for name, sql in asked.columns}
        keys = [(known.get(sql, name), sql, kind) for name, sql, kind in self.group_columns(bounded, below)]
        further = [(name, sql) for name, sql, _ in keys if sql not in known]
        row_hash = self.fresh("h")
        further.append((row_hash, self.scramble("row", person, self.row_fields(below, bounded))))
        text = self.select([*asked.columns, *further, (person[0], person[0])], below)
        names = [name for name, _ in asked.columns]
        kinds = dict(zip(names, asked.kinds, strict=True))
        rows = Printed(text, Scope(kinds, {name: name for name in names}), *person)
        order = [f"{row_hash} ASC", *(self.order_key(name, kind) for name, kind in kinds.items())]
        hidden, named = [name for name, _ in further], [(name, kind) for name, _, kind in keys]
        limits = effective_limits(bounded)
        limited = where_many(self, rows, hidden, limits, lambda some: self.limited(some, hidden, named, order, limits))
        return self._summed_up(limited.text, asked)

    def _asked(self, aggregation: Aggregation, rows: Printed) -> _Asked:
        kinds = [kind_of(key, rows.scope.columns) for key in aggregation.keys]
        columns = [
            (self.fresh("k"), self.group_key(self.expression(key, rows.scope), kind))
            for key, kind in zip(aggregation.keys, kinds, strict=True)
        ]
        keys, sums = [name for name, _ in columns], _Sums()
        for measure in aggregation.measures:
            sums.add(self._exact_measure(measure, rows, columns))
        all_kinds = [*kinds, *(Kind.INTEGER for _ in columns[len(kinds) :])]
        return _Asked(keys, columns, all_kinds, sums)

    def _summed_up(self, text: str, asked: _Asked) -> Statement:
        text = f"SELECT {', '.join([*asked.keys, *asked.sums.printed]) or '1'} FROM ({text}) AS {self.fresh('t')}"
        if asked.keys:
            text += f" GROUP BY {', '.join(asked.keys)}"
        return Statement(text, tuple(asked.kinds[: len(asked.keys)]), tuple(asked.sums.places))

    def _exact_measure(self, measure: Measure, rows: Printed, inner: list[tuple[str, str]]) -> list[str]:
        if isinstance(measure, CountRows):
            return ["count(*)"]
        if isinstance(measure, Persons):
            return [f"count(DISTINCT {rows.person})"]
        if not isinstance(measure, CountOf | Sum):
            raise InvalidParameter("measure", type(measure).__name__, "a count, a number of people or a sum")
        sql = self.expression(measure.value, rows.scope)
        name = self.fresh("m")
        if isinstance(measure, CountOf):
            inner.append((name, self.counted(measure, rows.scope, sql)))
            return [f"count({name})"]
        inner.append((name, sql))
        return self._summed(name, self.span(measure.value, rows.scope))

    def _summed(self, name: str, span: Span | None) -> list[str]:
        if span is not None and span[0] >= -_LIMB and span[1] <= _LIMB:
            # At most 2^33 rows of at most 2^30 each: 64 bits hold the sum, so that one limb is enough.
            return [f"sum({name})"]
        low, high = self.limbs(name)
        return [f"sum({low})", f"sum({high})"]

    def _kept_groups(self, statement: Statement, keep: Keep) -> Statement:
        names = [self.fresh("k") for _ in statement.keys]
        width = len({place for places in statement.measures for place in places})
        others = [self.fresh("m") for _ in range(width)]
        alias = self.fresh("t")
        listed = self.listed_keys(keep, statement.keys)
        condition = self.matches(names, listed[1], statement.keys)
        text = (
            f"SELECT {', '.join([*names, *others])} FROM ({statement.text}) AS {alias}({', '.join([*names, *others])}) "
            f"INNER JOIN {listed[0]} ON {condition}"
        )
        return replace(statement, text=text)

    def _preaggregated(self, aggregation: Aggregation, bounded: Bounded) -> Statement:
        """Return an aggregation of one row for each person and group; see ``bounding.preaggregates`` for the proof."""
        limits, most = effective_limits(bounded), limit_in_group(bounded)
        below = self.relation(bounded.relation)
        person = str(below.person)
        asked = self._asked(aggregation, below)
        parts, sums = [], _Sums()  # columns of one person and group, and what is made of them
        for measure, places in zip(aggregation.measures, asked.sums.places, strict=True):
            if isinstance(measure, Persons):
                sums.add(["count(*)"])
                continue
            names = [self.fresh("m") for _ in places]
            for name, place in zip(names, places, strict=True):
                own = asked.sums.printed[place]
                parts.append((name, own if most is None else f"least({own}, {most})"))
            sums.add([f"sum({name})" for name in names])
        text = self.select([*asked.columns, (person, person)], below)
        listed = ", ".join([*asked.keys, person, *(f"{sql} AS {name}" for name, sql in parts)])
        text = f"SELECT {listed} FROM ({text}) AS {self.fresh('t')} GROUP BY {', '.join([person, *asked.keys])}"
        names = [*asked.keys, *(name for name, _ in parts)]
        kinds = [*asked.kinds[: len(asked.keys)], *(Kind.INTEGER for _ in parts)]
        scope = Scope(dict(zip(names, kinds, strict=True)), {name: name for name in names})
        rows = Printed(text, scope, person, below.person_kind)
        keys = list(zip(asked.keys, kinds, strict=False))
        chosen = self.limited(rows, (), keys, (), Limits(groups=limits.groups))
        return self._summed_up(chosen.text, replace(asked, sums=sums))


def _zero(value: Any) -> Any:
    """Return 0 for a real of -0: both are one group, written one way."""
    return 0.0 if isinstance(value, float) and value == 0.0 else value
