"""Arguments in requests are those that their verb declares, each of its JSON type, before anything is planned."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.curator.argument_checks import check_arguments
from dither.curator.request_json import write_words
from dither.data.examples import clinic
from dither.errors import InvalidParameter
from dither.lift.verb import REGISTRY, arguments_schema
from dither.privacy import ROW, ZCDP
from dither.verbs.offers import Offers

assert Offers
NUMBERS = (1, 0.1, "1/3", {"number": "1/3"}, {"real": "0.1"})
TAGS = st.sampled_from(["map", "loss", "a"])
#: Plain data of all types, and what the closed format makes of others.
WIRE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer())
    | st.sampled_from(["", "auto", "1/3"])
    | st.sampled_from([{"number": "1/3"}, {"real": "0.1"}, {"date": "2024-01-31"}, {"map": [["a", 1]]}])
    | st.sampled_from([{"loss": {"kind": "pure", "epsilon": "1"}}, {"loss": {"kind": 1}}, {"spec": {}}])
    | st.just({"map": [[1]]}),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TAGS, inner, max_size=2),
    max_leaves=6,
)


def refused(verb: str, written: dict[str, Any]) -> InvalidParameter:
    with pytest.raises(InvalidParameter) as found:
        check_arguments(REGISTRY[verb], written)
    return found.value


def without_values(schema: Any) -> Any:
    """Return a schema of types: which values of its type an argument may have is said by planning."""
    if isinstance(schema, list):
        return [without_values(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: without_values(one) for name, one in schema.items() if name != "enum"}


@given(verb=st.sampled_from(sorted(REGISTRY)), data=st.data())
def test_types_are_those_of_the_schema(verb: str, data: st.DataObject) -> None:
    schema = arguments_schema(REGISTRY[verb])
    names = [*schema["properties"], "colour"]
    written = data.draw(st.dictionaries(st.sampled_from(names), WIRE, max_size=3))
    told = jsonschema.Draft202012Validator(without_values(json.loads(json.dumps(schema))))
    if told.is_valid(written):
        check_arguments(REGISTRY[verb], written)
    else:
        assert refused(verb, written).parameter.startswith("words.")


@pytest.mark.parametrize("verb", sorted(REGISTRY))
def test_arguments_of_each_verb_are_a_schema(verb: str) -> None:
    schema = json.loads(json.dumps(arguments_schema(REGISTRY[verb])))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert "key" not in schema["properties"]
    for name, one in schema["properties"].items():
        assert one["description"], name
        if "default" in one and "enum" in one:
            assert one["default"] in one["enum"], name


def test_an_argument_that_no_verb_has_is_named() -> None:
    problem = refused("graph.triangles", {"epsilon": 1, "k": 3})
    assert problem.parameter == "words.k"
    assert problem.rule.startswith("not allowed: graph.triangles has table, ")
    assert "the estimator states the loss" in refused("fit", {"epsilon": 1}).rule
    assert refused("sql", {"x" * 1000: 1}).parameter == f"words.{'x' * 74}"


def test_a_required_argument_is_named() -> None:
    problem = refused("graph.stars", {"epsilon": 1})
    assert (problem.parameter, problem.rule) == ("words.k", "required: the neighbours of a star: 2 or more")
    assert refused("histogram", {"columns": "age"}).parameter == "words.table"
    check_arguments(REGISTRY["stream"], {"epsilon": 1}, needs_all=False)


def test_a_number_has_all_of_its_spellings() -> None:
    for number in NUMBERS:
        check_arguments(REGISTRY["graph.triangles"], {"epsilon": number, "confidence": number})
    for wrong in (True, None, [1], {"number": 1}, {"number": "1", "real": "1"}, {"map": []}, {"figure": "1"}):
        assert refused("graph.triangles", {"confidence": wrong}).parameter.startswith("words.confidence")
    for wrong in ("3", 3.0, True, None, {"number": "3"}):
        problem = refused("graph.stars", {"k": wrong, "epsilon": 1})
        assert (problem.parameter, problem.rule) == ("words.k", "an integer")


def test_what_is_wrong_inside_of_a_value_is_named_by_its_place() -> None:
    sets = {"table": "visits", "sets": [["age"], ["age", 3]]}
    problem = refused("marginals", sets)
    assert (problem.parameter, problem.rule) == ("words.sets[1][1]", "a string")
    assert refused("histogram", {"table": "visits", "columns": ["age", None]}).parameter == "words.columns[1]"
    loss = {"loss": {"loss": {"epsilon": "1"}}}
    assert refused("graph.triangles", loss).parameter.startswith("words.loss")
    long = refused("histogram", {"table": "visits", "columns": {"a": "b" * 10_000}})
    assert (long.rule, long.offender) == ("a string, or a list", "dict")


def test_what_a_client_writes_is_of_the_declared_types() -> None:
    view = clinic(ROW)
    for verb, arguments in (
        ("histogram", {"table": "visits", "columns": ("age", "site"), "bins": {"age": 4}, "loss": ZCDP("1/10")}),
        ("sql", {"text": "SELECT 1", "shares": {"n": "1/2"}, "epsilon": 0.1, "auto_share": 0.2}),
        ("places.heatmap", {"grid": (2, 3), "epsilon": 1}),
        ("marginals", {"table": "visits", "sets": [("age",), ("age", "site")], "epsilon": 1}),
    ):
        check_arguments(REGISTRY[verb], write_words(arguments, view))
