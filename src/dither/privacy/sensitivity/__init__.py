"""How far a query moves when one unit of data changes: exactly for linear queries, by search for any query.

The search visits every data set of a small made-up universe. It is the oracle that bounds proved by hand are compared
with. Local and smooth sensitivity are properties of data and as private as the data: this is not a way to release them.
Definitions and proofs are on the page ``docs/theory/sensitivity.md``.
"""

from dither.privacy.sensitivity.linear import all_ranges, entry_sensitivities, linear_sensitivity
from dither.privacy.sensitivity.search import (
    SensitivityMap,
    global_sensitivity,
    local_sensitivity,
    local_sensitivity_at_distance,
    smooth_sensitivity,
    worst_neighbours,
)
from dither.privacy.sensitivity.smooth import order_statistic, smooth_bound
from dither.privacy.sensitivity.universe import Graph, Listed, Neighbourhood, Rows, Universe

__all__ = [
    "Graph",
    "Listed",
    "Neighbourhood",
    "Rows",
    "SensitivityMap",
    "Universe",
    "all_ranges",
    "entry_sensitivities",
    "global_sensitivity",
    "linear_sensitivity",
    "local_sensitivity",
    "local_sensitivity_at_distance",
    "order_statistic",
    "smooth_bound",
    "smooth_sensitivity",
    "worst_neighbours",
]
