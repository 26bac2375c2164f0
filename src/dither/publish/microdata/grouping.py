"""Which attributes belong together, from released moments: post-processing, so every rule is equally private.

Three rules, all with a limit on the combinations of a group, without which its histogram drowns in noise:

- ``correlation``: groups are joined while the mean absolute correlation between them is large enough, largest first.
- ``components``: each attribute goes with the principal component that explains most of it.
- ``variance``: attributes whose variances round up to the same step, which is what the thesis prints. Attributes of
  equal variance need have nothing in common; the rule is here so that it can be compared.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.lift.attributes import Attributes

Floats = NDArray[np.float64]
Groups = tuple[tuple[str, ...], ...]

RULES: Final = ("correlation", "components", "variance")
#: To what variances of numbers between -1 and 1 are rounded up, for the rule of the thesis.
_VARIANCE_STEP: Final = 0.25
#: Variances below this are noise around 0.
_LEAST_VARIANCE: Final = 1e-3


def correlations_of(covariances: Floats, reach: float = 0.0) -> Floats:
    """Return correlations from estimated covariances, which need not be valid covariances.

    A covariance of at most ``reach``, how far noise may move it, counts as 0.

    >>> correlations_of(np.array([[1.0, 0.5], [0.5, 0.25]])).tolist()
    [[1.0, 1.0], [1.0, 1.0]]

    """
    variances = np.diag(covariances)
    known = variances > max(_LEAST_VARIANCE, reach)
    spread = np.sqrt(np.where(known, variances, 1.0))
    found: Floats = np.clip(covariances / np.outer(spread, spread), -1.0, 1.0)
    found[np.abs(covariances) < reach] = 0.0
    found[~known], found[:, ~known] = 0.0, 0.0
    np.fill_diagonal(found, 1.0)
    return found


def grouped(
    attributes: Attributes, covariances: Floats, rule: str, most_cells: int, least: float, reach: float = 0.0
) -> Groups:
    """Return a division of the attributes into groups.

    Args:
        attributes: names and sizes.
        covariances: estimated.
        rule: one of ``RULES``.
        most_cells: the most combinations of a group; an attribute that has more by itself stays alone.
        least: the least mean absolute correlation, for the rule ``correlation``.
        reach: how far noise may move a covariance.

    """
    if rule == "correlation":
        parts = _by_correlation(attributes, np.abs(correlations_of(covariances, reach)), most_cells, least)
    elif rule == "components":
        parts = _by_component(attributes, correlations_of(covariances, reach), most_cells)
    else:
        steps = [math.ceil(max(float(variance), 0.0) / _VARIANCE_STEP) for variance in np.diag(covariances)]
        members = [[axis for axis, step in enumerate(steps) if step == wanted] for wanted in sorted(set(steps))]
        parts = [part for each in members for part in _fitting(attributes, each, most_cells)]
    return tuple(attributes.named(tuple(sorted(part))) for part in sorted(parts, key=min))


def _by_correlation(attributes: Attributes, strengths: Floats, most_cells: int, least: float) -> list[list[int]]:
    parts = [[axis] for axis in range(len(attributes.sizes))]
    while True:
        best, pair = least, None
        for first, one in enumerate(parts):
            for second in range(first):
                other = parts[second]
                if attributes.cells_of(tuple(one + other)) > most_cells:
                    continue
                strength = float(strengths[np.ix_(one, other)].mean())
                if strength >= best:
                    best, pair = strength, (second, first)
        if pair is None:
            return parts
        parts[pair[0]] += parts.pop(pair[1])


def _by_component(attributes: Attributes, correlations: Floats, most_cells: int) -> list[list[int]]:
    values, vectors = np.linalg.eigh(correlations)
    # How much of the variance of an attribute a component explains.
    explained = np.maximum(values, 0.0)[None, :] * vectors**2
    chosen = explained.argmax(axis=1)
    parts = []
    for component in reversed(range(values.size)):
        members = [axis for axis in range(values.size) if chosen[axis] == component]
        members.sort(key=lambda axis: (-explained[axis, component], axis))
        parts += _fitting(attributes, members, most_cells)
    return parts


def _fitting(attributes: Attributes, members: list[int], most_cells: int) -> list[list[int]]:
    """Return members in order, in the fewest groups that the limit on combinations allows without reordering."""
    parts: list[list[int]] = []
    for axis in members:
        if parts and attributes.cells_of((*parts[-1], axis)) <= most_cells:
            parts[-1].append(axis)
        else:
            parts.append([axis])
    return parts
