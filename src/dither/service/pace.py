"""When an answer is sent: its time tells no more than a few bits about the rows, or nothing.

``buckets`` sends what a new release gives, an answer or a failure, at the next of 50, 100, 200, ... milliseconds after
its request came. So that whoever polls the books learns no more, noise is drawn at the next of 30, 60, 120, ... after
its turn has come, and the answer is stored at the next of 40, 80, 160, ...: those are the steps that are written down
and depend on rows. ``strict 2s`` writes down that noise is drawn before the rows are read, stores what a release gives
after 1.6 seconds and sends it after 2, whatever it is; what is not there when it should be stored is never stored, and
the debit stays. ``off`` does everything when it can. What depends on public facts alone, refusals before a debit,
quotes and stored answers, is never held back.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dither.curator.former_verbs import present_names
from dither.curator.remote_release import quoted_verbs
from dither.curator.timing_gate import Step
from dither.errors import InvalidParameter, ReleaseFailed

SMALLEST: Final = 0.05
#: When a step is written down, as a share of the bucket in which the answer is sent if all goes on as quickly.
_SHARES: Final[dict[Step, float]] = {"draw": 0.6, "store": 0.8}
#: Until when a release may begin under ``strict``, as a share of its time: nothing is debited to one that comes later.
_LATEST_BEGIN: Final = 0.5
SHORTEST: Final = 0.1
LONGEST: Final = 3600.0
_RULE: Final = (
    "'off', 'buckets', or 'strict' with the time of an answer, such as 'strict 2s', and of verbs that need another: "
    "'strict 2s, fit 60s'"
)
_TERM: Final = re.compile(r"([a-z_.]+) ([0-9]{1,7})(ms|s)")


@dataclass(frozen=True)
class Timing:
    """When answers are sent.

    Args:
        way: "off", "buckets" or "strict".
        usual: under ``strict``, after how many seconds.
        by_verb: and for which verbs otherwise.

    """

    way: str
    usual: float = 0.0
    by_verb: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, text: object) -> Timing:
        """Return what a setting says.

        Args:
            text: "off", "buckets", or "strict 2s, fit 60s".

        >>> Timing.read("strict 500ms, fit 60s").seconds("fit")
        60.0

        """
        if text in ("off", "buckets"):
            return cls(str(text))
        terms = [_TERM.fullmatch(term.strip()) for term in text.split(",")] if isinstance(text, str) else [None]
        found: dict[str, float] = {}
        for term in terms:
            if term is None or term[1] in found:
                raise InvalidParameter("timing", text, _RULE)
            found[term[1]] = int(term[2]) / (1000 if term[3] == "ms" else 1)
        if next(iter(found)) != "strict":
            raise InvalidParameter("timing", text, _RULE)
        usual = found.pop("strict")
        by_verb = {name: seconds for verb, seconds in found.items() for name in present_names(verb)}
        unknown = [verb for verb in by_verb if verb not in quoted_verbs()]
        if unknown:
            raise InvalidParameter("timing", unknown[0], f"about verbs: {', '.join(quoted_verbs())}")
        if not all(SHORTEST <= seconds <= LONGEST for seconds in (usual, *by_verb.values())):
            raise InvalidParameter("timing", text, f"made of times from {SHORTEST * 1000:.0f}ms to {LONGEST:.0f}s")
        return cls("strict", usual, MappingProxyType(by_verb))

    def seconds(self, verb: str) -> float:
        """Return after how many seconds the answer to a verb is sent, under ``strict``."""
        return self.by_verb.get(verb, self.usual)

    def pace(self, verb: str, stopping: threading.Event) -> Pace | Strict:
        """Return when the steps of a release whose request comes now may be seen."""
        now = time.monotonic()
        return Strict(now, self.seconds(verb)) if self.way == "strict" else Pace(now, self.way, stopping)


def sent_after(elapsed: float, way: str) -> float:
    """Return how many seconds after its request an answer is sent, where it was ready after ``elapsed``.

    Args:
        elapsed: seconds from the request to the answer.
        way: "buckets" or "off".

    >>> sent_after(0.03, "buckets"), sent_after(0.11, "buckets"), sent_after(0.11, "off")
    (0.05, 0.2, 0.11)

    """
    return elapsed if way == "off" else _next(elapsed, SMALLEST)


class Pace:
    """When the steps of one release are written down: at the next of a few moments, or at once.

    Args:
        begun: when its request came, or its turn, by ``time.monotonic``.
        way: "buckets" or "off".
        stopping: set where the service stops, and nothing waits any more.

    """

    draws_first: Final = False
    #: When what is not stored by then never is.
    stored_by: Final = math.inf

    def __init__(self, begun: float, way: str, stopping: threading.Event) -> None:
        self._begun, self._way, self._stopping = begun, way, stopping

    def begin(self, steps: int) -> Pace:
        """Return the same from now on, when a release's turn has come.

        Args:
            steps: how many answers it stores, one after another.

        """
        return Pace(time.monotonic(), self._way, self._stopping)

    def wait(self, step: Step) -> None:
        """Wait until a step may be seen."""
        if self._way != "off":
            elapsed = time.monotonic() - self._begun
            self._stopping.wait(_next(elapsed, _SHARES[step] * SMALLEST) - elapsed)

    def left(self) -> float:
        """Return for how many seconds the answer is not sent yet."""
        elapsed = time.monotonic() - self._begun
        return max(0.0, sent_after(elapsed, self._way) - elapsed)


class TooLate(Exception):
    """The turn of a release has come too late for it to be answered in time; nothing is debited."""


class Strict:
    """When the steps of one release are written down: at moments that its request alone decides.

    Args:
        begun: when its request came, by ``time.monotonic``.
        seconds: after how many seconds it is answered.

    """

    draws_first: Final = True

    def __init__(self, begun: float, seconds: float) -> None:
        self._begun, self._seconds = begun, seconds
        self.stored_by = begun + _SHARES["store"] * seconds
        self._steps, self._stored = 1, 0

    def begin(self, steps: int) -> Strict:
        """Return the same for a release whose turn has come, or refuse one for which it is too late.

        Args:
            steps: how many answers it stores, one after another: each has its moment.

        """
        if time.monotonic() - self._begun > _LATEST_BEGIN * self._seconds:
            raise TooLate
        self._steps = steps
        return self

    def wait(self, step: Step) -> None:
        """Wait for the moment at which an answer is stored; one that comes after it never is."""
        if step != "store":
            return
        self._stored += 1
        moment = self._begun + _SHARES["store"] * self._seconds * min(1.0, self._stored / self._steps)
        left = moment - time.monotonic()
        if left < 0:
            raise ReleaseFailed
        # Also where the service stops: a stop tells nothing sooner.
        time.sleep(left)

    def left(self) -> float:
        """Return for how many seconds the answer is not sent yet."""
        return max(0.0, self._begun + self._seconds - time.monotonic())


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
    buckets = 1 + max(0, math.ceil(math.log2(longest / SMALLEST)))
    return math.log2(buckets)
