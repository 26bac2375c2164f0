"""Item covariance: exact products person by person, how far one person moves them, and cleaning against known truth."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, ZCDP, ApproxDP
from dither.errors import InvalidParameter
from dither.estimate.item_covariance import cleaned_factors
from dither.learn.models import Model
from dither.learn.recommend import ItemCovariance
from dither.learn.recommend.products import pair_sums, residuals, weights_of
from dither.learn.recommend.weighing import weighed

GONE = float("nan")


class Shown:
    """Adds no noise to the first draw, or shows what another run was shown; remembers the second one."""

    def __init__(self, shown: Any = None) -> None:
        self.shown, self.drawn = shown, list[tuple[list[int], Fraction]]()

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        self.drawn.append(([int(one) for one in value], Fraction(stability)))
        if len(self.drawn) == 1 and self.shown is not None:
            return self.shown
        return np.array(value)


def people(count: int, items: int) -> np.ndarray:
    draw = np.random.default_rng()
    values = draw.integers(0, 8, size=(count, items)) / 2 + 1
    return np.where(draw.uniform(size=values.shape) < draw.uniform(size=(count, 1)), values, GONE)


def one_by_one(rows: np.ndarray, means: list[int], reach: int) -> list[int]:
    """Return the same sums, of each person and each pair alone, by Python's integers."""
    items = rows.shape[1]
    products = {(i, j): 0 for i in range(items) for j in range(i, items)}
    pairs = dict(products)
    for row in rows.tolist():
        own = {item: round((Fraction(value) - 3) / 2 * 1024) for item, value in enumerate(row) if value == value}
        plain = {item: step - means[item] for item, step in own.items()}
        bias = round(Fraction(sum(plain.values()), len(plain) + 3))
        left = {item: min(max(step - bias, -1024), 1024) for item, step in plain.items()}
        length = sum(step**2 for step in left.values()) ** 2 + (2**16 * len(left)) ** 2
        weight = next(w for w in range(1024, -1, -1) if w * w * length <= (2**30 * reach) ** 2)
        for i in left:
            for j in left:
                if i <= j:
                    products[i, j] += weight * left[i] * left[j] * (5 if i == j else 7)
                    pairs[i, j] += weight * 2**16 * (5 if i == j else 7)
    return [*products.values(), *pairs.values()]


@pytest.mark.parametrize("reach", [1, 3])
def test_sums_are_those_of_every_person_one_by_one(reach: int) -> None:
    rows = people(9, 12)
    rows[0], rows[1] = 5.0, GONE
    means = np.random.default_rng().integers(-500, 500, size=12)
    seen = weighed(rows, 12, 1.0, 5.0, reach)
    assert pair_sums(seen, means, reach, 12).tolist() == one_by_one(rows, means.tolist(), reach)


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
def test_one_person_moves_both_draws_by_their_stability_and_nearly_reaches_it(unit: Any) -> None:
    method = ItemCovariance.calibrated(ApproxDP(1, "1e-6"), items=20, lower=1, upper=5, reach=1, unit=unit)
    assert method.loss(1) <= ApproxDP(1, "1e-6")
    rows, farthest = people(10, 20), 0.0
    rows[-1] = GONE
    first = Shown()
    method.release(rows, first)  # type: ignore[arg-type]
    released = np.array(first.drawn[0][0])
    split = np.where(np.arange(20) % 2 == 0, 1.0, 5.0)
    for one in (split, np.full(20, 5.0), np.full(20, np.inf), np.full(20, GONE), rows[2]):
        others = np.vstack([rows, one]) if unit == ROW else np.vstack([rows[:-1], one])
        second = Shown(released)
        method.release(others, second)  # type: ignore[arg-type]
        for (here, stability), (there, _) in zip(first.drawn, second.drawn, strict=True):
            square = sum((a - b) ** 2 for a, b in zip(here, there, strict=True))
            assert square <= stability**2
        farthest = max(farthest, square / float(stability) ** 2)
    # In the place of somebody who rated nothing, a person moves the sums half as far as is paid for.
    assert farthest > (0.85 if unit == ROW else 0.2)


def test_a_persons_residuals_and_weight_follow_from_that_person_alone() -> None:
    rows = people(6, 15)
    means = np.zeros(15, dtype=np.int64)
    alone = weighed(rows[:1], 15, 1.0, 5.0, 2)
    together = weighed(rows, 15, 1.0, 5.0, 2)
    left, many = residuals(alone, means), residuals(together, means)
    assert many[: left.size].tolist() == left.tolist()
    if left.size:
        assert weights_of(together.people, many, 2)[0] == weights_of(alone.people, left, 2)[0]


def test_a_covariance_of_low_rank_is_found_and_noise_alone_is_not() -> None:
    draw = np.random.default_rng()
    truth = np.outer(*[draw.normal(size=60)] * 2) * 0.2
    upper = np.triu(draw.normal(0, 20.0, size=(60, 60)), 1)
    noise = upper + upper.T
    factors, _ = cleaned_factors(truth * 2000 + noise, np.full((60, 60), 2000.0), deviation=20.0)
    found = factors @ factors.T
    apart = ~np.eye(60, dtype=bool)
    assert np.corrcoef(found[apart], truth[apart])[0, 1] > 0.99
    nothing, rest = cleaned_factors(noise + np.eye(60) * 400, np.full((60, 60), 2000.0), deviation=20.0)
    assert np.abs(nothing @ nothing.T).max() < 0.01
    assert rest == pytest.approx(0.2, rel=0.3)


def test_predictions_are_those_of_the_conditional_normal_law() -> None:
    draw = np.random.default_rng()
    rows = np.clip(3 + np.outer(draw.normal(size=500), [1, 1, -1, 0.5]) + draw.normal(0, 0.3, (500, 4)), 1, 5)
    method = ItemCovariance.calibrated(ZCDP(10**6), items=4, lower=1, upper=5)
    model = method.release(rows, lambda part, value, stability=1: value)  # type: ignore[arg-type]
    whole = model.factors.values @ model.factors.values.T
    for many in (0, 1, 2, 4):
        rated, values = np.arange(many), np.array([0.8, -0.5, 0.1, 1.0])[:many]
        left = values - model.means[rated]
        own = left.sum() / (many + 3)
        inside = whole[np.ix_(rated, rated)] + model.rest * np.eye(many)
        expected = model.means + own + whole[:, rated] @ np.linalg.solve(inside, left - own)
        assert model.expected(rated, values) == pytest.approx(expected)
    assert Model.from_dict(model.to_dict()) == model


@pytest.mark.parametrize(("name", "value"), [("items", 2**12), ("items", 0), ("reach", 0), ("upper", 1)])
def test_wrong_parameters_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InvalidParameter):
        ItemCovariance.calibrated(ZCDP(1), **{"items": 3, "lower": 1, "upper": 5, name: value})
