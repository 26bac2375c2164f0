"""Collect reports to a survey over HTTP: everybody may post, and everybody gets the same reply.

One path takes reports, one a line: ``POST /reports``. Whether a line was accepted, malformed, repeated or of another
survey is counted and not told. ``GET /survey.json`` returns the protocol document, ``GET /`` a page that asks the
question in a browser. The collector has no ledger: devices have paid, and reports are data that anybody may hold. It
writes no log of addresses; they are in memory alone, to limit how much one of them may post.
"""

from __future__ import annotations

import io
import queue
import socket
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any, Final
from urllib.parse import urlsplit

from dither.pages.markup import tag
from dither.pages.page import whole
from dither.service.report_store import ReportStore

#: The largest body: some hundred reports of most surveys, one report of all.
LARGEST_BODY: Final = 2**18
_MOST_AT_ONCE: Final = 64
_MOST_ADDRESSES: Final = 2**14
_RECEIVED: Final = b'{"received":true}\n'
_POLICY: Final = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; base-uri 'none'"
_SCRIPTS: Final = {"/dither-client.js": "dither-client.js", "/survey-page.js": "survey-page.js"}
_STYLE: Final = (
    "body{font:1.1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:2rem auto;padding:0 1rem}label{display:block}"
)


@dataclass(frozen=True)
class Limits:
    """How much one address may post, and how long it may take.

    Args:
        per_second: bodies, on average.
        burst: bodies in short succession.
        at_once: connections at the same time; a further one is closed.
        seconds: in which a whole request has to arrive, its body included.

    """

    per_second: float = 20.0
    burst: float = 200.0
    at_once: int = 16
    seconds: float = 10.0


class _Pace:
    """A bucket of tokens for each address, in bounded memory."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._lock = limits, threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def admits(self, address: str, now: float) -> bool:
        """Whether another body of an address is within its limits."""
        with self._lock:
            if len(self._left) >= _MOST_ADDRESSES:
                self._left = {
                    one: known for one, known in self._left.items() if self._tokens(*known, now) < self._limits.burst
                }
            tokens, since = self._left.get(address, (self._limits.burst, now))
            tokens = self._tokens(tokens, since, now)
            if tokens < 1 or (address not in self._left and len(self._left) >= _MOST_ADDRESSES):
                return False
            self._left[address] = (tokens - 1, now)
            return True

    def _tokens(self, tokens: float, since: float, now: float) -> float:
        return min(self._limits.burst, tokens + (now - since) * self._limits.per_second)


class _Guests:
    """How many connections each address has open."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._open: Counter[str] = Counter()

    def admits(self, address: str) -> bool:
        """Whether another connection of an address is within its limit; it then counts until it leaves."""
        with self._lock:
            if self._open[address] >= self._most:
                return False
            self._open[address] += 1
            return True

    def leaves(self, address: str) -> None:
        """Count a connection no longer."""
        with self._lock:
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]


class _Arriving(io.RawIOBase):
    """What arrives on a connection, until the deadline of a request: a slow sender does not move it."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection, self._seconds, self._end = connection, seconds, 0.0

    def begin(self) -> None:
        """Wait for another request."""
        self._end = time.monotonic() + self._seconds

    def readable(self) -> bool:
        """Whether it can be read, for the buffer in front of it."""
        return True

    def readinto(self, into: Any) -> int:
        """Read what has arrived; raise TimeoutError after the deadline."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        try:
            return self._connection.recv_into(into)
        finally:
            # For the reply, which has a time of its own.
            self._connection.settimeout(self._seconds)


@dataclass
class _Delivery:
    """Lines that wait to be stored."""

    lines: list[bytes]
    done: threading.Event = field(default_factory=threading.Event)
    is_stored: bool = False


class _Writer(threading.Thread):
    """Stores what has arrived, all that waits in one transaction: a disk is waited for once for many reports."""

    def __init__(self, store: ReportStore) -> None:
        super().__init__(daemon=True)
        self._store, self._waiting = store, queue.Queue[_Delivery | None](_MOST_AT_ONCE * 2)

    def deliver(self, lines: list[bytes]) -> bool:
        """Return whether the lines are durable, or were dropped for good."""
        one = _Delivery(lines)
        self._waiting.put(one)
        one.done.wait()
        return one.is_stored

    def stop(self) -> None:
        """Store what waits, and end."""
        self._waiting.put(None)
        self.join()

    def run(self) -> None:
        """Store deliveries until there are no more."""
        while (first := self._waiting.get()) is not None:
            batch: list[_Delivery] = [first]
            is_last = False
            while not self._waiting.empty():
                further = self._waiting.get()
                if further is None:
                    is_last = True
                    break
                batch.append(further)
            try:
                self._store.add([line for one in batch for line in one.lines])
                is_stored = True
            except sqlite3.Error:
                is_stored = False
            for one in batch:
                one.is_stored = is_stored
                one.done.set()
            if is_last:
                return


