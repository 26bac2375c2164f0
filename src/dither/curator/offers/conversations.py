"""Conversations: any number of counting questions, priced as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from dither.data.schema import DataSet
from dither.errors import HandleMisuse
from dither.exact import Number
from dither.lift.offer import Offer
from dither.privacy import Loss, stated_loss

if TYPE_CHECKING:
    from dither.publish.interactive.planning import PlannedConversation


def conversation(
    dataset: DataSet,
    table: str,
    columns: Sequence[str],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    bins: Mapping[str, Any] | None = None,
    corrections: int = 2,
    questions: int = 1000,
) -> Offer[Any]:
    """Offer any number of counting questions about some columns; ``Session.conversation`` opens it.

    Args:
        dataset: the schema.
        table: the name of a private table.
        columns: which can be asked about: each with categories or bounds.
        epsilon: what all answers together may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy: Gaussian noise.
        loss: what may be lost as a record, in place of these three.
        bins: for numeric columns a number of cells, or their edges; by default a cell for each integer where there are
            at most 256, else 32 cells.
        corrections: how many gross errors of the model are measured.
        questions: about how many will be asked; any number may be.

    """
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    how: dict[str, Any] = {"bins": bins, "corrections": corrections, "questions": questions}
    planned = _planned(dataset, table, columns, stated, **how)
    # As plain data, whatever sequence the columns and edges came in.
    asked = json.loads(json.dumps({"table": planned.table, "columns": list(columns), **how}, default=list))
    mechanism: Any = planned.mechanism
    return Offer("conversation", planned.words, mechanism, asked, stated, _not_released, _not_released)


def planned_of(dataset: DataSet, offer: Offer[Any]) -> PlannedConversation:
    """Return the plan of an offer of a conversation."""
    asked = dict(offer.asked)
    return _planned(dataset, asked.pop("table"), asked.pop("columns"), offer.stated, **asked)


def _planned(dataset: DataSet, table: str, columns: Sequence[str], loss: Loss, **how: Any) -> PlannedConversation:
    # A room of many modules, which every session would import for the few that talk.
    from dither.publish.interactive.planning import plan_conversation

    return plan_conversation(dataset, table, columns, loss, **how)


def _not_released(*_: Any) -> NoReturn:
    raise HandleMisuse("a conversation is opened by ``session.conversation``, and answers question by question")
