"""The tests of a session, of a session elsewhere: over the whole service, without a socket between.

A file here takes the tests of a file of ``tests/curator`` as they are. What that one calls ``session`` is ``here`` in
this one, and ``session`` is a session elsewhere of the same analyst, of the same curator, about the same rows.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import threading
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra 'service' is not installed")

from dither.curator.folder import Curator
from dither.curator.people import People
from dither.curator.session import Session
from dither.service.app import Service
from dither.service.client import Connection, RemoteSession
from dither.service.desk import desk_of
from dither.service.logs import Log
from dither.service.settings import Settings
from dither.service.transport import Reply, Transport
from tests.curator import conftest as curators
from tests.service.told import watched
from tools.security.without_network import asked

folder, curator, importing = curators.folder, curators.curator, curators.importing


class Direct(Transport):
    """A transport that hands requests to an application in this process."""

    def __init__(self, application: Any, loop: asyncio.AbstractEventLoop, token: str) -> None:
        super().__init__("http://127.0.0.1", token)
        self._application, self._loop = application, loop

    def _once(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str | bytes]) -> Reply:
        small = {name.lower(): value for name, value in headers.items()}
        work = asked(self._application, method, path, small, body or b"")
        return Reply(*asyncio.run_coroutine_threadsafe(work, self._loop).result())


@pytest.fixture(scope="session")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    thread = threading.Thread(target=made.run_forever)
    thread.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    thread.join()
    made.close()


Elsewhere = Callable[[Session], RemoteSession]


@pytest.fixture
def elsewhere(loop: asyncio.AbstractEventLoop) -> Iterator[Elsewhere]:
    """Return what makes a session elsewhere of one that is here."""
    services: list[Service] = []
    differs: list[list[str]] = []

    def made(session: Session) -> RemoteSession:
        curator: Curator = session.curator
        settings = Settings(timing="off", requests_per_second=100_000, releasing=2)
        desk = desk_of(curator, settings)
        services.append(Service(desk, settings, Log(io.StringIO())))
        differs.append(watched(services[-1]))
        # Nobody is called as the owner of the rows is.
        name = "ana" if session.account.analyst == "curator" else session.account.analyst
        People(curator).add(name, "analyst")
        desk.people.grant(name, session.called, curator.ledger.balance(session.dataset.name).budget)
        transport = Direct(services[-1].application(), loop, desk.people.new_token(name))
        return Connection(transport).session(session.called)

    yield made
    for service in services:
        asyncio.run_coroutine_threadsafe(service.stop(), loop).result()
    assert [what for found in differs for what in found] == []


@pytest.fixture
def here(curator: Curator) -> Iterator[Session]:
    """The session where the rows are; a file whose session is another one says so."""
    with curator.session("clinic", analyst="ana") as opened:
        yield opened


@pytest.fixture
def session(here: Session, elsewhere: Elsewhere) -> RemoteSession:
    return elsewhere(here)


def shared_by(module: ModuleType, left_out: Mapping[str, str], *, fixture: str = "session") -> dict[str, Any]:
    """Return the tests of a file that ask a session, but for those that are left out, each for a reason.

    Args:
        module: the file.
        left_out: why, by name.
        fixture: what the file calls its session.

    """
    found = {
        name: test
        for name, test in vars(module).items()
        if name.startswith("test_") and fixture in inspect.signature(test).parameters
    }
    unknown = left_out.keys() - found.keys()
    assert not unknown, f"there is no such test: {unknown}"
    return {name: test for name, test in found.items() if name not in left_out}
