"""The choice among candidates that nobody lists: its exact law against the exponential mechanism over all of them."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import permutations

import numpy as np
import pytest

from dither.checks.law import check_law_by_branching
from dither.checks.violation import ContractViolation
from dither.errors import InvalidParameter
from dither.mechanisms.floored_choice import Floored, FlooredTopK, _unlisted
from dither.noise import system_noise
from dither.privacy import PureDP
from dither.testing.branching import branch_outcomes


def law(scores: list[int], chosen: int, scale: float) -> dict[tuple[int, ...], float]:
    """Return the probability of every ordered choice, each score listed."""
    found = {}
    for order in permutations(range(len(scores)), chosen):
        chance, left = 1.0, dict(enumerate(scores))
        for candidate in order:
            total = sum(math.exp(score / scale) for score in left.values())
            chance *= math.exp(left.pop(candidate) / scale) / total
        found[order] = chance
    return found


GIVEN, LISTED = Floored(1, {2: 4, 0: 2, 3: -7, 9: 50}), [2, 1, 4, 1]


def test_the_law_is_that_of_the_full_list() -> None:
    """Both sides of every coin are followed, so each probability is bracketed, not estimated."""
    part = FlooredTopK(candidates=4, chosen=1, scale=2)
    seen = branch_outcomes(lambda noise: tuple(part.draw(GIVEN, noise).tolist()), runs=2000)
    truth = law(LISTED, 1, 2)
    assert seen.undecided < Fraction(1, 10)
    for outcome, chance in truth.items():
        low = float(seen.mass.get(outcome, Fraction(0)))
        assert low <= chance * (1 + 1e-9) <= low + float(seen.undecided) + 1e-9
    assert set(seen.mass) <= set(truth)
    # Without the factor for its members the block at the floor would be chosen too seldom by far.
    single = math.exp(0.5) / (math.exp(1) + math.exp(0.5) + math.exp(2))
    assert sum(float(seen.mass[outcome]) for outcome in ((1,), (3,))) > single * 1.3


@pytest.mark.statistical(n=2000, false_alarm=1e-10, catches="a second choice that forgets who is gone from the floor")
def test_the_law_of_two_choices() -> None:
    """By Hoeffding, each of twelve shares of 2000 draws is off by 0.082 with probability below 1e-10 / 12."""
    drawn = FlooredTopK(candidates=4, chosen=2, scale=2).draw_many(GIVEN, 2000, system_noise())
    seen = Counter(map(tuple, drawn.tolist()))
    truth = law(LISTED, 2, 2)
    assert set(seen) <= set(truth)
    assert max(abs(seen[outcome] / 2000 - chance) for outcome, chance in truth.items()) < 0.082


def test_neighbours_keep_the_promised_ratio_and_a_smaller_one_is_refuted() -> None:
    part = FlooredTopK(candidates=3, chosen=1, scale=1)
    here, there = Floored(0, {0: 1, 1: 0}), Floored(0, {0: 2, 1: 0})
    draws = [partial(lambda value, noise: tuple(part.draw(value, noise).tolist()), value) for value in (here, there)]
    check_law_by_branching(*draws, part.loss(1), runs=200)
    with pytest.raises(ContractViolation):
        check_law_by_branching(*draws, PureDP("0.2"), runs=200)


def test_all_candidates_may_be_listed_and_all_chosen() -> None:
    part = FlooredTopK(candidates=3, chosen=3, scale="1/1000")
    assert part.draw(Floored(0, {0: 5, 1: 9, 2: 7}), system_noise()).tolist() == [1, 2, 0]
    assert part.loss(1).pure == 2000
    assert sorted(part.draw(Floored(0, {}), system_noise()).tolist()) == [0, 1, 2]


def test_candidates_beyond_any_integer_type() -> None:
    drawn = FlooredTopK(candidates=2**500, chosen=3, scale=1).draw(Floored(0, {2**499: 10**6}), system_noise())
    assert drawn[0] == 2**499
    assert len(set(drawn.tolist())) == 3
    assert all(0 <= number < 2**500 for number in drawn.tolist())


def test_the_distance_sees_the_floor_and_every_listed_candidate() -> None:
    part = FlooredTopK(candidates=9, chosen=1, scale=1)
    measure, admit = part.distance.measure, part.domain.admit
    assert measure(admit(Floored(2, {0: 5})), admit(Floored(3, {0: 6, 1: 4}))) == 2
    assert measure(admit(Floored(2, {0: 5})), admit(Floored(2, {}))) == 3
    assert measure(admit(Floored(2, {0: 5})), admit(Floored(3, {0: 4}))) is None
    assert measure(admit(Floored(2, {0: 1})), admit(Floored(2, {}))) == 0


def test_the_place_of_an_unlisted_candidate() -> None:
    for listed in ([], [0], [1, 2, 5], [0, 1, 2, 3], [7]):
        assert [_unlisted(rank, listed) for rank in range(8 - len(listed))] == [
            candidate for candidate in range(8) if candidate not in listed
        ]


@pytest.mark.parametrize("value", [None, {}, (0, {}), np.array([1])], ids=["none", "dictionary", "tuple", "array"])
def test_wrong_types_are_refused(value: object) -> None:
    with pytest.raises(InvalidParameter, match="value"):
        FlooredTopK(candidates=3, chosen=1, scale=1).draw(value, system_noise())
    with pytest.raises(InvalidParameter, match="chosen"):
        FlooredTopK(candidates=3, chosen=4, scale=1)
