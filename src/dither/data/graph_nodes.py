"""The nodes of a graph, declared once for both ends: as a list, or as a public table whose key they are.

Nodes are public and declared. They are never read off the edges: a node that only an edge names is not there, because a
list made of the edges would publish who has one.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Final

from dither.data.yaml_tree import LARGEST_TEXT, Node
from dither.errors import EngineUnavailable

_WHOLE: Final = re.compile("[+-]?[0-9]{1,18}")
#: What says which values a column has.
_VALUES: Final = ("bounds", "categories")
_WRITTEN_OUT: Final = "a CSV file, with its whole path unless the schema is a file, or categories declared for the key"


def with_nodes(tables: dict[str, Node], folder: Path | None) -> dict[str, Node]:
    """Return the tables of a schema, with the nodes that a graph declares once at both of its ends.

    Args:
        tables: as they are written.
        folder: where the schema is, from which sources are found; None where it is no file.

    """
    return {name: _with_nodes(node, tables, folder) for name, node in tables.items()}


def _with_nodes(table: Node, tables: dict[str, Node], folder: Path | None) -> Node:
    graph, columns = _below(table, "graph"), _below(table, "columns")
    said, ends = _below(graph, "nodes"), _below(graph, "ends")
    if said is None or graph is None or columns is None or ends is None or not isinstance(ends.value, list):
        return table
    named = [end.value for end in ends.value if isinstance(end.value, str) and _below(columns, end.value) is not None]
    declared = [name for name in named if _declares(_below(columns, name))]
    if isinstance(said.value, list):
        _refuse_range(said, columns, named)
        if declared:
            rule = f"omitted, or {declared[0]} declared without bounds and categories: the nodes are written once"
            raise said.refuse(f"{len(said.value)} nodes", rule)
        return _put(table, graph, columns, named, ("categories", said), keeps=False)
    if declared or not isinstance(said.value, str) or said.value not in tables:
        return table
    found = _of_key(said, table, tables[said.value], folder)
    return table if found is None else _put(table, graph, columns, named, found, keeps=True)


def _refuse_range(said: Node, columns: Node, ends: list[str]) -> None:
    """Refuse two integers in place of all from one to the other, with what declares either."""
    both = [one.value for one in said.value] if isinstance(said.value, list) else []
    kinds = [_below(columns, name) for name in ends]
    kinds = [_below(kind, "kind") or kind for kind in kinds]
    if len(both) != 2 or not all(kind is not None and kind.value == "integer" for kind in kinds):
        return
    if not all(isinstance(one, str) and _WHOLE.fullmatch(one) for one in both):
        return
    low, high = (int(str(one)) for one in both)
    if high - low > 1:
        rule = (
            f"a list of all nodes: for the integers from {low} to {high}, omit nodes and declare "
            f"'bounds: [{low}, {high}]' for {' and '.join(ends)}; for these two alone, 'categories: [{low}, {high}]'"
        )
        raise said.refuse(f"[{low}, {high}]", rule)


def _of_key(said: Node, edges: Node, nodes: Node, folder: Path | None) -> tuple[str, Node] | None:
    """Return what the key of a public table declares, or all values that it has; None where it is no such table."""
    is_public, key = _below(nodes, "public"), _below(nodes, "key")
    if is_public is None or str(is_public.value).lower() != "true" or key is None:
        return None
    names = key.value if isinstance(key.value, list) else [key]
    column = _below(_below(nodes, "columns"), str(names[0].value)) if len(names) == 1 else None
    if column is None:
        return None
    for what in _VALUES:
        found = _below(column, what)
        if found is not None:
            return what, found
    stored = _below(column, "from")
    header = str(names[0].value if stored is None else stored.value)
    source, private = _below(nodes, "source"), _below(edges, "source")
    if source is None or private is None:
        return None
    path = Path(str(source.value))
    if path.suffix.lower() != ".csv" or (folder is None and not path.is_absolute()):
        raise source.refuse(source.value, _WRITTEN_OUT)
    base = Path() if folder is None else folder
    place = (base / path).resolve()
    if place == (base / str(private.value)).resolve():
        raise said.refuse(
            said.value, "a table with a separate file: nodes read from the edges would publish who has one"
        )
    return "categories", Node([Node(one, said.place, said.line) for one in _cells(place, header, source)], *_at(said))


def _cells(place: Path, header: str, source: Node) -> list[str]:
    """Return the values of a column of a public file, in their order, each once."""
    found: list[str] | None = None
    with suppress(OSError, EngineUnavailable):
        if place.stat().st_size > LARGEST_TEXT:
            raise source.refuse(source.value, f"at most {LARGEST_TEXT} bytes long, to be read as the list of nodes")
        found = _read(place, header)
    if found is None:
        raise source.refuse(source.value, f"a CSV file that can be read, whose column {header} is the list of nodes")
    return found


def _read(place: Path, header: str) -> list[str] | None:
    """Return the values of a column; None where there is no such column."""
    from dither.data.importing.csv_reader import CsvReader

    found: dict[str, None] = {}
    with CsvReader(place, [header]) as reader:
        names = reader.header.names
        if header not in names:
            return None
        for rows in reader:
            content, lengths = rows.column(names.index(header))
            text, ends = content.tobytes(), lengths.cumsum().tolist()
            cells = (text[end - many : end] for end, many in zip(ends, lengths.tolist(), strict=True) if many)
            # A quoted field keeps its opening quote, and no other begins with one.
            found.update(dict.fromkeys(cell.decode().removeprefix('"') for cell in cells))
    return list(found)


def _put(table: Node, graph: Node, columns: Node, ends: list[str], found: tuple[str, Node], *, keeps: bool) -> Node:
    """Return a table of edges whose ends declare what was found; ``keeps`` says whether the graph still names it."""
    what, values = found
    parts = _parts(columns)
    for name in ends:
        column = parts[name]
        parts[name] = Node({**(_parts(column) or {"kind": column}), what: values}, *_at(column))
    facts = {key: part for key, part in _parts(graph).items() if keeps or key != "nodes"}
    changed = {"graph": Node(facts, *_at(graph)), "columns": Node(parts, *_at(columns))}
    return Node(_parts(table) | changed, *_at(table))


def _at(node: Node) -> tuple[str, int, bool]:
    return node.place, node.line, node.is_plain


def _declares(column: Node | None) -> bool:
    return any(_below(column, what) is not None for what in _VALUES)


def _below(node: Node | None, key: str) -> Node | None:
    """Return the value below a key, else None."""
    return None if node is None else _parts(node).get(key)


def _parts(node: Node) -> dict[str, Node]:
    """Return a new mapping of all that stands below, an empty one for a text or a list."""
    return dict(node.value) if isinstance(node.value, dict) else {}
