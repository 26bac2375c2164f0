# ruff: noqa: S608 - printing SQL is what this module is for; every name and constant in it is quoted by the emitter
"""Printing the relations of graphs: edges, each once and not more than declared, and degrees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dither.data.engines.emit_expressions import Scope
from dither.data.expressions import Kind
from dither.data.graph_relations import EndDegrees, FirstPairs

if TYPE_CHECKING:
    from dither.data.engines.emit_relations import Printed, RelationEmitter


def first_pairs(emitter: RelationEmitter, below: Printed, pairs: FirstPairs) -> Printed:
    """Return the different pairs; where there are too many, those with the smallest hash."""
    from dither.data.engines.emit_relations import Printed  # it is this module's caller

    names = {name: emitter.fresh("c") for name in pairs.columns}
    kinds = pairs.columns
    listed = ", ".join(f"{emitter.group_key(below.scope.names[name], kinds[name])} AS {names[name]}" for name in kinds)
    text = f"SELECT DISTINCT {listed} FROM ({below.text}) AS {emitter.fresh('t')}"
    if pairs.most is not None:
        hashed = emitter.fresh("h")
        parts = ["'row;'", *(emitter.canonical(names[name], kind) for name, kind in kinds.items())]
        # Always the portable hash: an edge that counts on one engine counts on all.
        digest = emitter.digest("(" + " || ".join(parts) + ")")
        order = ", ".join([f"{hashed} ASC", *(emitter.order_key(names[name], kind) for name, kind in kinds.items())])
        columns = ", ".join(names.values())
        ranked = f"SELECT {columns}, {digest} AS {hashed} FROM ({text}) AS {emitter.fresh('t')}"
        text = f"SELECT {columns} FROM ({ranked}) AS {emitter.fresh('t')} ORDER BY {order} LIMIT {pairs.most}"
    return Printed(text, Scope(kinds, names), None, None)


def end_degrees(emitter: RelationEmitter, below: Printed, degrees: EndDegrees) -> Printed:
    """Return the nodes of pairs and how many pairs each is in; the pairs are computed once."""
    from dither.data.engines.emit_relations import Printed  # it is this module's caller

    one, other = below.scope.names.values()
    names = {name: emitter.fresh("c") for name in degrees.columns}
    node, degree = names.values()
    side = emitter.fresh("l")
    both = emitter.public_list([side], [Kind.INTEGER], [(0,), (1,)])
    ends = (
        f"SELECT CASE WHEN {side} = 0 THEN {one} ELSE {other} END AS {node} "
        f"FROM ({below.text}) AS {emitter.fresh('t')} CROSS JOIN {both}"
    )
    counted = f"CAST(count(*) AS {emitter.types[Kind.INTEGER]})"
    text = f"SELECT {node}, {counted} AS {degree} FROM ({ends}) AS {emitter.fresh('t')} GROUP BY {node}"
    return Printed(text, Scope(degrees.columns, names), None, None)
