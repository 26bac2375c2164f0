"""Columns prepared for models: scaled, binned, or one-hot encoded.

Belongs here: what is done to columns before learning. It is public, decided by declarations alone, or private, a
release; the parameters decide which of the two, and never a free look at the data.
"""

from dither.learn.preparing.column_counts import ColumnCounts, ColumnCountsModel

__all__ = ["ColumnCounts", "ColumnCountsModel"]
