"""A genetic search for a classifier: losses beside a slow twin, what one record moves, and how candidates are made."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.learn.linear import GeneticClassifier
from dither.learn.linear.parameter_grid import TOP
from dither.learn.rows import STEPS
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP

BOX: dict[str, Any] = {"lower": [-1, 0], "upper": [1, 8]}


class Best:
    """A runner that takes the best candidate, or those it is told to, and remembers the scores."""

    def __init__(self, choices: list[int] | None = None) -> None:
        self.seen: list[np.ndarray] = []
        self.choices: list[int] = []
        self._told = list(choices or [])

    def __call__(self, part: Any, value: Any, *, stability: Any = 1) -> int:
        assert stability == TOP
        self.seen.append(np.array(value))
        self.choices.append(self._told.pop(0) if self._told else int(np.argmax(value)))
        return self.choices[-1]


def rows_of(count: int) -> np.ndarray:
    draw = np.random.default_rng()
    values = np.column_stack([draw.uniform(-2, 2, count), draw.uniform(-1, 9, count)])
    values[draw.random(values.shape) < 0.05] = np.nan
    return np.column_stack([values, draw.integers(-1, 3, count)])


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_losses_are_those_of_a_slow_twin(loss: str) -> None:
    learner = GeneticClassifier.calibrated(PureDP(1), **BOX, loss_name=loss, population=5)
    draw = np.random.default_rng()
    records = np.column_stack([draw.integers(-STEPS, STEPS + 1, (30, 2)), np.full(30, STEPS)]).astype(float)
    sides, candidates = draw.choice([-1.0, 1.0], 30), draw.integers(-6144, 6145, (5, 3)).astype(float)
    found = learner.losses(records, sides, candidates)
    for place, weights in enumerate(candidates.astype(int).tolist()):
        total = 0.0
        for record, side in zip(records.astype(int).tolist(), sides.tolist(), strict=True):
            ahead = side * sum(a * b for a, b in zip(record, weights, strict=True)) / (STEPS * 1024)
            if loss == "hinge":
                total += min(max(1 - ahead, 0), 2) / 2
            else:
                near = min(max(ahead, -2 + 1 / 128), 2 - 1 / 128)
                total += math.log1p(math.exp(-near)) / math.log1p(math.exp(2 - 1 / 128))
        # A floor, or the middle of a cell 1/64 wide, for each record.
        assert found[place] == pytest.approx(TOP * total, abs=30 * (1 + TOP / 128))


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_one_record_more_raises_every_loss_by_no_more_than_the_largest(loss: str) -> None:
    learner = GeneticClassifier.calibrated(PureDP(1), **BOX, loss_name=loss, generations=3, population=8)
    rows, first = rows_of(40), Best()
    found = learner.release(rows, first)  # type: ignore[arg-type]
    assert len(first.seen) == 5
    for gone in range(40):
        run = Best(first.choices)
        assert learner.release(np.delete(rows, gone, axis=0), run) == found  # type: ignore[arg-type]
        known = rows[gone, -1] in (0, 1)
        for here, there in zip(first.seen, run.seen, strict=True):
            assert (there - here >= 0).all()
            assert (there - here <= (TOP if known else 0)).all()


def test_without_noise_a_search_gets_better_and_parents_are_kept() -> None:
    draw = np.random.default_rng()
    values = draw.uniform([-1, 0], [1, 8], (300, 2))
    rows = np.column_stack([values, values[:, 0] > (values[:, 1] - 4) / 8])
    run = Best()
    model = GeneticClassifier.calibrated(PureDP(1), **BOX, loss_name="hinge").release(rows, run)  # type: ignore[arg-type]
    best = [int(scores.max()) for scores in run.seen]
    assert best == sorted(best)
    assert ((model.scores(values)[:, 0] > 0) == rows[:, -1]).mean() > 0.9


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
@pytest.mark.parametrize("target", [PureDP("0.7"), ApproxDP(1, "1e-6"), ZCDP("1/7")])
def test_losses_stay_within_their_target(target: Loss, unit: Any) -> None:
    assert GeneticClassifier.calibrated(target, **BOX, unit=unit).loss(1) <= target


def test_parameters_are_refused_by_name() -> None:
    for name, value in (("loss_name", "squared"), ("generations", 0), ("population", 1), ("lower", [0] * 2000)):
        given: dict[str, Any] = {**BOX, "upper": [1] * 2000 if name == "lower" else BOX["upper"], name: value}
        with pytest.raises(InvalidParameter, match=name):
            GeneticClassifier.calibrated(PureDP(1), **given)
