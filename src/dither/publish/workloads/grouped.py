"""Strategies in groups: parts of a workload are answered from separate measurements, all drawn together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import typed
from dither.publish.workloads.matrices import Array, Floats, Matrix
from dither.publish.workloads.products import Union
from dither.publish.workloads.symmetric import Symmetric


@dataclass(frozen=True)
@typed
class Grouped(Union):
    """A union of strategies, each of which answers some parts of a union of queries.

    Least squares over products of several axes has no closed form once two products are stacked. Here every part of the
    workload is answered from its own group alone, by the closed form: what the other groups could add is left out, and
    variances are exact for what is done.

    Args:
        parts: the strategies.
        answers: for each of them the numbers of the workload's parts that it answers; every part once.

    """

    kind: ClassVar[str] = "grouped"
    answers: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        named = sorted(number for group in self.answers for number in group)
        if len(self.answers) != len(self.parts) or named != list(range(len(named))) or not all(self.answers):
            raise InvalidParameter("answers", self.answers, "for each strategy the parts it answers, every part once")

    def check(self, workload: Matrix) -> Union:
        """Return the workload as a union with as many parts as are answered, or reject it."""
        if not isinstance(workload, Union) or len(workload.parts) != sum(map(len, self.answers)):
            rule = f"a union of {sum(map(len, self.answers))} parts, as the grouped strategy answers"
            raise InvalidParameter("workload", workload.kind, rule)
        return workload

    def group_of(self, number: int) -> Matrix:
        """Return the strategy that answers that part of the workload."""
        return next(part for part, group in zip(self.parts, self.answers, strict=True) if number in group)

    def variances_of(self, workload: Matrix) -> Floats:
        """Return the variance of every query of a workload."""
        known: dict[int, Symmetric] = {}
        found = []
        for number, part in enumerate(self.check(workload).parts):
            group = self.group_of(number)
            covariance = known.setdefault(id(group), group.covariance())
            found.append(part.variances(covariance))
        return np.concatenate(found)

    def total_variance_of(self, workload: Matrix) -> float:
        """Return the sum of the variances of all queries of a workload."""
        parts = self.check(workload).parts
        return sum(part.total_variance(self.group_of(number).covariance()) for number, part in enumerate(parts))

    def answers_to(self, workload: Matrix, measured: Array) -> Floats:
        """Return the answers to a workload from noisy measurements of all groups."""
        ends = np.cumsum([part.queries for part in self.parts])[:-1]
        pieces = np.split(measured, ends)
        counts = [part.solve(piece[:, None]) for part, piece in zip(self.parts, pieces, strict=True)]
        found = []
        for number, part in enumerate(self.check(workload).parts):
            group = next(place for place, group in enumerate(self.answers) if number in group)
            found.append(part.times(counts[group])[:, 0])
        return np.concatenate(found)
