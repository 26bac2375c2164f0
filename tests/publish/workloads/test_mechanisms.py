"""Mechanisms on workloads: what is measured is exact, what is paid covers it, and broken twins are caught."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.checks.law import check_law_by_branching, coverage_is_refuted
from dither.checks.violation import ContractViolation
from dither.errors import InvalidParameter, InvalidValue, NoGuarantee
from dither.mechanisms import DiscreteGaussian, Geometric, Runner, from_spec, to_spec
from dither.mechanisms.core.public import PublicArray
from dither.noise import Noise, system_noise
from dither.privacy import L1, L2, ZCDP, ApproxDP, PureDP
from dither.publish.workloads import (
    Dense,
    EigenDesign,
    GaussianFactorisation,
    GroupingAndSmoothing,
    Haar,
    Hdmm,
    Hierarchy,
    Identity,
    IReduct,
    Kron,
    LowRank,
    Marginals,
    MatrixMechanism,
    OrthogonalMechanism,
    Privelet,
    Strategy,
    Total,
    TwoPhase,
    WeightedMarginals,
    Workload,
)
from dither.publish.workloads.fitting import non_negative_fit
from dither.publish.workloads.tails import reach_of_unit, variance_of_noise
from dither.testing import record, replay

#: Noise so narrow that it is 0 but for a probability of e^-(2^39).
STILL = Geometric(scale=Fraction(1, 2**40))
RANGES = Workload.all_ranges(4)
STRATEGIES = {
    "cells": Identity(4),
    "haar": Haar(4),
    "tree": Hierarchy(4, 2, (3, 1, 2)),
    "dense": Dense(PublicArray(np.array([[5, 1, 0, 0], [0, 5, 1, 0], [0, 0, 5, 1], [1, 0, 0, 7], [2, 2, 2, 2]]))),
}
NAMED = pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES.keys())


@NAMED
def test_measurements_are_exact_whole_numbers(strategy: Any) -> None:
    """Up to the largest count, where floats would miss by thousands."""
    mechanism = MatrixMechanism(workload=RANGES, strategy=Strategy(strategy), noise=STILL)
    data = np.array([2**57 - 1, 3, -(2**57) + 5, 2**55 + 1]) // 16
    assert abs(data).max() <= mechanism.largest_count
    (event,) = record(mechanism, data)[1].events
    rows = np.rint(strategy.dense()).astype(int).tolist()
    assert np.asarray(event.value).tolist() == [
        sum(a * b for a, b in zip(row, data.tolist(), strict=True)) for row in rows
    ]


@NAMED
def test_the_loss_is_that_of_the_farthest_neighbours(strategy: Any) -> None:
    """By brute force over all changes of one count by 1, and not by more than rounding the root of L2 up."""
    dense = strategy.dense()
    for noise, power in ((Geometric(scale=7), 1), (DiscreteGaussian(sigma=7), 2)):
        mechanism = MatrixMechanism(workload=RANGES, strategy=Strategy(strategy), noise=noise)
        farthest = max((np.abs(dense[:, cell]) ** power).sum() for cell in range(4)) ** (1 / power)
        assert float(mechanism.stability) == pytest.approx(farthest, rel=1e-12)
        assert mechanism.loss(1) == noise.loss(mechanism.stability)
        neighbours = [np.eye(4, dtype=int)[cell] for cell in range(4)]
        assert all(not replay(mechanism, np.zeros(4, dtype=int), near, d_in=1) for near in neighbours)


@NAMED
def test_without_noise_the_answers_are_the_answers(strategy: Any) -> None:
    data = np.array([12, 24, 6, 7])
    measured = Strategy(strategy)
    answers = record(MatrixMechanism(workload=RANGES, strategy=measured, noise=STILL), data)[0]
    assert np.allclose(answers, RANGES.answer(data))
    cells = MatrixMechanism(workload=RANGES, strategy=measured, noise=STILL, of_cells=True, non_negative=True)
    assert np.allclose(record(cells, data)[0], data, atol=1e-4)


@pytest.mark.parametrize("target", [PureDP("1/3"), ZCDP("1/8"), ApproxDP(1, "1e-6")], ids=["pure", "zcdp", "approx"])
@pytest.mark.parametrize("kind", [Hdmm, LowRank, OrthogonalMechanism, EigenDesign, GaussianFactorisation])
def test_calibration_keeps_the_target(kind: Any, target: Any) -> None:
    workload = Workload.ranges(6, [(0, 3), (2, 5), (1, 4), (0, 5)])
    if isinstance(target, PureDP) and kind in (EigenDesign, GaussianFactorisation):
        with pytest.raises(NoGuarantee, match="hdmm"):
            kind.calibrated(target, sensitivity=2, workload=workload)
        return
    mechanism = kind.calibrated(target, sensitivity=2, workload=workload)
    assert mechanism.loss(2) <= target
    assert not mechanism.loss("2.001") <= target
    assert from_spec(to_spec(mechanism)) == mechanism


@pytest.mark.parametrize("noise", [Geometric(scale=2), DiscreteGaussian(sigma=3)], ids=["geometric", "gaussian"])
@pytest.mark.statistical(n=3000, false_alarm=1e-10, catches="intervals too narrow by a quarter")
def test_intervals_cover_all_answers_at_once(noise: Any) -> None:
    mechanism = MatrixMechanism(workload=RANGES, strategy=Strategy(Haar(4)), noise=noise)
    data = np.array([1, 2, 3, 4])
    truth = RANGES.answer(data)
    drawn = mechanism.part.draw_many(mechanism.strategy.answer(data), 3000, system_noise())
    interval = mechanism.interval(np.stack([mechanism.fit(row) for row in drawn]), "0.9")
    assert interval is not None
    inside = ((interval.low <= truth) & (truth <= interval.high)).all(axis=1)
    assert not coverage_is_refuted(int(inside.sum()), 3000, 0.9, 1e-10)


@pytest.mark.parametrize("scale", ["1/4", 1, 30])
def test_the_reach_of_a_weighted_sum_is_above_its_exact_quantile(scale: str | int) -> None:
    """For one draw and for sums of two weighted ones, enumerated."""
    noise = Geometric(scale=scale)
    q = math.exp(-1 / noise.scale)
    support = np.arange(-2000, 2001)
    law = (1 - q) / (1 + q) * q ** np.abs(support)
    for failure in (0.3, 1e-2, 1e-6):
        reach = reach_of_unit(noise, failure)
        for first, second in ((1.0, 0.0), (1.0, 1.0), (0.6, 0.8)):
            length = math.hypot(first, second)
            tail = _tail_of_two(support, law, first, second, reach * length)
            assert tail <= failure * (1 + 1e-9)
    assert variance_of_noise(noise) == pytest.approx(float((law * support**2).sum()), rel=1e-9)


def _tail_of_two(support: NDArray[Any], law: NDArray[Any], first: float, second: float, reach: float) -> float:
    if second == 0:
        return float(law[np.abs(first * support) > reach].sum())
    cumulative = np.concatenate([[0.0], np.cumsum(law)])
    high = np.searchsorted(support * second, reach - first * support, side="right")
    low = np.searchsorted(support * second, -reach - first * support, side="left")
    return float(1 - (law * (cumulative[high] - cumulative[low])).sum() - 2 * (1 - law.sum()))


def test_counts_of_at_least_zero_are_the_nearest_ones() -> None:
    """Against a grid search over two counts, and the conditions that the nearest point fulfils."""
    strategy = Strategy(Dense(PublicArray(np.array([[3, 1], [1, 2], [2, 2]]))))
    noisy = np.array([-4, 6, 1])
    found = non_negative_fit(strategy, noisy)
    places = np.linspace(0, 4, 401)
    table = np.array(list(product(places, places)))
    missed = ((table @ strategy.matrix.dense().T - noisy) ** 2).sum(axis=1)
    assert np.allclose(found, table[missed.argmin()], atol=0.011)
    slope = strategy.matrix.dense().T @ (strategy.matrix.dense() @ found - noisy)
    assert found.min() >= 0
    assert slope.min() >= -1e-4
    assert abs(slope @ found) <= 1e-3


def test_marginals_of_rows_are_those_of_the_table() -> None:
    asked = Workload.marginals((3, 2, 4), [(0, 1), (2,), ()])
    strategy = Strategy(Marginals((3, 2, 4), ((0, 1, 2), (0, 1)), (Fraction(2), Fraction(3))))
    rows = np.array([[0, 1, 3], [2, 0, 0], [2, 0, 9], [-4, 1, 1]])
    table = np.zeros((3, 2, 4), dtype=int)
    np.add.at(table, tuple(np.clip(rows, 0, [2, 1, 3]).T), 1)
    on_rows = WeightedMarginals(workload=asked, strategy=strategy, noise=STILL)
    assert np.allclose(record(on_rows, rows)[0], asked.answer(table))
    assert on_rows.loss(1) == STILL.loss(5)
    on_cells = MatrixMechanism(workload=asked, strategy=strategy, noise=STILL)
    assert np.allclose(on_rows.variances, on_cells.variances)
    assert np.allclose(record(on_cells, table)[0], asked.answer(table))
    with pytest.raises(InvalidValue, match="3 columns"):
        record(on_rows, np.zeros((2, 2), dtype=int))
    for rows_of_another_type in ([[0, 1, 2]], [[0, 1, 2**70]], np.zeros((2, 3))):
        with pytest.raises(InvalidValue, match="3 columns"):
            record(on_rows, rows_of_another_type)


def test_two_thousand_million_cells_are_released_from_rows() -> None:
    asked = Workload.marginals((10,) * 9, [(0, 1), (1, 2), (8,)])
    mechanism = WeightedMarginals.calibrated(PureDP(1), sensitivity=1, workload=asked)
    rows = np.mod(np.arange(900).reshape(100, 9), 10)
    out = record(mechanism, rows)[0]
    assert out.shape == (210,)
    first, second = out[:100].reshape(10, 10), out[100:200].reshape(10, 10)
    assert np.allclose(first.sum(axis=0), second.sum(axis=1))
    with pytest.raises(InvalidParameter, match="weighted-marginals on rows"):
        MatrixMechanism(workload=asked, strategy=mechanism.strategy, noise=STILL)


@pytest.mark.parametrize(("columns", "width"), [(5, 2), (6, 3), (3, 7), (4, 1)])
def test_group_sums_move_no_farther_than_the_counts(columns: int, width: int) -> None:
    """The printed claim: a person in s columns moves the averages of groups of w by s / w in all. By brute force."""
    mechanism = GroupingAndSmoothing(columns=columns, width=width, noise=STILL)
    data = np.arange(columns) * 7
    smooth = record(mechanism, data)[0]
    slow = [data[start : start + width].mean() for start in range(0, columns, width)]
    assert np.allclose(smooth, np.repeat(slow, width)[:columns])
    for change in product((0, 1), repeat=columns):
        moved = record(mechanism, data + np.array(change))[1].events[0].value
        sums = record(mechanism, data)[1].events[0].value
        assert np.abs(np.asarray(moved) - np.asarray(sums)).sum() <= sum(change)


def test_groups_by_rough_counts_are_paid_for() -> None:
    mechanism = GroupingAndSmoothing.calibrated(PureDP(1), sensitivity=3, columns=8, width=4, share="1/4")
    assert mechanism.rough is not None
    assert mechanism.loss(3).pure == 1
    assert mechanism.rough.loss(3).pure == Fraction(1, 4)
    gaussian = GroupingAndSmoothing.calibrated(ZCDP("1/2"), sensitivity=3, columns=8, width=4)
    assert gaussian.loss(3) <= ZCDP("1/2")
    public = GroupingAndSmoothing.calibrated(PureDP(1), sensitivity=3, columns=8, width=4, share=0)
    assert public.rough is None
    still = GroupingAndSmoothing(columns=4, width=2, noise=STILL, rough=STILL)
    assert record(still, np.array([9, 0, 7, 2]))[0].tolist() == [8.0, 1.0, 8.0, 1.0]


@dataclass(frozen=True, kw_only=True)
class GroupedByTheData(GroupingAndSmoothing):
    """Groups by the counts themselves, without paying: what a careless reading of the source does."""

    name: ClassVar[str] = "grouped-by-the-data"

    def release(self, data: Any, run: Runner) -> NDArray[np.float64]:
        counts = np.asarray(data)
        order = np.argsort(counts, kind="stable")
        sums = np.asarray(run(self.sums, np.add.reduceat(counts[order], np.arange(0, self.columns, self.width))))
        smoothed = np.empty(self.columns)
        smoothed[order] = np.repeat(sums / self.width, self.width)
        return smoothed


def test_groups_taken_from_the_data_are_caught() -> None:
    broken = GroupedByTheData(columns=4, width=2, noise=Geometric(scale=1))
    # The two sums are the same about one time in ten, and then nothing shows.
    assert any(replay(broken, np.array([3, 2, 2, 0]), np.array([3, 2, 1, 0]), d_in=1) for _ in range(100))
    sound = GroupingAndSmoothing(columns=4, width=2, noise=Geometric(scale=1))
    assert not replay(sound, np.array([3, 2, 2, 0]), np.array([3, 2, 1, 0]), d_in=1)


def test_reduction_stays_within_epsilon_and_prefers_small_answers() -> None:
    """Every allocation keeps all columns within epsilon, recomputed from the entries; small answers get less noise."""
    entries = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 1], [0, 2, 1]])
    mechanism = IReduct.calibrated(PureDP(1), sensitivity=2, workload=Workload.matrix_of(entries), floor=1, levels=6)
    assert mechanism.loss(2) == PureDP(1)
    drawn = mechanism.draw_many(np.array([1, 10**6, 0]), 200, system_noise())
    levels = drawn[:, 1]
    rates = np.array([1 / scale for scale in mechanism.scales], dtype=object)
    loads = rates[levels] @ entries.astype(object)
    assert loads.max() <= mechanism.epsilon
    assert levels[:, 0].mean() > levels[:, 1].mean()
    # No query that is left has room for another step.
    for level, load in zip(levels, loads, strict=True):
        for query in range(4):
            if level[query] + 1 < len(rates):
                more = load + entries[query].astype(object) * (rates[level[query] + 1] - rates[level[query]])
                assert more.max() > mechanism.epsilon


@pytest.mark.statistical(n=20_000, false_alarm=1e-10, catches="noise that is not that of the level, at the first level")
def test_a_query_that_cannot_be_reduced_has_the_noise_of_the_first_level() -> None:
    """Variance within 8.5 standard errors, the fourth moment being at most 6 + 1/variance times its square."""
    mechanism = IReduct(workload=Workload.total(2), scales=(2, "1/2"), epsilon="1/2", floor=1)
    drawn = mechanism.draw_many(np.array([3, 4]), 20_000, system_noise())
    assert not drawn[:, 1].any()
    variance = 2 * math.exp(-0.5) / (1 - math.exp(-0.5)) ** 2
    share = float(((drawn[:, 0, 0] - 7) ** 2).mean()) / variance
    assert abs(share - 1) <= 8.5 * math.sqrt((5 + 1 / variance) / 20_000)


class _FreshNoise:
    """Noise in which a coarser level has nothing to do with the finer one: what the textbooks describe."""

    def __init__(self, noise: Noise) -> None:
        self._noise, self._last = noise, np.zeros(1, dtype=np.int64)

    def discrete_laplace(self, scale: Any, size: int) -> NDArray[Any]:
        self._last = self._noise.discrete_laplace(scale, size)
        return self._last

    def coarsening(self, fine: Any, coarse: Any, size: int) -> NDArray[Any]:
        fresh = self._noise.discrete_laplace(coarse, size)
        added, self._last = fresh - self._last, fresh
        return added


def _transcript(mechanism: IReduct, value: NDArray[Any], noise: Any) -> tuple[int, ...]:
    """All that was shown on the way: the law of this is what the proof bounds."""
    shown: list[NDArray[Any]] = []
    original = IReduct._reduce

    def spy(self: IReduct, levels: NDArray[Any]) -> NDArray[Any]:
        shown.append(levels)
        return original(self, levels)

    try:
        IReduct._reduce = spy  # type: ignore[method-assign]
        out = mechanism.draw_many(value, 1, noise)[0]
    finally:
        IReduct._reduce = original  # type: ignore[method-assign]
    reached = int(out[1, 0])
    return tuple(shown[0][: reached + 1, 0].tolist())


def test_all_that_is_shown_on_the_way_keeps_the_promise_and_fresh_noise_does_not() -> None:
    """By branching over the random bits: coupled noise keeps e^epsilon on whole transcripts, fresh noise breaks it."""
    mechanism = IReduct(workload=Workload.total(1), scales=(2, 1), epsilon=1, floor=1)
    here, there = np.array([0]), np.array([1])
    check_law_by_branching(
        lambda noise: _transcript(mechanism, here, noise), lambda noise: _transcript(mechanism, there, noise), PureDP(1)
    )
    with pytest.raises(ContractViolation):
        check_law_by_branching(
            lambda noise: _transcript(mechanism, here, _FreshNoise(noise)),
            lambda noise: _transcript(mechanism, there, _FreshNoise(noise)),
            PureDP(1),
        )


@pytest.mark.parametrize(
    "build",
    [
        lambda: MatrixMechanism(workload=RANGES, strategy=Strategy(Total(4)), noise=STILL),
        lambda: MatrixMechanism(workload=RANGES, strategy=Strategy(Haar(8)), noise=STILL),
        lambda: MatrixMechanism(workload=Workload.all_ranges(2**15), strategy=Strategy(Haar(2**15)), noise=STILL),
        lambda: Privelet(shape=(3,), axes=(Haar(2),), noise=STILL),
        lambda: Privelet(shape=(3, 3), axes=(Haar(4),), noise=STILL),
        lambda: Privelet.calibrated(PureDP(1), sensitivity=1, shape=(0,)),
        lambda: IReduct(workload=RANGES, scales=(1,), epsilon=1, floor=1),
        lambda: IReduct(workload=Workload.matrix_of([[2**60]]), scales=(2**61,), epsilon=1, floor=1),
        lambda: GroupingAndSmoothing.calibrated(PureDP(1), sensitivity=1, columns=3, width=2, share=1),
        lambda: WeightedMarginals(workload=RANGES, strategy=Strategy(Haar(4)), noise=STILL),
        lambda: WeightedMarginals(
            workload=Workload.marginals((2,), [(0,)]),
            strategy=Strategy(Marginals((2,), ((0,),), (Fraction(2**50 + 1),))),
            noise=STILL,
        ),
        lambda: IReduct(workload=Workload.matrix_of([[0, 0]]), scales=(1,), epsilon=1, floor=1),
        lambda: TwoPhase(
            workload=Workload.matrix_of(np.full((2**11, 2), 2**39)), rough=STILL, noise=STILL, steps=2**10, floor=1
        ),
    ],
)
def test_bad_parameters_are_refused_by_name(build: Any) -> None:
    with pytest.raises(InvalidParameter, match="must be"):
        build()


def test_exact_sensitivities_of_kron_strategies() -> None:
    strategy = Strategy(Kron((Haar(4), Hierarchy(3, 3))))
    dense = strategy.matrix.dense()
    assert strategy.sensitivity(L1) == np.abs(dense).sum(axis=0).max()
    assert float(strategy.sensitivity(L2)) == pytest.approx(math.sqrt((dense**2).sum(axis=0).max()))


@pytest.mark.parametrize("rough", [(0, 0, 0, 0), (1, 10**6, 3, 40), (-(10**9), 1, 1, 1), (7, 7, 7, 7)], ids=str)
def test_multiples_never_move_farther_than_was_paid_for(rough: tuple[int, ...]) -> None:
    """Columns of the multiplied workload, added up as integers; and no query is left with room for one more."""
    entries = np.array([[1, 0, 0], [0, 1, 0], [1, 1, 1], [0, -2, 1]])
    workload = Workload.matrix_of(entries)
    mechanism = TwoPhase.calibrated(PureDP(1), sensitivity=2, workload=workload, floor=1, steps=10)
    assert mechanism.loss(2).pure == 1
    multiples = mechanism.multiples(np.array(rough, dtype=float))
    assert multiples.min() >= 1
    loads = np.abs(multiples[:, None] * entries).sum(axis=0)
    ones = np.abs(entries).sum(axis=0)
    assert loads.max() <= 10 * workload.sensitivity(L1)
    assert all((loads - ones + np.abs(row)).max() > 9 * workload.sensitivity(L1) for row in entries)
    apart = TwoPhase.calibrated(PureDP(1), sensitivity=1, workload=Workload.cells_of(4), floor=1, steps=10)
    assert apart.multiples(np.array(rough, dtype=float)).tolist() == [10] * 4


def test_two_phases_without_noise_give_the_answers() -> None:
    workload = Workload.matrix_of([[1, 0], [1, 1]])
    mechanism = TwoPhase(workload=workload, rough=STILL, noise=STILL, steps=8, floor=1)
    out = record(mechanism, np.array([4, 100]))[0]
    assert out[0].tolist() == [4.0, 104.0]
    assert out[1, 0] > out[1, 1] >= 1


#: Of a total and of a query whose one entry is the number of cells; the multiples can be far above steps x queries.
TALL = Workload.matrix_of(np.stack([np.ones(1000, dtype=int), np.eye(1, 1000, dtype=int)[0] * 1000]))


def test_multiplied_answers_are_exact_however_large_counts_are() -> None:
    """In Python integers, for counts of all sizes: a product that overflows would be another number."""
    mechanism = TwoPhase(workload=TALL, rough=STILL, noise=STILL, steps=10, floor=1)
    for digits in range(0, 64, 3):
        out, tape, _ = record(mechanism, np.minimum(np.full(1000, 2**digits - 1, dtype=np.uint64), 2**63 - 1))
        answers, multiplied = (np.asarray(event.value).tolist() for event in tape.events)
        exact = [answer * int(multiple) for answer, multiple in zip(answers, out[1], strict=True)]
        assert multiplied == exact
        assert max(exact) <= 2**60


def test_large_counts_move_the_multiplied_answers_by_no_more_than_was_paid_for() -> None:
    """Counts one apart, at the place where 1010 times the total leaves 64 bits."""
    mechanism = TwoPhase(workload=TALL, rough=STILL, noise=STILL, steps=10, floor=1)
    rest, first = 999, 5 * 10**13
    each, more = divmod(2**63 // 1010 - first, rest)
    here = np.array([first, *([each + 1] * more), *([each] * (rest - more))])
    there = here + np.eye(1, 1000, 999, dtype=int)[0]
    assert not replay(mechanism, here, there, d_in=1)
    small = here // 2**40
    assert record(mechanism, small)[0][1].tolist() == [1010, 9]
    assert not replay(mechanism, small, small + (there - here), d_in=1)


def test_weights_move_large_counts_by_no_more_than_was_paid_for() -> None:
    """Rows in one cell, at the place where the largest weight times their number leaves 64 bits, and 2^60."""
    workload = Workload.marginals((2,), [(0,)])
    strategy = Strategy(Marginals((2,), ((0,),), (Fraction(2**50),)))
    mechanism = WeightedMarginals(workload=workload, strategy=strategy, noise=Geometric(scale=2**50))
    assert mechanism.loss(1) == PureDP(1)
    for rows in (2**13 - 1, 2**10, 2**10 - 1, 5):
        assert not replay(mechanism, np.ones((rows, 1), dtype=int), np.ones((rows + 1, 1), dtype=int), d_in=1)
    (event,) = record(mechanism, np.ones((1000, 1), dtype=int))[1].events
    assert np.asarray(event.value).tolist() == [0, 1000 * 2**50]


class _GivenNoise:
    """Noise of given numbers, one after the other."""

    def __init__(self, *numbers: int) -> None:
        self._numbers = iter(numbers)

    def discrete_laplace(self, scale: Any, size: int) -> NDArray[Any]:
        return np.full(size, next(self._numbers))

    def coarsening(self, fine: Any, coarse: Any, size: int) -> NDArray[Any]:
        return self.discrete_laplace(coarse, size)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("finest", [0, 2**61, 2**62 + 1, 2**63 - 1])
@pytest.mark.parametrize("added", [(2**61, 2**61), (2**62, 2**62), (2**63 - 1, 2**63 - 1), (-(2**62), 2**63 - 1)])
def test_noise_is_added_up_exactly_before_it_is_cut_off(sign: int, finest: int, added: tuple[int, int]) -> None:
    """Every level against sums of Python integers; each number of noise fits into 64 bits, their sums do not."""
    mechanism = IReduct(workload=Workload.total(1), scales=(4, 2, 1), epsilon="1/4", floor=1)
    shown: list[Any] = []
    levels = [5 + sign * sum((finest, *added[:steps])) for steps in range(3)]
    original = IReduct._reduce
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(IReduct, "_reduce", lambda self, seen: shown.append(seen) or original(self, seen))
        mechanism.draw_many(np.array([5]), 1, _GivenNoise(*(sign * number for number in (finest, *added))))
    assert shown[0][:, 0].tolist() == [min(max(level, -(2**62)), 2**62) for level in reversed(levels)]
