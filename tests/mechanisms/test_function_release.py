"""Function release: kernels agree with rationals, one record moves the values by its length, mistakes are caught."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.mechanisms import DiscreteGaussian, PublicArray, Runner
from dither.mechanisms.function_release import FunctionRelease
from dither.noise import system_noise
from dither.privacy import ROW, ROW_REPLACED, ZCDP, Unit, Use
from dither.testing import record, replay

F = Fraction
POINTS = PublicArray(np.array([[0, 0], [4, 0], [8, 8], [-3, 1]]))
PUBLIC: dict[str, Any] = {
    "unit": ROW,
    "points": POINTS,
    "grid": "1/4",
    "radius": 9,
    "bits": 6,
    "length": 10**6,
    "noise": DiscreteGaussian(sigma=64),
}


def kernels(row: tuple[float, ...], points: Any, radius: int, bits: int) -> list[int]:
    """The slow obvious kernel, in rationals."""
    steps = [math.floor(F(x) * 4) for x in row]
    squares = [sum((a - int(b)) ** 2 for a, b in zip(steps, point, strict=True)) for point in points]
    return [math.floor(max(F(0), 1 - F(square, radius**2)) * 2**bits) for square in squares]


def test_sums_are_those_of_rationals() -> None:
    rows = [(0.0, 0.0), (1.1, -0.3), (2.0, 2.0), (-0.75, 0.25), (1e300, 0.0), (0.2, 0.2)]
    value = record(FunctionRelease(**PUBLIC), rows)[1].events[0].value
    slow = np.sum([kernels(row, POINTS.values, 9, 6) for row in rows], axis=0)
    assert value.tolist() == slow.tolist()
    assert record(FunctionRelease(**PUBLIC), np.array(rows))[1].events[0].value.tolist() == slow.tolist()


def test_without_noise_the_values_are_the_sums() -> None:
    still = FunctionRelease(**(PUBLIC | {"noise": DiscreteGaussian(sigma=F(1, 2**20))}))
    out = Runner(Use(still), system_noise())(still, [(0.0, 0.0), (0.0, 0.0)])
    assert (out * 64).tolist() == [2 * k for k in kernels((0.0, 0.0), POINTS.values, 9, 6)]


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=("added", "replaced"))
@pytest.mark.parametrize("length", [5, 60, 10**6])
def test_all_neighbours_in_a_small_universe(unit: Unit, length: int) -> None:
    """Every record on a grid around the points, alone and in place of every other one."""
    mechanism = FunctionRelease(**(PUBLIC | {"unit": unit, "length": length}))
    universe = [(x / 4, y / 4) for x, y in itertools.product(range(-8, 12, 4), repeat=2)]
    values = {row: record(mechanism, [row])[1].events[0].value for row in universe}
    nothing = np.zeros(len(POINTS.values), dtype=np.int64)
    others = [nothing] if unit is ROW else list(values.values())
    farthest = max(float(np.linalg.norm(one - other)) for one in values.values() for other in others)
    assert 0 < farthest <= float(mechanism.stability) * (1 + 1e-12)
    if length == 5 and unit is ROW:
        assert farthest > 4


@dataclass(frozen=True, kw_only=True)
class NotShortened(FunctionRelease):
    """Adds up kernels of any length."""

    def _kernels(self, rows: Any, places: Any) -> Any:
        kept = FunctionRelease(**(PUBLIC | {"unit": self.unit}))
        return kept._kernels(rows, places)


@dataclass(frozen=True, kw_only=True)
class ReplacedForOne(FunctionRelease):
    """Charges a replaced row as an added one."""

    @property
    def stability(self) -> Fraction:
        return F(self.length)


@dataclass(frozen=True, kw_only=True)
class Average(FunctionRelease):
    """Divides by the number of rows, which is private where rows come and go."""

    def release(self, data: Any, run: Runner) -> Any:
        return super().release(data, run) / max(1, len(data))


@pytest.mark.parametrize(
    ("kind", "unit", "here", "there", "rule"),
    [
        (NotShortened, ROW, [], [(0.0, 0.0)], "moved too far"),
        (ReplacedForOne, ROW_REPLACED, [(-1.0, 0.0)], [(2.5, 2.5)], "moved too far"),
        (Average, ROW, [(0.0, 0.0)], [(0.0, 0.0), (0.0, 0.0)], "outside its draws"),
    ],
)
def test_planted_mistakes_are_caught(kind: Any, unit: Unit, here: Any, there: Any, rule: str) -> None:
    public = PUBLIC | {"unit": unit, "length": 20}
    assert rule in replay(kind(**public), here, there)[0].rule
    assert replay(FunctionRelease(**public), here, there) == []


@pytest.mark.parametrize(
    "row",
    [None, "x", (1.0,), (1.0, 2.0, 3.0), (math.nan, 0.0), (math.inf, 0.0), (1j, 0), {}, [[1, 2], [3]], (10**400, 0)],
    ids=str,
)
def test_what_is_no_record_is_nowhere(row: Any) -> None:
    assert not record(FunctionRelease(**PUBLIC), [row])[1].events[0].value.any()


def test_prices() -> None:
    public = PUBLIC | {"length": 64}
    assert FunctionRelease(**public).loss(1) == ZCDP("1/2")
    replaced = FunctionRelease(**(public | {"unit": ROW_REPLACED})).loss(1)
    assert 1 <= replaced.rho <= 1 + F(1, 10**20)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"points": np.zeros((1, 65), dtype=np.int64)}, "points"),
        ({"noise": DiscreteGaussian(sigma=1, shape=2)}, "noise"),
    ],
)
def test_wide_points_and_shaped_noise_are_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter, match=f"^{named} must be"):
        FunctionRelease(**(PUBLIC | changes))
