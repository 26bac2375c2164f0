"""The orthogonal mechanism: turn a workload into mutually orthogonal queries, weighted for the least error.

For correlated queries under Gaussian noise, where orthogonal queries lose little against the best ones. Cost: one
eigenvalue decomposition. The orthogonal queries are the right singular vectors of the workload; their weights are
searched, without data. Under geometric noise prefer hdmm: dense vectors have a large L1 sensitivity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dither.exact import Number
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.privacy import ZCDP, Loss
from dither.publish.workloads.decompositions import orthogonal_design
from dither.publish.workloads.mechanism import Measured, neighbours_of
from dither.publish.workloads.workload import Workload


def _examples() -> Iterator[Example]:
    yield Example(
        OrthogonalMechanism.calibrated(ZCDP(1), sensitivity=1, workload=Workload.all_ranges(3)),
        np.array([4, 0, 7]),
        neighbours_of((3,)),
    )


@register(
    examples=_examples,
    source="Orthogonal Mechanism for Answering Batch Queries with Differential Privacy (Huang et al. 2015); "
    "Differential Privacy and Applications (Zhu et al. 2017), section 5.1.2",
)
@dataclass(frozen=True, kw_only=True)
class OrthogonalMechanism(Measured):
    """Answer a workload from its singular vectors, mutually orthogonal queries, each as precise as it matters.

    Guarantee: tables of counts ``d_in`` apart in L1 lose what ``noise`` loses at ``d_in`` times the strategy's exact
    sensitivity.

    >>> ranges = Workload.all_ranges(16)
    >>> mechanism = OrthogonalMechanism.calibrated(ZCDP("1/2"), sensitivity=1, workload=ranges)
    >>> mechanism.loss(1) <= ZCDP("1/2"), mechanism.root_mean_square_error < 1.8
    (True, True)

    """

    name: ClassVar[str] = "orthogonal-mechanism"
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
        strategy = orthogonal_design(workload, Purse.within(within).metric)
        return cls._calibrated(within, sensitivity, workload, strategy, **parameters)
