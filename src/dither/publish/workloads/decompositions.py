"""Low-rank and orthogonal decompositions of a workload: strategies with few rows, inside its row space.

Both write the workload W as B L and measure L. The low-rank mechanism searches L with columns in the L1 ball; the
orthogonal one takes mutually orthogonal rows, the right singular vectors, and searches their weights. Neither reads
data. Rounding to the grid keeps the rows in the row space of W, so that B exists and answers have no bias.
"""

from __future__ import annotations

import numpy as np

from dither.estimate.one_thread import one_thread
from dither.exact import whole
from dither.privacy import L1, Metric
from dither.publish.workloads.grids import BITS, in_rows_of, row_basis
from dither.publish.workloads.matrices import Floats
from dither.publish.workloads.workload import Strategy, Workload


@one_thread()
def orthogonal_design(workload: Workload, metric: Metric, *, iterations: int = 2000, bits: int = BITS) -> Strategy:
    """Return the workload's right singular vectors, weighted for the least error: mutually orthogonal queries.

    The weights w minimise the sum of eigenvalue / w^2 with all columns in the unit ball of the metric, by
    multiplicative updates of the dual: at the optimum w is a power of eigenvalue / price.
    """
    values, rows = _spectrum(workload)
    power = 1 if metric is L1 else 2
    sizes = np.abs(rows) ** power
    prices = np.ones(workload.cells)
    best, least = np.ones(len(values)), np.inf
    for _ in range(whole("iterations", iterations, least=1)):
        weights = (values / np.maximum(sizes @ prices, 1e-300)) ** (1 / (power + 2))
        used = (weights**power) @ sizes
        reach = float(used.max()) ** (1 / power)
        error = float((values / weights**2).sum()) * reach**2
        if error < least * (1 - 1e-12):
            best, least = weights, error
        prices = prices * (used / used.max()) ** 0.5
        prices = np.maximum(prices / prices.max(), 1e-12)
    return in_rows_of(workload, rows * best[:, None], bits)


@one_thread()
def low_rank_design(
    workload: Workload, metric: Metric, *, rank: int | None = None, rounds: int = 60, bits: int = BITS
) -> Strategy:
    """Return L of a decomposition W = B L with a small sum of squares of B and the columns of L in the unit ball.

    Augmented Lagrangian: B in closed form, L by accelerated gradient steps that are projected column by column, the
    multipliers of W = B L, and a penalty that doubles. What is returned is the best L of all rounds by its own exact
    error, the starts among them: weighted singular vectors, rows of the workload, single cells.

    Args:
        workload: the queries, on at most 4,096 cells.
        metric: L1 for geometric noise, L2 for Gaussian noise.
        rank: how many rows L has; 1.2 times the rank of the workload, as in the source, unless given.
        rounds: of the outer loop.
        bits: the fineness of the grid.

    """
    values, basis = _spectrum(workload)
    count = max(1, round(1.2 * len(values))) if rank is None else whole("rank", rank, least=len(values), most=4096)
    # W = U S V' and S V' ask for the same: an orthogonal U changes no sum of squares.
    target = np.sqrt(values)[:, None] * basis
    starts = [orthogonal_design(workload, metric, bits=20).matrix.dense(), row_basis(workload)]
    if len(values) == workload.cells:
        starts.append(np.eye(workload.cells))
    start = min(starts, key=lambda rows: _error(target, rows, metric))
    more = np.mod(np.arange(max(0, count - len(start)) * workload.cells) * 0.618, 1.0).reshape(-1, workload.cells)
    measured = np.concatenate([start / _reach(start, metric), 0.01 * more / max(1, len(more))])
    measured = measured / _reach(measured, metric)
    multipliers, penalty = np.zeros_like(target), 1.0 / float(np.sqrt(values).mean())
    best, least = start, _error(target, start, metric)
    for turn in range(whole("rounds", rounds, least=1)):
        pull = penalty * target + multipliers
        for _ in range(3):
            combined = pull @ measured.T @ np.linalg.inv(penalty * measured @ measured.T + np.eye(len(measured)))
            measured = _steps(measured, combined, pull, penalty, metric)
        missed = target - combined @ measured
        multipliers = multipliers + penalty * missed
        if turn % 10 == 9:
            penalty *= 2
        inside = measured @ basis.T @ basis
        error = _error(target, inside, metric)
        if error < least:
            best, least = inside, error
    return in_rows_of(workload, best @ basis.T @ basis, bits)


def _spectrum(workload: Workload) -> tuple[Floats, Floats]:
    """Return the positive eigenvalues of the Gram matrix, and their eigenvectors as rows."""
    values, vectors = np.linalg.eigh(workload.matrix.gram())
    kept = values > values.max() * 1e-10
    return values[kept], np.ascontiguousarray(vectors[:, kept].T)


def _steps(measured: Floats, combined: Floats, pull: Floats, penalty: float, metric: Metric) -> Floats:
    """Return L after accelerated projected gradient steps on the squared distance, with B fixed."""
    square, linear = combined.T @ combined * penalty, combined.T @ pull
    length = 1 / max(float(np.linalg.norm(square, 2)), 1e-300)
    here, ahead, speed = measured, measured, 1.0
    for _ in range(10):
        there = _projected(ahead - length * (square @ ahead - linear), metric)
        faster = (1 + np.sqrt(1 + 4 * speed**2)) / 2
        here, ahead, speed = there, there + (speed - 1) / faster * (there - here), faster
    return here


def _projected(columns: Floats, metric: Metric) -> Floats:
    """Return every column moved to the nearest point of the unit ball."""
    if metric is not L1:
        return np.asarray(columns / np.maximum(1.0, np.linalg.norm(columns, axis=0)))
    sizes = np.abs(columns)
    ordered = -np.sort(-sizes, axis=0)
    sums = np.cumsum(ordered, axis=0) - 1
    counts = np.arange(1, len(columns) + 1)[:, None]
    last = (ordered * counts > sums).sum(axis=0) - 1
    threshold = np.maximum(sums[last, np.arange(columns.shape[1])] / (last + 1), 0.0)
    return np.asarray(np.where(sizes.sum(axis=0) <= 1, columns, np.sign(columns) * np.maximum(sizes - threshold, 0.0)))


def _reach(measured: Floats, metric: Metric) -> float:
    norms = np.abs(measured).sum(axis=0) if metric is L1 else np.linalg.norm(measured, axis=0)
    return float(max(norms.max(), 1e-300))


def _error(target: Floats, measured: Floats, metric: Metric) -> float:
    """Return the total squared error of measuring these rows, infinite if they do not determine the workload."""
    inverse = np.linalg.pinv(measured, rcond=1e-9)
    combined = target @ inverse
    if np.abs(combined @ measured - target).max() > 1e-6 * np.abs(target).max():
        return float("inf")
    return float((combined**2).sum()) * _reach(measured, metric) ** 2
