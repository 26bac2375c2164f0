"""Columns made ready for models: scaled, put into bins, or spread out into zeros and ones.

Belongs here: what is done to columns before learning. It is public, decided by declarations alone, or private, a
release of its own; which of the two is said by the parameters, and never by looking at data for free.
"""

from dither.learn.preparing.column_counts import ColumnCounts, ColumnCountsModel

__all__ = ["ColumnCounts", "ColumnCountsModel"]
