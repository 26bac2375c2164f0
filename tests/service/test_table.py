"""The table of routes is what is served, told and asked: in the router, in OpenAPI, in the client."""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import itertools
import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any
from urllib.parse import quote

import jsonschema
import pytest
from starlette.responses import Response

from dither.curator.people import Role, Scope
from dither.service import client, desk, governance, governance_client, login, long_lived_client, transport, witness
from dither.service.answer_schemas import ANSWER
from dither.service.app import Service
from dither.service.logs import Log
from dither.service.openapi import openapi
from dither.service.problems import status_of
from dither.service.routes import BY_NAME, ROUTES, Rate, Route, path_to
from dither.service.settings import Settings
from dither.service.shapes import shape
from tests.service.conftest import Running
from tests.service.test_door import ask, bearer, path_of
from tools.security.without_network import asked

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


def resolved(value: Any, document: dict[str, Any]) -> Any:
    """Return plain data with what is referred to in place of the references."""
    if isinstance(value, list):
        return [resolved(one, document) for one in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return resolved(document["components"]["schemas"][value["$ref"].rpartition("/")[2]], document)
    return {name: resolved(one, document) for name, one in value.items()}


def plain(schema: Any) -> Any:
    return json.loads(json.dumps(schema))


def titled(value: Any) -> Iterator[Any]:
    """Yield every schema with a title."""
    if isinstance(value, dict):
        if isinstance(value.get("title"), str):
            yield value
        value = list(value.values())
    for one in value if isinstance(value, list) else ():
        yield from titled(one)


def test_a_title_names_one_schema() -> None:
    tables = [[route.answer, route.body, *route.query.values(), *route.in_path.values()] for route in ROUTES]
    found: dict[str, Any] = {}
    for schema in titled(plain([tables, ANSWER])):
        assert found.setdefault(schema["title"], schema) == schema
    told = openapi("1")
    assert set(found) < set(told["components"]["schemas"])
    for name, schema in found.items():
        assert resolved(told["components"]["schemas"][name], told) == schema


def test_stored_answers_have_types() -> None:
    told = openapi("1")
    for name in ("release", "answer", "published_answer", "ask_part"):
        route = BY_NAME[name]
        content = told["paths"][route.path][route.method.lower()]["responses"]["200"]["content"]
        assert content["application/json"]["schema"] == {"$ref": "#/components/schemas/Answer"}
        assert content["text/csv"]["schema"] == {"type": "string"}
    jsonschema.Draft202012Validator.check_schema(ANSWER)
    # Read by what refers to it, as a generator does.
    whole = {"$ref": "#/components/schemas/Result", "components": told["components"]}
    column = {"name": "n", "kind": "integer", "is_key": False, "estimand": "", "bias": ""}
    good = {
        "result": 1,
        "columns": [column],
        "confidence": "19/20",
        "is_simultaneous": False,
        "loss": {"kind": "pure", "epsilon": "1/10"},
        "unit": "people",
        "notes": [],
        **{part: [[1], [None], ["inf"], [{"time": "2026-01-01"}]] for part in ("rows", "low", "high")},
    }
    validator = jsonschema.Draft202012Validator(whole)
    assert validator.is_valid(good)
    for wrong in ({"rows": [1]}, {"loss": {}}, {"columns": [{}]}, {"result": 2}, {"more": 1}, {"loss": {"kind": "x"}}):
        assert not validator.is_valid(good | wrong), wrong


NAMES: dict[str, tuple[list[str], list[str]]] = {
    "dataset": (["clinic", "_a", "A" * 63], ["", "__a", "1a", "a-b", "A" * 64, "a\n", "clinic'", "ä"]),
    "entry": (["17", "17.csv", "a key", "l:17:h"], ["", "a/b", "a\0", "a\n", "x" * 209]),
    "job": (["0" * 32], ["0" * 31, "G" * 32, "0" * 32 + "\n"]),
    "name": (["talk", "0-_"], ["", "-a", "a" * 61, "a b"]),
    "person": (["ana", "Ana at the server", "Ä"], ["", "a\0b", "a" * 201]),
    "question": (["1", "9" * 18], ["", "x", "-1", "1.0", "9" * 19, "١"]),
    "code": (["x" * 43], ["x", "x" * 44, "x" * 42 + "="]),
}


def test_names_in_paths_have_patterns() -> None:
    told = openapi("1")
    seen = set()
    for route in ROUTES:
        operation = told["paths"][route.path][route.method.lower()]
        for one in operation["parameters"]:
            assert "pattern" in one["schema"] or one["schema"]["type"] == "integer" or one["name"] == "If-None-Match"
            if one["in"] == "path":
                validator = jsonschema.Draft202012Validator(one["schema"])
                good, bad = NAMES[one["name"]]
                if "/published/{entry}" in route.path and route.roles is None:
                    good, bad = ["17"], ["x", "", "17.xls", "a:1:b"]
                assert all(map(validator.is_valid, good)), one
                # The end of a text is where it ends, in a browser's reading and in ours.
                assert not any(validator.is_valid(name) for name in bad if not name.endswith("\n")), one
                seen.add(one["name"])
    assert seen == set(NAMES)


def test_names_that_the_patterns_refuse_reach_nothing(running: Running) -> None:
    token = running.token("patterns", "curator")
    for route in ROUTES:
        for name in route.in_path:
            if name == "person":
                continue
            for wrong in NAMES[name][1]:
                parts = {other: good[0] for other, (good, _) in NAMES.items()} | {name: quote(wrong, safe="")}
                path = route.path.format(**parts)
                status, _, _ = ask(running, route.method, path, {} if route.body else None, bearer(token))
                assert status in (400, 404, 405, 410), (route.name, name, wrong)


def test_parameters_that_their_patterns_refuse_are_refused(running: Running) -> None:
    token = running.token("queries", "curator")
    for path in (
        "/v1/datasets?after=%00",
        f"/v1/datasets?after={'x' * 201}",
        "/v1/datasets/clinic/releases?after=x",
        "/v1/datasets/clinic/releases?after=-1",
        "/v1/datasets/clinic/conversations/talk?confidence=ninety",
        "/v1/datasets/clinic/conversations/talk?confidence=0.9%0A",
        "/v1/datasets/clinic/streams/s?first=1.5",
        "/v1/consistency?earlier=0&size=1",
        "/v1/consistency?earlier=1&size=x",
    ):
        status, _, content = ask(running, "GET", path, None, bearer(token))
        assert (status, json.loads(content)["title"]) == (400, "InvalidParameter"), path


def test_openapi_tells_what_each_route_takes_and_tells() -> None:
    told = openapi("1")
    for route in ROUTES:
        operation = told["paths"][route.path][route.method.lower()]
        parameters = {(one["name"], one["in"]): one for one in operation["parameters"]}
        for name, schema in route.query.items():
            assert parameters[name, "query"]["schema"] == schema
            assert parameters[name, "query"]["required"] == (name in route.needed)
        content = operation["responses"][str(route.status)].get("content", {})
        kinds = route.answer if isinstance(route.answer, tuple) else ("application/json",)
        assert tuple(content) == kinds
        if not isinstance(route.answer, tuple):
            assert resolved(content["application/json"]["schema"], told) == plain(route.answer)
            jsonschema.Draft202012Validator.check_schema(route.answer)
            assert shape(route.answer)
        for name in route.problems:
            problem = operation["responses"][str(status_of(name))]["content"]["application/problem+json"]["schema"]
            assert name in problem["allOf"][1]["properties"]["title"]["enum"]
        assert ("304" in operation["responses"]) == route.is_tagged
        assert operation["x-requests-counted"] == route.counted.value
        if route.body is not None:
            assert str(route.largest) in operation["requestBody"]["description"]
    assert BY_NAME["login"].largest < BY_NAME["release"].largest


@pytest.mark.parametrize("module", [client, governance_client, long_lived_client, login, witness, transport])
def test_a_path_stands_in_the_table_alone(module: ModuleType) -> None:
    parts = {part for route in ROUTES for part in route.path.split("/") if part and not part.startswith("{")}
    texts = {one.value for one in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(one, ast.Constant)}
    assert not [text for text in texts if isinstance(text, str) and "v1" in text]
    assert {"v1", "datasets", "releases"} <= parts
    assert path_to("converse", dataset="a/b", name="n") == ("v1", "datasets", "a/b", "conversations", "n", "questions")


@pytest.fixture(scope="module")
def tokens(running: Running) -> dict[tuple[Role, Scope], str]:
    return {
        (role, scope): running.people.new_token(running.people.add(f"table {role.value}", role).name, scopes=(scope,))
        for role, scope in itertools.product(Role, Scope)
    }


class Reached:
    """A service whose handlers only say that they were reached."""

    def __init__(self, running: Running, tokens: dict[tuple[Role, Scope], str]) -> None:
        self._tokens, self._handled = tokens, False
        self.service = Service(running.service.desk, Settings(timing="off"), Log(io.StringIO()))
        for route in ROUTES:
            setattr(self.service, f"_{route.name}", self._handler)
        self._application = self.service.application()

    async def _handler(self, *_: Any) -> Response:
        self._handled = True
        return Response()

    def ask(self, route: Route, query: str, body: bytes = b"{}") -> tuple[int, bool, Any]:
        """Return the status, whether the handler was reached, and what was told."""
        headers = {}
        if route.roles is not None and route.scope is not None:
            headers = {"authorization": f"Bearer {self._tokens[sorted(route.roles, key=str)[0], route.scope]}"}
        self._handled = False
        path = path_of(route) + query
        status, _, content = asyncio.run(asked(self._application, route.method, path, headers, body))
        return status, self._handled, json.loads(content) if status >= 400 else None


@pytest.fixture
def reached(running: Running, tokens: dict[tuple[Role, Scope], str]) -> Iterator[Reached]:
    made = Reached(running, tokens)
    yield made
    asyncio.run(made.service.stop())


def test_parameters_that_are_not_in_the_table_are_refused(reached: Reached) -> None:
    for route in ROUTES:
        assert reached.ask(route, "")[:2] == (200, True), route.name
        known = "&".join(f"{name}=1" for name in route.query)
        assert reached.ask(route, f"?{known}")[:2] == (200, True), route.name
        wrong = ["?colour=red", f"?{known}&colour=", *(f"?{name}=1&{name}=1" for name in route.query)]
        for query in wrong:
            status, is_handled, told = reached.ask(route, query)
            assert (status, is_handled) == ((200, True) if route.is_open else (400, False)), (route.name, query)
            if not route.is_open:
                assert (told["title"], told["parameter"]) == ("InvalidParameter", "parameter")
                assert all(name in told["detail"] for name in route.query)
    assert [route.name for route in ROUTES if route.is_open] == ["signed_in"]


def test_who_is_counted_and_how_much_is_read_is_as_the_table_says(
    reached: Reached, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = reached.service
    monkeypatch.setattr(service, "_issuer", object())
    counted: list[Rate] = []
    monkeypatch.setattr(service._limits, "admits_stranger", lambda _: counted.append(Rate.STRANGER))
    monkeypatch.setattr(
        service._limits, "admits", lambda who: counted.append(Rate.ADDRESS if who[:1] == "\n" else Rate.PERSON) or True
    )
    for route in ROUTES:
        counted.clear()
        status, _, _ = reached.ask(route, "")
        assert {*counted} - ({Rate.ADDRESS} if len(counted) > 1 else set()) == {route.counted} - {Rate.NOBODY}
        assert status == (429 if route.counted is Rate.STRANGER else 200)
    monkeypatch.undo()
    for route in ROUTES:
        if route.body is not None:
            assert reached.ask(route, "", b" " * (route.largest - 2) + b"{}")[0] == 200
            assert reached.ask(route, "", b" " * (route.largest - 1) + b"{}")[0] == 413


def test_a_service_that_is_not_ready_says_so_as_any_problem(running: Running) -> None:
    service = Service(running.service.desk, Settings(timing="off"), Log(io.StringIO()))
    service._stopping.set()

    async def told() -> tuple[int, Any, bytes]:
        found = await asked(service.application(), "GET", "/readyz", {})
        await service.stop()
        return found

    status, headers, content = asyncio.run(told())
    assert (status, json.loads(content)["title"]) == (503, "NotReady")
    assert headers["content-type"] == "application/problem+json"


def test_what_is_fixed_has_a_tag_and_is_not_told_twice(running: Running) -> None:
    token = running.token("tags", "curator")
    session = client.connect(running.url, token).session("clinic")
    entry = int(session.sql(COUNT, epsilon="0.1").receipt.split(":")[1])
    running.curator.publish(str(entry), dataset="clinic", title="shown", by="tags")
    public = {
        "openapi": "",
        "root_openapi": "",
        "home": "",
        "docs": "",
        "key": "",
        "keys": "",
        "consistency": "?earlier=1&size=2",
        "published_answer": "",
        "published_receipt": "",
    }
    private = {"entries": "", "receipt": "", "answer": ""}
    assert {*public, *private} == {route.name for route in ROUTES if route.is_tagged}
    for name, query in (public | private).items():
        who = {} if name in public else bearer(token)
        path = "/" + "/".join(path_to(name, dataset="clinic", entry=str(entry))) + query
        status, headers, content = ask(running, "GET", path, None, who)
        tag = headers["etag"]
        assert (status, len(content) > 0) == (200, True), name
        for said in (tag, f'"x", {tag}', f"W/{tag}", "*"):
            status, again, nothing = ask(running, "GET", path, None, {**who, "If-None-Match": said})
            assert (status, again["etag"], nothing) == (304, tag, b""), (name, said)
            assert again["cache-control"] == headers["cache-control"]
        for said in ('"x"', tag.strip('"'), f"{tag[:-1]}x", '"*"'):
            assert ask(running, "GET", path, None, {**who, "If-None-Match": said})[0] == 200, (name, said)
        if name in private:
            assert "no-store" in headers["cache-control"] or name == "answer"
        else:
            assert "no-store" not in headers["cache-control"]
    # A receipt is proved against the head, and another when that has grown: then its tag is another, too.
    path = "/" + "/".join(path_to("receipt", dataset="clinic", entry=str(entry)))
    before = ask(running, "GET", path, None, bearer(token))[1]["etag"]
    session.sql(COUNT, epsilon="0.2")
    status, headers, _ = ask(running, "GET", path, None, {**bearer(token), "If-None-Match": before})
    assert (status, headers["etag"] == before) == (200, False)


def test_lists_are_told_page_by_page_and_stay_right_while_they_grow(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (governance, desk):
        monkeypatch.setattr(module, "PAGE", 2)
    token = running.token("lists", "curator", quota=100)
    connection = client.connect(running.url, token)
    session = connection.session("clinic")
    wards = session.table("visits").partition("ward", {"h": ["heart"], "s": ["skin"]})
    names = [f"list{number}" for number in range(5)]
    for name in reversed(names):
        session.conversation(name, "visits", ["ward"], epsilon="1/10")
        session.parts(name, wards, epsilon="1/10")
        running.token(name)
    assert session.long_lived().conversations == session.long_lived().parts == tuple(names)
    granted = [one.grant.person for one in connection.grants("clinic")]
    assert granted == sorted(granted)
    assert {*names} < {*granted}
    assert connection.datasets() == ("clinic", "hidden")
    assert [one.dataset for one in connection.balances()] == ["clinic", "hidden"]
    assert len(connection.releases("clinic")) == 10
    # What is there of a page stays there, whatever is added before and behind it.
    place = "/v1/datasets/clinic/conversations"
    first = json.loads(ask(running, "GET", place, None, bearer(token))[2])
    assert first == {"conversations": names[:2], "after": names[1]}
    for name in ("list", "list11"):
        session.conversation(name, "visits", ["ward"], epsilon="1/10")
    second = json.loads(ask(running, "GET", f"{place}?after=list1", None, bearer(token))[2])
    assert second == {"conversations": ["list11", names[2]], "after": names[2]}
    last = json.loads(ask(running, "GET", f"{place}?after=list3", None, bearer(token))[2])
    assert last == {"conversations": [names[4]], "after": None}
    assert json.loads(ask(running, "GET", f"{place}?after=z", None, bearer(token))[2])["conversations"] == []


def test_a_page_of_names_has_a_hundred_lines() -> None:
    found = {f"{number:03}": number for number in range(201)}
    first = governance.paged_by_name("lines", found, "")
    second = governance.paged_by_name("lines", found, first["after"])
    last = governance.paged_by_name("lines", found, second["after"])
    assert [len(page["lines"]) for page in (first, second, last)] == [100, 100, 1]
    assert (first["after"], second["after"], last["after"]) == ("099", "199", None)
