"""A perceptron in integers: gradients of many examples together, each the same in any company.

Weights, activations and errors are integers on public grids. Every product of matrices is exact in floats, because all
its partial sums are integers below 2^53, and every other operation is on one number, or on the numbers of one example
in a fixed order. So the batch is only a way to be fast.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.learn.rows import STEPS, Floats

#: Steps of a weight, an activation and an error per unit.
WEIGHT_STEPS: Final = 2**12
ACTIVATION_STEPS: Final = 2**10
ERROR_STEPS: Final = 2**12
#: The whole weight of a gradient within the clip.
WHOLE: Final = 2**12
#: The widest layer, and the largest integers: weights of 8, activations of 16, errors of 16.
MOST_UNITS: Final = 2**14
_LARGEST_WEIGHT, _LARGEST_ACTIVATION, _LARGEST_ERROR = 2.0**15, 2.0**14 - 1, 2.0**16
#: Examples whose contributions are multiplied together: 2^8 times 2^28 times 2^14.
_ROWS: Final = 2**8
#: Sums over this many examples, each of which adds at most 2^38 to an entry, fit in 64 bits.
_MOST_IN_INT64: Final = 2**22
#: Totals are clipped here.
_SATURATED: Final = 2**60
#: The largest clip, in units.
MOST_CLIP: Final = 2**4
_CELLS_A_UNIT, _CELLS = 256, 16 * 256
#: More than the roundings of a squared length and its root can take away.
_SLACK: Final = 1 + 2.0**-40
_EXPONENTIALS: Final = np.rint(2.0**20 * np.exp(-np.arange(_CELLS) / _CELLS_A_UNIT))

Layers = list[tuple[Floats, Floats]]


def entries_of(sizes: Sequence[int]) -> int:
    """Return the number of weights of a network whose layers have these sizes."""
    return sum((before + 1) * after for before, after in pairwise(sizes))


def stability_of(clip: int) -> int:
    """Return the longest contribution of an example, in steps of the grid of gradients.

    Args:
        clip: the longest gradient that is not shortened, in units.

    """
    return WHOLE * clip * ERROR_STEPS * ACTIVATION_STEPS


def unit_of_gradients() -> int:
    """Return the steps of a sum of contributions per unit of the gradient."""
    return WHOLE * ERROR_STEPS * ACTIVATION_STEPS


def first_weights(sizes: Sequence[int]) -> Floats:
    """Return public weights to begin with: uniform numbers of a variance that keeps activations in range."""
    found = []
    for number, (before, after) in enumerate(pairwise(sizes)):
        stream = hashlib.shake_256(f"{number}:{before}:{after}".encode()).digest(8 * before * after)
        uniform = np.frombuffer(stream, dtype="<u8").astype(np.float64) / 2.0**63 - 1
        found += [uniform * (3.0 / before) ** 0.5, np.zeros(after)]
    return np.concatenate(found)


def layers_of(weights: Floats, sizes: Sequence[int]) -> Layers:
    """Return a flat vector of weights as a matrix and a vector for each layer."""
    found, start = [], 0
    for before, after in pairwise(sizes):
        matrix = weights[start : start + before * after].reshape(after, before)
        start += before * after
        found.append((matrix, weights[start : start + after]))
        start += after
    return found


def on_grid(layers: Layers) -> Layers:
    """Return public weights as integers."""
    return [
        (
            np.clip(np.rint(matrix * WEIGHT_STEPS), -_LARGEST_WEIGHT, _LARGEST_WEIGHT),
            np.clip(np.rint(biases * WEIGHT_STEPS), -_LARGEST_WEIGHT, _LARGEST_WEIGHT) * ACTIVATION_STEPS,
        )
        for matrix, biases in layers
    ]


def inputs_of(steps: Floats) -> Floats:
    """Return columns in steps, as ``Box.steps`` makes them, as activations."""
    return np.rint(steps * (ACTIVATION_STEPS / STEPS))


def forward(layers: Layers, inputs: Floats) -> tuple[list[Floats], Floats]:
    """Return the activations before each layer, and the scores in steps of 2^-22, for layers on the grid."""
    activations, scores = [inputs], inputs
    for number, (matrix, biases) in enumerate(layers):
        scores = activations[-1] @ matrix.T
        scores += biases
        if number < len(layers) - 1:
            activations.append(np.clip(np.floor(scores * (1 / WEIGHT_STEPS)), 0.0, _LARGEST_ACTIVATION))
    return activations, scores


def errors_of(scores: Floats, classes: NDArray[np.int64]) -> Floats:
    """Return the derivative of the loss of each example in its scores: softmax by a public table, less the class."""
    behind = np.floor(
        (scores.max(axis=1, keepdims=True) - scores) * (_CELLS_A_UNIT / (WEIGHT_STEPS * ACTIVATION_STEPS))
    )
    raised = _EXPONENTIALS[np.minimum(behind, _CELLS - 1).astype(np.int64)]
    found: Floats = np.floor(raised * ERROR_STEPS / raised.sum(axis=1, keepdims=True))
    found[np.arange(len(classes)), classes] -= ERROR_STEPS
    return found


def backward(layers: Layers, activations: list[Floats], errors: Floats) -> list[Floats]:
    """Return the errors behind each layer."""
    found = [errors]
    for number in range(len(layers) - 1, 0, -1):
        before = np.trunc((found[0] @ layers[number][0]) * (1 / WEIGHT_STEPS))
        np.clip(before, -_LARGEST_ERROR, _LARGEST_ERROR, out=before)
        before *= (activations[number] > 0) & (activations[number] < _LARGEST_ACTIVATION)
        found.insert(0, before)
    return found


def whole_weights(activations: list[Floats], errors: list[Floats], clip: int) -> Floats:
    """Return a whole weight for each example: weight times the length of its gradient is at most ``stability_of``."""
    squares: Any = 0.0
    for before, behind in zip(activations, errors, strict=True):
        wide = np.einsum("bi,bi->b", before, before) + float(ACTIVATION_STEPS**2)
        squares = squares + wide * np.einsum("bi,bi->b", behind, behind)
    lengths = np.maximum(np.sqrt(squares) * _SLACK, 1.0)
    found: Floats = np.floor(np.minimum(clip * ERROR_STEPS * ACTIVATION_STEPS / lengths * (2 - _SLACK), 1.0) * WHOLE)
    return found


def contributions(layers: Layers, inputs: Floats, classes: NDArray[np.int64], clip: int) -> NDArray[np.int64]:
    """Return the sum of the clipped gradients of examples: exact integers, laid out as the weights are.

    Args:
        layers: public weights on the grid.
        inputs: integers of at most 2^12, a row for each example.
        classes: the class of each.
        clip: the longest gradient that is not shortened, in units.

    """
    total: NDArray[Any] = np.zeros(sum(matrix.size + biases.size for matrix, biases in layers), dtype=np.int64)
    for start in range(0, len(inputs), _ROWS):
        block = slice(start, start + _ROWS)
        if start == _MOST_IN_INT64:
            total = total.astype(object)
        activations, scores = forward(layers, inputs[block])
        errors = backward(layers, activations, errors_of(scores, classes[block]))
        weights = whole_weights(activations, errors, clip)[:, None]
        place = 0
        for before, behind in zip(activations, errors, strict=True):
            weighted = behind * weights
            for part in ((weighted.T @ before).ravel(), weighted.sum(axis=0) * ACTIVATION_STEPS):
                total[place : place + part.size] += part.astype(np.int64)
                place += part.size
    found: NDArray[np.int64] = np.clip(total, -_SATURATED, _SATURATED).astype(np.int64)
    return found
