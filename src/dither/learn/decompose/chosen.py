"""Chosen components: principal directions chosen one after the other by the exponential mechanism.

For pure losses and few columns. The published form samples a direction from a density on the sphere, which only a
Markov chain does, and a chain that is stopped has no finite loss; here candidates are listed, in rounds: directions
all around first, then around the one that was chosen, ever nearer. Cost: one product of the rows with themselves, and
one of it with every candidate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Text, Whole
from dither.learn.cell_noise import Moves, noisy_cells, of_shape
from dither.learn.clusters.points import Frame, points_of
from dither.learn.clusters.where import where, where_entries, where_stability
from dither.learn.declared import DeclaredUnit
from dither.learn.decompose.moments import LENGTH, MomentsModel
from dither.learn.noise_parts import shaped
from dither.learn.rows import STEPS, BoundField, Floats, exact_products, into_ball
from dither.learn.trees.bins import public_numbers
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.purse import OneCount, OneEntry, Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.gamma_norm import GammaNorm
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, InOrder, Loss, Plan, Repeat, Unit, Use
from dither.privacy.fields import RowUnit

MOST_COLUMNS: Final = 2**6
#: The length of a candidate, in whole steps.
CANDIDATE: Final = 2**8
#: What a row adds to a score at most, once scores are divided by the rest of the squared lengths.
MOVED: Final = 2**20
_DIVISOR: Final = LENGTH**2 * CANDIDATE**2 // MOVED
#: Beyond this number of rows, scores are computed with unbounded integers.
_ROWS_IN_64_BITS: Final = 2**26
_SURVEY_SHARE: Final = Fraction(1, 10)
_MEASURE_SHARE: Final = Fraction(1, 10)
#: Rows farther from the centre than this number of spreads are shortened.
_NEAR: Final = 1.4
#: How far from the chosen direction the candidates of the second round are, as the tangent of an angle.
_FIRST_TURN: Final = 1.0
_SHRINK: Final = 0.6
USUAL_CANDIDATES: Final = 2**11
USUAL_ROUNDS: Final = 6


def _examples() -> Iterator[Example]:
    rows = np.array([[0.5, 3.0], [9.0, 2.0], [float("nan"), 1.0], [0.1, 0.0]])
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [4.0, -4.0]]), 1))
    public: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8], "components": 1, "candidates": 4, "rounds": 2}
    gaussian: dict[str, Any] = {"survey": DiscreteGaussian(sigma=2**13), "part": DiscreteGaussian(sigma=2**20)}
    yield Example(ChosenComponents(**public, scale=2**20, **gaussian), rows, others)
    pure: dict[str, Any] = {"survey": GammaNorm(scale=2**13), "part": Geometric(scale=2**20), "unit": ROW_REPLACED}
    yield Example(ChosenComponents(**public, scale=2**21, **pure), rows)


@register(
    examples=_examples,
    source="Near-Optimal Differentially Private Principal Components (Chaudhuri, Sarwate, Sinha 2012), section 3",
)
@dataclass(frozen=True, kw_only=True)
class ChosenComponents(DeclaredUnit, Composed[Any, MomentsModel]):
    """Choose principal directions one after the other by the exponential mechanism, and measure variances along them.

    Guarantee: data ``d_in`` rows apart loses what ``survey`` loses at ``d_in`` times its stability; for each component
    and round, what a choice with scores moved by ``d_in * 2^20`` loses at ``scale``; and what ``part`` loses at
    ``d_in * (2^20 + components)`` in L1 and L2 (twice that for rows replaced).

    Args:
        lower: public bounds of the columns; numbers beyond them are clipped.
        upper: public bounds of the columns.
        components: the number of directions to choose.
        candidates: the number of directions to choose from, in each round.
        rounds: the number of choices for one direction.
        scale: the difference in score that makes a direction e times as likely; one row adds at most 2^20 to a score.
        survey: the noise of the survey of counts, means and spread.
        part: the noise of the variance along one component.
        public_seed: a public text that decides the candidates.
        unit: ROW or ROW_REPLACED.

    >>> from dither.privacy import PureDP
    >>> learner = ChosenComponents.calibrated(PureDP(1), lower=[0, 0], upper=[1, 10], components=1)
    >>> learner.loss(1) <= PureDP(1), learner.rounds
    (True, 6)

    """

    name: ClassVar[str] = "chosen-components"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "how near the best direction the candidates are depends on the rows"
    no_interval_because: ClassVar[str] = "the best direction has no known distance from a chosen one"

    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    components: Whole = Whole(least=1, most=MOST_COLUMNS)
    candidates: Whole = Whole(USUAL_CANDIDATES, least=2, most=2**16)
    rounds: Whole = Whole(USUAL_ROUNDS, least=1, most=2**6)
    scale: DiscreteScale = DiscreteScale()
    survey: OneEntry = OneEntry()
    part: OneCount = OneCount()
    public_seed: Text = Text("")
    unit: RowUnit = RowUnit(ROW)

    def __post_init__(self) -> None:
        if self.frame.columns > MOST_COLUMNS:
            raise InvalidParameter("lower", self.lower, f"bounds of at most {MOST_COLUMNS} columns")
        if self.components > self.frame.columns:
            raise InvalidParameter("components", self.components, f"at most {self.frame.columns}, one for each column")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        components: int,
        candidates: int = USUAL_CANDIDATES,
        rounds: int = USUAL_ROUNDS,
        public_seed: str = "",
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner that loses ``within`` at most for one unit."""
        purse = Purse.within(within)
        columns = len(np.atleast_1d(np.asarray(lower)))
        touched = unit.touched if isinstance(unit, Unit) else 1
        choices = max(1, components * rounds)
        each = purse.share(1 - _SURVEY_SHARE - _MEASURE_SHARE) / choices
        return cls(
            lower=lower,
            upper=upper,
            components=components,
            candidates=candidates,
            rounds=rounds,
            scale=each.choice(MOVED, one_way=touched == 1),
            survey=purse.share(_SURVEY_SHARE).vector_noise(touched * where_stability(columns)),
            part=_moves(components).noise(purse.share(_MEASURE_SHARE), touched),
            public_seed=public_seed,
            unit=unit,
        )

    @cached_property
    def frame(self) -> Frame:
        """The bounds."""
        return Frame(self.lower, self.upper)

    @cached_property
    def choice(self) -> Exponential:
        """The choice of a direction."""
        return Exponential(candidates=self.candidates, scale=self.scale, one_way=self.unit.touched == 1)

    @property
    def stability(self) -> Fraction:
        """How far one unit moves the measured variances along all components."""
        return _moves(self.components).stability(self.part, self.unit.touched)

    def plan(self) -> Plan:
        """Return the survey, the choices, and the measurement."""
        columns = self.frame.columns
        first = Use(shaped(self.survey, where_entries(columns)), self.unit.touched * where_stability(columns))
        choices = Repeat(Use(self.choice, MOVED), self.components * self.rounds)
        return InOrder.of(first, choices, Use(of_shape(self.part, (self.components,)), self.stability))

    def release(self, data: Any, run: Runner) -> MomentsModel:
        """Return the centre, the directions and the variances along them as moments."""
        columns = self.frame.columns
        steps = self.frame.steps(points_of(data, columns))
        seen = where(run, self.survey, steps, self.unit.touched)
        radius = max(1, round(_NEAR * seen.spread))
        short = into_ball(steps - seen.shift, radius, LENGTH)
        products: NDArray[Any] = exact_products(short, short)
        if len(short) > _ROWS_IN_64_BITS:
            products = products.astype(object)
        found = np.zeros((0, columns))
        for component in range(self.components):
            direction = self._chosen(component, found, products, run)
            found = np.vstack([found, direction])
        axes = _nested(found)
        measured = noisy_cells(run, self.part, _scores(products, axes), self.stability)
        lengths = np.maximum((axes**2).sum(axis=1), 1) / CANDIDATE**2
        variances = np.maximum(measured / lengths * ((radius / STEPS) ** 2 / (MOVED * seen.rows)), 0.0)
        covariance = (found.T * variances) @ found
        mean = PublicArray(seen.shift / STEPS)
        return MomentsModel(self.lower, self.upper, seen.rows, mean, PublicArray((covariance + covariance.T) / 2))

    def _chosen(self, component: int, before: Floats, products: NDArray[Any], run: Runner) -> Floats:
        """Return a direction at right angles to those before, closer to the best one from round to round."""
        direction: Floats | None = None
        for number in range(self.rounds):
            listed = self._listed(component, number, before, direction)
            direction = listed[int(run(self.choice, _scores(products, _whole(listed)), stability=MOVED))]
        return np.asarray(direction, dtype=np.float64)

    def _listed(self, component: int, number: int, before: Floats, near: Floats | None) -> Floats:
        """Return public candidates of length 1 at right angles to earlier directions; the best known is one of them."""
        columns = self.frame.columns
        drawn = public_numbers(f"direction:{self.public_seed}:{component}:{number}", 2 * self.candidates * columns)
        shares = (drawn.reshape(2, self.candidates, columns) + 1) / (2.0**32 + 1)
        normal = np.sqrt(-2 * np.log(shares[0])) * np.cos(2 * math.pi * shares[1])
        free = _at_right_angles(normal, before)
        if near is None:
            return free
        turns = _FIRST_TURN * _SHRINK ** (number - 1)
        around = _at_right_angles(near + turns * _at_right_angles(normal, np.vstack([before, near])), before)
        around[0] = near
        return around


