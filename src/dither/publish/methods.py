"""The methods for publishing a table of counts, by name, and the shapes that each is made for.

``build_method`` makes any of them for a loss per count; ``choose`` compares them, sessions and the command call them by
these names, the comparison runs them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.isotonic import isotonic
from dither.estimate.projections import non_negative_with_total
from dither.privacy import Loss
from dither.publish import histograms
from dither.publish.histograms.pruning import squares_without_negatives
from dither.publish.workloads import Hdmm, Privelet, Workload

Shape = tuple[Any, ...]


@dataclass(frozen=True)
class Method:
    """A way to publish a table of counts.

    Args:
        name: as the catalogue has it, for the most part.
        build: from a loss for counts 1 apart and a shape to a mechanism.
        dimensions: for how many axes; None for any number.
        is_data_dependent: whether the error depends on the counts so that no cell has an interval.
        most_cells: beyond this it takes too long.

    """

    name: str
    build: Callable[[Loss, Shape], Any]
    dimensions: int | None
    is_data_dependent: bool
    most_cells: int = 2**24

    def fits(self, shape: Shape) -> bool:
        """Return whether the method is made for tables of that shape."""
        cells = 1
        for size in shape:
            cells *= size
        return (self.dimensions is None or self.dimensions == len(shape)) and cells <= self.most_cells


def _ranges(shape: Shape) -> Workload:
    parts = [Workload.all_ranges(size) for size in shape]
    return parts[0] if len(parts) == 1 else Workload.kron(*parts)


def _square(shape: Shape) -> int:
    side: int = 1 << (max(shape) - 1).bit_length()
    if shape != (side, side):
        raise InvalidParameter("shape", shape, "a square whose side is a power of two, for priv-tree")
    return side


_EVERY: Final = (
    Method("identity", lambda loss, shape: histograms.IdentityHistogram.calibrated(loss, shape=shape), None, False),
    Method(
        "hierarchical", lambda loss, shape: histograms.HierarchicalHistogram.calibrated(loss, cells=shape[0]), 1, False
    ),
    Method("pruned", lambda loss, shape: histograms.PrunedHistogram.calibrated(loss, cells=shape[0]), 1, False),
    Method("pruned-plane", lambda loss, shape: histograms.PrunedPlane.calibrated(loss, shape=shape), 2, False),
    Method("privelet", lambda loss, shape: Privelet.calibrated(loss, sensitivity=1, shape=shape), None, False),
    Method("quad-tree", lambda loss, shape: histograms.QuadTree.calibrated(loss, shape=shape), 2, False),
    Method(
        "hdmm",
        lambda loss, shape: Hdmm.calibrated(loss, sensitivity=1, workload=_ranges(shape), of_cells=True),
        None,
        False,
        2**12,
    ),
    Method("uniform", lambda loss, shape: histograms.UniformHistogram.calibrated(loss, shape=shape), None, True),
    Method("dawa", lambda loss, shape: histograms.Dawa.calibrated(loss, cells=shape[0]), 1, False, 2**17),
    Method("ahp", lambda loss, shape: histograms.ClusteredHistogram.calibrated(loss, shape=shape), None, True),
    Method(
        "noise-first", lambda loss, shape: histograms.MergedHistogram.calibrated(loss, cells=shape[0]), 1, True, 2**13
    ),
    Method(
        "most-likely",
        lambda loss, shape: histograms.MostLikelyHistogram.calibrated(loss, cells=shape[0]),
        1,
        True,
        2**12,
    ),
    Method("dp-cube", lambda loss, shape: histograms.DpCube.calibrated(loss, shape=shape), None, True, 2**20),
    Method("uniform-grid", lambda loss, shape: histograms.UniformGrid.calibrated(loss, shape=shape), 2, True),
    Method("adaptive-grid", lambda loss, shape: histograms.AdaptiveGrid.calibrated(loss, shape=shape), 2, True),
    Method("priv-tree", lambda loss, shape: histograms.PrivTree.calibrated(loss, side=_square(shape)), 2, True),
)
METHODS: Final[Mapping[str, Method]] = MappingProxyType({method.name: method for method in _EVERY})


def build_method(name: str, loss: Loss, shape: Shape) -> Any:
    """Return the mechanism of that name for a table of that shape, within ``loss`` for counts 1 apart.

    >>> from dither.privacy import PureDP
    >>> build_method("identity", PureDP(1), (4,)).loss(1)
    PureDP('1')
    """
    method = METHODS.get(name)
    if method is None or not method.fits(shape):
        fitting = ", ".join(other.name for other in _EVERY if other.fits(shape))
        raise InvalidParameter("method", name, f"'auto', or one that suits a table of shape {shape}: {fitting}")
    return method.build(loss, shape)


def without_negatives(counts: NDArray[np.float64], *, is_ordered: bool) -> NDArray[np.float64]:
    """Return estimates without negative counts, at no cost: computed from released numbers only.

    Along one ordered axis the cumulated counts become the nearest that never fall: a projection on a convex set that
    holds the truth, so that they come no farther from it. On two ordered axes the nearest counts are taken square by
    square, so that sums over rectangles stay good. Otherwise the nearest counts with the same total.

    >>> without_negatives(np.array([3.0, -1.0, 2.0]), is_ordered=True).tolist()
    [2.5, 0.0, 1.5]
    """
    if counts.ndim == 1 and is_ordered:
        return np.diff(np.maximum(isotonic(np.cumsum(counts)), 0.0), prepend=0.0)
    if counts.ndim == 2 and is_ordered:
        return squares_without_negatives(counts)
    return non_negative_with_total(counts)
