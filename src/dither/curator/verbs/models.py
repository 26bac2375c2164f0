"""Models: an estimator of ``dither.learn`` fitted to private rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dither.curator.request import Request
from dither.curator.verbs.door import Door, place_of
from dither.data import wire
from dither.mechanisms.spec import digest


class Models(Door):
    """Fits estimators."""

    def fit(
        self,
        estimator: Any,
        table: str,
        *,
        target: str,
        features: Sequence[str] | None = None,
        where: str | None = None,
        key: str | None = None,
    ) -> Any:
        """Return a fitted copy of an estimator of ``dither.learn``, charged to the ledger.

        What the estimator states is its loss for one row; a person with several rows is charged what so many rows lose.

        Args:
            estimator: what to learn; bounds and classes that it leaves out are taken from the schema.
            table: a private table.
            target: the column to predict.
            features: the columns to predict it from; all other numeric ones where None.
            where: a condition in SQL on the rows.
            key: the caller's name for this request; with the same key a retry returns the stored model at no cost.

        """
        from dither.curator.learning import plan_fit

        source = self._source(table, where)
        planned = plan_fit(self.dataset, source, estimator, target, features)
        self._refuse_idealised(planned.mechanism.numerics)
        asked = {
            "aggregation": wire.encode(planned.aggregation),
            "mechanism": digest(planned.mechanism),
            "estimator": type(planned.estimator).__name__,
            # Codes stand for these: the same codes of other labels are another request.
            "classes": [str(label) for label in getattr(planned.estimator, "classes", None) or ()],
        }
        request = Request(self.dataset.name, "fit", asked, planned.loss, f"{asked['estimator']} of {target}")
        self.open().prepare(planned.aggregation)
        receipt = self._release(request, planned.loss, lambda engine: json.dumps(planned.learn(engine)).encode(), key)
        return planned.adopt(json.loads(receipt.answer), place_of(receipt))
