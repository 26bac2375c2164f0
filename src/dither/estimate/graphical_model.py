"""Graphical models: the distribution of many attributes that fits noisy marginals, by exact junction-tree inference.

The law is p(x) proportional to e^(sum of potentials), one potential for each measured set of attributes: the law of
largest entropy among all that have its marginals on those sets.

- **Inference.** Messages of logarithms go from the leaves to the root, so nothing underflows; on the way back every
  clique is its conditional law given what it shares with its parent times the parent's marginal, plain products. One
  exponential a cell (Lauritzen and Spiegelhalter 1988, section 5).
- **Estimation.** With y_i the measured marginals, v_i the variances of their cells, N the number of records, m_i(p)
  the marginals of a law and H(p) its entropy, sought is the minimum over all laws of
  sum_i |N m_i(p) - y_i|^2 / (2 k_i v_i) - N H(p), k_i = c_i / s with s the typical standard deviation. For small c_i
  it is the least-squares fit without negative counts (McKenna, Sheldon and Miklau 2019, section 3) of largest entropy.
  Positive c_i make it unique, keep noise from being taken for structure, and give it a smooth convex dual in the
  potentials t_i, N log Z(t) - sum_i <t_i, y_i> + sum_i k_i v_i |t_i|^2 / 2, with the gradient
  N m_i - y_i + k_i v_i t_i: one inference a step, and no step size to choose. It is minimised by limited-memory
  quasi-Newton steps with the diagonal start matrix N m_i + k_i v_i; mirror descent, which has the same entropy as its
  regulariser, takes many times as many steps. Marginals of one attribute are followed more closely than those of
  several, so that what is not known falls back to independence and not to uniformity.
- **The number of records** is the combination of the totals of all measurements of least variance.

The same measurements give the same model, to the last bit. Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_letters

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.junction_tree import Axes, JunctionTree, junction_tree

Floats = NDArray[np.float64]

#: Cells of a tree that is ever held: 512 MiB of numbers.
MOST_CELLS = 2**26
#: The weights c of the entropy beside a measurement of one attribute and of several: a cell of typical noise that lies
#: a factor e^a off what the other measurements say is moved by a * c standard deviations.
TIGHT, LOOSE = 1 / 16, 1 / 2
#: Quasi-Newton steps of a fit; where the model is only looked at, fewer will do.
FULL_STEPS = 400
_MEMORY = 30
#: A fit is done when no cell is off its condition for the minimum by more than this part of its noise.
PRECISION = 0.03
# Potentials farther out make no difference to a law in float64.
_FARTHEST = 1e6


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """A released marginal: the attributes, a noisy count for each cell, and each count's variance.

    Args:
        axes: the numbers of the attributes, in increasing order.
        values: noisy counts, of the shape of the marginal.
        variance: of the noise of a cell; one number, or one for each cell.

    """

    axes: Axes
    values: Floats
    variance: float | Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.asarray(self.values, dtype=np.float64))
        if list(self.axes) != sorted(set(self.axes)) or self.values.ndim != len(self.axes):
            raise InvalidParameter("axes", self.axes, "increasing numbers, one for each axis of the values")
        if not np.isfinite(self.values).all():
            raise InvalidParameter("values", "an array", "finite numbers")
        variances = np.broadcast_to(np.asarray(self.variance, dtype=np.float64), self.values.shape)
        object.__setattr__(self, "variance", variances)
        if not bool(((variances > 0) & np.isfinite(variances)).all()):
            raise InvalidParameter("variance", "a number", "positive and finite")


class Calibrated:
    """The distribution of given potentials on a junction tree, with the marginal of every clique.

    Args:
        tree: the cliques.
        potentials: for sets of attributes that lie within cliques, what the logarithm of the law is the sum of.

    """

    def __init__(self, tree: JunctionTree, potentials: Mapping[Axes, Floats]) -> None:
        self.tree = tree
        self._layout = _Layout(tree, tuple(potentials))
        self.log_total, self._tables = self._layout.infer([np.asarray(table) for table in potentials.values()])
        self._parts: dict[tuple[int, Axes], Floats] = {}

    def clique(self, place: int) -> Floats:
        """Return the probabilities of the cells of a clique, its attributes in increasing order."""
        return self._layout.sorted_table(place, self._tables[place])

    def marginal(self, axes: Sequence[int]) -> Floats:
        """Return the probabilities of the cells of any marginal; attributes in increasing order."""
        wanted = tuple(sorted(axes))
        place = self.tree.holding(wanted)
        if place is not None:
            return _summed(self.clique(place), self.tree.cliques[place], wanted)
        return self._across(wanted)

    def pairs_with(self, axis: int) -> dict[int, Floats]:
        """Return the marginals on one attribute and each other attribute, the one first, in one walk over the tree."""
        tree = self.tree
        found: dict[int, Floats] = {}
        around: list[list[tuple[int, Axes]]] = [[] for _ in tree.cliques]
        for place, parent in enumerate(tree.parents):
            if parent >= 0:
                around[place].append((parent, tree.separators[place]))
                around[parent].append((place, tree.separators[place]))
        holders = [place for place, clique in enumerate(tree.cliques) if axis in clique]
        seen = set(holders)
        # A clique, what it shares with the one it was entered from, and the law of that given the one attribute.
        waiting: list[tuple[int, Axes, Floats]] = []
        for place in holders:
            for other in tree.cliques[place]:
                if other != axis and other not in found:
                    found[other] = self._part(place, (axis, other))
            for there, separator in around[place]:
                if there not in seen:
                    seen.add(there)
                    waiting.append((there, separator, self._part(place, (axis, *separator))))
        while waiting:
            place, entered, joint = waiting.pop()
            shared = self._part(place, entered)
            given = joint / np.where(shared > 0, shared, 1.0)
            for other in tree.cliques[place]:
                if other != axis and other not in found:
                    table = self._part(place, (*entered, other))
                    found[other] = given.reshape(len(given), -1) @ table.reshape(-1, tree.sizes[other])
            for there, separator in around[place]:
                if there not in seen:
                    seen.add(there)
                    further = tuple(other for other in separator if other not in entered)
                    table = self._part(place, (*entered, *further))
                    # The one attribute is in none of these cliques, so its number is free to stand for itself.
                    onward = _contracted(given, (axis, *entered), table, (*entered, *further), (axis, *separator))
                    waiting.append((there, separator, onward))
        return found

    def _part(self, place: int, order: Axes) -> Floats:
        """Return a clique's marginal on some of its attributes, in any order; cached."""
        known = self._parts.get((place, order))
        if known is None:
            clique, wanted = self.tree.cliques[place], tuple(sorted(order))
            table = _summed(self.clique(place), clique, wanted)
            known = self._parts[place, order] = table.transpose([wanted.index(axis) for axis in order])
        return known

    def _across(self, wanted: Axes) -> Floats:
        """Return a marginal that no clique contains: conditionals are multiplied along the tree, and summed early."""
        tree, sought = self.tree, set(wanted)
        below = [sought & set(clique) for clique in tree.cliques]
        for place in range(len(tree.cliques) - 1, 0, -1):
            below[tree.parents[place]] |= below[place]
        # The lowest clique that has all of them at or below it, and below it those that lead to one it lacks.
        top = max(place for place, found in enumerate(below) if found == sought)
        needed = [False] * len(tree.cliques)
        needed[top] = True
        for place in range(top + 1, len(tree.cliques)):
            needed[place] = needed[tree.parents[place]] and bool(below[place] - set(tree.separators[place]))
        carried: dict[int, tuple[Axes, Floats]] = {}
        for place in range(len(tree.cliques) - 1, top - 1, -1):
            if not needed[place]:
                continue
            separator = () if place == top else tree.separators[place]
            table, axes, kept = self.clique(place), tree.cliques[place], sought | set(separator)
            waiting = [child for child in tree.children[place] if needed[child]]
            while waiting:
                given, message = carried.pop(waiting.pop())
                still = kept.union(*(tree.separators[other] for other in waiting))
                joint = tuple(sorted((set(axes) | set(given)) & still))
                table, axes = _contracted(table, axes, message, given, joint), joint
            if place != top:
                # The law of the rest given the separator; where the separator has no mass, nothing follows from it.
                shared = _summed(self.clique(place), tree.cliques[place], separator)
                table = table / _spread(np.where(shared > 0, shared, 1.0), separator, axes)
            carried[place] = axes, table
        axes, table = carried[top]
        return _summed(table, axes, wanted)


