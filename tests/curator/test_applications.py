"""Application cards: eleven fields for everything that is registered, and for every verb that releases."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from dither.cli.app import BENCH, PUBLISH, VERBS
from dither.curator.applications import ROOMS, ApplicationCard, application_card, releasing_verbs, room_of
from dither.curator.session import Session
from dither.errors import NotFound
from dither.mechanisms import registered

DOCS = Path(__file__).parents[2] / "docs"
#: As printed in table 8.2, in its order.
FIELDS = [
    "application",
    "input_data",
    "output_data",
    "setting",
    "challenges",
    "solutions",
    "selected_mechanism",
    "utility_measure",
    "utility_analysis",
    "privacy_analysis",
    "evaluation",
]


@pytest.mark.parametrize("name", [*sorted(registered()), *releasing_verbs()])
def test_every_mechanism_and_verb_has_a_full_card(name: str) -> None:
    card = application_card(name)
    told = json.loads(json.dumps(card.to_dict()))
    assert list(told) == FIELDS
    for field, said in told.items():
        assert said[:1].isupper() or field in ("application", "solutions"), field
        assert said.endswith((".", "'.")), field
        assert "  " not in said, field
    assert name in told["application"]
    assert ApplicationCard(**told) == card


def test_a_card_says_what_the_mechanism_declares() -> None:
    """What is checked is computed here from the mechanism, by another way than the card's."""
    for name, entry in registered().items():
        mechanism = next(iter(entry.examples())).mechanism
        card = application_card(name)
        assert str(mechanism.loss(1)) in card.privacy_analysis
        assert str(mechanism.distance) in card.input_data
        assert entry.source in card.evaluation
        bound = mechanism.error("0.95")
        assert (bound is None) is ("No single bound" in card.utility_measure)
        if bound is not None:
            assert f"{bound.value:.6g}" in card.utility_analysis


def test_every_room_is_known_and_its_benchmark_is_there() -> None:
    """So that a new room says what is hard in it."""
    known = {entry.name: room_of(entry) for entry in registered().values()}
    own = {name for name, entry in registered().items() if entry.mechanism.__module__.startswith("dither.")}
    assert [name for name in own if known[name] is None] == []
    assert {room for room in known.values() if room} == set(ROOMS.values())
    for room in ROOMS.values():
        assert not room.benchmark or (DOCS / "benchmarks" / f"{room.benchmark}.md").is_file()


def test_a_mechanism_of_another_package_has_a_card_without_a_room() -> None:
    entry = registered()["laplace"]
    foreign = type("Foreign", (), {"__module__": "elsewhere.laplace"})
    assert room_of(dataclasses.replace(entry, mechanism=foreign)) is None


def test_verbs_are_those_of_the_command() -> None:
    """A verb that releases is one that a session has and that takes a loss; those that only quote do not."""
    typed = {*VERBS, *(f"publish {word}" for word in PUBLISH)}
    assert set(releasing_verbs()) <= typed
    assert not set(releasing_verbs()) & set(BENCH)
    for verb in releasing_verbs():
        assert callable(getattr(Session, verb.split()[-1]))
    # What a session can do, and is not a verb of the command by that name.
    assert {"ask", "ask_parts", "ask_kept", "synthesize_families"} <= set(dir(Session))


def test_what_has_no_card_is_named() -> None:
    with pytest.raises(NotFound, match="publish histogram"):
        application_card("nonsense")
