"""Which model of items to learn, from public facts alone: people, items and the loss."""

from __future__ import annotations

import math
from typing import Final

from dither.learn.recommend.item_covariance import MOST_ITEMS
from dither.mechanisms.core.purse import Purse
from dither.privacy import Loss

MEANS: Final = "means"
COVARIANCE: Final = "covariance"
AUTO: Final = "auto"
METHODS: Final = (AUTO, MEANS, COVARIANCE)
#: How much larger than the noise the products of all people must be expected to be.
_ENOUGH: Final = 60.0


def chosen_method(loss: Loss, items: int, people: int | None) -> str:
    """Return "covariance" where there are enough people for how items go together, else "means".

    The products of people add up with their number, and the strongest direction of the noise grows with the root of the
    number of items.

    Args:
        loss: what may be lost.
        items: the number of items.
        people: about how many people there are; None where that is not public.

    >>> from dither.privacy import ApproxDP
    >>> [chosen_method(ApproxDP(1, "1e-5"), 100, people) for people in (None, 900, 5000)]
    ['means', 'means', 'covariance']

    """
    purse = Purse.within(loss)
    if people is None or items > MOST_ITEMS or purse.is_pure:
        return MEANS
    return COVARIANCE if people * math.sqrt(2 * float(purse.amount) / items) >= _ENOUGH else MEANS
