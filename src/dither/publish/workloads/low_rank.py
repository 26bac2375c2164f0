"""The low-rank mechanism: answer a workload of low rank from few measurements inside its row space.

For many queries that are combinations of few. Cost: a search of some seconds on a few hundred cells, without data.
Correction: the factors of the source are floats whose product only nearly is the workload, so that answers keep a bias;
here the measured factor is made of integers inside the workload's row space, and the other one is exact least
squares.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dither.exact import Number
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.privacy import Loss, PureDP
from dither.publish.workloads.decompositions import low_rank_design
from dither.publish.workloads.mechanism import Measured, neighbours_of
from dither.publish.workloads.workload import Workload


def _examples() -> Iterator[Example]:
    yield Example(
        LowRank.calibrated(PureDP(1), sensitivity=1, workload=Workload.ranges(3, [(0, 1), (1, 2)])),
        np.array([4, 0, 7]),
        neighbours_of((3,)),
    )


@register(
    examples=_examples,
    source="Low-Rank Mechanism: Optimizing Batch Queries under Differential Privacy (Yuan et al. 2012); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.1.2",
)
@dataclass(frozen=True, kw_only=True)
class LowRank(Measured):
    """Answer a workload of low rank from few measurements, found by alternating search over its factors.

    Guarantee: tables of counts ``d_in`` apart in L1 lose what ``noise`` loses at ``d_in`` times the strategy's exact
    sensitivity.

    >>> few = Workload.ranges(100, [(0, 60), (40, 99), (0, 99)])
    >>> mechanism = LowRank.calibrated(PureDP(1), sensitivity=1, workload=few)
    >>> mechanism.loss(1) <= PureDP(1), mechanism.strategy.queries <= 4
    (True, True)

    """

    name: ClassVar[str] = "low-rank-mechanism"
    version: ClassVar[int] = 1

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, workload: Workload, **parameters: Any) -> Self:
        """Decompose the workload, and return the mechanism with the least noise whose loss is within ``within``.

        Args:
            within: the loss not to exceed; a pure one gives geometric noise, any other Gaussian noise.
            sensitivity: how far the table of counts moves in L1 per unit of data.
            workload: the queries, on at most 4,096 cells.
            parameters: the other fields: ``of_cells``, ``non_negative``.

        """
        strategy = low_rank_design(workload, Purse.within(within).metric)
        return cls._calibrated(within, sensitivity, workload, strategy, **parameters)
