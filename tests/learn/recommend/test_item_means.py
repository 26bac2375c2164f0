"""Item means: exact sums against Fractions, how far one person moves them, and what is made of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither import ROW, ROW_REPLACED, ZCDP, ApproxDP, PureDP
from dither.errors import InvalidParameter, InvalidValue
from dither.estimate.item_prior import WITHIN, pulled_means
from dither.learn.models import Model
from dither.learn.recommend import ItemMeans, ItemMeansModel
from dither.lift.profiles import Profiles
from dither.mechanisms.core.public import PublicArray

GONE = float("nan")


class Exact:
    """Adds no noise, and remembers what was to be drawn."""

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> Any:
        self.value, self.stability = [int(one) for one in value], Fraction(stability)
        return np.array(value)


def drawn(method: ItemMeans, data: Any) -> tuple[list[int], Fraction]:
    run = Exact()
    method.release(data, run)  # type: ignore[arg-type]
    return run.value, run.stability


def in_fractions(rows: list[list[float]], reach: int) -> list[int]:
    """Add up the same integers one by one, for values between 1 and 5: slow, and without a float."""
    items = len(rows[0])
    counts, sums = [0] * items, [0] * items
    for row in rows:
        own = {}
        for item, value in enumerate(row):
            if value == value:
                inside = min(max(Fraction(value), Fraction(1)), Fraction(5))
                own[item] = round((inside - 3) / 2 * 1024)
        square = sum(512**2 + step**2 for step in own.values())
        weight = next(
            (w for w in range(1024, -1, -1) if w * w * square <= (1024 * 1024 * reach) ** 2),
        )
        for item, step in own.items():
            counts[item] += weight * 512
            sums[item] += weight * step
    return counts + sums


def people(count: int, items: int) -> np.ndarray:
    draw = np.random.default_rng()
    values = draw.integers(0, 8, size=(count, items)) / 2 + 1
    return np.where(draw.uniform(size=values.shape) < draw.uniform(size=(count, 1)), values, GONE)


@pytest.mark.parametrize("reach", [1, 3])
def test_sums_are_those_of_every_person_one_by_one(reach: int) -> None:
    rows = people(12, 30)
    rows[0], rows[1] = 5.0, GONE
    method = ItemMeans.calibrated(ZCDP(1), items=30, lower=1, upper=5, reach=reach)
    assert drawn(method, rows)[0] == in_fractions(rows.tolist(), reach)
    sparse = Profiles(*(one.astype(np.int64) for one in np.nonzero(~np.isnan(rows))), rows[~np.isnan(rows)])
    assert drawn(method, sparse)[0] == drawn(method, rows)[0]
    assert drawn(method, rows[::-1])[0] == drawn(method, rows)[0]


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
@pytest.mark.parametrize("target", [PureDP(1), ApproxDP(1, "1e-6")])
def test_one_person_moves_the_draw_by_its_stability_and_nearly_reaches_it(target: Any, unit: Any) -> None:
    method = ItemMeans.calibrated(target, items=40, lower=1, upper=5, reach=2, unit=unit)
    assert method.loss(1) <= target
    rows, base = people(20, 40), None
    farthest = 0.0
    odd = (np.full(40, 1.0), np.full(40, 5.0), np.full(40, 1e300), np.full(40, -np.inf), np.full(40, GONE), rows[3])
    for one in odd:
        others = np.vstack([rows, one]) if unit == ROW else np.vstack([rows[:-1], one])
        base, stability = drawn(method, rows)
        moved, _ = drawn(method, others)
        square = sum((a - b) ** 2 for a, b in zip(base, moved, strict=True))
        assert square <= stability**2
        farthest = max(farthest, square / float(stability) ** 2)
    # In the place of somebody who rated nothing, a person moves the sums half as far as is paid for.
    assert farthest > (0.9 if unit == ROW else 0.2)


def test_ordinary_people_count_in_full_and_nobody_is_dropped() -> None:
    method = ItemMeans.calibrated(ZCDP(1), items=200, lower=1, upper=5, reach=4)
    few, many = np.full((1, 200), GONE), np.full((1, 200), 3.0)
    few[0, :10] = 5.0
    assert drawn(method, few)[0][0] == 1024 * 512
    counts = drawn(method, many)[0][:200]
    assert min(counts) == max(counts) > 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("items", 0), ("items", 2**21), ("reach", 0), ("reach", 2**11), ("upper", 1), ("lower", GONE), ("unit", "person")],
)
def test_wrong_parameters_are_refused(name: str, value: Any) -> None:
    right: dict[str, Any] = {"items": 3, "lower": 1, "upper": 5}
    with pytest.raises(InvalidParameter):
        ItemMeans.calibrated(ZCDP(1), **{**right, name: value})


def test_data_is_refused_by_its_shape_alone() -> None:
    method = ItemMeans.calibrated(ZCDP(1), items=3, lower=1, upper=5)
    for wrong in (np.zeros((2, 4)), np.zeros(3), [[1, 2, 3]], np.array([["a", "b", "c"]]), None):
        with pytest.raises(InvalidValue):
            method.release(wrong, Exact())  # type: ignore[arg-type]
    beyond = Profiles(np.array([0, 0]), np.array([2, 9]), np.array([5.0, 5.0]))
    assert drawn(method, beyond)[0][:3] == [0, 0, 1024 * 512]


def test_profiles_hold_no_rating_twice() -> None:
    one, two = np.array([0, 0]), np.array([1, 1])
    for people_, items in ((one, two), (np.array([1, 0]), np.array([0, 1])), (one - 1, np.array([0, 1]))):
        with pytest.raises(InvalidValue):
            Profiles(people_, items, np.array([1.0, 2.0]))
    last = Profiles.of(one, two, np.array([5.0, 2.0]), np.array([0.0, 3.0]))
    assert (last.items.tolist(), last.values.tolist()) == ([1], [2.0])
    same = Profiles.of(one, two, np.array([GONE, 2.0]), np.array([3.0, 3.0]))
    assert same.values.tolist() == [2.0]


def test_means_without_noise_or_ties_are_those_of_a_normal_model() -> None:
    """One item: the posterior mean of a normal mean about a normal prior, which is estimated from many others."""
    counts = np.array([0.0, *[400.0] * 200])
    truth = np.random.default_rng().normal(0.3, 0.2, 201)
    means, variances = pulled_means(counts, counts * truth, deviation=1e-9, attributes=np.zeros((201, 1)))
    spread = variances[0]
    prior = means[0]
    assert prior == pytest.approx(float(truth[1:].mean()), abs=0.01)
    noise = WITHIN / 400
    expected = (truth[1:] / noise + prior / spread) / (1 / noise + 1 / spread)
    assert means[1:] == pytest.approx(expected, abs=1e-6)
    assert 0.02 <= spread <= 0.08


def test_items_without_ratings_take_the_mean_of_their_attributes() -> None:
    kind = np.repeat([[1.0, 0.0], [0.0, 1.0]], 50, axis=0)
    counts = np.full(100, 200.0)
    sums = counts * np.where(kind[:, 0] > 0, 0.4, -0.4)
    counts[[0, 50]] = sums[[0, 50]] = 0.0
    means, variances = pulled_means(counts, sums, deviation=1.0, attributes=kind)
    assert means[0] > 0.3
    assert means[50] < -0.3
    assert variances[0] > variances[1]


def test_a_model_is_written_and_read() -> None:
    model = ItemMeansModel(
        1.0, 5.0, PublicArray([4.0, 2.0]), PublicArray([1.0, -1.0]), 0.5, PublicArray(np.zeros((2, 1)))
    )
    again = Model.from_dict(model.to_dict())
    assert again == model
    assert isinstance(again, ItemMeansModel)
    assert again.means.tolist() == model.means.tolist()
    for wrong in ({"sums": PublicArray([1.0])}, {"attributes": PublicArray([[1.0]])}, {"lower": 7.0}):
        with pytest.raises(InvalidParameter):
            replace(model, **wrong)


def test_bounds_that_are_one_float_are_refused() -> None:
    """Ratings are put between them in floats: one person moved a sum by 2^63."""
    with pytest.raises(InvalidParameter, match="double precision"):
        ItemMeans.calibrated(ApproxDP(1, "1e-6"), items=2, lower="1", upper="1.00000000000000000001")


def test_the_order_of_rows_does_not_decide_between_a_missing_value_and_minus_infinity() -> None:
    zeros = np.zeros(2, dtype=np.int64)
    for values in ([GONE, -np.inf], [-np.inf, GONE]):
        assert Profiles.of(zeros, zeros, np.array(values), np.zeros(2)).values.tolist() == [-np.inf]
