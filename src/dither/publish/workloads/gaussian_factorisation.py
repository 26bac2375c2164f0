"""The optimal factorisation mechanism: the best strategy for Gaussian noise, with a proof of how near the best it is.

For any workload on up to some hundred cells under Gaussian noise: no strategy has less total error, up to the grid and
the accuracy of the search. Cost: up to 200 eigenvalue decompositions, without data.
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
from dither.publish.workloads.factorisation import optimal_factorisation
from dither.publish.workloads.mechanism import Measured, neighbours_of
from dither.publish.workloads.workload import Workload


def _examples() -> Iterator[Example]:
    yield Example(
        GaussianFactorisation.calibrated(ZCDP(1), sensitivity=1, workload=Workload.prefixes(3)),
        np.array([4, 0, 7]),
        neighbours_of((3,)),
    )


@register(
    examples=_examples,
    source="The Matrix Mechanism (Li et al. 2015); The Power of Factorization Mechanisms in Local and Central "
    "Differential Privacy (Edmonds, Nikolov, Ullman 2020); Improved Differential Privacy for SGD via Optimal Private "
    "Linear Operators on Adaptive Streams (Denisov et al. 2022)",
    takes="gaussian",
)
@dataclass(frozen=True, kw_only=True)
class GaussianFactorisation(Measured):
    """Answer a workload under Gaussian noise from the strategy with the least total error, by least squares.

    Guarantee: tables of counts ``d_in`` apart in L1 lose what ``noise`` loses at ``d_in`` times the strategy's exact
    sensitivity.

    >>> prefixes = Workload.prefixes(16)
    >>> mechanism = GaussianFactorisation.calibrated(ZCDP("1/2"), sensitivity=1, workload=prefixes)
    >>> mechanism.loss(1) <= ZCDP("1/2"), mechanism.root_mean_square_error < 1.7
    (True, True)

    """

    name: ClassVar[str] = "gaussian-factorisation"
    version: ClassVar[int] = 1

    @classmethod
    def calibrated(cls, within: Loss, *, sensitivity: Number, workload: Workload, **parameters: Any) -> Self:
        """Decompose the workload, and return the mechanism with the least noise whose loss is within ``within``.

        Args:
            within: the loss not to exceed; zCDP or (epsilon, delta), because the strategy is that for Gaussian noise.
            sensitivity: how far the table of counts moves in L1 per unit of data.
            workload: the queries, on at most 4,096 cells.
            parameters: the other fields: ``of_cells``, ``non_negative``.

        """
        if Purse.within(within).is_pure:
            raise NoGuarantee(
                "the factorisation is for Gaussian noise: give a zCDP or (epsilon, delta) loss, or take hdmm"
            )
        strategy = optimal_factorisation(workload).strategy
        return cls._calibrated(within, sensitivity, workload, strategy, **parameters)
