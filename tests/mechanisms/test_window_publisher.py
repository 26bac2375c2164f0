"""w-event publication: the budget of every window, when a table is published, and the baselines beside it."""

from __future__ import annotations

import json
from collections import deque
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import InvalidParameter, PlanViolation
from dither.mechanisms import WindowPublisher
from dither.noise import system_noise
from dither.privacy import PureDP, w_event

SCHEMES = ["absorption", "distribution", "uniform", "sample"]


@given(
    scheme=st.sampled_from(SCHEMES),
    window=st.integers(1, 9),
    wishes=st.lists(st.booleans(), min_size=1, max_size=60),
)
def test_no_window_takes_more_than_its_budget(scheme: str, window: int, wishes: list[bool]) -> None:
    """Whatever is published when: the offers of a whole stream, added up over every window in rationals."""
    publisher = WindowPublisher(epsilon=3, window=window, scheme=scheme)
    state, spent = publisher.begin(system_noise()), []
    for wish in wishes:
        offered = publisher.offer(state)
        assert offered >= 0
        taken = offered if wish or not publisher.is_adaptive else 0
        if taken:
            state.published, state.taken = state.tick, taken
        spent.append(taken * publisher.unit)
        state.spent.append(taken)
        if len(state.spent) >= window:
            state.spent.popleft()
        state.tick += 1
    # A test at every tick costs what its noise says.
    tested = 1 / publisher.test_scale if publisher.is_adaptive else Fraction(0)
    for start in range(len(spent)):
        inside = spent[start : start + window]
        assert sum(inside) + tested * len(inside) <= 3


def test_the_schemes_are_those_of_their_source() -> None:
    """Distribution halves what is left; absorption gathers units of silent ticks, and pays for them with silence."""
    halving = WindowPublisher(epsilon=1, window=5, scheme="distribution")
    state, offers = halving.begin(system_noise()), []
    for _ in range(7):
        offers.append(halving.offer(state))
        state.spent.append(offers[-1])
        if len(state.spent) >= 5:
            state.spent.popleft()
    assert [offer / halving.units for offer in offers[:5]] == [1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32]
    assert offers[5] / halving.units == pytest.approx(0.5 * (1 / 2 + 1 / 32))
    absorbing = WindowPublisher(epsilon=1, window=4, scheme="absorption")
    state = absorbing.begin(system_noise())
    offers = []
    for tick in range(12):
        state.tick = tick
        offers.append(absorbing.offer(state))
        if tick == 2:
            state.published, state.taken = tick, offers[-1]
    assert offers == [1, 2, 3, 0, 0, 1, 2, 3, 4, 4, 4, 4]


def answers(publisher: WindowPublisher, values: Any) -> np.ndarray[Any, Any]:
    state = publisher.begin(system_noise())
    return np.array([publisher.reply(state, value, system_noise())[0] for value in values])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_tables_are_published_where_they_have_moved(scheme: str) -> None:
    """With next to no noise a table that stands still is right, and a jump is followed."""
    publisher = WindowPublisher(epsilon=2**19, window=3, scheme=scheme, shape=2)
    values = np.array([[5, 0]] * 6 + [[900, 40]] * 6)
    found = answers(publisher, values)
    assert found[5].tolist() == [5, 0]
    assert found[11].tolist() == [900, 40]
    if scheme == "sample":
        assert found[7].tolist() == [900, 40]
        assert answers(publisher, values[1:])[6].tolist() == [900, 40]
    if scheme == "uniform":
        assert found.tolist() == values.tolist()


def test_absorption_errs_less_than_the_uniform_split_on_a_slow_stream() -> None:
    """600 tables of 10 counts that drift slowly: by a factor of two at least, which no chance undoes."""
    values = np.repeat((1000 + 300 * np.sin(np.arange(600) / 200)).astype(int)[:, None], 10, axis=1)
    errors = {
        scheme: float(
            np.abs(answers(WindowPublisher(epsilon=1, window=40, scheme=scheme, shape=10), values) - values).mean()
        )
        for scheme in SCHEMES
    }
    assert errors["uniform"] == pytest.approx(40, rel=0.2)
    assert errors["absorption"] < 0.75 * errors["uniform"]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_frozen_state_is_public_and_goes_on(scheme: str) -> None:
    publisher = WindowPublisher(epsilon=2**19, window=3, scheme=scheme)
    state = publisher.begin(system_noise())
    for value in (5, 5, 9, 9, 30):
        publisher.reply(state, value, system_noise())
    again = publisher.thaw(json.loads(json.dumps(publisher.freeze(state))))
    assert publisher.freeze(again) == publisher.freeze(state)
    for value in (30, 31, 90):
        assert publisher.reply(again, value, system_noise()) == publisher.reply(state, value, system_noise())
    for odd in ({}, {**publisher.freeze(state), "spent": [-1]}, {**publisher.freeze(state), "last": [1, 2]}):
        with pytest.raises(InvalidParameter, match="frozen"):
            publisher.thaw(odd)


def test_a_window_that_would_take_too_much_is_refused_before_a_draw() -> None:
    publisher = WindowPublisher(epsilon=1, window=3, scheme="uniform")
    state = publisher.begin(system_noise())
    state.spent = deque([2, 1])
    with pytest.raises(PlanViolation):
        publisher.reply(state, 1, system_noise())


def test_unit_price_and_refusals() -> None:
    publisher = WindowPublisher(epsilon=1, window=24)
    assert publisher.distance == w_event(24)
    assert publisher.distance.is_relaxed
    assert publisher.loss(2) == PureDP(2)
    for words in ({"epsilon": 0}, {"window": 0}, {"scheme": "other"}, {"share": 0}, {"epsilon": 2**30}):
        with pytest.raises(InvalidParameter) as caught:
            WindowPublisher(**{"epsilon": 1, "window": 3, **words})  # type: ignore[arg-type]
        assert caught.value.parameter == next(iter(words))
