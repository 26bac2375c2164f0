"""The recommender: ratings of people in, a private model of items out, and what it says to one person."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from dither.data.cell_values import codes_of, is_label, whole_of
from dither.errors import InvalidParameter
from dither.exact import whole
from dither.learn.base import AnyMechanism, bounds_of
from dither.learn.containers import array_cells, cells_in, column_as_numbers, columns_named
from dither.learn.models import Model
from dither.learn.recommend.choose import AUTO, MEANS, METHODS, chosen_method
from dither.learn.recommend.item_covariance import ItemCovariance
from dither.learn.recommend.item_means import MOST_ITEMS, USUAL_REACH, ItemMeans
from dither.learn.recommend.personal import ORDERS, ItemModel, Personal, first_of
from dither.learn.rows import Floats
from dither.learn.saved import Privacy, Savable, parameters_of, read
from dither.learn.spending import Tally, budget_of
from dither.lift.profiles import Ints, Profiles
from dither.mechanisms.core.release import Budget, release
from dither.mechanisms.core.spec import digest
from dither.privacy import ROW, ROW_REPLACED, Loss, Unit, stated_loss

#: Units by their word: a row of the mechanism is a person.
UNITS: Final[Mapping[str, Unit]] = {"person": ROW, "person_replaced": ROW_REPLACED}
_TOLD: Final = {
    ROW: "people added or removed (all ratings of one person)",
    ROW_REPLACED: "people replaced (all ratings of one person)",
}
_COLUMNS: Final = ("person", "item", "value")


class Recommender(Savable, BaseEstimator):  # type: ignore[misc]
    """Learn from ratings how well items are liked, and recommend them to people.

    Guarantee: ``fit`` loses at most the stated loss for one person with all ratings of that person; see ``privacy_``.
    Nothing is charged for recommending: what a person is shown follows from the model and that person's own ratings.

    Args:
        epsilon: the privacy loss, alone or with ``delta``; or give ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: the loss in zero-concentrated differential privacy.
        loss: the loss as a record, in place of these three.
        bounds: (lower, upper) of the values; values beyond are clipped, a missing one is the middle.
        items: the public catalogue: a list of different integers or strings, or their number, for items 0, 1, 2 ...
        attributes: public numbers, such as 1 for each genre of an item: a row for each item, in the order of ``items``.
        method: "means" (how well each item is liked), "covariance" (and how items go together, for thousands of people
            and at most 2,048 items), or "auto", which chooses by the loss, the items and ``people``.
        people: about how many people there are, where that is public; for "auto".
        reach: the length of a profile that counts in full; longer ones have smaller weights.
        unit: "person" (added or removed) or "person_replaced".
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn.recommend.recommender import Recommender
    >>> ratings = [(person, item, 5 - 2 * (item % 2)) for person in range(2000) for item in range(4)]
    >>> shop = Recommender(epsilon=1, delta="1e-6", bounds=(1, 5), items=6).fit(ratings)
    >>> shop.recommend({0: 5, 1: 3}, 1), bool(shop.predict({}, [2])[0] > 4)
    ([2], True)

    """

    model_: ItemModel
    privacy_: Privacy
    n_features_in_: int

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        bounds: Any = None,
        items: Any = None,
        attributes: Any = None,
        method: str = AUTO,
        people: Any = None,
        reach: Any = USUAL_REACH,
        unit: Any = "person",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.bounds, self.items, self.attributes = bounds, items, attributes
        self.method, self.people, self.reach, self.unit = method, people, reach, unit
        self.budget = budget

    def mechanism(self) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run: priced without data."""
        low, high = bounds_of(self.bounds, 1)
        if self.method not in METHODS:
            raise InvalidParameter("method", self.method, f"one of {', '.join(METHODS)}")
        if self.people is not None:
            whole("people", self.people, least=1)
        method = self.method
        if method == AUTO:
            method = chosen_method(self._target(), len(self.labels), self.people)
        kind = ItemMeans if method == MEANS else ItemCovariance
        return kind.calibrated(
            self._target(),
            items=len(self.labels),
            lower=float(low[0]),
            upper=float(high[0]),
            reach=self.reach,
            unit=self._unit(),
        )

    def fit(self, ratings: Any, *, columns: Sequence[str] = _COLUMNS, budget: Budget | None = None) -> Self:
        """Learn from ratings; every call is a new release.

        Args:
            ratings: a row for each rating: an array, a frame or a list. A person is an integer or a string; a row with
                neither, or of an item that is not in the catalogue, does not count. Of several ratings of one item by
                one person the last one counts, by time, and the largest where no time is given.
            columns: the columns of person, item and value, and of time where there is one: by name of a frame, and in
                this order of all others. Tuples of a list that are shorter have no value, and a rating without a value
                counts as the middle of the bounds.
            budget: what is charged; by default that of the estimator, and without one a budget of exactly this release.

        """
        mechanism, profiles = self.prepare(ratings, columns=columns)
        stated = self.budget if budget is None else budget
        released = release(mechanism, profiles, budget=budget_of(mechanism) if stated is None else stated)
        self._tally.add(released.loss)
        return self.adopt(released.value, mechanism, self._tally.receipt())

    def prepare(self, ratings: Any, *, columns: Sequence[str] = _COLUMNS) -> tuple[AnyMechanism, Profiles]:
        """Return the mechanism and its private profiles; nothing is charged or drawn yet."""
        names = tuple(columns) if isinstance(columns, list | tuple) else ()
        if len(set(names)) != len(names) or len(names) not in (3, 4):
            raise InvalidParameter("columns", columns, "the columns of person, item and value, and of time or none")
        mechanism = self.mechanism()
        people, items, values, *times = columns_named(ratings, names)
        who = _people(people)
        numbers = np.where(who >= 0, self._numbers(items), -1)
        when = column_as_numbers(times[0]) if times else np.zeros(who.size)
        when = np.where(np.isnan(when), -np.inf, when)
        return mechanism, Profiles.of(who, numbers, column_as_numbers(values), when, self._attributes())

    def adopt(self, model: ItemModel, mechanism: AnyMechanism, receipt: str) -> Self:
        """Keep a released model; every later step is post-processing."""
        if not isinstance(model, ItemModel) or model.items != len(self.labels):
            raise InvalidParameter("model", type(model).__name__, f"a model of {len(self.labels)} items")
        self.model_, self.n_features_in_ = model, len(self.labels)
        unit = _TOLD[self._unit()]
        self.privacy_ = Privacy(
            mechanism.loss(1),
            self._target(),
            unit,
            mechanism.numerics.value,
            mechanism.name,
            digest(mechanism),
            receipt,
        )
        self._places = {label: place for place, label in enumerate(self.labels)}
        return self

    @property
    def labels(self) -> tuple[Any, ...]:
        """The items of the catalogue, in the order of the model."""
        given = self.items
        if type(given) is int:
            return tuple(range(whole("items", given, least=1, most=MOST_ITEMS)))
        listed = tuple(given) if isinstance(given, list | tuple) else ()
        plain = all(type(label) in (int, str) and is_label(label) for label in listed)
        if not listed or len(listed) > MOST_ITEMS or not plain or len(set(listed)) != len(listed):
            rule = "the public catalogue: a number of items, or a list of different integers or strings"
            raise InvalidParameter("items", given, rule)
        return listed

    def for_person(self, own: Mapping[Any, Any]) -> Personal:
        """Return what the model says to one person: computed from the model and the person's own ratings alone.

        Args:
            own: values by item. In a catalogue of integers a string is the number that it spells. An item that is not
                in the catalogue is refused. Values that are no numbers are as if not there.

        """
        if not isinstance(own, Mapping):
            raise InvalidParameter("own", type(own).__name__, "a dictionary: values by item")
        model, code, labels = self._model(), codes_of(self.labels), self.labels
        known: dict[Any, Any] = {}
        for item, value in own.items():
            place = code(item)
            if place < 0:
                kind = "integers" if all(type(label) is int for label in labels) else "strings"
                kind = kind if len({type(label) for label in labels}) == 1 else "integers and strings"
                raise InvalidParameter("own", item, f"values by items of the catalogue, which are {kind}")
            known[labels[place]] = value
        return Personal(model, self._places, known)

    def predict(self, own: Mapping[Any, Any], items: Sequence[Any] | None = None) -> Floats:
        """Return what a person is expected to think of items.

        Args:
            own: the person's own ratings: values by item; empty for a newcomer.
            items: labels of items; where None all, in the order of the catalogue.

        """
        person = self.for_person(own)
        return person.expected if items is None else person.predict(items)

    def recommend(self, own: Mapping[Any, Any], count: int = 10, *, order: str = ORDERS[0]) -> list[Any]:
        """Return the items that a person has not rated and is expected to like most, best first.

        Args:
            own: the person's own ratings: values by item.
            count: how many at most; fewer where fewer are left.
            order: "value", by expected value; or "popularity", by how often items were rated.

        """
        best = self.for_person(own).best(whole("count", count, least=1), order)
        labels = self.labels
        return [labels[place] for place in best.tolist()]

    def similar(self, item: Any, count: int = 10) -> list[Any]:
        """Return the items that are most like one, best first.

        Args:
            item: a label of the catalogue.
            count: how many at most.

        """
        model, labels = self._model(), self.labels
        if item not in self._places:
            raise InvalidParameter("item", item, "an item of the catalogue")
        scores = np.array(model.alike(self._places[item]), dtype=np.float64)
        scores[self._places[item]] = -np.inf
        most = min(whole("count", count, least=1), len(labels) - 1)
        return [labels[place] for place in first_of(scores, most).tolist()]

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the fitted recommender that a string describes, or refuse the string."""
        record = read(text)
        if record["estimator"] != cls.__name__:
            raise InvalidParameter("estimator", record["estimator"], cls.__name__)
        model = Model.from_dict(record["model"])
        parameters = parameters_of(record)
        if set(parameters) - set(cls._get_param_names()):
            raise InvalidParameter("text", "a record of other parts", "a recommender as it was written")
        found = cls(**parameters)
        if not isinstance(model, ItemModel) or model.items != len(found.labels):
            raise InvalidParameter("text", "a record of other parts", "a recommender as it was written")
        found.model_, found.n_features_in_ = model, model.items
        found.privacy_ = Privacy.from_dict(record["privacy"])
        found._places = {label: place for place, label in enumerate(found.labels)}
        return found

    def _released(self) -> dict[str, Any]:
        return {"model": self._model().to_dict(), "privacy": self.privacy_.to_dict()}

    def _model(self) -> ItemModel:
        if not hasattr(self, "model_"):
            raise NotFittedError("this Recommender is not fitted: call fit with ratings first")
        return self.model_

    def _target(self) -> Loss:
        """Return the loss that the parameters allow."""
        return stated_loss(epsilon=self.epsilon, delta=self.delta, rho=self.rho, loss=self.loss)

    def _unit(self) -> Unit:
        if not isinstance(self.unit, str) or self.unit not in UNITS:
            raise InvalidParameter("unit", self.unit, " or ".join(map(repr, UNITS)))
        return UNITS[self.unit]

    def _attributes(self) -> Floats | None:
        if self.attributes is None:
            return None
        rule = f"finite numbers, a row for each of {len(self.labels)} items"
        found: Floats | None = None
        with contextlib.suppress(TypeError, ValueError):
            found = np.array(self.attributes, dtype=np.float64)
        if found is None:
            raise InvalidParameter("attributes", type(self.attributes).__name__, rule)
        if found.ndim != 2 or len(found) != len(self.labels) or not np.isfinite(found).all():
            raise InvalidParameter("attributes", found.shape, rule)
        return found

    def _numbers(self, column: Any) -> Ints:
        """Return the number of each item, -1 for what is not in the catalogue: each cell alone."""
        code = codes_of(self.labels)
        if isinstance(column, np.ndarray) and column.dtype.kind in "iufb" and column.size:
            different, places = np.unique(column, return_inverse=True)
            return np.array([code(cell) for cell in array_cells(different)], dtype=np.int64)[places.ravel()]
        return np.array([code(cell) for cell in cells_in(column)], dtype=np.int64)

    @property
    def _tally(self) -> Tally:
        """What this recommender has lost in this process."""
        tally: Tally = self.__dict__.setdefault("_shared_tally", Tally())
        return tally


def _people(column: Any) -> Ints:
    """Return a number for each person, -1 for a cell that is neither an integer nor a string."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu" and not isinstance(column, np.ma.MaskedArray):
        return np.unique(column, return_inverse=True)[1].ravel().astype(np.int64)
    known: dict[Any, int] = {}
    found = []
    for cell in cells_in(column):
        number = whole_of(cell)
        name = cell if type(cell) is str else None if number is None else number
        found.append(-1 if name is None else known.setdefault(name, len(known)))
    return np.array(found, dtype=np.int64)
