"""Laws followed draw by draw: right where they are known, and a price that is not reached by any example is refuted."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.checks import ContractViolation, attained
from dither.checks.attained import check_attained
from dither.mechanisms import Example, Exponential, Geometric, NumericSparse, TopK, find
from dither.mechanisms.core.candidates import Choice
from dither.noise import Noise
from dither.privacy import Loss, PureDP
from dither.testing.draw_laws import NotFollowed, law_of
from dither.testing.kinds import kinds


def _first(name: str) -> Example:
    return next(iter(find(name).examples()))


def test_rare_outcomes_have_their_chance() -> None:
    law = law_of(lambda noise: TopK(candidates=3, chosen=2, scale=1).draw(np.array([90, 0, 0]), noise))
    assert law.missed == 0
    assert law.logs[(1, 2)] == pytest.approx(-90 - 90 - math.log1p(2 * math.exp(-90)))
    assert math.fsum(map(math.exp, law.logs.values())) == pytest.approx(1)


def test_what_is_missed_is_known() -> None:
    law = law_of(lambda noise: tuple(noise.discrete_laplace(1, 2)))
    assert 0 < law.missed < 0.05
    assert math.fsum(map(math.exp, law.logs.values())) + law.missed == pytest.approx(1)
    decay = math.exp(-1)
    assert law.logs[(0, 1)] == pytest.approx(2 * math.log((1 - decay) / (1 + decay)) - 1)


def test_laws_without_a_rule_are_not_followed() -> None:
    with pytest.raises(NotFollowed, match="discrete_gaussian"):
        law_of(lambda noise: noise.discrete_gaussian(1, 1)[0])
    with pytest.raises(NotFollowed, match="more than 3 runs"):
        law_of(lambda noise: noise.uniform_below(8, 1)[0], most=3)


def test_places_that_are_not_charged_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def two_at_most(self: TopK, d_in: object = 1) -> Loss:
        return PureDP(self.epsilon_of_one(d_in)).times(min(self.chosen, self.candidates - 1, 2))  # type: ignore[arg-type]

    check_attained(_first("top-k"))
    monkeypatch.setattr(TopK, "loss", two_at_most)
    with pytest.raises(ContractViolation, match="neighbours lose epsilon"):
        check_attained(_first("top-k"))


def test_an_error_of_scores_that_is_not_charged_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    example = Example(Exponential(candidates=2, scale=1, grid=1, score_error="1/2"), np.zeros(2))
    one_way = Example(Exponential(candidates=2, scale=1, grid=1, score_error="1/2", one_way=True), np.zeros(2))
    check_attained(example)
    check_attained(one_way)

    def without_error(self: Choice, d_in: Fraction) -> Fraction:
        return Fraction(d_in) if self.one_way else 2 * Fraction(d_in)

    monkeypatch.setattr(Choice, "spread", without_error)
    for one in (example, one_way):
        with pytest.raises(ContractViolation, match="neighbours lose epsilon"):
            check_attained(one)


def test_readings_that_are_not_charged_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_reading(self: NumericSparse, d_in: int = 1) -> Loss:
        compared = self.comparison.loss(d_in).pure
        assert compared is not None
        return PureDP(compared + d_in / self.value_scale)

    attained.follow_scripts.cache_clear()
    monkeypatch.setattr(NumericSparse, "loss", first_reading)
    with pytest.raises(ContractViolation, match="neighbours lose epsilon"):
        check_attained(_first("numeric-sparse"))


def test_a_sharper_draw_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(self: Noise, scores: object, rate: object, size: int) -> object:
        return select(self, scores, 2 * Fraction(str(rate)), size)  # type: ignore[arg-type]

    from dither.testing import draw_laws

    select = draw_laws._Followed.select
    check_attained(_first("median-cuts"))
    monkeypatch.setattr(draw_laws._Followed, "select", twice)
    with pytest.raises(ContractViolation, match="neighbours lose epsilon"):
        check_attained(_first("median-cuts"))


def test_counts_are_tried_beyond_both_ends() -> None:
    example = _first("structure-first")
    starts = [here for _, (here, _, _) in kinds(example.mechanism, example.data)]
    assert any((start < -50).any() for start in starts)
    assert any((start > 50).any() for start in starts)
    # Also both in one table.
    assert any((start < -50).any() and (start > 50).any() for start in starts)


def test_noise_that_is_added_is_followed() -> None:
    check_attained(Example(Geometric(scale=1), 0))
