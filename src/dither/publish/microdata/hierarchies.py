"""Hierarchies of declared columns: how DiffGen and DiffPart may generalise a value, from public facts alone.

A taxonomy that somebody wrote down orders the values of its column; without one, numbers may be cut anywhere between
their cells and other values are divided by halves in the order in which they were declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dither.data import Column, Kind
from dither.data.expressions import Value
from dither.errors import InvalidParameter
from dither.publish.microdata.taxonomy import Hierarchy, OrderedCells, Taxonomy
from dither.publish.synthetic.columns import Coding

MISSING: Final = "(missing)"
_EMPTY: Final = "(empty)"
#: Up to this many items one level did best: see the page of DiffPart.
_FLAT: Final = 16
_FAN_OUT: Final = 4


def read_taxonomies(path: Path | str) -> dict[str, Taxonomy]:
    """Return the taxonomies of a YAML file: a mapping from columns to nested mappings and lists of values.

    Every value is read as a text, so that ``no`` stays what it is.
    """
    import yaml

    try:
        # The base loader makes texts, lists and mappings and nothing else.
        record = yaml.load(Path(path).read_text(encoding="utf-8"), Loader=yaml.BaseLoader)  # noqa: S506
    except (OSError, ValueError, yaml.YAMLError):
        raise InvalidParameter("taxonomies", str(path), "a readable file of YAML") from None
    if not isinstance(record, Mapping) or not all(isinstance(tree, Mapping | list) for tree in record.values()):
        rule = "a file that maps columns to what is below the root: mappings from labels, or lists of values"
        raise InvalidParameter("taxonomies", str(path), rule)
    return {str(column): Taxonomy.of(tree, root=f"any {column}") for column, tree in record.items()}


def ordered_values(column: Column, tree: Taxonomy) -> list[Value]:
    """Return a column's declared values in the order of its taxonomy's leaves, or reject a taxonomy that differs."""
    if column.kind not in (Kind.TEXT, Kind.BOOLEAN):
        raise InvalidParameter(
            f"taxonomy of {column.name}", column.kind.value, "for a column of text or of true and false"
        )
    values = column.public_values
    if values is None:
        raise InvalidParameter(f"categories of {column.name}", None, "declared, as a column of a taxonomy needs")
    known = {text_of(value): value for value in values}
    leaves = [tree.label(leaf) for leaf in tree.leaves]
    if None in values and MISSING not in leaves:
        leaves.append(MISSING)
    odd = sorted(set(leaves) ^ set(known))
    if odd:
        what = "missing in it" if odd[0] in known else "no declared value"
        rule = f"a tree whose leaves are the declared values ({odd[0]!r} is {what})"
        raise InvalidParameter(f"taxonomy of {column.name}", f"{len(leaves)} leaves", rule)
    return [known[leaf] for leaf in leaves]


def hierarchy_of(coding: Coding, tree: Taxonomy | None = None) -> Hierarchy:
    """Return the hierarchy of a coded column, whose codes follow the tree's order if there is one.

    >>> rooms = Coding("rooms", Kind.INTEGER, (1, 2, 3), None, nullable=False)
    >>> hierarchy_of(rooms).size, hierarchy_of(Coding("paid", Kind.BOOLEAN, (False, True), None, nullable=False)).labels
    (3, ('any paid', 'false', 'true'))
    """
    if tree is not None:
        # A value that is missing is beside all others, at the root.
        lacks = coding.size - tree.size
        return tree if not lacks else Taxonomy((*tree.labels, MISSING), (*tree.parents, 0))
    values = _numbers(coding)
    if values is not None:
        return OrderedCells(values)
    return Taxonomy.balanced(value_labels(coding), root=f"any {coding.column}")


def item_tree(coding: Coding, tree: Taxonomy | None = None) -> Taxonomy:
    """Return the taxonomy of items: the given one, one level for few items, else four children per node."""
    if tree is not None:
        return tree
    labels = value_labels(coding)
    if len(labels) <= _FLAT:
        return Taxonomy.flat(labels, root=f"any {coding.column}")
    return Taxonomy.balanced(labels, fan_out=_FAN_OUT, root=f"any {coding.column}")


def value_labels(coding: Coding) -> list[str]:
    """Return each code's meaning as text: a value, or the range it stands for."""
    if coding.labels is not None:
        return [text_of(label) for label in coding.labels]
    last = len(coding.edges or ()) - 2
    found = [range_text(coding, place, place) for place in range(last + 1)]
    return [*found, MISSING] if coding.nullable else found


def group_label(coding: Coding, label: str, values: tuple[int, ...]) -> str:
    """Return a group's label: that of its node, or the range of its numbers."""
    if len(values) == 1:
        return value_labels(coding)[values[0]]
    is_range = _numbers(coding) is not None and list(values) == list(range(values[0], values[-1] + 1))
    return range_text(coding, values[0], values[-1]) if is_range else label


def range_text(coding: Coding, first: int, last: int) -> str:
    """Return the range of neighbouring codes of a column of ordered cells."""
    if coding.labels is not None:
        return f"{text_of(coding.labels[first])} to {text_of(coding.labels[last])}"
    edges = coding.edges or ()
    end = "]" if last == len(edges) - 2 else ")"
    return f"[{text_of(edges[first])}, {text_of(edges[last + 1])}{end}"


def text_of(value: Value) -> str:
    """Return a declared value as non-empty text.

    >>> [text_of(value) for value in (True, None, "", 3, 2.50)]
    ['true', '(missing)', '(empty)', '3', '2.5']
    """
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value) or _EMPTY


def _numbers(coding: Coding) -> tuple[Any, ...] | None:
    """Return the edges of a numeric column that may be cut anywhere; None for other columns."""
    if coding.kind not in (Kind.INTEGER, Kind.REAL) or coding.nullable:
        return None
    if coding.edges is not None:
        return coding.edges
    labels = coding.labels or ()
    if None in labels or list(labels) != sorted(labels, key=float):  # type: ignore[arg-type]
        return None
    return (*labels, float(labels[-1]) + 1 if isinstance(labels[-1], float) else labels[-1] + 1)  # type: ignore[operator]
