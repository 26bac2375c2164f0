"""Who is not let in learns nothing, whatever is sent is answered in words, and nothing private is written down."""

from __future__ import annotations

import asyncio
import http.client
import io
import itertools
import json
import socket
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dither.cli.option_errors import refusal_words
from dither.curator.folder import Curator
from dither.curator.people import People, Role, Scope
from dither.errors import InvalidParameter, NotFound
from dither.service import server as server_module
from dither.service.app import Service
from dither.service.logs import Log
from dither.service.openapi import openapi
from dither.service.problems import error_of, problem_of
from dither.service.queue import LONGEST_LINE, FairPool, LineFull
from dither.service.routes import ROUTES, Route
from dither.service.settings import Settings, read_settings
from dither.service.sign_in import SECONDS, Link
from tests.service.conftest import Running, serving
from tools.security.without_network import asked

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


def ask(
    running: Running, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    """Send one request as any client might."""
    raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    connection = http.client.HTTPConnection(urlsplit(running.url).netloc, timeout=30)
    try:
        connection.request(method, path, body=raw, headers=headers or {})
        response = connection.getresponse()
        told = {name.lower(): value for name, value in response.getheaders()}
        return response.status, told, response.read()
    finally:
        connection.close()


def path_of(route: Route) -> str:
    return route.path.format(dataset="clinic", entry="1", code="x", job="x", question="1", person="x", name="x")


#: Tokens by service and person: made once for all routes.
TOKENS: dict[tuple[str, str], str] = {}
PROTECTED = [route for route in ROUTES if route.roles is not None]


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("route", PROTECTED, ids=lambda route: route.name)
def test_whoever_shows_no_token_that_holds_is_told_one_thing(
    running: Running, route: Route, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running.service._limits, "admits_stranger", lambda _: True)
    held = running.token("held")
    gone = running.token("gone")
    running.people.revoke_token(gone.split("_")[1])
    old = People(running.curator, clock=lambda: datetime.now(UTC) - timedelta(days=100)).new_token("held")
    left = running.token("left")
    running.people.remove("left")
    cases = [
        *({}, {"Authorization": "Bearer"}, {"Authorization": f"Basic {held}"}, bearer("x"), bearer("dither__")),
        *(bearer(gone), bearer(old), bearer(left), bearer(held[:-1]), bearer(f"{held}x"), bearer(held.upper())),
    ]
    told = set()
    for headers in cases:
        status, answered, content = ask(running, route.method, path_of(route), {} if route.body else None, headers)
        told.add((status, answered["www-authenticate"], content))
    assert len(told) == 1
    assert next(iter(told))[0] == 401


@pytest.mark.parametrize("route", PROTECTED, ids=lambda route: route.name)
def test_a_role_and_a_scope_reach_what_the_table_says(running: Running, route: Route) -> None:
    assert route.roles is not None
    for role, scope in itertools.product(Role, Scope):
        name = f"{role.value} {scope.value}"
        token = TOKENS.get((running.url, name))
        if token is None:
            running.people.add(name, role)
            token = TOKENS[running.url, name] = running.people.new_token(name, scopes=(scope,))
        status, _, _ = ask(running, route.method, path_of(route), {} if route.body else None, bearer(token))
        is_let_in = role in route.roles and scope is route.scope
        assert (status != 403) == is_let_in, (role, scope)


@pytest.mark.parametrize(
    "route",
    [route for route in PROTECTED if "{dataset}" in route.path and Role.ANALYST in (route.roles or ())],
    ids=lambda one: one.name,
)
def test_what_is_not_yours_is_not_there(running: Running, route: Route) -> None:
    token = running.token("curious", quota=None)
    body = {"verb": "sql", "words": {"text": COUNT}, "loss": {"kind": "pure", "epsilon": "1"}} if route.body else None
    if route.name == "release":
        body = {"verb": "sql", "words": {"text": COUNT, "epsilon": 1}}
    told = set()
    for name in ("clinic", "hidden", "nowhere", "CLINIC", "..", "%00", "a%2Fb", "clinic%27"):
        status, _, content = ask(running, route.method, path_of(route).replace("clinic", name), body, bearer(token))
        told.add((status, content) if name in ("clinic", "hidden", "nowhere", "CLINIC") else (status, b""))
    assert {status for status, _ in told} == {404}
    assert len({content for _, content in told if content}) == 1


BODIES: list[tuple[Any, int]] = [
    (b"", 400),
    (b"[]", 400),
    (b"{", 400),
    (b'{"verb": "sql", "verb": "sql", "words": {}}', 400),
    (b'{"verb": "sql", "words": {"text": "x", "epsilon": 1e400}}', 400),
    (b'{"verb": "sql", "words": {"text": "x", "epsilon": NaN}}', 400),
    (b'{"verb": "sql", "words": {"text": "x", "epsilon": ' + b"9" * 5000 + b"}}", 400),
    (b"[" * 100_000, 400),
    (json.dumps({"verb": "sql", "words": {"text": COUNT, "epsilon": 1}}).encode("utf-16"), 400),
    (b"\xef\xbb\xbf" + json.dumps({"verb": "sql", "words": {"text": COUNT, "epsilon": 1}}).encode(), 400),
    (b'{"verb": "sql", "words": {"text": "SELECT COUNT(*) AS \\"\\ud800\\" FROM visits", "epsilon": 1}}', 400),
    (b'{"verb": "\\udfff", "words": {}}', 400),
    (b'{"\\ud83d": 1}', 400),
    ({"verb": "sql"}, 400),
    ({"verb": "open", "words": {}}, 400),
    ({"verb": "__class__", "words": {}}, 400),
    ({"verb": "sql", "words": []}, 400),
    ({"verb": "sql", "words": {}, "more": 1}, 400),
    ({"verb": "sql", "words": {"text": 1, "epsilon": 1}}, 400),
    ({"verb": "sql", "words": {"text": COUNT, "epsilon": 1, "key": "k"}}, 400),
    ({"verb": "sql", "words": {"text": COUNT, "epsilon": {"number": "1e999999"}}}, 400),
    ({"verb": "sql", "words": {"text": COUNT, "epsilon": {"code": "1"}}}, 400),
    ({"verb": "sql", "words": {"text": COUNT, "epsilon": 1, "colour": "red"}}, 400),
    ({"verb": "sql", "words": {"text": "SELECT * FROM read_csv('/etc/passwd')", "epsilon": 1}}, (400, 404, 422)),
    ({"verb": "sql", "words": {"text": "EXPLAIN PRIVACY " + COUNT, "epsilon": 1}}, 400),
    ({"verb": "fit", "words": {"estimator": {"estimator": "os", "parameters": {}}, "table": "visits"}}, 400),
    ({"verb": "fit", "words": {"estimator": {"estimator": "PrivateSearch", "parameters": {}}, "table": "visits"}}, 400),
    ({"verb": "method", "words": {"method": {"spec": {"mechanism": "no"}}, "source": 1}}, 400),
    ({"verb": "histogram", "words": {"table": "visits", "columns": "ward", "epsilon": 1, "bins": {"map": [[1]]}}}, 400),
]


@pytest.mark.parametrize(("body", "wanted"), BODIES)
def test_a_bad_body_is_refused_in_words_and_nothing_is_debited(running: Running, body: Any, wanted: Any) -> None:
    token = running.token("clumsy")
    status, told, content = ask(running, "POST", "/v1/datasets/clinic/releases", body, bearer(token))
    assert status in (wanted if isinstance(wanted, tuple) else (wanted,)), content
    assert told["content-type"].startswith("application/problem+json")
    assert len(json.loads(content)["detail"]) > 10
    assert running.curator.ledger.balance("clinic", "clumsy").releases == 0


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("sql", {"text": COUNT, "epsilon": 1, "colour": "red"}),
        ("sql", {"text": {"map": []}, "epsilon": 1}),
        ("sql", {"text": "SELECT SUM(CLAMP(waited, AUTO)) AS w FROM visits", "epsilon": 1, "colour": "red"}),
        ("histogram", {"table": "visits", "columns": "ward", "epsilon": 1, "non_negative": {"number": "1/3"}}),
        ("ask", {"epsilon": 1}),
        ("ask", {"query": 5, "epsilon": 1}),
    ],
)
@pytest.mark.parametrize("route", ["releases", "quotes"])
def test_words_of_other_kinds_are_refused_before_anything_is_debited(
    running: Running, route: str, verb: str, words: Any
) -> None:
    body = {"verb": verb, "words": words}
    token = running.token("wordy")
    status, _, content = ask(running, "POST", f"/v1/datasets/clinic/{route}", body, bearer(token))
    # A price needs no digest, and may be told of what cannot be asked.
    assert status == 400 or (route, verb, status) == ("quotes", "histogram", 200)
    assert status == 200 or json.loads(content)["title"] == "InvalidParameter"


