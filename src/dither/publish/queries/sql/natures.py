"""What a SELECT reads: rows of people, or tables that are released or public; and whether one private query answers it.

Nothing is translated here but what decides: whether a subquery that groups private rows groups them by what says whose
they are (the privacy id, a whole key or reference), and so has rows of people, or aggregates over people, and so must
be released before it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dither.data import DataSet, Name
from dither.data.owners import names_person
from dither.errors import InvalidParameter
from dither.publish.queries.sql.aggregates import is_aggregate
from dither.publish.queries.sql.grouping import group_keys
from dither.publish.queries.sql.lists import is_list
from dither.publish.queries.sql.parse import Parsed
from dither.publish.queries.sql.rows import Environment, Rows

if TYPE_CHECKING:
    from sqlglot import exp

_SETS = ("union", "except", "intersect")
_NESTED = ("rollup", "cube", "groupingsets")


def bare(select: exp.Expression) -> exp.Expression:
    """Return a query without the brackets around it."""
    while select.key in ("subquery", "paren"):
        select = select.this
    return select


def is_set(select: exp.Expression) -> bool:
    """Return whether a query puts two others together."""
    return select.key in _SETS


def sources_of(select: exp.Expression) -> list[exp.Expression]:
    """Return what FROM and JOIN name."""
    clause = select.args.get("from_") or select.args.get("from")
    return ([] if clause is None else [clause.this]) + [join.this for join in select.args.get("joins") or ()]


def aggregates_over_rows(node: exp.Expression) -> Iterator[exp.Expression]:
    """Yield the outermost aggregates below a node; those of windows are what windows are made of, and not windows."""
    stack = [node]
    while stack:
        part = stack.pop()
        if part.key in ("subquery", "select", "exists"):
            continue
        if part.key == "in" and part.args.get("query") is not None:
            stack.append(part.this)
        elif part.key == "window":
            inner = part.this
            while inner.key in ("filter", "ignorenulls", "respectnulls"):
                inner = inner.this
            below = list(inner.iter_expressions())
            below += [*(part.args.get("partition_by") or ()), *([part.args["order"]] if part.args.get("order") else [])]
            stack += below[::-1]
        elif is_aggregate(part):
            yield part
        else:
            stack += list(part.iter_expressions())[::-1]


def after_rows(select: exp.Expression) -> list[exp.Expression]:
    """Return the parts of a SELECT that are about groups or answers: all but FROM and WHERE."""
    clauses = [select.args.get(part) for part in ("having", "qualify", "order")]
    return [*select.expressions, *(clause for clause in clauses if clause is not None)]


def groups(select: exp.Expression) -> bool:
    """Return whether a SELECT aggregates."""
    if select.args.get("group") is not None or select.args.get("having") is not None:
        return True
    return any(True for part in after_rows(select) for _ in aggregates_over_rows(part))


def has_grouping_sets(select: exp.Expression) -> bool:
    """Return whether GROUP BY has ROLLUP, CUBE or GROUPING SETS."""
    group = select.args.get("group")
    if group is None:
        return False
    # Releases of sqlglot before 30.1 keep them apart from the expressions.
    return any(group.args.get(part) for part in ("rollup", "cube", "grouping_sets")) or any(
        node.key in _NESTED for node in group.expressions
    )


class Natures:
    """Says what the queries of one text read."""

    def __init__(self, parsed: Parsed, dataset: DataSet) -> None:
        self._parsed, self._dataset = parsed, dataset
        self._known: dict[int, bool] = {}

    def rows(self) -> Rows:
        """Return a translator whose tables are counted anew."""
        return Rows(self._parsed, self._dataset)

    def reads_people(self, select: exp.Expression, environment: Environment) -> bool:
        """Return whether FROM has rows of people."""
        known = self.rows().environment(select, environment)
        return any(self._has_people(source, known) for source in sources_of(select))

    def has_people(self, select: exp.Expression, environment: Environment) -> bool:
        """Return whether the rows of a query are those of people, and may not be shown."""
        select = bare(select)
        if id(select) not in self._known:
            self._known[id(select)] = self._decided(select, environment)
        return self._known[id(select)]

    def _decided(self, select: exp.Expression, environment: Environment) -> bool:
        if is_set(select):
            known = self.rows().environment(select, environment)
            return any(self.has_people(side, known) for side in (select.this, select.expression))
        if select.key != "select" or not self.reads_people(select, environment):
            return select.key != "select"
        if has_grouping_sets(select):
            return False
        if not groups(select) and select.args.get("distinct") is None:
            return True
        rows = self.rows()
        known = rows.environment(select, environment)
        scope = rows.scope(select, known)
        if groups(select):
            names = [value.name for _, value in group_keys(rows, select, scope) if isinstance(value, Name)]
        elif any(item.key == "star" for item in select.expressions):
            return True
        else:
            # Different values of several people are released as groups; with whose they are they are rows of people.
            names = [scope.find(item) for item in _columns_of(select)]
            names += [scope.of_either(item.this if item.key == "alias" else item) or "" for item in select.expressions]
        return names_person(self._dataset, scope.relation, names)

    def _has_people(self, node: exp.Expression, environment: Environment) -> bool:
        if node.key == "subquery":
            return self.has_people(node.this, environment)
        if is_list(node):
            return False  # made of constants, and of the columns of what else stands in FROM
        if node.key != "table" or node.this.key != "identifier":
            return True  # refused where rows are read
        cte = environment.get(node.name.lower())
        if cte is not None and not node.args.get("db"):
            return self.has_people(cte.select, cte.environment)
        try:
            return not self._dataset.table(node.name).is_public
        except InvalidParameter:
            return True  # refused where rows are read

    def is_one_query(self, select: exp.Expression, environment: Environment) -> bool:
        """Return whether one private query, with what it shows of its own answer, is all that is asked."""
        select = bare(select)
        if select.key != "select":
            return False
        people = self.reads_people(select, environment)
        if needs_view(select, people=people):
            return False
        if people:
            return True
        sources = sources_of(select)
        if len(sources) != 1 or groups(select) or select.args.get("distinct") is not None:
            return False
        known = self.rows().environment(select, environment)
        node = sources[0]
        if node.key == "subquery":
            inner, within = node.this, known
        elif node.key == "table" and node.name.lower() in known and not node.args.get("db"):
            cte = known[node.name.lower()]
            inner, within = cte.select, cte.environment
        else:
            return False
        inner = bare(inner)
        is_cut = inner.args.get("limit") is not None
        if is_cut and any(select.args.get(part) for part in ("where", "order", "limit")):
            return False
        return self.is_one_query(inner, within)


def needs_view(select: exp.Expression, *, people: bool) -> bool:
    """Return whether a SELECT says what a query's own outputs cannot: windows, subqueries, OFFSET, grouping sets.

    Args:
        select: one SELECT.
        people: whether FROM has rows of people.

    """
    if people and not groups(select):
        return False  # it is about rows, and is refused where rows are read
    if any(select.args.get(part) is not None for part in ("qualify", "offset")) or has_grouping_sets(select):
        return True
    order = select.args.get("order")
    for part in order.expressions if order is not None else ():
        if part.args.get("nulls_first") or part.this.key == "var" or _is_all(part.this):
            return True
    if select.args.get("distinct") is not None and groups(select):
        return True
    where = select.args.get("where")
    return any(
        node.key in ("window", "subquery", "exists") or (node.key == "in" and node.args.get("query") is not None)
        for part in (*after_rows(select), *(() if where is None or people else (where,)))
        for node in part.walk()
    )


def _columns_of(select: exp.Expression) -> list[exp.Column]:
    """Return the columns that SELECT names by themselves."""
    items: list[Any] = [item.this if item.key == "alias" else item for item in select.expressions]
    return [item for item in items if item.key == "column" and item.this.key != "star"]


def _is_all(node: exp.Expression) -> bool:
    """Whether ORDER BY says ALL, as some releases of sqlglot read it."""
    return bool(node.key == "column" and node.name.lower() == "all" and not node.args.get("table"))
