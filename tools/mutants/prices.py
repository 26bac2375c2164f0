"""Mutants of prices beyond the first unit, and of one direction alone: killed at distances 2 and 3."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.checks.contract import check_law, check_law_farther
from dither.checks.replays import check_distances, check_replay
from dither.checks.sampling import check_sampled_price
from dither.exact import Number, non_negative
from dither.mechanisms import Geometric
from dither.noise import Noise
from dither.privacy import Loss, PureDP
from tools.mutants.record import Mutant, mutated
from tools.mutants.targets import HISTOGRAM, LINEAR, of

_PLANS = "dither.privacy.plans"


def _sampled_prices() -> None:
    """Check the price of a Poisson sample for one, two and three rows."""
    check_sampled_price(Fraction(1, 4))


def _capped(before: Any, self: Geometric, d_in: Number = 1) -> Loss:
    return PureDP(min(non_negative("d_in", d_in), Fraction(1)) / self.scale)


def _root(before: Any, self: Geometric, d_in: Number = 1) -> Loss:
    # As if three changes were those of a Euclidean length.
    distance = non_negative("d_in", d_in)
    return PureDP(min(distance, (distance + 3) / 4) / self.scale)


def _one_sibling(before: Any, self: Any, d_in: Number = 1) -> Loss:
    found: Loss = before(self, min(non_negative("d_in", d_in), Fraction(1)))
    return found


def _without_stability(before: Any, self: Any, d_in: Number = 1) -> Loss:
    found: Loss = self.part.loss(non_negative("d_in", d_in))
    return found


def _one_run_fewer(before: Any, self: Any, d_in: Number = 1) -> Loss:
    found: Loss = self.plan.loss(d_in).times(max(int(self.times) - 1, 1))
    return found


def _amplified_once(before: Any, loss: Loss, rate: Fraction) -> Loss:
    found: Loss = before(loss, min(rate, Fraction(1, 4)))
    return found


def _only_upwards(before: Any, self: Any, value: Any, count: int, noise: Noise) -> NDArray[Any]:
    drawn: NDArray[Any] = np.asarray(value) + np.abs(np.asarray(before(self, 0 * np.asarray(value), count, noise)))
    return drawn


def _cheaper_to_leave(before: Any, self: Any, data: Any, run: Any) -> Any:
    # Rows that left are remembered by a gap of two, rows that came by one.
    counts = np.asarray(data) * np.where(np.asarray(data) % 2, 1, 2)
    return before(self, counts, run)


PRICES = (
    Mutant(
        64,
        "the price of farther values is that of near ones",
        "",
        "two units lose more than is charged",
        "exact law",
        lambda: mutated("dither.mechanisms.geometric:Geometric.loss", _capped),
        of(check_law_farther, "geometric"),
    ),
    Mutant(
        65,
        "the price grows too slowly with the distance",
        "",
        "three units lose more than is charged",
        "exact law",
        lambda: mutated("dither.mechanisms.geometric:Geometric.loss", _root),
        of(check_law_farther, "geometric"),
    ),
    Mutant(
        66,
        "two units touch one sibling",
        "",
        "disjoint parts are charged for one of two persons",
        "replay",
        lambda: mutated(f"{_PLANS}:Parallel.loss", _one_sibling),
        of(check_replay, "prefix-counter", 1),
    ),
    Mutant(
        67,
        "stability is omitted from the price",
        "",
        "a value that moves by more is charged as one that moves by one",
        "replay",
        lambda: mutated(f"{_PLANS}:Use.loss", _without_stability),
        of(check_replay, LINEAR),
    ),
    Mutant(
        68,
        "the last of several draws is free",
        "",
        "one draw in the plan is charged to nobody",
        "replay",
        lambda: mutated(f"{_PLANS}:Repeat.loss", _one_run_fewer),
        of(check_distances, "dual-query"),
    ),
    Mutant(
        69,
        "a sample of several units is amplified like one",
        "",
        "that one of them is sampled is likelier than is charged",
        "exact law",
        lambda: mutated(f"{_PLANS}:_amplified", _amplified_once),
        _sampled_prices,
    ),
    Mutant(
        70,
        "noise that only adds",
        "",
        "a row that leaves is seen, one that comes is not",
        "exact law",
        lambda: mutated("dither.mechanisms.geometric:Geometric.draw_many", _only_upwards),
        of(check_law, "geometric"),
    ),
    Mutant(
        71,
        "a row counts twice on its way out",
        "",
        "one direction of a change is farther than the other",
        "replay",
        lambda: mutated("dither.publish.histograms.identity:IdentityHistogram.release", _cheaper_to_leave),
        of(check_distances, HISTOGRAM),
    ),
)
