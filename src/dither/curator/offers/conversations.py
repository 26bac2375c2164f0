"""Conversations: any number of counting questions, priced as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dither.curator.offers.graphs import graph_table, nodes_of
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.exact import Number
from dither.lift.offer import Offer, not_released
from dither.privacy import Loss, stated_loss

if TYPE_CHECKING:
    from dither.publish.interactive.planning import PlannedConversation
    from dither.publish.interactive.question_kinds import PlannedQuestions

_COUNTS, _CUTS = "counts", "cuts"
#: How many gross errors of a model of counts are measured, where nothing is said.
_CORRECTIONS: Final = 2


def conversation(
    dataset: DataSet,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    *,
    kind: str = "counts",
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    bins: Mapping[str, Any] | None = None,
    corrections: int | None = None,
    questions: int = 1000,
    metric: Any = None,
    degree: int | None = None,
    candidates: int | None = None,
    top: int | None = None,
) -> Offer[Any]:
    """Offer any number of questions about some columns or a graph; ``Session.conversation`` opens it.

    Args:
        dataset: the schema.
        table: the name of a private table.
        columns: which can be asked about: each with categories or bounds; left out for "cuts".
        kind: "counts", or "cuts", "distances", "disjunctions" or "minimisers" as ``Session.conversation`` says.
        epsilon: what all answers together may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy: Gaussian noise.
        loss: what may be lost as a record, in place of these three.
        bins: for numeric columns a number of cells, or their edges; by default a cell for each integer where there are
            at most 256, else 32 cells.
        corrections: how many gross errors of the model are measured.
        questions: about how many will be asked; any number may be.
        metric: of "distances": "line", "circle", or a table of whole distances.
        degree: of "disjunctions": that of the polynomial.
        candidates: of "minimisers": how many a question has.
        top: of "minimisers": the largest loss of a candidate on one row.

    """
    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    how: dict[str, Any] = {"bins": bins, "corrections": corrections, "questions": questions}
    further = {"metric": metric, "degree": degree, "candidates": candidates, "top": top}
    if kind == _COUNTS:
        if given := [name for name, value in further.items() if value is not None]:
            raise InvalidParameter(given[0], further[given[0]], f"left out for {kind!r}")
        if columns is None or table is None:
            raise InvalidParameter("columns", columns, "said: the columns of a table that can be asked about")
        how["corrections"] = _CORRECTIONS if corrections is None else corrections
    else:
        how |= {"kind": kind} | {name: value for name, value in further.items() if value is not None}
    if kind == _CUTS:
        table = graph_table(dataset, table)
    if table is None:
        raise InvalidParameter("table", None, "said: the name of a private table")
    # As plain data, whatever sequence the columns and edges came in.
    asked = {"table": table, "columns": None if columns is None else list(columns), **how}
    asked = json.loads(json.dumps(asked, default=_listed))
    planned = planned_from(dataset, asked, stated)
    mechanism: Any = planned.mechanism
    asked["table"] = planned.table
    return Offer(
        "conversation", planned.words, mechanism, asked, stated, not_released, not_released, opened_by="conversation"
    )


def _listed(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else list(value)


def planned_of(dataset: DataSet, offer: Offer[Any]) -> PlannedConversation | PlannedQuestions:
    """Return the plan of an offer of a conversation."""
    return planned_from(dataset, offer.asked, offer.stated)


def planned_from(dataset: DataSet, asked: Mapping[str, Any], loss: Loss) -> PlannedConversation | PlannedQuestions:
    """Return the plan of a conversation from its parameters as plain data."""
    # A room of many modules, which every session would import for the few that talk.
    from dither.publish.interactive.planning import plan_conversation
    from dither.publish.interactive.question_kinds import plan_questions

    how = dict(asked)
    kind, table, columns = how.pop("kind", _COUNTS), how.pop("table"), how.pop("columns")
    if kind == _COUNTS:
        return plan_conversation(dataset, table, columns, loss, **how)
    nodes = nodes_of(dataset.table(table)) if kind == _CUTS else ()
    return plan_questions(dataset, kind, table, columns, loss, nodes=nodes, **how)
