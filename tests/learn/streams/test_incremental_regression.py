"""A regression of a stream: moments against Python integers, nodes counted one by one, one price for all batches."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from dither.errors import HandleMisuse, InvalidParameter, InvalidValue
from dither.learn.centred import CONSTANT, LENGTH
from dither.learn.linear.moments import STABILITY
from dither.learn.streams import IncrementalRegression
from dither.learn.streams import incremental as incremental_module
from dither.learn.streams.estimators import IncrementalLinearRegression
from dither.mechanisms import Budget, converse
from dither.mechanisms.core.registry import Dialogue
from dither.privacy import EVENT, ZCDP, ApproxDP, Loss, PureDP
from dither.testing.replay import record, replay

PUBLIC: dict[str, Any] = {"lower": [-1, -1], "upper": [1, 1], "target_lower": -4, "target_upper": 4}


def batch(number: int, rows: int = 40) -> np.ndarray:
    """Rows of two columns and their target, the same in every run."""
    values = np.sin(np.arange(1, 2 * rows + 1) ** 1.5 + number).reshape(rows, 2)
    return np.column_stack([values, 0.5 + 1.5 * values[:, 0] - 0.75 * values[:, 1]])


@pytest.mark.parametrize("target", [PureDP("1/3"), ApproxDP(1, "1e-6"), ZCDP("1/7")], ids=str)
@pytest.mark.parametrize(("batches", "levels"), [(1, 1), (2, 2), (3, 2), (4, 3), (16, 5), (17, 5)])
def test_the_price_is_one_node_of_each_level(target: Loss, batches: int, levels: int) -> None:
    stream = IncrementalRegression.calibrated(target, batches=batches, **PUBLIC)
    assert stream.levels == levels
    assert stream.loss(1) <= target
    assert stream.loss(1) == stream.node.loss(STABILITY).times(levels)


def test_moments_are_those_of_python_integers_and_within_their_stability() -> None:
    stream = IncrementalRegression.calibrated(ZCDP(1), batches=4, **PUBLIC)
    rows = np.vstack([batch(0, 6), [[9.0, -9.0, 99.0], [float("nan"), 1.0, float("nan")]]])
    total = np.zeros(9, dtype=np.int64)
    for row in rows:
        own = stream.moments(row[None])
        assert sum(int(entry) ** 2 for entry in own) <= STABILITY**2
        # The last product of records is that of the constant; the last one of targets is target times constant.
        assert int(own[5]) == 5 * CONSTANT**2
        target = 0.0 if np.isnan(row[2]) else max(-4.0, min(4.0, float(row[2])))
        assert int(own[8]) == 5 * round(target / 4 * LENGTH) * CONSTANT
        total += own
    assert stream.moments(rows).tolist() == total.tolist()


def test_with_an_ample_budget_each_answer_is_least_squares_of_all_rows_so_far() -> None:
    stream = IncrementalRegression.calibrated(ZCDP(10**9), batches=5, **PUBLIC)
    running = converse(stream, None, budget=Budget(rho=10**9, unit=EVENT))
    fed = []
    for number in range(5):
        rows = batch(number)
        rows[:, 2] += number * rows[:, 0]  # the weights move with the stream
        fed.append(rows)
        model = running.feed(rows)
        seen = np.vstack(fed)
        # Radius and clipping change nothing here: two columns have room for the whole box.
        given = np.column_stack([seen[:, :2], np.ones(len(seen))])
        best = np.linalg.lstsq(given, np.clip(seen[:, 2], -4, 4), rcond=None)[0]
        # Measured over 30 runs: off by at most 0.0003.
        assert model.coefficients[0] == pytest.approx(best[:2], abs=0.01)
        assert model.constants[0] == pytest.approx(best[2], abs=0.01)


@pytest.mark.parametrize("place", range(8))
def test_a_row_is_in_one_node_of_each_level_that_its_batch_reaches(place: int) -> None:
    stream = IncrementalRegression.calibrated(ZCDP(1), batches=8, **PUBLIC)
    without = [batch(0, 2)[:0]] * 8
    with_row = [batch(0, 1) if number == place else rows for number, rows in enumerate(without)]
    _, tape, _ = record(stream, Dialogue(None, tuple(with_row)))
    held = [event for event in tape.events if np.any(event.value)]
    assert len(tape.events) == 15
    assert len(held) == 4  # floor(log2(8)) + 1, and not log2(8)
    assert replay(stream, Dialogue(None, tuple(with_row)), Dialogue(None, tuple(without))) == []


def test_the_variance_in_use_is_that_of_least_squares_over_all_nodes() -> None:
    stream = IncrementalRegression.calibrated(ZCDP(1), batches=8, **PUBLIC)
    running = converse(stream, None, budget=Budget(rho=1, unit=EVENT))
    for fed in range(1, 9):
        running.feed(np.zeros((0, 3)))
        nodes = [(start, 2**height) for height in range(4) for start in range(0, fed - 2**height + 1, 2**height)]
        design = np.array([[start <= leaf < start + size for leaf in range(fed)] for start, size in nodes], dtype=float)
        best = np.ones(fed) @ np.linalg.inv(design.T @ design) @ np.ones(fed)
        assert sum(level.variance for level in running._levels) == pytest.approx(best)


def test_records_that_are_not_shortened_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin that must be refused: records four times as long as they may be."""
    stream = IncrementalRegression.calibrated(ZCDP(1), batches=1, **PUBLIC)
    alone, empty = (Dialogue(None, (np.array([[9.0, 9.0, 9.0]])[:rows],)) for rows in (1, 0))
    assert replay(stream, alone, empty) == []
    honest = incremental_module.into_ball
    monkeypatch.setattr(incremental_module, "into_ball", lambda *given: 4 * honest(*given))
    assert replay(stream, alone, empty) != []


