"""Lift: mechanisms on values become mechanisms on a data set.

A ``Source`` says what is read of a data set and how far one unit of it moves what is read; ``Lifted`` reads it and
applies a method with that stability. Belongs here: sources and what they are made of. Does not belong here: noise, or
any algorithm. A new kind of data needs a source, and then has prices, sessions, commands, checks and audits.
"""

from dither.lift.cells import Cells, cells_of
from dither.lift.lifted import Lifted
from dither.lift.source import Source

__all__ = ["Cells", "Lifted", "Source", "cells_of"]
