"""The pairs are neighbours, there are enough of them, and the noise drawn ahead is the noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

from dither.audit import audit, pairs_of, sampler_of
from dither.audit.features import last_digit
from dither.audit.samplers import BlockNoise
from dither.mechanisms import (
    AboveThreshold,
    Composed,
    Example,
    Geometric,
    Interactive,
    Numerics,
    Primitive,
    RandomisedResponse,
    Runner,
    find,
    registered,
)
from dither.mechanisms.ladder import LadderPairs
from dither.mechanisms.noisy_local import LocalTriples
from dither.privacy import ROW, Distance, Metric, Plan, Use
from dither.testing import SeededEntropy


@pytest.mark.parametrize("name", sorted(registered()))
def test_pairs_are_neighbours(name: str) -> None:
    for example in find(name).examples():
        are_neighbours(example)


def are_neighbours(example: Example) -> None:
    mechanism, pairs = example.mechanism, pairs_of(example)
    assert pairs
    assert len({pair.label for pair in pairs}) == len(pairs)
    if isinstance(mechanism.distance, Metric):
        slack = mechanism.slack if isinstance(mechanism, Primitive) else 0
        # A conversation is about a table: how far apart the tables are is measured.
        tables = [
            (getattr(pair.value, "data", pair.value), getattr(pair.neighbour, "data", pair.neighbour)) for pair in pairs
        ]
        is_talk = isinstance(mechanism, Interactive)
        measured = tables if is_talk else [(pair.value, pair.neighbour) for pair in pairs]
        apart = [mechanism.distance.measure(here, there) for here, there in measured]
        assert all(found is not None and found <= pair.d_in + slack for found, pair in zip(apart, pairs, strict=True))
        # Not merely near: most of them use the whole distance, up to the rounding of floats.
        whole = [found > (pair.d_in + slack) * (1 - 1e-9) for found, pair in zip(apart, pairs, strict=True)]
        # Widths of a ladder and bounds of a value are cut to a range: beyond it, a change of them is none.
        others = [found for found in apart if found or not isinstance(mechanism.distance, LadderPairs | LocalTriples)]
        assert sum(whole) >= max(len(others) / 2, 8 if len(others) < len(apart) else 0)


def test_numbers_come_with_many_pairs() -> None:
    assert len(pairs_of(Example(Geometric(scale=1, shape=3), np.array([1, 2, 3])))) >= 20
    assert len(pairs_of(Example(RandomisedResponse(epsilon=1, categories=9), 0))) >= 20


@dataclass(frozen=True, kw_only=True)
class NoisyCount(Composed[list[int], int]):
    """How many rows there are, and a draw for good measure."""

    name: ClassVar[str] = "noisy-count"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    part: ClassVar[Geometric] = Geometric(scale=1)

    @property
    def distance(self) -> Distance:
        return ROW

    def plan(self) -> Plan:
        return Use(self.part)

    def release(self, data: list[int], run: Runner) -> int:
        return run(self.part, len(data))


@pytest.mark.statistical(n=20_000, false_alarm=1e-9, catches="a composed mechanism that is not run at all")
def test_composed_mechanisms_are_run_on_neighbouring_rows() -> None:
    pairs = pairs_of(Example(NoisyCount(), [1, 2, 3]))
    assert all(abs(len(pair.value) - len(pair.neighbour)) == 1 for pair in pairs)
    verdict = audit(NoisyCount(), pairs[0].value, pairs[0].neighbour, samples=20_000, false_alarm=1e-9)
    assert not verdict.is_refuted
    assert verdict.tightness > 0.7


def test_given_neighbours_come_first() -> None:
    pairs = pairs_of(Example(Geometric(scale=1), 0, neighbours=((3, 5, 2),)))
    assert (pairs[0].value, pairs[0].neighbour, pairs[0].d_in) == (3, 5, 2)


def test_one_way_scripts_move_one_way() -> None:
    mechanism = AboveThreshold(threshold=3, threshold_scale=2, query_scale=6, one_way=True)
    for pair in pairs_of(Example(mechanism, [1, 2])):
        changes = np.array(pair.neighbour) - np.array(pair.value)
        assert set(changes.tolist()) <= {0, 1}


def test_conversations_end_where_they_end() -> None:
    answers = sampler_of(AboveThreshold(threshold=0, threshold_scale=1, query_scale=1))([50, 50], 20)
    assert answers.tolist() == [[1, 2]] * 20


@pytest.mark.parametrize(
    "draw",
    [
        lambda noise, size: noise.discrete_laplace(3, size),
        lambda noise, size: noise.discrete_gaussian(2, size),
        lambda noise, size: noise.geometric("7/2", size),
        lambda noise, size: noise.bernoulli("1/3", size),
        lambda noise, size: noise.select(np.array([1, 2, 3]), 1, size),
    ],
)
def test_noise_drawn_ahead_is_the_same_noise(draw: Any) -> None:
    """One by one, across the end of a block, every draw is the next one of blocks of 4096: none twice, none lost."""
    ahead = BlockNoise(SeededEntropy(5))
    singly = np.concatenate([draw(ahead, 1) for _ in range(2 * 4096)])
    in_blocks = BlockNoise(SeededEntropy(5))
    assert singly.tolist() == [*draw(in_blocks, 4096).tolist(), *draw(in_blocks, 4096).tolist()]


def test_last_digits() -> None:
    numbers = np.array([1.0, 0.75, -6.0, 5e-324, 2.0**1023, np.inf, np.nan, 0.0, 1 + 2.0**-52])
    assert last_digit(numbers).tolist() == [0, -2, 1, -1074, 1023, 3000, 3000, 2000, -52]


def test_a_pair_that_is_given_stays_first_when_it_is_also_made() -> None:
    example = next(iter(find("threshold-descent").examples()))
    made = pairs_of(replace(example, neighbours=()))
    wanted = made[-1]
    listed = pairs_of(replace(example, neighbours=((wanted.value, wanted.neighbour, 1),)))
    assert listed[0].label == "given pair 0"
    assert len(listed) == len(made)
