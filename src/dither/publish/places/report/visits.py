"""A replaced visit: PriLocation made sound.

A visit to one of the places of a public map is replaced by another place. First its cluster is told by randomised
response, then a place of the told cluster is chosen, nearer ones more likely; a visit to another cluster counts as one
to the middle of the told one. Cost: a coin and a pass over the map. Corrections: the printed clusters are exact centres
of private data with noise on a number that decides nothing, and each visit stays in its cluster, which is thereby told;
here clusters come from the public map (or from a private release that was paid for), and the cluster is private, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.data.places import Box
from dither.errors import InvalidParameter
from dither.exact import Number, Of, Positive, positive, probability
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import Array
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import Category
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.randomised_response import RandomisedResponse
from dither.privacy import InOrder, Plan, Unit, Use
from dither.publish.places.report.likely import ONE_PLACE

#: Distances in a cluster are in this many parts of its diameter.
PARTS: Final = 2**20
_ELSEWHERE: Final = -(2**50)
_MAP = np.array([[100.0, 100.0], [100.0, 130.0], [140.0, 100.0], [900.0, 900.0], [905.0, 940.0]])


def _examples() -> Iterator[Example]:
    box = Box.of(0, 0, 1000, 1000, plane=True)
    pairs = ((0, 1, 1), (0, 4, 1), (3, 2, 1), (-5, 77, 1))
    yield Example(
        ReplacedVisit(box=box, places=_MAP, clusters=[0, 0, 0, 1, 1], cluster_epsilon=1, place_epsilon=1), 0, pairs
    )
    yield Example(
        ReplacedVisit(box=box, places=_MAP[:2], clusters=[1, 0], cluster_epsilon=1, place_epsilon="1/2"), 1, pairs
    )


@register(
    examples=_examples,
    source="Differential Privacy and Applications (Zhu et al. 2017), section 12.4; PriLocation (Xiong et al. 2016)",
)
@dataclass(frozen=True, kw_only=True)
class ReplacedVisit(Composed[Any, int]):
    """Replace a visit to a place of a public map by another place, mostly a near one.

    Guarantee: any two places lose ``cluster_epsilon + place_epsilon`` in one visit; two places of a cluster lose at
        most
    ``place_epsilon``, in proportion to their distance. A person with m visits loses m times as much.

    Args:
        box: where places lie; public.
        places: the map, rows of latitude and longitude; public.
        clusters: the number of each place's cluster, from 0; from the map or from a private release, never from visits.
        cluster_epsilon: the loss of telling the cluster.
        place_epsilon: the loss of choosing a place in it.

    >>> box = Box.of(0, 0, 1000, 1000, plane=True)
    >>> visit = ReplacedVisit(box=box, places=_MAP, clusters=[0, 0, 0, 1, 1], cluster_epsilon=1, place_epsilon=2)
    >>> visit.loss(1).epsilon
    Fraction(3, 1)

    """

    name: ClassVar[str] = "replaced-visit"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a reported cluster may be any of them"
    no_interval_because: ClassVar[str] = "a place of a list has no interval"

    box: Of[Box] = Of(Box)
    places: Array = Array("float", axes=2, least=2, most=2**12, rule="rows of latitude and longitude inside the box")
    clusters: Array = Array("int", axes=1, least=2, within=(0, 2**16), rule="a cluster for each place, all from 0 on")
    cluster_epsilon: Positive = Positive(least=Positive().convert("least", "1e-6"), most=1000)
    place_epsilon: Positive = Positive(least=Positive().convert("least", "1e-6"), most=1000)

    def __post_init__(self) -> None:
        """Refuse places outside the box, and clusters without places."""
        rows, labels = self.places.values, self.clusters.values
        found, known = self.box.read(rows[:, 0], rows[:, -1])
        if rows.shape[1] != 2 or not (known & self.box.inside(found)).all():
            raise InvalidParameter("places", self.places, "rows of latitude and longitude inside the box")
        if len(labels) != len(rows) or len(np.unique(labels)) != labels.max() + 1 or labels.max() < 1:
            raise InvalidParameter("clusters", self.clusters, "a cluster for each place, two or more, all from 0 on")

    @classmethod
    def for_epsilon(
        cls, box: Box, places: Any, clusters: Any, *, epsilon: Number, share: Number = "1/2"
    ) -> ReplacedVisit:
        """Return the replacement of a visit for ``epsilon``, of which the cluster gets ``share``."""
        whole, part = positive("epsilon", epsilon), probability("share", share, open_below=True)
        return cls(
            box=box, places=places, clusters=clusters, cluster_epsilon=whole * part, place_epsilon=whole * (1 - part)
        )

    @property
    def distance(self) -> Unit:
        """Another place in one visit."""
        return ONE_PLACE

    @cached_property
    def told(self) -> RandomisedResponse:
        """The cluster, or another one."""
        return RandomisedResponse(epsilon=self.cluster_epsilon, categories=int(self.clusters.values.max()) + 1)

    @cached_property
    def choice(self) -> Exponential:
        """The choice of a place: scores are parts of the cluster's diameter."""
        return Exponential(candidates=len(self.places.values), scale=2 * PARTS / self.place_epsilon)

    @cached_property
    def _metres(self) -> NDArray[np.float64]:
        rows = self.places.values
        return self.box.projection.metres(self.box.read(rows[:, 0], rows[:, 1])[0])

    def plan(self) -> Plan:
        """Return the cluster and the place, whose score moves by at most all parts."""
        return InOrder.of(Use(self.told), Use(self.choice, PARTS))

    def release(self, data: Any, run: Runner) -> int:
        """Return the number of a place."""
        labels, metres = self.clusters.values, self._metres
        visited = Category(len(labels)).admit(data)
        told = run(self.told, int(labels[visited]))
        members = np.flatnonzero(labels == told)
        inside = metres[members]
        # The public middle of the told cluster: its place with the least sum of distances to the others.
        apart = np.hypot(*(inside[:, None] - inside[None]).transpose(2, 0, 1))
        start = visited if labels[visited] == told else int(members[apart.sum(axis=1).argmin()])
        away = np.hypot(*(inside - metres[start]).T)
        scores = np.full(len(labels), _ELSEWHERE, dtype=np.int64)
        scores[members] = -np.floor(np.minimum(away / max(float(apart.max()), 1e-9), 1.0) * PARTS).astype(np.int64)
        return int(run(self.choice, scores, stability=PARTS))


