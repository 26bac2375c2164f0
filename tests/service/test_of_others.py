"""What is another person's, or of another data set, is told like what is not there: by every route of the table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dither.curator.people import Role
from dither.publish.queries.builder import table
from dither.service.client import Connection, connect
from dither.service.routes import ROUTES, Route
from tests.service.conftest import Running
from tests.service.test_door import ask, bearer

OF_SETS = [route for route in ROUTES if "{dataset}" in route.path and route.roles and Role.ANALYST in route.roles]
#: What the two people of these tests have called theirs.
NAMES = ("entry", "job", "name")


@pytest.fixture(scope="module")
def owner(running: Running) -> Connection:
    """Somebody who has one of each: an answer, a job, a conversation, an account of parts."""
    made = connect(running.url, running.token("owner"))
    session = made.session("clinic")
    session.sql("SELECT COUNT(*) AS n FROM visits", epsilon="0.1", key="mine")
    session.conversation("mine", "visits", ["ward"], epsilon="0.1")
    session.parts("mine", table("visits").partition("ward", {"a": ["heart"]}), epsilon="0.1")
    return made


def told(running: Running, route: Route, token: str, **names: str) -> tuple[int, Any]:
    status, _, content = ask(running, route.method, route.path.format(**names), _body(route), bearer(token))
    return status, content.decode()


def _body(route: Route) -> Any:
    """Return a body that is refused by nothing but what it is about, where the route takes one."""
    words = {"label": "a", "question": {"spec": {}}, "text": "SELECT COUNT(*) AS n FROM visits", "epsilon": "1/10"}
    bodies: dict[str, Any] = {
        "release": {"verb": "sql", "words": {name: words[name] for name in ("text", "epsilon")}},
        "quote": {"verb": "sql", "words": {name: words[name] for name in ("text", "epsilon")}},
        "room": {"loss": {"kind": "pure", "epsilon": "1/10"}},
        "converse": {"questions": ["ward = 'heart'"]},
        "ask_part": {"words": {name: words[name] for name in ("label", "question", "epsilon")}},
        "release_ticks": {},
    }
    return None if route.body is None else bodies.get(route.name, {"name": "new", "words": {"epsilon": "1/10"}})


@pytest.mark.parametrize("route", OF_SETS, ids=lambda route: route.name)
def test_a_data_set_of_others_is_told_like_none(running: Running, route: Route) -> None:
    token = running.token("stranger")
    names = dict.fromkeys(NAMES, "mine")
    hidden, absent = (told(running, route, token, dataset=name, **names) for name in ("hidden", "nowhere"))
    assert hidden[0] == 404
    assert hidden == absent


@pytest.mark.parametrize(
    "route",
    [route for route in OF_SETS if any(f"{{{name}}}" in route.path for name in NAMES)],
    ids=lambda one: one.name,
)
def test_what_others_have_is_told_like_nothing(running: Running, owner: Connection, route: Route) -> None:
    token = running.token("neighbour")
    theirs, none = (
        told(running, route, token, dataset="clinic", **dict.fromkeys(NAMES, name)) for name in ("mine", "none")
    )
    assert theirs[0] == none[0] == 404
    assert json.loads(theirs[1].replace("mine", "none")) == json.loads(none[1])


def test_a_data_set_whose_declaration_is_gone_names_no_others(running: Running) -> None:
    token = running.token("left behind")
    declared = running.curator.folder / "datasets" / "clinic.yaml"
    text, route = declared.read_text(), next(one for one in ROUTES if one.name == "quote")
    running.service.desk.close()
    declared.unlink()
    try:
        gone, absent = (told(running, route, token, dataset=name) for name in ("clinic", "nowhere"))
    finally:
        declared.write_text(text)
    assert gone == absent
