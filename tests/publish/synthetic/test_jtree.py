"""JTree: the pairs it finds, the clusters they make, prices of both selections, limits, and what was wrong in print."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from dither import Budget, release
from dither.errors import InvalidParameter
from dither.lift.attributes import Attributes
from dither.mechanisms import AboveThreshold, Geometric, TopK
from dither.noise import system_noise
from dither.privacy import ROW, ZCDP, ApproxDP, PureDP
from dither.publish.synthetic import GraphicalModel, JunctionTreeSynthesis
from dither.testing.replay import RecordingRunner

TABLE = Attributes.of({"a": 2, "b": 2, "c": 2, "d": 2, "e": 3})


def rows_of(count: int, seed: int) -> NDArray[np.int64]:
    """Return records in which a, b and c hang together in a triangle, and d and e are on their own."""
    numbers = np.random.default_rng(seed)
    a, b = numbers.integers(0, 2, count), numbers.integers(0, 2, count)
    return np.stack([a, b, a & b, numbers.integers(0, 2, count), numbers.integers(0, 3, count)], axis=1)


def run(method: JunctionTreeSynthesis, data: NDArray[np.int64]) -> GraphicalModel:
    return release(method, data, budget=Budget(epsilon=10**9, delta="0.5", unit=ROW)).value


def sharp(selector: TopK | AboveThreshold, **others: int) -> JunctionTreeSynthesis:
    return JunctionTreeSynthesis(
        attributes=TABLE, single=Geometric(scale="1/100"), selector=selector, clusters=PureDP(1000), **others
    )


@pytest.mark.statistical(false_alarm=2e-9)
@pytest.mark.parametrize("sparse", [False, True])
def test_the_dependent_pairs_are_found_and_joined(sparse: bool) -> None:
    """Noise of scale below 1/100: both pairs of c stand out, and with the spare one of a and b make a triangle."""
    data = rows_of(2000, 1)
    selector: TopK | AboveThreshold = TopK(candidates=10, chosen=2, scale=1)
    if sparse:
        selector = AboveThreshold(threshold=200 * 64, threshold_scale=1, query_scale=1, positives=2)
    model = run(sharp(selector), data)
    assert {axes for axes in model.potentials if len(axes) > 1} == {(0, 2), (1, 2)}
    codes = TABLE.codes(data)
    for axes in [(0, 2), (1, 2)]:
        assert model.table(axes) == pytest.approx(TABLE.count(codes, axes), abs=4)


@pytest.mark.statistical(false_alarm=1e-9)
def test_a_triangle_of_pairs_is_measured_as_one_cluster() -> None:
    data = rows_of(2000, 2)
    data[:, 1] = np.where(np.arange(2000) % 2, data[:, 0], data[:, 1])
    model = run(sharp(TopK(candidates=10, chosen=3, scale=1)), data)
    assert {axes for axes in model.potentials if len(axes) > 1} == {(0, 1, 2)}
    assert model.table((0, 1, 2)) == pytest.approx(TABLE.count(TABLE.codes(data), (0, 1, 2)), abs=4)


def test_a_sparse_vector_stops_after_its_positives() -> None:
    """The filter in print had no such stop, and so no epsilon at all: here no more pass than were paid for."""
    data = np.zeros((500, 5), dtype=np.int64) + np.random.default_rng(3).integers(0, 2, size=(500, 1))
    method = sharp(AboveThreshold(threshold=0, threshold_scale=1, query_scale=1, positives=3))
    runner = RecordingRunner(method.plan(), system_noise())
    method.release(data, runner)
    replies = [event.out[0] for event in runner.tape.events if event.kind == "reply"]
    assert sum(replies) <= 3
    assert sum(replies[:-1]) < 3


def test_prices_of_both_selections() -> None:
    best = JunctionTreeSynthesis.calibrated(PureDP(3), attributes=TABLE)
    assert isinstance(best.selector, TopK)
    assert best.loss(1) <= PureDP(3)
    assert best.loss(1).epsilon > PureDP("2.999").epsilon
    above = JunctionTreeSynthesis.calibrated(PureDP(3), attributes=TABLE, sparse=True, chosen=4)
    assert isinstance(above.selector, AboveThreshold)
    # Threshold and positives, at 64 steps a record: together a third.
    parts = 64 / above.selector.threshold_scale + 2 * 4 * 64 / above.selector.query_scale
    assert above.selector.loss(64).epsilon == parts
    assert parts <= 1
    assert above.loss(1) <= PureDP(3)
    for sparse in (False, True):
        method = JunctionTreeSynthesis.calibrated(ApproxDP(1, "1e-6"), attributes=TABLE, sparse=sparse)
        assert method.loss(1).to_approx("1e-6").epsilon <= 1
    assert JunctionTreeSynthesis.calibrated(ZCDP(1), attributes=TABLE).loss(2).rho <= 4


@pytest.mark.parametrize("limit", [1, 11, 13, 16, 10**5])
def test_the_model_stays_within_its_limit(limit: int) -> None:
    model = run(sharp(TopK(candidates=10, chosen=10, scale=1), largest_model=limit), rows_of(300, 5))
    assert model.law.tree.cells <= max(limit, sum(TABLE.sizes))


def test_clusters_are_no_larger_than_their_noise_allows() -> None:
    """With noise of about 3 a cell and 100 records, no cluster of more than 100 / (2 * 3) cells is made."""
    method = JunctionTreeSynthesis(
        attributes=TABLE, single=Geometric(scale="1/100"), selector=TopK(candidates=10, chosen=10, scale=1),
        clusters=PureDP("5/3"),
    )  # fmt: skip
    model = run(method, rows_of(100, 6))
    assert max(table.size for table in model.potentials.values()) <= 17


@pytest.mark.parametrize("rows", [0, 1])
def test_hardly_any_records(rows: int) -> None:
    for sparse in (False, True):
        model = run(JunctionTreeSynthesis.calibrated(PureDP(1), attributes=TABLE, sparse=sparse), rows_of(rows, 7))
        assert model.sample(3).shape == (3, 5)


def test_bad_parameters() -> None:
    with pytest.raises(InvalidParameter, match="attributes"):
        JunctionTreeSynthesis.calibrated(PureDP(1), attributes=Attributes.of({"a": 2}))
    with pytest.raises(InvalidParameter, match="selector"):
        sharp(TopK(candidates=9, chosen=2, scale=1))
    with pytest.raises(InvalidParameter, match="chosen"):
        JunctionTreeSynthesis.calibrated(PureDP(1), attributes=TABLE, chosen=11)