class Collector(ThreadingHTTPServer):
    """An HTTP server that stores reports.

    Args:
        store: where reports are stored.
        host: address to listen on.
        port: port to listen on; 0 for any free one.
        limits: of one address.

    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self, store: ReportStore, *, host: str = "127.0.0.1", port: int = 0, limits: Limits | None = None
    ) -> None:
        self.store, self.limits = store, limits or Limits()
        self.pace, self._guests = _Pace(self.limits), _Guests(self.limits.at_once)
        self.writer = _Writer(store)
        self._room = threading.BoundedSemaphore(_MOST_AT_ONCE)
        super().__init__((host, port), _Handler)
        self.writer.start()

    @property
    def address(self) -> str:
        """Where it listens."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection in a thread, when fewer than the most are served, and few of its address."""
        if not self._guests.admits(client_address[0]):
            self.shutdown_request(request)
            return
        self._room.acquire()
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread could be started
            self._leave(client_address)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Serve a connection, and make room for another."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._leave(client_address)

    def _leave(self, client_address: Any) -> None:
        self._room.release()
        self._guests.leaves(client_address[0])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Write nothing down: a connection that breaks is noticed by its client."""

    def close(self) -> None:
        """Stop listening, and store what was received."""
        self.server_close()
        self.writer.stop()


class _Handler(BaseHTTPRequestHandler):
    server: Collector
    protocol_version = "HTTP/1.1"
    server_version = "dither"
    sys_version = ""

    def setup(self) -> None:
        """Read each request under one deadline."""
        super().setup()
        self.connection.settimeout(self.server.limits.seconds)
        self.rfile.close()
        self._arriving = _Arriving(self.connection, self.server.limits.seconds)
        self.rfile = io.BufferedReader(self._arriving)

    def handle_one_request(self) -> None:
        """Wait for a request, and reply."""
        self._arriving.begin()
        super().handle_one_request()

    def do_GET(self) -> None:
        """Return the page, its scripts, or the protocol document."""
        path = urlsplit(self.path).path
        if path == "/":
            self._reply(200, _page(self.server.store).encode(), "text/html; charset=utf-8")
        elif path == "/survey.json":
            self._reply(200, self.server.store.document.text.encode(), "application/json")
        elif path in _SCRIPTS:
            source = resources.files("dither.local.clients").joinpath("browser", _SCRIPTS[path])
            self._reply(200, source.read_bytes(), "text/javascript; charset=utf-8")
        else:
            self._reply(404, b"not found\n")

    def do_POST(self) -> None:
        """Take reports, one a line; the reply depends on sizes and paces alone."""
        length = self.headers.get("Content-Length", "")
        if urlsplit(self.path).path != "/reports":
            self._refuse(404, b"not found\n")
        elif not (length.isascii() and length.isdigit()):
            self._refuse(411, b"a body with its length is required\n")
        elif len(length) > 12 or int(length) > max(LARGEST_BODY, self.server.store.longest):
            self._refuse(413, b"a body may have at most 262144 bytes\n")
        elif not self.server.pace.admits(self.client_address[0], time.monotonic()):
            self._refuse(429, b"too many requests: try again in a second\n", ("Retry-After", "1"))
        else:
            body = self.rfile.read(int(length))
            if len(body) < int(length):
                self.close_connection = True
                return
            if self.server.writer.deliver(body.splitlines()):
                self._reply(202, _RECEIVED, "application/json")
            else:
                self._reply(503, b"not stored: send the same report again later\n", more=("Retry-After", "60"))

    def _refuse(self, status: int, body: bytes, more: tuple[str, str] | None = None) -> None:
        # The body was not read: the connection cannot be used again.
        self.close_connection = True
        self._reply(status, body, more=more)

    def _reply(
        self, status: int, body: bytes, kind: str = "text/plain; charset=utf-8", more: tuple[str, str] | None = None
    ) -> None:
        self.send_response(status)
        headers = [
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            ("Content-Security-Policy", _POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            # Reports carry no cookie, and a page of any origin may ask the question.
            ("Access-Control-Allow-Origin", "*"),
        ]
        for name, value in headers if more is None else [*headers, more]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the library calls it
        """Addresses of people who answer are not written down."""


def _page(store: ReportStore) -> str:
    question = store.document.question
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", question),
        tag("style", _STYLE),
        tag("script", type="module", src="survey-page.js"),
    )
    body = tag(
        "body",
        tag("h1", question),
        tag("form", id="survey", aria_label=question),
        tag("p", id="promise"),
        tag("p", id="status", role="status"),
    )
    return whole(head, body)


def serve(collector: Collector, ready: Callable[[str], None]) -> None:
    """Serve until interrupted.

    Args:
        collector: that listens.
        ready: called with its address.

    """
    ready(collector.address)
    try:
        collector.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        collector.close()
