"""Amplification by sampling, against tables small enough to list every sample of."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dither.errors import IncompatibleDistance, InvalidParameter
from dither.privacy import ZCDP, ApproxDP, PureDP, Relation
from dither.privacy.accountants import poisson_sampled, sampled_with_replacement, sampled_without_replacement

ADD, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE
Law = NDArray[np.float64]
Sampler = Callable[[tuple[int, ...]], Iterable[tuple[float, tuple[int, ...]]]]
RATE = 0.4


def poisson(table: tuple[int, ...]) -> Iterable[tuple[float, tuple[int, ...]]]:
    for kept in itertools.product((0, 1), repeat=len(table)):
        weight = math.prod(RATE if keep else 1 - RATE for keep in kept)
        yield weight, tuple(itertools.compress(table, kept))


def without(table: tuple[int, ...]) -> Iterable[tuple[float, tuple[int, ...]]]:
    samples = list(itertools.combinations(table, 2))
    return ((1 / len(samples), sample) for sample in samples)


def with_replacement(table: tuple[int, ...]) -> Iterable[tuple[float, tuple[int, ...]]]:
    return ((len(table) ** -3.0, sample) for sample in itertools.product(table, repeat=3))


def released(table: tuple[int, ...], sampler: Sampler, epsilon: float, leak: float) -> Law:
    """A noisy count of ones, and with probability ``leak`` the count itself: (epsilon, leak) for one row added."""
    points = np.arange(-80, 90)
    law = np.zeros(2 * len(points))
    for weight, sample in sampler(table):
        noisy = np.exp(-epsilon * np.abs(points - sum(sample))) * math.tanh(epsilon / 2)
        law[: len(points)] += weight * (1 - leak) * noisy
        law[len(points) :] += weight * leak * (points == sum(sample))
    return law


def excess(p: Law, q: Law, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("leak", [0.0, 0.01])
@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_every_bound_holds_for_every_table_of_bits(epsilon: float, leak: float) -> None:
    base = ApproxDP(epsilon, leak)
    added = poisson_sampled(base, rate=RATE, relation=ADD)
    for rest in itertools.product((0, 1), repeat=3):
        with_it, without_it = (released(table, poisson, epsilon, leak) for table in ((*rest, 1), rest))
        for p, q in ((with_it, without_it), (without_it, with_it)):
            assert excess(p, q, float(added.epsilon)) <= float(added.delta) + 1e-12
    few = sampled_without_replacement(base, drawn=2, size=4, relation=REPLACE)
    again = sampled_with_replacement(base, drawn=3, size=4, copies=2, relation=REPLACE)
    for rest in itertools.product((0, 1), repeat=3):
        for sampler, bound in ((without, few), (with_replacement, again)):
            p, q = (released((*rest, bit), sampler, epsilon, leak) for bit in (0, 1))
            for a, b in ((p, q), (q, p)):
                assert excess(a, b, float(bound.epsilon)) <= float(bound.delta) + 1e-12


def test_poisson_is_reached_by_an_empty_table() -> None:
    bound = poisson_sampled(PureDP(1), rate=RATE, relation=ADD)
    p, q = released((1,), poisson, 1.0, 0.0), released((), poisson, 1.0, 0.0)
    assert float(bound.epsilon) == pytest.approx(math.log(float(np.max(p[20:120] / q[20:120]))), rel=1e-9)


def test_the_formulae() -> None:
    loss = poisson_sampled(ApproxDP(1, "1e-5"), rate="0.01", relation=ADD)
    assert float(loss.epsilon) == pytest.approx(math.log1p(0.01 * math.expm1(1)), rel=1e-12)
    assert loss.delta == Fraction(1, 10**7)
    same = sampled_without_replacement(ApproxDP(1, "1e-5"), drawn=1, size=100, relation=REPLACE)
    assert (same.epsilon, same.delta) == (loss.epsilon, loss.delta)
    assert isinstance(poisson_sampled(PureDP(1), rate="0.5", relation=ADD), PureDP)
    assert poisson_sampled(PureDP(1), rate=1, relation=ADD).epsilon == 1


def test_copies_are_counted_binomially() -> None:
    """With a mechanism that hides up to two copies and nothing more, delta is the chance of three copies or more."""
    drawn, size, epsilon = 50, 200, 300
    bound = sampled_with_replacement(PureDP(epsilon), drawn=drawn, size=size, copies=2, relation=REPLACE)
    tail = sum(math.comb(drawn, k) * (size - 1) ** (drawn - k) for k in range(3, drawn + 1)) / Fraction(size) ** drawn
    assert float(bound.delta) == pytest.approx(float(tail), rel=1e-9)
    caught = 1 - (1 - 1 / size) ** drawn
    assert float(bound.epsilon) == pytest.approx(2 * epsilon + math.log(caught), rel=1e-9)


def test_more_copies_trade_epsilon_for_delta() -> None:
    bounds = [
        sampled_with_replacement(ApproxDP("0.1", "1e-9"), drawn=100, size=1000, copies=n, relation=REPLACE)
        for n in (1, 2, 4, 8)
    ]
    assert sorted(bounds, key=lambda bound: bound.epsilon) == bounds
    assert sorted(bounds, key=lambda bound: -bound.delta) == bounds


@pytest.mark.parametrize("relation", [REPLACE, Relation.METRIC, None, "add"])
def test_poisson_wants_units_added(relation: Any) -> None:
    with pytest.raises(IncompatibleDistance):
        poisson_sampled(PureDP(1), rate="0.1", relation=relation)


@pytest.mark.parametrize("relation", [ADD, Relation.METRIC, None])
def test_fixed_sizes_want_units_replaced(relation: Any) -> None:
    with pytest.raises(IncompatibleDistance):
        sampled_without_replacement(PureDP(1), drawn=1, size=2, relation=relation)
    with pytest.raises(IncompatibleDistance):
        sampled_with_replacement(PureDP(1), drawn=1, size=2, copies=1, relation=relation)


def test_odd_parameters() -> None:
    for rate in (0, 2, math.nan):
        with pytest.raises(InvalidParameter, match="rate"):
            poisson_sampled(PureDP(1), rate=rate, relation=ADD)
    with pytest.raises(InvalidParameter, match="drawn"):
        sampled_without_replacement(PureDP(1), drawn=3, size=2, relation=REPLACE)
    with pytest.raises(InvalidParameter, match="copies"):
        sampled_with_replacement(PureDP(1), drawn=3, size=2, copies=4, relation=REPLACE)
    for loss in (ZCDP(1), None):
        with pytest.raises(InvalidParameter, match="loss"):
            poisson_sampled(loss, rate="0.1", relation=ADD)  # type: ignore[arg-type]
    # Nearly everything is drawn nearly always, and leaks when it is.
    with pytest.raises(InvalidParameter, match="copies"):
        sampled_with_replacement(ApproxDP(1, "0.9"), drawn=100, size=2, copies=1, relation=REPLACE)


def test_samples_are_listed_completely() -> None:
    """The twins above are laws: their weights add up to one."""
    for sampler in (poisson, without, with_replacement):
        assert sum(weight for weight, _ in sampler((0, 1, 1, 0))) == pytest.approx(1)
    assert Counter(len(sample) for _, sample in without((1, 2, 3)))[2] == 3
