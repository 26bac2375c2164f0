"""Roles of columns: a column that may name people is not published because nobody spoke of it."""

from __future__ import annotations

from typing import Any

import pytest

from dither.disguise import Mondrian, Roles, Rules
from dither.disguise.buckets import Anatomy
from dither.errors import InvalidParameter

PEOPLE: dict[str, list[Any]] = {
    "name": ["ann", "bob", "cid", "dan"],
    "age": [31, 33, 52, 58],
    "ill": ["flu", "cold", "flu", "cold"],
}


def test_a_column_without_a_role_that_tells_all_rows_apart_is_refused_in_python_as_by_the_command() -> None:
    rules = Rules(k=2)
    with pytest.raises(InvalidParameter, match="a list with name, where every row has another value") as caught:
        Mondrian(Roles(("age",), ("ill",)), rules).apply(PEOPLE)
    assert caught.value.parameter == "identifiers"
    with pytest.raises(InvalidParameter, match="a list with name"):
        Anatomy(Roles(("age",), ("ill",)), 2).apply(PEOPLE)
    assert "name" not in Mondrian(Roles(("age",), ("ill",), ("name",)), rules).apply(PEOPLE).frame()
    kept = Mondrian(Roles(("age",), ("ill",), others=("name",)), rules).apply(PEOPLE)
    assert kept.frame()["name"] == PEOPLE["name"]
    assert any("does it name people" in line for line in kept.done)


def test_a_column_has_one_role_and_is_there() -> None:
    with pytest.raises(InvalidParameter, match="roles"):
        Roles(("age",), others=("age",))
    with pytest.raises(InvalidParameter):
        Mondrian(Roles(("age",), others=("town",)), Rules(k=2)).apply({"age": PEOPLE["age"]})
