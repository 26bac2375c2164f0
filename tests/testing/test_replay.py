"""Grey-box replay: clean on sound compositions of every kind, and exact about where a leak is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from dither.audit import audit
from dither.exact import sqrt_up
from dither.mechanisms import (
    AboveThreshold,
    Composed,
    Dialogue,
    DiscreteGaussian,
    Exponential,
    Geometric,
    Interactive,
    Numerics,
)
from dither.mechanisms.core.runner import Runner
from dither.noise import system_noise
from dither.privacy import (
    EVENT,
    ROW,
    ROW_REPLACED,
    Best,
    InOrder,
    Parallel,
    Plan,
    PureDP,
    Repeat,
    Repeats,
    Sampled,
    Unit,
    Use,
    Within,
)
from dither.testing import record, replay
from dither.testing.replay import RecordingRunner, Tape, replayed

ROWS = np.array([0, 1, 2, 2, 1, 0, 2, 2, 1])
PAIRS = [(ROWS, ROWS[1:]), (ROWS, np.append(ROWS, 2)), (ROWS, np.append(ROWS, 10**6)), (ROWS[:0], ROWS[:1])]


@dataclass(frozen=True, kw_only=True)
class Base(Composed[Any, Any]):
    """A composed mechanism for tests."""

    name: ClassVar[str] = "test-replay"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    count: ClassVar[Geometric] = Geometric(scale=2)

    @property
    def distance(self) -> Unit:
        return ROW

    def plan(self) -> Plan:
        return Use(self.count)

    def release(self, data: Any, run: Runner) -> Any:
        return run(self.count, len(data))


@dataclass(frozen=True, kw_only=True)
class ByValue(Base):
    """Counts each of three public values, in parallel."""

    def plan(self) -> Plan:
        return Parallel(Use(self.count), siblings=3, touched=1)

    def release(self, data: Any, run: Runner) -> Any:
        return [sub(self.count, int((data == value).sum())) for value, sub in enumerate(run.parallel(3))]


@dataclass(frozen=True, kw_only=True)
class OnASample(Base):
    """Counts a secret sample."""

    def plan(self) -> Plan:
        return Sampled(Use(self.count), "1/2")

    def release(self, data: Any, run: Runner) -> Any:
        sample, sub = run.sampled(data, "1/2")
        return sub(self.count, len(sample))


@dataclass(frozen=True, kw_only=True)
class Nested(Base):
    """Uses two other composed mechanisms, one of them on data that moves twice as fast."""

    def plan(self) -> Plan:
        return InOrder.of(Use(ByValue()), Use(Base(), 2))

    def release(self, data: Any, run: Runner) -> Any:
        return run(ByValue(), data), run(Base(), np.repeat(data, 2), stability=2)


@dataclass(frozen=True, kw_only=True)
class Watches(Base):
    """Asks which of three counts is large, then chooses freely within a budget."""

    watch: ClassVar[AboveThreshold] = AboveThreshold(threshold=2, threshold_scale=2, query_scale=4, one_way=True)
    choose: ClassVar[Exponential] = Exponential(candidates=3, scale=8)

    def plan(self) -> Plan:
        return InOrder.of(Use(self.watch), Within(PureDP(2), (Exponential, Geometric)))

    def release(self, data: Any, run: Runner) -> Any:
        counts = np.bincount(np.clip(data, 0, 2), minlength=3)
        handle = run.open(self.watch)
        first = next((value for value in range(3) if not handle.is_over and handle.ask(int(counts[value]))), None)
        free = run.within()
        favourite = free(self.choose, counts)
        return first, favourite, free(self.count, int(counts[favourite]))


@dataclass(frozen=True, kw_only=True)
class Scored(Base):
    """A score and a result."""

    def release(self, data: Any, run: Runner) -> Any:
        noisy = run(self.count, len(data))
        return noisy, ("result", noisy)


@dataclass(frozen=True, kw_only=True)
class BestOfSeveral(Base):
    """The best of a random number of runs."""

    repeats: ClassVar[Repeats] = Repeats("1/3", 1)

    def plan(self) -> Plan:
        return Best(Use(Scored()), self.repeats)

    def release(self, data: Any, run: Runner) -> Any:
        return run.best(Scored(), data, self.repeats)


SOUND = (Base, ByValue, OnASample, Nested, Watches, BestOfSeveral)


@pytest.mark.parametrize("kind", SOUND, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("pair", PAIRS, ids=("removed", "added", "added far", "from nothing"))
def test_a_sound_composition_is_clean(kind: type[Base], pair: tuple[Any, Any]) -> None:
    for here, there in (pair, pair[::-1]):
        assert replay(kind(), here, there) == []


@pytest.mark.parametrize("kind", SOUND, ids=lambda kind: kind.__name__)
def test_the_plan_is_walked_to_its_end(kind: type[Base]) -> None:
    _, tape, is_finished = record(kind(), ROWS)
    assert is_finished
    assert tape.events


@dataclass(frozen=True, kw_only=True)
class LooksAside(ByValue):
    """Leaves a sibling out when it is empty."""

    def release(self, data: Any, run: Runner) -> Any:
        runners = run.parallel(3)
        return [sub(self.count, int((data == v).sum())) for v, sub in enumerate(runners) if (data == v).any()]


@dataclass(frozen=True, kw_only=True)
class AsksTooMuch(Watches):
    """Multiplies what it asks about, and declares nothing of it."""

    def release(self, data: Any, run: Runner) -> Any:
        handle = run.open(self.watch)
        return handle.ask(2 * len(data))


@dataclass(frozen=True, kw_only=True)
class PeeksAtTheSample(OnASample):
    """Releases the size of the sample."""

    def release(self, data: Any, run: Runner) -> Any:
        sample, sub = run.sampled(data, "1/2")
        return sub(self.count, len(sample)), len(data)


@pytest.mark.parametrize(
    ("kind", "rule", "here", "there"),
    [
        (LooksAside, "another path", ROWS, ROWS[(ROWS != 0)]),
        (AsksTooMuch, "moved too far", ROWS, ROWS[1:]),
        (PeeksAtTheSample, "outside its draws", ROWS, ROWS[1:]),
    ],
    ids=("LooksAside", "AsksTooMuch", "PeeksAtTheSample"),
)
def test_a_leak_is_found_and_placed(kind: type[Base], rule: str, here: Any, there: Any) -> None:
    found = replay(kind(), here, there, d_in=abs(len(here) - len(there)))
    assert found
    assert rule in found[0].rule
    assert found[0].place.startswith("test_replay.py:")


@dataclass(frozen=True, kw_only=True)
class Diagonal(Base):
    """Two sums, both of which a row moves by 3: by the root of 18 in L2, of which there is no rational."""

    stability: Fraction
    two: ClassVar[DiscreteGaussian] = DiscreteGaussian(sigma=2, shape=(2,))

    def plan(self) -> Plan:
        return Use(self.two, self.stability)

    def release(self, data: Any, run: Runner) -> Any:
        return run(self.two, np.full(2, 3 * len(data)), stability=self.stability)


def test_a_root_is_compared_by_its_square() -> None:
    """Declared is a root of 18 that is rounded up less than the replay would round it, and it is enough."""
    scale = 2**200
    above = Fraction(math.isqrt(18 * scale * scale) + 1, scale)
    assert above**2 > 18 > (above - Fraction(1, scale)) ** 2
    assert above < sqrt_up(Fraction(18))
    found = replayed(Diagonal(stability=above), ROWS, ROWS[1:])
    assert found.violations == []
    walked = found.walked()
    assert walked is not None
    assert walked.rho <= Diagonal(stability=above).loss(1).rho
    (violation,) = replay(Diagonal(stability=above - Fraction(1, scale)), ROWS, ROWS[1:])
    assert violation.rule == "a value moved too far"


def test_recording_gives_the_same_law_as_running() -> None:
    """The sampled subset of a recording is keyed by content: about half of many rows, and the same half again."""
    rows = np.arange(10_000)
    _, tape, _ = record(OnASample(), rows)
    size = tape.events[-1].value
    # 10,000 coins: below 4,500 or above 5,500 has a probability below 1e-22.
    assert 4500 < size < 5500


class Teller:
    """A conversation that counts what it is fed."""

    def __init__(self, run: Runner, mechanism: Any) -> None:
        self._run, self._mechanism = run, mechanism

    def feed(self, value: int) -> int:
        return int(self._run(self._mechanism.count, value))


@dataclass(frozen=True, kw_only=True)
class Talks(Interactive[None, Teller]):
    """Answers each value it is fed with a noisy one."""

    name: ClassVar[str] = "test-talks"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    count: ClassVar[Geometric] = Geometric(scale=2)

    @property
    def distance(self) -> Unit:
        return EVENT

    def plan(self) -> Plan:
        return Repeat(Use(self.count), 3)

    def open(self, data: None, run: Runner) -> Teller:
        return Teller(run, self)


def test_a_conversation_is_replayed() -> None:
    here, there = Dialogue(None, (1, 2, 3)), Dialogue(None, (1, 3, 3))
    assert replay(Talks(), here, there) == []
    answers, tape, is_finished = record(Talks(), here)
    assert len(answers) == len(tape.events) == 3
    assert is_finished
    far = replay(Talks(), here, Dialogue(None, (1, 9, 3)))
    assert [violation.rule for violation in far] == ["a value moved too far"]


def test_a_conversation_can_be_audited() -> None:
    """Three answers of which one moves by one: no more than an epsilon of one half can ever be certified."""
    verdict = audit(Talks(), Dialogue(None, (1, 2, 3)), Dialogue(None, (1, 3, 3)), samples=4000)
    assert not verdict.is_refuted
    assert verdict.claim.pure == Fraction(3, 2)


def test_fixed_samples_of_neighbours_differ_in_no_more_rows_than_they_do() -> None:
    """Rows that both have are ranked alike, wherever they stand: a replaced row costs the sample one row at most."""
    rows = [0, 1, 2, 2, 2, 3, 4, 5]
    differ = []
    for number in range(100):
        tape = Tape()
        for neighbour, apart in (([*rows[1:], 50 + number], 1), ([*rows[:3], 7, 8, *rows[5:]], 2), (rows[::-1], 0)):
            here, there = ([data[place] for place in np.flatnonzero(_keyed(data, tape))] for data in (rows, neighbour))
            found = ROW_REPLACED.measure(here, there)
            assert found is not None
            assert found <= apart
            differ.append(found)
    # Each key shows each distance with probability above 1/4: one is never seen with probability below 1e-12.
    assert max(differ) == 2
    assert len(set(differ)) == 3


def _keyed(rows: list[int], tape: Tape) -> Any:
    return RecordingRunner(Use(Geometric(scale=1)), system_noise(), tape=Tape(given=tape))._sample_exactly(rows, 6)
