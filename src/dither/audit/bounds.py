"""What counts can prove: exact confidence limits on a probability, and on the epsilon that two probabilities show.

The limits of Clopper and Pearson (1934) invert the binomial law itself, so they hold for every number of draws; no
normal approximation is involved in what is claimed. The approximation below them only ranks events before they are
tested, where a bad guess costs power and never truth.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import whole

# Limits are moved outwards by this share, far above the error of the inverse beta function.
_OUTWARDS = 1e-10
# About the quantile at which a dozen events are tested with a false alarm of 1e-6 in total.
_TYPICAL_QUANTILE = 5.2


def lower_limit(hits: int, trials: int, failure: float) -> float:
    """Return p such that a coin of probability below p shows this many hits with probability at most ``failure``.

    Guarantee: over the draws, the limit exceeds the true probability with probability at most ``failure``.

    >>> round(lower_limit(50, 100, 0.025), 4), lower_limit(0, 100, 0.025)
    (0.3983, 0.0)
    """
    from scipy.special import betaincinv

    _check(hits, trials, failure)
    if hits == 0:
        return 0.0
    limit = float(betaincinv(hits, trials - hits + 1, failure))
    return max(0.0, math.nextafter(limit - _OUTWARDS * min(limit, 1 - limit), -1))


def upper_limit(hits: int, trials: int, failure: float) -> float:
    """Return p such that a coin of probability above p shows this few hits with probability at most ``failure``.

    Guarantee: over the draws, the limit is below the true probability with probability at most ``failure``.

    >>> round(upper_limit(50, 100, 0.025), 4), upper_limit(100, 100, 0.025)
    (0.6017, 1.0)
    """
    from scipy.special import betainccinv

    _check(hits, trials, failure)
    if hits == trials:
        return 1.0
    # The complemented inverse: 1 - failure would lose the digits of a small failure.
    limit = float(betainccinv(hits + 1, trials - hits, failure))
    return min(1.0, math.nextafter(limit + _OUTWARDS * min(limit, 1 - limit), 2))


def epsilon_shown(least: float, most: float, delta: float) -> float:
    """Return the largest epsilon refuted by P[S] >= ``least`` on one side and P[S] <= ``most`` on the other.

    (epsilon, delta)-differential privacy means ``least <= e^epsilon * most + delta``; 0 when nothing is refuted.
    """
    return max(0.0, math.log((least - delta) / most)) if least > delta and most > 0 else 0.0


def expected_epsilon(
    hits: NDArray[Any], other_hits: NDArray[Any], drawn: int, trials: int, delta: float
) -> NDArray[np.float64]:
    """Return the approximate ``epsilon_shown`` after ``trials`` draws, judging from ``drawn`` earlier ones.

    Wilson's approximate limits, vectorised over events; a guess that ranks them.
    """
    p, q = hits / drawn, other_hits / drawn
    pull = _TYPICAL_QUANTILE**2 / trials
    least = (p + pull / 2 - np.sqrt(pull * p * (1 - p) + pull**2 / 4)) / (1 + pull)
    most = (q + pull / 2 + np.sqrt(pull * q * (1 - q) + pull**2 / 4)) / (1 + pull)
    return np.log(np.maximum(least - delta, 1e-300) / most)


def _check(hits: int, trials: int, failure: float) -> None:
    whole("hits", hits, most=whole("trials", trials, least=1))
    if not 0 < failure < 1:
        raise InvalidParameter("failure", failure, "a probability above 0 and below 1")
