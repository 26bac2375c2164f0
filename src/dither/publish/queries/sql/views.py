"""Queries over released tables: which private queries a text needs, and the view of what they release.

Every SELECT that aggregates over people becomes a private query, an identical one once; everything around it reads
released and public tables, and becomes a view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from dither.data import DataSet, Expression, Kind, Literal, Name
from dither.data.expressions import kind_of, names_in
from dither.errors import DitherError, InvalidParameter
from dither.publish.queries.assemble import conjunction, conjuncts, free_name, make_key, make_query
from dither.publish.queries.query import Key, Query
from dither.publish.queries.reports.report import MOST_QUERIES, release_of
from dither.publish.queries.reports.views import (
    View,
    ViewDistinct,
    ViewGroup,
    ViewJoin,
    ViewMeasure,
    ViewRelease,
    ViewSelect,
    ViewSet,
    ViewSlice,
    ViewSort,
    ViewWhere,
)
from dither.publish.queries.sql.correlation import tied
from dither.publish.queries.sql.expressions import Scalars, Typed
from dither.publish.queries.sql.grouping import group_keys, over_groups
from dither.publish.queries.sql.groupings import Sets, grouping_marks, grouping_sets, plain_grouping, released_sets
from dither.publish.queries.sql.natures import (
    Natures,
    after_rows,
    aggregates_over_rows,
    bare,
    groups,
    has_grouping_sets,
    is_set,
    needs_view,
)
from dither.publish.queries.sql.numbers import whole_number
from dither.publish.queries.sql.parse import Parsed
from dither.publish.queries.sql.rows import Environment, Rows
from dither.publish.queries.sql.scope import Scope, check_different
from dither.publish.queries.sql.sources import has_subquery, parts_of_condition
from dither.publish.queries.sql.stages import Inner, Stage
from dither.publish.queries.sql.view_sources import Sources, read_sources
from dither.publish.queries.sql.view_windows import ordered, read_measure
from dither.publish.queries.work import step

if TYPE_CHECKING:
    from sqlglot import exp

    from dither.publish.queries.sql.select import Measured

_CLAUSES = (
    *("expressions", "from_", "from", "joins", "where", "group", "having", "qualify", "windows", "distinct"),
    *("order", "limit", "offset", "with_", "with"),
)


class Asked(NamedTuple):
    """What the translator of single private queries offers to this one."""

    query: Callable[[exp.Expression, Environment], Query]
    label: Callable[[exp.Expression], str]
    limit: Callable[[exp.Expression], int | None]
    measured: Callable[[Rows, Scope, Sequence[Key]], Measured]


class Views:
    """Translates one text into private queries and a view of their tables."""

    def __init__(self, parsed: Parsed, dataset: DataSet, natures: Natures, asked: Asked) -> None:
        self.parsed, self.dataset, self.natures, self.asked = parsed, dataset, natures, asked
        self.queries: dict[Query, str] = {}
        self._known: dict[int, View] = {}

    def view(self, select: exp.Expression, environment: Environment, called: str = "") -> View:
        """Return what a query over released tables shows; one that is named twice is made once."""
        step()
        select = bare(select)
        if id(select) not in self._known:
            self._known[id(select)] = self._made(select, environment, called)
        return self._known[id(select)]

    def release(self, query: Query, called: str) -> View:
        """Return the released table of a private query; an identical query is released once."""
        if query not in self.queries:
            if len(self.queries) >= MOST_QUERIES:
                self.parsed.refuse(None, f"the text needs more than {MOST_QUERIES} private queries", "split it")
            self.queries[query] = free_name(called or f"release_{len(self.queries) + 1}", self.queries.values())
        return release_of(self.queries[query], query)

    def _made(self, select: exp.Expression, environment: Environment, called: str) -> View:
        rows = self.natures.rows()
        if is_set(select):
            return self._together(select, rows.environment(select, environment))
        if select.key != "select":
            self.parsed.refuse(select, f"{select.key.upper()[:40]} is no query", "write SELECT")
        known = rows.environment(select, environment)
        rows.only(select, *_CLAUSES)
        people = self.natures.reads_people(select, environment)
        if people and not needs_view(select, people=True):
            return self.release(self.asked.query(select, environment), called)
        stage = self._released(select, known, called) if people else self._read(select, known)
        return self._finished(select, stage)

    # What is read.

    def _stage(self, select: exp.Expression, known: Environment, view: View, sources: Sources) -> Stage:
        named = {word.this.name.lower(): word for word in select.args.get("windows") or ()}
        return Stage(
            self.parsed,
            view,
            sources.column,
            lambda node: None,
            self._inner(known),
            sources.visible,
            named,
        )

    def _inner(self, known: Environment) -> Inner:
        return Inner(
            lambda node: self.view(node, known),
            lambda node, is_outside: tied(self.parsed, self.dataset, node, known, is_outside),
            lambda node: self.natures.has_people(node, known),
            self._has_all_groups,
        )

    def _has_all_groups(self, view: View) -> bool:
        """Return whether no group is missing that has rows: those of a release are all declared."""
        waiting: list[View] = [view]
        while waiting:
            one = waiting.pop()
            waiting += one.below()
            if isinstance(one, ViewRelease):
                query = next(query for query, name in self.queries.items() if name == one.release)
                if any(key.values is None for key in query.keys):
                    return False
        return True

    def _read(self, select: exp.Expression, known: Environment) -> Stage:
        """Return the rows of released and public tables, grouped where the SELECT says so."""
        sources = read_sources(self.parsed, self.dataset, select, known, self.view)
        stage = self._stage(select, known, sources.view, sources)
        where = select.args.get("where")
        parts = [] if where is None else parts_of_condition(where.this)
        # What has no subquery comes first, so that joins meet by it before a column for a subquery stands beside them.
        for part in sorted(parts, key=has_subquery):
            condition = stage.scalars(windows=False).condition(part)
            stage.view = filtered(stage.view, conjuncts(condition))
        return self._grouped(select, known, stage) if groups(select) else stage

    def _grouped(self, select: exp.Expression, known: Environment, below: Stage) -> Stage:
        """Return one row for each group of released rows."""
        if has_grouping_sets(select):
            self.parsed.refuse(
                select.args["group"], "ROLLUP, CUBE and GROUPING SETS of released rows", "ask them of private rows"
            )
        scalars = below.scalars(windows=False)
        nodes = _key_nodes(self.parsed, select, below)
        keys: dict[Expression, str] = {}
        for index, (node, name) in enumerate(nodes, 1):
            value = scalars.settled(scalars.value(node), Kind.TEXT).expression
            if value not in keys:
                keys[value] = free_name(name or f"key_{index}", keys.values())
        measures: dict[tuple[object, ...], ViewMeasure] = {}
        found: dict[int, str] = {}
        for part in after_rows(select):
            for node in aggregates_over_rows(part):
                measure = read_measure(scalars, node, lambda: below.view)
                name = free_name("measure", [*keys.values(), *(one.name for one in measures.values())])
                made = measures.setdefault(tuple(measure), ViewMeasure(name, *measure))
                found[id(node)] = made.name
        view = ViewGroup(below.view, tuple((name, value) for value, name in keys.items()), tuple(measures.values()))

        def special(node: exp.Expression) -> Typed | None:
            if id(node) in found:
                return Typed(Name(found[id(node)]), view.columns[found[id(node)]])
            if node.key in ("literal", "boolean", "null", "interval") or any(True for _ in aggregates_over_rows(node)):
                return None
            value = _value_of(scalars, node)
            return None if value not in keys else Typed(Name(keys[value]), view.columns[keys[value]])

        def column(node: exp.Column) -> Typed:
            below.scalars().column(node)
            self.parsed.refuse(node, f"{node.name} is neither grouped by nor inside an aggregate", "add it to GROUP BY")

        visible = [(name, Name(name), "") for name in keys.values()]
        named = {word.this.name.lower(): word for word in select.args.get("windows") or ()}
        return Stage(self.parsed, view, column, special, self._inner(known), visible, named)

    def _released(self, select: exp.Expression, known: Environment, called: str) -> Stage:
        """Return the groups of private rows, released: keys and aggregates by name."""
        rows = self.natures.rows()
        scope = rows.scope(select, known)
        nested = has_grouping_sets(select)
        plain = plain_grouping(select) if nested else select
        pairs = group_keys(rows, plain, scope)
        keys = [make_key(name, value, scope.relation) for name, value in pairs]
        measured = self.asked.measured(rows, scope, keys)
        found: dict[int, Typed] = {}
        # Aggregates that SELECT names come first, so that they keep these names wherever else they occur.
        for item in select.expressions:
            if item.key == "alias" and any(node is item.this for node in aggregates_over_rows(item)):
                found[id(item.this)] = measured.typed(item.this, self.asked.label(item))
        for part in after_rows(select):
            for node in aggregates_over_rows(part):
                if id(node) not in found:
                    found[id(node)] = measured.typed(node)
        marks: Mapping[int, str] = {}
        if nested:
            sets = grouping_sets(self.parsed, rows, select, scope, [value for _, value in pairs])
            marks, columns = grouping_marks(rows, select, scope, [value for _, value in pairs], measured.aggregates)
            how = Sets(self.dataset, scope.relation, keys, measured.aggregates, sets, columns)
            view = released_sets(how, lambda query: self.release(query, called))
        else:
            names = [*(key.name for key in keys), *(aggregate.name for aggregate in measured.aggregates)]
            outputs = [(name, Name(name)) for name in names]
            query = make_query(self.dataset, scope.relation, keys, measured.aggregates, outputs)
            view = self.release(query, called)

        def aggregate(node: exp.Expression) -> Typed:
            made = found.get(id(node)) or measured.typed(node)
            # Sums of integers over groupings are reals; what is made of several numbers follows from them.
            return Typed(made.expression, kind_of(made.expression, view.columns))

        base = over_groups(rows, scope, pairs, aggregate)

        def special(node: exp.Expression) -> Typed | None:
            if id(node) in marks:
                return Typed(Name(marks[id(node)]), Kind.INTEGER)
            return base._special(node)

        visible = [(name, Name(name), "") for name, _ in pairs]
        named = {word.this.name.lower(): word for word in select.args.get("windows") or ()}
        return Stage(self.parsed, view, base.column, special, self._inner(known), visible, named)

    # What is shown.

    def _finished(self, select: exp.Expression, stage: Stage) -> View:
        """Return the outputs of a SELECT: HAVING, windows, QUALIFY, order, DISTINCT, OFFSET and LIMIT."""
        aliases = {item.alias.lower(): item.this for item in select.expressions if item.key == "alias"}
        having = select.args.get("having")
        if having is not None:
            condition = stage.scalars(aliases, windows=False).condition(having.this)
            stage.view = ViewWhere(stage.view, condition)
        outputs = self._outputs(select, stage)
        qualify = select.args.get("qualify")
        order = self._order(select, stage, stage.scalars(aliases, aliases_first=True), outputs)
        if qualify is not None:
            condition = stage.scalars(aliases).condition(qualify.this)
            stage.view = ViewWhere(stage.view, condition)
        view = ViewSort(stage.view, tuple(order)) if order else stage.view
        view = ViewSelect(view, tuple(outputs))
        distinct = select.args.get("distinct")
        if distinct is not None:
            if distinct.args.get("on") is not None:
                self.parsed.refuse(select, "DISTINCT ON", "write QUALIFY ROW_NUMBER() OVER (PARTITION BY ...) = 1")
            view = ViewDistinct(view)
        return self._sliced(select, view)

    def _sliced(self, select: exp.Expression, view: View) -> View:
        limit, offset = self.asked.limit(select), self._offset(select)
        return view if limit is None and not offset else ViewSlice(view, offset, limit)

    def _offset(self, select: exp.Expression) -> int:
        clause = select.args.get("offset")
        if clause is None:
            return 0
        found = Scalars(self.parsed, self._no_column, lambda node: None).whole_constant(clause.expression)
        if not 0 <= found <= 10**9:
            raise InvalidParameter("OFFSET", found, "an integer from 0 to 1000000000")
        return found

    def _no_column(self, node: exp.Column) -> Typed:
        self.parsed.refuse(node, "OFFSET of something else than a number", "write OFFSET 10")

    def _outputs(self, select: exp.Expression, stage: Stage) -> list[tuple[str, Expression]]:
        check_different(self.parsed, select, [self.asked.label(i) for i in select.expressions if i.key == "alias"])
        said = {self.asked.label(item).lower() for item in select.expressions if item.key == "alias"}
        scalars, found = stage.scalars(), list[tuple[str, Expression]]()
        for index, item in enumerate(select.expressions, start=1):
            if item.key == "star" or (item.key == "column" and item.this.key == "star"):
                found += self._starred(item, stage, [*said, *(name for name, _ in found)])
                continue
            value = scalars.settled(scalars.value(item), Kind.TEXT).expression
            if item.key == "alias":
                name = self.asked.label(item)
            else:
                label = item.name if item.key == "column" else f"column_{index}"
                if isinstance(value, Name) and not value.name.startswith("__") and item.key != "column":
                    label = value.name
                name = free_name(label, [*said, *(known for known, _ in found)])
            found.append((name, value))
        return found

    def _starred(self, item: exp.Expression, stage: Stage, taken: list[str]) -> list[tuple[str, Expression]]:
        star = item if item.key == "star" else item.this
        self.natures.rows().only(star)
        table = str(item.args["table"].name).lower() if item.args.get("table") else ""
        found: list[tuple[str, Expression]] = []
        for shown, value, source in stage.visible:
            if not table or source.lower() == table:
                found.append((free_name(shown, [*taken, *(name for name, _ in found)]), value))
        if not found:
            self.parsed.refuse(item, "a star that means no column", "name the columns")
        return found

    def _order(
        self, select: exp.Expression, stage: Stage, scalars: Scalars, outputs: list[tuple[str, Expression]]
    ) -> list[tuple[Expression, bool, bool]]:
        clause = select.args.get("order")
        found: list[tuple[Expression, bool, bool]] = []
        for part in clause.expressions if clause is not None else ():
            node, how = part.this, (bool(part.args.get("desc")), bool(part.args.get("nulls_first")))
            if node.key == "literal" and not node.is_string:
                found.append((self._at(node, outputs), *how))
            elif node.key == "var" or (node.key == "column" and node.name.lower() == "all" and not node.table):
                found += [(value, *how) for _, value in outputs]
            else:
                found.append(ordered(scalars, part))
        return found

    def _at(self, node: exp.Expression, outputs: list[tuple[str, Expression]]) -> Expression:
        position = whole_number(str(node.this), len(outputs)) or 0
        if position < 1:
            rule = f"a position from 1 to {len(outputs)}"
            raise InvalidParameter(f"ORDER BY at {self.parsed.place(node)}", str(node.this), rule)
        return outputs[position - 1][1]

    # UNION, EXCEPT, INTERSECT.

    def _together(self, select: exp.Expression, known: Environment) -> View:
        self.natures.rows().only(select, "this", "expression", "distinct", "order", "limit", "offset", "with_", "with")
        for side in (select.this, select.expression):
            if self.natures.has_people(side, known):
                self.parsed.refuse(
                    side, f"{select.key.upper()} of private rows shows raw rows", "aggregate each side, or what is read"
                )
        left, right = self.view(select.this, known), self.view(select.expression, known)
        try:
            view: View = ViewSet(*_alike(left, right), select.key, not select.args.get("distinct"))
        except InvalidParameter as error:
            place = self.parsed.place(select)
            raise InvalidParameter(f"{select.key.upper()} at {place}", error.offender, error.rule) from None
        names = {name.lower(): name for name in view.columns}

        def column(node: exp.Column) -> Typed:
            if node.name.lower() not in names:
                rule = f"one of {', '.join(view.columns)}"
                raise InvalidParameter(f"column at {self.parsed.place(node)}", node.name, rule)
            return Typed(Name(names[node.name.lower()]), view.columns[names[node.name.lower()]])

        outputs = [(name, Name(name)) for name in view.columns]
        stage = Stage(self.parsed, view, column, lambda node: None, self._inner(known), [], {})
        order = self._order(select, stage, stage.scalars(windows=False), list[tuple[str, Expression]](outputs))
        if order:
            view = ViewSelect(ViewSort(stage.view, tuple(order)), tuple(outputs))
        return self._sliced(select, view)


def filtered(view: View, parts: tuple[Expression, ...]) -> View:
    """Return the rows for which all parts hold; joins meet by them where they can."""
    if not parts:
        return view
    if not (isinstance(view, ViewJoin) and view.how in ("cross", "inner")):
        return ViewWhere(view, conjunction(parts))
    left, right = view.left.columns.keys(), view.right.columns.keys()
    mine = tuple(part for part in parts if names_in(part) <= left)
    theirs = tuple(part for part in parts if part not in mine and names_in(part) <= right)
    rest = [part for part in parts if part not in mine and part not in theirs]
    rest += [] if view.condition is None else [view.condition]
    sides = filtered(view.left, mine), filtered(view.right, theirs)
    return ViewJoin(*sides, "inner", conjunction(rest)) if rest else ViewJoin(*sides, "cross", None)


def _alike(left: View, right: View) -> tuple[View, View]:
    """Return two views with a bare NULL of either side given the kind of the other."""
    sides = [left, right]
    kinds = [list(side.columns.values()) for side in sides]
    for number, side in enumerate(sides):
        if isinstance(side, ViewSelect) and len(kinds[0]) == len(kinds[1]):
            outputs = [
                (name, Literal(None, kind) if isinstance(value, Literal) and value.value is None else value)
                for (name, value), kind in zip(side.outputs, kinds[1 - number], strict=True)
            ]
            sides[number] = replace(side, outputs=tuple(outputs))
    return sides[0], sides[1]


def _value_of(scalars: Scalars, node: exp.Expression) -> Expression | None:
    try:
        return scalars.value(node).expression
    except DitherError:
        return None


def _key_nodes(parsed: Parsed, select: exp.Expression, below: Stage) -> list[tuple[exp.Expression, str]]:
    """Return the grouping expressions of a SELECT over released rows, and how SELECT calls them."""
    group = select.args.get("group")
    if group is None:
        return []
    items = {id(item): item.this if item.key == "alias" else item for item in select.expressions}
    aliases = {item.alias.lower(): item.this for item in select.expressions if item.key == "alias"}
    found: list[exp.Expression] = []
    if group.args.get("all"):
        found = [node for node in items.values() if not any(True for _ in aggregates_over_rows(node))]
    for node in group.expressions:
        if node.key == "literal":
            position = 0 if node.is_string else whole_number(str(node.this), len(items)) or 0
            if position < 1:
                rule = f"a position from 1 to {len(items)}, or a column"
                raise InvalidParameter(f"position at {parsed.place(node)}", str(node.this), rule)
            found.append(list(items.values())[position - 1])
        elif node.key == "column" and not node.table and node.name.lower() in aliases and not below._resolves(node):
            found.append(aliases[node.name.lower()])
        else:
            found.append(node)
    for node in found:
        if any(True for _ in aggregates_over_rows(node)):
            parsed.refuse(node, "GROUP BY an aggregate", "compute it in a subquery, and group by its name")
    return [(node, node.name if node.key == "column" else "") for node in found]
