"""What an estimator and its copies lose together: a tally that copies share, and the budget of one release.

scikit-learn's searches and cross-validation fit copies of an estimator, each of which is a release of its own. A
``Budget`` given to the estimator pays for all of them and refuses when it is spent. Without one the tally says in each
release how many fits there were, and what they lose together if their rows are the same.
"""

from __future__ import annotations

import threading
from typing import Any, cast

from dither.errors import NoGuarantee
from dither.mechanisms.core.mechanism import Mechanism
from dither.mechanisms.core.release import Budget
from dither.privacy import Loss, Unit


class Tally:
    """How often an estimator and its copies were fitted in this process, and what that loses together.

    >>> from dither.privacy import PureDP
    >>> tally = Tally()
    >>> for _ in range(3):
    ...     tally.add(PureDP(1))
    >>> tally.receipt()
    'unledgered; fit 3 of this estimator and its copies, which on the same rows lose epsilon = 3 together'

    """

    def __init__(self) -> None:
        self._fits = 0
        self._loss: Loss | None = None
        self._lock = threading.RLock()
        self._waiting: list[Loss] = []
        self._is_counting = False

    def add(self, loss: Loss) -> None:
        """Count one fit."""
        self._waiting.append(loss)
        with self._lock:
            if self._is_counting:
                return  # a signal handler that fits: whom it interrupted counts it
            self._is_counting = True
            try:
                while self._waiting:
                    self._count(self._waiting.pop())
            finally:
                self._is_counting = False

    def _count(self, loss: Loss) -> None:
        try:
            self._loss = loss if not self._fits else None if self._loss is None else self._loss + loss
        except NoGuarantee:
            self._loss = None  # deltas that add up to 1 or more
        self._fits += 1

    def receipt(self) -> str:
        """Return where the last fit is written down: nowhere; and what all of them lose, if there are several."""
        with self._lock:
            if self._fits < 2:
                return "unledgered"
            lost = "have no promise left" if self._loss is None else f"lose {self._loss} together"
            return f"unledgered; fit {self._fits} of this estimator and its copies, which on the same rows {lost}"


def budget_of(mechanism: Mechanism[Any, Any]) -> Budget:
    """Return a budget for exactly one release of a mechanism."""
    return Budget(loss=mechanism.loss(1), unit=cast(Unit, mechanism.distance))
