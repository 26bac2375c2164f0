"""Models: an estimator of ``dither.learn`` fitted to private rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dither.curator.offers.rows import rows_of
from dither.data import wire
from dither.data.schema import DataSet
from dither.lift.offer import Offer
from dither.mechanisms.core.spec import digest


def fit(
    dataset: DataSet,
    estimator: Any,
    table: str,
    *,
    target: str,
    features: Sequence[str] | None = None,
    where: str | None = None,
    key: str | None = None,
) -> Offer[Any]:
    """Offer a fitted copy of an estimator of ``dither.learn``.

    What the estimator states is its loss for one row; a person with k rows is charged the loss of k rows.

    Args:
        dataset: the schema.
        estimator: what to learn; bounds and classes that it leaves out are taken from the schema.
        table: a private table.
        target: the column to predict.
        features: the columns to predict it from; all other numeric ones where None.
        where: a condition in SQL on the rows.
        key: the caller's name for this request; with the same key a retry returns the stored model at no cost.

    """
    from dither.learn.lifting import plan_fit

    planned = plan_fit(dataset, rows_of(dataset, table, where), estimator, target, features)
    name = type(planned.estimator).__name__
    asked = {
        "source": wire.encode(planned.mechanism.source),
        "mechanism": digest(planned.mechanism.method),
        "estimator": name,
    }

    def present(model: Any) -> bytes:
        return json.dumps(model.to_dict()).encode()

    def read(stored: bytes, receipt: str) -> Any:
        return planned.adopt(json.loads(stored), receipt)

    return Offer("fit", f"{name} of {target}", planned.mechanism, asked, planned.loss, present, read, key)
