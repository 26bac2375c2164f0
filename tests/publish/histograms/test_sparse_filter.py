"""The sparse histogram: exactly the law of the filtered noisy table of all cells, which is written out here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.mechanisms import perform
from dither.mechanisms.core.values import LARGEST_SUM
from dither.mechanisms.filtered_counts import FilteredCounts, _skipping, chance_of_passing
from dither.noise import Noise
from dither.privacy import ROW_REPLACED, ZCDP, PureDP
from dither.publish.histograms.sparse_filter import SparseHistogram, rows_of
from dither.testing.branching import branch_outcomes
from dither.testing.looks import covers

#: Noise beyond this is lumped together: it has a chance of e^-30 or less.
FAR = 40


def shown_of(count: int, scale: float, threshold: int, sampled: bool) -> dict[int, float]:
    """Return the law of one cell of the full table: noise is added, and the sum is filtered; 0 where it is left out."""
    q = math.exp(-1 / scale)
    law: Counter[int] = Counter()
    for noise in range(-FAR, FAR + 1):
        chance = (1 - q) / (1 + q) * q ** abs(noise)
        noisy = count + noise
        if not sampled:
            law[noisy if noisy >= threshold else 0] += chance  # type: ignore[assignment]
            continue
        kept = min(abs(noisy) / threshold, 1.0)
        law[(1 if noisy > 0 else -1) * max(abs(noisy), threshold)] += chance * kept  # type: ignore[assignment]
        law[0] += chance * (1 - kept)  # type: ignore[assignment]
    return dict(law)


@pytest.mark.parametrize(
    ("scale", "threshold", "sampled"),
    [(Fraction(1, 3), 1, False), (1, 2, False), (Fraction(1, 2), 2, True), (Fraction(3, 4), 4, True)],
    ids=str,
)
@pytest.mark.parametrize("counts", [Counter(), Counter({1: 2})], ids=["empty", "one-full"])
def test_the_law_is_that_of_the_filtered_full_table(counts: Any, scale: Any, threshold: int, sampled: bool) -> None:
    # Would catch: an empty cell that passes with another chance, a wrong value of one that does, cells that depend on
    # one another, a full cell that is skipped to and drawn twice.
    part = FilteredCounts(cells=2, scale=scale, threshold=threshold, sampled=sampled)

    class Unary(Noise):
        """The same laws, drawn coin by coin, and no farther than matters: so that there are few branches."""

        def geometric(self, scale: Any, size: int) -> NDArray[Any]:
            is_skip = 1 / Fraction(scale) == _skipping(part.scale, threshold, sampled)[0]
            drawn = [0] * size
            for place in range(size):
                while drawn[place] < (part.cells if is_skip else FAR) and self.bernoulli_exp(1 / scale, 1)[0]:
                    drawn[place] += 1
            return np.array(drawn, dtype=np.int64)

    found = branch_outcomes(lambda noise: tuple(part.draw(counts, Unary(noise._entropy)).items()), runs=800)
    laws = [shown_of(counts.get(cell, 0), float(scale), threshold, sampled) for cell in range(2)]
    left = float(found.undecided)
    assert left < 0.05
    for outcome, mass in found.mass.items():
        table = dict(outcome)
        wanted = math.prod(law.get(table.get(cell, 0), 0.0) for cell, law in enumerate(laws))
        # What was not followed to its end is all that may be missing.
        assert wanted - left - 1e-9 <= float(mass) <= wanted + 1e-9, table


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize(("scale", "threshold"), [(Fraction(1, 2), 3), (3, 9), (1000, 40_000), (1, 90)], ids=str)
def test_an_empty_cell_passes_with_the_chance_of_its_noise(scale: Any, threshold: int, sampled: bool) -> None:
    exact = Fraction(scale)
    low, high = chance_of_passing(exact, threshold, sampled)
    q = math.exp(-1 / float(scale))
    mass = (1 - q) / (1 + q)
    tail = mass * q**threshold / (1 - q)
    wanted = tail
    if sampled:
        below = math.fsum(size / threshold * mass * q**size for size in range(1, threshold))
        wanted = 2 * (below + tail)
    assert float(low) == pytest.approx(wanted, rel=1e-9)
    assert 0 < low <= high <= low * (1 + Fraction(1, 10**20))
    rate, thinning = _skipping(exact, threshold, sampled)
    # Skipping finds at least as many cells as pass, and the coin takes the rest away.
    floor, _ = thinning.bounds(60)
    assert floor / 2**60 * -math.expm1(-float(rate)) == pytest.approx(wanted, rel=1e-9)
    assert floor / 2**60 > 0.4


def test_a_domain_of_a_trillion_cells_costs_what_is_in_it() -> None:
    rows = np.array([7] * 500 + [10**12 - 1] * 300 + [10**12, -1])
    histogram = SparseHistogram.calibrated(PureDP(1), cells=10**12, false_cells=50)
    out = perform(histogram, rows)
    # Noise of scale 1 is beyond 60 with a chance of e^-60.
    assert abs(out[7] - 500) < 60
    assert abs(out[10**12 - 1] - 300) < 60
    assert list(out) == sorted(out)
    assert all(0 <= cell < 10**12 and value >= histogram.threshold for cell, value in out.items())
    assert histogram.passing_chance * 10**12 <= 50
    replaced = SparseHistogram.calibrated(ZCDP(1), cells=10**12, unit=ROW_REPLACED)
    assert replaced.loss(1) <= ZCDP(1)


@pytest.mark.statistical(false_alarm=2e-10)
def test_as_many_empty_cells_pass_as_noise_has_it() -> None:
    # n = 10^6 cells, chance p each, three tables: the sum is binomial. Catches a rate of skipping off by 2 per cent.
    from scipy.stats import binom

    part = FilteredCounts(cells=10**6, scale=2, threshold=6)
    passed = sum(len(perform(part, Counter(), stability=1)) for _ in range(3))
    chance = float(chance_of_passing(Fraction(2), 6, False)[0])
    low, high = binom.ppf(1e-10, 3 * 10**6, chance), binom.isf(1e-10, 3 * 10**6, chance)
    assert low <= passed <= high


@pytest.mark.statistical(false_alarm=2e-10)
@pytest.mark.parametrize("sampled", [False, True])
def test_intervals_hold_for_published_cells_at_once(sampled: bool) -> None:
    # n = 200 tables of 60 cells at confidence 0.9; catches intervals too narrow by half the scale.
    counts = {cell: 3 * cell for cell in range(10)}
    rows = [cell for cell, count in counts.items() for _ in range(count)]
    histogram = SparseHistogram(cells=60, scale=2, threshold=9, sampled=sampled)

    def trials() -> Iterator[bool]:
        while True:
            out = perform(histogram, rows)
            interval = histogram.interval(out, 0.9)
            reach = histogram.error(0.9).value
            inside = all(interval.low[cell] <= counts.get(cell, 0) <= interval.high[cell] for cell in out)
            yield inside and all(count <= reach for cell, count in counts.items() if cell not in out)

    assert covers(trials(), 0.9, most=200, false_alarm=1e-10)


def test_odd_rows_are_in_no_cell() -> None:
    assert rows_of([1, True, 2.0, "3", None, np.int64(1)]) == Counter({1: 2})
    part = FilteredCounts(cells=4, scale=1, threshold=2)
    assert part.domain.admit(Counter({9: 3, -1: 2, 2: 5, 3: 0, "x": 1})) == ((2, 5),)


@pytest.mark.parametrize(
    "bad",
    [
        {"cells": 2**40, "threshold": 5},
        {"sampled": True, "scale": 100, "threshold": 9},
    ],
    ids=str,
)
def test_bad_parameters_are_refused_by_name(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(reversed(bad)))):
        SparseHistogram(**{"cells": 10, "scale": 1, "threshold": 3, **bad})


@pytest.mark.parametrize(("threshold", "sampled"), [(1, False), (2**60, False), (2**60, True)], ids=str)
def test_empty_and_full_cells_saturate_at_the_same_number(threshold: int, sampled: bool) -> None:
    # Would catch: noise of an empty cell beyond what a full one can show. Of a cell with one row it was cut off at
    # 2^62, of an empty one it was not, so a larger number proved that nobody is in the cell, at any epsilon.
    class Farthest(Noise):
        """Noise beyond all limits, which every law here reaches with some probability."""

        def geometric(self, scale: Any, size: int) -> NDArray[Any]:
            is_far = size > 0 and Fraction(scale) == part.scale and not (starts and starts.pop())
            return np.array([2**80 if is_far else 0] * size, dtype=object)

        def discrete_laplace(self, scale: Any, size: int) -> NDArray[Any]:
            return np.array([2**80] * size, dtype=object)

        def bernoulli(self, chance: Any, size: int) -> NDArray[Any]:
            return np.ones(size, dtype=bool)

        def flip(self, chance: Any, size: int) -> NDArray[Any]:
            return np.ones(size, dtype=bool)

    part = FilteredCounts(cells=1, scale=2**58, threshold=threshold, sampled=sampled)
    # Sampled, the first draw of an empty cell is where its noise starts, which stays below the threshold.
    starts = [sampled]
    noise = Farthest.__new__(Farthest)
    shown = [part.draw_many(counts, 1, noise)[0] for counts in (Counter(), Counter({0: 1}))]
    assert shown == [{0: LARGEST_SUM}, {0: LARGEST_SUM}]
