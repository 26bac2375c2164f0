"""Graphs drawn from released numbers: degrees, tables of edges between classes, a number of triangles.

Everything here is post-processing.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dither.publish.graphs.simple_graph import Ints
from dither.publish.graphs.synthesis.settled import Floats, Settled

#: How often stubs that could not be joined are shuffled again, and how many are then placed by exchanging edges.
_ROUNDS: Final = 24
_EXCHANGED: Final = 4096
_TRIES: Final = 64
#: Steps of the fit of a table of edges to the degrees of its classes.
_FITS: Final = 60


def graphical(degrees: Ints, most: int) -> Ints:
    """Return degrees that a simple graph can have, of at most ``most`` edges: the largest are cut, one may fall by 1.

    The test is that of Erdos and Gallai. Degrees above a cut fall to it; the highest cut that passes is taken.

    >>> graphical(np.array([5, 1, 1, 1]), 10).tolist()
    [3, 1, 1, 1]
    >>> graphical(np.array([2, 2, 1]), 10).tolist()
    [1, 2, 1]
    """
    wanted = np.clip(degrees, 0, len(degrees) - 1).astype(np.int64)
    low, high = 0, int(wanted.max(initial=0))
    while low < high:
        middle = (low + high + 1) // 2
        cut = _even(np.minimum(wanted, middle))
        if _has_graph(cut) and int(cut.sum()) <= 2 * most:
            low = middle
        else:
            high = middle - 1
    return _even(np.minimum(wanted, low))


def _even(degrees: Ints) -> Ints:
    """Return degrees with an even sum: one of the largest falls by 1 where needed."""
    if int(degrees.sum()) % 2:
        degrees = degrees.copy()
        degrees[int(np.argmax(degrees))] -= 1
    return degrees


def _has_graph(degrees: Ints) -> bool:
    """Whether degrees with an even sum are those of a simple graph."""
    falling = np.sort(degrees)[::-1]
    count = len(falling)
    steps = np.arange(1, count + 1)
    # Of the degrees after the k-th those above k count k, the others themselves.
    above = np.maximum(np.searchsorted(-falling, -steps, side="left"), steps)
    tail = np.concatenate([np.cumsum(falling[::-1])[::-1], [0]])
    return bool((np.cumsum(falling) <= steps * (steps - 1) + steps * (above - steps) + tail[above]).all())


def wired(degrees: Ints, numbers: Settled, keys: Ints | None = None) -> Ints:
    """Return the keys of a simple graph with these degrees, or nearly: stubs are joined at random, and joined again.

    What cannot be joined after all rounds is left out, so that no degree is above the one asked for.

    Args:
        degrees: for each node, as far as they are still wanting.
        numbers: that follow from what was released.
        keys: edges that are there already, as smaller end times nodes plus larger end, in order.

    """
    nodes = len(degrees)
    found = np.zeros(0, dtype=np.int64) if keys is None else keys
    stubs = np.repeat(np.arange(nodes), degrees)
    for _ in range(_ROUNDS):
        if len(stubs) < 2:
            break
        stubs = numbers.permutation(stubs)
        half = len(stubs) // 2
        found, one, other = _joined(stubs[:half], stubs[half : 2 * half], nodes, found)
        stubs = np.concatenate([one, other, stubs[2 * half :]])
    return _exchanged(found, stubs, nodes, numbers)


def _joined(one: Ints, other: Ints, nodes: int, keys: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the keys with those pairs that are new edges, and the ends of the pairs that are not."""
    made = np.minimum(one, other) * nodes + np.maximum(one, other)
    is_new = np.zeros(len(made), dtype=np.bool_)
    is_new[np.unique(made, return_index=True)[1]] = True
    is_new &= (one != other) & ~np.isin(made, keys)
    return np.sort(np.concatenate([keys, made[is_new]])), one[~is_new], other[~is_new]


