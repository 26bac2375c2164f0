"""Stored answers: what a ledger keeps is read back as it was, and what has no place in it is refused."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.data.examples import clinic, some_visits
from dither.data.reference import ReferenceEngine
from dither.errors import InvalidParameter, NotSerialisable
from dither.lift import stored
from dither.lift.stored import LARGEST_ANSWER, check_length, keep, keep_record, read_value, write_value
from dither.mechanisms import find, perform, registered
from dither.mechanisms.core.mechanism import Composed
from dither.mechanisms.core.spec import Codec
from dither.privacy import ROW

LEAVES = st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3)
    ),
    max_leaves=12,
)


@settings(max_examples=40)
@given(VALUES)
def test_plain_values_are_read_back_with_their_types(value: Any) -> None:
    again = read_value(write_value(value))
    assert again == value
    assert repr(again) == repr(value)


@pytest.mark.parametrize("dtype", ["<i8", "<f8", "|b1", "<i4", "<f4", "|u1"])
def test_arrays_are_read_back_bit_by_bit_and_may_be_written_to(dtype: str) -> None:
    array = np.arange(6).astype(dtype).reshape(2, 3)
    for given_array in (array, array.T, array[:0], np.asfortranarray(array), np.array(3).astype(dtype)):
        again = read_value(write_value(given_array))
        assert again.dtype == given_array.dtype
        np.testing.assert_array_equal(again, given_array)
        again[...] = 0


def test_reals_are_exact_and_those_without_a_word_in_json_are_kept() -> None:
    for real in (0.1, -0.0, 5e-324, math.inf, -math.inf, np.float32(0.1), np.float64(1e308)):
        assert math.copysign(1, read_value(write_value(real))) == math.copysign(1, real)
        assert read_value(write_value(real)) == float(real)
    assert math.isnan(read_value(write_value(math.nan)))
    assert read_value(write_value(np.int8(-3))) == -3
    assert read_value(write_value(np.bool_(True))) is True


def test_what_has_no_place_is_refused_and_so_is_a_deep_nest() -> None:
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    for value in (object(), 1j, b"x", {1, 2}, np.array(["a"]), np.array([object()]), deep, type("T", (str,), {})("x")):
        with pytest.raises(NotSerialisable):
            write_value(value)


def test_a_dictionary_cannot_be_taken_for_a_record() -> None:
    for value in ({"real": "0x1p+0"}, {"tuple": [1]}, {"array": ["<i8", [1], ""]}, {"learned": "{}"}):
        assert read_value(write_value(value)) == value


def test_tags_are_taken_once() -> None:
    for tag in ("tuple", "dict", "array", "real"):
        with pytest.raises(InvalidParameter, match="tag must be new"):
            keep(tag, Codec(str, str, str))
    from dither.learn.models import Model

    keep_record("learned", Model)  # the same class again, as when its module is read twice
    with pytest.raises(InvalidParameter, match="tag must be new"):
        keep_record("learned", Codec)


def test_an_answer_that_may_be_too_long_is_refused_beforehand() -> None:
    check_length("query", LARGEST_ANSWER // 8, 8)
    with pytest.raises(InvalidParameter, match=r"query must be small enough .* at most [0-9,]+ rows"):
        check_length("query", LARGEST_ANSWER // 8, 8, head=1)


ROOMS = ("dither.learn", "dither.publish.synthetic", "dither.lift")


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in registered()
        if issubclass(find(name).mechanism, Composed) and find(name).mechanism.__module__.startswith(ROOMS)
    ],
)
def test_what_learners_and_synthesizers_release_is_stored_and_read_back(name: str) -> None:
    example = next(iter(find(name).examples()))
    released = perform(example.mechanism, example.data, stability=1)
    written = write_value(released)
    assert b"pickle" not in written
    again = read_value(written)
    assert type(again) is type(released)
    assert write_value(again) == written
    json.loads(written)


def test_every_learner_is_among_those_that_were_tried() -> None:
    assert {"gradient-descent", "mst", "counted-families", "priv-basis", "held-out-score"} <= set(registered())
    assert {"learned", "synthetic", "families", "itemsets"} <= set(stored._kept)


def test_an_offer_of_any_method_takes_learners_and_synthesizers() -> None:
    from dither.learn.linear import GradientDescent
    from dither.lift.cells import source_of
    from dither.lift.rows import Rows
    from dither.privacy import PureDP
    from dither.verbs.offers import Offers

    dataset = clinic(ROW)
    rows = Rows(dataset, source_of(dataset, "visits")[0], ("cost", "age"), "site", ("north", "south"))
    learner = GradientDescent.calibrated(PureDP(1), lower=[0, 0], upper=[10, 128], classes=2, steps=2)
    offer = Offers(dataset).method(learner, rows)
    assert offer.loss <= PureDP(1)
    found = perform(offer.mechanism, ReferenceEngine(dataset, {"visits": some_visits()}))
    again = offer.read(offer.present(found), "receipt")
    assert again.to_dict() == found.to_dict()
