"""Several processes that serve one folder at one address: they share the socket and the ledger, and nothing else.

One process listens, starts the others and starts again whoever dies; it opens no rows and takes no requests. A worker
that is killed takes with it what it worked on, and the ledger knows how far that had come: another worker goes on where
it stopped, or says that it cannot. Workers whose parent died stop by themselves.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from errno import EADDRINUSE
from typing import Any, Final

from dither.curator.folder import Curator
from dither.curator.people import People
from dither.errors import DitherError, LedgerUnavailable
from dither.service.metrics import Metrics, MetricsServer, shared_memory
from dither.service.settings import Settings
from dither.service.sign_in import Link, SharedLink

#: How often the parent looks after the others.
_LOOK_SECONDS: Final = 0.1
#: How long it waits before it starts one again that did not live long; the wait doubles up to the longest.
_FIRST_WAIT: Final = 0.1
_LONGEST_WAIT: Final = 5.0
_LIVED: Final = 10.0
_START_SECONDS: Final = 60.0
_WAITING: Final = 2048


class Workers:
    """The parent of processes that serve one folder.

    Args:
        curator: the folder.
        settings: how; ``workers`` says how many.
        ready: told the port and the link, once all workers take requests.

    """

    def __init__(self, curator: Curator, settings: Settings, ready: Callable[[int, Link], None]) -> None:
        self._curator, self._settings, self._ready = curator, settings, ready
        self._shared = SharedLink.made(curator.folder)
        self._stopping = threading.Event()
        self._socket = listening(settings.host, settings.port)
        self._counts = shared_memory(settings.workers)
        self._telling: MetricsServer | None = None
        if settings.metrics:
            self._telling = MetricsServer(Metrics(settings.workers, 0, self._counts), settings.metrics)
        self._members = [_Member(number, self._setup) for number in range(settings.workers)]

    def run(self) -> None:
        """Serve until told to stop; what is debited then ends."""
        before = {one: signal.signal(one, self._stop) for one in (signal.SIGTERM, signal.SIGINT)}
        try:
            self._start()
            link = Link(People(self._curator), self._shared)
            # Nothing is asked here: the ledger is the workers' from now on.
            self._curator.close()
            self._ready(self._socket.getsockname()[1], link)
            while not self._stopping.wait(_LOOK_SECONDS):
                self._shared.expire(time.monotonic())
                for member in self._members:
                    member.look_after()
        finally:
            # Nobody waits at a socket that nobody takes requests from.
            self._socket.close()
            self._end()
            if self._telling is not None:
                self._telling.close()
            os.close(self._counts)
            self._shared.spend()
            for one, handler in before.items():
                signal.signal(one, handler)

    def _start(self) -> None:
        for member in self._members:
            member.start()
        deadline = time.monotonic() + _START_SECONDS
        for member in self._members:
            if not member.is_ready(deadline):
                raise LedgerUnavailable(str(self._curator.folder), "a worker failed to start; see its output above")

    def _stop(self, _sig: int, _frame: Any) -> None:
        self._stopping.set()

    def _end(self) -> None:
        for member in self._members:
            member.tell_to_stop()
        deadline = time.monotonic() + self._settings.patience + 5
        for member in self._members:
            member.end(deadline)

    def _setup(self, number: int) -> tuple[dict[str, Any], tuple[int, ...]]:
        """Return what a worker is told, and the files that it inherits."""
        shared = {"code": self._shared.code, "ends": self._shared.ends, "mark": str(self._shared.mark)}
        said = {
            "number": number,
            "folder": str(self._curator.folder),
            "anchors": str(self._curator.anchors),
            "settings": self._settings.to_dict(),
            "socket": self._socket.fileno(),
            "link": shared,
            "counts": self._counts,
        }
        return said, (self._socket.fileno(), self._counts)


class _Member:
    """One worker, and those that take its place."""

    def __init__(self, number: int, setup: Callable[[int], tuple[dict[str, Any], tuple[int, ...]]]) -> None:
        self._number, self._setup = number, setup
        self._process: subprocess.Popen[bytes] | None = None
        self._told = -1
        self._since = self._again = 0.0
        self._wait = _FIRST_WAIT
        self._took_requests = False

    def start(self) -> None:
        said, inherited = self._setup(self._number)
        self._took_requests = False
        self._told, tells = os.pipe()
        os.set_blocking(self._told, False)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "dither.service.worker"],
            stdin=subprocess.PIPE,
            pass_fds=(*inherited, tells),
        )
        os.close(tells)
        self._since = time.monotonic()
        line = json.dumps({**said, "ready": tells}) + "\n"
        if self._process.stdin is not None:
            # Kept open: a worker whose parent is gone finds its end.
            with contextlib.suppress(OSError):
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()

    def is_ready(self, deadline: float) -> bool:
        """Wait until the worker takes requests; return whether it does."""
        while time.monotonic() < deadline:
            if self._has_told():
                return self._took_requests
            time.sleep(0.01)
        return False

    def _has_told(self) -> bool:
        """Return whether the worker has said that it takes requests, or can say nothing more."""
        with contextlib.suppress(BlockingIOError):
            self._took_requests = self._took_requests or os.read(self._told, 1) == b"."
            return True
        return False

    def look_after(self) -> None:
        """Start the worker again where it has died: later and later where it never took requests."""
        if self._process is not None and self._process.poll() is not None:
            now = time.monotonic()
            self._has_told()
            has_worked = self._took_requests or now - self._since > _LIVED
            self._let_go()
            self._wait = _FIRST_WAIT if has_worked else min(_LONGEST_WAIT, 2 * self._wait)
            self._again = now + self._wait
        if self._process is None and time.monotonic() >= self._again:
            self.start()

    def tell_to_stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def end(self, deadline: float) -> None:
        """Wait for the worker, and end it where it takes too long."""
        if self._process is None:
            return
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._let_go()

    def _let_go(self) -> None:
        if self._process is not None:
            if self._process.stdin is not None:
                with contextlib.suppress(OSError):
                    self._process.stdin.close()
            os.close(self._told)
            self._process = None


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens, for all workers together.

    Args:
        host: the address.
        port: 0 for any.

    """
    try:
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        family = socket.AF_INET
    # Named as TCP: only of such sockets are small replies sent at once, and not held back for 40 milliseconds.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(_WAITING)
    except OSError as problem:
        found.close()
        is_taken = problem.errno == EADDRINUSE
        fix = f": another service may run there; '--port {port + 1}' takes another place" if is_taken else ""
        raise DitherError(f"cannot listen on {host}, port {port} ({problem.strerror}){fix}") from None
    return found
