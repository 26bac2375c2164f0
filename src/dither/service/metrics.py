"""How a service is doing, as Prometheus reads it: counts, and times that are rounded up to the buckets of answers.

All numbers stand in one piece of memory, a row for each worker, which the process that is asked adds up: a worker that
was killed leaves its counts to the one that takes its place. Nothing here names a person, a data set or a request, and
no time is finer than what an analyst is told.
"""

from __future__ import annotations

import mmap
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import dither
from dither.errors import InvalidParameter
from dither.service.pace import SMALLEST
from dither.service.routes import ROUTES

STATUSES: Final = (200, 202, 204, 302, 400, 401, 403, 404, 406, 409, 410, 413, 415, 422, 429, 431, 500, 501, 503)
#: Anything else.
_OTHER: Final = 0
BOUNDS: Final = tuple(SMALLEST * 2**power for power in range(18))
_KINDS: Final = ("new", "stored")
_NAMES: Final = tuple(route.name for route in ROUTES)
_CODES: Final = (*STATUSES, _OTHER)
#: Of one route: requests by status, requests by bucket with one for all that are longer, milliseconds in all.
_OF_ROUTE: Final = len(_CODES) + len(BOUNDS) + 2
_ROW: Final = len(_NAMES) * _OF_ROUTE + len(_KINDS) + 1
_BYTES: Final = 8
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The numbers of a service.

    Args:
        workers: how many processes count.
        number: which of them this one is.
        handle: a file of that size that all of them share; None for memory of this process.

    """

    def __init__(self, workers: int = 1, number: int = 0, handle: int | None = None) -> None:
        size = workers * _ROW * _BYTES
        self._memory = mmap.mmap(-1, size) if handle is None else mmap.mmap(handle, size)
        self._numbers = memoryview(self._memory).cast("q")
        self._workers, self._start = workers, number * _ROW

    def count(self, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered.

        Args:
            route: its name.
            status: as it was answered.
            seconds: how long it took, rounded up to a bucket.

        """
        start = self._start + _NAMES.index(route) * _OF_ROUTE
        self._numbers[start + _CODES.index(status if status in STATUSES else _OTHER)] += 1
        bucket = next((place for place, bound in enumerate(BOUNDS) if seconds <= bound * 1.000001), len(BOUNDS))
        self._numbers[start + len(_CODES) + bucket] += 1
        self._numbers[start + _OF_ROUTE - 1] += round(seconds * 1000)

    def count_answer(self, *, is_new: bool) -> None:
        """Count an answer that was given, by whether it was drawn for this or had been stored."""
        self._numbers[self._start + len(_NAMES) * _OF_ROUTE + (0 if is_new else 1)] += 1

    def set_waiting(self, count: int) -> None:
        """Say how many releases wait for their turn."""
        self._numbers[self._start + _ROW - 1] = count

    def text(self) -> str:
        """Return all of it, added up, in the text format of Prometheus."""
        return "\n".join(self._lines()) + "\n"

    def _sum(self, place: int) -> int:
        return sum(self._numbers[row * _ROW + place] for row in range(self._workers))

    def _lines(self) -> Iterator[str]:
        yield from _head("dither_build_info", "gauge", "The version that serves.")
        yield f'dither_build_info{{version="{dither.__version__}"}} 1'
        yield from _head("dither_workers", "gauge", "Processes that answer.")
        yield f"dither_workers {self._workers}"
        yield from _head("dither_requests_total", "counter", "Requests that were answered.")
        for number, name in enumerate(_NAMES):
            for place, status in enumerate(_CODES):
                found = self._sum(number * _OF_ROUTE + place)
                if found:
                    code = "other" if status == _OTHER else status
                    yield f'dither_requests_total{{route="{name}",code="{code}"}} {found}'
        told = "Seconds to the answer, rounded up to the next of 50, 100, 200, ... milliseconds."
        yield from _head("dither_request_seconds", "histogram", told)
        for number, name in enumerate(_NAMES):
            start, total = number * _OF_ROUTE + len(_CODES), 0
            for place, bound in enumerate((*BOUNDS, "+Inf")):
                total += self._sum(start + place)
                yield f'dither_request_seconds_bucket{{route="{name}",le="{bound}"}} {total}'
            seconds = self._sum((number + 1) * _OF_ROUTE - 1) / 1000
            yield f'dither_request_seconds_sum{{route="{name}"}} {seconds}'
            yield f'dither_request_seconds_count{{route="{name}"}} {total}'
        yield from _head("dither_answers_total", "counter", "Answers that were given, drawn for this or stored before.")
        for place, kind in enumerate(_KINDS):
            yield f'dither_answers_total{{kind="{kind}"}} {self._sum(len(_NAMES) * _OF_ROUTE + place)}'
        yield from _head("dither_releases_waiting", "gauge", "Releases that wait for their turn.")
        yield f"dither_releases_waiting {self._sum(_ROW - 1)}"


def shared_memory(workers: int) -> int:
    """Return a file without a name in which several processes count.

    Args:
        workers: how many.

    """
    handle = os.memfd_create("dither metrics") if hasattr(os, "memfd_create") else _unnamed()
    os.ftruncate(handle, workers * _ROW * _BYTES)
    return handle


class MetricsServer:
    """Tells the numbers of a service at a port that only this machine reaches.

    Args:
        metrics: the numbers.
        port: where; 0 for any.

    """

    def __init__(self, metrics: Metrics, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = 5

            def do_GET(self) -> None:
                is_there = self.path == "/metrics"
                content = metrics.text().encode() if is_there else b"/metrics is all there is\n"
                self.send_response(200 if is_there else 404)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the library calls it
                """Write nothing down."""

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as problem:
            raise InvalidParameter("metrics", port, f"a free port ({problem.strerror})") from None
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def close(self) -> None:
        """Tell nothing more."""
        self._server.shutdown()
        self._server.server_close()


def _head(name: str, kind: str, told: str) -> Iterator[str]:
    yield f"# HELP {name} {told}"
    yield f"# TYPE {name} {kind}"


def _unnamed() -> int:
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
