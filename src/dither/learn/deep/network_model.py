"""A released perceptron: its weights, and how it predicts. Post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dither.errors import InvalidParameter
from dither.learn.deep.integer_network import (
    ACTIVATION_STEPS,
    WEIGHT_STEPS,
    entries_of,
    forward,
    inputs_of,
    layers_of,
    on_grid,
)
from dither.learn.models import Model, model
from dither.learn.rows import Box, Floats
from dither.mechanisms.core.public import PublicArray


@model
@dataclass(frozen=True)
class NetworkModel(Model):
    """Scores of a network of layers with rectified units between them.

    Args:
        lower: bounds of the columns.
        upper: bounds of the columns.
        sizes: the number of columns, of the units of each hidden layer, and of classes.
        weights: those of each layer, a row for each of its units, and its biases, one layer after the other.

    """

    kind: ClassVar[str] = "network"

    lower: PublicArray
    upper: PublicArray
    sizes: tuple[int, ...]
    weights: PublicArray

    def __post_init__(self) -> None:
        box = Box(self.lower, self.upper)
        known = len(self.sizes) >= 2 and all(type(size) is int and size > 0 for size in self.sizes)
        if not (known and self.sizes[0] == box.columns and self.weights.values.shape == (entries_of(self.sizes),)):
            raise InvalidParameter("weights", self.weights, "the weights and biases of every layer")

    def scores(self, values: Floats) -> Floats:
        """Return a score for each row and class, whose softmax is the model's probability."""
        layers = on_grid(layers_of(self.weights.values, self.sizes))
        inputs = inputs_of(Box(self.lower, self.upper).steps(values))
        found: Floats = forward(layers, inputs)[1] / (WEIGHT_STEPS * ACTIVATION_STEPS)
        return found