def test_bodies_and_headers_have_limits(running: Running) -> None:
    token = running.token("large")
    path = "/v1/datasets/clinic/releases"
    assert ask(running, "POST", path, b" " * (2**20 + 1), bearer(token))[0] == 413
    assert ask(running, "POST", path, b"x", bearer(token) | {"Content-Encoding": "gzip"})[0] == 415
    assert ask(running, "POST", path, {}, bearer(token) | {"Idempotency-Key": "k" * 10_000})[0] == 400
    assert ask(running, "POST", path, {}, bearer(token) | {"Idempotency-Key": "same-x"})[0] == 400
    try:
        status, _, _ = ask(running, "GET", "/healthz", None, {"X": "y" * 40_000})
    except (http.client.HTTPException, OSError):
        status = 400  # cut off before it could be told
    assert status in (400, 431)


WHOLE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.mark.parametrize(
    ("before", "slow"),
    [
        (b"", b"GET /healthz HT"),
        (WHOLE, b"GET /healthz HT"),
        (b"", b"POST /v1/datasets/clinic/quotes HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n%s\r\n{"),
        (WHOLE, b"POST /v1/datasets/clinic/quotes HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n%s\r\n{"),
    ],
)
@pytest.mark.parametrize("is_pipelined", [True, False])
def test_a_client_that_sends_a_byte_at_a_time_is_cut_off(
    running: Running, monkeypatch: pytest.MonkeyPatch, before: bytes, slow: bytes, is_pipelined: bool
) -> None:
    monkeypatch.setattr(server_module, "HEADER_SECONDS", 0.2)
    monkeypatch.setattr(server_module, "BODY_SECONDS", 0.2)
    if b"%s" in slow:
        slow %= f"Authorization: Bearer {running.token('slow')}\r\n".encode()
    host, port = urlsplit(running.url).hostname, urlsplit(running.url).port
    with socket.create_connection((host, port), timeout=10) as connection:
        if before and not is_pipelined:
            connection.sendall(before)
            told = b""
            while b"alive" not in told:
                told += connection.recv(10_000)
            before = b""
        connection.sendall(before + slow)
        # It ends by the server's deadline and not by ours, nor by the longer one for idle connections.
        while connection.recv(10_000):
            pass


