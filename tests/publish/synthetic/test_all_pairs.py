"""All pairs: stabilities by brute force, what is public shrinks the method, and what is planted is found."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

from dither.errors import InvalidParameter, NoGuarantee
from dither.mechanisms import DiscreteGaussian, Runner, from_spec, to_spec
from dither.noise import system_noise
from dither.privacy import RECORDS, ZCDP, ApproxDP, PureDP
from dither.publish.marginals import Attributes
from dither.publish.marginals.residual_planner import whole_interaction
from dither.publish.synthetic import AllPairs, PairModel
from dither.publish.synthetic.all_pairs import REACH, pair_weights

#: Noise so narrow that it is 0 but for a probability of e^-(2^39).
STILL = DiscreteGaussian(sigma="1/1099511627776")


def released(method: AllPairs, rows: np.ndarray) -> PairModel:
    """Return what a method releases."""
    return method.release(rows, Runner(method.plan(), system_noise()))


@pytest.mark.parametrize(
    "sizes", [(2, 2), (3, 5, 2), (4, 4, 4, 4), (1, 3, 2), (32,) * 3, (20, 9, 18, 16, 7, 15, 6, 5, 2, 3, 2, 13, 4, 2)]
)
def test_all_pairs_together_move_by_less_than_the_reach(sizes: tuple[int, ...]) -> None:
    """A record in any cell moves all weighted interactions by at most 2^24, and nearly that; cell by cell."""
    shapes = [(sizes[a], sizes[b]) for a, b in combinations(range(len(sizes)), 2)]
    squares = []
    for (n, m), weight in zip(shapes, pair_weights(shapes), strict=True):
        largest = 0
        for cell in product(range(n), range(m)):
            one = np.zeros((n, m), dtype=np.int64)
            one[cell] = 1
            largest = max(largest, weight**2 * int((whole_interaction(one) ** 2).sum()))
        squares.append(largest)
    assert sum(squares) <= REACH**2
    assert sum(squares) >= 0.99 * REACH**2


def test_single_attributes_move_by_their_stability() -> None:
    """A record lies in one cell of each attribute: the squares of the weights add up."""
    method = AllPairs.calibrated(ZCDP(1), attributes=Attributes.of({"a": 2, "b": 100, "c": 10**6}))
    assert method.stability**2 >= sum(weight**2 for weight in method.weights)
    assert float(method.stability) <= 1.0001 * math.sqrt(sum(weight**2 for weight in method.weights))
    # A million values get no more than 256 do.
    assert method.weights[2] <= 1.5 * method.weights[1]


def test_price_and_record() -> None:
    """The loss is within the target and nearly uses it up; the record survives JSON."""
    attributes = Attributes.of({"a": 3, "b": 40, "c": 2})
    for target in (ZCDP("1/10"), ApproxDP(1, "1e-9")):
        method = AllPairs.calibrated(target, attributes=attributes)
        assert method.distance is RECORDS
        assert method.loss(1) <= target
        assert not method.loss(2) <= target
        assert from_spec(to_spec(method)) == method
    assert AllPairs.calibrated(ZCDP(1), attributes=attributes).loss(1).rho > ZCDP("999/1000").rho
    with pytest.raises(NoGuarantee, match="a rho, or a delta"):
        AllPairs.calibrated(PureDP(1), attributes=attributes)
    with pytest.raises(InvalidParameter, match="single"):
        AllPairs(attributes=attributes, single=STILL.shape, pair=STILL)


def test_size_shrinks_the_method_and_never_fails() -> None:
    """Pairs too large to be counted are left out, very many pairs get fewer groups, a lone column has none."""
    large = AllPairs.calibrated(ZCDP(1), attributes=Attributes.of({"a": 2**20, "b": 2**10, "c": 3, "d": 1}))
    assert large.pairs == ((0, 2), (1, 2))
    wide = AllPairs.calibrated(ZCDP(1), attributes=Attributes(tuple(f"c{i}" for i in range(400)), (50,) * 400))
    assert wide.most_groups < 32
    assert wide.cells <= 2**24
    assert wide.most_groups * 400 <= 4096
    alone = AllPairs.calibrated(ZCDP(1), attributes=Attributes.of({"a": 4, "b": 1}))
    assert alone.pairs == ()
    assert alone.loss(1).rho > ZCDP("999/1000").rho
    with pytest.raises(InvalidParameter, match="most_groups"):
        AllPairs(attributes=wide.attributes, single=STILL, pair=STILL, most_groups=32)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_next_to_no_records(rows: int) -> None:
    """None, one or two records give a model all the same, from which any number can be drawn."""
    attributes = Attributes.of({"a": 3, "b": 40, "c": 1})
    data = np.zeros((rows, 3), dtype=np.int64)
    for method in (
        AllPairs(attributes=attributes, single=STILL, pair=STILL),
        AllPairs.calibrated(ZCDP("1/100"), attributes=attributes),
    ):
        model = released(method, data)
        assert model.sample(5).shape == (5, 3)
        for axes in [(), (0,), (0, 1), (0, 1, 2)]:
            assert np.isclose(float(model.table(axes).sum()), model.total)


def test_without_noise_pairs_are_those_of_the_records() -> None:
    """With next to no noise and few values the model has the pairs of the records, and so have drawn ones."""
    generator = np.random.default_rng()
    # Some values are more frequent than others, so that independence has an interaction of its own.
    first = generator.integers(6, size=3000) * generator.integers(2, size=3000)
    data = np.stack([first, (first + generator.integers(2, size=3000)) % 6, (generator.random(3000) < 0.1) * 2], axis=1)
    attributes = Attributes.of({"a": 6, "b": 6, "c": 3})
    model = released(AllPairs(attributes=attributes, single=STILL, pair=STILL), data)
    drawn = model.sample()
    assert model.total == pytest.approx(3000)
    codes = attributes.codes(data), attributes.codes(drawn)
    for axes in combinations(range(3), 2):
        exact = attributes.count(codes[0], axes)
        np.testing.assert_allclose(model.table(axes), exact, atol=2.0)
        assert np.abs(attributes.count(codes[1], axes) - exact).sum() / 6000 < 0.03


@pytest.mark.statistical(
    n=20_000, false_alarm=1e-12, catches="groups, shrinking or weights that lose a strong dependence"
)
def test_a_planted_dependence_is_found_through_noise() -> None:
    """Two columns of a hundred values that go together, at epsilon 1: a quarter of what independence is off is left.

    Noise has a standard deviation of about 14 records a cell of groups that hold hundreds; the tables add up thousands
    of cells, so their distance hardly varies.
    """
    generator = np.random.default_rng()
    hidden = generator.random(20_000)
    data = np.stack([(hidden * 100), (hidden + 0.2 * generator.random(20_000)) * 80, hidden * 2], axis=1).astype(
        np.int64
    )
    attributes = Attributes.of({"a": 100, "b": 100, "c": 2})
    model = released(AllPairs.calibrated(ApproxDP(1, "1e-9"), attributes=attributes), data)
    assert 2 < model.merging.sizes[0] <= 32
    exact = attributes.count(attributes.codes(data), (0, 1))
    independent = np.multiply.outer(exact.sum(1), exact.sum(0)) / 20_000
    assert np.abs(model.table((0, 1)) - exact).sum() < 0.5 * np.abs(independent - exact).sum()
    assert (model.table((0, 1)) >= 0).all()
