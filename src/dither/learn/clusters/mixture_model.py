"""A released mixture of Gaussian components: gives the density of rows and their most likely component."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.learn.clusters.points import Frame
from dither.learn.models import Model, model, softmax
from dither.learn.rows import Floats
from dither.mechanisms.core.public import PublicArray


@model
@dataclass(frozen=True)
class MixtureModel(Model):
    """Released components, in columns scaled by their bounds to [-1, 1].

    Args:
        lower: bounds of the columns.
        upper: bounds of the columns.
        weights: the probability of each component; they add up to one.
        centres: the mean of each component.
        covariances: a matrix for each component.

    """

    kind: ClassVar[str] = "mixture"

    lower: PublicArray
    upper: PublicArray
    weights: PublicArray
    centres: PublicArray
    covariances: PublicArray

    def __post_init__(self) -> None:
        columns, count = self.frame.columns, self.weights.values.size
        if self.weights.values.ndim != 1 or self.centres.values.shape != (count, columns):
            raise InvalidParameter("centres", self.centres, f"{columns} numbers for each weight")
        if self.covariances.values.shape != (count, columns, columns):
            raise InvalidParameter("covariances", self.covariances, "a matrix for each component")

    @property
    def frame(self) -> Frame:
        """The bounds."""
        return Frame(self.lower, self.upper)

    @property
    def means(self) -> Floats:
        """The means in the columns' own units."""
        return self.frame.places(self.centres.values)

    @property
    def shapes(self) -> Floats:
        """The covariances in the columns' own units."""
        half = self.upper.values / 2 - self.lower.values / 2
        found: Floats = self.covariances.values * np.outer(half, half)
        return found

    def logs(self, values: Floats) -> Floats:
        """Return the log of each component's weight times its density, for each row, in the columns' own units."""
        scaled = self.frame.scaled(values)
        columns = scaled.shape[1]
        found = np.empty((len(scaled), self.weights.values.size))
        volume = float(np.log(self.upper.values / 2 - self.lower.values / 2).sum())
        for place, (centre, covariance) in enumerate(zip(self.centres.values, self.covariances.values, strict=True)):
            factor = np.linalg.cholesky(covariance)
            white = np.linalg.solve(factor, (scaled - centre).T)
            size = float(np.log(np.diag(factor)).sum()) + volume + columns / 2 * math.log(2 * math.pi)
            found[:, place] = -0.5 * (white * white).sum(axis=0) - size
        found += np.log(np.maximum(self.weights.values, 1e-300))
        return found

    def densities(self, values: Floats) -> Floats:
        """Return the log density of each row."""
        logs = self.logs(values)
        most = logs.max(axis=1, keepdims=True)
        found: Floats = most[:, 0] + np.log(np.exp(logs - most).sum(axis=1))
        return found

    def probabilities(self, values: Floats) -> Floats:
        """Return the probability of each component for each row."""
        return softmax(self.logs(values))

    def labels(self, values: Floats) -> NDArray[np.int64]:
        """Return the most likely component of each row."""
        found: NDArray[np.int64] = self.logs(values).argmax(axis=1)
        return found