def fit_graphical_model(
    sizes: Sequence[int],
    measured: Iterable[NoisyMarginal],
    *,
    total: float | None = None,
    start: Mapping[Axes, Floats] | None = None,
    tight: float = TIGHT,
    loose: float = LOOSE,
    steps: int = FULL_STEPS,
    precision: float = PRECISION,
) -> FittedModel:
    """Return the distribution that fits noisy marginals best, with maximum entropy where they leave a choice.

    Args:
        sizes: the number of values of each attribute.
        measured: the noisy marginals; several on the same attributes count as one of less noise.
        total: the number of records; None for the estimate from all measurements.
        start: potentials to begin with, such as those of a fit to fewer measurements.
        tight: the weight of the entropy beside a measured marginal of one attribute.
        loose: the same of several.
        steps: how many quasi-Newton steps are made at most.
        precision: how close every cell must come to its condition for the minimum, in standard deviations.

    """
    shape = tuple(int(size) for size in sizes)
    given = list(measured)
    for one in given:
        if one.values.shape != tuple(shape[axis] for axis in one.axes if 0 <= axis < len(shape)):
            raise InvalidParameter("measured", one.axes, f"marginals of attributes of {shape} values")
    records = estimated_total(given) if total is None else float(total)
    together = _together(one for one in given if one.axes)
    tree = junction_tree(shape, together)
    if tree.cells > MOST_CELLS:
        raise InvalidParameter("measured", f"a model of {tree.cells} cells", f"one of at most {MOST_CELLS}")
    problem = _Dual(tree, together, max(records, 1.0), (tight, loose), precision)
    known = start or {}
    first = [known[axes] if axes in known else _guess(one, records) for axes, one in together.items()]
    found = problem.minimised(np.concatenate([np.ravel(table) for table in first] or [np.zeros(0)]), steps)
    return FittedModel(tree, max(records, 0.0), problem.split(found))


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A fitted distribution: its tree, the number of records, and the potential of each measured set."""

    tree: JunctionTree
    total: float
    potentials: dict[Axes, Floats]

    def calibrated(self) -> Calibrated:
        """Return the distribution with its marginals."""
        return Calibrated(self.tree, self.potentials)


def estimated_total(measured: Iterable[NoisyMarginal]) -> float:
    """Return the number of records: the mean of all measurements' totals, weighted by precision.

    >>> estimated_total([NoisyMarginal((0,), np.array([3.0, 5.0]), 1.0), NoisyMarginal((), np.array(11.0), 2.0)])
    9.5

    """
    weights, sums = [], []
    for one in measured:
        weights.append(1 / float(np.sum(one.variance)))
        sums.append(float(one.values.sum()))
    return float(np.dot(weights, sums) / sum(weights)) if weights else 0.0


def _guess(one: NoisyMarginal, total: float) -> Floats:
    """Return the start of a new potential: for one attribute its own distribution, as if all were independent."""
    if len(one.axes) != 1 or total <= 0:
        return np.zeros_like(one.values)
    floor = np.sqrt(one.variance)
    return np.asarray(np.log(np.maximum(one.values, floor) / max(total, 1.0)))


def _together(measured: Iterable[NoisyMarginal]) -> dict[Axes, NoisyMarginal]:
    """Return one measurement for each set: the mean of those on the same attributes, weighted by precision."""
    found: dict[Axes, NoisyMarginal] = {}
    for one in measured:
        other = found.get(one.axes)
        if other is not None:
            variance = 1 / (1 / one.variance + 1 / other.variance)
            mean = (one.values / one.variance + other.values / other.variance) * variance
            found[one.axes] = NoisyMarginal(one.axes, mean, variance)
        else:
            found[one.axes] = one
    return found


class _Layout:
    """The memory layout: each clique as a matrix, with a row for each cell that it shares with its parent."""

    def __init__(self, tree: JunctionTree, sets: tuple[Axes, ...]) -> None:
        self.tree, self.sets = tree, sets
        sizes = tree.sizes
        self.orders = [
            (*separator, *(axis for axis in clique if axis not in separator))
            for clique, separator in zip(tree.cliques, tree.separators, strict=True)
        ]
        self.shapes = [tuple(sizes[axis] for axis in order) for order in self.orders]
        self.rows = [math.prod(sizes[axis] for axis in separator) for separator in tree.separators]
        homes = [tree.holding(axes) for axes in sets]
        if None in homes:
            raise InvalidParameter("potentials", sets[homes.index(None)], "on attributes of one clique")
        self.homes = [home for home in homes if home is not None]
        self.held: list[list[int]] = [[] for _ in tree.cliques]
        for number, home in enumerate(self.homes):
            self.held[home].append(number)
        # How a table on a set of attributes in increasing order is laid over a clique, and got back from it.
        self.over = [_broadcast(axes, self.orders[home], sizes) for axes, home in zip(sets, self.homes, strict=True)]
        self.back = [_reduction(self.orders[home], axes) for axes, home in zip(sets, self.homes, strict=True)]
        self.message_over, self.message_back = [], []
        for place, parent in enumerate(tree.parents):
            if parent >= 0:
                separator = tree.separators[place]
                self.message_over.append(_broadcast(separator, self.orders[parent], sizes))
                self.message_back.append(_reduction(self.orders[parent], separator))
            else:
                self.message_over.append(((), ()))
                self.message_back.append(((), ()))

    def infer(self, potentials: Sequence[Floats]) -> tuple[float, list[Floats]]:
        """Return the logarithm of the sum of all weights, and the probabilities of every clique, in its own layout."""
        count = len(self.orders)
        beliefs: list[Floats] = []
        for place in range(count):
            belief = np.zeros(self.shapes[place])
            for number in self.held[place]:
                order, shape = self.over[number]
                belief += potentials[number].transpose(order).reshape(shape)
            beliefs.append(belief)
        weights: list[Floats] = [np.empty(0)] * count
        sums: list[Floats] = [np.empty(0)] * count
        log_total = 0.0
        for place in range(count - 1, -1, -1):
            matrix = beliefs[place].reshape(self.rows[place], -1)
            tops = matrix.max(axis=1, keepdims=True)
            matrix -= tops
            np.exp(matrix, out=matrix)
            sums[place] = matrix.sum(axis=1)
            weights[place] = matrix
            message = np.log(sums[place]) + tops[:, 0]
            parent = self.tree.parents[place]
            if parent < 0:
                log_total = float(message[0])
            else:
                order, shape = self.message_over[place]
                shared = message.reshape(self.shapes[place][: len(self.tree.separators[place])])
                beliefs[parent] += shared.transpose(order).reshape(shape)
        for place in range(count):
            parent = self.tree.parents[place]
            if parent < 0:
                weights[place] *= 1 / sums[place][0]
            else:
                summed, order = self.message_back[place]
                mass = weights[parent].reshape(self.shapes[parent]).sum(axis=summed).transpose(order)
                weights[place] *= (mass.reshape(-1) / sums[place])[:, None]
        return log_total, [table.reshape(shape) for table, shape in zip(weights, self.shapes, strict=True)]

    def marginals(self, tables: Sequence[Floats]) -> list[Floats]:
        """Return the marginals on the sets that have potentials."""
        found = []
        for number, home in enumerate(self.homes):
            summed, order = self.back[number]
            found.append((tables[home].sum(axis=summed) if summed else tables[home]).transpose(order))
        return found

    def sorted_table(self, place: int, table: Floats) -> Floats:
        """Return the table of a clique with its attributes in increasing order."""
        return np.ascontiguousarray(table.transpose(np.argsort(self.orders[place])))


class _Dual:
    """The smooth convex function of all potentials to minimise, and its gradient."""

    def __init__(
        self,
        tree: JunctionTree,
        measured: Mapping[Axes, NoisyMarginal],
        total: float,
        weights: tuple[float, float],
        precision: float,
    ) -> None:
        self._layout, self._total = _Layout(tree, tuple(measured)), total
        self._shapes = [one.values.shape for one in measured.values()]
        self._ends = np.cumsum([math.prod(shape) for shape in self._shapes])
        targets, ridges, close = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
        logs = [math.log(float(np.mean(one.variance))) / 2 for one in measured.values()]
        typical = math.exp(sum(logs) / max(len(logs), 1))
        for one in measured.values():
            variance = np.ravel(one.variance)
            # All laws have the same total, so what was measured of it makes no difference: it is replaced by the
            # estimate, and no potential is spent on contradicting that.
            targets.append(one.values.ravel() + (total - one.values.sum()) * variance / variance.sum())
            ridges.append(variance * weights[len(one.axes) > 1] / typical)
            # How far a gradient may be from 0: a small part of the noise itself.
            close.append(precision * np.sqrt(variance))
        self._targets, self._ridge, self._close = (np.concatenate(parts) for parts in (targets, ridges, close))

    def split(self, flat: Floats) -> dict[Axes, Floats]:
        """Return the potential of each set."""
        return dict(zip(self._layout.sets, self._pieces(flat), strict=True))

    def minimised(self, start: Floats, steps: int) -> Floats:
        """Return the potentials at the minimum, or after the given number of steps."""
        if not start.size:
            return start
        here = np.clip(start, -_FARTHEST, _FARTHEST)
        value, slope, expected = self._at(here)
        pairs: deque[tuple[Floats, Floats, float]] = deque(maxlen=_MEMORY)
        for _ in range(steps):
            if bool((np.abs(slope) <= self._close).all()):
                break
            diagonal = 1 / (expected + self._ridge)
            step = -_two_loops(pairs, slope, diagonal)
            descent = float(step @ slope)
            if descent >= 0:
                pairs.clear()
                step = -slope * diagonal
                descent = float(step @ slope)
            length = 1.0
            for _ in range(_HALVINGS):
                there = here + length * step
                new_value, new_slope, new_expected = self._at(there)
                if new_value <= value + _ARMIJO * length * descent + _ROUNDING * abs(value):
                    break
                length /= 2
            else:
                break
            moved, turned = there - here, new_slope - slope
            curvature = float(moved @ turned)
            if curvature > 1e-12 * float(moved @ moved):
                pairs.append((moved, turned, 1 / curvature))
            here, value, slope, expected = there, new_value, new_slope, new_expected
        return here

    def _at(self, potentials: Floats) -> tuple[float, Floats, Floats]:
        """Return the function, its gradient, and the expected counts."""
        log_total, tables = self._layout.infer(self._pieces(potentials))
        shares = self._layout.marginals(tables)
        expected = self._total * np.concatenate([share.ravel() for share in shares])
        pulled = self._ridge * potentials
        value = self._total * log_total - float(potentials @ self._targets) + float(pulled @ potentials) / 2
        return value, expected - self._targets + pulled, expected

    def _pieces(self, flat: Floats) -> list[Floats]:
        pieces = np.split(flat, self._ends[:-1]) if self._shapes else []
        return [piece.reshape(shape) for piece, shape in zip(pieces, self._shapes, strict=True)]


_HALVINGS = 30
_ARMIJO = 1e-4
_ROUNDING = 1e-15


def _two_loops(pairs: deque[tuple[Floats, Floats, float]], slope: Floats, diagonal: Floats) -> Floats:
    """Return the product of the approximate inverse Hessian and the gradient (Nocedal and Wright 2006, section 7.2)."""
    left, factors = slope.copy(), []
    for moved, turned, inverse in reversed(pairs):
        factor = inverse * float(moved @ left)
        factors.append(factor)
        left -= factor * turned
    if pairs:
        # The diagonal leaves out how much potentials overlap; the last step tells by how much it is off.
        _, turned, inverse = pairs[-1]
        diagonal = diagonal / (inverse * float(turned @ (diagonal * turned)))
    left *= diagonal
    for (moved, turned, inverse), factor in zip(pairs, reversed(factors), strict=True):
        left += (factor - inverse * float(turned @ left)) * moved
    return left


def _broadcast(axes: Axes, order: Sequence[int], sizes: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return how to transpose and reshape a table so that it lies along another's axes."""
    present = [axis for axis in order if axis in axes]
    return tuple(axes.index(axis) for axis in present), tuple(sizes[axis] if axis in axes else 1 for axis in order)


