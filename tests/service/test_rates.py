"""Whose requests are counted: those of the person whose token holds, and else those of the address."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator

import pytest

from dither.errors import LedgerUnavailable
from dither.service.app import Service
from dither.service.limits import Limits
from dither.service.logs import Log
from dither.service.queue import LineFull
from dither.service.settings import Settings
from tests.service.conftest import Running
from tools.security.without_network import asked

WRONG = f"dither_{'0' * 16}_{'x' * 43}"


class Counted:
    """A service that lets two requests through for each who is counted, and never more: its clock stands still."""

    def __init__(self, running: Running) -> None:
        self.service = Service(running.service.desk, Settings(timing="off"), Log(io.StringIO()))
        self.service._limits = Limits(1, clock=lambda: 0.0)
        self._application = self.service.application()

    def ask(self, path: str, token: str | None = None, times: int = 1) -> list[int]:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}

        async def all_of_them() -> list[int]:
            return [(await asked(self._application, "GET", path, headers, b""))[0] for _ in range(times)]

        return asyncio.run(all_of_them())


@pytest.fixture
def counted(running: Running) -> Iterator[Counted]:
    made = Counted(running)
    yield made
    made.service._releasing.close(1)
    made.service._adding.close(1)
    made.service._readers.close(1)
    made.service._doors.close(1)


@pytest.mark.parametrize("path", ["/v1/published", "/v1/key", "/readyz", "/v1/openapi.json"])
def test_a_person_is_counted_where_no_token_is_needed_and_one_is_sent(
    running: Running, counted: Counted, path: str
) -> None:
    ana, ben = running.token("rated ana"), running.token("rated ben")
    assert counted.ask(path, times=3) == [200, 200, 429]
    assert counted.ask(path, WRONG) == [429]
    assert counted.ask(path, ana, times=3) == [200, 200, 429]
    # Neither uses up what others have, at the same address.
    assert counted.ask(path, ben, times=3) == [200, 200, 429]
    assert counted.ask("/healthz", times=5) == [200] * 5


def test_wrong_tokens_use_up_the_address_and_no_person(running: Running, counted: Counted) -> None:
    ana = running.token("rated ana")
    assert counted.ask("/v1/published", WRONG, times=3) == [200, 200, 429]
    assert counted.ask("/v1/me", WRONG, times=21) == [401] * 20 + [429]
    assert counted.ask("/v1/me", ana, times=3) == [200, 200, 429]


def test_a_person_is_counted_before_what_they_may_is_looked_at(running: Running, counted: Counted) -> None:
    ana = running.token("rated ana")
    assert counted.ask("/v1/approvals", ana, times=3) == [403, 403, 429]
    assert counted.ask("/v1/me", ana) == [429]


@pytest.mark.parametrize("failure", [LedgerUnavailable("x", "y"), LineFull()])
def test_what_is_public_is_counted_by_address_where_a_token_cannot_be_looked_up(
    running: Running, counted: Counted, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def broken(_: str) -> None:
        raise failure

    ana = running.token("rated ana")
    monkeypatch.setattr(counted.service.desk.admissions, "known", broken)
    assert counted.ask("/v1/openapi.json", ana, times=3) == [200, 200, 429]


def test_a_flood_of_wrong_tokens_does_not_stand_in_the_line_of_who_was_let_in(
    running: Running, counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, lines = running.token("rated ana"), []
    submit = counted.service._doors.submit

    def noted(line: str, work: object) -> object:
        lines.append(line)
        return submit(line, work)

    # As where the ledger is on a server, and each token is looked up in a thread.
    monkeypatch.setattr(counted.service, "_is_read_at_once", False)
    monkeypatch.setattr(counted.service._doors, "submit", noted)
    assert counted.ask("/v1/me", ana, times=2) == [200, 200]
    assert counted.ask("/v1/me", WRONG) == [401]
    assert lines[0] == lines[2] != lines[1] == "rated ana"
