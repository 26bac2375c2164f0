"""Graphs of other libraries as pairs of ends: sparse matrices of SciPy, and graphs of NetworkX (extra ``graphs``).

Neither library is loaded for this: an object of one of them can only be there if it is loaded already.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray


def foreign_edges(data: Any) -> NDArray[np.int64] | list[tuple[Any, Any]] | None:
    """Return the edges of a graph of another library; None for anything else.

    Args:
        data: a sparse matrix, whose entries that are not 0 are edges from their row to their column, or a NetworkX
            graph of any kind, whose keys and attributes are left out.

    >>> from scipy.sparse import coo_array
    >>> foreign_edges(coo_array(([1, 0, 5], ([0, 1, 2], [1, 2, 0])))).tolist()
    [[0, 1], [2, 0]]
    >>> foreign_edges([(0, 1)]) is None
    True

    """
    sparse, networkx = sys.modules.get("scipy.sparse"), sys.modules.get("networkx")
    if sparse is not None and sparse.issparse(data) and len(data.shape) == 2:
        entries = data.tocoo()
        # What is not a number is not 0 either.
        is_edge = np.asarray(entries.data) != 0
        return np.column_stack([entries.row[is_edge], entries.col[is_edge]]).astype(np.int64)
    if networkx is not None and isinstance(data, networkx.Graph):
        return [(first, second) for first, second, *_ in data.edges]
    return None
