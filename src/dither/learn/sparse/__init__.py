"""Sparse models: few of many columns, chosen privately.

Belongs here: learners whose error grows with the logarithm of the number of columns, because they choose among columns
and never add noise to all of them; and the choice of columns by the agreement of disjoint blocks of the rows.
"""

from dither.learn.sparse.entropy_descent import EntropyDescent
from dither.learn.sparse.frank_wolfe import FrankWolfe
from dither.learn.sparse.model import SparseModel
from dither.learn.sparse.selected import SelectedColumns
from dither.learn.sparse.support import SupportSelection

__all__ = ["EntropyDescent", "FrankWolfe", "SelectedColumns", "SparseModel", "SupportSelection"]
