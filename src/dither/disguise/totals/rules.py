"""When a cell of a table of totals must not be shown, and how wide the attacker's interval around it must be.

Source: Hundepool and others, Statistical Disclosure Control (2012), chapter 4. Contributions come largest first.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from dither.disguise.classes import Figures
from dither.errors import InvalidParameter
from dither.exact import whole


class TotalsRule(ABC):
    """A rule on the contributions to a cell: a frozen dataclass."""

    @abstractmethod
    def need(self, pieces: Figures) -> float | None:
        """Return how far from its total each end of the interval must be; None for a cell that may be shown."""


@dataclass(frozen=True)
class Threshold(TotalsRule):
    """A cell needs a least number of contributors.

    Args:
        count: of contributors; a cell without any is empty and may be shown.
        around: the share of its total that each end of the interval must be away.

    >>> import numpy as np
    >>> Threshold(3).need(np.array([60.0, 40.0])), Threshold(2).need(np.array([60.0, 40.0]))
    (10.0, None)

    """

    count: int = 3
    around: float = 0.1

    def __post_init__(self) -> None:
        whole("count", self.count, least=1)
        if not 0 < self.around <= 1:
            raise InvalidParameter("around", self.around, "above 0 and at most 1")

    def need(self, pieces: Figures) -> float | None:
        """Return the share of the total."""
        return self.around * float(pieces.sum()) if 0 < len(pieces) < self.count else None


@dataclass(frozen=True)
class Dominance(TotalsRule):
    """The n largest contributions together may not exceed k percent of the total.

    Args:
        n: how many contributors.
        k: percent of the total.

    >>> import numpy as np
    >>> Dominance(1, 50).need(np.array([60.0, 40.0]))
    20.0

    """

    n: int = 1
    k: float = 75.0

    def __post_init__(self) -> None:
        whole("n", self.n, least=1)
        if not 0 < self.k < 100:
            raise InvalidParameter("k", self.k, "above 0 and below 100")

    def need(self, pieces: Figures) -> float | None:
        """Return by how much the total would have to be larger for the rule to hold."""
        top, total = float(pieces[: self.n].sum()), float(pieces.sum())
        return top * 100 / self.k - total if top * 100 > self.k * total else None


@dataclass(frozen=True)
class PPercent(TotalsRule):
    """The second largest contributor may not be able to estimate the largest within p percent from above.

    Args:
        p: percent of the largest contribution.

    >>> import numpy as np
    >>> PPercent(10).need(np.array([60.0, 38.0, 2.0])), PPercent(10).need(np.array([60.0, 30.0, 10.0]))
    (4.0, None)

    """

    p: float = 10.0

    def __post_init__(self) -> None:
        if not 0 < self.p < math.inf:
            raise InvalidParameter("p", self.p, "above 0 and finite")

    def need(self, pieces: Figures) -> float | None:
        """Return what the rest lacks of p percent of the largest contribution."""
        if not len(pieces):
            return None
        lacks = self.p / 100 * float(pieces[0]) - float(pieces[2:].sum())
        return lacks if lacks > 0 else None
