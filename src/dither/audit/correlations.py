"""Independence of noise over time: combinations of the answers of long conversations that have too little noise.

Answers to zeros are noise. Noise of one tick or block that serves another one is seen in combinations of answers that
have less of it than the promise needs. Let one tick move by 1, and the answers by u in the mean. For any weights w the
inequality of Hammersley, Chapman and Robbins says (w u)^2 <= Var(w N) chi2, and a promise bounds chi2: by
2 cosh(epsilon) - 2, or by e^(2 rho) - 1. The weights that are worst for a mechanism follow from the correlations of its
noise; they are estimated on half of the conversations, and tested on the other half.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import DitherError
from dither.mechanisms import registered
from dither.mechanisms.core.mechanism import InteractivePrimitive
from dither.mechanisms.core.values import IntegerArray
from dither.noise import Noise, system_noise
from dither.privacy import Loss
from dither.testing.entropy import SeededEntropy

Floats = NDArray[np.float64]

#: Ticks of a conversation, and numbers a tick: noise of so many numbers is made eight ticks at a time.
TICKS: Final = 24
_NUMBERS: Final = 600
#: No sum of independent Laplace or Gaussian noise has a larger fourth moment, in squares of its variance. Narrow noise
#: on integers may have; then half as much again as was seen on the first half of the conversations is allowed for.
_KURTOSIS: Final = 6.0
_ALLOWED: Final = 1.5
_IMPULSES: Final = (0, 3, 7, 8, 15)
#: A tick that is this large shows the mean of all answers after it, without rounding.
_LARGE: Final = 2**20


@dataclass(frozen=True)
class Correlated:
    """What one counter showed: its least noise, as a share of what its promise needs; below ``least`` it is refuted."""

    name: str
    conversations: int
    share: float
    least: float

    @property
    def is_refuted(self) -> bool:
        """Whether some combination of answers has too little noise."""
        return self.share < self.least

    def __str__(self) -> str:
        return f"{self.name}: {self.share:.2f} of the noise that its promise needs, {self.conversations} conversations"


def correlation_test(conversations: int, *, false_alarm: float) -> list[Correlated]:
    """Return what every registered counter shows; for sound ones any is refuted with at most ``false_alarm``.

    Args:
        conversations: of each number on zeros: half of them to estimate, half to test.
        false_alarm: of all tests together.

    """
    found = list(counters())
    return [least_noise(name, one, conversations, false_alarm=false_alarm / len(found)) for name, one in found]


def counters() -> Iterator[tuple[str, Any]]:
    """Return every registered counter with wide and long ticks, of which answers are sums and noise."""
    for name, entry in registered().items():
        if not issubclass(entry.mechanism, InteractivePrimitive):
            continue
        for number, example in enumerate(entry.examples()):
            wide = _wide(example.mechanism)
            if wide is not None:
                yield f"{name} {number}", wide


def _wide(mechanism: Any) -> Any:
    """Return a counter of many numbers and ticks; None where there is none, or answers are no sums."""
    if not isinstance(getattr(mechanism, "domain", None), IntegerArray) or not hasattr(mechanism, "shape"):
        return None
    changes: dict[str, Any] = {"shape": (_NUMBERS,)}
    if isinstance(getattr(mechanism, "steps", None), int):
        changes["steps"] = TICKS
    try:
        wide = replace(mechanism, **changes)
        _promised(wide.loss(1))
        first, second = (_moved(wide, _IMPULSES[1], seed) for seed in (1, 2))
    except (DitherError, TypeError, ValueError):
        return None
    return wide if np.array_equal(first, second) and first.any() else None


def least_noise(name: str, mechanism: Any, conversations: int, *, false_alarm: float) -> Correlated:
    """Return how much noise the worst combination of answers has, as a share of what the promise needs.

    Args:
        name: under which it is listed.
        mechanism: a counter of ``_NUMBERS`` numbers a tick.
        conversations: of single numbers.
        false_alarm: the probability that a sound one is refuted.

    """
    rounds = math.ceil(conversations / _NUMBERS / 2) * 2
    # Every number of a tick is a conversation of its own.
    noise = np.concatenate([_answers(mechanism, [0] * TICKS, system_noise()) for _ in range(rounds)], axis=1)
    half = noise.shape[1] // 2
    known, fresh = noise[:, :half], noise[:, half:]
    pairs = fresh.shape[1] // 2
    spread = np.cov(known)
    flat = spread + np.eye(len(spread)) * 1e-9 * np.trace(spread) / len(spread)
    bound, share, fourth = _promised(mechanism.loss(1)), math.inf, _KURTOSIS
    for tick in _IMPULSES:
        moved = _moved(mechanism, tick, 1)
        weights = np.linalg.solve(flat, moved)
        seen = weights @ known - np.mean(weights @ known)
        fourth = max(fourth, _ALLOWED * float(np.mean(seen**4)) / max(float(np.mean(seen**2)), 1e-300) ** 2)
        differences = weights @ (fresh[:, :pairs] - fresh[:, pairs : 2 * pairs])
        needed = float(weights @ moved) ** 2 / bound
        share = min(share, float(np.mean(differences**2)) / 2 / needed)
    # Of numbers that are not negative a mean falls below (1 - m) times its own with at most e^(-n m^2 / (2 fourth)).
    margin = math.sqrt(2 * fourth * math.log(len(_IMPULSES) / false_alarm) / pairs)
    return Correlated(name, noise.shape[1], share, 1 - margin)


def _promised(loss: Loss) -> float:
    """Return the largest chi-squared divergence that a promise allows."""
    if loss.delta:
        raise ValueError("outside of an event nothing is promised")
    by_rho = math.expm1(2 * float(loss.rho))
    return by_rho if loss.pure is None else min(by_rho, 2 * math.cosh(float(loss.pure)) - 2)


def _moved(mechanism: Any, tick: int, seed: int) -> Floats:
    """Return how the answers move with one tick, with the same noise: for each tick, per unit."""
    sides = [
        _answers(mechanism, [value if place == tick else 0 for place in range(TICKS)], Noise(SeededEntropy(seed)))
        for value in (0, _LARGE)
    ]
    found: Floats = (sides[1][:, 0] - sides[0][:, 0]) / _LARGE
    return found


def _answers(mechanism: Any, script: list[int], noise: Noise) -> Floats:
    """Return the answers to ticks of which all numbers are alike: a row for each tick, a column for each number."""
    state, found = mechanism.begin(noise), []
    for value in script:
        answer, _ = mechanism.reply(state, np.full(mechanism.shape, value, dtype=np.int64), noise)
        found.append(np.asarray(answer, dtype=np.float64).ravel())
    return np.array(found)
