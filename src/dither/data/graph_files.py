"""The ``graph:`` of a table in a schema file, and back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from dither.data.expressions import Kind, Value
from dither.data.graphs import Graph
from dither.data.yaml_tree import Node
from dither.errors import InvalidParameter

_NAMES: Final = ("weight", "time", "nodes")
_KEYS: Final = ("ends", "directed", "edges", "degree", *_NAMES)


def graph_from(node: Node, value: Callable[[Node, Kind], Value]) -> Graph:
    """Return what is public about a table of edges.

    Args:
        node: the mapping below ``graph:``.
        value: reads a scalar by its kind.

    """
    parts = node.mapping("a graph", _KEYS)
    if "ends" not in parts:
        raise node.refuse("nothing", "given", "ends")
    said: dict[str, Any] = {"ends": tuple(part.text("a column") for part in parts["ends"].items("two columns"))}
    if "directed" in parts:
        said["directed"] = value(parts["directed"], Kind.BOOLEAN)
    for key in ("edges", "degree"):
        if key in parts:
            said[key] = value(parts[key], Kind.INTEGER)
    said |= {key: parts[key].text("a name") for key in _NAMES if key in parts}
    try:
        return Graph(**said)
    except InvalidParameter as error:
        raise parts.get(error.parameter, node).refuse(error.offender, error.rule) from None


def graph_lines(graph: Graph, scalar: Callable[[str], str]) -> Iterator[str]:
    """Yield the lines below ``graph:``, which are read back to an equal record.

    Args:
        graph: what is public about the edges.
        scalar: writes a text.

    """
    yield f"ends: [{', '.join(map(scalar, graph.ends))}]"
    if graph.directed:
        yield "directed: true"
    if graph.edges is not None:
        yield f"edges: {graph.edges}"
    if graph.degree is not None:
        yield f"degree: {graph.degree}"
    for key in _NAMES:
        name = getattr(graph, key)
        if name is not None:
            yield f"{key}: {scalar(name)}"
