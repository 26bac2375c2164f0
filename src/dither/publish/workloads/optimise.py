"""HDMM: strategies for pure and Gaussian noise found by gradient descent over families with a closed-form error.

OPT_0 searches the p-identity strategies over one axis, OPT_Kron products of them axis by axis, OPT_Union gives groups
of products strategies of their own, OPT_M searches weighted marginals. All read the workload alone, never data, so
nothing here costs privacy. Starting points are fixed: the same request gives the same strategy on the same machine, and
what is released records the strategy itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.one_thread import one_thread
from dither.exact import whole
from dither.privacy import L1, Metric
from dither.publish.workloads.grids import BITS, p_identity
from dither.publish.workloads.marginals import Marginals
from dither.publish.workloads.matrices import Floats, Identity, Matrix, Total
from dither.publish.workloads.products import Kron, Union, Weighted
from dither.publish.workloads.workload import Strategy

_MOST_PARAMETERS = 2**22
_MANY_PARAMETERS = 2**14


@one_thread()
def opt_0(gram: Floats, *, rows: int, iterations: int | None = None, initial: Floats | None = None) -> Floats:
    """Return the rows of the best p-identity strategy found for a workload with this Gram matrix.

    Minimises the total squared error of A = [I; theta] D, D making all column sums 1, by L-BFGS over theta >= 0.

    Args:
        gram: the workload's transposed times itself.
        rows: p, how many rows beside the identity.
        iterations: of L-BFGS; unless given 300, and 220 where there are very many parameters.
        initial: where to start; a fixed point without symmetry otherwise.

    """
    from scipy.optimize import minimize

    cells = len(gram)
    count = whole("rows", rows, least=1, most=max(1, _MOST_PARAMETERS // cells))
    most = (
        (300 if count * cells <= _MANY_PARAMETERS else 220) if iterations is None else whole("iterations", iterations)
    )
    # In units of the error of the identity.
    unit = max(float(np.trace(gram)), 1e-300)
    found = minimize(
        lambda flat: _p_identity_error(flat.reshape(count, cells), gram, unit),
        (_start(count, cells) if initial is None else initial).ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] * (count * cells),
        options={"maxiter": most, "maxfun": 2 * most, "ftol": 1e-10, "gtol": 1e-9},
    )
    # A descent may end above the identity, which is the strategy without any row.
    best = found.x if found.fun < 1 else np.zeros_like(found.x)
    return np.asarray(best, dtype=np.float64).reshape(count, cells)


def _start(rows: int, cells: int) -> Floats:
    """Return a fixed starting point in (0, 1) without symmetry: fractional parts of multiples of the golden ratio."""
    return np.asarray(np.mod(np.arange(1, rows * cells + 1) * 0.6180339887498949, 1.0)).reshape(rows, cells)


def _p_identity_error(theta: Floats, gram: Floats, unit: float) -> tuple[float, Floats]:
    """Return the error of a p-identity strategy in units of ``unit``, and its gradient.

    With s = 1 + column sums, C = (I + theta theta')^-1 and H = diag(s) G diag(s), the error is
    tr H - tr(C theta H theta'), because the inverse of I + theta' theta is I - theta' C theta.
    """
    sums = 1 + theta.sum(axis=0)
    inner = np.asarray(np.linalg.inv(np.eye(len(theta)) + theta @ theta.T), dtype=np.float64)
    right = inner @ (((theta * sums) @ gram) * sums)
    crossed = right @ theta.T
    diagonal = np.diagonal(gram)
    error = float((sums**2 * diagonal).sum() - np.trace(crossed))
    by_theta = 2 * (crossed @ inner @ theta - right)
    by_sums = 2 * (sums * diagonal - (theta * right).sum(axis=0) / sums)
    return error / unit, (by_theta + by_sums).ravel() / unit


def default_rows(cells: int) -> int:
    """Return how many rows besides the identity are searched over; more take longer and do not help."""
    return max(1, min(cells // 16, 48))


@dataclass(frozen=True)
class Term:
    """One Kronecker product of a workload: its squared weight, and a Gram matrix for each axis."""

    weight: float
    grams: tuple[Floats, ...]
    is_simple: tuple[bool, ...]  # whether an axis asks for single cells or the total alone


def terms_of(matrix: Matrix) -> list[Term]:
    """Return the Kronecker products whose union is the workload."""
    if isinstance(matrix, Weighted):
        square = float(matrix.weight) ** 2
        return [Term(term.weight * square, term.grams, term.is_simple) for term in terms_of(matrix.matrix)]
    if isinstance(matrix, Union):
        return [term for part in matrix.parts for term in terms_of(part)]
    if isinstance(matrix, Marginals):
        axes = [(np.eye(size), np.ones((size, size))) for size in matrix.shape]
        return [
            Term(
                float(weight) ** 2,
                tuple(axes[axis][0 if axis in kept else 1] for axis in range(len(axes))),
                (True,) * len(axes),
            )
            for kept, weight in zip(matrix.sets, matrix.weights, strict=True)
        ]
    if isinstance(matrix, Kron):
        below = [terms_of(factor) for factor in matrix.factors]
        if any(len(terms) > 1 for terms in below):
            raise InvalidParameter("workload", "a product of unions", "a union of products")
        return [
            Term(
                math.prod(terms[0].weight for terms in below),
                tuple(gram for terms in below for gram in terms[0].grams),
                tuple(simple for terms in below for simple in terms[0].is_simple),
            )
        ]
    return [Term(1.0, (matrix.gram(),), (isinstance(matrix, Identity | Total),))]


@one_thread()
def opt_kron(terms: Sequence[Term], *, rounds: int = 4, iterations: int | None = None, bits: int = BITS) -> Strategy:
    """Return a product of p-identity strategies, one per axis, improved in turn with the others fixed."""
    axes = len(terms[0].grams)
    sizes = [len(gram) for gram in terms[0].grams]
    simple = [all(term.is_simple[axis] for term in terms) for axis in range(axes)]
    rows = [1 if simple[axis] else default_rows(sizes[axis]) for axis in range(axes)]
    thetas: list[Floats | None] = [None] * axes
    # The squared error of every term along every axis, for the strategies as they stand: the identity at first.
    errors = np.array([[float(np.trace(gram)) for gram in term.grams] for term in terms])
    for _ in range(1 if axes == 1 else rounds):
        for axis in range(axes):
            others = np.prod(np.delete(errors, axis, axis=1), axis=1)
            weights = np.array([term.weight for term in terms]) * others
            gram = sum(weight * term.grams[axis] for weight, term in zip(weights / weights.max(), terms, strict=True))
            theta = opt_0(np.asarray(gram), rows=rows[axis], iterations=iterations, initial=thetas[axis])
            thetas[axis] = theta
            errors[:, axis] = [_p_identity_error(theta, term.grams[axis], 1.0)[0] for term in terms]
    factors = tuple(p_identity(theta, bits).matrix for theta in thetas if theta is not None)
    return Strategy(factors[0] if axes == 1 else Kron(factors))


@one_thread()
def opt_marginals(
    workload: Marginals, metric: Metric, *, largest: int | None = None, iterations: int = 500, bits: int = BITS
) -> Strategy:
    """Return weighted marginals for a workload of marginals, computed only by sums over the 2^d sets of axes.

    Args:
        workload: the requested marginals.
        metric: L1 for geometric noise, L2 for Gaussian noise, where the problem is convex.
        largest: marginals with more cells than this are not measured.
        iterations: of L-BFGS.
        bits: weights are multiples of 2^-bits of their sum.

    """
    from scipy.optimize import minimize

    algebra, wanted = workload.algebra, workload.spectrum * workload.algebra.dimensions
    sizes = math.prod(workload.shape) / algebra.summed
    allowed = np.flatnonzero(sizes <= (math.inf if largest is None else max(largest, *workload.sizes)))
    needed = wanted > 0
    power = 1 if metric is L1 else 2

    def error(free: Floats) -> tuple[float, Floats]:
        # Under L2 the variables are the squared weights: the error is convex in them.
        weights = np.zeros(len(sizes))
        weights[allowed] = free
        spectrum = algebra.spectrum(weights**2 if power == 1 else weights)
        inverse = np.zeros_like(spectrum)
        inverse[needed] = 1 / np.maximum(spectrum[needed], 1e-100)
        total, reach = float(wanted @ inverse), float(free.sum())
        slope = -algebra.below(wanted * inverse**2) * algebra.summed
        if power == 1:
            return reach**2 * total, 2 * reach * total + reach**2 * (2 * weights * slope)[allowed]
        return reach * total, total + reach * slope[allowed]

    asked = np.full(len(allowed), 0.1 / len(allowed))
    for kept in workload.sets:
        asked[np.searchsorted(allowed, sum(1 << axis for axis in kept))] += 1.0 / len(workload.sets)
    widest = np.full(len(allowed), 0.1 / len(allowed))
    widest[np.argmax(sizes[allowed])] = 1.0
    # Under L1 there are many local minima; where all starts end is compared. Under L2 there is one minimum.
    starts = [asked, widest, _start(1, len(allowed))[0], _start(2, len(allowed))[1] ** 8] if power == 1 else [asked]
    unit = error(asked)[0]
    tries = [
        minimize(
            lambda free: tuple(part / unit for part in error(free)),
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, None)] * len(start),
            options={"maxiter": iterations, "maxfun": 2 * iterations, "ftol": 1e-12, "gtol": 1e-10},
        )
        for start in starts
    ]
    # Errors are those of weights of any size but 0, where a search can end: so they are compared at a sum of 1.
    ends = [asked, *(np.maximum(np.asarray(found.x), 0.0) for found in tries)]
    best = min((end / end.sum() for end in ends if end.sum() > 0), key=lambda end: error(end)[0])
    weights = best if power == 1 else np.sqrt(best)
    rounded = np.rint(weights * (2.0**bits / weights.max())).astype(np.int64)
    # Sums over subsets see every set that is asked for, even where rounding took the last set above it away.
    seen = np.zeros(len(sizes))
    seen[allowed] = rounded.astype(np.float64) ** 2
    for kept in workload.sets:
        place = sum(1 << axis for axis in kept)
        if algebra.spectrum(seen)[place] == 0:
            rounded[np.searchsorted(allowed, place)] = seen[place] = 1
    chosen = [(int(place), int(weight)) for place, weight in zip(allowed, rounded, strict=True) if weight]
    sets = tuple(tuple(axis for axis in range(len(workload.shape)) if place >> axis & 1) for place, _ in chosen)
    return Strategy(Marginals(workload.shape, sets, tuple(Fraction(weight) for _, weight in chosen)))
