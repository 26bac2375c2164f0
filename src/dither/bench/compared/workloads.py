"""Batches of linear queries: every strategy by its exact expected error; data-dependent methods by trials.

Asked are all ranges, all prefixes, two thousand random ranges, and all marginals of pairs of attributes with four
values each. The scaled error per query is the root of the expected square of the L2 norm of all errors, over the number
of rows and the number of queries. Strategies that no count decides have the same error on all data: their standard
error is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.bench.compared import data
from dither.bench.comparison import Comparison, Grid, Outcome, Trial
from dither.mechanisms import perform
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import L1, L2, PureDP
from dither.publish.workloads import (
    EigenDesign,
    GaussianFactorisation,
    GroupingAndSmoothing,
    Hdmm,
    Hierarchy,
    Identity,
    IReduct,
    Kron,
    LowRank,
    MatrixMechanism,
    Measured,
    OrthogonalMechanism,
    Privelet,
    Strategy,
    TwoPhase,
    WeightedMarginals,
    Workload,
    eigen_design,
    find_strategy,
    low_rank_design,
    opt_marginals,
    optimal_factorisation,
    orthogonal_design,
)

RANGES, PREFIXES, RANDOM, MARGINALS = "all ranges", "prefixes", "random ranges", "marginals"
_QUERIES: Final = 2000
#: The values of each attribute of the marginals.
_VALUES: Final = 4
#: Beyond these a trial takes longer than a comparison has time for: cells, and queries.
_MOST: Final = {"low-rank-mechanism": 256, "orthogonal-mechanism": 1024, "gaussian-factorisation": 256}
_MOST_STEPS: Final = 2048
_GAUSSIAN: Final = ("eigen-design", "gaussian-factorisation")
_LOOKING: Final = ("grouping-and-smoothing", "ireduct", "two-phase")
_PURE: Final = ("ireduct", "two-phase")


@lru_cache(maxsize=32)
def workload(asked: str, cells: int) -> Workload:
    """Return the queries over ``cells`` cells."""
    if asked == RANGES:
        return Workload.all_ranges(cells)
    if asked == PREFIXES:
        return Workload.prefixes(cells)
    if asked == RANDOM:
        ends = np.sort(np.random.default_rng(cells).integers(0, cells, size=(_QUERIES, 2)), axis=1)
        return Workload.ranges(cells, [(int(first), int(last)) for first, last in ends])
    return Workload.marginals((_VALUES,) * _attributes(cells), 2)


def _attributes(cells: int) -> int:
    return round(math.log(cells, _VALUES))


def _identity(asked: Workload, metric: Any) -> Strategy:
    return Strategy(Identity(asked.cells) if len(asked.domain) == 1 else Kron(tuple(map(Identity, asked.domain))))


def _itself(asked: Workload, metric: Any) -> Strategy:
    return Strategy(asked.matrix)


def _tree(asked: Workload, metric: Any) -> Strategy:
    """Return the tree with the branching of the least expected error: it needs no data."""
    size = asked.cells
    several = [Strategy(Hierarchy(size, branching)) for branching in (2, 4, 8, 16) if branching <= size]
    return min(several, key=lambda strategy: asked.root_mean_square(strategy, metric))


#: Each with the class that is in the catalogue, and the strategy that it finds for a workload.
_MEASURED: Final[dict[str, tuple[type[Measured], Callable[[Workload, Any], Strategy]]]] = {
    "identity": (MatrixMechanism, _identity),
    "workload": (MatrixMechanism, _itself),
    "hierarchical": (MatrixMechanism, _tree),
    "hdmm": (Hdmm, lambda asked, metric: find_strategy(asked, metric).strategy),
    "low-rank-mechanism": (LowRank, low_rank_design),
    "orthogonal-mechanism": (OrthogonalMechanism, orthogonal_design),
    "eigen-design": (EigenDesign, lambda asked, metric: eigen_design(asked)),
    "gaussian-factorisation": (GaussianFactorisation, lambda asked, metric: optimal_factorisation(asked).strategy),
}
_NAMES: Final = (*_MEASURED, "privelet", "weighted-marginals", *_LOOKING)


@lru_cache(maxsize=256)
def _strategy(method: str, asked: str, cells: int, *, is_pure: bool) -> Strategy:
    # The search needs no loss: it is done once for each kind of noise.
    return _MEASURED[method][1](workload(asked, cells), L1 if is_pure else L2)


def fits(trial: Trial) -> bool:
    """Return whether a method suits the queries, and a domain of this size."""
    method, pure = trial.method, trial.delta == "0"
    if trial.asked == MARGINALS and (
        _attributes(trial.cells) < 2 or _VALUES ** _attributes(trial.cells) != trial.cells
    ):
        return False
    if trial.cells > _MOST.get(method, trial.cells) or (method in _GAUSSIAN and pure) or (method in _PURE and not pure):
        return False
    if method in ("hierarchical", "weighted-marginals"):
        return (method == "hierarchical") == (trial.asked != MARGINALS)
    return method not in _PURE or workload(trial.asked, trial.cells).queries <= _MOST_STEPS


def trials(grid: Grid) -> list[Trial]:
    """Return every trial of a grid."""
    shapes = data.histograms(max(grid.domains))
    return grid.trials(methods=_NAMES, shapes=shapes, asked=[RANGES, PREFIXES, RANDOM, MARGINALS], fits=fits)


def mechanism(trial: Trial) -> Any:
    """Return the mechanism of a trial."""
    asked, method = workload(trial.asked, trial.cells), trial.method
    if method in _MEASURED:
        strategy = _strategy(method, trial.asked, trial.cells, is_pure=trial.delta == "0")
        return _MEASURED[method][0](workload=asked, strategy=strategy, noise=_noise(trial, strategy))
    if method == "privelet":
        return Privelet.calibrated(trial.loss, sensitivity=1, shape=asked.domain)
    if method == "weighted-marginals":
        strategy = opt_marginals(asked.matrix, L1 if trial.delta == "0" else L2)  # type: ignore[arg-type]
        return WeightedMarginals(workload=asked, strategy=strategy, noise=_noise(trial, strategy))
    if method == "grouping-and-smoothing":
        width = max(2, math.isqrt(trial.cells))
        return GroupingAndSmoothing.calibrated(trial.loss, sensitivity=1, columns=trial.cells, width=width)
    kind: type[IReduct | TwoPhase] = IReduct if method == "ireduct" else TwoPhase
    # Answers below a thousandth of the rows count as this, when relative errors are compared.
    return kind.calibrated(trial.loss, sensitivity=1, workload=asked, floor=max(1, trial.scale // 1000))


def _noise(trial: Trial, strategy: Strategy) -> Geometric | DiscreteGaussian:
    if isinstance(trial.loss, PureDP):
        return Geometric.calibrated(trial.loss, sensitivity=strategy.sensitivity(L1))
    return DiscreteGaussian.calibrated(trial.loss, sensitivity=strategy.sensitivity(L2))


@lru_cache(maxsize=1024)
def expected(method: str, asked: str, cells: int, epsilon: str, delta: str) -> float:
    """Return the exact root mean square error of an answer, where no count decides it."""
    chosen = mechanism(Trial("", 1, cells, epsilon, method, 1, asked, delta))
    if isinstance(chosen, Measured):
        return chosen.root_mean_square_error
    if isinstance(chosen, Privelet):
        noise, queries = _variance_of(chosen), workload(asked, cells)
        return math.sqrt(noise * queries.matrix.total_variance(chosen.covariance) / queries.queries)
    return math.sqrt(float(np.mean(chosen.variances)))


def _variance_of(chosen: Privelet) -> float:
    # Variances are proportional to those of the cells, for any noise.
    return float(chosen.variances().flat[0] / chosen.covariance.diagonal()[0])


def run(trial: Trial) -> Outcome:
    """Return the error of a trial: expected if possible, otherwise measured."""
    asked = workload(trial.asked, trial.cells)
    scaled = math.sqrt(asked.queries) * trial.scale
    if trial.method not in _LOOKING:
        error = expected(trial.method, trial.asked, trial.cells, trial.epsilon, trial.delta)
        return Outcome(trial, error / scaled, 0.0)
    chosen, share = mechanism(trial), data.histograms(trial.cells)[trial.shape]
    squares = []
    for repeat in range(trial.repeats):
        counts = trial.generator(repeat).multinomial(trial.scale, share)
        squares.append(float(np.mean(_off(trial, chosen, counts) ** 2)))
    mean = Outcome.of(trial, squares)
    root = math.sqrt(mean.error)
    # The standard error of a root: that of the mean over twice the root.
    return Outcome(trial, root / scaled, mean.standard_error / (2 * root) / scaled if root else 0.0)


def _off(trial: Trial, chosen: Any, counts: NDArray[np.int64]) -> NDArray[np.float64]:
    asked = workload(trial.asked, trial.cells)
    if trial.method == "grouping-and-smoothing":
        return np.asarray(asked.answer(np.asarray(perform(chosen, counts, stability=1)) - counts), dtype=np.float64)
    return np.asarray(
        perform(chosen, counts.reshape(asked.domain), stability=1)[0] - asked.answer(counts), dtype=np.float64
    )


WORKLOADS: Final = Comparison(
    name="workloads",
    title="Strategies for batches of queries",
    about="Scaled error per query, as DPBench has it: expected, exact, for strategies that no count decides, measured "
    "for the others. Ratios to the best single method of each setting (queries, data, scale, cells, loss).",
    trials=trials,
    run=run,
    baseline="identity",
)
