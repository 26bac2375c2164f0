"""Networks with other weights, WITHOUT a formal guarantee: the edges stay, and chosen shortest paths stay the shortest.

Belongs here: ways to publish a network whose topology is public and whose weights are not, and measures of what the new
weights keep. Nothing here is private: a weight is hidden to within its relative change at best, some methods tell which
way a weight was moved, and whoever knows the kept paths knows inequalities between the true weights.
"""

from dither.disguise.networks.affinity import AlikeWeights
from dither.disguise.networks.contract import NetworkDisguise, Reweighted
from dither.disguise.networks.graph import Weighted
from dither.disguise.networks.greedy import KeptPaths
from dither.disguise.networks.measures import alike_edges, length_curve, paths_kept, weight_curve
from dither.disguise.networks.randomised import RandomisedPaths
from dither.disguise.networks.scaled import ScaledWeights
from dither.disguise.networks.slack import Slack

__all__ = [
    "AlikeWeights",
    "KeptPaths",
    "NetworkDisguise",
    "RandomisedPaths",
    "Reweighted",
    "ScaledWeights",
    "Slack",
    "Weighted",
    "alike_edges",
    "length_curve",
    "paths_kept",
    "weight_curve",
]
