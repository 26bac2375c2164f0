"""Paths on a network, published as answers about pairs of vertices (the Adelaide thesis, chapter 6, made sound).

Belongs here: the states of all pairs of a path on a network, their randomised response, the drawing of the answers as a
partial order, and how somebody who knows the network reads the path back. Does not belong here: journeys of many
people.
"""

from dither.mechanisms.pair_response import PairResponse
from dither.publish.places.paths.drawing import Drawing, draw_levels, is_comparability, orientation
from dither.publish.places.paths.recovery import publish_path, recover_path
from dither.publish.places.paths.states import Network, PathStates, path_states

__all__ = [
    "Drawing",
    "Network",
    "PairResponse",
    "PathStates",
    "draw_levels",
    "is_comparability",
    "orientation",
    "path_states",
    "publish_path",
    "recover_path",
]
