"""Interactions: the part of a marginal due to each subset of its attributes, and least squares from these parts.

Let N be the table of a marginal on attributes S. For T within S its **interaction** is the sum of N over the attributes
that are not in T, less its mean along each attribute of T: the part that varies with all of T and with nothing less.
Write n_A for the number of cells of A. Then

    N = sum over T within S of interaction_T / n_(S - T), spread over the cells of S.

Interactions of different T are orthogonal, and all marginals of one table have the same. So marginals agree with one
another exactly when their interactions do, and least squares needs no table larger than a marginal:

- noise of variance v on every cell of N gives interaction_T the covariance v n_(S - T) C_T, where C_T takes the means
  away. Whatever S it came from, that is a number times the same matrix; so the best linear estimate of interaction_T
  from several marginals is their average weighted by 1 / (v n_(S - T)), and its covariance is u_T C_T with
  1 / u_T = sum of 1 / (v n_(S - T));
- every diagonal entry of C_T is the product of 1 - 1 / n over the attributes of T. So a cell of the marginal on Q has
  the variance: sum over T within Q of u_T / n_(Q - T)^2 times that product.

(ResidualPlanner, Xiao, He, Zhang and Kifer 2023, for this basis; the average is theirs for one marginal
a set.) Post-processing only: what is handed over has been released.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter
from dither.lift.attributes import Attributes, Axes, checked_sets

Floats = NDArray[np.float64]


def subsets(axes: Axes) -> list[Axes]:
    """Return all subsets, smaller ones first.

    >>> subsets((0, 2))
    [(), (0,), (2,), (0, 2)]
    """
    return [chosen for size in range(len(axes) + 1) for chosen in combinations(axes, size)]


def closure(sets: Iterable[Axes]) -> tuple[Axes, ...]:
    """Return every subset of every set, once, ordered by size and then by attribute numbers.

    >>> closure([(0, 1), (1, 2)])
    ((), (0,), (1,), (2,), (0, 1), (1, 2))
    """
    found = {chosen for axes in sets for chosen in subsets(axes)}
    return tuple(sorted(found, key=lambda axes: (len(axes), axes)))


def centred(table: Floats) -> Floats:
    """Return the table minus its mean along every axis."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


@dataclass(frozen=True, eq=False)
class Interactions:
    """Estimates of a table's interactions, and the factor u_T of the covariance u_T C_T of each."""

    attributes: Attributes
    tables: Mapping[Axes, Floats]

    def marginal(self, axes: Axes) -> Floats:
        """Return the marginal on these attributes, all of whose subsets are known."""
        shape = self.attributes.shape_of(axes)
        total = np.zeros(shape)
        for chosen in subsets(axes):
            spread = tuple(self.attributes.sizes[axis] if axis in chosen else 1 for axis in axes)
            left = math.prod(shape) // self.attributes.cells_of(chosen)
            total += (self.tables[chosen] / left).reshape(spread)
        return total

    def flat(self, sets: Sequence[Axes]) -> Floats:
        """Return marginals one after another, each in the order of its attributes."""
        return np.concatenate([self.marginal(axes).ravel() for axes in sets])


def fit(attributes: Attributes, noisy: Mapping[Axes, Floats], variances: Mapping[Axes, float]) -> Interactions:
    """Return the interactions that fit noisy marginals best, given the variance of each marginal's cells."""
    sums: dict[Axes, Floats] = {}
    weights: dict[Axes, float] = {}
    for axes, table in noisy.items():
        for chosen, interaction in _interactions(table, axes):
            weight = attributes.cells_of(chosen) / (variances[axes] * attributes.cells_of(axes))
            sums[chosen] = sums.get(chosen, 0.0) + weight * interaction
            weights[chosen] = weights.get(chosen, 0.0) + weight
    return Interactions(attributes, {chosen: total / weights[chosen] for chosen, total in sums.items()})


