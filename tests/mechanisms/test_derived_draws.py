"""Noise that can be drawn again: bound to every value, parameter and step; and the encoding that describes them."""

from __future__ import annotations

import datetime
import itertools
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pytest

from dither.checks.repetition import check_equal_bits
from dither.checks.violation import ContractViolation
from dither.errors import EntropyFailure, InvalidParameter, NotSerialisable
from dither.lift import resumable
from dither.mechanisms import DiscreteGaussian, Geometric, find
from dither.mechanisms.core.derived_runner import DerivedRunner, perform_derived
from dither.mechanisms.core.encoding import encoded, in_one_order
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.line_choice import Line
from dither.noise import system_noise
from dither.noise.derived_words import DerivedWords
from dither.noise.entropy import about_to_draw, before_first_draw
from dither.privacy import InOrder, Sampled, Use
from dither.testing.replay import RecordingRunner, ReplayRunner

DIFFERENT: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 255, 256, -256, 2**70, 0.0, -0.0, 1.0, float("nan"), float("inf")),
    *("", "a", "b", "ab", "\ud800", b"", b"a", Fraction(1, 3), Decimal("0.1"), Decimal("0.10")),
    *(datetime.date(2026, 1, 1), datetime.datetime(2026, 1, 1), range(3), range(0, 3, 2)),
    *((), [], (1,), [1], (1, 2), [1, 2], ((1,), 2), (1, (2,)), ("a", "b"), ("ab",), {1}, frozenset({1})),
    *(
        {},
        {"a": 1},
        {"a": 2},
        {"a": 2**70},
        {"a": True},
        {"a": 1, "bc": 2},
        {"ab": 1, "c": 2},
        {1: "a"},
        Counter({"a": 1}),
        {"a": 1, "b": 2},
        {"b": 2, "a": 1},
    ),
    *(np.int64(1), np.int32(1), np.float64(1), np.bool_(True), np.array(1), np.array([1]), np.array([[1]])),
    *(np.array([1, 2]), np.array([1, 2], dtype=np.uint64), np.array([1, 2], dtype=object), np.array([1.0, 2.0])),
    *(np.zeros((2, 3)), np.zeros((3, 2)), np.array(["a", "b"]), np.array(["2026-01-01"], dtype="M8[D]")),
    *(PublicArray([1, 2]), Geometric(scale=1), Geometric(scale=2), DiscreteGaussian(sigma=1), Geometric, int),
    *(Line([0, 3], [1, 2]), Line([0, 3], [1, 3]), Line([0], [1])),
)


def test_different_values_have_different_encodings() -> None:
    texts = [encoded(value) for value in DIFFERENT]
    for (one, first), (other, second) in itertools.combinations(zip(DIFFERENT, texts, strict=True), 2):
        assert first != second, (one, other)
    assert texts == [encoded(value) for value in DIFFERENT]
    # None is the beginning of another, so that several after one another are told apart too.
    for first, second in itertools.permutations(texts, 2):
        assert not first.startswith(second)


def test_the_same_content_has_the_same_encoding() -> None:
    table = np.arange(12).reshape(3, 4)
    assert encoded(table) == encoded(np.asfortranarray(table)) == encoded(table.copy()[:, :])
    assert encoded(Geometric(scale="1/3")) == encoded(Geometric(scale=Fraction(1, 3)))
    mechanism = Geometric(scale=3)
    before = encoded(mechanism)
    mechanism.loss(1)
    assert encoded(mechanism) == before


class Text(str):
    """A text with code of its own."""


class Pair(NamedTuple):
    """A tuple of somebody else."""

    left: int


@dataclass(frozen=True)
class More:
    """A record that holds more than its fields."""

    shown: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", 3)


@dataclass(frozen=True)
class Computed:
    """A record that has computed something."""

    shown: int
    other: list[int] = field(default_factory=list)

    @cached_property
    def double(self) -> int:
        return 2 * self.shown


