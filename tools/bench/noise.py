"""How fast noise is: beside NumPy's insecure samplers, beside OpenDP, and beside the bits it is made of."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dither.noise import SystemEntropy, discrete_gaussian, discrete_laplace
from tools.bench.clock import best_seconds
from tools.rivals.environments import ask_rival

SCALES = (1, 10, 1000, 10**6)
LAPLACE_GOAL, GAUSSIAN_GOAL = 40.0, 80.0


@dataclass(frozen=True)
class NoiseFigures:
    """Nanoseconds a sample at one scale; None where a rival is absent."""

    law: str
    scale: int
    nanoseconds: float
    numpy_nanoseconds: float
    opendp_nanoseconds: float | None
    goal: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def measure_noise(samples: int = 10**6, rival_python: Path | None = None) -> list[NoiseFigures]:
    """Return the time of a sample for both laws and all scales."""
    generator = np.random.default_rng()
    insecure = {
        "laplace": _nanoseconds(lambda: generator.laplace(size=samples), samples),
        "gaussian": _nanoseconds(lambda: generator.normal(size=samples), samples),
    }
    rival = _opendp(rival_python)
    figures = []
    for law, draw, goal in (
        ("laplace", discrete_laplace, LAPLACE_GOAL),
        ("gaussian", discrete_gaussian, GAUSSIAN_GOAL),
    ):
        for scale in SCALES:
            ours = _nanoseconds(lambda draw=draw, scale=scale: draw(scale, samples), samples)
            figures.append(NoiseFigures(law, scale, ours, insecure[law], rival.get(f"{law} {scale}"), goal))
    return figures


def nanoseconds_per_random_byte(size: int = 1 << 22) -> float:
    """Return the cost of one byte of the key stream: no sampler can be faster than its bits."""
    entropy = SystemEntropy()
    return _nanoseconds(lambda: entropy.words(size // 2), size)


def peak_bytes_per_sample(samples: int = 10**6) -> dict[str, float]:
    """Return the peak of memory beyond the result, a sample."""
    peaks = {}
    for law, draw in (("laplace", discrete_laplace), ("gaussian", discrete_gaussian)):
        draw(1000, 1000)
        tracemalloc.start()
        result = draw(1000, samples)
        peaks[law] = (tracemalloc.get_traced_memory()[1] - result.nbytes) / samples
        tracemalloc.stop()
    return peaks


def time_value_correlation(draws: int = 20_000) -> dict[str, float]:
    """Return the rank correlation between the time of a single draw and the size of what it drew.

    About 3 / sqrt(draws) is what independence gives: 0.021 at 20,000.
    """
    from scipy.stats import spearmanr

    correlations = {}
    for law, draw in (("laplace", discrete_laplace), ("gaussian", discrete_gaussian)):
        draw(1000, 1)
        times, sizes = np.empty(draws), np.empty(draws)
        for index in range(draws):
            start = time.perf_counter_ns()
            drawn = draw(1000, 1)
            times[index] = time.perf_counter_ns() - start
            sizes[index] = abs(int(drawn[0]))
        correlations[law] = float(spearmanr(times, sizes).statistic)
    return correlations


def _nanoseconds(work: Any, samples: int) -> float:
    return best_seconds(work) / samples * 1e9


def _opendp(python: Path | None) -> dict[str, float]:
    if python is None:
        return {}
    figures: dict[str, float] = ask_rival(python, "opendp_noise.py", *map(str, SCALES))
    return figures
