"""Graphs of other libraries as pairs of ends: sparse matrices of SciPy, and graphs of NetworkX (extra ``graphs``).

Neither library is loaded for this: an object of one of them can only be there if it is loaded already.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.data.expressions import Kind
from dither.data.schema import Table
from dither.errors import EngineUnavailable


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


def edge_table(table: Table, ends: Sequence[str], data: Any) -> Any:
    """Return the edges of a graph of another library as an Arrow table of two columns, cell by cell; or None."""
    edges = foreign_edges(data)
    if edges is None:
        return None
    if {column.name for column in table.columns} != set(ends):
        raise EngineUnavailable(f"table {table.name}: a graph has two ends of each edge, and no other declared column")
    if importlib.util.find_spec("pyarrow") is None:
        raise EngineUnavailable(f"table {table.name}: a graph needs pyarrow: pip install 'dither[frames]'")
    import pyarrow

    from dither.data.engines.arrow_columns import clean_table
    from dither.data.evaluation import cell

    kind = table.column(ends[0]).kind
    if isinstance(edges, np.ndarray) and kind is Kind.INTEGER:
        return pyarrow.table([edges[:, 0], edges[:, 1]], names=list(ends))
    made = pyarrow.int64() if kind is Kind.INTEGER else pyarrow.string()
    pairs = edges.tolist() if isinstance(edges, np.ndarray) else edges
    columns = [pyarrow.array([cell(pair[place], kind) for pair in pairs], type=made) for place in range(2)]
    return clean_table(pyarrow.table(columns, names=list(ends)))
