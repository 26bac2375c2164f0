"""The process that serves a folder: what it refuses to start with, how long it waits for slow clients, how it stops."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from dither.curator.folder import Curator
from dither.errors import InvalidParameter, LedgerUnavailable
from dither.service.app import LONGEST_HEADERS, Service
from dither.service.desk import Desk
from dither.service.logs import Log
from dither.service.settings import Settings
from dither.service.sign_in import Link

HEADER_SECONDS: Final = 5.0
BODY_SECONDS: Final = 20.0
_IDLE_SECONDS: Final = 15
_MOST_CONNECTIONS: Final = 4000


class Deadlined(H11Protocol):
    """A connection that is closed where its headers take more than 5 seconds, or its body more than 20.

    The deadline counts from the first byte of a request on, and no further byte puts it off: on a connection that is
    used again and for requests that are sent before the answer to those before them, too.
    """

    _timer: asyncio.TimerHandle | None = None
    #: What is waited for: the request whose body is, or None for the headers of the next.
    _awaited: Any = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for headers."""
        super().connection_made(transport)
        self._begin(HEADER_SECONDS, None)

    def data_received(self, data: bytes) -> None:
        """Take bytes; the first of a request begins its deadline."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Go on to a request that is here already, whose deadline begins now."""
        super().on_response_complete()
        self._look()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._end()
        super().connection_lost(exc)

    def _look(self) -> None:
        """Begin, keep or end the deadline, by what is here of a request."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            if not cycle.more_body:
                self._end()
            elif self._timer is None or self._awaited is not cycle:
                self._begin(BODY_SECONDS, cycle)
        elif self.conn.trailing_data[0] and (self._timer is None or self._awaited is not None):
            self._begin(HEADER_SECONDS, None)

    def _begin(self, seconds: float, awaited: Any) -> None:
        self._end()
        self._timer, self._awaited = self.loop.call_later(seconds, self._close), awaited

    def _end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        if not self.transport.is_closing():
            self.transport.close()


def check_start(curator: Curator) -> None:
    """Refuse to start with what no service may have: each refusal names the fix.

    Args:
        curator: whose folder.

    """
    loaded = [name for name in sys.modules if name == "dither.testing" or name.startswith("dither.testing.")]
    if loaded:
        raise InvalidParameter("modules", loaded[0], "none of dither.testing, whose noise can be foreseen")
    mode = os.stat(curator.folder).st_mode
    if mode & 0o077:
        rule = f"readable by its owner alone: chmod 700 {curator.folder}"
        raise InvalidParameter("folder", oct(mode & 0o777), rule)
    # Opened whole: a ledger behind its anchor, or of another version, is refused by itself.
    if not curator.ledger.is_durable:
        raise LedgerUnavailable(curator.ledger.place, "a service needs one that outlives it")


def serve(
    curator: Curator,
    settings: Settings,
    *,
    ready: Callable[[str, Link], None],
    log: Log | None = None,
) -> None:
    """Serve a folder until somebody stops it.

    Args:
        curator: the folder.
        settings: how.
        ready: told the address and the link, once requests are taken.
        log: where one line is written for every request; standard error by default.

    """
    check_start(curator)
    desk = Desk(curator, shares_answers=settings.answers == "team", largest_table=settings.largest_table)
    link = Link(desk.people)
    service = Service(desk, settings, log or Log(), link)
    config = configuration(service, settings)
    server = Server(config, lambda port: ready(_address(settings, port), link), service.begin_stop)
    server.run()


def configuration(service: Service, settings: Settings) -> uvicorn.Config:
    """Return how a service listens.

    Args:
        service: what is asked.
        settings: where and how.

    """
    return uvicorn.Config(
        service.application(),
        host=settings.host,
        port=settings.port,
        http=Deadlined,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=settings.patience,
        limit_concurrency=_MOST_CONNECTIONS,
        h11_max_incomplete_event_size=LONGEST_HEADERS,
        ssl_certfile=settings.certificate or None,
        ssl_keyfile=settings.key or None,
        proxy_headers=bool(settings.proxy),
    )


class Server(uvicorn.Server):
    """A server that says when it takes requests, and at which port, and when it is told to stop.

    Args:
        config: as uvicorn has it.
        ready: told the port.
        begin_stop: called at the first signal.

    """

    def __init__(self, config: uvicorn.Config, ready: Callable[[int], None], begin_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready, self._begin_stop = ready, begin_stop

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Stop taking requests; what is debited ends, and a second signal ends it at once.

        The signal is not raised again afterwards: to have stopped when told is no failure.
        """
        self._begin_stop()
        self.force_exit = self.should_exit
        self.should_exit = True

    async def startup(self, sockets: Any = None) -> None:
        """Bind, and tell."""
        await super().startup(sockets)
        if self.started:
            port = self.servers[0].sockets[0].getsockname()[1]
            self._ready(port)


def _address(settings: Settings, port: int) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'https' if settings.certificate else 'http'}://{host}:{port}"
