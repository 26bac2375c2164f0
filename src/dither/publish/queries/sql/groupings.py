"""ROLLUP, CUBE, GROUPING SETS and GROUPING: several groupings of the same private rows, in one report.

Where all keys have public values, every grouping is measured with its share of the loss, and the totals are made to
agree. Where groups are to be discovered and all that is asked are counts and sums, the finest grouping is measured, and
beside it every grouping without a discovered key: the total of all rows, of shown groups and others. Groupings with
some of the discovered keys are sums over the groups that are shown, and say so. Anything else is measured grouping by
grouping.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from dither.data import DataSet, Expression, Keep, Kind, Literal, Name, Relation
from dither.data.expressions import kind_of
from dither.publish.queries.assemble import free_name, make_query
from dither.publish.queries.query import Aggregate, Key, Query
from dither.publish.queries.reports.report import output_kinds
from dither.publish.queries.reports.views import (
    View,
    ViewGroup,
    ViewMeasure,
    ViewRelease,
    ViewSelect,
    ViewSet,
    ViewTotals,
)
from dither.publish.queries.sql.natures import after_rows
from dither.publish.queries.sql.parse import Parsed
from dither.publish.queries.sql.rows import Rows
from dither.publish.queries.sql.scope import Scope
from dither.publish.queries.work import step

if TYPE_CHECKING:
    from sqlglot import exp

#: More groupings in one query are refused.
_MOST_SETS: Final = 32
_NESTED: Final = ("rollup", "cube", "groupingsets")
_COUNTS: Final = ("count", "count_of")
_ADDITIVE: Final = (*_COUNTS, "sum")

Places = tuple[int, ...]
Mark = tuple[str, Places]


class Sets(NamedTuple):
    """Several groupings of the same rows.

    Args:
        dataset: the schema.
        relation: the private rows.
        keys: all keys.
        aggregates: what is measured in every group.
        sets: which of the keys each grouping has, by their places.
        marks: columns that say which keys a grouping does not have.

    """

    dataset: DataSet
    relation: Relation
    keys: Sequence[Key]
    aggregates: Sequence[Aggregate]
    sets: Sequence[Places]
    marks: Sequence[Mark]

    def query(self, places: Places) -> Query:
        """Return the query of one grouping; rows outside the public values of any key count in none."""
        relation = self.relation
        for key in self.keys:
            if key.values is not None:
                relation = Keep(relation, (key.value,), tuple((value,) for value in key.values))
        keys = [self.keys[place] for place in places]
        names = [*(key.name for key in keys), *(aggregate.name for aggregate in self.aggregates)]
        return make_query(self.dataset, relation, keys, self.aggregates, [(name, Name(name)) for name in names])


def plain_grouping(select: exp.Expression) -> exp.Expression:
    """Return a copy of a SELECT that groups by all the columns of its grouping sets."""
    plain = select.copy()
    group = plain.args["group"]
    found = [node for part in _parts(group) for one in part for node in one]
    _regroup(group, list(dict.fromkeys(found)))
    return plain


def _regroup(group: exp.Expression, nodes: list[exp.Expression]) -> None:
    """Group by some expressions, and by nothing else."""
    for name in (*_NESTED, "grouping_sets"):
        group.set(name, None)
    group.set("expressions", nodes)


def grouping_sets(
    parsed: Parsed, rows: Rows, select: exp.Expression, scope: Scope, keys: Sequence[Expression]
) -> list[Places]:
    """Return the groupings of GROUP BY, each by the places of its keys; one that occurs twice is taken once."""
    from dither.publish.queries.sql.grouping import group_keys

    group = select.args["group"]
    found: dict[Places, None] = {}
    known: dict[exp.Expression, Places] = {}
    # One copy for all, of which nothing is let go: what is known of a tree is known by its identity.
    one = select.copy()
    _regroup(one.args["group"], [])
    parsed.made.append(one)

    def places(nodes: Sequence[exp.Expression]) -> Places:
        """Return the places of the keys that some grouping expressions are."""
        every: set[int] = set()
        for node in nodes:
            if node not in known:
                parsed.made.append(node.copy())
                one.args["group"].set("expressions", [parsed.made[-1]])
                known[node] = tuple(keys.index(value) for _, value in group_keys(rows, one, scope))
            every |= set(known[node])
        return tuple(sorted(every))

    for chosen in itertools.product(*(_parts(group))):
        step(1 + sum(map(len, chosen)))
        found.setdefault(places([node for one in chosen for node in one]))
        if len(found) > _MOST_SETS:
            parsed.refuse(group, f"more than {_MOST_SETS} groupings in one query", "list those that are needed")
    return list(found)


def _parts(group: exp.Expression) -> list[list[list[exp.Expression]]]:
    """Return for every part of GROUP BY its groupings, each a list of expressions."""
    plain = [node for node in group.expressions if node.key not in _NESTED]
    parts: list[list[list[exp.Expression]]] = [[plain]] if plain else []
    nested = [node for node in group.expressions if node.key in _NESTED]
    # Releases of sqlglot before 30.1 keep them apart; WITH ROLLUP is about all that is grouped by.
    for name in (*_NESTED[:2], "grouping_sets"):
        for node in group.args.get(name) or ():
            if node.expressions:
                nested.append(node)
            elif plain and name in _NESTED[:2]:
                parts = [_expanded(name, [[one] for one in plain])]
    return parts + [_groupings(node) for node in nested]


def _groupings(node: exp.Expression) -> list[list[exp.Expression]]:
    if node.key == "groupingsets":
        found: list[list[exp.Expression]] = []
        for one in node.expressions:
            found += _groupings(one) if one.key in _NESTED else [_members(one)]
        return found
    return _expanded(node.key, [_members(one) for one in node.expressions])


def _expanded(kind: str, members: list[list[exp.Expression]]) -> list[list[exp.Expression]]:
    """Return the groupings of ROLLUP, every beginning of a list, or of CUBE, every choice of it; the finest first."""
    many = len(members)
    if kind == "rollup":
        step(many * (many + 1) // 2)
        chosen: list[tuple[int, ...]] = [tuple(range(size)) for size in range(many, -1, -1)]
    else:
        # There are 2^many: each is counted before it is made.
        chosen = []
        for size in range(many, -1, -1):
            for part in itertools.combinations(range(many), size):
                step(size + 1)
                chosen.append(part)
    return [[node for place in part for node in members[place]] for part in chosen]


def _members(node: exp.Expression) -> list[exp.Expression]:
    while node.key == "paren":
        node = node.this
    return list(node.expressions) if node.key == "tuple" else [node]


def grouping_marks(
    rows: Rows, select: exp.Expression, scope: Scope, keys: Sequence[Expression], aggregates: Sequence[Aggregate]
) -> tuple[dict[int, str], list[Mark]]:
    """Return the column of every GROUPING(...) in a SELECT, and what the columns say."""
    scalars = rows.scalars(scope)
    aliases = {item.alias.lower(): item.this for item in select.expressions if item.key == "alias"}
    found: dict[int, str] = {}
    marks: list[Mark] = []
    for part in after_rows(select):
        for node in part.walk():
            if node.key not in ("grouping", "groupingid"):
                continue
            places = []
            for one in node.expressions:
                word = one.name.lower() if one.key == "column" and not one.table else ""
                value = scalars.value(aliases.get(word, one) if word not in scope.relation.columns else one).expression
                if value not in keys:
                    rows.parsed.refuse(part, "GROUPING of what is not grouped by", "name a column of GROUP BY")
                places.append(keys.index(value))
            name = free_name("__grouping", [mark for mark, _ in marks])
            marks.append((name, tuple(places)))
            found[id(node)] = name
    return found, marks


def released_sets(sets: Sets, release: Callable[[Query], View]) -> View:
    """Return the groups of all groupings one below the other, released: keys, aggregates, marks."""
    is_public = all(key.values is not None for key in sets.keys)
    additive = tuple(one.name for one in sets.aggregates if one.function in _ADDITIVE)
    whole = tuple(range(len(sets.keys)))
    if not is_public and len(additive) == len(sets.aggregates) and whole in sets.sets:
        return _summed_up(sets, release, whole)
    tables = [release(sets.query(places)) for places in sets.sets]
    kinds = [kind_of(key.value, sets.relation.columns) for key in sets.keys]
    released = [table for table in tables if isinstance(table, ViewRelease)]
    measured = output_kinds(sets.query(sets.sets[0]))
    if is_public and len(released) == len(tables):
        measures = tuple(
            (one.name, Kind.REAL if one.function == "sum" else measured[one.name]) for one in sets.aggregates
        )
        keys = tuple((key.name, kind, len(key.values or ())) for key, kind in zip(sets.keys, kinds, strict=True))
        return ViewTotals(tuple(zip(released, sets.sets, strict=True)), keys, measures, additive, tuple(sets.marks))
    views = [_padded(sets, table, places, kinds) for table, places in zip(tables, sets.sets, strict=True)]
    return _stacked(views)


def _summed_up(sets: Sets, release: Callable[[Query], View], whole: Places) -> View:
    """Return groupings as sums over the groups of the finest one, but those without a discovered key: measured."""
    finest = release(sets.query(whole))
    kinds = [finest.columns[key.name] for key in sets.keys]
    views = []
    for places in sets.sets:
        view = finest
        if all(sets.keys[place].values is not None for place in places):
            view = release(sets.query(places))
        elif places != whole:
            keys = tuple((sets.keys[place].name, Name(sets.keys[place].name)) for place in places)
            sums = tuple(ViewMeasure(one.name, "sum", Name(one.name)) for one in sets.aggregates)
            view = ViewGroup(finest, keys, sums)
        views.append(_padded(sets, view, places, kinds))
    return _stacked(views)


def _padded(sets: Sets, view: View, places: Places, kinds: Sequence[Kind]) -> View:
    """Return a grouping with NULL for the keys that it does not have, and its marks."""
    outputs: list[tuple[str, Expression]] = [
        (key.name, Name(key.name) if place in places else Literal(None, kind))
        for place, (key, kind) in enumerate(zip(sets.keys, kinds, strict=True))
    ]
    outputs += [(one.name, Name(one.name)) for one in sets.aggregates]
    for name, marked in sets.marks:
        mark = 0
        for place in marked:
            mark = 2 * mark + (place not in places)
        outputs.append((name, Literal(mark, Kind.INTEGER)))
    return ViewSelect(view, tuple(outputs))


def _stacked(views: Sequence[View]) -> View:
    whole = views[0]
    for view in views[1:]:
        whole = ViewSet(whole, view, "union", True)
    return whole