def _reduction(order: Sequence[int], axes: Axes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return which axes of a table to sum over, and how to transpose the rest."""
    summed = tuple(number for number, axis in enumerate(order) if axis not in axes)
    left = [axis for axis in order if axis in axes]
    return summed, tuple(left.index(axis) for axis in axes)


def _summed(table: Floats, axes: Axes, wanted: Axes) -> Floats:
    """Return the marginal of a table; both in increasing order."""
    away = tuple(number for number, axis in enumerate(axes) if axis not in wanted)
    return np.asarray(table.sum(axis=away)) if away else table


def _spread(table: Floats, axes: Axes, over: Axes) -> Floats:
    """Return a table with axes of length one for the attributes it lacks; both in increasing order."""
    sizes = dict(zip(axes, table.shape, strict=True))
    return table.reshape(tuple(sizes.get(axis, 1) for axis in over))


def _contracted(one: Floats, axes: Axes, other: Floats, others: Axes, joint: Axes) -> Floats:
    """Return the product of two tables, summed over the attributes that are not in ``joint``."""
    letters = dict(zip(sorted(set(axes) | set(others)), ascii_letters, strict=False))
    first, second, result = ("".join(letters[axis] for axis in group) for group in (axes, others, joint))
    return np.asarray(np.einsum(f"{first},{second}->{result}", one, other, optimize=True))
