"""The matrix mechanism with eigen-design: weighted eigenvectors of the workload, with columns filled up.

For any workload on up to 4,096 cells under Gaussian noise, within a few percent of the best strategy. Cost: one
eigenvalue decomposition and a convex search over as many weights as there are cells, without data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from dither.errors import NoGuarantee
from dither.exact import Number
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.privacy import ZCDP, Loss
from dither.publish.workloads.factorisation import eigen_design
from dither.publish.workloads.mechanism import Measured, neighbours_of
from dither.publish.workloads.workload import Workload


def _examples() -> Iterator[Example]:
    yield Example(
        EigenDesign.calibrated(ZCDP(1), sensitivity=1, workload=Workload.all_ranges(3)),
        np.array([4, 0, 7]),
        neighbours_of((3,)),
    )


@register(
    examples=_examples,
    source="An Adaptive Mechanism for Accurate Query Answering under Differential Privacy (Li and Miklau 2012), "
    "sections 3 and 4",
    takes="gaussian",
)
@dataclass(frozen=True, kw_only=True)
class EigenDesign(Measured):
    """Answer a workload from its weighted eigenvectors under Gaussian noise, by least squares.

    Guarantee: tables of counts ``d_in`` apart in L1 lose what ``noise`` loses at ``d_in`` times the strategy's exact
    sensitivity.

    >>> ranges = Workload.all_ranges(16)
    >>> mechanism = EigenDesign.calibrated(ZCDP("1/2"), sensitivity=1, workload=ranges)
    >>> mechanism.loss(1) <= ZCDP("1/2"), mechanism.root_mean_square_error < 1.8
    (True, True)

    """

    name: ClassVar[str] = "eigen-design"
    version: ClassVar[int] = 1

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, workload: Workload, **parameters: Any) -> Self:
        """Decompose the workload, and return the mechanism with the least noise whose loss is within ``within``.

        Args:
            within: the loss not to exceed; zCDP or (epsilon, delta), because the weights are those for Gaussian noise.
            sensitivity: how far the table of counts moves in L1 per unit of data.
            workload: the queries, on at most 4,096 cells.
            parameters: the other fields: ``of_cells``, ``non_negative``.

        """
        if Purse.within(within).is_pure:
            raise NoGuarantee(
                "eigen-design is for Gaussian noise: give a zCDP or an (epsilon, delta) loss, or take hdmm"
            )
        return cls._calibrated(within, sensitivity, workload, eigen_design(workload), **parameters)
