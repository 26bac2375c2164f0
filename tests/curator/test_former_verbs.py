"""Verbs by their former names: the digest of a request is that of its name of today."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dither.curator.delivering import asked_of, quoted
from dither.curator.folder import Curator
from dither.curator.former_verbs import _RENAMED, _SPLIT, present_call, present_names
from dither.curator.session import Session
from dither.curator.words import public_view, write_words
from dither.data.files import loads
from dither.errors import InvalidParameter
from dither.lift.verb import REGISTRY
from dither.privacy import PureDP
from dither.verbs.offers import Offers
from tools.security.bodies import OTHERS

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
        1,
        "place_counts",
        {"what": "flows", "grid": 2, "named": "name", "epsilon": LOSS},
        "places.flows",
        {"grid": 2, "epsilon": LOSS},
    ),
    (1, "place_journeys", {"grid": 2, "length": None, "epsilon": LOSS}, "places.synthesize", {"grid": 2, "epsilon": LOSS}),
    (1, "place_stops", {"count": 2, "table": "points", "epsilon": LOSS}, "places.stops", {"count": 2, "epsilon": LOSS}),
)  # fmt: skip


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder: Path = tmp_path_factory.mktemp("former")
    with Curator.create(folder / "home", anchors=folder / "anchors") as curator:
        found = []
        for text in OTHERS[:2]:
            dataset = loads(text)
            (folder / f"{dataset.name}.yaml").write_text(text)
            for table in dataset.tables:
                (folder / table.source).write_text(",".join(column.name for column in table.columns) + "\n")
            curator.add(folder / f"{dataset.name}.yaml", budget=PureDP(100))
            found.append(curator.session(dataset.name, analyst="ana"))
        yield found
        for session in found:
            session.close()


@pytest.mark.parametrize(("place", "former", "written", "verb", "arguments"), SAME)
def test_a_former_body_has_the_digest_of_the_present_one(
    sessions: list[Session], place: int, former: str, written: dict[str, Any], verb: str, arguments: dict[str, Any]
) -> None:
    name, words = present_call(former, written)
    assert name == verb
    found = asked_of(sessions[place], name, words).request
    assert found.digest == asked_of(sessions[place], verb, arguments).request.digest
    assert quoted(sessions[place], name, words) == quoted(sessions[place], verb, arguments)


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


def test_what_says_something_that_the_verb_does_not_have_is_refused(sessions: list[Session]) -> None:
    for what, more in (("triangles", {"k": 2}), ("clustering", {"method": "ladder"}), ("edges", {"start": "a"})):
        verb, words = present_call("graph_answer", {"what": what, "epsilon": LOSS, **more})
        with pytest.raises(InvalidParameter) as refused:
            asked_of(sessions[0], verb, words)
        assert refused.value.parameter == f"words.{next(iter(more))}"
    verb, words = present_call("place_counts", {"what": "heatmap", "within": "x", "epsilon": LOSS})
    with pytest.raises(InvalidParameter, match="within"):
        Offers(sessions[1].dataset).named(verb, dict(words))
