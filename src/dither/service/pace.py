"""When an answer is sent: its time tells no more than a few bits about the rows.

``buckets`` sends what a new release gives, an answer or a failure, at the next of 50, 100, 200, ... milliseconds after
its request came. So that whoever polls the books learns no more, noise is drawn at the next of 30, 60, 120, ... after
its turn has come, and the answer is stored at the next of 40, 80, 160, ...: those are the steps that are written down
and depend on rows. ``off`` does everything when it can. What depends on public facts alone, refusals before a debit,
quotes and stored answers, is never held back.
"""

from __future__ import annotations

import threading
import time
from typing import Final

from dither.curator.held_back import Step

SMALLEST: Final = 0.05
WAYS: Final = ("buckets", "off")
#: When a step is written down, as a share of the bucket in which the answer is sent if all goes on as quickly.
_SHARES: Final[dict[Step, float]] = {"draw": 0.6, "store": 0.8}


def sent_after(elapsed: float, way: str) -> float:
    """Return how many seconds after its request an answer is sent, where it was ready after ``elapsed``.

    Args:
        elapsed: seconds from the request to the answer.
        way: one of ``WAYS``.

    >>> sent_after(0.03, "buckets"), sent_after(0.11, "buckets"), sent_after(0.11, "off")
    (0.05, 0.2, 0.11)

    """
    return elapsed if way == "off" else _next(elapsed, SMALLEST)


class Pace:
    """When the steps of one release are written down.

    Args:
        begun: when its request came, or its turn, by ``time.monotonic``.
        way: one of ``WAYS``.
        stopping: set where the service stops, and nothing waits any more.

    """

    def __init__(self, begun: float, way: str, stopping: threading.Event) -> None:
        self._begun, self._way, self._stopping = begun, way, stopping

    def wait(self, step: Step) -> None:
        """Wait until a step may be seen."""
        if self._way != "off":
            elapsed = time.monotonic() - self._begun
            self._stopping.wait(_next(elapsed, _SHARES[step] * SMALLEST) - elapsed)

    def left(self) -> float:
        """Return for how many seconds the answer is not sent yet."""
        elapsed = time.monotonic() - self._begun
        return max(0.0, sent_after(elapsed, self._way) - elapsed)


def _next(elapsed: float, smallest: float) -> float:
    while smallest < elapsed:
        smallest *= 2
    return smallest


def bits(longest: float) -> float:
    """Return how many bits the time of one answer may tell at most, where none takes longer than ``longest`` seconds.

    Args:
        longest: seconds.

    >>> bits(3600)
    4.169925001442312

    """
    import math

    buckets = 1 + max(0, math.ceil(math.log2(longest / SMALLEST)))
    return math.log2(buckets)