@pytest.mark.parametrize(
    "value",
    [
        *(object(), lambda: 1, Text("a"), Pair(1), More(1), OrderedDict(a=1), iter([1]), open, Line),
        *([object()], {"a": object()}, np.array([object()]), np.zeros(2, dtype="i4,f8"), np.ma.array([1])),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_known_whole_has_no_encoding(value: Any) -> None:
    if value is Line:
        assert encoded(value)
        return
    with pytest.raises(NotSerialisable):
        encoded(value)


def test_what_was_computed_from_fields_is_no_further_content() -> None:
    record = Computed(1)
    before = encoded(record)
    assert record.double == 2
    assert encoded(record) == before


def test_dictionaries_are_drawn_for_in_one_order() -> None:
    one, other = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    assert encoded(one) != encoded(other)
    assert encoded(in_one_order(one)) == encoded(in_one_order(other))
    assert type(in_one_order(Counter("ab"))) is Counter
    assert in_one_order([2, 1]) == [2, 1]


def runner(*parts: Any, key: int = 1) -> DerivedRunner:
    return DerivedRunner(InOrder.of(*map(Use, parts)), DerivedWords(lambda: bytes([key]) * 32))


NOISE = Geometric(scale=10**6)


def test_the_same_steps_have_the_same_noise() -> None:
    first, again = (runner(NOISE, NOISE) for _ in range(2))
    outs = [[run(NOISE, value) for value in (3, 4)] for run in (first, again)]
    assert outs[0] == outs[1]
    # Noise of scale 10^6 is the same twice in a row with odds of 10^-6: that of the two steps is of two keys.
    assert outs[0][0] - 3 != outs[0][1] - 4


@pytest.mark.parametrize("change", ["value", "kind of value", "earlier value", "parameter", "law", "key", "step"])
def test_any_difference_gives_other_noise(change: str) -> None:
    """Differences of 32 draws: equal noise would give the same one throughout, other noise with odds below 10^-180."""
    second: Any = NOISE
    if change == "parameter":
        second = Geometric(scale=10**6 + 1)
    elif change == "law":
        second = DiscreteGaussian(sigma=10**6)
    noises = set()
    for number in range(32):
        here, there = runner(NOISE, NOISE, key=number), runner(NOISE, second, key=number + 100 * (change == "key"))
        one = here(NOISE, 1) * 0 + here(NOISE, 5) - 5
        value = np.int64(5) if change == "kind of value" else 6 if change == "value" else 5
        early = 2 if change == "earlier value" else 1
        if change == "step":
            there = runner(NOISE, key=number)
        else:
            there(NOISE, early)
        noises.add(one - (there(second, value) - int(value)))
    assert len(noises) > 1


def test_scales_of_one_noise_never_meet_one_value() -> None:
    """After an early difference, equal values may come to other scales: v + Z and v + 2Z would give v away."""
    keys = []
    for early in (1, 2):
        words = DerivedWords(lambda: bytes(32))
        words.noise(encoded(("draw", NOISE, early)))
        keys.append(words.noise(encoded(("draw", NOISE, 5))).uniform_below(2**64, 1)[0])
    assert keys[0] != keys[1]


def test_samples_are_bound_to_what_is_sampled() -> None:
    plan = Sampled(Use(NOISE), Fraction(1, 2))
    rows = [list(range(128)), list(range(128)), [*range(127), 0]]
    kept = [DerivedRunner(plan, DerivedWords(lambda: bytes(32))).sampled(one, "1/2")[0] for one in rows]
    assert kept[0] == kept[1]
    assert kept[0] != kept[2]


def test_the_key_is_asked_for_once_before_the_first_draw_and_must_be_one() -> None:
    asked = []
    run = DerivedRunner(InOrder.of(Use(NOISE), Use(NOISE)), DerivedWords(lambda: asked.append(1) or bytes(32)))
    assert not asked
    run(NOISE, 1)
    run(NOISE, 1)
    assert asked == [1]
    for key in (b"", bytes(31), "x" * 32):
        with pytest.raises(InvalidParameter, match="32 bytes"):
            DerivedWords(lambda key=key: key).noise(b"")  # type: ignore[misc]


def refuse() -> None:
    raise EntropyFailure("from the system")


@dataclass(frozen=True, kw_only=True)
class OfNothing(Geometric):
    """Noise for no cells: it takes no byte."""

    def draw_many(self, value: Any, count: int, noise: Any) -> Any:
        return np.zeros(count, dtype=np.int64)


def test_a_draw_that_takes_no_byte_is_told_of_like_any() -> None:
    """How many bytes a draw takes may depend on private values; that it is asked for does not."""
    part, plan = OfNothing(scale=1), Sampled(Use(NOISE), Fraction(1, 2))
    recorded = RecordingRunner(Use(part), system_noise())
    steps: dict[str, Callable[[], Any]] = {
        "a draw": lambda: Runner(Use(part), system_noise())(part, 0),
        "a draw with a recorder": lambda: recorded(part, 0),
        "a replay": lambda: ReplayRunner(Use(part), system_noise(), earlier=recorded.tape)(part, 0),
        "a sample of nobody": lambda: Runner(plan, system_noise()).sampled([], "1/2"),
    }
    for name, step in steps.items():
        told: list[str] = []
        with before_first_draw(lambda told=told: told.append("told")):  # type: ignore[misc]
            step()
        assert told == ["told"], name
    # Nothing is drawn where it cannot be told.
    with before_first_draw(refuse), pytest.raises(EntropyFailure):
        steps["a draw"]()
    # Derived words tell of themselves, and of the system's not at all.
    derived: list[str] = []
    with before_first_draw(refuse):
        DerivedRunner(Use(part), DerivedWords(lambda: derived.append("told") or bytes(32)))(part, 0)
    assert derived == ["told"]
    about_to_draw()


def test_what_cannot_be_bound_comes_from_the_system_which_says_so() -> None:
    """Whoever waits for the system's first word may refuse it."""
    sample = next(iter(find("private-fp-tree").examples()))
    with before_first_draw(refuse), pytest.raises(EntropyFailure):
        perform_derived(sample.mechanism, sample.data, DerivedWords(lambda: bytes(32)))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="a composed mechanism"):
        perform_derived(NOISE, 1, DerivedWords(lambda: bytes(32)))  # type: ignore[arg-type]


def test_the_contract_finds_what_does_not_give_equal_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin: a conversation within a release, and randomness of a library."""
    example = next(iter(find("private-fp-tree").examples()))
    check_equal_bits(example)
    monkeypatch.setattr(resumable, "RESUMABLE", resumable.RESUMABLE | {"private-fp-tree"})
    with pytest.raises(ContractViolation, match="from a key alone"):
        check_equal_bits(example)
    histogram = next(iter(find("identity-histogram").examples()))
    check_equal_bits(histogram)
    real = type(histogram.mechanism).release
    generator = np.random.default_rng()
    monkeypatch.setattr(
        type(histogram.mechanism), "release", lambda self, data, run: real(self, data, run) + generator.random()
    )
    with pytest.raises(ContractViolation, match="other bytes"):
        check_equal_bits(histogram)


def test_what_is_listed_is_registered() -> None:
    for name in resumable.RESUMABLE:
        assert find(name).name == name
