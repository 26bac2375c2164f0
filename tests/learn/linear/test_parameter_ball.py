"""The parameter ball: the envelope against its definition, drawn points against a quadrature, what sessions refuse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn.linear import ParameterBall, classifier
from dither.mechanisms import BallDensity, Numerics, perform
from dither.mechanisms.ball_density import LENGTH
from dither.mechanisms.tangent_envelope import Envelope
from dither.noise import system_noise
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP


def some_records(count: int, width: int) -> Any:
    drawn = np.random.default_rng().normal(size=(count, width))
    return drawn / np.maximum(np.linalg.norm(drawn, axis=1, keepdims=True), 1)


def slow_loss(records: Any, weights: Any, scale: float) -> float:
    return math.fsum(math.log1p(math.exp(-float(record @ weights))) for record in records) / scale


@pytest.mark.parametrize("width", [1, 2, 3])
def test_an_envelope_lies_below_the_loss_and_not_farther_than_it_says(width: int) -> None:
    generator, records = np.random.default_rng(), some_records(40, width)
    envelope = Envelope(records, 5.0, 0.5)
    boxes, turned = envelope.boxes, records @ envelope._turn
    for box in range(len(boxes.centres)):
        move = generator.uniform(-1, 1, size=width) * boxes.halves[box]
        point = boxes.centres[box] + move
        tangent = boxes.heights[box] + boxes.slopes[box] @ move
        above = slow_loss(turned, point, 0.5) - tangent
        assert above >= -1e-9
        if np.isfinite(boxes.kept[box]):
            assert above <= boxes.masses[box] - boxes.kept[box] + 1e-9
            assert np.linalg.norm(np.abs(boxes.centres[box]) + boxes.halves[box]) <= 5.0


def test_masses_are_integrals_and_boxes_cover_the_ball() -> None:
    generator, records = np.random.default_rng(), some_records(30, 2)
    boxes = Envelope(records, 3.0, 1.0).boxes
    for box in (0, len(boxes.centres) // 2, -1):
        grid = [np.linspace(-half, half, 2001)[1:] - half / 2000 for half in boxes.halves[box]]
        slices = [
            np.exp(-slope * line).sum() * 2 * half / 2000
            for slope, half, line in zip(boxes.slopes[box], boxes.halves[box], grid, strict=True)
        ]
        assert math.exp(boxes.masses[box] + boxes.heights[box]) == pytest.approx(math.prod(slices), rel=1e-4)
    for _ in range(200):
        point = generator.normal(size=2)
        point *= 3 * math.sqrt(generator.uniform()) / np.linalg.norm(point)
        holds = (np.abs(point - boxes.centres) <= boxes.halves).all(axis=1)
        assert holds.sum() == 1


def _farthest(drawn: Any, law: Any) -> float:
    """The largest distance of an empirical from a true distribution function, both on a grid of numbers."""
    grid, cumulative = law
    return float(np.abs(np.searchsorted(np.sort(drawn), grid, side="right") / len(drawn) - cumulative).max())


@pytest.mark.statistical(false_alarm=1e-9)
def test_drawn_weights_have_the_density() -> None:
    """4,000 draws along two axes; a distance above 0.0526 has probability 5e-10 (Massart).

    Caught: points of the envelope that are not rejected, or directions that are not turned back; the uniform law of
    the ball is the twin that is rejected.
    """
    records = np.array([[0.6, 0.8], [1.0, 0.0], [0.6, 0.8], [-0.3, 0.9]] * 6)
    radius, scale, limit = 3.0, 2.0, math.sqrt(math.log(4e9) / 8000) + 0.001
    line = np.linspace(-radius, radius, 801)
    plane = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    losses = np.log1p(np.exp(-(plane @ records.T))).sum(axis=-1) / scale
    inside = (plane**2).sum(axis=-1) <= radius**2
    density = np.where(inside, np.exp(-losses), 0.0)
    part = BallDensity(width=2, radius=3, scale=2)
    drawn = part.draw_many(np.rint(records * LENGTH).astype(np.int64), 4000, system_noise())
    for axis in (0, 1):
        along, even = density.sum(axis=1 - axis), inside.sum(axis=1 - axis)
        assert _farthest(drawn[:, axis], (line, (along.cumsum() - along / 2) / along.sum())) <= limit
    assert _farthest(drawn[:, 1], (line, even.cumsum() / even.sum())) > limit


def test_no_digits_beyond_the_public_grid_are_released() -> None:
    """Unrounded draws were told apart by them: a rotation with zeros in it leaves other digits than one without."""
    records = np.rint(some_records(5, 3) * LENGTH).astype(np.int64)
    drawn = BallDensity(width=3, radius=3, scale=2).draw_many(records, 50, system_noise())
    assert (drawn * 2**20 == np.rint(drawn * 2**20)).all()


@pytest.mark.parametrize("target", [PureDP("1/3"), ApproxDP(1, "1e-6"), ZCDP("1/7")], ids=str)
@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED], ids=str)
def test_calibrated_balls_keep_their_target(target: Loss, unit: Any) -> None:
    ball = ParameterBall.calibrated(target, lower=[0, 1], upper=[2, 5], unit=unit)
    assert ball.loss(1) <= target
    assert ball.numerics is Numerics.IDEALISED


def test_the_loss_of_one_record_varies_by_the_radius() -> None:
    """The step that the price rests on: ln(1 + e^R) - ln(1 + e^-R) = R."""
    for radius in (0.5, 2.0, 30.0):
        assert math.log1p(math.exp(radius)) - math.log1p(math.exp(-radius)) == pytest.approx(radius)
    density = BallDensity(width=1, radius=30, scale=10)
    assert density.loss(2) == PureDP(6)


def test_more_columns_or_classes_than_there_is_room_for_are_refused_by_name() -> None:
    with pytest.raises(InvalidParameter, match="bounds of 4 columns"):
        ParameterBall.calibrated(PureDP(1), lower=[0] * 4, upper=[1] * 4)
    with pytest.raises(InvalidParameter, match="scale"):
        BallDensity(width=1, radius=1, scale="1/4096")
    with pytest.raises(InvalidParameter, match="two classes"):
        classifier(PureDP(1), solver="ball", lower=[0], upper=[1], classes=3, unit=ROW)


def test_no_rows_and_odd_rows_are_learned_from() -> None:
    nan, inf = float("nan"), float("inf")
    odd = np.array([[nan, 1e308, 0.0], [inf, -inf, 1.0], [1.0, 1.0, nan]])
    ball = ParameterBall.calibrated(PureDP(1), lower=[0, 0], upper=[1, 1])
    for rows in (np.zeros((0, 3)), odd, np.repeat(odd, 50, axis=0)):
        assert np.isfinite(perform(ball, rows).weights.values).all()
