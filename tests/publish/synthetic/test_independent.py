"""Independent marginals: each attribute against its own counts, prices, and independence itself."""

from __future__ import annotations

import numpy as np
import pytest
from dither.lift.attributes import Attributes

from dither import Budget, release
from dither.mechanisms import DiscreteGaussian, Geometric
from dither.privacy import ROW, ZCDP, ApproxDP, PureDP
from dither.publish.synthetic import IndependentMarginals

TABLE = Attributes.of({"a": 3, "b": 2, "c": 4})


def test_prices_are_those_of_all_marginals_together() -> None:
    assert IndependentMarginals(attributes=TABLE, single=Geometric(scale=3)).loss(1) <= PureDP(1)
    assert IndependentMarginals(attributes=TABLE, single=Geometric(scale=3)).loss(2).epsilon == 2
    gaussian = IndependentMarginals(attributes=TABLE, single=DiscreteGaussian(sigma=3)).loss(1)
    assert 3 / 18 <= gaussian.rho < 3 / 18 + 1e-9
    assert IndependentMarginals.calibrated(ZCDP("0.3"), attributes=TABLE).loss(1) <= ZCDP("0.3")
    assert IndependentMarginals.calibrated(ApproxDP(1, "1e-6"), attributes=TABLE).loss(1).to_approx("1e-6").epsilon <= 1


@pytest.mark.statistical(false_alarm=1e-9)
def test_without_noise_each_attribute_is_as_counted_and_all_are_independent() -> None:
    """Noise of scale 1/200 is 0 but for probability 9 * 2 e^-200."""
    numbers = np.random.default_rng(7)
    rows = np.stack([numbers.integers(0, 3, 900), numbers.integers(0, 2, 900), numbers.integers(0, 4, 900)], axis=1)
    rows[:, 1] = rows[:, 0] % 2
    method = IndependentMarginals(attributes=TABLE, single=Geometric(scale="1/200"))
    model = release(method, rows, budget=Budget(epsilon=1000, unit=ROW)).value
    codes = TABLE.codes(rows)
    for axis in range(3):
        assert model.table((axis,)) == pytest.approx(TABLE.count(codes, (axis,)), abs=0.5)
    product = np.outer(model.table((0,)), model.table((1,))) / model.total
    assert model.table((0, 1)) == pytest.approx(product)
    assert model.total == pytest.approx(900)
