"""Random projection: no record exceeds its length, distances are kept on average, bare projections are caught."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter, InvalidValue
from dither.mechanisms import DiscreteGaussian, Geometric, PublicArray, Runner
from dither.mechanisms.random_projection import RECORDS_IN_PLACE, RandomProjection, sign_matrix
from dither.noise import system_noise
from dither.privacy import ZCDP, Plan, PureDP, Use
from dither.testing import record, replay

GAUSSIAN, GEOMETRIC = DiscreteGaussian(sigma=8), Geometric(scale=16)
STILL = Geometric(scale=Fraction(1, 2**40))
PUBLIC: dict[str, Any] = {"matrix": sign_matrix("test", 3, 4), "records": 2, "bound": 2, "grid": "1/8"}
NUMBERS = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.integers(-(10**9), 10**9).map(float))


@given(st.lists(NUMBERS, min_size=8, max_size=8), st.integers(1, 200))
def test_no_record_is_longer_than_its_length(entries: list[float], length: int) -> None:
    """Exact integers: the length in the norm of the noise, for any content; and short records are left as they are."""
    table = np.array(entries).reshape(2, 4)
    for noise in (GAUSSIAN, GEOMETRIC):
        mechanism = RandomProjection(noise=noise, length=length, **PUBLIC)
        for row in record(mechanism, table)[1].events[0].value.tolist():
            norm = (
                sum(map(abs, row))
                if noise is GEOMETRIC
                else math.isqrt(sum(x * x for x in row) - 1) + 1
                if any(row)
                else 0
            )
            assert norm <= length
    long = RandomProjection(noise=GEOMETRIC, length=10**6, **PUBLIC)
    steps = np.floor(np.clip(np.nan_to_num(table, nan=0.0), -2, 2) * 8).astype(np.int64)
    assert record(long, table)[1].events[0].value.tolist() == (steps @ PUBLIC["matrix"].values.T).tolist()


@pytest.mark.parametrize("noise", [GAUSSIAN, GEOMETRIC], ids=("gaussian", "geometric"))
def test_the_length_is_reached_both_ways(noise: Any) -> None:
    """The stability is no more than it must be: opposite records move the table by twice the length."""
    one = RandomProjection(noise=noise, length=8, **(PUBLIC | {"matrix": PublicArray([[1]]), "records": 1}))
    up, down = (record(one, np.array([[side]]))[1].events[0].value for side in (2.0, -2.0))
    assert one.part.distance.measure(up, down) == 16
    assert replay(one, np.array([[2.0]]), np.array([[-2.0]])) == []


@dataclass(frozen=True, kw_only=True)
class OneLength(RandomProjection):
    """Forgets that a record leaves and another one enters."""

    def plan(self) -> Plan:
        return Use(self.part, self.length)

    def release(self, data: Any, run: Runner) -> Any:
        value = record(RandomProjection(**{name: getattr(self, name) for name in FIELDS}), data)[1].events[0].value
        return run(self.part, value, stability=self.length)


@dataclass(frozen=True, kw_only=True)
class NotShortened(RandomProjection):
    """Trusts the projection to keep lengths."""

    def _shortened(self, projected: Any) -> Any:
        return projected


@dataclass(frozen=True, kw_only=True)
class Bare(RandomProjection):
    """As printed: the projection alone, with the noise drawn and thrown away."""

    def release(self, data: Any, run: Runner) -> Any:
        super().release(data, run)
        return np.asarray(data) @ self.matrix.values.T


FIELDS = ("matrix", "noise", "records", "bound", "grid", "length")


@pytest.mark.parametrize(
    ("kind", "rule"), [(OneLength, "moved too far"), (NotShortened, "moved too far"), (Bare, "outside its draws")]
)
@pytest.mark.parametrize("noise", [GAUSSIAN, GEOMETRIC], ids=("gaussian", "geometric"))
def test_planted_mistakes_are_caught(kind: Any, rule: str, noise: Any) -> None:
    public = PUBLIC | {"noise": noise, "length": 10}
    here = np.array([[2.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]])
    there = np.array([[-2.0, -2.0, -2.0, -2.0], [0.0, 0.0, 0.0, 0.0]])
    assert rule in replay(kind(**public), here, there)[0].rule
    assert replay(RandomProjection(**public), here, there) == []


def test_squared_lengths_are_kept_on_average() -> None:
    """Over 400 public matrices, all fixed: nothing here is random."""
    record_of = np.array([[1.0, -0.5, 0.25, 2.0, 0.0]])
    lengths = []
    for number in range(400):
        public = PUBLIC | {"matrix": sign_matrix(str(number), 4, 5), "records": 1, "grid": "1/64"}
        mechanism = RandomProjection(noise=STILL, length=10**6, **public)
        lengths.append(float((Runner(Use(mechanism), system_noise())(mechanism, record_of) ** 2).sum()))
    assert np.mean(lengths) == pytest.approx(float((record_of**2).sum()), rel=0.1)


def test_matrices_are_public_and_of_both_signs() -> None:
    assert sign_matrix("a", 30, 40) == sign_matrix("a", 30, 40) != sign_matrix("b", 30, 40)
    signs = sign_matrix("a", 30, 40).values
    assert set(np.unique(signs)) == {-1, 1}
    assert abs(int(signs.sum())) < 200


def test_prices() -> None:
    assert RandomProjection(noise=GAUSSIAN, length=4, **PUBLIC).loss(1) == ZCDP("1/2")
    assert RandomProjection(noise=GEOMETRIC, length=4, **PUBLIC).loss(3) == PureDP("3/2")


def test_the_metric_compares_in_place() -> None:
    table = np.array([[1.0, 2.0], [np.nan, 4.0]])
    assert RECORDS_IN_PLACE.measure(table, table.copy()) == 0
    assert RECORDS_IN_PLACE.measure(table, table[::-1]) == 2
    assert RECORDS_IN_PLACE.measure(table, table[:1]) is None


@pytest.mark.parametrize(
    "table",
    [
        [[10**400, -(10**400), Fraction(1, 3), 1]] * 2,
        np.full((2, 4), 2**62),
        np.full((2, 4), np.nan),
        [[1, 2, 3, 4]] * 2,
    ],
    ids=("huge", "integers", "nan", "list"),
)
def test_any_content_is_projected(table: Any) -> None:
    mechanism = RandomProjection(noise=GEOMETRIC, length=10, **PUBLIC)
    assert np.isfinite(Runner(Use(mechanism), system_noise())(mechanism, table)).all()


@pytest.mark.parametrize("table", [np.zeros((3, 4)), np.zeros((2, 3)), None, [["a"] * 4] * 2])
def test_tables_of_another_kind_are_refused(table: Any) -> None:
    mechanism = RandomProjection(noise=GEOMETRIC, length=10, **PUBLIC)
    with pytest.raises(InvalidValue):
        Runner(Use(mechanism), system_noise())(mechanism, table)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"grid": "1e-9"}, "grid"),
        ({"grid": "1/3" + "0" * 280, "bound": "1/1" + "0" * 280}, "grid"),
    ],
)
def test_bad_parameters_are_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{named} must be"):
        RandomProjection(**(PUBLIC | {"noise": GEOMETRIC, "length": 3} | changes))
