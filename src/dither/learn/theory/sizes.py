"""The number of rows that a private learner needs: the corrected tables of sample complexity, as functions.

A learner is (alpha, beta)-good if, with probability 1 - beta over rows drawn independently from any distribution and
over its own noise, its concept is wrong on a share of at most alpha of that distribution (or, agnostically, at most
alpha more than the best concept of its class). A realisable target is one that some concept of the class labels without
errors. Numbers are upper bounds with all their constants; the proofs are on the page of learning theory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.errors import NoGuarantee
from dither.exact import Number, sqrt_up, whole
from dither.learn.theory.concepts import most_labellings
from dither.learn.theory.counting import adverse_reach
from dither.learn.theory.figures import Figure, above_zero, asked, share, touched_by
from dither.learn.theory.points import PointLearner
from dither.learn.theory.thresholds import ThresholdDescent
from dither.mechanisms.core.accuracy import discrete_gaussian_reach, discrete_laplace_reach
from dither.privacy import ROW, ApproxDP, Loss, PureDP, Unit, gaussian_sigma

_DRAWN: Final = "rows are drawn independently from one distribution"
_REALISABLE: Final = "some concept of the class makes no errors on it"
_AGNOSTIC: Final = "errors are counted beyond those of the best concept"
_MOST: Final = 2**62


def sample_complexity(learner: str, **options: Any) -> Figure:
    """Return a number of rows that is enough for a learner.

    Args:
        learner: one of ``LEARNERS``.
        options: its parameters: ``alpha``, ``beta``, ``epsilon``, ``delta``, ``count`` (concepts of the class),
            ``vc``, ``universe`` (points), ``unit``; every learner takes some of them and refuses the others.

    >>> print(sample_complexity("finite-class", count=101, alpha="0.1", beta="0.05", epsilon="0.5"))
    is 665 (max(8, 2 / epsilon) ln(2 count / beta) / alpha), if rows are drawn independently ... no errors on it
    >>> int(sample_complexity("points", alpha="0.1", beta="0.05", epsilon=1, delta="1e-6").value)
    220

    """
    return asked(LEARNERS, "learner", learner, options)


def non_private(*, count: int, alpha: Number, beta: Number, agnostic: bool = False) -> Figure:
    """Return the rows for choosing a concept with the fewest errors without privacy: the yardstick."""
    accuracy, failure, among = share("alpha", alpha), share("beta", beta), whole("count", count, least=1)
    wrong = "tables that call it a constant: it grows with the class"
    if agnostic:
        rows = 2 * math.log(2 * among / failure) / accuracy**2
        return _figure(rows, "2 ln(2 count / beta) / alpha^2", (_DRAWN, _AGNOSTIC), "Hoeffding's inequality", wrong)
    rows = math.log(among / failure) / accuracy
    return _figure(rows, "ln(count / beta) / alpha", (_DRAWN, _REALISABLE), "derived", wrong)


def non_private_vc(*, vc: int, alpha: Number, beta: Number) -> Figure:
    """Return the rows for any concept without errors on them, without privacy, by the dimension of the class."""
    accuracy, failure = share("alpha", alpha), share("beta", beta)
    rows = max(
        4 / accuracy * math.log2(2 / failure), 8 * whole("vc", vc, least=1) / accuracy * math.log2(13 / accuracy)
    )
    return _figure(
        rows,
        "max(4 log2(2 / beta), 8 vc log2(13 / alpha)) / alpha",
        (_DRAWN, _REALISABLE),
        "Learnability and the Vapnik-Chervonenkis Dimension (Blumer et al. 1989)",
        "survey table 15 and book section 6.2.3 say that learning without privacy takes a constant number of rows",
    )


def finite_class(
    *, count: int, alpha: Number, beta: Number, epsilon: Number, unit: Unit = ROW, agnostic: bool = False
) -> Figure:
    """Return the rows for the exponential mechanism over a finite class (``pac-learner``, ``threshold-learner``)."""
    accuracy, failure, among = share("alpha", alpha), share("beta", beta), whole("count", count, least=1)
    touched = touched_by(unit)
    scale = touched / above_zero("epsilon", epsilon)
    gap = math.log(2 * among / failure)
    factor = "" if touched == 1 else "2 * "
    if agnostic:
        rows = max(4.5 * math.log(4 * among / failure) / accuracy**2, 3 * scale * gap / accuracy)
        text = f"max(4.5 ln(4 count / beta) / alpha^2, {factor}3 ln(2 count / beta) / (alpha epsilon))"
        return _figure(rows, text, (_DRAWN, _AGNOSTIC), "derived; order of growth: Kasiviswanathan et al. 2011")
    rows = max(8.0, 2 * scale) * gap / accuracy
    return _figure(
        rows,
        f"max(8, {factor}2 / epsilon) ln(2 count / beta) / alpha",
        (_DRAWN, _REALISABLE),
        "derived; order of growth: What Can We Learn Privately? (Kasiviswanathan et al. 2011)",
        "VC log|X| of both tables is this with ln(count) at most VC ln(e |X| / VC), without alpha, beta and epsilon",
    )


def points(*, alpha: Number, beta: Number, epsilon: Number, delta: Number, unit: Unit = ROW) -> Figure:
    """Return the rows with which ``point-learner`` finds a point of share alpha: the least number, not a bound."""
    accuracy, failure = share("alpha", alpha), share("beta", beta)
    selection = PointLearner.calibrated(ApproxDP(epsilon, delta), unit=unit).selection
    rate, threshold = float(1 / selection.scale), selection.threshold
    rows = _least(lambda n: _missed(n, accuracy, threshold, rate) <= failure * (1 - 1e-9))
    return _figure(
        rows,
        "the least n with P[Binomial(n, alpha) + X < threshold] at most beta",
        (_DRAWN, "the target is 1 on one point and 0 on all others"),
        "derived; order of growth: Private Learning and Sanitization (Beimel, Nissim, Stemmer 2013)",
        "O(log(1/delta)) of both tables omits 1 / (alpha epsilon), and is for points, not for every class",
    )


def descent(*, universe: int, alpha: Number, beta: Number, epsilon: Number, delta: Number | None = None) -> Figure:
    """Return the rows for ``threshold-descent``, with Gaussian noise where there is a delta."""
    accuracy, failure = share("alpha", alpha), share("beta", beta)
    target: Loss = PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)
    learner = ThresholdDescent.calibrated(target, size=universe)
    reach = adverse_reach(learner.part, learner.levels, failure / 2)
    rows = max(8 * math.log(2 * (learner.size + 1) / failure), 2 * reach) / accuracy
    text = (
        "max(8 ln(2 (universe + 1) / beta), 2 reach(beta / 2)) / alpha, reach being that of all adverse noise together"
    )
    return _figure(rows, text, (_DRAWN, _REALISABLE), "derived")


def labels(*, vc: int, alpha: Number, beta: Number, epsilon: Number) -> Figure:
    """Return the rows for ``label-learner``: only labels are protected, so the universe plays no part."""
    accuracy, failure, dimension = share("alpha", alpha), share("beta", beta), whole("vc", vc, least=1, most=64)
    scale = 2 / above_zero("epsilon", epsilon)

    def is_enough(rows: int) -> bool:
        sampled = math.log(8 / failure) + math.log(most_labellings(dimension, 2 * rows)) - rows * accuracy / 16
        gap = scale * (math.log(2 / failure) + math.log(most_labellings(dimension, rows)))
        return sampled <= 0 and gap <= rows * accuracy / 2

    return _figure(
        _least(is_enough),
        "the least n with 8 S(2n) e^(-n alpha / 16) <= beta and (2 / epsilon) ln(2 S(n) / beta) <= n alpha / 2, "
        "S(n) = sum of C(n, i) for i up to vc",
        (_DRAWN, _REALISABLE, "points are public: only labels are protected"),
        "derived; relative deviations: Anthony and Shawe-Taylor 1993; Sauer 1972",
        "the tables print a lower bound, Omega(d') with d' a doubling dimension (Chaudhuri and Hsu 2011), among upper "
        "bounds",
    )


def representation(*, largest: int, alpha: Number, beta: Number, epsilon: Number) -> Figure:
    """Return the rows for choosing from one of several classes, drawn at random before data is seen."""
    among = whole("largest", largest, least=1)
    return _figure(
        _from_cover(math.log(among), share("alpha", alpha), share("beta", beta), above_zero("epsilon", epsilon)),
        "max(72 ln(5 / beta), max(128 / 9, 8 / epsilon) ln(5 largest / beta)) / alpha",
        (
            _DRAWN,
            "but for a probability of beta / 5 the drawn class has a concept that is wrong on a share of at most "
            "3 alpha / 8",
        ),
        "derived; Characterizing the Sample Complexity of Private Learners (Beimel, Nissim, Stemmer 2013)",
        "O(max ln|H_i|) of both tables omits alpha, beta and epsilon",
    )


def semi_supervised_labelled(*, vc: int, alpha: Number, beta: Number, epsilon: Number) -> Figure:
    """Return the *labelled* rows for ``semi-supervised-learner`` with radius alpha / 8, the others being enough."""
    accuracy, dimension = share("alpha", alpha), whole("vc", vc, least=1)
    # Haussler 1995: at most this number of concepts are more than a radius apart in any distribution.
    kept = 1 + math.log(dimension + 1) + dimension * math.log(16 * math.e / accuracy)
    return _figure(
        _from_cover(kept, accuracy, share("beta", beta), above_zero("epsilon", epsilon)),
        "max(72 ln(5 / beta), max(128 / 9, 8 / epsilon) ln(5 N / beta)) / alpha, N = e (vc + 1) (16 e / alpha)^vc",
        (_DRAWN, _REALISABLE, "the number of unlabelled rows is what semi-supervised-unlabelled returns"),
        "derived; Learning Privately with Labeled and Unlabeled Examples (Beimel, Nissim, Stemmer 2015)",
        "both tables swap labelled and unlabelled: they print d VC for labelled rows and VC for unlabelled ones",
    )


def semi_supervised_unlabelled(*, count: int, universe: int, alpha: Number, beta: Number, epsilon: Number) -> Figure:
    """Return the *unlabelled* rows for ``semi-supervised-learner`` with radius alpha / 8."""
    accuracy, failure = share("alpha", alpha), share("beta", beta)
    cells, among = whole("universe", universe, least=1), whole("count", count, least=1)
    scale = PureDP(epsilon).epsilon
    reach = cells * discrete_laplace_reach(1 / scale, failure / (5 * cells))
    rows = max(32 * math.log(10 * among**2 / failure) / accuracy**2, 16 * reach / accuracy)
    return _figure(
        rows,
        "max(32 ln(10 count^2 / beta) / alpha^2, 16 universe reach(beta / (5 universe)) / alpha)",
        (_DRAWN,),
        "derived",
        "in print O(d VC / (alpha^3 epsilon)), d the logarithm of the universe, by a sanitiser that takes exponential "
        "time; the one here is fast and needs rows in proportion to the universe",
    )


def marginals(*, columns: int, alpha: Number, beta: Number, epsilon: Number, delta: Number) -> Figure:
    """Return the rows for the shares of ones in many columns, all within alpha, by one draw of Gaussian noise."""
    accuracy, failure, wide = share("alpha", alpha), share("beta", beta), whole("columns", columns, least=1)
    # One row moves each of the columns by at most 1, together by the square root of their number.
    sigma = gaussian_sigma(ApproxDP(epsilon, delta), sqrt_up(Fraction(wide)))
    return _figure(
        discrete_gaussian_reach(sigma, failure / wide) / accuracy,
        "reach(beta / columns) / alpha for Gaussian noise of a vector that moves by sqrt(columns)",
        ("shares are those among the rows themselves", "the number of rows is public"),
        "derived; Between Pure and Approximate Differential Privacy (Steinke, Ullman 2015)",
        "tables list log(sqrt(d / delta)) or log(sqrt(d) / delta) as a sample complexity of learning; the result is "
        "about one-way marginals and is of the order sqrt(d log(1 / delta)) / (alpha epsilon)",
    )


def marginals_order(*, columns: int, alpha: Number, epsilon: Number, delta: Number) -> Figure:
    """Return the order of growth that no (epsilon, delta) method for all one-way marginals can beat."""
    accuracy, spent = share("alpha", alpha), above_zero("epsilon", epsilon)
    rate = math.sqrt(whole("columns", columns, least=1) * math.log(1 / share("delta", delta))) / (accuracy * spent)
    return Figure(
        rate,
        "sqrt(columns ln(1 / delta)) / (alpha epsilon)",
        ("a lower bound up to its constant", "delta is below the inverse of the number of rows"),
        "Between Pure and Approximate Differential Privacy (Steinke, Ullman 2015)",
        "printed as log(sqrt(d / delta)) in the survey and log(sqrt(d) / delta) in the book",
        is_order=True,
    )


LEARNERS: Final[dict[str, Callable[..., Figure]]] = {
    "non-private": non_private,
    "non-private-vc": non_private_vc,
    "finite-class": finite_class,
    "points": points,
    "descent": descent,
    "labels": labels,
    "representation": representation,
    "semi-supervised-labelled": semi_supervised_labelled,
    "semi-supervised-unlabelled": semi_supervised_unlabelled,
    "marginals": marginals,
    "marginals-order": marginals_order,
}


def _figure(rows: float, formula: str, assumes: tuple[str, ...], source: str, correction: str = "") -> Figure:
    # A hair more, for the rounding of floats.
    least = rows if isinstance(rows, int) else math.ceil(rows * (1 + 1e-12))
    return Figure(least, formula, assumes, source, correction)


def _from_cover(log_count: float, accuracy: float, failure: float, epsilon: float) -> float:
    """Return the rows for choosing from few concepts, one of which is wrong on at most 3/8 of alpha."""
    among = math.log(5 / failure) + log_count
    return max(72 * math.log(5 / failure), max(128 / 9, 8 / epsilon) * among) / accuracy


def _least(is_enough: Callable[[int], bool]) -> int:
    """Return a number of rows that is enough, while one row less is not."""
    high = 1
    while not is_enough(high):
        high *= 2
        if high > _MOST:
            raise NoGuarantee("no number of rows below 2^62 is known to be enough")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _missed(rows: int, share_of_rows: float, threshold: int, rate: float) -> float:
    """Return P[Binomial(rows, share) + discrete Laplace noise < threshold], as a float."""
    found = np.arange(rows + 1)
    steps = np.log(np.arange(rows, 0, -1)) - np.log(np.arange(1, rows + 1))
    steps += math.log(share_of_rows) - math.log1p(-share_of_rows)
    law = np.exp(np.concatenate([[0.0], np.cumsum(steps)]) + rows * math.log1p(-share_of_rows))
    ratio, behind = math.exp(-rate), threshold - found
    # P[X >= m] is q^m / (1 + q) above 0, and 1 - q^(1 - m) / (1 + q) from there down; this is P[X < m].
    below = np.where(
        behind > 0,
        1 - np.exp(-rate * np.maximum(behind, 0)) / (1 + ratio),
        np.exp(-rate * (1 - np.minimum(behind, 0))) / (1 + ratio),
    )
    return float(np.sum(law * below))
