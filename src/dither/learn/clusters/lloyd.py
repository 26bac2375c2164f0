"""Lloyd's k-means with noisy means: a fixed number of steps, from a start that does not depend on data.

For points of many columns, and for many points. A survey finds where the points lie and how widely; each step draws
noisy sums and counts of all clusters together and moves each centre by what is more than noise. Cost: one product of
the points and the centres for each step. Corrections: noise belongs to the sums and counts and not to the assignment;
the number of steps is fixed, because stopping when nothing moves would tell of the data; the start is public, because
records as starting centres are a release without noise; labels of the records are never released.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, OneOf, Text, TupleOf, Whole, exact
from dither.learn.cell_noise import Moves, deviation, noisy_cells, of_shape
from dither.learn.clusters.points import (
    LENGTH,
    MOST_CLUSTERS,
    ClustersModel,
    DeclaredFrame,
    cluster_sums,
    from_steps,
    points_of,
)
from dither.learn.clusters.where import Where, where, where_entries, where_stability
from dither.learn.clusters.zones import ZONES, zoned
from dither.learn.noise_parts import shaped
from dither.learn.rows import BoundField, Floats, into_ball
from dither.learn.trees.bins import public_numbers
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount, OneEntry, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

#: What a point adds to the count of its cluster: half the length of the longest point.
_COUNTED: Final = LENGTH // 2
#: Points farther from the centre than this many spreads are shortened.
_NEAR: Final = 1.5
#: A start lies within this many spreads of the centre.
_START: Final = 0.7
#: A cluster whose count is below this number of standard deviations of its noise seems empty.
_EMPTY: Final = 2.0
SURVEY_SHARE: Final = Fraction(1, 2)
SCHEDULES: Final = ("even", "halving")
_MOST_STEPS: Final = 2**10


class StepNoise(TupleOf):
    """Noise of one number for each step."""

    def __init__(self) -> None:
        rule = f"noise of one number for each of at most {_MOST_STEPS} steps"
        super().__init__(OneCount(), least=0, most=_MOST_STEPS, rule=rule)


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "clusters": 2}
    gaussian = DiscreteGaussian(sigma=2**14)
    yield Example(
        LloydClusters(**public, survey=DiscreteGaussian(sigma=2**13), parts=(gaussian, gaussian)), rows, others
    )
    pure: dict[str, Any] = {"survey": GammaNorm(scale=2**13), "parts": (Geometric(scale=2**15),)}
    yield Example(LloydClusters(**public, **pure, zone="past", unit=ROW_REPLACED), rows[:2])


@register(
    examples=_examples,
    source="Practical Privacy: The SuLQ Framework (Blum, Dwork, McSherry, Nissim 2005), section 5.1; Differentially "
    "Private k-Means Clustering (Su, Cao, Li, Bertino, Jin 2016); Differentially Private Data Analytics (Lu 2021), "
    "chapter 7",
)
@dataclass(frozen=True, kw_only=True)
class LloydClusters(DeclaredFrame, Composed[Any, ClustersModel]):
    """Find centres of clusters in a fixed number of noisy steps of Lloyd's algorithm.

    Guarantee: data ``d_in`` rows apart loses what ``survey`` loses at ``d_in`` times its stability, and what each of
    ``parts`` loses at ``d_in`` times what one point adds to the sum and the count of its cluster, in L1 or L2 (twice
    that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        clusters: the number of centres.
        survey: the noise of the survey of count, mean and spread.
        parts: the noise of one number of each step.
        zone: "mean" to move to noisy means; "past" or "future" for the orientation-controlled moves, made of noisy
            means alone: a point of a zone about the noisy mean, turned away from where the centre was, or towards where
            it would move next, which takes two steps for one.
        public_seed: a public text that decides the start and the turns.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP
    >>> learner = LloydClusters.calibrated(ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10], clusters=3, steps=4)
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), len(learner.parts)
    (True, 4)

    """

    name: ClassVar[str] = "lloyd-clusters"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "which local optimum Lloyd's algorithm ends in depends on the points"
    no_interval_because: ClassVar[str] = "the best centres have no known distance from noisy ones"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    clusters: Whole = Whole(least=1, most=MOST_CLUSTERS)
    survey: OneEntry = OneEntry()
    parts: StepNoise = StepNoise()
    zone: OneOf = OneOf(*ZONES, default="mean")
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.frame.columns * self.clusters > 2**22:
            raise InvalidParameter("clusters", self.clusters, "so few that centres have at most 2^22 numbers")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        clusters: int,
        steps: int | None = None,
        schedule: str = "even",
        share: Number = SURVEY_SHARE,
        zone: str = "mean",
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            clusters: the number of centres.
            steps: the number of steps; by default a number that suits the loss.
            schedule: "even", or "halving" for half of what is left in each step (Dwork 2011).
            share: the part of the loss that the survey takes.
            zone: how centres move; see the class.
            public_seed: a public text that decides the start.
            unit: ROW or ROW_REPLACED.

        """
        purse = Purse.within(within)
        first, columns = exact("share", share), len(np.atleast_1d(np.asarray(lower)))
        if not 0 < first < 1:
            raise InvalidParameter("share", share, "a number in (0, 1)")
        if schedule not in SCHEDULES:
            raise InvalidParameter("schedule", schedule, f"one of {', '.join(SCHEDULES)}")
        count = usual_steps(purse) if steps is None else Whole(least=0).convert("steps", steps)
        first = first if count else Fraction(1)
        touched = unit.touched if isinstance(unit, Unit) else 1
        weights = [Fraction(1)] * count if schedule == "even" else [Fraction(1, 2**step) for step in range(count)]
        moves = _moves(columns)
        return cls(
            lower=lower,
            upper=upper,
            clusters=clusters,
            survey=purse.share(first).vector_noise(touched * where_stability(columns)),
            parts=tuple(moves.noise(purse.share((1 - first) * weight / sum(weights)), touched) for weight in weights),
            zone=zone,
            public_seed=public_seed,
            unit=unit,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the numbers that a step draws: a sum and a count for each cluster."""
        return self.clusters, self.frame.columns + 1

    def _stability(self, part: CountNoise) -> Fraction:
        return _moves(self.frame.columns).stability(part, self.unit.touched)

    def plan(self) -> Plan:
        """Return one survey, and one draw for each step."""
        columns = self.frame.columns
        first = Use(shaped(self.survey, where_entries(columns)), self.unit.touched * where_stability(columns))
        each = [Use(of_shape(part, self.shape), self._stability(part)) for part in self.parts]
        return InOrder((first, *each))

    def release(self, data: Any, run: Runner) -> ClustersModel:
        """Return the centres after the last step. Between draws everything but the points is public."""
        steps = self.frame.steps(points_of(data, self.frame.columns))
        seen = where(run, self.survey, steps, self.unit.touched)
        radius = max(1, round(_NEAR * seen.spread))
        points = into_ball(steps - seen.shift, radius, LENGTH)
        centres = self._start(seen, radius)
        weights = np.full(self.clusters, seen.rows / self.clusters)
        before = centres
        for number, part in enumerate(self.parts):
            whole = np.rint(centres)
            sums = noisy_cells(run, part, cluster_sums(points, whole, _COUNTED), self._stability(part))
            means, weights = _moved(sums, whole, deviation(part))
            centres, before = zoned(self.zone, before, whole, means, number, self.public_seed), whole
            if number + 1 < len(self.parts):
                centres = self._resettled(centres, weights, deviation(part) / _COUNTED, number)
            centres = np.clip(centres, -LENGTH, LENGTH)
        return from_steps(self.frame, seen.shift + centres * (radius / LENGTH), weights)

    def _resettled(self, centres: Floats, weights: Floats, noise: float, number: int) -> Floats:
        """Return the centres, with those that seem empty moved next to the fullest; from released numbers."""
        found, load = centres.copy(), weights.copy()
        aside = packed(self.clusters + 1, self.frame.columns, f"{number}:{self.public_seed}")
        for place in np.flatnonzero(weights <= _EMPTY * noise + 1):
            fullest = int(load.argmax())
            if load[fullest] <= 4 * _EMPTY * noise + 1:
                break
            gaps = np.linalg.norm(centres - centres[fullest], axis=1)
            reach = float(np.min(gaps[gaps > 0], initial=LENGTH / 2)) / 2
            found[place] = centres[fullest] + reach * aside[place]
            load[fullest] = load[place] = load[fullest] / 2
        return found

    def _start(self, seen: Where, radius: int) -> Floats:
        """Return public centres about zero, far from one another, the first two along the diagonal of the columns."""
        reach = _START * min(seen.spread / radius, 1.0) * LENGTH
        return packed(self.clusters, self.frame.columns, self.public_seed) * reach


def usual_steps(purse: Purse) -> int:
    """Return the number of steps that suits a loss: none where the survey needs all of it."""
    if purse.is_pure:
        return min(round(2 * math.pow(purse.amount, 0.65)), 5)
    return min(round(16 * math.pow(purse.amount, 0.45)), 10)


def packed(clusters: int, columns: int, public_seed: str) -> Floats:
    """Return public points of the unit ball, each far from those before it; the first two lie on the diagonal.

    Columns often rise together, so that the diagonal is the direction to try first when nothing is known.
    """
    count = 32 * clusters + 2
    drawn = public_numbers(f"start:{public_seed}", count * (columns + 1)).reshape(count, columns + 1) / 2.0**32
    places = 2 * drawn[:, :-1] - 1
    lengths = np.maximum(np.linalg.norm(places, axis=1), 1e-9)
    places *= (drawn[:, -1] ** (1 / columns) / lengths)[:, None]
    places[0], places[1] = -1 / math.sqrt(columns), 1 / math.sqrt(columns)
    chosen = [0, 1][:clusters] if clusters > 1 else []
    if not chosen:
        return np.zeros((1, columns))
    closest = np.minimum.reduce([((places - places[place]) ** 2).sum(axis=1) for place in chosen])
    while len(chosen) < clusters:
        chosen.append(int(closest.argmax()))
        closest = np.minimum(closest, ((places - places[chosen[-1]]) ** 2).sum(axis=1))
    return places[chosen]


def _moves(columns: int) -> Moves:
    """Return how far one point moves a step: at most ``LENGTH`` in L2 for the sum, and its count."""
    return Moves(math.isqrt(columns * LENGTH**2) + _COUNTED, LENGTH**2 + _COUNTED**2)


def _moved(sums: Floats, centres: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return the moved centres, shrunk towards where they were as far as the noise asks, and the counts of clusters."""
    columns = centres.shape[1]
    counts = sums[:, -1] / _COUNTED
    least = _EMPTY * noise / _COUNTED + 1
    held = np.maximum(counts, least)[:, None]
    move = sums[:, :-1] / held - centres
    # Moves are shrunk by the share of noise in their length (James and Stein 1961); a small cluster stays where it is.
    square = (move * move).sum(axis=1, keepdims=True)
    kept = np.maximum(0.0, 1 - columns * (noise / held) ** 2 / np.maximum(square, 1e-300))
    return centres + np.where(counts[:, None] > least, kept * move, 0.0), np.maximum(counts, 0.0)
