"""A recommender over a data set: from declared ratings to a release that a session can price."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dither.data import DataSet
from dither.data.examples import clinic
from dither.data.expressions import as_real
from dither.data.ratings import Ratings
from dither.data.schema import person_unit
from dither.errors import InvalidParameter
from dither.learn.lifting import trusted_estimator
from dither.learn.models import Model
from dither.learn.recommend.item_covariance import ItemCovariance
from dither.learn.recommend.item_means import ItemMeans
from dither.learn.recommend.personal import ItemModel
from dither.lift.lifted import Lifted, example_of
from dither.lift.ratings import RatedItems, rated_table
from dither.mechanisms.core.registry import Example, add_examples
from dither.mechanisms.core.spec import digest
from dither.privacy import ZCDP, Loss, PureDP


def rated_clinic(*, replaced: bool = False) -> DataSet:
    """Return the schema of a clinic where people rate its sites; for checks."""
    dataset = clinic(person_unit("person", replaced=replaced))
    return replace(dataset, tables=(replace(dataset.tables[0], declared=(Ratings("site", "cost", "age"),)),))


def _examples() -> Iterator[Example]:
    for replaced, loss in ((False, ZCDP("1/8")), (True, PureDP(1))):
        source = RatedItems(rated_clinic(replaced=replaced), "visits")
        kind = ItemCovariance if replaced else ItemMeans
        yield example_of(source, kind.calibrated(loss, items=source.items, lower=0, upper=10))


add_examples(Lifted.name, _examples)


@dataclass(frozen=True)
class PlannedRecommender:
    """A recommender, and the release of its model.

    Args:
        estimator: what is fitted, with what the schema declares.
        mechanism: what would be released.
        stated: what was asked for.

    """

    estimator: Any
    mechanism: Lifted
    stated: Loss

    @property
    def words(self) -> str:
        """What would be released, for people."""
        source: Any = self.mechanism.source
        known = [column.name for column in source.known]
        shown = f", with {', '.join(known)} of {source.catalogue.name}" if known else ""
        how = "means and covariance" if isinstance(self.mechanism.method, ItemCovariance) else "means"
        return f"Recommender ({how}) of {source.items:,} items from {source.ratings.value} of {source.table}{shown}"

    def adopt(self, record: dict[str, Any], receipt: str) -> Any:
        """Return the recommender with the released model; what follows is post-processing."""
        model, method = Model.from_dict(record), self.mechanism.method
        if not isinstance(model, ItemModel):
            raise InvalidParameter("record", type(model).__name__, "a model of items")
        fitted = self.estimator.adopt(model, method, receipt)
        fitted.held_out_score_, fitted.released_as_ = None, self.words
        told = {"loss": self.mechanism.loss(1), "stated": self.stated, "unit": str(self.mechanism.distance)}
        fitted.privacy_ = replace(fitted.privacy_, **told, request_digest=digest(method))
        return fitted


def plan_recommender(dataset: DataSet, table: str, estimator: Any) -> PlannedRecommender:
    """Return what a recommender would release and cost, from public facts alone.

    Args:
        dataset: the schema.
        table: the name of a table that declares ratings.
        estimator: a recommender; its items and bounds come from the schema.

    """
    copied: Any = trusted_estimator(estimator)
    for name in ("items", "bounds", "attributes"):
        if getattr(copied, name) is not None:
            raise InvalidParameter(name, type(getattr(copied, name)).__name__, "not allowed: the schema declares it")
    if copied.unit != "person":
        raise InvalidParameter("unit", copied.unit, "not allowed: the schema declares it")
    source = RatedItems(dataset, rated_table(dataset, table).name)
    low, high = (as_real(bound) for bound in source.bounds)
    people = dataset.people if copied.people is None else copied.people
    copied.set_params(items=list(source.labels), bounds=(low, high), people=people)
    stated = copied._target()

    def build(loss: Loss) -> Any:
        return copied.set_params(**dict.fromkeys(("epsilon", "delta", "rho")), loss=loss).mechanism()

    mechanism = Lifted.calibrated(stated, source=source, build=build)
    copied.set_params(loss=stated)
    return PlannedRecommender(copied, mechanism, stated)
