"""Lower bounds on rho: what outcomes show against a claim of zero-concentrated privacy.

rho-zCDP bounds every Renyi divergence: D_a(P || Q) <= a * rho for all orders a > 1, and in the limit the divergence of
Kullback and Leibler by rho. That says more than any (epsilon, delta) that follows from it, so it is tested as it is.
For every function T of the outcome, by Hoelder's inequality with exponents a and a / (a - 1),

    D_a(P || Q) >= a / (a - 1) * log E_P[e^((a - 1) T)] - log E_Q[e^(a T)],

and for a = 1, D(P || Q) >= E_P[T] - log E_Q[e^T] (Donsker and Varadhan). Equality holds where T is the logarithm of
the ratio of the two laws. T is chosen on separate draws: about that logarithm, constant on cells of one feature, and
cut off where the bound profits. The two means are then bounded on fresh draws, by the inequality of Maurer and Pontil
("Empirical Bernstein bounds and sample variance penalization", 2009, theorem 4), which holds for every number of draws
of a bounded variable. So a bound is too high with at most the stated probability, for any T.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dither.audit.features import Column, Feature
from dither.errors import InvalidParameter

Floats = NDArray[np.float64]

#: The orders among which the training draws choose one for each side; 1 is the divergence of Kullback and Leibler.
ORDERS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 9.0, 17.0)
_MOST_CELLS = 96
_FEWEST_IN_A_CELL = 24
_CUT_OFFS = (0.3, 0.5, 0.7, 0.85, 0.95, 1.0)
_MOST_FEATURES = 2
_LARGEST_EXPONENT = 300.0
# Far above what sums of doubles lose.
_OUTWARDS = 1e-10
_SIDES = ("the value", "the neighbour")


@dataclass(frozen=True)
class Moments:
    """A lower bound on rho and the evidence for it.

    Guarantee: a mechanism that is rho-zCDP on the two inputs yields a ``rho_lower`` above rho with probability at most
    ``false_alarm``.
    """

    rho_lower: float
    order: float
    feature: str
    direction: str
    cells: int
    trials: int
    samples: int
    false_alarm: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return asdict(self)

    def __str__(self) -> str:
        return (
            f"rho >= {self.rho_lower:.4g}: divergence of order {self.order:g} of {self.feature} in {self.cells} cells, "
            f"{self.trials} draws a side, of {self.direction} from the other (false alarm {self.false_alarm:.1g})"
        )


class _Fit(NamedTuple):
    """The log ratio of both laws on cells of one feature, and counts of other draws to judge it by."""

    feature: int
    cuts: Column
    ratio: Floats
    judged: tuple[Floats, Floats]


class _Test(NamedTuple):
    """A function T of one feature, constant on cells, an order and a side: everything that fixes a test."""

    promise: float
    feature: int
    favours: int
    order: float
    cuts: Column
    heights: Floats


def mean_limits(values: Floats, counts: NDArray[Any], failure: float) -> tuple[float, float]:
    """Return limits on the mean of a variable that took each of ``values`` this many times.

    Guarantee: each of the two is on the wrong side of the mean with probability at most ``failure``, if the range of
    the variable is that of ``values``, which must be known before the draws.

    >>> low, high = mean_limits(np.array([0.0, 1.0]), np.array([5000, 5000]), 0.01)
    >>> 0.48 < low < 0.5 < high < 0.52
    True
    """
    trials = int(counts.sum())
    if trials < 2:
        raise InvalidParameter("counts", trials, "at least two draws")
    mean = float(values @ counts) / trials
    variance = float((values - mean) ** 2 @ counts) / (trials - 1)
    reach = float(values.max() - values.min())
    chance = math.log(2 / failure)
    width = math.sqrt(2 * variance * chance / trials) + 7 * reach * chance / (3 * (trials - 1))
    width += _OUTWARDS * float(np.abs(values).max())
    return mean - width, mean + width


def divergence_shown(heights: Floats, here: NDArray[Any], there: NDArray[Any], order: float, failure: float) -> float:
    """Return a lower bound on the Renyi divergence of the first law from the second.

    Args:
        heights: T on each cell, chosen without these draws.
        here: the number of draws of the first law in each cell.
        there: the number of draws of the second law in each cell.
        order: of the divergence, at least 1.
        failure: the probability that the bound is too high, over both counts; half of it for each mean.

    """
    if order == 1:
        low, _ = mean_limits(heights, here, failure / 2)
        _, high = mean_limits(np.exp(heights), there, failure / 2)
        return low - math.log(high)
    low, _ = mean_limits(np.exp((order - 1) * heights), here, failure / 2)
    _, high = mean_limits(np.exp(order * heights), there, failure / 2)
    return order / (order - 1) * math.log(low) - math.log(high) if low > 0 else -math.inf


def rho_shown(
    sides: tuple[Sequence[Column], Sequence[Column]], features: Sequence[Feature], choosing: int, *, false_alarm: float
) -> Moments:
    """Return a lower bound on rho: T, order and feature chosen on the first ``choosing`` draws, tested on the rest.

    Args:
        sides: for the value and for its neighbour, one column a feature, all of one length.
        features: through which the outcomes were looked at.
        choosing: the number of draws that serve to choose.
        false_alarm: the probability of a bound that is too high.

    """
    samples = len(sides[0][0])
    trials = samples - choosing
    fits = list(_fits(sides, features, choosing))
    tests = [test for favours in (0, 1) if (test := _choose(fits, favours, false_alarm / 2))]
    best = Moments(0.0, 1.0, "no feature", _SIDES[0], 0, trials, samples, false_alarm)
    for test in tests:
        here, there = (
            _counted(sides[side][test.feature][choosing:], test.cuts) for side in (test.favours, 1 - test.favours)
        )
        # One of two sides: by the union bound both bounds hold at once.
        shown = divergence_shown(test.heights, here, there, test.order, false_alarm / 2) / test.order
        if shown > best.rho_lower:
            name, side = features[test.feature].name, _SIDES[test.favours]
            best = Moments(shown, test.order, name, side, test.heights.size, trials, samples, false_alarm)
    return best


def _fits(
    sides: tuple[Sequence[Column], Sequence[Column]], features: Sequence[Feature], choosing: int
) -> Iterator[_Fit]:
    """Return for each ordered feature its cells, T from half of the training draws, and the counts of the others."""
    half, scale = choosing // 2, (len(sides[0][0]) - choosing) / max(1, choosing - choosing // 2)
    for number, feature in enumerate(features):
        columns = sides[0][number][:choosing], sides[1][number][:choosing]
        if not feature.is_ordered or columns[0].dtype.kind not in "biuf":
            continue
        cuts = _cells(np.concatenate([column[:half] for column in columns]))
        if cuts.size:
            fitted = [_counted(column[:half], cuts) + 0.5 for column in columns]
            # As many draws as there will be: what is judged is the bound that they would show.
            here, there = (np.round(_counted(column[half:], cuts) * scale) for column in columns)
            yield _Fit(number, cuts, np.log(fitted[0] / fitted[1]), (here, there))


def _choose(fits: Sequence[_Fit], favours: int, failure: float) -> _Test | None:
    """Return the test that promises most on the training draws."""
    sign = 1 - 2 * favours
    # Which features tell most is a guess that costs no search.
    told = sorted(((sign * float(fit.ratio @ fit.judged[favours]), fit) for fit in fits), key=lambda one: -one[0])
    best: _Test | None = None
    for tells, (number, cuts, ratio, judged) in told[:_MOST_FEATURES]:
        for height in np.unique(np.quantile(np.abs(ratio), _CUT_OFFS)) if tells > 0 else ():
            heights, before = np.clip(sign * ratio, -height, height), -math.inf
            for order in ORDERS:
                if order * height > _LARGEST_EXPONENT:
                    break
                promise = divergence_shown(heights, judged[favours], judged[1 - favours], order, failure) / order
                # Larger orders promise less from here on: their means are ruled by rarer outcomes.
                if promise < before:
                    break
                before = promise
                if promise > (best.promise if best else 0.0):
                    best = _Test(promise, number, favours, order, cuts, heights)
    return best


def _cells(pooled: Column) -> Column:
    """Return cuts such that a fair number of draws falls between any two of them."""
    if pooled.dtype.kind == "f":
        pooled = pooled[np.isfinite(pooled)]
    if pooled.size < 2 * _FEWEST_IN_A_CELL:
        return pooled[:0]
    cells = min(_MOST_CELLS, pooled.size // _FEWEST_IN_A_CELL)
    # Half of the cells are spent on the tails, where the two laws differ most.
    even = np.linspace(0, 1, cells // 2 + 1)[1:-1]
    floor = _FEWEST_IN_A_CELL / pooled.size
    tails = np.geomspace(floor, 0.5, cells // 4 + 1)[:-1]
    places = np.unique(np.concatenate([even, tails, 1 - tails]))
    ranked = np.sort(pooled)
    return np.unique(ranked[(places * (pooled.size - 1)).astype(int)])[:-1]


def _counted(column: Column, cuts: Column) -> NDArray[np.int64]:
    """Return the number of draws in each cell; NaN falls into the last one."""
    return np.bincount(np.searchsorted(cuts, column, side="left"), minlength=cuts.size + 1)
