"""Conversations: any number of counting questions, priced as a whole."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Unpack

from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.lift.offer import Offer, not_released
from dither.lift.verb import Arg, Group, Lossy, M, loss_of, verb
from dither.privacy import Loss
from dither.verbs.arguments import bins_by_column, names
from dither.verbs.graphs import GraphTable, nodes_of

if TYPE_CHECKING:
    from dither.publish.interactive.planning import PlannedConversation
    from dither.publish.interactive.question_kinds import PlannedQuestions

_COUNTS, _CUTS = "counts", "cuts"
#: How many gross errors of a model of counts are measured, where nothing is said.
_CORRECTIONS: Final = 2

TalkTable = Annotated[str | None, Arg("a private table; not required for a conversation that is open")]
TalkColumns = Annotated[
    Sequence[str] | None,
    Arg(
        "the columns that questions are about, each with categories or bounds; not allowed for cuts",
        read=names,
        schema={"type": ["array", "null"], "items": {"type": "string"}},
    ),
]


class Talking(Lossy, total=False):
    """Arguments of a conversation."""

    kind: Annotated[
        str,
        Arg(
            "counts of rows; or, for reference, cuts (edges between two sets of nodes), distances (of all rows from "
            "a value of one column, added up), disjunctions (rows with any of some columns of two values) or "
            "minimisers (which candidate has the least loss)",
            choices=("counts", "cuts", "distances", "disjunctions", "minimisers"),
            default="counts",
        ),
    ]
    bins: Annotated[
        Any,
        Arg(
            "for numeric columns a number of cells, or their edges; by default a cell for each integer up to 256 of "
            "them, else 32 cells",
            read=bins_by_column,
            metavar="COLUMN=BINS",
            is_repeated=True,
            schema={},
        ),
    ]
    corrections: Annotated[
        int | None,
        Arg(
            "how many gross errors of the model are measured; by default 2 for counts, 10 for minimisers and 20 for "
            "others"
        ),
    ]
    questions: Annotated[int, Arg("about how many questions there will be; any number is allowed", default=1000)]
    metric: Annotated[
        Any, Arg("for distances, between cells: line (the default), circle, or a table of integer distances", schema={})
    ]
    degree: Annotated[int | None, Arg("for disjunctions: the degree of the polynomial; by default 2")]
    candidates: Annotated[int | None, Arg("for minimisers: how many a question has")]
    top: Annotated[int | None, Arg("for minimisers: the largest loss of a candidate on one row")]


class Conversations(Group[M]):
    """Conversations."""

    @verb(arguments=("table", "columns"))
    @staticmethod
    def conversation(
        dataset: DataSet,
        table: TalkTable = None,
        columns: TalkColumns = None,
        **terms: Unpack[Talking],
    ) -> Offer[Any]:
        """Price any number of questions about some columns or a graph; ``Session.conversation`` opens it."""
        stated, kind, corrections = loss_of(terms), terms.get("kind", _COUNTS), terms.get("corrections")
        how: dict[str, Any] = {"bins": terms.get("bins"), "corrections": corrections}
        how["questions"] = terms.get("questions", 1000)
        further = {name: terms.get(name) for name in ("metric", "degree", "candidates", "top")}
        if kind == _COUNTS:
            if given := [name for name, value in further.items() if value is not None]:
                raise InvalidParameter(given[0], further[given[0]], f"not allowed for {kind!r}")
            if columns is None or table is None:
                raise InvalidParameter("columns", columns, "required: the columns of a table that questions are about")
            how["corrections"] = _CORRECTIONS if corrections is None else corrections
        else:
            how |= {"kind": kind} | {name: value for name, value in further.items() if value is not None}
        if kind == _CUTS:
            table = GraphTable.of(dataset, table).table.name
        if table is None:
            raise InvalidParameter("table", None, "required: the name of a private table")
        # As plain data, whatever sequence the columns and edges came in.
        asked = {"table": table, "columns": None if columns is None else list(columns), **how}
        asked = json.loads(json.dumps(asked, default=_listed))
        planned = planned_from(dataset, asked, stated)
        mechanism: Any = planned.mechanism
        asked["table"] = planned.table
        return Offer(
            "conversation",
            planned.words,
            mechanism,
            asked,
            stated,
            not_released,
            not_released,
            opened_by="conversation",
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
