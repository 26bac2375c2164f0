"""Looking early keeps both levels: by the exact law of when one stops, for coverages that hold and that do not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from scipy.stats import binom

from dither.checks.law import coverage_is_refuted
from dither.testing.looks import MISS, covers, looks, noticed, told, trials_of

#: Large ones: what is computed is exact, and a chance of 1e-9 would be lost among roundings.
ALARM, MOST = 1e-3, 400


def ends(true: float, confidence: float, wrong: float) -> dict[tuple[bool, int], float]:
    """Return the chance of each verdict at each look, where trials cover with a probability: sums are convolved."""
    alive, before, found = {0: 1.0}, 0, dict[tuple[bool, int], float]()
    for after, share in looks(MOST):
        reached: dict[int, float] = {}
        chances = binom.pmf(range(after - before + 1), after - before, true).tolist()
        for (covered, mass), (more, chance) in itertools.product(alive.items(), enumerate(chances)):
            reached[covered + more] = reached.get(covered + more, 0.0) + mass * chance
        alive, before = {}, after
        for covered, mass in reached.items():
            known = told(covered, after, confidence, wrong, share * ALARM, share * MISS if after < MOST else 1.0)
            if known is None:
                alive[covered] = mass
            else:
                found[known, after] = found.get((known, after), 0.0) + mass
    assert sum(found.values()) == pytest.approx(1)
    return found


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95])
def test_what_is_right_is_refused_no_more_often_than_said(confidence: float) -> None:
    found = ends(confidence, confidence, noticed(confidence, MOST, ALARM))
    refused = sum(chance for (verdict, _), chance in found.items() if not verdict)
    assert ALARM / 20 < refused <= ALARM


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95])
def test_what_is_wrong_hardly_passes_early_and_is_refused_nearly_as_often_as_in_one_look(confidence: float) -> None:
    wrong = noticed(confidence, MOST, ALARM)
    found = ends(wrong, confidence, wrong)
    assert sum(chance for (verdict, after), chance in found.items() if verdict and after < MOST) <= MISS
    alone = sum(
        float(binom.pmf(covered, MOST, wrong))
        for covered in range(MOST + 1)
        if coverage_is_refuted(covered, MOST, confidence, ALARM)
    )
    assert sum(chance for (verdict, _), chance in found.items() if not verdict) > alone - 0.1


def test_what_covers_always_is_known_early_and_what_covers_as_it_says_is_followed_to_the_end() -> None:
    wrong = noticed(0.9, MOST, ALARM)
    assert sum(after * chance for (_, after), chance in ends(1.0, 0.9, wrong).items()) < 300
    assert sum(after * chance for (_, after), chance in ends(0.9, 0.9, wrong).items()) > 350


def counted(every: int, made: list[int]) -> Iterator[bool]:
    for number in range(MOST):
        made.append(number)
        yield number % every != 0


def test_no_more_trials_are_made_than_are_needed() -> None:
    for every, verdict, fewer in ((MOST + 1, True, 200), (2, False, 72), (10, True, MOST)):
        made: list[int] = []
        assert covers(counted(every, made), 0.9, most=MOST, false_alarm=1e-9) is verdict
        assert len(made) <= fewer


def test_too_few_trials_prove_nothing() -> None:
    with pytest.raises(ValueError, match="40 trials were made, and 48 were requested"):
        covers(itertools.repeat(True, 40), 0.9, most=100, false_alarm=1e-9, catches=0.8)


def test_lots_are_made_when_they_are_needed() -> None:
    lots: list[int] = []

    def made(count: int) -> list[bool]:
        lots.append(count)
        return [True] * count

    assert covers(trials_of(made, 50), 0.95, most=1500, false_alarm=1e-9, catches=0.8)
    assert len(lots) <= 8
