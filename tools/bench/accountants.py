"""How fast and how tight accounting is: beside dp-accounting, in the same run, on the same questions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from dither.privacy import Relation
from dither.privacy.accountants import (
    GaussianPair,
    LaplacePair,
    LossDistribution,
    SampledPair,
    Sampling,
    compose_distributions,
    sampled_gaussian_curve,
)
from dither.privacy.accountants.distribution import forget
from tools.bench.clock import best_seconds
from tools.rivals.environments import ask_rival

DELTA = "1e-5"
#: The rival's default grid is 1e-4; this power of two is a little coarser, so that nothing is won by the grid.
SAME_STEP = Fraction(1, 2**13)


@dataclass(frozen=True)
class AccountantFigures:
    """Seconds and epsilon of one task, ours and the rival's; None where the rival is absent or has no such task."""

    task: str
    grid: str
    seconds: float
    epsilon: float
    rival_seconds: float | None
    rival_epsilon: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def measure_accountants(rival_python: Path | None = None) -> list[AccountantFigures]:
    """Return the time of a whole question, from parameters to epsilon, with nothing cached between questions."""
    rival = _rival(rival_python)
    figures = []
    for task, grid, ask in _tasks():
        found: list[Fraction] = []

        def cold(ask: Callable[[], Fraction] = ask, found: list[Fraction] = found) -> None:
            forget()
            found.append(ask())

        seconds = best_seconds(cold, repeats=3)
        theirs = rival.get(task, {})
        figures.append(
            AccountantFigures(task, grid, seconds, float(found[-1]), theirs.get("seconds"), theirs.get("epsilon"))
        )
    return figures


def _tasks() -> list[tuple[str, str, Callable[[], Fraction]]]:
    tasks: list[tuple[str, str, Callable[[], Fraction]]] = []
    for step in (None, SAME_STEP):
        grid = "as chosen" if step is None else "2^-13"
        for sigma in (1, 4):
            training = LossDistribution.of(_round(sigma), count=10_000, step=step)
            name = f"10,000 sampled Gaussian steps, noise {sigma}"
            tasks.append((name, grid, lambda training=training: training.epsilon(DELTA)))  # type: ignore[misc]
        different = [
            LossDistribution.of(
                LaplacePair(scale=Fraction(1990 + 30 * n, 398), contribution=1, relation=Relation.ADD_REMOVE), step=step
            )
            for n in range(200)
        ]
        tasks.append(("200 different Laplace", grid, lambda all_=different: compose_distributions(all_).epsilon(DELTA)))  # type: ignore[misc]
    tasks.append(("10,000 sampled Gaussian steps, noise 1, Renyi", "orders", _renyi))
    return tasks


def _round(sigma: int) -> SampledPair:
    noise = GaussianPair(sigma=sigma, contribution=1, relation=Relation.ADD_REMOVE)
    return SampledPair(pair=noise, rate="0.01", sampling=Sampling.POISSON)


def _renyi() -> Fraction:
    curve = sampled_gaussian_curve(sigma=1, contribution=1, rate="0.01", relation=Relation.ADD_REMOVE)
    return curve.times(10_000).epsilon(DELTA)


def _rival(python: Path | None) -> dict[str, dict[str, float]]:
    if python is None:
        return {}
    figures: dict[str, dict[str, float]] = ask_rival(python, "dp_accounting_distributions.py", DELTA)
    return figures
