"""``python -m tools.security.slow``: many connections that say nothing, or a byte now and then, and those who wait.

A third of the connections are idle, a third send a byte of a header each second, a third a byte of a body; whichever
the service closes is opened again. Meanwhile an analyst asks for quotes. The 99th percentile of their time must at most
double; a share of the connections must be seen to be closed, so that the deadline is known to hold.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import selectors
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import numpy as np

from dither.service.client import connect
from tools.faults.served import COUNT, Served, made

KINDS: Final = ("idle", "header", "body")
_HEAD: Final = (
    b"POST /v1/login HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
)


class Crowd:
    """Connections that keep a service waiting.

    Args:
        url: of the service.
        count: how many.

    """

    def __init__(self, url: str, count: int) -> None:
        self._place, self._count = (urlsplit(url).hostname or "", urlsplit(url).port or 0), count
        self._is_over = threading.Event()
        self.closed = 0
        self._thread = threading.Thread(target=self._run)
        self.is_full = threading.Event()

    def __enter__(self) -> Crowd:
        self._thread.start()
        self.is_full.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        with selectors.DefaultSelector() as waiting:
            for number in range(self._count):
                self._open(waiting, KINDS[number % len(KINDS)])
            self.is_full.set()
            while not self._is_over.wait(1):
                for key, _ in waiting.select(0):
                    self.closed += 1
                    waiting.unregister(key.fileobj)
                    key.fileobj.close()  # type: ignore[union-attr]
                    self._open(waiting, key.data)
                for key in list(waiting.get_map().values()):
                    if key.data != "idle" and isinstance(key.fileobj, socket.socket):
                        with contextlib.suppress(OSError):
                            key.fileobj.send(b"G")
            for key in list(waiting.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]

    def _open(self, waiting: selectors.BaseSelector, kind: str) -> None:
        with contextlib.suppress(OSError):
            made = socket.create_connection(self._place, timeout=10)
            if kind == "body":
                made.send(_HEAD)
            waiting.register(made, selectors.EVENT_READ, kind)


def times(url: str, token: str, count: int) -> np.ndarray:
    """Return how many seconds quotes take."""
    session = connect(url, token).session("clinic")
    found = []
    for _ in range(count):
        begun = time.perf_counter()
        session.quote(COUNT, epsilon="0.1")
        found.append(time.perf_counter() - begun)
    return np.array(found[count // 10 :])


def main() -> None:
    """Measure, and say what was found; exit 1 if others wait for the slow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--connections", type=int, default=1000, help="how many")
    parser.add_argument("--quotes", type=int, default=400, help="asked for before and meanwhile")
    asked = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4 * asked.connections)), hard))
    with tempfile.TemporaryDirectory() as name:
        token = made(Path(name), "1")
        served = Served(Path(name))
        served.start()
        try:
            before = times(served.url, token, asked.quotes)
            with Crowd(served.url, asked.connections) as crowd:
                meanwhile = times(served.url, token, asked.quotes)
                until = time.monotonic() + 15
                while not crowd.closed and time.monotonic() < until:
                    meanwhile = np.concatenate([meanwhile, times(served.url, token, 50)])
        finally:
            served.kill()
    alone, crowded = (float(np.quantile(one, 0.99)) for one in (before, meanwhile))
    print(
        f"{asked.connections} slow connections, {crowd.closed} closed and opened again: the 99th percentile of a quote "
        f"is {1000 * alone:.1f} ms alone and {1000 * crowded:.1f} ms meanwhile ({len(meanwhile)} quotes), "
        f"load {os.getloadavg()[0]:.1f}"
    )
    sys.exit(0 if crowded <= 2 * alone and crowd.closed else 1)


if __name__ == "__main__":
    main()
