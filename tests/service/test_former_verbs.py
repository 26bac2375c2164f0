"""Requests of version 0.1 reach the verbs of today: in a body, in a queued job, and in the setting of times."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra 'service' is not installed")

from dither.curator.folder import Curator
from dither.curator.people import Bearer, People
from dither.errors import InvalidParameter
from dither.privacy import PureDP
from dither.service.desk import Desk, wanted_of
from dither.service.pace import Timing

SCHEMA = """\
dataset: friends
unit: edge
tables:
  friends:
    source: friends.csv
    graph: {ends: [one, other]}
    columns:
      one: {kind: text, categories: [a, b, c]}
      other: {kind: text, categories: [a, b, c]}
"""
NEW = {"verb": "graph.triangles", "words": {"epsilon": 0.5}}
FORMER = {"verb": "graph_answer", "words": {"what": "triangles", "epsilon": {"number": "1/2"}, "k": None}}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    folder: Path = tmp_path_factory.mktemp("former")
    (folder / "friends.csv").write_text("one,other\na,b\nb,c\na,c\n")
    (folder / "friends.yaml").write_text(SCHEMA)
    with Curator.create(folder / "home", anchors=folder / "anchors") as curator:
        curator.add(folder / "friends.yaml", budget=PureDP(100))
        made = Desk(curator)
        yield made
        made.close()


@pytest.fixture(scope="module")
def ana(desk: Desk) -> Bearer:
    people = People(desk.curator)
    people.add("ana", "analyst")
    people.grant("ana", "friends", PureDP(50))
    found = people.authenticate(people.new_token("ana"))
    assert found is not None
    return found


def test_a_former_body_is_answered_by_what_was_stored_for_the_present_one(desk: Desk, ana: Bearer) -> None:
    wanted = wanted_of("friends", NEW, None)
    stored = desk.release(ana, wanted)
    former = wanted_of("friends", FORMER, None)
    assert former.verb == wanted.verb == "graph.triangles"
    found = desk.looked_up(ana, former)
    assert found.stored is not None
    assert (found.stored.entry, found.stored.answer) == (stored.entry, stored.answer)
    assert found.ticket.digest == desk.looked_up(ana, wanted).ticket.digest
    assert desk.quote(ana, "friends", FORMER) == desk.quote(ana, "friends", NEW)
    losses = {"losses": [{"kind": "pure", "epsilon": "1/2"}]}
    without = {"verb": "graph_answer", "words": {"what": "triangles"}, **losses}
    assert desk.quote(ana, "friends", without)["quotes"] == [desk.quote(ana, "friends", NEW)["quote"]]


def test_a_queued_job_of_before_goes_on(desk: Desk, ana: Bearer) -> None:
    ticket = desk.looked_up(ana, wanted_of("friends", NEW, "job")).ticket
    queued = dataclasses.replace(ticket, asked=json.dumps(FORMER))
    wanted = desk.wanted(queued, "friends")
    assert (wanted.verb, wanted.key) == ("graph.triangles", "job")
    receipt = desk.release(ana, wanted, ticket=queued)
    assert receipt.request_digest == ticket.digest


@pytest.mark.parametrize("verb", ["graph", "graph.", "graph.squares", "graph_answers", "", None, 3, ["sql"], "stream"])
def test_what_is_no_verb_is_refused_by_its_name(verb: Any) -> None:
    with pytest.raises(InvalidParameter) as refused:
        wanted_of("friends", {"verb": verb, "words": {"epsilon": 1}}, None)
    assert (refused.value.parameter, refused.value.offender) == ("verb", verb)
    assert "graph.triangles" in refused.value.rule


def test_times_are_set_by_names_with_a_point_and_by_former_ones() -> None:
    timing = Timing.read("strict 2s, graph_answer 60s, places.heatmap 5s, place_stops 500ms, fit 9s")
    assert timing.seconds("sql") == 2
    assert {timing.seconds(f"graph.{name}") for name in ("triangles", "k_triangles", "path")} == {60}
    assert timing.seconds("graph.synthesize") == 2
    assert (timing.seconds("places.heatmap"), timing.seconds("places.flows")) == (5, 2)
    assert (timing.seconds("places.stops"), timing.seconds("fit")) == (0.5, 9)
    for wrong in ("strict 2s, graph 5s", "strict 2s, graph. 5s", "strict 2s, graph.squares 5s", "strict 2s, strict 3s"):
        with pytest.raises(InvalidParameter):
            Timing.read(wrong)
