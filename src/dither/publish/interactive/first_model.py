"""The model that a conversation begins with: noisy marginals, made to agree, and the table that fits them best.

Noisy marginals are brought together by weighted least squares, which gives each interaction the estimate of least
variance (``publish.marginals.interactions``). What is below 0 is taken off and they are brought together again, a few
times; then proportional fitting finds the table of largest entropy that has them. The numbers of least squares are
kept: a question about columns of one measured marginal has an interval from the noise alone. A table of all cells that
was measured itself is the model as it is, cells below 0 included: to take these off would make every sum too large.

Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.fitting import proportional_fit
from dither.estimate.projections import non_negative_with_total
from dither.lift.attributes import Attributes, Axes
from dither.publish.histograms.common import Floats
from dither.publish.marginals.interactions import Interactions, centred, fit, fitted_spreads, subsets

#: How often marginals are brought together again after what was below 0 was taken off.
_ROUNDS: Final = 3
_TOLERANCE: Final = 1e-5
#: Rounds of proportional fitting: as many as this number of cells allows, and no more than ``_MOST_PASSES``.
_WORK: Final = 2**31
_MOST_PASSES: Final = 20


class FirstModel:
    """Noisy marginals, the table fitted to them, and what the noise leaves open of a question.

    Args:
        attributes: names and sizes.
        noisy: the released marginals.
        variances: of the noise of a cell of each.

    >>> people = Attributes.of({"a": 2, "b": 2})
    >>> model = FirstModel(people, {(0,): np.array([3.0, 1.0]), (1,): np.array([2.0, 2.0])}, {(0,): 1.0, (1,): 1.0})
    >>> model.table.round(6).tolist()
    [[1.5, 1.5], [0.5, 0.5]]
    >>> estimate, variance = model.estimate(np.array([[True, True], [False, False]]))
    >>> round(estimate, 6), round(variance, 6)
    (3.0, 0.75)

    """

    def __init__(self, attributes: Attributes, noisy: Mapping[Axes, Floats], variances: Mapping[Axes, float]) -> None:
        self._attributes, self._sets = attributes, tuple(noisy)
        self._noisy, self._variances = noisy, variances
        self._marginals: dict[Axes, Floats] = {}
        #: One marginal by itself is what it is; its interactions would be as many as it has sets of columns.
        self._is_one = len(noisy) == 1
        if not self._is_one:
            self._fitted = fit(attributes, noisy, variances)
            self._spreads = fitted_spreads(attributes, variances)

    @cached_property
    def table(self) -> Floats:
        """The number of rows in each cell, as the model has it: at least 0."""
        attributes = self._attributes
        if self._is_one and self._sets[0] == tuple(range(len(attributes.sizes))):
            return np.asarray(self._noisy[self._sets[0]], dtype=np.float64)
        measured = self._noisy[self._sets[0]].sum() if self._is_one else self._fitted.tables[()]
        total = max(float(measured), 1.0)
        even = np.full(attributes.sizes, total / attributes.cells)
        wide = sorted((axes for axes in self._sets if axes), key=lambda axes: -attributes.cells_of(axes))
        if not wide:
            return even
        held = {axes: non_negative_with_total(table, total) for axes, table in self._agreeing(total).items() if axes}
        passes = max(3, min(_MOST_PASSES, _WORK // (attributes.cells * len(wide))))
        # The small ones are the most accurate, and come last.
        ordered = {axes: held[axes] for axes in wide}
        return proportional_fit(even, ordered, tolerance=_TOLERANCE, most_rounds=passes)

    def _agreeing(self, total: float) -> Mapping[Axes, Floats]:
        """Return the marginals after some rounds of taking off what is below 0 and bringing them together."""
        if self._is_one:
            return self._noisy
        fitted: Interactions = self._fitted
        for _ in range(_ROUNDS):
            held = {axes: non_negative_with_total(fitted.marginal(axes), total) for axes in self._sets}
            fitted = fit(self._attributes, held, self._variances)
        return {axes: fitted.marginal(axes) for axes in self._sets}

    def estimate(self, question: NDArray[np.bool_]) -> tuple[float, float] | None:
        """Return the answer by least squares and the variance of its noise; None where no marginal has the columns.

        It is a linear combination of the noise, without any error of a model.

        Args:
            question: the cells that are asked about.

        """
        used = set(used_axes(question))
        around = [axes for axes in self._sets if used <= set(axes)]
        if not around:
            return None
        # All measured marginals agree by now: any of them gives the same answer.
        axes = min(around, key=self._attributes.cells_of)
        first = tuple(slice(None) if axis in axes else 0 for axis in range(question.ndim))
        weights = question[first].astype(np.float64)
        if axes not in self._marginals:
            self._marginals[axes] = np.asarray(self._noisy[axes] if self._is_one else self._fitted.marginal(axes))
        answer = float((weights * self._marginals[axes]).sum())
        if self._is_one:
            return answer, self._variances[axes] * float(weights.sum())
        variance = math.fsum(
            self._spreads[part] / self._attributes.cells_of(_without(axes, part)) ** 2 * _energy(weights, axes, part)
            for part in subsets(axes)
        )
        return answer, variance


def used_axes(question: NDArray[np.bool_]) -> Axes:
    """Return the axes along which a question is not the same everywhere.

    >>> used_axes(np.array([[True, False], [True, False]]))
    (1,)

    """
    found, left = [], question
    for axis in range(question.ndim):
        first = left[(slice(None),) * axis + (slice(0, 1),)]
        if (left == first).all():
            # The rest is looked for in one slice, of which all others are copies.
            left = first
        else:
            found.append(axis)
    return tuple(found)


def _without(axes: Axes, part: Axes) -> Axes:
    return tuple(axis for axis in axes if axis not in part)


def _energy(weights: Floats, axes: Axes, part: Axes) -> float:
    """Return the squared length of a query's interaction with some axes: what of their noise it takes up."""
    summed = weights.sum(axis=tuple(place for place, axis in enumerate(axes) if axis not in part))
    return float((centred(np.asarray(summed)) ** 2).sum())