def test_nothing_that_was_asked_is_written_to_the_log(running: Running) -> None:
    token = running.token("canary")
    body = {"verb": "sql", "words": {"text": COUNT + " -- kanarienvogel", "epsilon": 1}}
    headers = bearer(token) | {"X-Canary": "kanarienvogel", "Idempotency-Key": "kanarienvogel"}
    status, _, _ = ask(running, "POST", "/v1/datasets/clinic/releases", body, headers)
    assert status == 200
    ask(running, "GET", "/v1/datasets/clinic/card?x=kanarienvogel", None, headers)
    written = running.log.getvalue()
    assert "canary" in written
    assert "kanarienvogel" not in written
    assert token not in written


def test_an_answer_comes_as_it_was_stored_or_as_a_table(running: Running) -> None:
    token = running.token("forms")
    body = {"verb": "sql", "words": {"text": COUNT, "epsilon": 1}}
    _, told, content = ask(running, "POST", "/v1/datasets/clinic/releases", body, bearer(token))
    where = told["location"]
    assert ask(running, "GET", where, None, bearer(token))[2] == content
    status, headers, table = ask(running, "GET", f"{where}.csv", None, bearer(token))
    assert (status, headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert table.decode().splitlines()[0].startswith('"ward","visits"')
    assert ask(running, "GET", f"{where}999", None, bearer(token))[0] == 404


def test_what_is_not_in_the_table_of_routes_cannot_be_reached(running: Running) -> None:
    token = running.token("paths")
    assert ask(running, "HEAD", f"/sign-in/{running.link.code}")[0] == 405
    assert ask(running, "HEAD", "/v1/me", None, bearer(token))[0] == 405
    assert ask(running, "GET", "/v1/me/", None, bearer(token))[0] == 404
    for route in ("room", "quotes", "releases"):
        body = {"verb": "sql", "words": {"text": COUNT, "epsilon": 1}, "loss": {"kind": "pure", "epsilon": "1"}, "x": 1}
        assert ask(running, "POST", f"/v1/datasets/clinic/{route}", body, bearer(token))[0] == 400


def test_names_that_no_database_takes_are_not_there(running: Running) -> None:
    """A PostgreSQL ledger would otherwise be called broken by whoever asks for a text with a character of value 0."""
    token = running.token("zero", "curator")
    for route in ROUTES:
        for name in [part[1:-1] for part in route.path.split("/") if part.startswith("{")]:
            names = {"dataset": "clinic", "entry": "1", "code": "x", "job": "x", "question": "1", "person": "x"}
            path = route.path.format(**({"name": "x"} | names | {name: "a%00b"}))
            body = {} if route.body else None
            assert ask(running, route.method, path, body, bearer(token))[0] == 404, path
    body = {"person": "a\0b", "quota": {"kind": "pure", "epsilon": "1"}}
    assert ask(running, "POST", "/v1/datasets/clinic/grants", body, bearer(token))[0] == 404


def test_whoever_needs_no_token_waits_in_the_line_of_their_address(running: Running) -> None:
    """A stranger who asks for heads without end keeps nobody else from them, nor from hearing that all is well."""
    settings = Settings(timing="off", requests_per_second=1)
    service = Service(running.service.desk, settings, Log(io.StringIO()))
    application, seen = service.application(), []
    read = service._read
    service._read = lambda line, work: seen.append(line) or read(line, work)  # type: ignore[func-returns-value]

    async def all_of_it() -> list[int]:
        paths = ["/v1/checkpoint", "/v1/key", "/readyz", "/v1/published", "/healthz", "/healthz"]
        told = [(await asked(application, "GET", path, {}))[0] for path in paths]
        service._readers.close(1)
        service._doors.close(1)
        service._releasing.close(1)
        return told

    assert asyncio.run(all_of_it()) == [200, 200, 429, 429, 200, 200]
    assert set(seen) == {"\n127.0.0.1"}


def test_as_much_is_read_for_a_name_of_others_as_for_one_of_nothing(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = running.people.authenticate(running.token("counted"))
    assert held is not None
    look, looks, seen = type(running.curator.ledger)._look, [], []
    monkeypatch.setattr(
        type(running.curator.ledger), "_look", lambda books, work: looks.append(work.__qualname__) or look(books, work)
    )
    # What the books say is remembered until anything is decided: the first call reads more, whatever it is about.
    for name in ("elsewhere", "hidden", "nowhere"):
        looks.clear()
        with pytest.raises(NotFound):
            running.service.desk._session(held, name)
        seen.append(tuple(looks))
    assert seen[1] == seen[2]
    assert seen[1]


def test_the_link_works_once_and_for_ten_minutes(running: Running) -> None:
    now = [0.0]
    late = Link(running.people, clock=lambda: now[0])
    now[0] = SECONDS + 1
    assert late.token(late.code or "") is None
    code = running.link.code
    assert ask(running, "GET", f"/sign-in/{code}x")[0] == 410
    status, _, page = ask(running, "GET", f"/sign-in/{code}")
    assert status == 200
    token = page.decode().replace("<wbr>", "").split("<code>")[1].split("</code>")[0]
    assert ask(running, "GET", f"/sign-in/{code}")[0] == 410
    assert json.loads(ask(running, "GET", "/v1/me", None, bearer(token))[2])["role"] == "curator"


def test_whoever_guesses_tokens_waits(running: Running) -> None:
    limits = running.service._limits
    assert all(limits.admits_stranger("127.0.0.9") for _ in range(20))
    assert not limits.admits_stranger("127.0.0.9")
    assert limits.admits_stranger("127.0.0.8")


def test_everybody_finds_what_there_is(running: Running) -> None:
    status, _, content = ask(running, "GET", "/v1/openapi.json")
    assert status == 200
    told = json.loads(content)
    assert told == json.loads(json.dumps(openapi(told["info"]["version"])))
    assert sum(len(operations) for operations in told["paths"].values()) == len(ROUTES)
    assert ask(running, "GET", "/healthz")[0] == ask(running, "GET", "/readyz")[0] == 200
    assert ask(running, "GET", "/v2")[0] == 404
    assert ask(running, "DELETE", "/v1/datasets")[0] == 405


def test_the_books_are_read_by_those_who_may(running: Running) -> None:
    token = running.token("eve", "auditor", quota=None)
    told = json.loads(ask(running, "GET", "/v1/ledger/verification", None, bearer(token))[2])
    assert told["is_intact"]
    page = json.loads(ask(running, "GET", "/v1/ledger/entries?after=1", None, bearer(token))[2])
    assert page["entries"][0]["number"] == 2
    with pytest.raises(InvalidParameter, match="spends nothing"):
        running.people.grant("eve", "clinic", running.curator.ledger.balance("clinic").left)


def test_a_refused_value_is_told_to_somebody_who_typed_it() -> None:
    for value, said in (("epsilon = 0.2", "got 'epsilon = 0.2'"), (None, "got nothing")):
        again = error_of(problem_of(InvalidParameter("loss", value, "at most epsilon = 0.1")).to_dict())
        assert isinstance(again, InvalidParameter)
        assert refusal_words(again) == f"loss must be at most epsilon = 0.1, {said}"


def test_settings_are_read_from_file_and_environment_and_refused_by_name() -> None:
    found = read_settings({"port": 9000, "requests per second": 5}, {"host": "localhost"}, {"DITHER_SERVICE_PORT": "1"})
    assert (found.port, found.requests_per_second, found.host) == (1, 5, "localhost")
    for section in ({"colour": 1}, {"port": "x"}, {"timing": "fast"}, {"host": "192.0.2.1"}, {"certificate": "c"}):
        with pytest.raises(InvalidParameter):
            read_settings(section, {}, {})
    assert not read_settings({"host": "192.0.2.1", "proxy": "nginx"}, {}, {}).is_local
    assert Settings().to_dict()["timing"] == "buckets"


def test_lines_are_served_in_turn_and_have_a_limit() -> None:
    pool = FairPool(1, "test")
    gate, order = threading.Event(), []
    pool.submit("a", gate.wait)
    futures = [pool.submit("a", lambda: order.append("a")) for _ in range(3)]
    futures += [pool.submit("b", lambda: order.append("b"))]
    gate.set()
    for future in futures:
        future.result(30)
    assert order.index("b") <= 1
    stop = threading.Event()
    pool.submit("c", stop.wait)
    for _ in range(LONGEST_LINE):
        pool.submit("d", lambda: None)
    with pytest.raises(LineFull):
        pool.submit("d", lambda: None)
    pool.drop()
    stop.set()
    assert pool.close(30)
    with pytest.raises(LineFull):
        pool.submit("e", lambda: None)


def test_whoever_asks_what_takes_long_leaves_workers_to_others() -> None:
    pool, gate = FairPool(4, "test"), threading.Event()
    try:
        slow = [pool.submit("a", gate.wait) for _ in range(20)]
        assert pool.submit("b", lambda: "at once").result(30) == "at once"
        assert sum(one.running() for one in slow) <= 2
    finally:
        gate.set()
    assert all(one.result(30) for one in slow)
    assert FairPool(1, "test").submit("a", lambda: 1).result(30) == 1


def test_the_page_of_the_wire_is_made_of_the_table() -> None:
    from tools.api import PAGE, page

    assert PAGE.read_text(encoding="utf-8") == page()


def test_a_service_erases_secrets_while_nothing_is_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that only answers reads would otherwise hold the secrets of an hour until it is stopped."""
    erased = threading.Event()
    monkeypatch.setattr(Curator, "erase_secrets", lambda _: erased.set())
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        for _ in serving(curator, Settings(port=0, timing="off")):
            assert erased.wait(60)
