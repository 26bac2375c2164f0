"""Streams: numbers that go on being released, tick by tick, under one price for all of them.

Belongs here: counters, running sums and what is made of them, whose values arrive one after another. Does not belong
here: tables that are all there at the beginning (``histograms``, ``workloads``), questions that never end.
"""

from dither.publish.streams.square_root import SquareRootCounter

__all__ = ["SquareRootCounter"]
