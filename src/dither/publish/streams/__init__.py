"""Numbers that go on being released while data come: counters, windows, republication, series.

Belongs here: queries on declared streams; mechanisms whose input arrives tick by tick, or is a series of ticks, put
together from the counters and primitives of ``mechanisms``; the choice among them; what follows from released sums at
no cost. Does not belong here: counters that draw noise themselves (``mechanisms``), models that are updated
(``learn.streams``), streams that survive a process (``curator``).
"""

from dither.publish.streams.choose import Chosen, choose_counter
from dither.publish.streams.drift import DriftPublisher, Republishing
from dither.publish.streams.fourier import FourierSeries
from dither.publish.streams.leading import LeadingGroups, plan_leading
from dither.publish.streams.ranked import RankedAnswer, plan_ranked
from dither.publish.streams.seizable import SeizableAnswer, plan_seizable
from dither.publish.streams.sums import decayed_sums, window_sums
from dither.publish.streams.ticked import TickedAnswer, plan_stream
from dither.publish.streams.windows import SlidingWindow, WindowSums

__all__ = [
    "Chosen",
    "DriftPublisher",
    "FourierSeries",
    "LeadingGroups",
    "RankedAnswer",
    "Republishing",
    "SeizableAnswer",
    "SlidingWindow",
    "TickedAnswer",
    "WindowSums",
    "choose_counter",
    "decayed_sums",
    "plan_leading",
    "plan_ranked",
    "plan_seizable",
    "plan_stream",
    "window_sums",
]
