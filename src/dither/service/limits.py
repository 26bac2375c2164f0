"""How often somebody may ask: a bucket for each person, and for each address of those who show no token that holds."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.requests import Request

#: How many wrong tokens an address may show before it waits.
_STRANGE: Final = 20.0
_STRANGE_SECONDS: Final = 60.0
_MOST: Final = 10_000


def address_of(request: Request) -> str:
    """Return where a request comes from."""
    return request.client.host if request.client else ""


def line_of(request: Request) -> str:
    """Return the line in which whoever needs no token waits: that of their address, which nobody is called."""
    return f"\n{address_of(request)}"


class Limits:
    """Buckets that fill again with time. Used in one thread alone.

    Args:
        rate: how many requests a second one person may make; twice as many at once.
        clock: tells seconds.

    """

    def __init__(self, rate: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._people: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._strangers: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def admits(self, person: str) -> bool:
        """Whether a person may make one more request now."""
        left = self._left(self._people, person, self._rate, 2 * self._rate)
        self._keep(self._people, person, max(0.0, left - 1))
        return left >= 1

    def admits_stranger(self, address: str) -> bool:
        """Whether an address that shows a token which does not hold is told so, and not to wait."""
        left = self._left(self._strangers, address, _STRANGE / _STRANGE_SECONDS, _STRANGE)
        self._keep(self._strangers, address, max(0.0, left - 1))
        return left >= 1

    def _left(self, buckets: OrderedDict[str, tuple[float, float]], name: str, rate: float, most: float) -> float:
        now = self._clock()
        left, since = buckets.get(name, (most, now))
        return min(most, left + (now - since) * rate)

    def _keep(self, buckets: OrderedDict[str, tuple[float, float]], name: str, left: float) -> None:
        buckets[name] = (left, self._clock())
        buckets.move_to_end(name)
        while len(buckets) > _MOST:
            buckets.popitem(last=False)
