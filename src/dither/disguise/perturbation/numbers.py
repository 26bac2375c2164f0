"""Numbers that are cut off or blurred: top and bottom coding, additive and correlated noise.

Noise of a share of a column's own deviation hides the middle and not the extremes: whoever is far out stays far out.
Correlated noise has the covariances of the columns themselves times a constant (Kim 1986), so correlations stay as they
are, on average.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dither.disguise.microaggregation import numbers_of
from dither.disguise.perturbation.contract import Perturbation, columns_named, perturbation
from dither.disguise.table import Column, Table
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator


@perturbation
@dataclass(frozen=True)
class Coding(Perturbation):
    """Top and bottom coding: numbers beyond a bound are published as the bound, or as their average.

    Args:
        column: of numbers; what is missing stays missing.
        low: numbers below are coded; none if not given.
        high: numbers above are coded; none if not given.
        averages: publish the average of the coded numbers of each side, which keeps the average of the column.

    >>> Coding("age", high=80).apply({"age": [33, 104, None]}).frame()["age"]
    [33, 80, None]

    """

    column: str
    low: float | None = None
    high: float | None = None
    averages: bool = False

    name: ClassVar[str] = "coding"
    source: ClassVar[str] = "Hundepool and others, Statistical Disclosure Control (2012)"
    attacks: ClassVar[tuple[str, ...]] = ("background",)

    def __post_init__(self) -> None:
        if self.low is None and self.high is None:
            raise InvalidParameter("low", None, "required, unless high is set")
        for name, bound in (("low", self.low), ("high", self.high)):
            if bound is not None and not math.isfinite(bound):
                raise InvalidParameter(name, bound, "finite")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise InvalidParameter("low", self.low, f"at most high, {self.high:g}")

    def perturb(self, table: Table) -> tuple[dict[str, Column], tuple[str, ...]]:
        """Return the coded column."""
        column = table[self.column]
        numbers = column.numbers()
        if numbers is None:
            raise InvalidParameter("column", self.column, "a column of numbers")
        cells, made, done = numbers[column.codes], column.cells(), []
        for bound, beyond, word in (
            (self.low, cells < (-np.inf if self.low is None else self.low), "below"),
            (self.high, cells > (np.inf if self.high is None else self.high), "above"),
        ):
            if bound is None:
                continue
            rows = np.flatnonzero(beyond).tolist()
            shown = float(cells[beyond].mean()) if self.averages and rows else bound
            for row in rows:
                made[row] = shown
            told = f"published as {shown:g}" if rows else "so nothing is coded"
            done.append(f"{len(rows):,} cells of {self.column} are {word} {bound:g}, {told}.")
        return {self.column: Column.of(made)}, tuple(done)

    @classmethod
    def example(cls, numbers: str, texts: str) -> Coding:
        """Return the coding of numbers outside 2 to 10."""
        return cls(numbers, 2, 10)


@perturbation
@dataclass(frozen=True)
class AddedNoise(Perturbation):
    """Gaussian noise on columns of numbers, in proportion to how they spread.

    Args:
        columns: of numbers, none of them missing.
        scale: the standard deviation of the noise, as a multiple of the column's own.
        correlated: noise with the covariances of the columns, which keeps their correlations on average.
        restored: shrink towards the average, so that deviations are right on average, too.

    >>> made = AddedNoise(("pay",), scale=1e-9).apply({"pay": [1.0, 2.0]})
    >>> [round(value, 3) for value in made.frame()["pay"]]
    [1.0, 2.0]

    """

    columns: tuple[str, ...]
    scale: float = 0.3
    correlated: bool = False
    restored: bool = False

    name: ClassVar[str] = "noise"
    source: ClassVar[str] = "Kim (1986)"
    attacks: ClassVar[tuple[str, ...]] = ("angles", "background")

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", columns_named(self.columns))
        if not 0 < self.scale < math.inf:
            raise InvalidParameter("scale", self.scale, "above 0 and finite")

    def perturb(self, table: Table) -> tuple[dict[str, Column], tuple[str, ...]]:
        """Return the blurred columns."""
        points = np.column_stack([numbers_of(table, name) for name in self.columns])
        centre = points.mean(axis=0)
        drawn = public_generator()
        if self.correlated:
            # By eigenvectors, because columns may depend on each other.
            covariance = (points - centre).T @ (points - centre) / len(points)
            spreads, turned = np.linalg.eigh(covariance)
            root = turned * np.sqrt(np.maximum(spreads, 0))
            blur = drawn.normal(size=points.shape) @ root.T
        else:
            blur = drawn.normal(size=points.shape) * points.std(axis=0)
        made = points + self.scale * blur
        if self.restored:
            made = centre + (made - centre) / math.sqrt(1 + self.scale**2)
        kind = "with the covariances of the columns" if self.correlated else "independent of each other"
        done = [f"Gaussian noise of {self.scale:g} standard deviations, {kind}: {', '.join(self.columns)}."]
        if self.restored:
            done.append("Columns are shrunk, so that their deviations are right on average.")
        return {name: Column.of(made[:, place]) for place, name in enumerate(self.columns)}, tuple(done)

    @classmethod
    def example(cls, numbers: str, texts: str) -> AddedNoise:
        """Return noise on the numbers."""
        return cls((numbers,), correlated=True)
