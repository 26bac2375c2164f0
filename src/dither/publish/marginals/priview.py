"""PriView: a synopsis of overlapping views, from which any marginal can be reconstructed later.

For tables of many attributes when it is not known in advance which marginals will be wanted. The views are marginals
on a public covering design; noise is added once, and every marginal within a view is a linear estimate with a known
variance. A marginal that no view holds is the one of largest entropy among those that agree with the views. Cost: one
pass over the rows for each view. Corrections: views are made to agree by least squares over all of them at once, which
is exact and has the least variance, in place of averages from small intersections to large ones; negative counts are
taken away where a table is reconstructed, by projection, and never from what is released.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.estimate.fitting import proportional_fit
from dither.estimate.projections import non_negative_with_total
from dither.estimate.ripple import ripple
from dither.exact import Number
from dither.lift.attributes import Attributes, Axes, checked_sets
from dither.mechanisms.core.mechanism import Interval, Numerics
from dither.mechanisms.core.purse import CountNoise, OneCount
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, ROW_REPLACED, Loss, Plan, Unit
from dither.publish.histograms.common import Floats
from dither.publish.marginals.common import MarginalRelease
from dither.publish.marginals.covering import covering_views
from dither.publish.marginals.interactions import cell_variance, fit, fitted_spreads
from dither.publish.marginals.measuring import Measurement, node_within


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 2, "c": 2})
    rows = np.array([[0, 1, 1], [1, 1, 0], [5, -3, 0]])
    yield Example(PriView(attributes=table, marginals=[["a", "b"], ["b", "c"]], node=Geometric(scale=2)), rows)
    gaussian = DiscreteGaussian(sigma=2)
    yield Example(PriView(attributes=table, marginals=[["a"], ["b"]], node=gaussian, unit=ROW_REPLACED), rows)


@register(
    examples=_examples,
    source="PriView: Practical Differentially Private Release of Marginal Contingency Tables (Qardaji, Yang, Li 2014); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.2.2",
)
@dataclass(frozen=True, kw_only=True)
class PriView(MarginalRelease):
    """Release overlapping views of a table, made consistent, from which any marginal can be reconstructed.

    Guarantee: records ``d_in`` rows apart lose what ``node`` loses at ``d_in`` times the number of views (geometric
    noise) or its root (Gaussian noise); replaced rows twice that, or the root of 2 times it.

    Args:
        attributes: names and sizes; public.
        marginals: the views, sets of names; public.
        unit: ROW or ROW_REPLACED.
        node: the noise of one count.

    >>> from dither.privacy import PureDP
    >>> table = Attributes(tuple("abcdefgh"), (2,) * 8)
    >>> views = PriView.calibrated(PureDP(1), attributes=table, largest=4)
    >>> len(views.marginals), views.node.scale
    (6, Fraction(6, 1))

    """

    name: ClassVar[str] = "priview"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT

    node: OneCount = OneCount()

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        attributes: Attributes,
        unit: Unit = ROW,
        views: Sequence[Sequence[str]] | None = None,
        strength: int = 2,
        largest: int = 8,
    ) -> Self:
        """Return the mechanism with the least noise whose loss for data one unit apart is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            attributes: names and sizes.
            unit: ROW or ROW_REPLACED.
            views: sets of names; None for a covering design.
            strength: how many attributes lie together in some view of the design.
            largest: how many attributes a view of the design has at most.

        """
        chosen = covering_views(attributes, strength=strength, largest=largest) if views is None else views
        sets = checked_sets(attributes, chosen, "views")
        node = node_within(within, attributes, sets, (1,) * len(sets), unit)
        return cls(attributes=attributes, marginals=chosen, unit=unit, node=node)

    @cached_property
    def measurement(self) -> Measurement:
        """The one draw."""
        return Measurement(self.attributes, self.sets, (1,) * len(self.sets), self.node, self.unit)

    @property
    def nodes(self) -> tuple[CountNoise, ...]:
        """The noise."""
        return (self.node,)

    def plan(self) -> Plan:
        """One draw for all views."""
        return self.measurement.plan()

    @cached_property
    def spreads(self) -> dict[Axes, float]:
        """The factor u_T of the covariance of each interaction."""
        return fitted_spreads(self.attributes, self.measurement.variances)

    @cached_property
    def marginal_variances(self) -> tuple[float, ...]:
        """The variance of a cell of each view."""
        return tuple(cell_variance(self.attributes, self.spreads, axes) for axes in self.sets)

    def variance(self, names: Sequence[str]) -> float:
        """Return the variance of a cell of the linear estimate of a marginal that lies within a view."""
        axes = self.attributes.axes(names)
        if axes not in self.spreads:
            raise InvalidParameter("names", tuple(names), "attributes that are together in one view")
        return cell_variance(self.attributes, self.spreads, axes)

    def release(self, data: Any, run: Runner) -> Floats:
        """Return the views, consistent with one another."""
        noisy = self.measurement.draw(data, run)
        return fit(self.attributes, noisy, self.measurement.variances).flat(self.sets)

    def reconstruct(self, out: Any, names: Sequence[str], *, ripples: bool = False) -> Floats:
        """Return the non-negative marginal of maximum entropy on these attributes that agrees with released views.

        Args:
            out: what was released.
            names: the attributes, each of which lies in some view.
            ripples: whether negative cells are filled from their neighbours, as the source does; else the nearest
                non-negative table is taken.

        Post-processing. Where one view holds all of them, its marginal is the answer, with negative counts projected
        away; otherwise the cells have no known variance, and ``bounds`` says what is certain.

        """
        axes, within = self._within(names)
        nearest = ripple if ripples else non_negative_with_total
        estimates = [nearest(table) for table in self._seen(out, within)]
        if within == [axes]:
            return estimates[0]
        total = float(np.mean([table.sum() for table in estimates]))
        known = {
            tuple(axes.index(axis) for axis in part): non_negative_with_total(table, total)
            for part, table in zip(within, estimates, strict=True)
        }
        return proportional_fit(np.ones(self.attributes.shape_of(axes)), known)

    def bounds(self, out: Any, names: Sequence[str], confidence: Number) -> Interval:
        """Return bounds on the true cells of any marginal, all at once.

        A count is at most each count that holds it, so a cell that no view holds lies between 0 and the least upper
        end of the cells of views that hold it.
        """
        axes, within = self._within(names)
        interval = self.interval(out, confidence)
        if interval is None:
            raise InvalidParameter("out", "no interval", "what this record released")
        # An upper end of a cell of a view is the estimate and its reach; a sum of cells adds up both.
        high = np.full(self.attributes.shape_of(axes), np.inf)
        low = np.zeros(self.attributes.shape_of(axes))
        ends = zip(within, self._seen(interval.low, within), self._seen(interval.high, within), strict=True)
        for part, lower, upper in ends:
            spread = tuple(self.attributes.sizes[axis] if axis in part else 1 for axis in axes)
            high = np.minimum(high, upper.reshape(spread))
            if part == axes:
                low = np.maximum(low, lower)
        return Interval(low, np.maximum(high, low), interval.confidence)

    def _within(self, names: Sequence[str]) -> tuple[Axes, list[Axes]]:
        """Return the attributes, and the largest groups of them that lie in one view."""
        (axes,) = checked_sets(self.attributes, [names], "names")
        parts = {tuple(axis for axis in axes if axis in view) for view in self.sets}
        covered = {axis for part in parts for axis in part}
        if covered != set(axes):
            raise InvalidParameter("names", tuple(names), "attributes that occur in some view")
        largest = [part for part in parts if not any(set(part) < set(other) for other in parts)]
        return axes, sorted(largest)

    def _seen(self, out: Any, parts: Sequence[Axes]) -> list[Floats]:
        """Return the marginals on groups of attributes, each from the smallest view that contains it."""
        tables = dict(zip(self.sets, self.tables(out).values(), strict=True))
        seen = []
        for part in parts:
            holding = [axes for axes in self.sets if set(part) <= set(axes)]
            view = min(holding, key=self.attributes.cells_of)
            dropped = tuple(place for place, axis in enumerate(view) if axis not in part)
            seen.append(np.asarray(tables[view].sum(axis=dropped), dtype=np.float64))
        return seen