def cluster_weights(told: Any, clusters: int, epsilon: Number) -> NDArray[np.float64]:
    """Return unbiased estimates of how many visits each cluster had, from the clusters of replaced visits.

    Post-processing of what was told: a cluster is told truly with probability p and otherwise as any other, q each.

    >>> cluster_weights([0, 0, 0, 1], 2, 50).round(6).tolist()
    [3.0, 1.0]
    """
    seen = np.bincount(np.asarray(told, dtype=np.int64), minlength=clusters).astype(np.float64)
    grown = float(np.exp(min(float(positive("epsilon", epsilon)), 700.0)))
    truth, lie = grown / (grown + clusters - 1), 1 / (grown + clusters - 1)
    return np.asarray((seen - seen.sum() * lie) / (truth - lie))


def public_clusters(box: Box, places: Any, count: int) -> NDArray[np.int64]:
    """Return clusters of a public map: the farthest place from those before it begins a new one; all go to the nearest.

    >>> public_clusters(Box.of(0, 0, 1000, 1000, plane=True), _MAP, 2).tolist()
    [0, 0, 0, 1, 1]
    """
    rows = np.asarray(places, dtype=np.float64)
    metres = box.projection.metres(box.read(rows[:, 0], rows[:, 1])[0])
    centres = [0]
    away = np.hypot(*(metres - metres[0]).T)
    while len(centres) < min(count, len(rows)) and away.max() > 0:
        centres.append(int(away.argmax()))
        away = np.minimum(away, np.hypot(*(metres - metres[centres[-1]]).T))
    found = np.hypot(*(metres[:, None] - metres[centres][None]).transpose(2, 0, 1)).argmin(axis=1)
    return np.asarray(found, dtype=np.int64)


def place_error(box: Box, places: Any, true: Any, told: Any) -> float:
    """Return the mean distance of replaced visits from the true ones, as a share of the longest distance of the map.

    The distance error DE of section 12.4.4, for one person or for all. It is as secret as the true visits.

    >>> place_error(Box.of(0, 0, 1000, 1000, plane=True), [[0, 0], [0, 100], [0, 400]], [0, 1], [1, 1])
    0.125
    """
    rows = np.asarray(places, dtype=np.float64)
    metres = box.projection.metres(box.read(rows[:, 0], rows[:, 1])[0])
    apart = np.hypot(*(metres[:, None] - metres[None]).transpose(2, 0, 1))
    moved = apart[np.asarray(true, dtype=np.int64), np.asarray(told, dtype=np.int64)]
    return float(moved.mean() / max(float(apart.max()), 1e-9))
