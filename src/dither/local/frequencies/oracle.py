"""Frequency oracles: from many reports, the share of each answer, without bias and with intervals.

A report gives each answer an integer score, 1 where the report supports it in most oracles. The mean score of an
answer is ``base`` where the report came from another answer, and ``base + slope`` where it came from this one. So the
sum of scores, less ``n * base``, divided by ``n * slope``, estimates the share without bias; and its variance follows
exactly from the shares. Only sums are stored: memory does not grow with the number of reports.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.exact import Number, probability
from dither.local.randomiser import Randomiser

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Shares:
    """Estimated shares of all answers.

    Args:
        reports: how many reports they come from.
        shares: unbiased, so that some may be below 0; equal where there is no report.
        low: lower ends of the intervals.
        high: upper ends; without reports the intervals are infinite.
        confidence: with which each interval holds its share, or all of them together.
        together: whether all intervals hold together with that confidence.

    """

    reports: int
    shares: Floats
    low: Floats
    high: Floats
    confidence: Fraction
    together: bool


class Oracle(Randomiser):
    """A randomiser from whose reports the shares of all answers are estimated."""

    #: The largest number of answers that are listed; beyond it a server would need a table of them.
    most_listed: ClassVar[int] = 2**24

    @property
    @abstractmethod
    def slope(self) -> Fraction:
        """The mean score of an answer under itself, less that under any other."""

    @property
    @abstractmethod
    def base(self) -> Fraction:
        """The mean score of an answer under any other."""

    @abstractmethod
    def totals(self, reports: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of the scores of each answer; sums over parts of the reports add up."""

    @abstractmethod
    def scatter(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the exact variance of one score of each answer, mean over all reports, as ``a + b * share``.

        Where it depends on the shares of other answers as well, ``a`` holds those of ``shares``.
        """

    def estimate(self, totals: NDArray[np.int64], reports: int) -> Floats:
        """Return unbiased shares; equal ones where there is no report."""
        if not reports:
            return np.full(self.half.cells, 1 / self.half.cells)
        return (totals / reports - float(self.base)) / float(self.slope)

    def variance(self, shares: Floats, reports: int) -> Floats:
        """Return the exact variance of the estimate of each share, given the true ones."""
        fixed, moving = self.scatter(shares)
        return (fixed + moving * shares) / (reports * float(self.slope) ** 2)

    @property
    def squared_error(self) -> float:
        """The sum of the variances of all shares for one report, where all shares are equal; ``auto`` compares it.

        For oracles with a score of 0 or 1 it is the same whatever the shares are.
        """
        equal = np.full(self.half.cells, 1 / self.half.cells)
        return float(self.variance(equal, 1).sum())

    @property
    def score_deviation(self) -> float:
        """The standard deviation of the estimate of a share near 0 from one report."""
        fixed, _ = self.scatter(np.zeros(self.half.cells))
        return math.sqrt(float(fixed.max())) / float(self.slope)

    def intervals(
        self, totals: NDArray[np.int64], reports: int, confidence: Number = "0.95", *, together: bool = False
    ) -> Shares:
        """Return shares with intervals: all values that a score test does not reject, with their own variance.

        Args:
            totals: sums of scores.
            reports: how many.
            confidence: of each interval, or of all together.
            together: whether all intervals are to hold together (by the union bound).

        """
        level = probability("confidence", confidence)
        shares = self.estimate(totals, reports)
        if not reports:
            ends = np.full(self.half.cells, np.inf)
            return Shares(0, shares, -ends, ends, level, together)
        from scipy.special import ndtri

        outside = float(1 - level) / (self.half.cells if together else 1)
        squared = float(ndtri(outside / 2)) ** 2 / (reports * float(self.slope) ** 2)
        fixed, moving = self.scatter(shares)
        # (share - f)^2 <= squared * (a + b f), solved for f.
        middle = shares + squared * moving / 2
        root = np.sqrt(np.maximum(middle**2 - shares**2 + squared * fixed, 0))
        return Shares(reports, shares, middle - root, middle + root, level, together)


class SupportOracle(Oracle):
    """An oracle whose reports support answers, or do not: a score is 1 or 0."""

    @property
    @abstractmethod
    def hold_share(self) -> Fraction:
        """The probability that a report supports the answer it comes from."""

    @property
    @abstractmethod
    def stray_share(self) -> Fraction:
        """The probability that a report supports any one other answer."""

    @property
    def slope(self) -> Fraction:
        """The difference of both."""
        return self.hold_share - self.stray_share

    @property
    def base(self) -> Fraction:
        """That of a stray support."""
        return self.stray_share

    def scatter(self, shares: Floats) -> tuple[Floats, Floats]:
        """Return the variances of two coins."""
        own, other = self.hold_share * (1 - self.hold_share), self.stray_share * (1 - self.stray_share)
        ones = np.ones(len(shares))
        return float(other) * ones, float(own - other) * ones
