"""Requests of which two readers could make two different ones are refused, and the connection ends with them."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import pytest

from dither.service.routes import ROUTES
from tests.service.conftest import Running
from tests.service.test_door import ask, bearer, path_of

PATH = "/v1/datasets/clinic/room"
BODY = b'{"loss": {"kind": "pure", "epsilon": "1"}}'
HIDDEN = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)


def sent(running: Running, content: bytes) -> list[bytes]:
    """Send bytes as they are, and return the answers until the server closes, or until nothing more is asked."""
    place = urlsplit(running.url)
    with socket.create_connection((place.hostname, place.port), timeout=10) as connection:
        connection.sendall(content)
        told = b""
        while part := connection.recv(10_000):
            told += part
    return told.split(b"HTTP/1.1 ")[1:]


def post(token: str, lines: str, body: bytes, version: str = "1.1") -> bytes:
    head = f"POST {PATH} HTTP/{version}\r\nHost: x\r\nAuthorization: Bearer {token}\r\n{lines}\r\n"
    return head.encode() + body


@pytest.mark.parametrize(
    ("lines", "body", "version"),
    [
        (f"Content-Length: {len(CHUNKED)}\r\nTransfer-Encoding: chunked\r\n", CHUNKED, "1.1"),
        (f"Transfer-Encoding: chunked\r\nContent-Length: {len(CHUNKED)}\r\n", CHUNKED, "1.1"),
        ("content-length: 0\r\ntransfer-encoding: CHUNKED\r\n", CHUNKED, "1.1"),
        ("Content-Length: 4\r\nTransfer-Encoding: gzip, chunked\r\n", CHUNKED, "1.1"),
        ("Transfer-Encoding: chunked\r\n", CHUNKED, "1.0"),
        (f"Content-Length: {len(CHUNKED)}\r\nTransfer-Encoding: chunked\r\n", CHUNKED, "1.0"),
        (f"Content-Length: {len(BODY)}\r\nContent-Length: 4\r\n", BODY, "1.1"),
        (f"Content-Length: {len(BODY)}, 4\r\n", BODY, "1.1"),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", CHUNKED, "1.1"),
        ("Transfer-Encoding: identity\r\n", BODY, "1.1"),
        ("Content-Length: +4\r\n", BODY, "1.1"),
    ],
)
def test_a_length_that_could_be_read_in_two_ways_is_refused_and_the_connection_closed(
    running: Running, lines: str, body: bytes, version: str
) -> None:
    answers = sent(running, post(running.token("framed"), lines, body, version) + HIDDEN)
    # One answer alone: what stood behind the body is never taken for a request of its own.
    assert len(answers) == 1
    head, _, content = answers[0].partition(b"\r\n\r\n")
    assert head.startswith(b"400 ")
    assert b"connection: close" in head.lower()
    assert b"application/problem+json" in head
    assert json.loads(content)["title"] == "MalformedRequest"


def test_each_way_alone_is_read_and_the_connection_goes_on(running: Running) -> None:
    token = running.token("framed")
    last = HIDDEN.replace(b"Host: x", b"Host: x\r\nConnection: close")
    whole = post(token, f"Content-Length: {len(BODY)}\r\n", BODY) + post(
        token, "Transfer-Encoding: chunked\r\n", CHUNKED
    )
    answers = sent(running, whole + last)
    assert [answer[:3] for answer in answers] == [b"200", b"200", b"200"]


@pytest.mark.parametrize(
    "lines",
    [
        "Authorization: Bearer {0}\r\nAuthorization: Bearer {0}\r\n",
        "Authorization: Bearer x\r\nauthorization: Bearer {0}\r\n",
        "Authorization: Bearer {0}\r\nAuthorization: Basic x\r\n",
        "Authorization: Bearer {0}\r\nContent-Encoding: identity\r\nContent-Encoding: gzip\r\n",
        "Authorization: Bearer {0}\r\nContent-Encoding: identity\r\ncontent-encoding: identity\r\n",
        "Authorization: Bearer {0}\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\n",
        "Authorization: Bearer {0}\r\nContent-Type: application/json\r\nContent-Type: text/plain\r\n",
        "Authorization: Bearer {0}\r\nOrigin: http://x\r\nOrigin: http://y\r\n",
        "Authorization: Bearer {0}\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: cross-site\r\n",
    ],
)
def test_a_header_that_may_be_there_once_is_refused_where_it_is_there_twice(running: Running, lines: str) -> None:
    token = running.token("twice")
    head = f"POST {PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(BODY)}\r\n"
    [answer] = sent(running, head.encode() + lines.format(token).encode() + b"\r\n" + BODY)
    head, _, content = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"400 ")
    assert json.loads(content)["parameter"] == "header"


@pytest.mark.parametrize("method", ["TRACE", "HEAD", "PUT", "PATCH", "OPTIONS", "FOO", "get"])
def test_methods_that_a_path_does_not_have_are_405_and_those_it_has_are_named(running: Running, method: str) -> None:
    for path in {path_of(route) for route in ROUTES}:
        allowed = sorted({route.method for route in ROUTES if path_of(route) == path})
        status, told, content = ask(running, method, path)
        assert (status, told["allow"]) == (405, ", ".join(allowed)), path
        assert told["x-content-type-options"] == "nosniff"
        if method != "HEAD":
            assert json.loads(content)["title"] == "MethodNotAllowed"
    # A method of another route of the same path is carried out, or asks for a token.
    assert ask(running, "DELETE", "/v1/me")[0] == 405
    assert ask(running, "POST", "/v1/me")[1]["allow"] == "GET"


def test_what_is_no_path_is_404_unless_the_method_is_none_of_ours(running: Running) -> None:
    for method in ("GET", "POST", "DELETE"):
        assert ask(running, method, "/nowhere")[0] == 404
    status, told, _ = ask(running, "TRACE", "/nowhere", None, bearer(running.token("lost")))
    assert (status, told["allow"]) == (405, "DELETE, GET, POST")


@pytest.mark.parametrize("line", ["CONNECT here:80", "OPTIONS *", "TRACE *", "TRACE http://x/healthz", "M-SEARCH *"])
def test_methods_with_targets_of_their_own_are_405(running: Running, line: str) -> None:
    [answer] = sent(running, f"{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    head, _, content = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"405 ")
    assert b"\r\nallow: DELETE, GET, POST" in head
    assert json.loads(content)["title"] == "MethodNotAllowed"
