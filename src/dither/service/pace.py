"""When an answer is sent: its time tells no more than a few bits about the rows.

``buckets`` sends what a new release gives, an answer or a failure, at the next of 50, 100, 200, ... milliseconds after
its request came. ``off`` sends it when it is there. What depends on public facts alone, refusals before a debit, quotes
and stored answers, is never held back.
"""

from __future__ import annotations

from typing import Final

SMALLEST: Final = 0.05
WAYS: Final = ("buckets", "off")


def sent_after(elapsed: float, way: str) -> float:
    """Return how many seconds after its request an answer is sent, where it was ready after ``elapsed``.

    Args:
        elapsed: seconds from the request to the answer.
        way: one of ``WAYS``.

    >>> sent_after(0.03, "buckets"), sent_after(0.11, "buckets"), sent_after(0.11, "off")
    (0.05, 0.2, 0.11)

    """
    if way == "off":
        return elapsed
    bucket = SMALLEST
    while bucket < elapsed:
        bucket *= 2
    return bucket


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
