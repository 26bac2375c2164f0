"""Select and measure: shared by synthetic methods that read records.

- **Measuring.** A record lies in one cell of a marginal, so a marginal of records d apart moves by d in L1 and in L2,
  also after values have been merged. All marginals on one attribute are drawn together (``Survey``).
- **Scoring.** A candidate is scored by the L1 distance between its marginal and what a released model says of it, in
  whole steps of 1/64 of a record. A record moves a score by at most 64 steps, times its weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.graphical_model import NoisyMarginal
from dither.estimate.junction_tree import model_cells
from dither.exact import sqrt_up
from dither.lift.attributes import MOST_CELLS, Attributes, Axes
from dither.lift.records import Records, counts_of
from dither.mechanisms.core.purse import CountNoise, Purse
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.values import LARGEST_VALUE
from dither.mechanisms.exponential import Exponential
from dither.mechanisms.geometric import Geometric
from dither.publish.histograms.common import Floats, variance_of
from dither.publish.synthetic.graphical import GraphicalModel
from dither.publish.synthetic.merging import Merging

#: Steps of a score per record.
STEPS: Final = 64
#: Cells of a model that is fitted, unless told otherwise, and the most that may be asked for.
USUAL_MODEL: Final = 2**20
LARGEST_MODEL: Final = 2**24
#: Cells of counted tables that are remembered while a method looks at the same ones again.
_REMEMBERED: Final = 2**24
#: Tables of more attributes have too many candidates to look for the best tree of each.
_WIDE: Final = 32
#: What a candidate scores that must not be chosen.
EXCLUDED: Final = -(2**60)


def spread_of(node: CountNoise) -> float:
    """Return the mean absolute noise of a cell."""
    return float(node.scale) if isinstance(node, Geometric) else math.sqrt(2 / math.pi * variance_of(node))


class Seen:
    """Private records as a method sees them: marginals with merged values, counted once and cached.

    Nothing of it is released; whatever leaves is drawn through a runner.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._remembered: dict[Axes, NDArray[np.int64]] = {}
        self._cells = 0
        self.merging = Merging.none(records.attributes)

    @property
    def attributes(self) -> Attributes:
        """Names and sizes."""
        return self._records.attributes

    def merge(self, merging: Merging) -> None:
        """Count these values together from now on; public."""
        self.merging, self._remembered, self._cells = merging, {}, 0

    def count(self, axes: Axes) -> NDArray[np.int64]:
        """Return a marginal with merged values."""
        known = self._remembered.get(axes)
        if known is not None:
            return known
        # Each count is cut off so low that no sum of them overflows; that moves no two tables farther apart.
        cells = self.attributes.cells_of(axes)
        counts = np.minimum(counts_of(self._records, axes), LARGEST_VALUE // cells)
        table = np.asarray(self.merging.merged(counts, axes), dtype=np.int64)
        if self._cells + table.size <= _REMEMBERED:
            self._remembered[axes] = table
            self._cells += table.size
        return table

    def measure(self, run: Runner, node: CountNoise, axes: Axes) -> NoisyMarginal:
        """Return a noisy marginal; a record moves it by 1."""
        counts = self.count(axes)
        noisy = run(replace(node, shape=(counts.size,)), counts.ravel())
        return NoisyMarginal(axes, np.asarray(noisy, dtype=np.float64).reshape(counts.shape), variance_of(node))

    def total(self, run: Runner, node: CountNoise) -> float:
        """Return the noisy number of records; a record moves it by 1."""
        counts = self.count((0,))
        return float(np.asarray(run(replace(node, shape=(1,)), counts.sum(keepdims=True)))[0])

    def distance(self, axes: Axes, expected: Floats, weight: int = 1) -> int:
        """Return the L1 distance between a marginal and a public table, in steps, times an integer weight.

        Private. A record moves it by at most ``STEPS * weight``.
        """
        counts = self.count(axes)
        # So low that the sum of all differences, weighed, stays within the range of scores.
        limit = LARGEST_VALUE // (2 * STEPS * weight * counts.size)
        public = np.rint(np.minimum(expected, limit) * STEPS).astype(np.int64)
        return weight * int(np.abs(np.minimum(counts, limit) * STEPS - public).sum())


class Survey:
    """All marginals on one attribute, measured in one draw with the same noise.

    Args:
        attributes: names and sizes; public.
        node: the noise of one cell.

    """

    def __init__(self, attributes: Attributes, node: CountNoise) -> None:
        self._attributes = attributes
        self.part = replace(node, shape=(sum(attributes.sizes),))
        l1, l2 = _moved(attributes)
        #: How far a record moves all of them together, in the distance of the noise.
        self.stability = l1 if isinstance(node, Geometric) else l2
        self._variance = variance_of(node)

    def draw(self, seen: Seen, run: Runner) -> dict[Axes, NoisyMarginal]:
        """Return the noisy marginals; values are not merged yet."""
        counts = np.concatenate([seen.count((axis,)) for axis in range(len(self._attributes.sizes))])
        noisy = np.asarray(run(self.part, counts, stability=self.stability), dtype=np.float64)
        pieces = np.split(noisy, np.cumsum(self._attributes.sizes)[:-1])
        return {(axis,): NoisyMarginal((axis,), piece, self._variance) for axis, piece in enumerate(pieces)}


def survey_noise(purse: Purse, attributes: Attributes) -> CountNoise:
    """Return the noise for one cell of a survey that costs the whole purse."""
    return purse.noise(*_moved(attributes))


def _moved(attributes: Attributes) -> tuple[Fraction, Fraction]:
    """Return how far a record moves all single-attribute marginals, in L1 and L2: it lies in one cell of each."""
    width = Fraction(len(attributes.sizes))
    return width, sqrt_up(width)


def merged_survey(seen: Seen, singles: Mapping[Axes, NoisyMarginal]) -> list[NoisyMarginal]:
    """Merge the values that the survey shows to be rare, from now on, and return the survey on merged values."""
    merging = Merging.of(seen.attributes, singles)
    seen.merge(merging)
    return [merging.merged_noisy(one) for one in singles.values()]


class Candidates:
    """Marginals that may be measured next: those a model can still take, and the model's distance from each.

    Args:
        attributes: names and sizes; public.
        sets: the candidates.
        weights: integers by which distances count.

    """

    def __init__(self, attributes: Attributes, sets: Sequence[Axes], weights: Sequence[int]) -> None:
        self.attributes, self.sets, self.weights = attributes, tuple(sets), tuple(weights)
        #: How far a score moves per record.
        self.stability = STEPS * max(self.weights)
        #: Which of them are small enough to be counted at all.
        self.countable = np.array([attributes.cells_of(axes) <= MOST_CELLS for axes in self.sets], dtype=bool)

    def allowed(self, model: GraphicalModel, limit: float) -> NDArray[np.bool_]:
        """Return which candidates keep the model within ``limit`` cells; public.

        In wide tables pairs are judged by an upper bound that is quick to find; ``fits`` has the last word.
        """
        sizes, tree = model.merging.sizes, model.law.tree
        now, is_wide = tree.cells, len(sizes) > _WIDE
        bounds: dict[int, list[int]] = {}
        found = []
        for axes, is_countable in zip(self.sets, self.countable.tolist(), strict=True):
            if not is_countable or math.prod(sizes[axis] for axis in axes) > limit:
                found.append(False)
            elif is_wide and len(axes) == 2:
                if axes[0] not in bounds:
                    bounds[axes[0]] = tree.joining(axes[0])
                found.append(now + bounds[axes[0]][axes[1]] <= limit)
            else:
                found.append(self.fits(model, axes, limit))
        return np.array(found, dtype=bool)

    def fits(self, model: GraphicalModel, axes: Axes, limit: float) -> bool:
        """Whether the model with one more measurement has at most ``limit`` cells; public."""
        tree = model.law.tree
        if tree.holding(axes) is not None:
            return tree.cells <= limit
        return model_cells(model.merging.sizes, [*model.potentials, axes]) <= limit

    def scores(self, seen: Seen, model: GraphicalModel, allowed: NDArray[np.bool_], spread: float) -> NDArray[np.int64]:
        """Return the model's distance from each marginal, beyond what noise of this mean size explains. Private."""
        found = np.full(len(self.sets), EXCLUDED, dtype=np.int64)
        pairs: dict[int, dict[int, Floats]] = {}
        for number in np.flatnonzero(allowed).tolist():
            axes, weight = self.sets[number], self.weights[number]
            if len(axes) == 2:
                if axes[0] not in pairs:
                    pairs[axes[0]] = model.law.pairs_with(axes[0])
                table = pairs[axes[0]][axes[1]] * model.total
            else:
                table = model.merged_table(axes)
            noise = min(weight * STEPS * spread * table.size, float(LARGEST_VALUE // 2))
            found[number] = seen.distance(axes, table, weight) - round(noise)
        return found


def picked(run: Runner, chooser: Exponential, scores: NDArray[np.int64], stability: int) -> int:
    """Return the number of a candidate chosen by its score, never an excluded one."""
    number = int(run(chooser, scores, stability=stability))
    # Next to impossible, and then as good as any other: which ones are excluded is public.
    return number if scores[number] > EXCLUDED else int(np.flatnonzero(scores > EXCLUDED)[0])


def closure(sets: Sequence[Axes]) -> tuple[Axes, ...]:
    """Return all non-empty parts of these sets.

    >>> closure([(0, 1), (1, 2)])
    ((0,), (1,), (2,), (0, 1), (1, 2))

    """
    parts = {part for axes in sets for size in range(1, len(axes) + 1) for part in combinations(axes, size)}
    return tuple(sorted(parts, key=lambda part: (len(part), part)))