def _moves(components: int) -> Moves:
    """Return how far one row moves the measurement: 2^20 in all, and one step for rounding in each component."""
    return Moves(MOVED + components, (MOVED + components) ** 2)


def _at_right_angles(rows: Floats, before: Floats) -> Floats:
    """Return rows without their parts along others, scaled to length 1; any such row where nothing is left."""
    rest = rows - (rows @ before.T) @ before
    rest = rest - (rest @ before.T) @ before
    lengths = np.linalg.norm(rest, axis=1, keepdims=True)
    axes = np.zeros_like(rest)
    axes[:, 0] = 1.0
    found: Floats = np.where(lengths > 1e-9, rest / np.maximum(lengths, 1e-300), axes)
    return found


def _whole(directions: Floats) -> NDArray[np.int64]:
    """Return directions as integers, none longer than ``CANDIDATE``: truncation only shortens."""
    lengths = np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1.0)
    whole: NDArray[np.int64] = np.trunc(directions / lengths * (CANDIDATE * (1 - 2.0**-40))).astype(np.int64)
    return whole


def _nested(directions: Floats) -> NDArray[np.int64]:
    """Return integer directions, shortened so that a row's squares along all of them stay within its own square.

    For whole rows C the squares add up to the square of the largest singular value of C at most, which is at most
    the largest row sum of absolute values of C C^T; that is computed exactly.
    """
    length = float(CANDIDATE)
    while True:
        whole = np.trunc(directions * length).astype(np.int64)
        if int(np.abs(whole @ whole.T).sum(axis=1).max()) <= CANDIDATE**2:
            return whole
        length *= 0.97


def _scores(products: NDArray[Any], candidates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of squares of all rows along each candidate, in steps of which a row adds 2^20 at most."""
    squares = (candidates * (products @ candidates.T).T).sum(axis=1)
    found: NDArray[np.int64] = np.asarray(squares // _DIVISOR, dtype=np.int64)
    return found