def test_a_stream_ends_where_its_price_ends_and_answers_again_what_it_answered() -> None:
    stream = IncrementalRegression.calibrated(PureDP(1), batches=2, **PUBLIC)
    running = converse(stream, None, budget=Budget(epsilon=1, unit=EVENT))
    first = running.feed(batch(0))
    assert running.feed(batch(1), batch=0) is first
    with pytest.raises(HandleMisuse, match="at most 1"):
        running.feed(batch(1), batch=2)
    running.feed(batch(1), batch=1)
    with pytest.raises(HandleMisuse, match="ended"):
        running.feed(batch(2))
    assert running.fed == 2


def test_a_batch_that_failed_half_way_is_not_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = IncrementalRegression.calibrated(ZCDP(1), batches=4, **PUBLIC)

    def opened() -> Any:
        return converse(stream, None, budget=Budget(rho=1, unit=EVENT))

    elsewhere, stopped = opened(), opened()
    first = elsewhere.feed(batch(0))
    with pytest.raises(InvalidValue):
        elsewhere.feed("rows that are refused before the batch is begun")
    with ThreadPoolExecutor(1) as other, pytest.raises(HandleMisuse, match="thread"):
        other.submit(elsewhere.feed, batch(1)).result()
    with monkeypatch.context() as patched:
        patched.setattr(incremental_module, "solved", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            stopped.feed(batch(0))
    for running in (elsewhere, stopped):
        with pytest.raises(HandleMisuse, match="half-way"):
            running.feed(batch(1), batch=running.fed)
    assert elsewhere.feed(batch(1), batch=0) is first


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_parameters_are_refused_by_name() -> None:
    for bad in ({"batches": 0}, {"batches": 2**17}, {"target_upper": -4}, {"lower": [0, 2]}):
        with pytest.raises(InvalidParameter, match="upper" if "lower" in bad else next(iter(bad))):
            IncrementalRegression.calibrated(ZCDP(1), **({"batches": 2} | PUBLIC | bad))


def made(**more: Any) -> IncrementalLinearRegression:
    declared: dict[str, Any] = {"rho": 10**6, "bounds": (-1, 1), "target_bounds": (-4, 4), "batches": 3}
    return IncrementalLinearRegression(**(declared | more))


def test_all_batches_are_charged_once() -> None:
    pytest.importorskip("sklearn")
    budget, model = Budget(rho=10**6, unit=EVENT), made()
    for number in range(3):
        rows = batch(number)
        model.partial_fit(rows[:, :2], rows[:, 2], **({"budget": budget} if number == 0 else {}))
        assert budget.spent == model.privacy_.loss <= ZCDP(10**6)
        assert model.n_batches_seen_ == number + 1
    # Measured over 30 runs: off by at most 0.0006.
    assert model.coef_ == pytest.approx([1.5, -0.75], abs=0.05)
    assert model.intercept_ == pytest.approx(0.5, abs=0.05)
    assert model.score(rows[:, :2], rows[:, 2]) > 0.99
    assert model.privacy_.unit == str(EVENT)
    with pytest.raises(HandleMisuse, match="ended"):
        model.partial_fit(rows[:, :2], rows[:, 2])
    again = IncrementalLinearRegression.from_json(model.to_json())
    assert (again.predict(rows[:, :2]) == model.predict(rows[:, :2])).all()


def test_a_running_stream_is_not_copied_and_keeps_its_parameters() -> None:
    rows, model = batch(0), made()
    model.partial_fit(rows[:, :2], rows[:, 2])
    with pytest.raises(InvalidParameter, match="budget"):
        model.partial_fit(rows[:, :2], rows[:, 2], budget=Budget(rho=1, unit=EVENT))
    copied = copy.deepcopy(model)
    assert (copied.predict(rows[:, :2]) == model.predict(rows[:, :2])).all()
    with pytest.raises(HandleMisuse, match="copied"):
        copied.partial_fit(rows[:, :2], rows[:, 2])
    with pytest.raises(InvalidParameter, match="parameters"):
        model.set_params(rho=1).partial_fit(rows[:, :2], rows[:, 2])
    with pytest.raises(InvalidParameter, match="batches"):
        model.prepare(rows[:, :2], rows[:, 2])
    assert model.set_params(rho=2).fit(rows[:, :2], rows[:, 2]).n_batches_seen_ == 1
