"""One run of a training algorithm, many canaries: a lower bound on epsilon without training thousands of models.

After Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run" (2023). Each of m canaries is put into
the data or left out by its own fair coin. The algorithm runs once. An observer of its output guesses the coins of
the r canaries of which the output says most. Under (epsilon, delta)-differential privacy few guesses can be right:

*One coin.* Fix the coins before the i-th, and let p and q be the laws of the output for the i-th coin showing in and
out, the later coins being averaged over; they are still (epsilon, delta)-close. Given the output y, the coin shows in
with probability p / (p + q). Let f = (p - e^epsilon q)+ / (p + q) at y, or the same with p and q exchanged if the guess
is out. Since (p + q)(1 - f) = (1 + e^epsilon) q where f > 0, the guess is right with probability at most
f + (1 - f) e^epsilon / (1 + e^epsilon): as if with probability f it were given away, and else it were a coin that shows
e^epsilon / (1 + e^epsilon) at most. The excess (p - e^epsilon q)+ has mass delta at most, and so has that of q; the
output has density (p + q) / 2; hence the mean of f is at most delta.

*All coins.* So the number of right guesses is at most B + N, where B counts r independent coins of probability
e^epsilon / (1 + e^epsilon), and N, which may depend on B, has a mean of m delta at most. To lift B = v - i to v costs i
with that probability, so P[right >= v] is at most P[B >= v] plus what a mean of m delta buys, the dearest last:

    max of the sum of x_i, where 0 <= x_i <= P[B = v - i] and the sum of i x_i is at most m delta.

With delta = 0 it is the binomial tail alone. The paper has a sharper bound for delta > 0; this one is proved here. The
bound is monotone in epsilon (a likelier coin can be coupled above a less likely one), so the largest epsilon at which
it stays below the false alarm is a valid lower bound. Canaries may be anything, also outliers made up for the purpose;
whether they are good ones decides the power and not the truth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Number, probability, to_float
from dither.noise import system_noise
from dither.privacy import Loss

#: Shares of the canaries that are guessed; each is a separate test.
SHARES = (Fraction(1), Fraction(1, 2), Fraction(1, 4), Fraction(1, 10))
_MOST_EPSILON = 60.0
_HALVINGS = 60


@dataclass(frozen=True)
class OneRun:
    """What one run revealed about its canaries.

    Guarantee: an (epsilon, ``delta``)-differentially private algorithm yields an ``epsilon_lower`` above epsilon with
    probability at most ``false_alarm``, over the coins of the canaries and its own.
    """

    epsilon_lower: float
    delta: float
    canaries: int
    guesses: int
    right: int
    false_alarm: float
    claim: Loss | None = None
    epsilon_claimed: Fraction | None = None

    @property
    def is_refuted(self) -> bool:
        """Whether the bound exceeds the claim."""
        return self.epsilon_claimed is not None and Fraction(self.epsilon_lower) > self.epsilon_claimed

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        written = {
            "claim": None if self.claim is None else self.claim.to_dict(),
            "epsilon_claimed": None if self.epsilon_claimed is None else str(self.epsilon_claimed),
        }
        return asdict(self) | written | {"is_refuted": self.is_refuted}

    def __str__(self) -> str:
        at = f" at delta = {self.delta:g}" if self.delta else ""
        claimed = "" if self.claim is None else f"{'REFUTED' if self.is_refuted else 'not refuted'}, {self.claim}: "
        return (
            f"{claimed}epsilon >= {self.epsilon_lower:.4g}{at}: {self.right} of {self.guesses} guesses right, "
            f"{self.canaries} canaries, one run (false alarm {self.false_alarm:.1g})"
        )


def chance_of_right(right: int, guesses: int, epsilon: float, *, canaries: int, delta: float = 0.0) -> float:
    """Return an upper bound on the probability of this many right guesses under (epsilon, delta)-differential privacy.

    >>> round(chance_of_right(8, 10, 0.0, canaries=10), 6)
    0.054688
    """
    from scipy.special import bdtr, bdtrc, gammaln

    coin = 1 / (1 + math.exp(-epsilon))
    if right <= 0:
        return 1.0
    tail = float(bdtrc(right - 1, guesses, coin))
    left = canaries * delta
    # No cell costs less than one unit a unit of probability.
    if left <= 0 or tail >= 1:
        return min(1.0, tail)
    if left >= float(bdtr(right - 1, guesses, coin)) * right:
        return 1.0
    hits = np.arange(right - 1, -1, -1, dtype=np.float64)
    logs = gammaln(guesses + 1) - gammaln(hits + 1) - gammaln(guesses - hits + 1)
    logs += hits * math.log(coin) - (guesses - hits) * (epsilon + math.log1p(math.exp(-epsilon)))
    masses, costs = np.exp(logs), np.arange(1, right + 1, dtype=np.float64)
    bought = np.clip(left - np.concatenate([[0.0], np.cumsum(masses * costs)[:-1]]), 0.0, None)
    return min(1.0, tail + float(np.minimum(masses, bought / costs).sum()) * (1 + 1e-9))


def epsilon_from_guesses(right: int, guesses: int, *, canaries: int, false_alarm: float, delta: float = 0.0) -> float:
    """Return the largest epsilon under which this many right guesses are less probable than ``false_alarm``."""

    def is_refuted(epsilon: float) -> bool:
        return chance_of_right(right, guesses, epsilon, canaries=canaries, delta=delta) <= false_alarm

    low, high = 0.0, _MOST_EPSILON
    if not is_refuted(low):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_refuted(middle) else (low, middle)
    return low


def audit_one_run(
    train: Callable[[list[Any]], Any],
    canaries: Sequence[Any],
    score: Callable[[Any, Any], float],
    *,
    claim: Loss | None = None,
    delta: Number | None = None,
    false_alarm: float = 1e-6,
) -> OneRun:
    """Return what one run of a training algorithm reveals about canaries.

    Args:
        train: the algorithm, as a function of the canaries that are put in; it adds them to its own data. Under a
            promise for replacing rows it puts something neutral in place of those left out.
        canaries: rows, each of which is put in or left out by a fair coin.
        score: of an output and a canary; the larger, the likelier the canary was in.
        claim: the claim of the algorithm, for adding or removing one row.
        delta: the delta of the bound; by default the claim's own, and for zCDP one that the false alarm can bear.
        false_alarm: the probability of a bound that is too high.

    >>> def leaky(rows):
    ...     return set(rows)
    >>> audit_one_run(leaky, range(400), lambda output, row: row in output).epsilon_lower > 2
    True

    """
    count = len(canaries)
    if count < 2:
        raise InvalidParameter("canaries", count, "at least two")
    if not 0 < false_alarm < 1:
        raise InvalidParameter("false_alarm", false_alarm, "a probability above 0 and below 1")
    at = _delta(claim, delta, count, false_alarm)
    coins = system_noise().bernoulli(Fraction(1, 2), count)
    output = train([canary for canary, is_in in zip(canaries, coins.tolist(), strict=True) if is_in])
    scores = np.array([float(score(output, canary)) for canary in canaries])
    order = np.argsort(np.nan_to_num(scores, nan=0.0), kind="stable")
    claimed = None if claim is None else claim.to_approx(at).epsilon if at else claim.pure
    found = []
    for share in SHARES:
        # The number of guesses is fixed before the run: as many of the highest as of the lowest scores.
        half = max(1, int(count * share) // 2)
        right = int(coins[order[-half:]].sum()) + int((~coins[order[:half]]).sum())
        shown = epsilon_from_guesses(
            right, 2 * half, canaries=count, false_alarm=false_alarm / len(SHARES), delta=to_float(at, "up")
        )
        found.append(OneRun(shown, to_float(at, "up"), count, 2 * half, right, false_alarm, claim, claimed))
    return max(found, key=lambda run: run.epsilon_lower)


def _delta(claim: Loss | None, delta: Number | None, count: int, false_alarm: float) -> Fraction:
    if delta is not None:
        return probability("delta", delta)
    if claim is None:
        return Fraction(0)
    # What the promise costs in the bound is canaries times delta, which must stay well below the false alarm.
    spare = Fraction(false_alarm) / (16 * len(SHARES) * count) if claim.pure is None else Fraction(0)
    return claim.delta + spare
