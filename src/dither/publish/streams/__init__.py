"""Streams: numbers that go on being released, tick by tick, under one budget.

Belongs here: what is measured of rows that arrive, how much of one person counts, which counter adds it up, and what is
shown. Does not belong here: counters themselves (``mechanisms``), and what keeps a stream alive (``curator.streams``).
"""

from dither.publish.streams.ticked import TickedAnswer, plan_stream

__all__ = ["TickedAnswer", "plan_stream"]
