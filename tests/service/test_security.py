"""The short forms of ``make security``: bodies under an eye, neighbours at every route, tokens that do not hold."""

from __future__ import annotations

import asyncio
import io
import itertools
import json
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.responses import Response

from dither.curator.ledger.people import PeopleBooks
from dither.curator.people import Role, Scope
from dither.lift.verb import REGISTRY
from dither.service.app import Service
from dither.service.body import DEEPEST, MOST, read_object
from dither.service.logs import Log
from dither.service.routes import ROUTES
from dither.service.settings import Settings
from dither.verbs.offers import Offers
from tests.one_importer import one_importer
from tests.service.conftest import Running
from tests.service.test_door import path_of
from tools.security import bodies as bodies_of
from tools.security import fuzz, neighbours, verb_bodies
from tools.security.payloads import injections, paths
from tools.security.timing import Found, told_apart
from tools.security.without_network import asked

PROTECTED = [route for route in ROUTES if route.roles is not None]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = fuzz.Fuzz(tmp_path_factory.mktemp("fuzz"))
    yield made
    made.close()


def test_bodies_that_nobody_foresaw_are_refused_and_touch_nothing(fuzzed: fuzz.Fuzz) -> None:
    seed = secrets.randbits(64)
    known = bodies_of.texts(secrets.randbelow(78), 78)
    bodies = [*known, *itertools.islice(bodies_of.changed(seed), 500)]
    tally = fuzzed.run(iter(bodies))
    assert tally.failures == [], seed
    assert tally.bodies == len(bodies)
    assert tally.refused > 0
    assert tally.megabytes < 64


def test_every_route_that_takes_a_body_is_given_bodies() -> None:
    """All but one: who signs in at an issuer shows a token of it, which ``test_oidc`` changes in every way."""
    given = {name.partition(":")[0] for name, _ in bodies_of.GOOD}
    assert {route.name for route in ROUTES if route.body is not None} - given == {"login"}


def test_every_verb_of_the_registry_is_given_bodies_that_can_be_planned() -> None:
    assert verb_bodies.unsampled() == set()
    given = {body["verb"] for _, body in bodies_of.GOOD if "verb" in body}
    assert given == set(REGISTRY)
    for verb in verb_bodies.SAMPLES:
        dataset, arguments = verb_bodies.called(verb)
        assert Offers(dataset).named(verb, arguments).loss is not None
        declared = verb_bodies.declared(verb)
        assert {*arguments} <= {*declared}
        assert any(declared.values())


def test_the_eye_sees(fuzzed: fuzz.Fuzz, tmp_path: Path) -> None:
    eye = fuzzed._eye
    eye.open()
    (tmp_path / "x").touch()
    (tmp_path / "x").read_text()
    eval("1")  # noqa: S307 - to be seen
    eye.shut()
    kinds = {what.split()[0] for what in eye.seen}
    eye.seen.clear()
    assert kinds >= {"open", "compile"}


def test_payloads_are_as_many_as_are_said() -> None:
    assert (len(injections()), len(paths())) == (500, 200)


def test_neighbours_are_told_apart_by_values_alone() -> None:
    seed = secrets.randbits(64)
    with one_importer():
        count, statuses, found = neighbours.run(4, seed, share=0.25)
    assert (found, count > 60) == ([], True), seed
    # Nearly all is answered; what is refused is refused on purpose, and nothing fails.
    assert statuses[200] > 40
    assert not {status for status in statuses if status >= 500}


def test_what_differs_beside_its_figures_is_seen() -> None:
    assert neighbours.covered(b'{"n": 1.5}') == neighbours.covered(b'{"n": -20}')
    assert neighbours.covered(b'"a",2.0,1\r\n') == neighbours.covered(b'"a",,\r\n')
    assert neighbours.covered(b'{"n": 1}') != neighbours.covered(b'{"n": [1]}')
    assert neighbours.covered(b'{"n": 1}') != neighbours.covered(b'{"m": 1}')


def test_no_handler_is_reached_by_who_may_not(running: Running) -> None:
    reached: list[str] = []
    service = Service(running.service.desk, Settings(timing="off"), Log(io.StringIO()))
    service._limits.admits_stranger = lambda _: True  # type: ignore[method-assign]

    async def handler(*_: Any) -> Any:
        reached.append("a handler")
        return Response()

    for route in ROUTES:
        setattr(service, f"_{route.name}", handler)
    application = service.application()
    tokens = {
        (role, scope): running.people.new_token(running.people.add(f"barred {role.value}", role).name, scopes=(scope,))
        for role, scope in itertools.product(Role, Scope)
    }

    async def all_of_it() -> None:
        for route in PROTECTED:
            assert route.roles is not None
            for token in (None, "x", f"dither_{'0' * 16}_{'x' * 43}", *tokens.values()):
                headers = {} if token is None else {"authorization": f"Bearer {token}"}
                status, _, _ = await asked(application, route.method, path_of(route), headers, b"{}")
                holders = [who for who, held in tokens.items() if held == token]
                is_let_in = any(role in route.roles and scope is route.scope for role, scope in holders)
                assert (status, len(reached)) == ((200, 1) if is_let_in else (403 if holders else 401, 0))
                reached.clear()
        await service.stop()

    asyncio.run(all_of_it())


def test_an_unknown_token_and_a_wrong_one_cost_the_same_work(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time follows from what is looked up: as many reads of the same tables, and one comparison of digests."""
    held = running.token("worked")
    public = held.split("_")[1]
    read: list[str] = []
    look = PeopleBooks._read_rows

    def looked(books: PeopleBooks, statement: str, *values: Any) -> Any:
        read.append(statement)
        return look(books, statement, *values)

    monkeypatch.setattr(PeopleBooks, "_read_rows", looked)
    seen = []
    for token in (f"dither_{'0' * 16}_{'x' * 43}", f"dither_{public}_{'x' * 43}"):
        read.clear()
        assert running.people.authenticate(token) is None
        seen.append(tuple(read))
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    "content",
    [
        b'{"a": ' + b"[" * DEEPEST + b"]" * DEEPEST + b"}",
        b'{"a": ' + b"9" * 10**6 + b"}",
        b'{"a": [' + b"[]," * MOST + b"[]]}",
        b'{"a": "\\ud800"' + b"{" * 300,
    ],
)
def test_deep_and_long_bodies_are_refused(content: bytes) -> None:
    from dither.errors import InvalidParameter

    with pytest.raises(InvalidParameter):
        read_object(content)


def test_brackets_within_texts_are_no_levels() -> None:
    body = {"a": "[" * 300, "b": '"' + "{" * 300 + "\\", "c": [[] for _ in range(300)]}
    assert read_object(json.dumps(body).encode()) == body


def test_the_attackers_of_time_see_what_is_there() -> None:
    """Without a chance to fail: the times of both sides do not overlap, or are the same."""
    small, large = np.linspace(1, 2, 100), np.linspace(3, 4, 100)
    assert told_apart(small, large) == pytest.approx(1, abs=0.02)
    assert told_apart(large, small) == pytest.approx(1, abs=0.02)
    assert told_apart(small, small) == pytest.approx(0.5, abs=0.02)
    assert Found(10_000, 0, 0.2, 0.5, 1.0).problems(is_strict=True)
    assert Found(10_000, 0, 0.0, 0.7, 1.0).problems(is_strict=True)
    assert Found(10_000, 0, 0.0, 0.5, 1.0).problems(is_strict=False)
    assert not Found(10_000, 0, 0.01, 0.51, 1.0).problems(is_strict=True)
