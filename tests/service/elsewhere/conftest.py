"""The tests of a session, of a session elsewhere: over the whole service, without a socket between.

A file here takes the tests of a file of ``tests/curator`` as they are. What that one calls ``session`` is ``here`` in
this one, and ``session`` is a session elsewhere of the same analyst, of the same curator, about the same rows. Where a
test opens its sessions itself, ``opened_elsewhere`` lets it open such ones. A test may look behind the service, at the
books that it writes and at the tables that it reads; a session elsewhere cannot.

What is elsewhere is the way there and back. So of each file as many tests are taken as call everything that the file
calls: each verb goes over the service in one test at least, and each of its results is asked everything. With
DITHER_WHOLE set all tests are taken; ``make security`` sets it.
"""

from __future__ import annotations

import asyncio
import inspect
import io
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra 'service' is not installed")

from dither.curator.access import curator_of
from dither.curator.folder import Curator
from dither.curator.people import People
from dither.curator.session import Session
from dither.service.app import Service
from dither.service.client import Connection, RemoteSession
from dither.service.desk import _beside, desk_of
from dither.service.logs import Log
from dither.service.settings import Settings
from dither.service.transport import Reply, Transport
from tests.curator import conftest as curators
from tests.service.told import watched
from tools.security.without_network import asked

folder, curator, importing = curators.folder, curators.curator, curators.importing
from_here = curators.from_here
noiseless_here = curators.noiseless


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


class Behind:
    """The curator of a session elsewhere, as that session knows them; tests are shown the true ledger.

    Args:
        known: what the session knows.
        curator: whom the service asks.

    """

    def __init__(self, known: Any, curator: Curator) -> None:
        self._known, self._curator = known, curator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._known, name)

    @property
    def ledger(self) -> Any:
        return (self._curator if _asked_by("tests.") else self._known).ledger


def _asked_by(modules: str) -> bool:
    """Whether what calls the caller of this is in one of some modules, by how their names begin."""
    return str(sys._getframe(2).f_globals["__name__"]).startswith(modules)


class Served:
    """A curator behind a service, in this process.

    Args:
        curator: whom it asks.
        loop: where it runs.

    """

    def __init__(self, curator: Curator, loop: asyncio.AbstractEventLoop) -> None:
        settings = Settings(timing="off", requests_per_second=100_000, releasing=2)
        self.curator, self._desk, self._loop = curator, desk_of(curator, settings), loop
        self._service = Service(self._desk, settings, Log(io.StringIO()))
        self._differs = watched(self._service)
        self._application = self._service.application()

    def session(self, here: Session, patch: pytest.MonkeyPatch) -> RemoteSession:
        """Return a session elsewhere of whoever has one here, with as much to spend as there is."""
        # Nobody is called as the owner of the rows is.
        name = "owner" if here._account.analyst == "curator" else here._account.analyst
        People(self.curator).add(name, "analyst")
        self._desk.people.grant(name, here._called, self.curator.ledger.balance(here.dataset.name).budget)
        transport = Direct(self._application, self._loop, self._desk.people.new_token(name))
        found: Any = Connection(transport).session(here._called)

        asked = self._desk._session

        def beside(bearer: Any, name: str) -> Session:
            asked(bearer, name)
            return _beside(here, bearer.person.name)

        def tables() -> Any:
            """Open the tables for a test, and let the service read them as the test leaves them."""
            patch.setattr(self._desk, "_session", beside)
            return here._open()

        found._curator, found._open = Behind(found._curator, self.curator), tables
        return found

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._service.stop(), self._loop).result()
        assert self._differs == []


Elsewhere = Callable[[Session], RemoteSession]


@pytest.fixture
def elsewhere(loop: asyncio.AbstractEventLoop) -> Iterator[Elsewhere]:
    """Return what makes a session elsewhere of one that is here."""
    with ExitStack() as held:
        served: dict[Curator, Served] = {}
        patch = held.enter_context(pytest.MonkeyPatch.context())

        def made(session: Session) -> RemoteSession:
            if isinstance(session, RemoteSession):
                return session
            held.callback(session.close)
            if curator_of(session) not in served:
                served[curator_of(session)] = Served(curator_of(session), loop)
                held.callback(served[curator_of(session)].stop)
            return served[curator_of(session)].session(session, patch)

        yield made


@pytest.fixture
def opened_elsewhere(elsewhere: Elsewhere) -> Iterator[None]:
    """Let sessions that tests of a curator open be elsewhere; the service goes on opening its own."""
    real = Curator.session

    def opened(curator: Curator, dataset: str, **how: Any) -> Session:
        found = real(curator, dataset, **how)
        return elsewhere(found) if _asked_by("tests.curator.") else found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Curator, "session", opened)
        yield


@pytest.fixture
def here(curator: Curator) -> Iterator[Session]:
    """The session where the rows are; a file whose session is another one says so."""
    with curator.session("clinic", analyst="ana") as opened:
        yield opened


@pytest.fixture
def session(here: Session, elsewhere: Elsewhere) -> RemoteSession:
    return elsewhere(here)


@pytest.fixture
def noiseless(noiseless_here: Session, elsewhere: Elsewhere) -> RemoteSession:
    return elsewhere(noiseless_here)


def shared_by(module: ModuleType, left_out: Mapping[str, str], *fixtures: str) -> dict[str, Any]:
    """Return the tests of a file that ask a session, but for those that are left out, each for a reason.

    Args:
        module: the file.
        left_out: why, by name.
        fixtures: by which a test comes to its session: ``session``, unless said; ``curator`` where it opens one.

    """
    named = set(fixtures or ("session",))
    found = {
        name: test
        for name, test in vars(module).items()
        if name.startswith("test_") and named & inspect.signature(test).parameters.keys()
    }
    unknown = left_out.keys() - found.keys()
    assert not unknown, f"there is no such test: {unknown}"
    taken = {name: test for name, test in found.items() if name not in left_out}
    return taken if os.environ.get("DITHER_WHOLE") else one_a_verb(taken)


def one_a_verb(tests: Mapping[str, Any]) -> dict[str, Any]:
    """Return as few of some tests as call all that they call together; of equals the first."""
    called = {name: set(re.findall(r"\.(\w+)\(", inspect.getsource(test))) for name, test in tests.items()}
    left, taken = set().union(*called.values()), set[str]()
    while left:
        most = max(called, key=lambda name: len(called[name] & left))
        taken.add(most)
        left -= called[most]
    return {name: test for name, test in tests.items() if name in taken} or dict(tests)
