"""Checked fields of frozen dataclasses."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from dither.errors import InvalidParameter
from dither.exact import (
    Field,
    Flag,
    Maybe,
    NonNegative,
    OneOf,
    Positive,
    Probability,
    Real,
    Shape,
    Text,
    TupleOf,
    Whole,
)
from tests.rationals import rationals


@dataclass(frozen=True)
class Example:
    scale: Positive = Positive()
    shift: NonNegative = NonNegative(0)
    chance: Probability = Probability("1/2")
    rounds: Whole = Whole(3, least=1, most=9)
    is_public: Flag = Flag(False)
    shape: Shape = Shape(())


@dataclass(frozen=True, kw_only=True)
class Two:
    first: Positive = Positive()
    second: Positive = Positive()


def test_what_is_kept_is_exact() -> None:
    record = Example(0.1, "1/3", 0.25, np.int8(4), np.True_, [2, 3])  # type: ignore[arg-type]
    kept: list[Any] = [getattr(record, field.name) for field in fields(record)]
    assert kept == [Fraction(1, 10), Fraction(1, 3), Fraction(1, 4), 4, True, (2, 3)]
    assert [type(value) for value in kept] == [Fraction, Fraction, Fraction, int, bool, tuple]


def test_defaults_are_converted_like_anything_else() -> None:
    record = Example(scale=1)
    assert (record.shift, record.chance, record.rounds, record.is_public, record.shape) == (0, 0.5, 3, False, ())
    assert type(record.shift) is Fraction
    assert Example.rounds == 3


def test_a_field_without_default_is_required() -> None:
    with pytest.raises(TypeError, match="scale"):
        Example()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="second"):
        Two(first=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="scale"):
        _ = Example.scale


@pytest.mark.parametrize(
    ("field", "offender", "rule"),
    [
        ("scale", 0, "a finite number above 0"),
        ("scale", float("nan"), "a finite number above 0"),
        ("shift", -1, "a finite number of at least 0"),
        ("chance", 1, "a number in [0, 1)"),
        ("rounds", 0, "an integer of at least 1 and at most 9"),
        ("rounds", 10, "an integer of at least 1 and at most 9"),
        ("rounds", 2.0, "an integer of at least 1 and at most 9"),
        ("rounds", True, "an integer of at least 1 and at most 9"),
        ("is_public", 1, "true or false"),
        ("is_public", "yes", "true or false"),
        ("is_public", None, "true or false"),
        ("shape", (2, 0), "an integer of at least 1 and at most 1099511627776"),
    ],
)
def test_a_refusal_names_the_field(field: str, offender: Any, rule: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        Example(**{"scale": 1, field: offender})
    assert (caught.value.parameter, caught.value.rule) == (field, rule)
    with pytest.raises(InvalidParameter) as again:
        replace(Example(scale=1), **{field: offender})
    assert again.value.parameter == field


def test_two_fields_of_one_kind_do_not_share_a_value() -> None:
    pair = Two(first=1, second=2)
    assert (pair.first, pair.second) == (1, 2)
    assert (Two(first=3, second=4).first, pair.first) == (3, 1)


def test_records_are_frozen() -> None:
    record = Example(scale=1)
    with pytest.raises(FrozenInstanceError):
        record.scale = Fraction(2)  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del record.scale
    assert record.scale == 1


def test_replace_converts_and_leaves_the_original() -> None:
    record = Example(scale=1)
    other = replace(record, scale="0.5")
    assert (record.scale, other.scale) == (1, Fraction(1, 2))
    assert replace(other, scale=1) == record


@given(rationals(Fraction(1, 1000), 1000, 1000))
@settings(deadline=None, max_examples=50)
def test_equal_numbers_make_equal_records(number: Fraction) -> None:
    one, two = Example(scale=number), Example(scale=str(number))
    assert one == two
    assert hash(one) == hash(two)
    assert len({one, two, Example(scale=number + 1)}) == 2
    for twin in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):  # noqa: S301
        assert twin == one
        assert type(twin.scale) is Fraction


def test_numbers_written_differently_are_the_same_record() -> None:
    assert len({Example(scale=value) for value in (0.5, "1/2", "0.50", Fraction(1, 2), np.float32(0.5))}) == 1


def test_the_printed_record_reads_back() -> None:
    record = Example(scale="1/3", shape=2)
    assert eval(repr(record), {"Example": Example, "Fraction": Fraction}) == record  # noqa: S307


def test_fields_are_inherited() -> None:
    @dataclass(frozen=True)
    class Child(Example):
        extra: Whole = Whole(0)

    child = Child(scale=2, extra=5)
    assert (child.scale, child.extra) == (2, 5)
    with pytest.raises(InvalidParameter, match="scale"):
        Child(scale=-1)


def test_a_bare_field_converts_nothing() -> None:
    @dataclass(frozen=True)
    class Bare:
        value: Field[Any, Any] = Field()

    with pytest.raises(NotImplementedError):
        Bare(value=1)


FIELDS: list[tuple[Field[Any, Any], Any]] = [
    (Positive(), Fraction(3)),
    (Positive(most=1), Fraction(1)),
    (NonNegative(most=5), Fraction(0)),
    (Probability(), Fraction(1, 2)),
    (Whole(), 0),
    (Whole(least=1, most=3), 3),
    (Whole(least=-(2**60)), 7),
    (Whole(most=2**30), 2**20),
    (Flag(), True),
    (Shape(), (2, 3)),
    (Real(), Fraction(5)),
    (Text(), "a"),
    (OneOf("a", "b", "c"), "b"),
    (Maybe(Whole()), None),
    (Maybe(Whole()), 4),
    (TupleOf(Whole(), rule="numbers"), (1, 2)),
    (TupleOf(Whole(least=1), least=2, most=3, where=lambda one: len(set(one)) == len(one), rule="different"), (1, 5)),
]


@pytest.mark.parametrize(("field", "kept"), FIELDS, ids=lambda one: type(one).__name__)
def test_fields_accept_what_they_yield(field: Field[Any, Any], kept: Any) -> None:
    """Beside a value that they have, and without one, they yield others; each is accepted, and one differs."""
    samples = [field.convert("field", sample) for sample in field.samples(kept)]
    assert any(sample != kept for sample in samples)
    assert len(samples) <= 10
    for sample in field.samples():
        field.convert("field", sample)


def test_every_choice_is_yielded_and_numbers_stay_small() -> None:
    assert list(OneOf("a", "b", "c").samples("b")) == ["a", "b", "c"]
    assert set(Flag().samples(True)) == {True, False}
    assert list(Whole(least=1).samples(3)) == [1, 4, 7]
    assert max(Whole().samples(2**20)) < 2**20
    assert None in list(Maybe(Whole()).samples(4))
