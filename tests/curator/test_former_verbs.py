"""Verbs by their former names: the digest of a request is that of its name of today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from dither.curator.former_verbs import _RENAMED, _SPLIT, present_call, present_names
from dither.curator.remote_release import read_arguments
from dither.curator.request import Request
from dither.curator.request_json import public_view, write_words
from dither.data.files import loads
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.lift.verb import REGISTRY
from dither.verbs.offers import Offers
from tools.security.verb_bodies import OTHERS

LOSS = {"number": "1/10"}
NOTHING = dict.fromkeys(("k", "worth", "start", "end", "group", "since", "until", "error", "loss", "delta", "rho"))
AREA = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": "all"},
            "geometry": {
                "type": "Polygon",
                "coordinates": [[[10.0, 50.0], [10.1, 50.0], [10.1, 50.1], [10.0, 50.1], [10.0, 50.0]]],
            },
        }
    ],
}
AREAS = write_words({"regions": AREA}, public_view(loads(OTHERS[1])))
#: What was asked, what is asked today, and of which of the data sets.
SAME: tuple[tuple[int, str, dict[str, Any], str, dict[str, Any]], ...] = (
    (0, "graph_answer", {"what": "edges", "epsilon": LOSS}, "graph.edges", {"epsilon": LOSS}),
    (
        0,
        "graph_answer",
        {"what": "triangles", "epsilon": LOSS, "method": "ladder", "table": "friends", **NOTHING},
        "graph.triangles",
        {"epsilon": LOSS, "method": "ladder"},
    ),
    (0, "graph_answer", {"what": "stars", "k": 2, "epsilon": LOSS}, "graph.stars", {"k": 2, "epsilon": LOSS}),
    (
        0,
        "graph_answer",
        {"what": "k-triangles", "k": 2, "epsilon": LOSS, "confidence": "0.9"},
        "graph.k_triangles",
        {"k": 2, "epsilon": LOSS, "confidence": {"real": "0.9"}},
    ),
    (
        0,
        "graph_answer",
        {"what": "clustering", "epsilon": LOSS, "method": "auto", **NOTHING},
        "graph.clustering",
        {"epsilon": LOSS},
    ),
    (0, "graph_answer", {"what": "degree-histogram", "epsilon": LOSS}, "graph.degree_histogram", {"epsilon": LOSS}),
    (0, "graph_answer", {"what": "degrees-by-node", "epsilon": LOSS}, "graph.degrees_by_node", {"epsilon": LOSS}),
    (
        0,
        "graph_answer",
        {"what": "edges", "error": 3, "epsilon": None},
        "graph.edges",
        {"error": 3},
    ),
    (
        0,
        "graph_synthesis",
        {"epsilon": LOSS, "method": "top-edges", "most": None},
        "graph.synthesize",
        {"epsilon": LOSS, "method": "top-edges"},
    ),
    (
        1,
        "place_counts",
        {"what": "heatmap", "cell": 5000, "grid": None, "regions": None, "named": "name", "epsilon": LOSS},
        "places.heatmap",
        {"cell": 5000, "epsilon": LOSS},
    ),
    (
        1,
        "place_counts",
        {"what": "regions", **AREAS, "within": None, "questions": None, "epsilon": LOSS, "grid": 4},
        "places.regions",
        {**AREAS, "named": "name", "grid": 4, "epsilon": LOSS},
    ),
    (
        5,
        "place_counts",
        {"what": "flows", "grid": None, "named": "name", "epsilon": LOSS},
        "places.flows",
        {"epsilon": LOSS},
    ),
    (
        3,
        "graph_answer",
        {"what": "degree-sum", "worth": [1], "epsilon": LOSS},
        "graph.degree_sum",
        {"worth": [1], "epsilon": LOSS},
    ),
    (
        4,
        "graph_answer",
        {"what": "path", "start": "a", "end": "c", "epsilon": LOSS, "k": None},
        "graph.path",
        {"start": "a", "end": "c", "epsilon": LOSS},
    ),
    (1, "place_journeys", {"grid": 2, "length": None, "rho": LOSS}, "places.synthesize", {"grid": 2, "rho": LOSS}),
    (1, "place_stops", {"count": 2, "table": "points", "epsilon": LOSS}, "places.stops", {"count": 2, "epsilon": LOSS}),
)


DATASETS = tuple(map(loads, OTHERS))


def asked(dataset: DataSet, verb: str, written: Mapping[str, Any]) -> Request:
    """Return what a session asks of the ledger for a verb and its arguments as they travel."""
    offer = Offers(dataset).named(verb, read_arguments(verb, written, dataset))
    return Request(dataset.name, offer.verb, offer.asked, offer.stated, offer.words)


@pytest.mark.parametrize(("place", "former", "written", "verb", "arguments"), SAME)
def test_a_former_body_has_the_digest_of_the_present_one(
    place: int, former: str, written: dict[str, Any], verb: str, arguments: dict[str, Any]
) -> None:
    name, words = present_call(former, written)
    assert name == verb
    assert asked(DATASETS[place], name, words).digest == asked(DATASETS[place], verb, arguments).digest


def test_every_former_name_leads_to_a_declared_verb() -> None:
    names = [name for former in (*_SPLIT, *_RENAMED) for name in present_names(former)]
    assert REGISTRY.keys() >= {*names}
    groups = {name for name in REGISTRY if name.startswith(("graph.", "places."))}
    assert groups == {*names}
    assert not REGISTRY.keys() & {*_SPLIT, *_RENAMED}
    for verb in REGISTRY:
        written = {"what": "edges", "epsilon": LOSS, "table": None}
        assert present_call(verb, written) == (verb, written)
        assert present_names(verb) == (verb,)


@pytest.mark.parametrize("what", ["squares", None, 3, ["edges"], "synthesize", "heatmap"])
def test_what_never_was_released_is_refused(what: Any) -> None:
    with pytest.raises(InvalidParameter) as refused:
        present_call("graph_answer", {"what": what})
    assert refused.value.parameter == "words.what"


def test_what_says_something_that_the_verb_does_not_have_is_refused() -> None:
    for what, more in (("triangles", {"k": 2}), ("clustering", {"method": "ladder"}), ("edges", {"start": "a"})):
        verb, words = present_call("graph_answer", {"what": what, "epsilon": LOSS, **more})
        with pytest.raises(InvalidParameter) as refused:
            asked(DATASETS[0], verb, words)
        assert refused.value.parameter == f"words.{next(iter(more))}"
    verb, words = present_call("place_counts", {"what": "heatmap", "within": "x", "epsilon": LOSS})
    with pytest.raises(InvalidParameter) as refused:
        asked(DATASETS[1], verb, words)
    assert refused.value.parameter == "words.within"
