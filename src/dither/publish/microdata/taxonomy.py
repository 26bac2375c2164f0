"""Taxonomies: public trees over an attribute's values, and public cells at whose edges an ordered attribute is cut.

Both say what generalising a value may mean, before any data is seen. A tree that was learned from the data would be a
release that was not paid for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.exact import Real, TupleOf, exact, whole
from dither.mechanisms.core.spec import Codec, register_codec

_MOST_NODES: Final = 2**16
#: Of a nested description, so that reading one ends.
_DEEPEST: Final = 64


@dataclass(frozen=True)
class Taxonomy:
    """A tree whose leaves are the values of an attribute, numbered from left to right, starting at 0.

    Args:
        labels: one for each node; the first node is the root.
        parents: the number of the node above each node, which comes before it; -1 for the root.

    >>> jobs = Taxonomy.of({"Professional": ["Engineer", "Lawyer"], "Artist": ["Dancer", "Writer"]}, root="Any job")
    >>> jobs.size, jobs.label(0), [jobs.label(child) for child in jobs.children(0)], jobs.values(4)
    (4, 'Any job', ['Professional', 'Artist'], (2, 3))

    """

    labels: tuple[str, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        labels, parents = self.labels, self.parents
        if not isinstance(labels, tuple | list) or not isinstance(parents, tuple | list) or len(labels) != len(parents):
            raise InvalidParameter("parents", parents, "one parent for each label")
        if not 1 <= len(labels) <= _MOST_NODES or not all(isinstance(label, str) and label for label in labels):
            raise InvalidParameter("labels", labels, f"1 to {_MOST_NODES} strings that are not empty")
        kept = tuple(whole("parents", parent, least=-1, most=_MOST_NODES) for parent in parents)
        for node, parent in enumerate(kept):
            if (parent == -1) != (node == 0) or parent >= node:
                raise InvalidParameter("parents", parents, "-1 for the first node, an earlier node for every other one")
        object.__setattr__(self, "labels", tuple(labels))
        object.__setattr__(self, "parents", kept)
        if (leaves := [labels[node] for node in self.leaves]) and len(set(leaves)) != len(leaves):
            raise InvalidParameter("labels", leaves, "different for every leaf")

    @classmethod
    def of(cls, tree: Mapping[str, Any] | Sequence[Any], root: str = "Any") -> Taxonomy:
        """Return the tree of a nested description: mappings from labels to subtrees, and lists of leaves."""
        labels, parents = [root], [-1]

        def add(below: Any, above: int, depth: int) -> None:
            if depth > _DEEPEST:
                raise InvalidParameter("tree", "a deeper tree", f"at most {_DEEPEST} levels deep")
            if isinstance(below, Mapping):
                for label, more in below.items():
                    labels.append(label)
                    parents.append(above)
                    add(more, len(labels) - 1, depth + 1)
            elif isinstance(below, list | tuple):
                for leaf in below:
                    if isinstance(leaf, Mapping):
                        add(leaf, above, depth + 1)
                    else:
                        labels.append(leaf)
                        parents.append(above)
            else:
                raise InvalidParameter("tree", below, "mappings from labels to what is below, or lists of leaves")

        add(tree, 0, 0)
        return cls(tuple(labels), tuple(parents))

    @classmethod
    def flat(cls, labels: Sequence[str], root: str = "Any") -> Taxonomy:
        """Return the tree of one level: a root and its values."""
        return cls.of(list(labels), root)

    @classmethod
    def balanced(cls, labels: Sequence[str], fan_out: int = 2, root: str = "Any") -> Taxonomy:
        """Return a tree in which every inner node has ``fan_out`` children of similar size, or fewer at the end.

        >>> Taxonomy.balanced(["a", "b", "c"]).labels
        ('Any', 'a to b', 'a', 'b', 'c')

        """
        width = whole("fan_out", fan_out, least=2)
        if isinstance(labels, str) or not labels:
            raise InvalidParameter("labels", labels, "at least one label")

        def nested(part: Sequence[str]) -> list[Any]:
            if len(part) <= width:
                return list(part)
            share = -(-len(part) // width)
            pieces = [part[start : start + share] for start in range(0, len(part), share)]
            return [piece[0] if len(piece) == 1 else {f"{piece[0]} to {piece[-1]}": nested(piece)} for piece in pieces]

        return cls.of(nested(list(labels)), root)

    @cached_property
    def _below(self) -> tuple[tuple[int, ...], ...]:
        found: list[list[int]] = [[] for _ in self.labels]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(node)
        return tuple(map(tuple, found))

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """The nodes that are values, in the order of the values; a lone root is one value."""
        return tuple(node for node, below in enumerate(self._below) if not below)

    @cached_property
    def inner(self) -> tuple[int, ...]:
        """The nodes that have children, in increasing order."""
        return tuple(node for node, below in enumerate(self._below) if below)

    @cached_property
    def _values(self) -> tuple[tuple[int, ...], ...]:
        numbers = {node: value for value, node in enumerate(self.leaves)}
        found: list[tuple[int, ...]] = [()] * len(self.labels)
        # Children come after their parents.
        for node in reversed(range(len(self.labels))):
            below = self._below[node]
            found[node] = tuple(sorted(v for child in below for v in found[child])) if below else (numbers[node],)
        return tuple(found)

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.leaves)

    def children(self, node: int) -> tuple[int, ...]:
        """Return the direct children of a node."""
        return self._below[node]

    def values(self, node: int) -> tuple[int, ...]:
        """Return the values below a node, or the value that it is."""
        return self._values[node]

    def label(self, node: int) -> str:
        """Return the label of a node."""
        return self.labels[node]

    @property
    def fan_out(self) -> int:
        """The most children of a node."""
        return max(map(len, self._below))


def _increase(edges: tuple[Fraction, ...]) -> bool:
    return all(low < high for low, high in pairwise(edges))


@dataclass(frozen=True)
class OrderedCells:
    """Public cells of an ordered attribute: the range between two neighbouring edges is one value.

    An interval may be cut at any edge inside it; where, is for a method to choose and to pay for.

    Args:
        edges: increasing numbers, one more than there are values.

    >>> ages = OrderedCells((18, 40, 65))
    >>> ages.size, ages.label(0, 2), ages.label(1, 2)
    (2, '[18, 65)', '[40, 65)')

    """

    edges: TupleOf = TupleOf(
        Real(), least=2, most=_MOST_NODES + 1, where=_increase, rule=f"2 to {_MOST_NODES + 1} increasing numbers"
    )

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.edges) - 1

    def label(self, start: int, end: int) -> str:
        """Return the interval of the values from ``start`` up to but not including ``end``."""
        return f"[{self.edges[start]}, {self.edges[end]})"


Hierarchy = Taxonomy | OrderedCells


def _written(tree: Taxonomy) -> list[Any]:
    return [list(tree.labels), list(tree.parents)]


def _read(value: Any) -> Taxonomy:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(entry, list) for entry in value):
        raise InvalidParameter("taxonomy", value, "a list of labels and a list of parents")
    return Taxonomy(tuple(value[0]), tuple(value[1]))


def _read_cells(value: Any) -> OrderedCells:
    if not isinstance(value, list) or not all(isinstance(edge, str) for edge in value):
        raise InvalidParameter("ordered cells", value, "a list of numbers as strings")
    return OrderedCells(tuple(exact("edges", edge) for edge in value))


register_codec("taxonomy", Codec(Taxonomy, _written, _read))
register_codec("ordered_cells", Codec(OrderedCells, lambda cells: [str(edge) for edge in cells.edges], _read_cells))
