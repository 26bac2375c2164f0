"""The gap from private empirical risk minimisation to the minimum: the corrected table of risk bounds, as functions.

The empirical risk is the mean over n rows of a convex loss, plus a penalty where one is named. Rows have a length of at
most 1, losses change by at most their Lipschitz constant per unit of a weight vector. The number of rows is taken as
public. Numbers are upper bounds with all their constants; the proofs are on the page of learning theory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from dither.errors import NoGuarantee
from dither.exact import Number, positive, probability, whole
from dither.learn.theory.figures import Figure, above_zero, asked, share, touched_by
from dither.privacy import ROW, Unit, zcdp_rho

_RECORDS: Final = "rows have a length of at most 1"
_EXACT: Final = "the minimiser is exact"
_REACH: Final = "reach = min(columns ln(columns / beta), columns + sqrt(2 columns ln(1 / beta)) + ln(1 / beta))"


def risk_bound(method: str, **options: Any) -> Figure:
    """Return a bound on how far above the least empirical risk a private method ends.

    Args:
        method: one of ``METHODS``.
        options: its parameters: ``rows``, ``columns``, ``epsilon``, ``delta``, ``beta`` and the constants of the
            loss; every method takes some of them and refuses the others.

    >>> print(risk_bound("exponential", rows=10_000, columns=20, epsilon=1))
    is 0.004 (2 lipschitz radius columns / (rows epsilon)), if the loss is convex ...
    >>> risk_bound("deep", rows=10)
    Traceback (most recent call last):
    ...
    dither.errors.NoGuarantee: no risk bound is known for deep learning: its objective is not convex

    """
    if method == "deep":
        raise NoGuarantee("no risk bound is known for deep learning: its objective is not convex")
    return asked(METHODS, "method", method, options)


def output(
    *, rows: int, columns: int, penalty: Number, epsilon: Number, beta: Number, smoothness: Number = "0.25"
) -> Figure:
    """Return the bound for weights released with noise of Gamma length (output perturbation), rows replaced."""
    n, d, strength = whole("rows", rows, least=1), whole("columns", columns, least=1), above_zero("penalty", penalty)
    length = 2 * _gamma_reach(d, share("beta", beta)) / (n * strength * above_zero("epsilon", epsilon))
    return Figure(
        (strength + above_zero("smoothness", smoothness)) / 2 * length**2,
        "(penalty + smoothness) / 2 * (2 reach / (rows penalty epsilon))^2, " + _REACH,
        (_RECORDS, "the loss is 1-Lipschitz, convex and smooth", "penalty / 2 |w|^2 is added", _EXACT),
        "derived; Differentially Private Empirical Risk Minimization (Chaudhuri, Monteleoni, Sarwate 2011), section 4",
        "d log d of the tables comes from a loose tail of the noise; d is enough. Sensitivity is 2 / (n penalty), not "
        "2 / (n N), and more rows lower the risk",
    )


def objective(
    *, rows: int, columns: int, penalty: Number, epsilon: Number, beta: Number, smoothness: Number = "0.25"
) -> Figure:
    """Return the bound for a minimiser of a randomly tilted objective (objective perturbation), rows replaced."""
    n, d, strength = whole("rows", rows, least=1), whole("columns", columns, least=1), above_zero("penalty", penalty)
    curve = above_zero("smoothness", smoothness) / (n * strength)
    left = above_zero("epsilon", epsilon) - 2 * math.log1p(curve)
    if left <= 0:
        raise NoGuarantee("epsilon is used up by the curvature of the loss: take a larger penalty or more rows")
    length = 2 * _gamma_reach(d, share("beta", beta)) / left
    return Figure(
        length**2 / (n**2 * strength),
        "(2 reach / epsilon')^2 / (rows^2 penalty), epsilon' = epsilon - 2 ln(1 + smoothness / (rows penalty)), "
        + _REACH,
        (_RECORDS, "the loss is 1-Lipschitz, convex and twice differentiable", "penalty / 2 |w|^2 is added", _EXACT),
        "derived; Differentially Private Empirical Risk Minimization (Chaudhuri, Monteleoni, Sarwate 2011), section 4",
        "print omits epsilon' and the factor 1/n of the tilt",
    )


def noisy_descent(
    *,
    rows: int,
    columns: int,
    epsilon: Number,
    delta: Number,
    steps: int,
    lipschitz: Number = 1,
    radius: Number = 1,
    unit: Unit = ROW,
) -> Figure:
    """Return the bound on the mean for gradient descent with Gaussian noise on the gradient of all rows."""
    n, d, count = whole("rows", rows, least=1), whole("columns", columns, least=1), whole("steps", steps, least=1)
    rho = float(zcdp_rho(positive("epsilon", epsilon), probability("delta", delta, open_below=True)))
    reach = above_zero("lipschitz", lipschitz) * above_zero("radius", radius)
    return Figure(
        reach * math.sqrt(1 / count + d * touched_by(unit) ** 2 / (2 * rho * n**2)),
        "lipschitz radius sqrt(1 / steps + columns touched^2 / (2 rho rows^2))",
        (
            "the loss is convex and Lipschitz",
            "weights stay in a ball of the radius, and start at its centre",
            "the average of all steps is released",
            "the bound is on the mean over the noise",
        ),
        "derived; order of growth sqrt(columns) / rows: Bassily, Smith and Thakurta 2014",
        "print calls noisy descent objective perturbation and gives no bound for it",
    )


def exponential(
    *,
    rows: int,
    columns: int,
    epsilon: Number,
    lipschitz: Number = 1,
    radius: Number = 1,
    unit: Unit = ROW,
) -> Figure:
    """Return the bound on the mean for a draw of weights from the exponential mechanism over a ball."""
    n, d = whole("rows", rows, least=1), whole("columns", columns, least=1)
    reach = 2 * above_zero("lipschitz", lipschitz) * above_zero("radius", radius) * touched_by(unit)
    factor = "" if unit == ROW else "2 * "
    return Figure(
        reach * d / (n * above_zero("epsilon", epsilon)),
        f"{factor}2 lipschitz radius columns / (rows epsilon)",
        (
            "the loss is convex and Lipschitz",
            "the draw is exact; one step of a Markov chain that has not arrived has no finite loss",
            "the bound is on the mean over the draw",
        ),
        "derived; Bassily, Smith and Thakurta 2014, section 3; the mean of a log-concave law: Kalai and Vempala 2006",
    )


def kernel_features(
    *,
    rows: int,
    features: int,
    cost: Number,
    epsilon: Number,
    beta: Number,
    lipschitz: Number = 1,
    kernel: Number = 1,
    feature: Number = 1,
) -> Figure:
    """Return how far the scores of a support vector machine with noisy weights are off at any point, rows replaced."""
    n, count = whole("rows", rows, least=1), whole("features", features, least=1)
    scale = 4 * above_zero("lipschitz", lipschitz) * above_zero("cost", cost) * above_zero("kernel", kernel)
    scale *= math.sqrt(count) / (above_zero("epsilon", epsilon) * n)
    return Figure(
        above_zero("feature", feature) * 2 * scale * (count * math.log(2) + math.log(1 / share("beta", beta))),
        "feature * 2 scale (features ln 2 + ln(1 / beta)), scale = 4 lipschitz cost kernel sqrt(features) / (epsilon "
        "rows)",
        ("features are bounded by feature each, and their kernel by kernel^2", _EXACT),
        "derived; Learning in a Large Function Space (Rubinstein et al. 2012)",
        "sqrt(d) in the tables is the scale of the noise of one weight; scores are off by d^(3/2) / rows",
    )


def kernel_order(*, rows: int, columns: int) -> Figure:
    """Return the printed order of growth for kernels answered in the interactive model."""
    return Figure(
        whole("columns", columns, least=1) ** (1 / 3) / whole("rows", rows, least=1) ** (2 / 3),
        "columns^(1/3) / rows^(2/3)",
        ("epsilon, delta and the constants of the loss are fixed",),
        "Differentially Private Learning with Kernels (Jain, Thakurta 2013), as printed in table 6.5",
        is_order=True,
    )


def incremental_order(*, columns: int, steps: int) -> Figure:
    """Return the printed order of growth for regression on a stream, summed over all rows so far."""
    return Figure(
        min(math.sqrt(whole("columns", columns, least=1)), float(whole("steps", steps, least=1))),
        "min(sqrt(columns), steps)",
        (
            "the risk is a sum over rows, not a mean",
            "epsilon, delta, logarithms and the constants of the loss are fixed",
        ),
        "Private Incremental Regression (Kasiviswanathan, Nissim, Jin 2017), as printed in section 6.2.2",
        "table 6.5 lists sqrt(d) and T side by side; the smaller of the two is meant",
        is_order=True,
    )


METHODS: Final[dict[str, Callable[..., Figure]]] = {
    "output": output,
    "objective": objective,
    "noisy-descent": noisy_descent,
    "exponential": exponential,
    "kernel-features": kernel_features,
    "kernel-order": kernel_order,
    "incremental-order": incremental_order,
}


def _gamma_reach(columns: int, failure: float) -> float:
    """Return what a Gamma variable of this shape and scale 1 exceeds with a probability of at most ``failure``."""
    tail = math.log(1 / failure)
    return min(columns * (math.log(columns) + tail), columns + math.sqrt(2 * columns * tail) + tail)
