"""The marginal method with the least mean variance, chosen without data."""

from __future__ import annotations

from collections.abc import Sequence

from dither.lift.attributes import Attributes, Axes
from dither.lift.blocks import merged
from dither.privacy import ROW, Loss, PureDP, Unit
from dither.publish.marginals.common import DrawnMarginals
from dither.publish.marginals.data_cubes import DataCubes
from dither.publish.marginals.per_marginal import NoisyMarginals
from dither.publish.marginals.residual_planner import ResidualPlanner

#: Numbers of cells of the cuboids that are tried, and of their attributes: one has 2^10 parts then.
_CUBOIDS = tuple(4**power for power in range(2, 8))
_WIDEST = 10


def best_method(
    within: Loss, attributes: Attributes, marginals: Sequence[Sequence[str]], unit: Unit = ROW
) -> DrawnMarginals:
    """Return the method with the least mean variance whose loss for one row is within ``within``.

    That is the residual planner, which is the best there is. Under a pure loss marginals are measured one by one, or in
    cuboids that hold several of them, by whichever has the smaller mean variance.

    Args:
        within: the most that one row may lose.
        attributes: the columns of the table.
        marginals: the columns of each marginal.
        unit: ROW, ROW_REPLACED or ROW_EXCHANGED.

    >>> from dither.privacy import ZCDP
    >>> table = Attributes(tuple("abcdefgh"), (2,) * 8)
    >>> best_method(PureDP(1), table, table.every(2)).name, best_method(ZCDP(1), table, table.every(2)).name
    ('data-cubes', 'residual-planner')

    """
    if not isinstance(within, PureDP):
        return ResidualPlanner.calibrated(within, attributes=attributes, marginals=marginals, unit=unit)
    best: DrawnMarginals = NoisyMarginals.calibrated(within, attributes=attributes, marginals=marginals, unit=unit)
    tried: tuple[Axes, ...] = best.sets
    least = float("inf")
    for cells in _CUBOIDS:
        cuboids = merged(attributes.sizes, best.sets, most_cells=cells, most_axes=_WIDEST)
        if len(cuboids) >= len(tried):
            continue
        tried = cuboids
        named = [attributes.named(axes) for axes in cuboids]
        other = DataCubes.calibrated(within, attributes=attributes, marginals=marginals, cuboids=named, unit=unit)
        variance = float(other.variances.mean())
        if variance < float(best.variances.mean()):
            best = other
        # Larger cuboids help until they do not.
        if variance > least:
            break
        least = variance
    return best
