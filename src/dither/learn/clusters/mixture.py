"""Gaussian mixtures: expectation maximisation with noise on the moments of the components.

For overlapping clusters, and where each has its own shape. A tree of noisy moments gives the start; each step then
draws counts, sums and second moments of all components together. Cost: one pass over the points a step. Corrections:
the shares in which a point belongs to components add up to one at most, so that its part in all components together is
bounded, where the published form pays for every component by itself; the shares are integers, found from exact
ones; the number of steps is fixed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, OneOf, Text, Whole, exact
from dither.learn.cell_noise import Moves, deviation, noisy_cells, of_shape
from dither.learn.clusters.coreset import MOST_LEVELS, usual_depth
from dither.learn.clusters.lloyd import StepNoise
from dither.learn.clusters.mixture_model import MixtureModel
from dither.learn.clusters.moment_tree import COARSE, COUNTED, grow, into_balls, level_uses, noise_of_levels
from dither.learn.clusters.points import LENGTH, MOST_CLUSTERS, DeclaredFrame, points_of
from dither.learn.clusters.settled import settle
from dither.learn.clusters.shares import WHOLE_SHARE, Components, shares_of
from dither.learn.rows import STEPS, BoundField, Floats, blocks
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Unit, Use
from dither.privacy.fields import RowUnit

SHAPES: Final = ("full", "diag", "spherical")
TREE_SHARE: Final = Fraction(1, 2)
_MOST_COLUMNS: Final = 2**8
_MOST_NUMBERS: Final = 2**22
#: Components are never assumed to be narrower than this, in steps.
_NARROWEST: Final = STEPS / 64
#: Estimates divide by at least this number of standard deviations of the noise of a count.
_HELD: Final = 2.0


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "clusters": 2}
    gaussian, wide = DiscreteGaussian(sigma=2**14), DiscreteGaussian(sigma=2**21)
    yield Example(NoisyMixture(**public, levels=(gaussian,), parts=(wide,)), rows, others)
    pure: dict[str, Any] = {"levels": (Geometric(scale=2**15),), "parts": (Geometric(scale=2**22),)}
    yield Example(NoisyMixture(**public, **pure, shape="diag", unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="DP-EM: Differentially Private Expectation Maximization (Park, Foulds, Chaudhuri, Welling 2017); "
    "Differentially Private Data Analytics (Lu 2021), section 3.4",
)
@dataclass(frozen=True, kw_only=True)
class NoisyMixture(DeclaredFrame, Composed[Any, MixtureModel]):
    """Fit a mixture of Gaussian components in a fixed number of noisy steps of expectation maximisation.

    Guarantee: data ``d_in`` rows apart loses what each of ``levels`` loses at ``d_in`` times what one point adds to a
    level of the tree, and what each of ``parts`` loses at ``d_in`` times what it adds, in shares, to the counts, sums
    and second moments of all components, in L1 or L2 (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        clusters: the number of components.
        levels: the noise of one number of each level of the tree; all geometric or all Gaussian.
        parts: the noise of one number of each step; Gaussian if components are "full".
        shape: "full" for any covariance, "diag" for columns that are independent, "spherical" for one spread each.
        public_seed: a public text that decides the start.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import ApproxDP
    >>> learner = NoisyMixture.calibrated(ApproxDP(1, "1e-6"), lower=[0, 0], upper=[1, 10], clusters=3, steps=4)
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), len(learner.parts)
    (True, 4)

    """

    name: ClassVar[str] = "noisy-mixture"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "which local optimum the steps end in depends on the points"
    no_interval_because: ClassVar[str] = "the best components have no known distance from noisy ones"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    clusters: Whole = Whole(least=1, most=MOST_CLUSTERS)
    levels: StepNoise = StepNoise()
    parts: StepNoise = StepNoise()
    shape: OneOf = OneOf(*SHAPES, default="full")
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if not 1 <= len(self.levels) <= 14 or len({type(part) for part in self.levels}) > 1:
            raise InvalidParameter("levels", self.levels, "1 to 14 noises of one kind")
        if self.frame.columns > _MOST_COLUMNS or math.prod(self._drawn) > _MOST_NUMBERS:
            rule = f"so few that there are at most {_MOST_COLUMNS} columns and 2^22 numbers a step"
            raise InvalidParameter("clusters", self.clusters, rule)
        if self.shape == "full" and any(isinstance(part, Geometric) for part in self.parts):
            raise InvalidParameter("parts", self.parts, "Gaussian noise where the shape is full")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        clusters: int,
        shape: str | None = None,
        depth: int | None = None,
        steps: int = 5,
        share: Number = TREE_SHARE,
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed.
            lower: public bounds of the columns.
            upper: public bounds of the columns.
            clusters: the number of components.
            shape: "full", "diag" or "spherical"; by default "diag" where the loss is pure, else "full".
            depth: the number of levels of the first tree; by default one that suits the loss.
            steps: the number of steps.
            share: the part of the loss that the tree takes.
            public_seed: a public text that decides the start.
            unit: ROW or ROW_REPLACED.

        """
        purse = Purse.within(within)
        first, columns = exact("share", share), len(np.atleast_1d(np.asarray(lower)))
        if not 0 < first < 1:
            raise InvalidParameter("share", share, "a number in (0, 1)")
        form = ("diag" if purse.is_pure else "full") if shape is None else OneOf(*SHAPES).convert("shape", shape)
        if purse.is_pure and form == "full":
            raise InvalidParameter("shape", form, "diag or spherical where the loss is pure, or a loss with a delta")
        wanted = Whole(least=1, most=MOST_CLUSTERS).convert("clusters", clusters)
        count = Whole(least=1, most=2**8).convert("steps", steps)
        levels = (
            usual_depth(wanted, purse) if depth is None else Whole(least=1, most=MOST_LEVELS).convert("depth", depth)
        )
        touched = unit.touched if isinstance(unit, Unit) else 1
        part = step_moves(columns).noise(purse.share(1 - first) / count, touched)
        return cls(
            lower=lower,
            upper=upper,
            clusters=clusters,
            levels=noise_of_levels(purse.share(first), columns, levels, touched),
            parts=(part,) * count,
            shape=form,
            public_seed=public_seed,
            unit=unit,
        )

    @property
    def _drawn(self) -> tuple[int, int]:
        """The numbers that a step draws: for each component a count, a sum, and second moments."""
        columns = self.frame.columns
        return self.clusters, 1 + columns + (columns * (columns + 1) // 2 if self.shape == "full" else columns)

    def _stability(self, part: CountNoise) -> Fraction:
        return step_moves(self.frame.columns).stability(part, self.unit.touched)

    def plan(self) -> Plan:
        """Return one draw for each level of the tree, and one for each step."""
        tree = [Use(part, moved) for part, moved in level_uses(self.frame.columns, self.levels, self.unit.touched)]
        return InOrder((*tree, *(Use(of_shape(part, self._drawn), self._stability(part)) for part in self.parts)))

    def release(self, data: Any, run: Runner) -> MixtureModel:
        """Return the components after the last step. Between draws everything but the points is public."""
        columns = self.frame.columns
        steps = self.frame.steps(points_of(data, columns))
        leaves = grow(run, self.levels, steps, touched=self.unit.touched)
        centres, weights, spreads = settle(leaves, self.clusters, objective="means", public_seed=self.public_seed)
        variances = np.maximum(spreads / columns, _NARROWEST**2)
        centres = np.clip(centres, -STEPS, STEPS)
        found = Components(centres, variances[:, None, None] * np.eye(columns), _shares(weights))
        for part in self.parts:
            given = step_sums(steps, found, is_full=self.shape == "full")
            seen = noisy_cells(run, part, given, self._stability(part))
            found = self._maximised(seen, found, deviation(part))
        scaled = np.clip(found.centres / STEPS, -1.0, 1.0)
        return MixtureModel(
            self.lower,
            self.upper,
            PublicArray(found.weights),
            PublicArray(scaled),
            PublicArray(found.covariances / STEPS**2),
        )

    def _maximised(self, seen: Floats, old: Components, noise: float) -> Components:
        """Return the components with the drawn moments; from released numbers alone."""
        columns, unit = self.frame.columns, float(WHOLE_SHARE * LENGTH)
        counts = seen[:, 0] / (WHOLE_SHARE * COUNTED)
        off = noise / unit
        held = np.maximum(counts, _HELD * off * (LENGTH / COUNTED) + 1)
        radii = old.radii
        means = seen[:, 1 : 1 + columns] / unit / held[:, None]
        square = np.maximum((means * means).sum(axis=1), 1e-300)
        means = means * np.maximum(0.0, 1 - columns * (off / held) ** 2 / square)[:, None]
        rest = seen[:, 1 + columns :] / (WHOLE_SHARE * COARSE**2) / held[:, None]
        seconds = np.zeros((len(held), columns, columns))
        if self.shape == "full":
            upper = np.triu_indices(columns)
            seconds[:, upper[0], upper[1]] = rest
            seconds[:, upper[1], upper[0]] = rest
        else:
            seconds[:, np.arange(columns), np.arange(columns)] = rest
        covariances = seconds - means[:, :, None] * means[:, None, :]
        fitted = _shaped(covariances, self.shape, off / held) * (radii**2)[:, None, None]
        # A component that seems empty stays as it was.
        there = counts > _HELD * off * (LENGTH / COUNTED)
        centres = np.where(there[:, None], np.rint(old.centres) + means * radii[:, None], old.centres)
        return Components(
            np.clip(centres, -STEPS, STEPS),
            np.where(there[:, None, None], fitted, old.covariances),
            _shares(np.maximum(counts, 0.0)),
        )


def step_moves(columns: int) -> Moves:
    """Return how far one point moves a step.

    Its shares are integers that add up to at most ``WHOLE_SHARE``. Its sums in all components together are
    vectors of length ``LENGTH`` times its shares, so at most that many times ``LENGTH`` in L2; its second moments are
    at most ``COARSE`` squared times its shares, in L2, and in L1 for columns alone.
    """
    square = LENGTH**2
    return Moves(
        WHOLE_SHARE * (math.isqrt(columns * square) + COUNTED + COARSE**2),
        WHOLE_SHARE**2 * (square + COUNTED**2 + COARSE**4),
    )


def step_sums(steps: Floats, components: Components, *, is_full: bool) -> NDArray[np.int64]:
    """Return exact counts, sums and second moments of components, each point weighted by its shares."""
    count, columns = components.centres.shape
    centres, radii = np.rint(components.centres), components.radii
    upper = np.triu_indices(columns)
    total = np.zeros((count, 1 + columns + (len(upper[0]) if is_full else columns)), dtype=np.int64)
    for block in blocks(len(steps)):
        inside = steps[block]
        shares = shares_of(inside, components)
        for place in range(count):
            part = np.flatnonzero(shares[:, place])
            share = shares[part, place]
            short = into_balls(inside[part] - centres[place], np.full(len(part), radii[place]))
            coarse = np.trunc(short * (COARSE / LENGTH))
            weighted = coarse * share[:, None]
            seconds = (coarse.T @ weighted)[upper] if is_full else np.add.reduce(coarse * weighted, axis=0)
            total[place, 0] += COUNTED * int(share.sum())
            total[place, 1 : 1 + columns] += (share @ short).astype(np.int64)
            total[place, 1 + columns :] += seconds.astype(np.int64)
    return total


def _shaped(covariances: Floats, shape: str, noise: Floats) -> Floats:
    """Return covariances of a shape, in squared radii: no direction is narrower than the noise or wider than the ball.

    A component is shrunk towards a sphere by the share of noise in its deviation from one (James and Stein 1961).
    """
    columns = covariances.shape[1]
    least = np.maximum(noise, (1.0 / 64) ** 2)
    spread = np.clip(np.trace(covariances, axis1=1, axis2=2) / columns, least, 1.0)
    spheres: Floats = spread[:, None, None] * np.eye(columns)
    if shape == "spherical":
        return spheres
    apart = covariances - spheres
    if shape == "diag":
        apart = apart * np.eye(columns)
    drawn = columns * columns if shape == "full" else columns
    square = np.maximum((apart * apart).sum(axis=(1, 2)), 1e-300)
    kept = np.maximum(0.0, 1 - drawn * noise**2 / square)
    values, vectors = np.linalg.eigh(spheres + kept[:, None, None] * apart)
    found: Floats = (vectors * np.clip(values, least[:, None], 1.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return (found + found.transpose(0, 2, 1)) / 2


def _shares(weights: Floats) -> Floats:
    """Return the weights of components: none is zero, and they add up to one."""
    raised = np.maximum(weights, 1e-3 * max(float(weights.sum()), 1.0) / len(weights))
    found: Floats = raised / raised.sum()
    return found
