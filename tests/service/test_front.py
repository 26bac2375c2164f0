"""What a person finds at the root of a service: pages that are made of the table, and name no data."""

from __future__ import annotations

import dataclasses
import html
import json
import re

import pytest

from dither.service.front import docs_page, home_page
from dither.service.routes import ROUTES
from tests.service.conftest import Running
from tests.service.test_door import ask, bearer


def texts(page: str) -> str:
    return html.unescape(re.sub(r"<style>.*?</style>|<[^>]*>", "", page, flags=re.DOTALL))


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_a_page_is_for_everybody_and_needs_nothing_from_outside(running: Running, path: str) -> None:
    status, headers, content = ask(running, "GET", path)
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in headers["content-security-policy"]
    page = content.decode()
    for outside in ("<script", "src=", "@import", "url(", "onclick", "javascript:", "<iframe", "<form"):
        assert outside not in page.lower()
    # It leads to paths of the service and to places on the page.
    places = re.findall(r'href="([^"]*)"', page)
    assert places
    assert all(place.startswith(("/", "#")) and not place.startswith("//") for place in places)
    for place in {place for place in places if place.startswith("/") and place != "/sign-in"}:
        assert ask(running, "GET", place)[0] == 200, place
    for anchor in {place[1:] for place in places if place.startswith("#")}:
        assert f'id="{anchor}"' in page
    # Neither with a token nor without does it name what is private here.
    again = ask(running, "GET", path, None, bearer(running.token("front", "curator")))[2].decode()
    for shown in (page, again):
        assert not any(name in shown for name in ("clinic", "hidden", "front", str(running.curator.folder)))
    assert ask(running, "GET", path, None, {"If-None-Match": headers["etag"]})[0] == 304


def test_the_table_of_routes_stands_on_a_page() -> None:
    said = texts(docs_page())
    for route in ROUTES:
        assert f"{route.method} {route.path}" in said
        assert route.summary in said
        assert all(schema["description"] in said for schema in route.query.values())
        if route.body is not None:
            assert json.dumps(route.body, indent=1) in said


def test_both_addresses_of_openapi_are_the_same(running: Running) -> None:
    first, again = (ask(running, "GET", path) for path in ("/openapi.json", "/v1/openapi.json"))
    assert first[0] == 200
    assert first[2] == again[2]
    assert first[1]["etag"] == again[1]["etag"]


def test_the_page_says_where_it_was_found(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"{running.url}/v1/datasets" in texts(ask(running, "GET", "/")[2].decode())
    for host in ("x'y", "<b>", "a b", "x/y", "a@b", "x" * 300, ""):
        page = ask(running, "GET", "/", None, {"Host": host})[2].decode()
        assert "http://127.0.0.1:0/v1/datasets" in texts(page), host
    for host in ("dither.example.org", "dither.example.org:8443", "[::1]:8077"):
        assert f"http://{host}/v1/datasets" in texts(ask(running, "GET", "/", None, {"Host": host})[2].decode())
    known = {"oidc_issuer": "https://login.example", "oidc_client": "c", "address": "https://dither.example.org"}
    settings = dataclasses.replace(running.service.settings, **known)
    monkeypatch.setattr(running.service, "settings", settings)
    page = ask(running, "GET", "/", None, {"Host": "evil.example"})[2].decode()
    assert "https://dither.example.org/v1/datasets" in texts(page)
    assert "evil" not in page


def test_whoever_can_sign_in_is_told_where() -> None:
    assert 'href="/sign-in"' in home_page("http://x", has_issuer=True)
    assert "dither login http://x" in texts(home_page("http://x", has_issuer=True))
    assert "/sign-in" not in home_page("http://x", has_issuer=False)
    assert "<script>" not in home_page("<script>", has_issuer=True)


def test_a_link_gives_a_program_its_token_as_text(running: Running) -> None:
    path = f"/sign-in/{running.link.code}"
    status, headers, content = ask(running, "GET", path, None, {"Accept": "text/plain"})
    assert (status, headers["content-type"], "set-cookie" in headers) == (200, "text/plain; charset=utf-8", False)
    assert ask(running, "GET", "/v1/me", None, bearer(content.decode().strip()))[0] == 200
    assert ask(running, "GET", path, None, {"Accept": "text/plain"})[0] == 410
