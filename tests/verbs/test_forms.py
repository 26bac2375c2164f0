"""Forms of verbs: every one has what a page needs, and what a page sends back is what a caller in Python passes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dither.curator.request import Request
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.lift.forms import form_of, typed_arguments
from dither.lift.verb import REGISTRY
from dither.verbs.offers import Offers
from tools.security.verb_bodies import SAMPLES, called

#: What is typed for the sample of a verb, beside its loss.
TYPED: dict[str, dict[str, Any]] = {
    "sql": {"text": SAMPLES["sql"].arguments["text"]},
    "bounds": {"table": "visits", "column": "waited"},
    "limits": {"table": "visits", "most": ""},
    "count": {"table": "visits", "columns": []},
    "histogram": {"table": "visits", "columns": "waited", "bins": ["4"], "non_negative": "true"},
    "marginals": {"table": "visits", "sets": ["ward", "ward, waited"], "bins": ["waited=2"]},
    "ask_kept": {"table": "visits", "conditions": "ward=heart"},
    "synthesize": {"table": "visits", "columns": "ward", "method": "independent"},
    "synthesize_families": {"parent": "homes", "child": "people"},
    "anonymize": {"table": "visits", "columns": "ward"},
    "stream": {"query": SAMPLES["stream"].arguments["query"], "released": "running"},
    "conversation": {"table": "visits", "columns": "ward", "questions": "1000"},
    "graph.edges": {},
    "graph.triangles": {"table": "", "method": "auto"},
    "graph.stars": {"k": "2"},
    "graph.k_triangles": {"k": "2"},
    "graph.cliques": {"k": "3"},
    "graph.clustering": {"confidence": "0.95"},
    "graph.assortativity": {},
    "graph.degrees": {},
    "graph.degree_histogram": {},
    "graph.degrees_by_node": {},
    "graph.degree_sum": {"worth": "1"},
    "graph.edges_between": {"group": "team", "table": "friends"},
    "graph.spanning_tree": {},
    "graph.path": {"start": "a", "end": "c"},
    "graph.synthesize": {"method": "top-edges"},
    "places.heatmap": {"cell": "5000"},
    "places.regions": {"regions": json.dumps(SAMPLES["places.regions"].arguments["regions"]), "grid": "2"},
    "places.flows": {},
    "places.synthesize": {"grid": "2x2"},
    "places.stops": {"count": "2"},
}


def asked(dataset: DataSet, verb: str, arguments: dict[str, Any]) -> Request:
    offer = Offers(dataset).named(verb, arguments)
    return Request(dataset.name, offer.verb, offer.asked, offer.stated, offer.words)


@pytest.mark.parametrize("verb", sorted(REGISTRY))
def test_every_verb_has_a_form_of_plain_data(verb: str) -> None:
    form = form_of(REGISTRY[verb])
    told = form.to_dict()
    assert json.loads(json.dumps(told)) == told
    assert told["title"] == REGISTRY[verb].summary
    names = [one["name"] for one in told["fields"]]
    assert len(names) == len(set(names))
    assert "loss" not in names
    for one in told["fields"]:
        assert one["help"], one
        assert (one["kind"] == "choice") == bool(one["choices"]), one
        assert one["default"] is None or not one["is_required"]
        assert one["kind"] != "choice" or one["default"] in (None, *one["choices"])


def test_forms_that_are_whole_are_those_that_can_be_entered() -> None:
    whole = {name for name, verb in REGISTRY.items() if form_of(verb).is_whole}
    assert whole >= TYPED.keys()
    assert REGISTRY.keys() - whole >= {"ask", "ask_parts", "fit", "method", "parts", "workload"}


@pytest.mark.parametrize("verb", TYPED)
def test_what_a_form_sends_back_is_what_is_passed_in_python(verb: str) -> None:
    dataset, arguments = called(verb)
    found = typed_arguments(REGISTRY[verb], dataset, {**TYPED[verb], "epsilon": arguments["epsilon"]})
    assert asked(dataset, verb, found).digest == asked(dataset, verb, arguments).digest


def test_what_is_typed_is_read_as_its_type_says() -> None:
    dataset, _ = called("histogram")
    typed = {
        "table": "visits",
        "columns": "ward, waited",
        "bins": "waited=0,50,100",
        "rows": "7",
        "data_dependent": True,
    }
    found = typed_arguments(REGISTRY["histogram"], dataset, typed | {"epsilon": "1/3"})
    assert found == {
        "table": "visits",
        "columns": ["ward", "waited"],
        "bins": {"waited": [0.0, 50.0, 100.0]},
        "rows": 7,
        "data_dependent": True,
        "epsilon": "1/3",
    }  # fmt: skip
    ranks = typed_arguments(REGISTRY["stream"], dataset, {"query": "SELECT 1", "ranks": "1/4, 1"})
    assert ranks["ranks"] == ["1/4", "1"]


@pytest.mark.parametrize(
    ("verb", "typed", "parameter"),
    [
        ("graph.stars", {"k": "two"}, "k"),
        ("graph.stars", {"k": "²"}, "k"),
        ("graph.stars", {"k": 2}, "k"),
        ("graph.stars", {}, "k"),
        ("graph.stars", {"k": ""}, "k"),
        ("graph.stars", {"k": "2", "colour": "red"}, "colour"),
        ("graph.stars", {"k": "2", "loss": "1"}, "loss"),
        ("histogram", {"table": "visits", "columns": "ward", "non_negative": "perhaps"}, "non_negative"),
        ("histogram", {"table": "visits", "columns": ["ward", 3]}, "columns"),
        ("fit", {"table": "visits", "estimator": "LogisticRegression"}, "estimator"),
    ],
)
def test_what_cannot_be_read_is_refused(verb: str, typed: dict[str, Any], parameter: str) -> None:
    dataset, _ = called(verb)
    with pytest.raises(InvalidParameter) as refused:
        typed_arguments(REGISTRY[verb], dataset, typed)
    assert refused.value.parameter == parameter


@pytest.mark.parametrize("verb", sorted(REGISTRY))
def test_no_file_of_this_machine_is_opened_for_a_page(verb: str, tmp_path: Path) -> None:
    """A path that is typed on a page would be one of the machine that reads it."""
    path = tmp_path / "secret.yaml"
    path.write_text("impossible: []")
    dataset, _ = called(verb)
    fields = {one.name: one.kind for one in form_of(REGISTRY[verb]).fields}
    for one in REGISTRY[verb].arguments:
        opens = one.about.opens is not None or one.about.metavar == "FILE"
        if opens:
            assert fields.get(one.name, "content") == "content"
            with pytest.raises(InvalidParameter):
                typed_arguments(REGISTRY[verb], dataset, {**TYPED[verb], one.name: str(path)})
