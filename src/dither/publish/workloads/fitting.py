"""Fits of non-negative counts to noisy measurements, for which least squares has no closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.estimate.one_thread import one_thread
from dither.publish.workloads.matrices import Floats
from dither.publish.workloads.workload import Strategy


@one_thread()
def non_negative_fit(strategy: Strategy, measured: NDArray[Any]) -> Floats:
    """Return the non-negative counts whose measurements are nearest to the noisy ones in squared error.

    Starts at the unconstrained estimate without its negative counts, and ends where no count wants to move.
    """
    from scipy.optimize import minimize

    target = np.asarray(measured, dtype=np.float64)
    matrix = strategy.matrix
    # Of unit size, so that the steps of the search do not depend on the grid of the strategy.
    unit = max(1.0, float(matrix.norm(2)) ** 0.5)
    start = np.maximum(strategy.estimate(target), 0.0)
    scale = max(1.0, float(np.abs(start).max()))

    def squares(x: Floats) -> tuple[float, Floats]:
        missed = (matrix.times((x * scale)[:, None])[:, 0] - target) / (unit * scale)
        slope = matrix.transposed_times((missed / unit)[:, None])[:, 0]
        return 0.5 * float(missed @ missed), slope

    found = minimize(
        squares,
        start / scale,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * start.size,
        options={"maxiter": 1000, "maxfun": 2000, "ftol": 1e-15, "gtol": 1e-9},
    )
    return np.maximum(np.asarray(found.x, dtype=np.float64), 0.0) * scale
