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
    target: str | None = None,
    features: Sequence[str] | None = None,
    per: str = "person",
    score: bool = False,
    where: str | None = None,
    key: str | None = None,
) -> Offer[Any]:
    """Offer a fitted copy of an estimator of ``dither.learn``.

    What the estimator states is the loss of a unit of the data set: of a person with all rows that count.

    Args:
        dataset: the schema.
        estimator: what to learn; bounds, categories and classes that it leaves out are taken from the schema.
        table: a private table.
        target: the column to predict; left out for an estimator that predicts none.
        features: the columns to learn from; where None all that can be used, with bounds or with categories.
        per: whom the stated loss is for: "person", or "row"; a person with k rows is then charged what k rows lose.
        score: whether a fifth of the rows is held out, and ``held_out_score_`` says how the model does on it. A row is
            learned from or held out, so that the price is the same.
        where: a condition in SQL on the rows.
        key: the caller's name for this request; with the same key a retry returns the stored model at no cost.

    """
    from dither.learn.lifting import plan_fit

    planned = plan_fit(dataset, rows_of(dataset, table, where), estimator, target, features, per=per, score=score)
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

    return Offer("fit", planned.words, planned.mechanism, asked, planned.stated, present, read, key)
