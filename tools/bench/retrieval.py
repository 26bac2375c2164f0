"""Inner products of two noisy vectors: how far they err by what the client sends, at one epsilon for either side.

A made-up vector of 1,024 counts and queries about forty cells near each other. Baselines: the server's noisy vector
with a query that everybody may see, and the answer 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dither import Budget, release
from dither.privacy import ROW, PureDP
from dither.publish.retrieval import SentVector, SharedVector, inner_product

CELLS: Final = 1024
#: What the client sends, by name.
WAYS: Final[dict[str, dict[str, Any]]] = {
    "all cells": {},
    "coefficients above the mean": {"sent": "threshold"},
    "above the mean of 64 sampled": {"sent": "threshold", "sampled": 64},
    "the 32 largest": {"sent": "top", "kept": 32},
}


@dataclass(frozen=True)
class Retrieved:
    """One way: mean error as a share of the true product, bytes sent, and how many intervals held."""

    way: str
    error: float
    payload: float
    covered: float | None = None


def measure(epsilon: int = 4, trials: int = 40) -> Iterator[Retrieved]:
    """Yield the figures of each way, over fresh queries."""
    dice = np.random.default_rng()
    counts = np.rint(200 * np.exp(-((np.arange(CELLS) - 400) ** 2) / 40_000)).astype(np.int64)
    queries = [(dice.permutation(200) < 40).astype(np.int64) for _ in range(trials)]
    asked = [np.concatenate([np.zeros(300, dtype=np.int64), one, np.zeros(524, dtype=np.int64)]) for one in queries]

    def sent(values: Any, **how: Any) -> SentVector:
        method = SharedVector.calibrated(PureDP(epsilon), shape=CELLS, **how)
        return release(method, values, budget=Budget(epsilon=epsilon, unit=ROW), stability=1).value

    for way, how in WAYS.items():
        errors, payloads, covered = [], [], 0
        for query in asked:
            truth, found = int(counts @ query), inner_product(sent(counts), sent(query, **how))
            errors.append(abs(found.value - truth) / truth)
            payloads.append(found.payload)
            covered += found.interval.low <= truth <= found.interval.high
        yield Retrieved(way, float(np.mean(errors)), float(np.mean(payloads)), covered / trials)
    open_errors = [abs(float(sent(counts).vector @ query) / int(counts @ query) - 1) for query in asked]
    yield Retrieved("a query that is shown", float(np.mean(open_errors)), 8.0 * CELLS)
    yield Retrieved("the answer 0", 1.0, 0.0)


def lines() -> Iterator[str]:
    """Yield the figures for people, one way a line."""
    yield f"inner products of {CELLS:,} cells, epsilon 4 on either side"
    yield "the client sends | mean error, share of the product | bytes | intervals at 95 % that held"
    for row in measure():
        held = "no intervals" if row.covered is None else f"{row.covered:.0%}"
        yield f"{row.way} | {row.error:.4f} | {row.payload:,.0f} | {held}"