def fitted_spreads(attributes: Attributes, variances: Mapping[Axes, float]) -> dict[Axes, float]:
    """Return u_T for every T, as in ``fit``, from the cell variances of the measured marginals."""
    weights: dict[Axes, float] = {}
    for axes, variance in variances.items():
        for chosen in subsets(axes):
            weight = attributes.cells_of(chosen) / (variance * attributes.cells_of(axes))
            weights[chosen] = weights.get(chosen, 0.0) + weight
    return {chosen: 1 / weight for chosen, weight in weights.items()}


def cell_variance(attributes: Attributes, spreads: Mapping[Axes, float], axes: Axes) -> float:
    """Return the variance of a cell of the marginal on ``axes``; all its cells have the same variance."""
    cells = attributes.cells_of(axes)
    return math.fsum(
        spreads[chosen] * (attributes.cells_of(chosen) / cells) ** 2 * centred_share(attributes, chosen)
        for chosen in subsets(axes)
    )


def centred_share(attributes: Attributes, axes: Axes) -> float:
    """Return the diagonal of the matrix that subtracts the means: the product of 1 - 1 / size."""
    return math.prod(1 - 1 / attributes.sizes[axis] for axis in axes)


@dataclass(frozen=True, eq=False)
class Agreed:
    """Marginals that agree with one another, and the cell variance of each."""

    tables: Mapping[tuple[str, ...], Floats]
    variances: Mapping[tuple[str, ...], float]


def agree(
    attributes: Attributes,
    tables: Mapping[tuple[str, ...], ArrayLike],
    variances: Mapping[tuple[str, ...], float] | float = 1.0,
) -> Agreed:
    """Return overlapping noisy marginals made consistent: the nearest ones by weighted least squares.

    Args:
        attributes: of the table.
        tables: released marginals by the names of their attributes, in the order of ``attributes``.
        variances: of the noise of each cell, one for all marginals or one for each.

    By the Gauss-Markov theorem no unbiased linear estimate has a smaller variance in any cell.

    >>> table = Attributes.of({"a": 2, "b": 2})
    >>> agreed = agree(table, {("a",): [6.0, 4.0], ("b",): [5.0, 3.0]})
    >>> agreed.tables[("a",)].tolist(), agreed.tables[("b",)].tolist(), agreed.variances[("a",)]
    ([5.5, 3.5], [5.5, 3.5], 0.75)

    """
    sets = checked_sets(attributes, list(tables))
    spreads = {names: float(variances[names] if isinstance(variances, Mapping) else variances) for names in tables}
    if not all(0 < spread < math.inf for spread in spreads.values()):
        raise InvalidParameter("variances", list(spreads.values())[:4], "numbers above 0")
    noisy: dict[Axes, Floats] = {}
    for axes, (names, given) in zip(sets, tables.items(), strict=True):
        table = np.asarray(given, dtype=np.float64)
        if attributes.named(axes) != names or table.shape != attributes.shape_of(axes) or not np.isfinite(table).all():
            rule = f"finite numbers of shape {attributes.shape_of(axes)} on {attributes.named(axes)}, in this order"
            raise InvalidParameter("tables", f"shape {table.shape} on {names}", rule)
        noisy[axes] = table
    by_axes = dict(zip(sets, spreads.values(), strict=True))
    fitted, after = fit(attributes, noisy, by_axes), fitted_spreads(attributes, by_axes)
    return Agreed(
        {attributes.named(axes): fitted.marginal(axes) for axes in sets},
        {attributes.named(axes): cell_variance(attributes, after, axes) for axes in sets},
    )


def _interactions(table: Floats, axes: Axes) -> list[tuple[Axes, Floats]]:
    """Return the interactions of a table on ``axes`` for all subsets, axis by axis."""
    found: list[tuple[Axes, Floats]] = [((), np.asarray(table, dtype=np.float64))]
    for axis in axes:
        # The axes that were dropped are gone, so the next one stands behind those that were kept.
        split = []
        for chosen, part in found:
            place = len(chosen)
            split.append((chosen, part.sum(axis=place)))
            split.append(((*chosen, axis), part - part.mean(axis=place, keepdims=True)))
        found = split
    return found
