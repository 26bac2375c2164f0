"""The process that serves a folder: how long it waits for slow clients, and how it stops."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from dither.curator.folder import Curator
from dither.service.app import HEADERS, Service
from dither.service.desk import desk_of
from dither.service.framing import Framed
from dither.service.logs import Log, Others
from dither.service.metrics import MetricsServer
from dither.service.problems import MALFORMED, MEDIA_TYPE
from dither.service.reading import LONGEST_HEADERS
from dither.service.settings import Settings
from dither.service.sign_in import Link
from dither.service.starting import check_start, in_use
from dither.service.workers import Workers, listening

HEADER_SECONDS: Final = 5.0
BODY_SECONDS: Final = 20.0
_IDLE_SECONDS: Final = 15
_MOST_CONNECTIONS: Final = 4000
#: How many connections a process takes at once where several share a socket: the others want some, too.
_TAKEN_AT_ONCE: Final = 4
_WAITING: Final = 2048
_SWITCH_SECONDS: Final = 0.0005
#: Libraries that tell of requests that cannot be read, and of connections that break.
_TALKATIVE: Final = ("uvicorn", "asyncio")


class Deadlined(H11Protocol):
    """A connection that is closed where its headers take more than 5 seconds, or its body more than 20.

    The deadline counts from the first byte of a request on, and no further byte puts it off: on a connection that is
    used again and for requests that are sent before the answer to those before them, too.
    """

    _timer: asyncio.TimerHandle | None = None
    #: What is waited for: the request whose body is, or None for the headers of the next.
    _awaited: Any = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = Framed(h11.SERVER, LONGEST_HEADERS)

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

    def send_400_response(self, msg: str) -> None:
        """Refuse bytes that are not one request, as any problem is reported, and close the connection."""
        content = json.dumps(MALFORMED.to_dict()).encode()
        headers = [
            ("Content-Type", MEDIA_TYPE),
            ("Content-Length", str(len(content))),
            ("Connection", "close"),
            *HEADERS.items(),
        ]
        events = (
            h11.Response(status_code=MALFORMED.status, headers=headers, reason=b"Bad Request"),
            h11.Data(data=content),
            h11.EndOfMessage(),
        )
        # Behind the beginning of an answer there is no place for another.
        for event in events if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE) else ():
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

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
    check_start(curator, settings)
    with in_use(curator.folder):
        if settings.workers > 1:
            Workers(curator, settings, lambda port, link: ready(_address(settings, port), link)).run()
            return
        # Whether anybody can listen there is known, and said, before anything else is begun.
        place = listening(settings.host, settings.port)
        desk = desk_of(curator, settings)
        link = Link(desk.people)
        service = Service(desk, settings, log or Log(), link)
        telling = MetricsServer(service.metrics, settings.metrics) if settings.metrics else None
        try:
            Server(service, settings, lambda port: ready(_address(settings, port), link)).run([place])
        finally:
            place.close()
            if telling is not None:
                telling.close()


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
        backlog=_WAITING if settings.workers == 1 else _TAKEN_AT_ONCE,
        h11_max_incomplete_event_size=LONGEST_HEADERS,
        ssl_certfile=settings.certificate or None,
        ssl_keyfile=settings.key or None,
        proxy_headers=bool(settings.proxy),
    )


class Server(uvicorn.Server):
    """A server that says when it takes requests, and at which port, and that goes on answering while it stops.

    Args:
        service: what is asked.
        settings: where and how.
        ready: told the port.

    """

    def __init__(self, service: Service, settings: Settings, ready: Callable[[int], None]) -> None:
        super().__init__(configuration(service, settings))
        for name in _TALKATIVE:
            # Else they would write in words of their own, to standard error.
            library = logging.getLogger(name)
            library.handlers, library.propagate = [Others(service.log)], False
        # A thread that plans gives way to those who read after this time, ten times as often as Python would have it:
        # each read is given up and taken on again several times.
        sys.setswitchinterval(_SWITCH_SECONDS)
        self._service, self._patience, self._ready = service, settings.patience, ready
        self._stops_by: float | None = None

    def handle_exit(self, sig: int, frame: Any) -> None:
        """Take nothing more; what is debited ends, and a second signal ends it at once.

        Until then whoever asks is told to come again. The signal is not raised again afterwards: to have stopped when
        told is no failure.
        """
        self._service.begin_stop()
        self.force_exit = self.should_exit = self._stops_by is not None
        self._stops_by = time.monotonic() + self._patience

    async def on_tick(self, counter: int) -> bool:
        """Go, once nothing that is debited waits for its answer."""
        if self._stops_by is not None and (self._service.is_idle or time.monotonic() > self._stops_by):
            self.should_exit = True
        return await super().on_tick(counter)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Bind, and tell."""
        await super().startup(sockets)
        for shared in sockets or ():
            # As many may wait as on a socket of one's own, whatever one process takes at once.
            shared.listen(_WAITING)
        if self.started:
            self._ready(self.servers[0].sockets[0].getsockname()[1])


def _address(settings: Settings, port: int) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'https' if settings.certificate else 'http'}://{host}:{port}"
