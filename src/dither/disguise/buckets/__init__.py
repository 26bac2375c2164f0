"""Rows in buckets, WITHOUT a formal guarantee: what belongs to whom is hidden within a bucket; no cell is changed."""

from dither.disguise.buckets.anatomy import Anatomised, Anatomy
from dither.disguise.buckets.slicing import Sliced, Slicing, best_columns, worst_guess

__all__ = ["Anatomised", "Anatomy", "Sliced", "Slicing", "best_columns", "worst_guess"]
