"""Models: an estimator of ``dither.learn`` fitted to private rows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Unpack

from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.lift.offer import Offer
from dither.lift.verb import Arg, Group, Keyed, M, verb
from dither.mechanisms.core.spec import digest
from dither.publish.queries.rows_named import rows_of
from dither.verbs.arguments import TableName, Where, names

Estimator = Annotated[
    Any,
    Arg(
        "an estimator of dither.learn, which states the loss; bounds, categories and classes that it does not state "
        "come from the schema",
        schema={"type": "object", "required": ["estimator", "parameters"]},
    ),
]
Target = Annotated[str | None, Arg("the column to predict; not allowed for an estimator that predicts none")]
Features = Annotated[
    Sequence[str] | None,
    Arg(
        "the columns to learn from; by default all that have bounds or categories",
        read=names,
        schema={"type": ["array", "null"], "items": {"type": "string"}},
    ),
]
Per = Annotated[
    str,
    Arg(
        "whom the stated loss is for: a person, or one row; a person with k rows is then charged what k rows lose",
        choices=("person", "row"),
    ),
]
Score = Annotated[
    bool,
    Arg(
        "hold a fifth of the rows out and score the model on it; each row is learned from or scored, at the same price"
    ),
]


class Models(Group[M]):
    """Private models."""

    @verb(arguments=("table", "target"), doing="learning")
    @staticmethod
    def fit(
        dataset: DataSet,
        estimator: Estimator,
        table: TableName,
        *,
        target: Target = None,
        features: Features = None,
        per: Per = "person",
        score: Score = False,
        where: Where = None,
        **terms: Unpack[Keyed],
    ) -> Offer[Any]:
        """Learn a private model of a table: linear, logistic, naive Bayes, or another estimator of ``dither.learn``.

        The estimator states the loss of a unit of the data set: of a person with all rows that count. A recommender
        learns from a table that declares ratings.
        """
        from dither import learn

        if type(estimator).__name__ in learn.RECOMMENDERS:
            return _recommender(dataset, estimator, table, target, features, where, per=per, score=score)
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

        return Offer("fit", planned.words, planned.mechanism, asked, planned.stated, present, read)


def _recommender(
    dataset: DataSet,
    estimator: Any,
    table: str,
    target: str | None,
    features: Sequence[str] | None,
    where: str | None,
    *,
    per: str,
    score: bool,
) -> Offer[Any]:
    """Return the offer of a recommender, which learns from all ratings of a table and from nothing else."""
    from dither.learn.recommend.planning import plan_recommender

    rule = "not allowed: a recommender learns from all ratings of the table, one person being the unit"
    for name, value, usual in (
        ("target", target, None),
        ("features", features, None),
        ("where", where, None),
        ("per", per, "person"),
        ("score", score, False),
    ):
        if value != usual:
            raise InvalidParameter(name, value, rule)
    planned = plan_recommender(dataset, table, estimator)
    asked = {
        "source": wire.encode(planned.mechanism.source),
        "mechanism": digest(planned.mechanism.method),
        "estimator": type(planned.estimator).__name__,
    }

    def present(model: Any) -> bytes:
        return json.dumps(model.to_dict()).encode()

    def read(stored: bytes, receipt: str) -> Any:
        return planned.adopt(json.loads(stored), receipt)

    return Offer("fit", planned.words, planned.mechanism, asked, planned.stated, present, read)
