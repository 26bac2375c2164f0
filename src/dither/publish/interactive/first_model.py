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
from typing import Final, NamedTuple

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


class Estimate(NamedTuple):
    """An answer by least squares, the variance of its noise, and the most that one draw has of that."""

    answer: float
    variance: float
    largest: float


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
    >>> [round(number, 6) for number in model.estimate(np.array([[True, True], [False, False]]))]
    [3.0, 0.75, 0.5625]

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
        even = np.full(attributes.sizes, self.total / attributes.cells)
        if not self.margins:
            return even
        passes = max(3, min(_MOST_PASSES, _WORK // (attributes.cells * len(self.margins))))
        return proportional_fit(even, self.margins, tolerance=_TOLERANCE, most_rounds=passes)

    @cached_property
    def total(self) -> float:
        """The number of rows, at least 1."""
        measured = self._noisy[self._sets[0]].sum() if self._is_one else self._fitted.tables[()]
        return max(float(measured), 1.0)

    @cached_property
    def margins(self) -> Mapping[Axes, Floats]:
        """What a table is fitted to: marginals that are at least 0 and have the same total, the most accurate last."""
        wide = sorted((axes for axes in self._sets if axes), key=lambda axes: -self._attributes.cells_of(axes))
        if not wide:
            return {}
        agreeing = self._agreeing(self.total)
        # The small ones are the most accurate, and come last; single columns as least squares has them, because taking
        # off what is below 0 moves rows from full to empty cells, which adds up along a range of values.
        ordered = {axes: non_negative_with_total(agreeing[axes], self.total) for axes in wide}
        if not self._is_one:
            for axis in sorted({axis for axes in wide for axis in axes}):
                ordered[(axis,)] = non_negative_with_total(self._fitted.marginal((axis,)), self.total)
        return ordered

    def _agreeing(self, total: float) -> Mapping[Axes, Floats]:
        """Return the marginals after some rounds of taking off what is below 0 and bringing them together."""
        if self._is_one:
            return self._noisy
        fitted: Interactions = self._fitted
        for _ in range(_ROUNDS):
            held = {axes: non_negative_with_total(fitted.marginal(axes), total) for axes in self._sets}
            fitted = fit(self._attributes, held, self._variances)
        return {axes: fitted.marginal(axes) for axes in self._sets}

    @cached_property
    def _shares(self) -> dict[Axes, dict[Axes, float]]:
        """How much each measured marginal has of the estimate of each interaction."""
        sizes = self._attributes.cells_of
        return {
            axes: {part: sizes(part) / (variance * sizes(axes)) * self._spreads[part] for part in subsets(axes)}
            for axes, variance in self._variances.items()
        }

    def estimate(self, question: NDArray[np.bool_]) -> Estimate | None:
        """Return the answer by least squares and what is known of its noise; None where no marginal has the columns.

        It is a linear combination of the noise, without any error of a model.

        Args:
            question: the cells that are asked about.

        """
        axes = self.around(used_axes(question))
        if axes is None:
            return None
        first = tuple(slice(None) if axis in axes else 0 for axis in range(question.ndim))
        return self.combined(axes, question[first].astype(np.float64))

    def around(self, used: Axes) -> Axes | None:
        """Return the smallest measured marginal that has some columns; None where there is none."""
        found = [axes for axes in self._sets if set(used) <= set(axes)]
        # All measured marginals agree by now: any of them gives the same answer.
        return min(found, key=self._attributes.cells_of) if found else None

    def combined(self, axes: Axes, weights: Floats) -> Estimate:
        """Return a weighted sum of the cells of a measured marginal, by least squares.

        Args:
            axes: the marginal.
            weights: a number for each of its cells.

        """
        if axes not in self._marginals:
            self._marginals[axes] = np.asarray(self._noisy[axes] if self._is_one else self._fitted.marginal(axes))
        answer = float((weights * self._marginals[axes]).sum())
        if self._is_one:
            variance = self._variances[axes]
            return Estimate(answer, variance * float(weights.sum()), variance)
        variances, heights = [], {}
        for part in subsets(axes):
            centre, left = _interaction(weights, axes, part), self._attributes.cells_of(_without(axes, part))
            variances.append(self._spreads[part] / left**2 * float((centre**2).sum()))
            heights[part] = float(np.abs(centre).max()) / left
        # A cell of a marginal counts by its share of each interaction, times the query's: no more than all together.
        largest = max(
            self._variances[one] * sum(share * heights.get(part, 0.0) for part, share in shares.items()) ** 2
            for one, shares in self._shares.items()
        )
        return Estimate(answer, math.fsum(variances), largest)


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


def _interaction(weights: Floats, axes: Axes, part: Axes) -> Floats:
    """Return a query's interaction with some axes: how much of the noise of theirs it takes up."""
    return centred(np.asarray(weights.sum(axis=tuple(place for place, axis in enumerate(axes) if axis not in part))))
