"""What a released model of items says to one person: computed where the person is, from that person's own ratings.

Nothing here is charged: the model is public, and the ratings of the person never leave. What the person is shown
depends on those ratings, and is for that person alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.learn.models import Model
from dither.learn.rows import Floats

#: How many ratings of an ordinary person stand beside those that there are, when the person's bias is estimated.
PULL: Final = 3.0
ORDERS: Final = ("value", "popularity")


class ItemModel(Model):
    """A released model of items: how well each is liked, and what a person's own ratings change in that."""

    kind: ClassVar[str]
    lower: float
    upper: float

    @property
    def means(self) -> Floats:
        """The mean of each item, in values between -1 and 1."""
        raise NotImplementedError

    @property
    def popularity(self) -> Floats:
        """How often each item was rated, with noise."""
        raise NotImplementedError

    @property
    def items(self) -> int:
        """The number of items."""
        return len(self.popularity)

    def expected(self, rated: NDArray[np.int64], values: Floats) -> Floats:
        """Return what a person is expected to think of every item, in values between -1 and 1.

        Args:
            rated: the numbers of the items that the person rated.
            values: beside them, between -1 and 1.

        """
        means = self.means
        return means + bias(values - means[rated])

    def alike(self, item: int) -> Floats:
        """Return how like every item is to one: by their attributes, and among equals by how often they were rated."""
        return self._by_attributes(item)

    def _by_attributes(self, item: int) -> Floats:
        known = getattr(self, "attributes").values  # noqa: B009 - a field of every model of items
        lengths = np.maximum(np.sqrt((known**2).sum(axis=1)), 1e-12)
        shared: Floats = known @ known[item] / (lengths * lengths[item])
        often = np.argsort(np.argsort(self.popularity)) / max(self.items, 1)
        found: Floats = np.round(shared, 9) + 1e-6 * often
        return found


def bias(residuals: Floats) -> float:
    """Return by how much a person rates higher than others, pulled towards not at all."""
    return float(residuals.sum()) / (residuals.size + PULL)


class Personal:
    """A released model and the ratings of one person.

    Args:
        model: the model.
        places: the numbers of items by their label.
        own: the person's ratings: values by item. Items that the model does not know, and values that are no numbers,
            are as if not there.

    """

    def __init__(self, model: ItemModel, places: Mapping[Any, int], own: Mapping[Any, Any]) -> None:
        self._model, self._places = model, places
        known: dict[int, float] = {}
        for item, value in own.items():
            place, number = places.get(item), _number(value)
            if place is not None and number is not None:
                known[place] = number
        rated = np.array(sorted(known), dtype=np.int64)
        values = np.clip(np.array([known[place] for place in rated.tolist()]), model.lower, model.upper)
        self._rated = rated
        middle, half = model.lower / 2 + model.upper / 2, model.upper / 2 - model.lower / 2
        inside = model.expected(rated, (values - middle) / half)
        #: What the person is expected to think of every item, in the order of the model.
        self.expected: Floats = np.clip(middle + half * inside, model.lower, model.upper)

    def predict(self, items: Any) -> Floats:
        """Return the expected value of each item; of an unknown item that of a middling one.

        Args:
            items: labels of items.

        """
        usual = float(np.median(self.expected))
        places = [self._places.get(item) for item in items]
        return np.array([usual if place is None else self.expected[place] for place in places])

    def best(self, count: int, order: str = "value") -> NDArray[np.int64]:
        """Return the numbers of the best items that the person has not rated, at most ``count``.

        Args:
            count: how many.
            order: "value", by what the person is expected to think; "popularity", by how often items were rated.

        """
        if order not in ORDERS:
            raise InvalidParameter("order", order, " or ".join(map(repr, ORDERS)))
        scores = np.array(self.expected if order == "value" else self._model.popularity, dtype=np.float64)
        scores[self._rated] = -np.inf
        left = max(0, min(count, len(scores) - len(self._rated)))
        return first_of(scores, left)


def first_of(scores: Floats, count: int) -> NDArray[np.int64]:
    """Return the places of the largest scores, best first; of equal ones the first."""
    if count < len(scores) // 4:
        some = np.sort(np.argpartition(-scores, count)[: count + 1]) if count else np.zeros(0, dtype=np.int64)
        edge = scores[some].min(initial=np.inf)
        # All that equal the last one compete, so that places decide between equals.
        some = np.flatnonzero(scores >= edge) if count else some
        return some[np.argsort(-scores[some], kind="stable")][:count]
    return np.argsort(-scores, kind="stable")[:count]


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if np.isnan(number) else number