def _exchanged(keys: Ints, stubs: Ints, nodes: int, numbers: Settled) -> Ints:
    """Return the keys after leftover stubs u and v took an edge xy apart: ux and vy in its place, if both are new."""
    left = stubs[: _EXCHANGED - _EXCHANGED % 2]
    if len(left) < 2 or not len(keys):
        return keys
    listed = keys.tolist()
    there = set(listed)
    for first, second in left[: len(left) // 2 * 2].reshape(-1, 2).tolist():
        for place in numbers.integers(len(listed), _TRIES).tolist():
            ends = divmod(listed[place], nodes)
            x, y = ends if place % 2 else ends[::-1]
            one = min(first, x) * nodes + max(first, x)
            other = min(second, y) * nodes + max(second, y)
            if first == x or second == y or one == other or one in there or other in there:
                continue
            there.discard(listed[place])
            there.update((one, other))
            listed[place] = one
            listed.append(other)
            break
    return np.sort(np.array(listed, dtype=np.int64))


def wired_classes(degrees: Ints, classes: Ints, table: Floats, numbers: Settled, keys: Ints | None = None) -> Ints:
    """Return the keys of a graph with these degrees and about these numbers of edges between classes of nodes.

    Args:
        degrees: for each node, as far as they are still wanting.
        classes: of each node.
        table: edges between classes, symmetric; on the diagonal those within a class.
        numbers: that follow from what was released.
        keys: edges that are there already.

    """
    # Classes without stubs are left out.
    used, classes = np.unique(classes, return_inverse=True)
    table = table[np.ix_(used, used)]
    nodes, many = len(degrees), len(table)
    stubs_of: Floats = np.bincount(classes, weights=degrees, minlength=many).astype(np.float64)
    ends = fitted_ends(table, stubs_of)
    towards: list[list[Ints]] = []
    for one in range(many):
        members = np.flatnonzero(classes == one)
        stubs = np.repeat(members, degrees[members])
        stubs = numbers.permutation(stubs)
        towards.append(np.split(stubs, np.cumsum(_whole(ends[one], len(stubs), numbers))[:-1]))
    found = np.zeros(0, dtype=np.int64) if keys is None else keys
    firsts, seconds, rest = [], [], []
    for one in range(many):
        within = towards[one][one]
        half = len(within) // 2
        firsts.append(within[:half])
        seconds.append(within[half : 2 * half])
        rest.append(within[2 * half :])
        for other in range(one + 1, many):
            here, there = towards[one][other], towards[other][one]
            both = min(len(here), len(there))
            firsts.append(here[:both])
            seconds.append(there[:both])
            rest += [here[both:], there[both:]]
    found, one_left, other_left = _joined(np.concatenate(firsts), np.concatenate(seconds), nodes, found)
    left = np.concatenate([one_left, other_left, *rest])
    return wired(np.bincount(left, minlength=nodes).astype(np.int64), numbers, found)


def fitted_ends(table: Floats, stubs: Floats) -> Floats:
    """Return how many ends in each class lead to each other: near the table, with the ends that there are as sums."""
    ends: Floats = np.maximum(table, 0.0) + np.diag(np.maximum(np.diag(table), 0.0))
    # What no noisy count allows would stay impossible: every pair of classes keeps a trace.
    ends = ends + 1e-6 * np.outer(stubs, stubs) / max(float(stubs.sum()), 1.0)
    for _ in range(_FITS):
        sums = ends.sum(axis=1)
        factor = np.sqrt(np.divide(stubs, sums, out=np.zeros_like(sums), where=sums > 0))
        ends = ends * factor[:, None] * factor[None, :]
    return np.asarray(ends)


def _whole(shares: Floats, total: int, numbers: Settled) -> Ints:
    """Return whole numbers near the shares that add up to the total."""
    sums = float(shares.sum())
    wanted = shares * (total / sums) if sums > 0 else np.full(len(shares), total / len(shares))
    low = np.floor(wanted).astype(np.int64)
    missing = min(max(total - int(low.sum()), 0), len(low))
    if missing:
        # The largest remainders, ties at random.
        order = np.lexsort((numbers.random(len(low)), low - wanted))
        low[order[:missing]] += 1
    return low


def groups_of(degrees: Ints) -> list[Ints]:
    """Return groups of nodes of like degree: by rising degree, one of degree d and the d after it.

    >>> [group.tolist() for group in groups_of(np.array([2, 1, 2, 2, 3]))]
    [[0, 2, 3], [4]]
    """
    order = np.argsort(degrees, kind="stable")
    ordered = order[degrees[order] >= 2]
    rising = degrees[ordered].tolist()
    found, place = [], 0
    while place < len(rising):
        found.append(ordered[place : place + rising[place] + 1])
        place += rising[place] + 1
    return found


def dense_groups(groups: list[Ints], nodes: int, chance: float, numbers: Settled) -> Ints:
    """Return the keys of edges within groups, each pair of which is joined with the same chance.

    Args:
        groups: of nodes.
        nodes: their number in all.
        chance: of a pair.
        numbers: that follow from what was released.

    """
    made = [np.zeros(0, dtype=np.int64)]
    for members in groups:
        one, other = np.triu_indices(len(members), 1)
        kept = numbers.random(len(one)) < chance
        first, second = members[one[kept]], members[other[kept]]
        made.append(np.minimum(first, second) * nodes + np.maximum(first, second))
    return np.sort(np.concatenate(made))


def degrees_left(degrees: Ints, keys: Ints) -> Ints:
    """Return how many edges each node still wants beside those that are there; at least 0."""
    nodes = len(degrees)
    there = np.bincount(np.concatenate([keys // nodes, keys % nodes]), minlength=nodes)
    return np.asarray(np.maximum(degrees - there, 0), dtype=np.int64)


def edges_of(keys: Ints, nodes: int, most: int) -> Ints:
    """Return keys as edges, the smaller end first, in order; at most that many."""
    kept = np.sort(keys)[:most]
    return np.column_stack([kept // nodes, kept % nodes]).astype(np.int64)
