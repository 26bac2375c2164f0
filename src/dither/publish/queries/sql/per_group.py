"""Aggregates whose bounds are those of one person in one group: ``SUM(x, contribution_bounds_per_group => (0, 10))``.

Such a query is rewritten before it is read: a subquery makes one row for each person and group, with the person's own
count, sum or mean there, and the query clamps those. What is not bounded that way cannot stand beside it, because its
rows are others; people can be counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dither.data import Scan
from dither.data.own_tables import parts_of
from dither.data.relations import person_columns
from dither.publish.queries.assemble import free_name
from dither.publish.queries.sql.aggregates import is_aggregate
from dither.publish.queries.sql.grouping import group_nodes
from dither.publish.queries.sql.words import BOUNDED

if TYPE_CHECKING:
    from sqlglot import exp

    from dither.publish.queries.sql.rows import Environment, Rows
    from dither.publish.queries.sql.scope import Scope

_PERSON: Final = "bounded_person"
_CLAUSES: Final = ("having", "order", "limit", "offset", "distinct", "with_", "with", "qualify")


def with_person_totals(rows: Rows, select: exp.Expression, environment: Environment) -> exp.Expression:
    """Return a SELECT over persons' totals in place of aggregates with bounds per group; others as they are."""
    if not any(_is_bounded(node) for node in _shown(select)):
        return select
    scope = rows.scope(select, environment)
    if not scope.relation.has_persons:
        rows.parsed.refuse(select, "bounds per group where each row is its own unit", "write SUM(CLAMP(x, low, high))")
    return _Rewritten(rows, select, scope).select()


def _is_bounded(node: exp.Expression) -> bool:
    return node.key == "anonymous" and str(node.name) == BOUNDED


def _shown(select: exp.Expression) -> list[exp.Expression]:
    parts = [*select.expressions, select.args.get("having"), select.args.get("order")]
    return [node for part in parts if part is not None for node in part.walk()]


class _Rewritten:
    def __init__(self, rows: Rows, select: exp.Expression, scope: Scope) -> None:
        from sqlglot import exp

        self.exp: Any = exp
        self.rows, self.old, self.scope = rows, select, scope
        self.keys = [node.copy() for node in group_nodes(rows, select, scope)]
        self.totals: list[exp.Expression] = []
        self.names = [item.alias_or_name for item in select.expressions]

    def select(self) -> exp.Expression:
        """Return the outer SELECT over the inner one."""
        outer = self.old.copy()
        outer.set("expressions", [self._item(item) for item in self.old.expressions])
        for part in ("having", "order"):
            if outer.args.get(part) is not None:
                outer.set(part, outer.args[part].transform(self._changed))
        for part in ("joins", "where", "with_", "with"):
            outer.set(part, None)
        keys = [self._column(f"bounded_key_{number}") for number in range(1, len(self.keys) + 1)]
        outer.set("group", self.exp.Group(expressions=keys) if keys else None)
        alias = self.exp.TableAlias(this=self.exp.to_identifier("bounded_rows"))
        source = self.exp.From(this=self.exp.Subquery(this=self._inner(), alias=alias))
        outer.set("from_" if "from_" in self.old.args else "from", source)
        return outer

    def _inner(self) -> exp.Expression:
        inner = self.old.copy()
        person = self._person()
        named = [(person, _PERSON), *((key, f"bounded_key_{place}") for place, key in enumerate(self.keys, start=1))]
        named += [(total, f"bounded_{place}") for place, total in enumerate(self.totals, start=1)]
        inner.set("expressions", [self.exp.alias_(value.copy(), name) for value, name in named])
        for part in _CLAUSES:
            inner.set(part, None)
        inner.set("group", self.exp.Group(expressions=[person.copy(), *(key.copy() for key in self.keys)]))
        return inner

    def _person(self) -> exp.Expression:
        columns = person_columns(self.scope.relation)
        for source in self.scope.sources:
            for shown, inner in source.columns:
                if inner in columns:
                    person: exp.Expression = self.exp.column(shown, table=source.alias, quoted=True)
                    return person
        reason = "bounds per group over rows without the privacy id"
        raise self.rows.parsed.refusal(self.old, reason, self._with_person())

    def _with_person(self) -> str:
        """Return how the privacy id gets beside the rows: by a subquery that shows it, or by joins to its table."""
        scans = [part for part in parts_of(self.scope.relation) if isinstance(part, Scan)]
        found: list[str] = []
        below = next((scan for scan in scans if scan.owners), None)
        while below is not None and not person_columns(below):
            parent, owner = below.parent, below.table.owner
            if parent is None or owner is None:
                break
            pairs = zip(owner.columns, owner.keys, strict=True)
            same = " AND ".join(f"{below.table.name}.{mine} = {owner.table}.{key}" for mine, key in pairs)
            found.append(f"JOIN {owner.table} ON {same}")
            below = parent
        return f"add {' '.join(found)}" if found else "select the privacy id in the subquery"

    def _column(self, name: str) -> exp.Expression:
        column: exp.Expression = self.exp.column(name)
        return column

    def _item(self, item: exp.Expression) -> exp.Expression:
        changed: exp.Expression = item.copy().transform(self._changed)
        if item.key == "column" and changed.key == "column":
            changed = self.exp.alias_(changed, item.name, quoted=True)
        elif _is_bounded(item):
            changed = self.exp.alias_(changed, self._name(item.expressions[0]), quoted=True)
        return changed

    def _name(self, inner: exp.Expression) -> str:
        """Return the name that the aggregate has without bounds."""
        words = [{"avg": "mean"}.get(inner.key, inner.key)]
        if inner.args.get("this") is not None and inner.this.key == "column":
            words.append(inner.this.name)
        name = free_name("_".join(words), self.names)
        self.names.append(name)
        return name

    def _changed(self, node: exp.Expression) -> exp.Expression:
        """Return what a part of the old query is over persons' totals."""
        if node in self.keys:
            return self._column(f"bounded_key_{self.keys.index(node) + 1}")
        if _is_bounded(node):
            return self._total(node)
        if is_aggregate(node):
            return self._people(node)
        return node

    def _total(self, node: exp.Expression) -> exp.Expression:
        inner, low, high = (*node.expressions, None, None)[:3]
        if inner is None or inner.key not in ("count", "sum", "avg") or high is None:
            self.rows.parsed.refuse(
                node, "bounds per group of this aggregate", "write them for COUNT, SUM or AVG, or clamp each row"
            )
        if inner not in self.totals:
            self.totals.append(inner.copy())
        column = self._column(f"bounded_{self.totals.index(inner) + 1}")
        clamped = self.exp.Anonymous(this="CLAMP", expressions=[column, low.copy(), high.copy()])
        total: exp.Expression = self.exp.Avg(this=clamped) if inner.key == "avg" else self.exp.Sum(this=clamped)
        return total

    def _people(self, node: exp.Expression) -> exp.Expression:
        distinct = node.args.get("this")
        if (
            node.key == "count"
            and distinct is not None
            and distinct.key == "distinct"
            and len(distinct.expressions) == 1
        ):
            value = distinct.expressions[0]
            if value.key == "column" and self.scope.find(value) in person_columns(self.scope.relation):
                people: exp.Expression = self.exp.Count(this=self.exp.Distinct(expressions=[self._column(_PERSON)]))
                return people
        raise self.rows.parsed.refusal(
            node,
            f"{self.rows.parsed.word(node)} without bounds beside an aggregate with bounds per group",
            "give each of them contribution_bounds_per_group, or ask two queries",
        )
