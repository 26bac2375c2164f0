"""FROM: tables joined in any order, with conditions in ON, USING or WHERE, within one person or to public tables.

Sources wait until what connects them is known: a private one the equality of privacy ids, a public one that of its
key. So a public table may stand first, a condition may stand in WHERE, and brackets mean what they say. A public table
that nothing connects by its whole key multiplies rows, by a public number and after the rows of a person were limited.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from dither.data import (
    Call,
    Expression,
    Filter,
    Kind,
    Literal,
    Name,
    Project,
    Relation,
    UnionAll,
)
from dither.data.expressions import names_in
from dither.data.joins import entering, joined, joined_public, most_matches
from dither.data.owners import matched
from dither.data.relations import person_columns
from dither.errors import InvalidParameter
from dither.publish.queries.assemble import conjunction, filtered, free_name
from dither.publish.queries.owned import references
from dither.publish.queries.sql.lists import with_list, without_lists
from dither.publish.queries.sql.predicates import bare
from dither.publish.queries.sql.scope import Scope, Source
from dither.publish.queries.sql.sources import (
    Both,
    Condition,
    Item,
    Reader,
    Step,
    beside,
    equalities,
    half_join,
    has_subquery,
    names_of,
    parts_of_condition,
)

if TYPE_CHECKING:
    from sqlglot import exp

    from dither.publish.queries.sql.rows import Environment, Rows


def from_clause(
    rows: Rows, first: exp.Expression, joins: Sequence[exp.Expression], where: exp.Expression | None, known: Environment
) -> tuple[Scope, list[exp.Expression]]:
    """Return the rows of FROM, and the parts of WHERE that are still to be applied."""
    reader = Reader(rows, known, lambda steps: _From(rows).joined(steps, [])[0])
    every = [*(first.args.get("joins") or ()), *joins]
    first, every, lists = without_lists(rows, first, every)
    halves = [join for join in every if str(join.args.get("kind") or "").upper() in ("SEMI", "ANTI")]
    _check_halves(rows, every, halves)
    steps = reader.steps(first, [join for join in every if all(join is not half for half in halves)])
    parts = [] if where is None else parts_of_condition(where)
    scope, rest = _From(rows).joined(steps, [*parts, *(half_join(rows, join) for join in halves)])
    for one, conditions in lists:
        scope = with_list(rows, scope, one)
        rest += conditions
    return scope, rest


def _check_halves(rows: Rows, joins: Sequence[exp.Expression], halves: Sequence[exp.Expression]) -> None:
    """Refuse a SEMI or ANTI JOIN before one that keeps rows of its right side: as a condition it would drop those."""
    is_met = False
    for join in joins:
        is_met = is_met or any(join is half for half in halves)
        side = str(join.args.get("side") or "").upper()
        if is_met and side in ("RIGHT", "FULL"):
            rows.parsed.refuse(
                join,
                f"{side} JOIN after a SEMI or ANTI JOIN",
                "put the rows before it into a subquery: FROM (SELECT ... SEMI JOIN ...) AS t RIGHT JOIN ...",
            )


class _From:
    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.parsed = rows.parsed
        self.current: Scope | None = None
        self.waiting: list[Item] = []
        self.conditions: list[Condition] = []
        self.merged: frozenset[str] = frozenset()
        self.kept: frozenset[str] = frozenset()
        self._has_comma = False

    # Joins, in the order in which conditions allow them.

    def joined(self, steps: Sequence[Step], where: Sequence[exp.Expression]) -> tuple[Scope, list[exp.Expression]]:
        """Return the joined rows and the parts of WHERE that were not used for it."""
        self._check_aliases([item for step in steps for item in step.items])
        self._inherit(steps)
        self.merged = frozenset(word for step in steps for word in step.merged)
        firm = self._firm(steps)
        sources = [source for step in steps for source in step.sources]
        for node in where:
            for inner in equalities(bare(node)):
                names = names_of(inner, sources)
                if len(names) > 1 and names <= firm:
                    self.conditions.append(Condition(inner, names, is_where=True))
        asked = [one.node for one in self.conditions]
        later = [part.node for step in steps if not step.side for part in step.conditions if has_subquery(part.node)]
        for step in steps:
            self._take(self._without(step, later))
        self._drain(force=True)
        if self.current is None:
            table = self.waiting[0].table
            self.rows.refuse_public(self.waiting[0].node, "" if table is None else table.name)
        scope = self._filtered(self.current, [one for one in self.conditions if not one.is_where])
        left = {id(one.node) for one in self.conditions if one.is_where}
        used = {id(node) for node in asked} - left
        rest = [*later, *(node for node in where if id(bare(node)) not in used)]
        if all(step.side != "RIGHT" for step in steps):
            # A star shows the tables in the order of FROM, whatever was joined first.
            places = {source.alias.lower(): place for place, source in enumerate(sources, start=1)}
            ordered = sorted(scope.sources, key=lambda source: places.get(source.alias.lower(), 0))
            scope = replace(scope, sources=tuple(ordered))
        return replace(scope, kept=self.kept), rest

    def _check_aliases(self, items: Sequence[Item]) -> None:
        seen: set[str] = set()
        for item in items:
            for source in item.sources:
                if source.alias.lower() in seen:
                    rule = "different from the others in FROM"
                    raise InvalidParameter(f"alias at {self.parsed.place(item.node)}", source.alias, rule)
                seen.add(source.alias.lower())

    def _without(self, step: Step, later: Sequence[exp.Expression]) -> Step:
        """Return a join without the conditions on subqueries, which WHERE applies to an inner join as well."""
        for part in step.conditions:
            if step.side and has_subquery(part.node):
                instead = "compute the condition in a subquery in FROM, or write JOIN"
                self.parsed.refuse(part.node, f"a subquery in the condition of a {step.side} JOIN", instead)
        left = tuple(one for one in step.conditions if all(one.node is not other for other in later))
        return replace(step, conditions=left)

    def _inherit(self, steps: Sequence[Step]) -> None:
        """Take over what a bracket keeps of public tables; nothing may be joined to it."""
        for step in steps:
            for item in step.items:
                if item.scope is not None and item.scope.kept:
                    if len(steps) > 1:
                        shown = ", ".join(sorted(item.scope.kept))
                        reason = f"all rows of {shown} are retained in brackets, and something is joined to them"
                        self.parsed.refuse(item.node, reason, "write JOIN in the brackets, or remove them")
                    self.kept = item.scope.kept

    def _firm(self, steps: Sequence[Step]) -> frozenset[str]:
        """Return the aliases whose rows are there whatever is joined to them: conditions on them may come first."""
        firm: frozenset[str] = frozenset()
        for step in steps:
            own = frozenset(source.alias.lower() for source in step.sources)
            firm = {"": firm | own, "LEFT": firm, "RIGHT": own}.get(step.side, frozenset())
        return firm

    def _take(self, step: Step) -> None:
        if not step.side:
            self._has_comma |= step.is_comma
            self.waiting += step.items
            self.conditions += step.conditions
            self._drain(force=False)
            return
        if self._has_comma and step.side in ("RIGHT", "FULL"):
            # A comma binds less than JOIN: what stands before it would not take part.
            instead = "write JOIN ... ON instead of the comma"
            self.parsed.refuse(step.join, f"{step.side} JOIN after a comma in FROM", instead)
        (item,) = step.items
        is_alone = self.current is None and all(one.scope is None for one in self.waiting)
        if is_alone and item.scope is not None and step.side in ("LEFT", "RIGHT"):
            self._beside_public(step, item)
            return
        self._drain(force=True)
        if self.current is None:
            self.rows.refuse_public(item.node, "" if item.table is None else item.table.name)
        if item.scope is None:
            self._outer_public(step, item)
        elif step.side == "FULL":
            self.current = self._full(step, item)
        else:
            first, second = (self.current, item.scope) if step.side == "LEFT" else (item.scope, self.current)
            self.current = self._persons(first, second, item, list(step.conditions), keep=True)

    def _beside_public(self, step: Step, item: Item) -> None:
        """Join private rows to the public tables that stand before them."""
        public, self.waiting = self.waiting, []
        self.current = item.scope
        if step.side == "RIGHT":
            if len(public) > 1:
                instead = "name the private table first, and write LEFT JOIN for each public one"
                self.parsed.refuse(step.join, "RIGHT JOIN after several public tables", instead)
            self._public(public[0], list(step.conditions), keep=True)
            return
        self._keep(step, public)
        self.waiting = public
        self.conditions += step.conditions
        self._drain(force=True)

    def _keep(self, step: Step, items: Sequence[Item]) -> None:
        """Note that all rows of public tables are kept: those that nobody has become groups that are empty."""
        names = frozenset[str]().union(*(item.names for item in items))
        for condition in step.conditions:
            if condition.names <= names:
                self.parsed.refuse(
                    condition.node,
                    "a condition on the public table alone in ON: its rows are retained in any case",
                    "put it into WHERE, or into a CASE inside the aggregate",
                )
        self.kept |= names

    def _outer_public(self, step: Step, item: Item) -> None:
        if step.side == "FULL":
            self.parsed.refuse(
                step.join, "FULL JOIN would keep public rows beside rows that match none", "write LEFT JOIN"
            )
        if step.side == "RIGHT":
            self._keep(step, [item])
        self._public(item, list(step.conditions), keep=step.side == "LEFT")
        if step.side == "RIGHT" and self.current is not None:
            *others, last = self.current.sources  # a column of USING is that of the side that is kept
            self.current = replace(self.current, sources=(last, *others))

    def _drain(self, *, force: bool) -> None:
        """Join what waits and can be joined; with ``force`` all of it, or refuse it."""
        while self.waiting:
            if self.current is None:
                first = next((item for item in self.waiting if item.scope is not None), None)
                if first is None:
                    return
                self.waiting.remove(first)
                self.current = first.scope
                continue
            ready = next((item for item in self.waiting if self._is_ready(item)), None)
            if ready is None and force:
                public = [item for item in self.waiting if item.table is not None]
                ready = max(public, key=lambda item: len(self._keys(item)[0]), default=self.waiting[0])
            if ready is None:
                return
            self.waiting.remove(ready)
            mine = self._usable(ready)
            self.conditions = [one for one in self.conditions if all(one is not other for other in mine)]
            if ready.scope is None:
                self._public(ready, mine, keep=False)
            else:
                self.current = self._persons(self.current, ready.scope, ready, mine, keep=False)

    def _usable(self, item: Item) -> list[Condition]:
        """Return the conditions that join an item to the rows so far; of those in WHERE only what connects them."""
        if self.current is None:
            return []
        here = frozenset(source.alias.lower() for source in self.current.sources)
        able = [one for one in self.conditions if one.names <= here | item.names]
        plain = [one for one in able if not one.is_where]
        asked = [one for one in able if one.is_where and one.names & item.names and one.names & here]
        both = self._beside(item)
        scalars = both.scalars()
        made = [scalars.condition(one.node) for one in asked]
        is_referred = item.scope is not None and self._is_matched(
            self.current.relation, item.scope.relation, made, both.prefix
        )
        for one, part in zip(asked, made, strict=True):
            if item.table is None:
                is_used = is_referred or is_person_join(part, *self._ids(self.current, item, both))
            else:
                theirs = {both.prefix + name for name in item.table.kinds}
                is_used = equated(part, theirs, theirs) is not None
            plain += [one] if is_used else []
        return plain

    def _is_ready(self, item: Item) -> bool:
        if item.table is not None:
            keys, _ = self._keys(item)
            return bool(item.table.key) and set(item.table.key) <= set(keys)
        if self.current is None:
            return False
        both = self._beside(item)
        parts = [both.scalars().condition(one.node) for one in self._usable(item)]
        if item.scope is not None and self._is_matched(self.current.relation, item.scope.relation, parts, both.prefix):
            return True
        return any(is_person_join(part, *self._ids(self.current, item, both)) for part in parts)

    def _beside(self, item: Item) -> Both:
        if self.current is None:
            raise InvalidParameter("sql", "FROM", "begun")
        left = replace(self.current, merged=self.merged)
        return beside(
            left,
            item.table if item.scope is None and item.table is not None else item.scope or left,
            item.sources[0].alias,
        )

    def _ids(self, current: Scope, item: Item, both: Both) -> tuple[frozenset[str], frozenset[str]]:
        right = frozenset[str]() if item.scope is None else person_columns(item.scope.relation)
        return person_columns(current.relation), frozenset(both.prefix + name for name in right)

    # A public table.

    def _keys(
        self, item: Item, given: Sequence[Condition] | None = None
    ) -> tuple[dict[str, Expression], list[Expression]]:
        """Return the public columns that are equated with the rows so far, and what else must hold."""
        if item.table is None:
            return {}, []
        both = self._beside(item)
        scalars = both.scalars()
        theirs = {both.prefix + name for name in item.table.kinds}
        keys: dict[str, Expression] = {}
        rest: list[tuple[str, Expression]] = []
        for one in self._usable(item) if given is None else given:
            part = scalars.condition(one.node)
            found = equated(part, theirs, theirs)
            name = "" if found is None else found[0].removeprefix(both.prefix)
            if found is None or name in keys:
                rest.append(("", part))
            else:
                keys[name] = found[1]
                rest.append((name, part))
        wanted = item.table.key if item.table.key and set(item.table.key) <= set(keys) else tuple(keys)
        return {name: keys[name] for name in wanted}, [part for name, part in rest if name not in wanted]

    def _public(self, item: Item, given: list[Condition], *, keep: bool) -> None:
        if item.table is None or self.current is None:
            return
        table, alias = item.table, item.sources[0].alias
        both = self._beside(item)
        keys, rest = self._keys(item, given)
        is_unique = bool(table.key) and set(keys) == set(table.key)
        if not is_unique and not self.current.relation.has_persons and most_matches(self.rows.dataset, table) > 1:
            written = " AND ".join(f"x = {alias}.{name}" for name in table.key)
            self.parsed.refuse(
                _place(item),
                f"{table.name} is joined on less than its unique key "
                f"({', '.join(table.key) or 'no key is declared'}), so that a row could become several, and each row "
                "is its own unit",
                f"write ON {written}" if written else "declare its key",
            )
        condition = conjunction(rest) if keep and rest else None
        relation: Relation = joined_public(
            self.rows.dataset, self.current.relation, table, keys, both.prefix, keep_unmatched=keep, condition=condition
        )
        if rest and not keep:
            relation = filtered(relation, conjunction(rest))
        self.current = both.scope.over(relation)

    # Private tables.

    def _persons(self, first: Scope, second: Scope, item: Item, given: list[Condition], *, keep: bool) -> Scope:
        both, condition = self._within(first, second, item, given)
        relation = joined(self.rows.dataset, first.relation, second.relation, condition, keep, both.prefix)
        return both.scope.over(relation)

    def _within(
        self, first: Scope, second: Scope, item: Item, given: list[Condition]
    ) -> tuple[Both, Expression | None]:
        """Return both sides of a join of private rows, and what must hold beside the equality of privacy ids."""
        place = _place(item)
        if not (first.relation.has_persons and second.relation.has_persons):
            self.parsed.refuse(
                place,
                "two private tables are joined, but each row is its own unit",
                "query each table separately; joins need a privacy id, which the curator declares",
            )
        both = beside(replace(first, merged=self.merged), second, second.sources[0].alias)
        scalars = both.scalars()
        parts = [scalars.condition(one.node) for one in given]
        ours = person_columns(first.relation)
        theirs = frozenset(both.prefix + name for name in person_columns(second.relation))
        rest = [part for part in parts if not is_person_join(part, ours, theirs)]
        if self._is_matched(first.relation, second.relation, parts, both.prefix):
            rest = parts  # along a declared reference, which means the same person
        elif len(rest) == len(parts):
            self._refuse_across(place, first)
        return both, conjunction(rest) if rest else None

    def _is_matched(self, left: Relation, right: Relation, parts: Sequence[Expression], prefix: str) -> bool:
        """Return whether conditions equate a whole declared reference with its key, or with another such reference."""
        condition = conjunction(parts) if parts else None
        return matched(self.rows.dataset, left, right, condition, prefix) is not None

    def _refuse_across(self, place: exp.Expression, first: Scope) -> NoReturn:
        ids = ", ".join(sorted(person_columns(first.relation))) or "the privacy id, which the first side must select"
        if place.key != "join" or not (place.args.get("on") or place.args.get("using")):
            self.parsed.refuse(
                place,
                "a private table is joined without a condition on the privacy id, every row with every row",
                f"add WHERE a.id = b.id with the privacy id of each table ({ids}), or write JOIN ... ON",
            )
        self.parsed.refuse(
            place,
            "private tables are joined on the privacy id and nothing less, or rows of different people would meet",
            f"write ON a.id = b.id with the id of each side ({ids}){references(self.rows.dataset)}, "
            "AND what else must hold",
        )

    def _full(self, step: Step, item: Item) -> Scope:
        """Return a FULL JOIN: a LEFT JOIN, and the rows of the right side that met none."""
        first, second = self.current, item.scope
        if first is None or second is None:
            raise InvalidParameter("sql", "FULL JOIN", "of private tables")
        both, condition = self._within(first, second, item, list(step.conditions))
        mine, theirs = entering(
            self.rows.dataset,
            first.relation,
            Project(second.relation, tuple((both.prefix + name, Name(name)) for name in second.relation.columns)),
        )
        left: Relation = joined(self.rows.dataset, mine, theirs, condition, True, "")
        marker = free_name("is_matched", left.columns)
        known = [(name, Name(name)) for name in mine.columns]
        marked = Project(mine, (*known, (marker, Literal(True, Kind.BOOLEAN))))
        right: Relation = joined(self.rows.dataset, theirs, marked, condition, True, "")
        right = Filter(right, Call("is_null", (Name(marker),)))
        outputs = [(name, Name(name)) for name in left.columns]
        others: list[tuple[str, Expression]] = [
            (name, Name(name) if name in theirs.columns else Literal(None, kind)) for name, kind in left.columns.items()
        ]
        source = self._either(step, both, outputs, others)
        ours, whose = person_columns(first.relation), person_columns(second.relation)
        either: dict[frozenset[str], str] = {}
        if ours and whose:
            name = free_name("either_person", left.columns)
            outputs.append((name, Name(min(ours))))
            others.append((name, Name(both.prefix + min(whose))))
            either = {frozenset((one, both.prefix + other)): name for one in ours for other in whose}
        relation = UnionAll(Project(left, tuple(outputs)), Project(right, tuple(others)))
        sources = (*((source,) if source.columns else ()), *both.scope.sources)
        return replace(both.scope, relation=relation, sources=sources, either={**both.scope.either, **either})

    def _either(
        self, step: Step, both: Both, outputs: list[tuple[str, Name]], others: list[tuple[str, Expression]]
    ) -> Source:
        """Add the columns of USING, which are those of the side that has a row; return them as a source."""
        columns: list[tuple[str, str]] = []
        for word, condition in zip(step.merged, step.conditions, strict=False):
            mine, theirs = (both.scope.find(part) for part in (condition.node.this, condition.node.expression))
            name = free_name(f"either_{word}", [known for known, _ in outputs])
            outputs.append((name, Name(mine)))
            others.append((name, Name(theirs)))
            columns.append((condition.node.this.name, name))
        return Source("", tuple(columns))

    def _filtered(self, scope: Scope, late: Sequence[Condition]) -> Scope:
        scope = replace(scope, merged=self.merged | scope.merged)
        if not late:
            return scope
        scalars = self.rows.scalars(scope)
        return scope.over(filtered(scope.relation, conjunction(scalars.condition(one.node) for one in late)))


def _place(item: Item) -> exp.Expression:
    """Return the join of an item, or the item itself."""
    parent: Any = item.node.parent
    found: exp.Expression = parent if parent is not None and parent.key == "join" else item.node
    return found


def equated(part: Expression, keys: Iterable[str], theirs: set[str]) -> tuple[str, Expression] | None:
    """Return the key column and the expression equated with it, if the condition has that form."""
    if isinstance(part, Call) and part.function == "equal":
        for mine, other in (part.arguments, part.arguments[::-1]):
            if isinstance(mine, Name) and mine.name in keys and not names_in(other) & theirs:
                return mine.name, other
    return None


def is_person_join(part: Expression, ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Return whether a condition equates the privacy ids of two sides."""
    if not (isinstance(part, Call) and part.function == "equal"):
        return False
    names = [argument.name for argument in part.arguments if isinstance(argument, Name)]
    return len(names) == 2 and any(a in ours and b in theirs for a, b in (names, names[::-1]))
