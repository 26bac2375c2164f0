"""Publishing a path, and reading it back with the network as the key.

Published are a drawing and a direction bit. Who knows the network keeps its edges that are not comparable in the
drawing: if all answers for edges were true, they are the steps of the path. The direction bit says whether the end with
the smaller number comes first; it is one more pair, randomised like the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.core.release import Budget, release
from dither.mechanisms.pair_response import OTHER_EDGE, PAIR, PATH_EDGE, PairResponse
from dither.privacy import PureDP
from dither.publish.places.paths.drawing import Drawing, draw_levels
from dither.publish.places.paths.states import Network, path_states


@dataclass(frozen=True)
class PublishedPath:
    """What everybody may see.

    Args:
        drawing: the answers for all pairs of copies.
        forward: whether the end with the smaller number is said to come first.
        epsilon: the loss for each pair of copies, and for the direction.

    """

    drawing: Drawing
    forward: bool
    epsilon: Any


def publish_path(network: Network, path: Iterable[int], *, epsilon: Number) -> PublishedPath:
    """Return the drawing of a path and its direction; each pair of copies, and the direction, loses ``epsilon``.

    Args:
        network: its vertices and copies are public; its edges, and the path, are not.
        path: vertices in the order of the visits.
        epsilon: the loss for one pair.

    """
    price = positive("epsilon", epsilon)
    made = path_states(network, path)
    ends = (made.path[0], made.path[-1]) if made.path else (0, 0)
    direction = OTHER_EDGE if ends[0] <= ends[1] else PATH_EDGE
    pairs = network.pairs
    method = PairResponse(epsilon=price, pairs=len(pairs) + 1)
    # Every pair, and the direction, is a unit of its own: another state costs epsilon.
    drawn = release(
        method, np.append(made.states, direction), budget=Budget(epsilon=price, unit=PAIR), stability=1
    ).value
    told = [pair for pair, bit in zip(pairs, drawn[:-1].tolist(), strict=True) if bit]
    return PublishedPath(draw_levels(network.size, told), bool(drawn[-1]), PureDP(price))


def recover_path(network: Network, drawing: Drawing, forward: bool) -> tuple[int, ...] | None:
    """Return the path that a drawing says, as vertices in order, to somebody who knows the network; None if none.

    >>> square = Network.of(4, [(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])
    >>> recover_path(square, draw_levels(4, [(0, 3), (0, 2)]), True)
    (0, 1, 2, 3)
    """
    if max(drawing.base, default=0) >= network.size:
        raise InvalidParameter("drawing", "of other vertices", f"of the {network.size} copies of the network")
    comparable = drawing.comparable
    steps = [pair for pair in network.pairs if network.joins(*pair) and pair not in comparable]
    near: dict[int, list[int]] = {}
    for first, second in steps:
        near.setdefault(first, []).append(second)
        near.setdefault(second, []).append(first)
    ends = [vertex for vertex, others in near.items() if len(others) == 1]
    if len(ends) != 2 or any(len(others) > 2 for others in near.values()):
        return None
    walked = [min(ends) if forward else max(ends)]
    while len(walked) <= len(steps):
        onward = [other for other in near[walked[-1]] if len(walked) < 2 or other != walked[-2]]
        if not onward:
            break
        walked.append(onward[0])
    if len(walked) != len(steps) + 1 or len(set(walked)) < len(walked):
        return None
    return tuple(copy % network.vertices for copy in walked)
