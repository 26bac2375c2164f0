"""Noisy gradients: the right sum, steps that are counted, and what is refused before a charge."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.errors import HandleMisuse, InvalidParameter, InvalidValue, NoGuarantee
from dither.learn.deep import NoisyGradients
from dither.learn.deep.noisy_gradients import towards_zero
from dither.mechanisms.core.release import Budget, converse
from dither.privacy import ROW, ROW_REPLACED, ZCDP, ApproxDP, Loss, PureDP

LOSS = ApproxDP(1, "1e-5")


class _Quits:
    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # type: ignore[override]
        raise SystemExit("a private word")


def made(**changed: Any) -> NoisyGradients:
    public: dict[str, Any] = {"entries": 3, "steps": 4, "rate": 1}
    return NoisyGradients.calibrated(LOSS, **{**public, **changed})


def opened(sums: NoisyGradients, rows: Any) -> Any:
    return converse(sums, rows, budget=Budget(loss=LOSS, unit=sums.unit))


def test_a_sum_is_that_of_clipped_gradients_plus_noise() -> None:
    sums = made(clip=2)
    rows = np.tile([[3.0, 0.0, -4.0], [0.1, 0.2, 0.3]], (10_000, 1))
    found = opened(sums, rows).ask(towards_zero)
    # Ten deviations: false alarms below 1e-22. Seen: a clip off by one part in 1,000, or none.
    assert np.abs(found - 10_000 * np.array([1.3, 0.2, -1.3])).max() < 10 * sums.deviation + 10_000 * 2e-4


def test_nothing_but_noise_where_there_are_no_examples() -> None:
    sums = made()
    talk = opened(sums, np.zeros((0, 3)))
    found = [talk.ask(towards_zero) for _ in range(4)]
    assert 0 < np.abs(found).max() < 10 * sums.deviation
    assert talk.left == 0
    with pytest.raises(HandleMisuse, match="all 4 steps"):
        talk.ask(towards_zero)


def test_a_gradient_with_code_of_its_own_is_not_run() -> None:
    """Every example is in the sample: none may end the program, or show in an error, by what it is."""

    class Own(np.ndarray):
        @property
        def shape(self) -> Any:  # type: ignore[override]
            raise SystemExit("a private word")

    sums = made(entries=1, steps=1)
    rows = np.empty(3_000, dtype=object)
    rows[:] = ["quits", "own", "plain"] * 1_000
    given = {"quits": _Quits(), "own": np.array([1.0]).view(Own), "plain": np.array([1.0])}
    assert abs(opened(sums, rows).ask(given.__getitem__)[0] - 2_000) < 10 * sums.deviation


def test_examples_that_fail_add_nothing_and_are_not_reported() -> None:
    sums = made(entries=1, steps=1)
    rows = np.empty(8_000, dtype=object)
    rows[:] = [("odd", float(number)) for number in range(8_000)]

    def gradient(example: Any) -> Any:
        number = example[1]
        if number % 2:
            raise KeyError(example)
        return np.array([1.0]) if number % 4 else np.array(["text"])

    assert abs(opened(sums, rows).ask(gradient)[0] - 2_000) < 10 * sums.deviation


@pytest.mark.parametrize("within", [PureDP(1), ZCDP(1), ApproxDP(1, 0)])
def test_losses_that_samples_do_not_lessen_are_refused(within: Loss) -> None:
    with pytest.raises((InvalidParameter, NoGuarantee)):
        NoisyGradients.calibrated(within, entries=3, steps=4, rate="1/2")


@pytest.mark.parametrize(
    ("changed", "named"), [({"rate": "3/2"}, "rate"), ({"clip": 0}, "clip"), ({"entries": 0}, "entries")]
)
def test_bad_parameters_are_named(changed: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidParameter, match=named):
        made(**changed)


def test_data_of_another_form_and_questions_that_are_no_functions_are_refused() -> None:
    with pytest.raises(InvalidValue, match="data"):
        opened(made(), [[1.0, 2.0, 3.0]])
    talk = opened(made(), np.zeros((1, 3)))
    with pytest.raises(InvalidParameter, match="gradient_of"):
        talk.ask("towards_zero")
    assert talk.left == 4


@pytest.mark.parametrize("unit", [ROW, ROW_REPLACED])
def test_the_noise_is_little_more_than_the_price_asks(unit: Any) -> None:
    sums = made(unit=unit, steps=100, rate="1/20")
    lost = sums.loss(1)
    assert isinstance(lost, ApproxDP)
    assert Fraction(98, 100) < lost.epsilon <= 1


@pytest.mark.parametrize("epsilon", ["1/100", 20, 60])
def test_a_stated_loss_is_never_exceeded(epsilon: Any) -> None:
    stated = ApproxDP(epsilon, "1e-5")
    assert NoisyGradients.calibrated(stated, entries=2**20, steps=3, rate="1/3").loss(1) <= stated
