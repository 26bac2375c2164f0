"""Accounts of parts: questions about public disjoint parts of the rows, one after the other, priced as a whole."""

from __future__ import annotations

from typing import Any

from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.lift.offer import Offer, not_released
from dither.lift.planned_size import check_listed
from dither.privacy import Loss, stated_loss
from dither.publish.queries.adaptive_parts import AdaptiveParts, OpenPartition
from dither.publish.queries.parts import Partition
from dither.publish.queries.sense import check_sense_of_parts


def parts(
    dataset: DataSet,
    partition: Partition | OpenPartition,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
) -> Offer[Any]:
    """Offer questions about public disjoint parts of the rows, one after the other; ``Session.parts`` opens them.

    Args:
        dataset: the schema.
        partition: ``session.table("visits").partition("site", {"north": ["n"], "south": ["s", "e"]})``.
        epsilon: what the questions about one part may lose together, alone or with ``delta``; or ``rho``.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy: Gaussian noise.
        loss: what one part may lose as a record, in place of these three.

    """
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    if type(partition) not in (Partition, OpenPartition):
        raise InvalidParameter("partition", partition, "made by session.table(...).partition(...)")
    split = partition.open(dataset) if isinstance(partition, Partition) else partition
    if split.dataset != dataset:
        raise InvalidParameter("partition", split.dataset.name, f"one of the rows of {dataset.name}")
    check_listed("parts", sum(len(values) for _, values in split.parts))
    check_sense_of_parts(split.relation, split.conditions())
    mechanism: Any = AdaptiveParts(partition=split, each=stated)
    words = f"questions about {len(split.parts)} parts, one after the other"
    asked = {"parts": wire.encode(split)}
    return Offer("parts in turn", words, mechanism, asked, stated, not_released, not_released, opened_by="parts")


def parts_again(dataset: DataSet, asked: Any, stated: Loss) -> Offer[Any]:
    """Return the offer by which an account was opened.

    Args:
        dataset: the schema.
        asked: the parameters of the offer, as plain data.
        stated: what one part may lose.

    """
    found = wire.decode(asked["parts"])
    return parts(dataset, found, loss=stated)
