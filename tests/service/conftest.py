"""A clinic behind a service that listens on this machine, in a thread, and people with tokens."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="the extra 'service' is not installed")

from dither.curator.folder import Curator
from dither.curator.people import People
from dither.privacy import PureDP
from dither.service.app import Service
from dither.service.client import Connection, connect
from dither.service.desk import desk_of
from dither.service.logs import Log
from dither.service.server import Server
from dither.service.settings import Settings
from dither.service.sign_in import Link
from tests.curator.conftest import ROWS, SCHEMA
from tests.service.told import watched


@dataclass
class Running:
    """A service that listens, and what stands behind it."""

    url: str
    curator: Curator
    people: People
    service: Service
    link: Link
    log: io.StringIO

    def token(self, name: str, role: str = "analyst", *, quota: Any = 5, **terms: Any) -> str:
        """Declare a person, let them ask, and return their token."""
        self.people.add(name, role)
        if quota is not None:
            self.people.grant(name, "clinic", PureDP(quota), **terms)
        return self.people.new_token(name)

    def connect(self, name: str, **terms: Any) -> Connection:
        """Return a connection of a person who may ask."""
        return connect(self.url, self.token(name, **terms))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder: Path = tmp_path_factory.mktemp("served")
    (folder / "visits.csv").write_text(ROWS)
    (folder / "clinic.yaml").write_text(SCHEMA)
    (folder / "hidden.yaml").write_text(
        SCHEMA.replace("dataset: clinic", "dataset: hidden").replace("visits.csv", "other.csv")
    )
    (folder / "other.csv").write_text(ROWS.replace("heart", "skin"))
    with Curator.create(folder / "home", anchors=folder / "anchors") as curator:
        curator.add(folder / "clinic.yaml", budget=PureDP(1_000_000))
        curator.add(folder / "hidden.yaml", budget=PureDP(1))
        yield from serving(curator, Settings(port=0, timing="off", requests_per_second=10_000))


def serving(curator: Curator, settings: Settings) -> Iterator[Running]:
    """Serve a folder in a thread until the test is done."""
    desk = desk_of(curator, settings)
    log, ports = io.StringIO(), []
    link = Link(desk.people)
    service = Service(desk, settings, Log(log), link)
    differs = watched(service)
    is_up = threading.Event()

    def ready(port: int) -> None:
        ports.append(port)
        is_up.set()

    server = Server(service, settings, ready)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert is_up.wait(30)
        yield Running(f"http://127.0.0.1:{ports[0]}", curator, desk.people, service, link, log)
    finally:
        server.should_exit = True
        thread.join()
    assert differs == []
