"""Two owners: keys commute, messages hold no name, and the joined table is what a join would be, or is refused."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from dither.disguise import k_anonymity
from dither.disguise.parties import PRIME, CommutativeKey, Side, agree, square_of
from dither.errors import InvalidParameter


def test_the_group_is_that_of_the_standard() -> None:
    """RFC 3526, group 14: a safe prime that begins and ends with 64 ones, around the digits of pi."""
    assert PRIME.bit_length() == 2048
    assert PRIME >> 1984 == PRIME % 2**64 == 2**64 - 1
    assert (PRIME >> 1904) % 2**80 == 0xC90FDAA22168C234C4C6
    # Fermat's test of the prime and of half of it: both are prime, so that squares have a prime order.
    assert pow(2, PRIME - 1, PRIME) == 1
    half = PRIME // 2
    assert pow(2, half - 1, half) == 1
    assert pow(square_of("ada"), half, PRIME) == 1


def test_keys_commute_and_differ() -> None:
    one, two = CommutativeKey(), CommutativeKey()
    names = [square_of("ada"), square_of("bo")]
    assert two.over(one.over(names)) == one.over(two.over(names))
    assert one.over(names) != two.over(names)
    assert "exponent" not in repr(one)


def sides(rows: int = 14) -> tuple[Side, Side]:
    numbers = np.random.default_rng()
    left = {"id": list(range(rows)), "age": numbers.integers(20, 60, rows).tolist(), "row": list(range(rows))}
    right = {"id": list(range(4, rows + 4)), "town": numbers.choice(list("uvw"), rows).tolist()}
    right |= {"name": [f"p{one}" for one in right["id"]], "copy": list(right["id"])}
    return Side("left", left, "id", ["age"]), Side("right", right, "id", ["town"], ["name"])


def test_joined_classes_have_k_people_and_rows_are_those_of_one_person() -> None:
    made = agree(*sides(), 3)
    shown = made.table.columns()
    assert set(shown) == {"age", "row", "town", "copy"}
    assert shown["row"] == shown["copy"]
    assert sorted(shown["row"]) == list(range(4, 14))
    assert k_anonymity(shown, ["age", "town"]) == made.k >= 3
    assert set(made.learned) == {"left", "right", "joiner"}
    said = json.loads(made.to_json())
    assert said["k"] == made.k
    # Counts alone are in what was sent to the other side before both agreed.
    assert all(isinstance(size, int) for one in made.messages for size in one.sizes)
    assert Counter(one.receiver for one in made.messages)["joiner"] == 2


def test_too_few_people_in_common_are_refused() -> None:
    left, right = sides(6)
    with pytest.raises(InvalidParameter, match="people of both sides, 2"):
        agree(left, right, 3)


def test_wrong_sides_are_refused() -> None:
    left, right = sides(6)
    with pytest.raises(InvalidParameter, match="one side only"):
        agree(left, left, 2)
    with pytest.raises(InvalidParameter, match="k"):
        agree(left, right, 0)
    for table, match in (({"id": [1, 1], "a": [1, 2]}, "one row each"), ({"id": [], "a": []}, "one or more")):
        with pytest.raises(InvalidParameter, match=match):
            Side("s", table, "id", ["a"])
