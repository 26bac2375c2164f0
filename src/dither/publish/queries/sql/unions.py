"""UNION ALL, UNION, EXCEPT and INTERSECT of subqueries: rows of one person beside rows of the same person.

UNION ALL puts rows side by side. The others compare rows, so both sides show the privacy id at the same place: then
rows that are equal are one person's, and each person is decided by their own rows. EXCEPT ALL and INTERSECT ALL count
equal rows: they compare rows that are numbered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.data import (
    Call,
    Cast,
    Expression,
    Filter,
    Kind,
    Largest,
    Literal,
    Name,
    PerPerson,
    Project,
    Relation,
    Smallest,
    UnionAll,
    Window,
)
from dither.data.relations import person_columns
from dither.errors import InvalidParameter
from dither.publish.queries.assemble import conjunction, free_name, projected

if TYPE_CHECKING:
    from sqlglot import exp

    from dither.publish.queries.sql.rows import Environment, Rows

SETS = ("union", "except", "intersect")


def rows_of_set(rows: Rows, node: exp.Expression, environment: Environment) -> Relation:
    """Return the rows of a UNION, EXCEPT or INTERSECT."""
    _check(rows, node)
    known = rows.environment(node, environment) if node.args.get("with_") or node.args.get("with") else environment
    left, right = (rows.subquery(side, known) for side in (node.this, node.expression))
    left, right = _alike(rows, node, left, right)
    is_all = not node.args.get("distinct")
    word = f"{node.key.upper()}{' ALL' if is_all else ''}"
    if left.has_persons != right.has_persons:
        raise InvalidParameter("union", "people and rows", "of one unit on both sides")
    if not left.has_persons and not is_all:
        rows.parsed.refuse(
            node, f"{word} compares rows, and each row is its own unit", "write UNION ALL of different tables"
        )
    if is_all and node.key == "union":
        return _together(rows, node, left, right)
    ids = person_columns(left)
    pairs = list(zip(left.columns, right.columns, strict=True))
    if not any(name in ids and other in person_columns(right) for name, other in pairs):
        rows.parsed.refuse(
            node,
            f"{word} compares rows of different people, unless both sides show the privacy id in the same place",
            "select the privacy id on both sides, or write UNION ALL",
        )
    shown = tuple((name, Name(name)) for name in left.columns)
    if node.key == "union":
        return PerPerson(UnionAll(left, right), shown, ())
    if is_all:
        left, right = _numbered(left), _numbered(right)
    keys = tuple((name, Name(name)) for name in left.columns)
    mark = free_name("side", left.columns)
    sides = [_marked(side, mark, number) for number, side in enumerate((left, right))]
    first, last = (free_name(name, left.columns) for name in ("first_side", "last_side"))
    grouped = PerPerson(UnionAll(*sides), keys, ((first, Smallest(Name(mark))), (last, Largest(Name(mark)))))
    wanted = [_is(first, 0), _is(last, 1 if node.key == "intersect" else 0)]
    return projected(Filter(grouped, conjunction(wanted)), shown)


def _check(rows: Rows, node: exp.Expression) -> None:
    for part in ("limit", "offset", "order"):
        if node.args.get(part) is not None:
            rows.parsed.refuse(
                node.args[part],
                f"{part.upper()} in a subquery chooses among the rows of different people",
                "number rows within a person by ROW_NUMBER() OVER (PARTITION BY id ...), or put it on the answer",
            )
    if node.args.get("by_name"):
        rows.parsed.refuse(node, f"{node.key.upper()} BY NAME", "select the columns of both sides in the same order")
    rows.only(node, "this", "expression", "distinct", "with_", "with")


def _together(rows: Rows, node: exp.Expression, left: Relation, right: Relation) -> Relation:
    try:
        return UnionAll(left, right)
    except InvalidParameter:
        rows.parsed.refuse(
            node,
            "a row would count on both sides of UNION ALL, and each row is its own unit",
            "unite different tables, or ask for one with OR",
        )


def _alike(rows: Rows, node: exp.Expression, left: Relation, right: Relation) -> tuple[Relation, Relation]:
    """Return both sides with columns of one kind each; NULL alone is of any kind."""
    if len(left.columns) != len(right.columns):
        rule = f"of the same number of columns on both sides: {len(left.columns)} and {len(right.columns)}"
        raise InvalidParameter(f"{node.key.upper()} at {rows.parsed.place(node)}", "SELECT", rule)
    outputs: list[list[tuple[str, Expression]]] = [[], []]
    for names in zip(left.columns, right.columns, strict=True):
        values = [_value(side, name) for side, name in zip((left, right), names, strict=True)]
        kinds = {kind for _, kind in values if kind is not None}
        wanted = next(iter(kinds)) if len(kinds) == 1 else wider(kinds)
        if wanted is None:
            shown = " and ".join(sorted(kind.value for kind in kinds))
            place = f"{node.key.upper()} at {rows.parsed.place(node)}"
            raise InvalidParameter(place, names[0], f"of one kind on both sides, not {shown}: write CAST")
        for made, name, (value, kind) in zip(outputs, names, values, strict=True):
            made.append((name, value if kind is wanted else converted(value, kind, wanted)))
    return projected(left, outputs[0]), projected(right, outputs[1])


def _value(side: Relation, name: str) -> tuple[Expression, Kind | None]:
    """Return a column and its kind, None for one that is NULL by its form."""
    made = dict(side.outputs).get(name) if isinstance(side, Project) else None
    is_null = isinstance(made, Literal) and made.value is None
    return Name(name), None if is_null else side.columns[name]


def wider(kinds: set[Kind]) -> Kind | None:
    """Return the kind to which values of different kinds are made alike; None if there is none."""
    if not kinds:
        return Kind.TEXT
    if kinds == {Kind.INTEGER, Kind.REAL}:
        return Kind.REAL
    return Kind.TIMESTAMP if kinds == {Kind.DATE, Kind.TIMESTAMP} else None


def converted(value: Expression, kind: Kind | None, wanted: Kind) -> Expression:
    """Return a value of another kind; NULL alone has none."""
    return Literal(None, wanted) if kind is None else Cast(value, wanted)


def _numbered(side: Relation) -> Relation:
    """Return rows with a number that tells equal ones apart: l and r equal rows become 1 to l and 1 to r.

    So of rows with numbers those on the left alone are max(l - r, 0), as in EXCEPT ALL, and those on both sides
    min(l, r), as in INTERSECT ALL. The numbers of a person's rows follow from these rows alone.
    """
    alike = tuple(map(Name, side.columns))
    return Window(side, free_name("equal_row", side.columns), "row_number", None, alike, ((alike[0], False),))


def _marked(side: Relation, mark: str, number: int) -> Relation:
    outputs: list[tuple[str, Expression]] = [(name, Name(name)) for name in side.columns]
    return Project(side, (*outputs, (mark, Literal(number, Kind.INTEGER))))


def _is(name: str, number: int) -> Expression:
    return Call("equal", (Name(name), Literal(number, Kind.INTEGER)))
