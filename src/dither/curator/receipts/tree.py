"""The tree of RFC 6962: that a leaf is in it, and that a longer one begins with a shorter one, proved in few hashes.

A leaf is hashed with a byte 0 before it and a pair of nodes with a byte 1, so that no leaf can pass for a node.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

EMPTY = hashlib.sha256(b"").digest()


def leaf_hash(content: bytes) -> bytes:
    """Return the hash of a leaf."""
    return hashlib.sha256(b"\0" + content).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of a pair of nodes."""
    return hashlib.sha256(b"\1" + left + right).digest()


#: Gives the hash of ``2 ** level`` leaves, from number ``index * 2 ** level`` on.
Nodes = Callable[[int, int], bytes]


class Edge:
    """The right edge of a growing tree: the hashes of the whole subtrees of which it consists.

    Args:
        nodes: gives hashes of whole subtrees.
        size: how many leaves the tree has.

    """

    def __init__(self, nodes: Nodes, size: int) -> None:
        self.size = size
        levels = (level for level in range(size.bit_length()) if size >> level & 1)
        self._hashes = {level: nodes(level, (size >> level) - 1) for level in levels}

    @property
    def root(self) -> bytes:
        """The hash of the tree."""
        found: bytes | None = None
        for level in sorted(self._hashes):
            found = self._hashes[level] if found is None else node_hash(self._hashes[level], found)
        return EMPTY if found is None else found

    def add(self, leaves: Sequence[bytes]) -> list[tuple[int, list[bytes]]]:
        """Add leaves by their hashes; return, by level, the first index and the hashes of what they complete."""
        index, hashes, level, completed = self.size, list(leaves), 0, []
        self.size += len(hashes)
        while hashes:
            completed.append((index, hashes))
            if index & 1:
                index, hashes = index - 1, [self._hashes.pop(level), *hashes]
            if len(hashes) & 1:
                self._hashes[level] = hashes[-1]
            hashes = [node_hash(*hashes[place : place + 2]) for place in range(0, len(hashes) - 1, 2)]
            index, level = index >> 1, level + 1
        return completed


def root_of(nodes: Nodes, size: int) -> bytes:
    """Return the hash of the first leaves of a tree.

    Args:
        nodes: gives hashes of whole subtrees.
        size: how many leaves.

    """
    return _between(nodes, 0, size) if size else EMPTY


def inclusion(nodes: Nodes, index: int, size: int) -> list[bytes]:
    """Return the hashes that prove that a leaf is in a tree.

    Args:
        nodes: gives hashes of whole subtrees.
        index: of the leaf, from 0.
        size: how many leaves the tree has.

    """
    path: list[bytes] = []
    low, high = 0, size
    while high - low > 1:
        middle = low + _below(high - low)
        if index < middle:
            path.append(_between(nodes, middle, high))
            high = middle
        else:
            path.append(_between(nodes, low, middle))
            low = middle
    return path[::-1]


def consistency(nodes: Nodes, earlier: int, size: int) -> list[bytes]:
    """Return the hashes that prove that a tree begins with an earlier one.

    Args:
        nodes: gives hashes of whole subtrees.
        earlier: how many leaves the earlier tree had; from 1 to ``size``.
        size: how many leaves the tree has.

    """
    path: list[bytes] = []
    low, high, is_whole = 0, size, True
    while earlier != high:
        middle = low + _below(high - low)
        if earlier <= middle:
            path.append(_between(nodes, middle, high))
            high = middle
        else:
            path.append(_between(nodes, low, middle))
            low, is_whole = middle, False
    if not is_whole:
        path.append(_between(nodes, low, high))
    return path[::-1]


def is_included(leaf: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Whether a path proves that a leaf is at a place of the tree with a root.

    Args:
        leaf: its hash.
        index: its place, from 0.
        size: how many leaves the tree has.
        path: what ``inclusion`` returned.
        root: the hash of the tree.

    """
    if not 0 <= index < size:
        return False
    place, last, found = index, size - 1, leaf
    for one in path:
        if last == 0:
            return False
        if place & 1 or place == last:
            found = node_hash(one, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, one)
        place, last = place >> 1, last >> 1
    return last == 0 and found == root


def is_consistent(earlier: int, first: bytes, size: int, second: bytes, path: Sequence[bytes]) -> bool:
    """Whether a path proves that the tree with the root ``second`` begins with the one whose root is ``first``.

    Args:
        earlier: how many leaves the first has; 1 or more.
        first: its root.
        size: how many leaves the second has.
        second: its root.
        path: what ``consistency`` returned.

    """
    if not 1 <= earlier <= size:
        return False
    if earlier == size:
        return not path and first == second
    hashes = list(path)
    if earlier & (earlier - 1) == 0:
        hashes.insert(0, first)
    if not hashes:
        return False
    place, last = earlier - 1, size - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old = new = hashes[0]
    for one in hashes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            old, new = node_hash(one, old), node_hash(one, new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new = node_hash(new, one)
        place, last = place >> 1, last >> 1
    return last == 0 and old == first and new == second


def _below(count: int) -> int:
    """Return the largest power of two that is smaller."""
    return 1 << ((count - 1).bit_length() - 1)


def _between(nodes: Nodes, low: int, high: int) -> bytes:
    """Return the hash of the leaves from ``low`` to ``high``; ``low`` is where a subtree of that size may begin."""
    count = high - low
    if count & (count - 1) == 0:
        level = count.bit_length() - 1
        return nodes(level, low >> level)
    middle = low + _below(count)
    return node_hash(_between(nodes, low, middle), _between(nodes, middle, high))
