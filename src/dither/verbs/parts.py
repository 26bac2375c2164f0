"""Accounts of parts: questions about public disjoint parts of the rows, one after the other, priced as a whole."""

from __future__ import annotations

from typing import Annotated, Any, Unpack

from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.lift.offer import Offer, not_released
from dither.lift.planned_size import check_listed
from dither.lift.verb import REGISTRY, Arg, Group, Lossy, M, loss_of, verb
from dither.privacy import Loss
from dither.publish.queries.adaptive_parts import AdaptiveParts, OpenPartition
from dither.publish.queries.contradictions import check_sense_of_parts
from dither.publish.queries.parts import Partition

Split = Annotated[
    Partition | OpenPartition,
    Arg(
        'session.table("visits").partition("site", {"north": ["n"], "south": ["s", "e"]})',
        schema={"type": "object", "required": ["spec"]},
    ),
]


class PartAccounts(Group[M]):
    """Accounts of parts."""

    @verb(arguments=("partition",))
    @staticmethod
    def parts(dataset: DataSet, partition: Split, **terms: Unpack[Lossy]) -> Offer[Any]:
        """Price questions about public disjoint parts of the rows, one after the other; ``Session.parts`` opens them.

        The stated loss is that of one part: what its questions may lose together.
        """
        stated = loss_of(terms)
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
    return REGISTRY["parts"].offer(dataset, {"partition": found, "loss": stated})
