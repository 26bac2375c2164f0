"""Which mechanisms may resume after a kill: those that hand over equal bits whenever they run on equal rows.

A release that resumes draws the same noise for the same values again. That helps only where the values are the same to
the last bit, whatever the number of threads and the order in which an engine returns rows, and where nothing else is
random. The contract (``dither.checks``) draws every class that is listed here twice and compares. What opens a
conversation within a release, or selects the best of a random number of runs, cannot be bound to a value, and is not
listed. A class that is missing here, such as one of another package, is sealed by a kill as all were before.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from dither.lift.cells import Cells, SparseCells
from dither.lift.lifted import Lifted
from dither.lift.margins import Margins
from dither.mechanisms.core.mechanism import Composed, Mechanism, Primitive

#: Composed mechanisms by their registered names; by name, because most are in rooms above this one.
RESUMABLE: Final = frozenset(
    {
        *("query", "partitioned-query", "report", "lifted"),
        # Histograms.
        *("adaptive-grid", "ahp", "dawa", "dp-cube", "equi-width-histogram", "hierarchical-histogram"),
        *("identity-histogram", "median-tree", "most-likely-histogram", "noise-first", "php", "priv-tree"),
        *("pruned-histogram", "pruned-plane", "quad-tree", "sorted-histogram", "sparse-histogram"),
        *("stability-histogram", "structure-first", "uniform-grid", "uniform-histogram"),
        # Workloads.
        *("eigen-design", "gaussian-factorisation", "grouping-and-smoothing", "hdmm", "low-rank-mechanism"),
        *("matrix-mechanism", "orthogonal-mechanism", "privelet", "two-phase", "weighted-marginals"),
        # Marginals.
        *("contingency-table", "data-cubes", "fourier-marginals", "noisy-marginals", "priview", "residual-planner"),
    }
)
#: What may be read for a lifted method: counts, which an engine returns as exact integers.
_SOURCES: Final = (Cells, Margins, SparseCells)


def may_resume(mechanism: Mechanism[Any, Any]) -> bool:
    """Whether a mechanism, with all its parts, hands over equal bits whenever it runs on equal rows."""
    if type(mechanism).__module__.partition(".")[0] != "dither":
        return False
    if isinstance(mechanism, Primitive):
        return True
    if not isinstance(mechanism, Composed) or mechanism.name not in RESUMABLE:
        return False
    if isinstance(mechanism, Lifted) and type(mechanism.source) not in _SOURCES:
        return False
    for field in fields(mechanism):  # type: ignore[arg-type]
        content = getattr(mechanism, field.name)
        for part in content if isinstance(content, tuple) else (content,):
            if isinstance(part, Mechanism) and not may_resume(part):
                return False
    return True
