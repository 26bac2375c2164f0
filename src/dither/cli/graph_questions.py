"""What a schema needs of a table whose rows are edges: the questions about a graph, and what the owner decides.

Nothing is proposed from the rows. The nodes above all are typed or come from a public file: a list that is made of the
edges would publish who has one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dither.cli.kind_questions import QUESTIONS, Whole
from dither.cli.prompts import NOWHERE, Question, meant
from dither.data.expressions import Kind
from dither.data.facts import FROM_NAME, Facts
from dither.data.files import schema_from
from dither.data.graphs import MOST_EDGES
from dither.data.hints import words
from dither.data.schema import DataSet
from dither.data.suggest import described
from dither.errors import DitherError

#: Names that the two ends of an edge often have.
_PAIRS: Final = (
    *(("from", "to"), ("source", "target"), ("src", "dst"), ("sender", "receiver"), ("follower", "followed")),
    *(("one", "other"), ("a", "b"), ("u", "v"), ("1", "2")),
)
_FILE: Final = re.compile(r"(.*\.csv)(?:\s+(\S.*))?", re.IGNORECASE)
#: Where the proposal for the most edges comes from: not from the rows.
FITS: Final = "what fits into memory"
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}")
ENDS, UNIT, DIRECTED, NODES, DEGREE, EDGES, TIME = (
    f"graph.{what}" for what in ("ends", "unit", "directed", "nodes", "degree", "edges", "time")
)


def graph_questions(facts: Facts) -> list[Question]:
    """Return all that is open about a table of edges.

    Args:
        facts: what the rows show to their owner; only names and kinds are looked at.

    """
    likely = _likely([one.name for one in facts.columns])
    dated = [one.name for one in facts.columns if one.kind in (Kind.DATE, Kind.TIMESTAMP)]
    found = [
        Question(
            ENDS,
            "which two columns hold the nodes that a row joins? with a comma between",
            ", ".join(likely),
            FROM_NAME if likely else NOWHERE,
            "the columns that say who is joined to whom",
        ),
        Question(
            UNIT,
            "what is protected? 'edge': whether any two are joined; 'node': a node with all its edges",
            otherwise="'edge' hides each tie, and costs little; 'node' hides a person with all ties, at larger errors",
        ),
        Question(
            DIRECTED,
            "'undirected', where a row says the same of both; 'directed', where it leads from the first to the second",
            otherwise="friends are undirected, payments directed; a directed graph only supports the number of edges",
        ),
        Question(
            NODES,
            "which nodes may there be? public: 'least, largest' of integers; or names with commas between; or a public "
            "CSV file, and its column unless it is the first",
            otherwise="all who might be there, joined or not, from public knowledge such as a list of members. It is "
            "published. Nothing is proposed: made of these edges it would publish who has one",
        ),
        Question(
            DEGREE,
            "how many edges of one node count at most?",
            otherwise="what no node exceeds, within reason; a smaller limit is chosen privately with each release",
        ),
        Question(
            EDGES,
            "how many edges count at most? there are too many nodes to hold all pairs",
            str(MOST_EDGES),
            FITS,
            "round, from public knowledge; any limit doubles the price of a release, a higher one by no more. A graph "
            "with more edges loses those above the limit",
        ),
    ]
    if dated:
        text = f"a column that selects edges of a period: {', '.join(dated)}; 'n' for none"
        found.append(Question(TIME, text, otherwise="'n' unless you will ask for edges of a month, say"))
    return found


def _likely(names: list[str]) -> tuple[str, ...]:
    """Return the two columns whose names are those of ends; the only two, if there are no others."""
    split = {name: words(name) for name in names}
    for first, second in _PAIRS:
        for one in names:
            swapped = [second if word == first else word for word in split[one]]
            other = [name for name in names if name != one and split[name] == swapped]
            if first in split[one] and len(other) == 1:
                return one, other[0]
    return tuple(names) if len(names) == 2 else ()


class GraphAnswers:
    """What the owner has decided so far about a graph, as the tree of a schema."""

    def __init__(self, facts: Facts, dataset: str) -> None:
        self._facts = facts
        self._dataset = dataset
        self._ends: tuple[str, ...] = ()
        self._unit = ""
        self._graph: dict[str, Any] = {}
        self._kind = Kind.TEXT
        self._declared: dict[str, Any] = {}
        self._file: tuple[str, str] | None = None
        self._time: dict[str, Any] = {}

    def applies(self, question: Question) -> bool:
        """Return whether a question is still open, by what was decided before."""
        if question.place == DEGREE:
            return self._unit == "node"
        if question.place == EDGES:
            # Decided from public facts: how many pairs the declared nodes have.
            table = schema_from(self._tree("edge", {})).table(self._dataset)
            return self._unit == "edge" and table.graph is not None and table.graph.most_edges(table.nodes) > MOST_EDGES
        return True

    def leave_out(self, question: Question) -> str:
        """Decide that something is not declared; return why that cannot be, if it cannot."""
        return "" if question.place == TIME else "this one must be decided"

    def decide(self, question: Question, typed: str) -> str:
        """Take what was typed; return what is wrong with it, if anything is."""
        if question.place == ENDS:
            return self._decide_ends(typed)
        if question.place in (UNIT, DIRECTED):
            known = ("edge", "node") if question.place == UNIT else ("undirected", "directed")
            if typed.lower() not in known:
                return f"not '{known[0]}' or '{known[1]}'"
            if question.place == UNIT:
                self._unit = typed.lower()
            elif typed.lower() == "directed":
                self._graph["directed"] = True
            return ""
        if question.place == NODES:
            return self._decide_nodes(typed)
        if question.place == TIME:
            column = meant(self._facts, typed)
            if (
                column is None
                or column in self._ends
                or self._facts.column(column).kind not in (Kind.DATE, Kind.TIMESTAMP)
            ):
                return "not a column of dates or times beside the ends"
            self._time = {column: self._column(column, self._facts.column(column).kind)}
            self._graph["time"] = column
            return ""
        if not _WHOLE.fullmatch(typed):
            return "not an integer"
        what = question.place.rpartition(".")[2]
        before, self._graph = self._graph, {**self._graph, what: int(typed)}
        problem = self._problem(self._unit)
        if problem:
            self._graph = before
        return problem

    def _decide_ends(self, typed: str) -> str:
        found = tuple(meant(self._facts, word.strip()) for word in typed.split(","))
        known = [name for name in found if name is not None]
        if len(found) != 2 or len(set(known)) != 2:
            return f"not two columns with a comma between; there are {', '.join(x.name for x in self._facts.columns)}"
        self._ends = tuple(known)
        kinds = {self._facts.column(name).kind for name in known}
        self._kind = Kind.INTEGER if kinds == {Kind.INTEGER} else Kind.TEXT
        return ""

    def _decide_nodes(self, typed: str) -> str:
        before = self._declared, self._file
        self._declared, self._file = {}, None
        named = [word.strip() for word in typed.strip("[]").split(",")]
        file = _FILE.fullmatch(typed)
        try:
            if file is not None:
                path = Path(file[1]).expanduser().resolve()
                self._file = str(path), file[2] or described(path)[0][0]
            elif len(named) == 2 and self._kind is Kind.INTEGER and all(map(_WHOLE.fullmatch, named)):
                self._declared = {"bounds": [int(word) for word in named]}
            else:
                self._declared = {"categories": named}
            wrong = self._problem("edge")
        except DitherError as problem:
            wrong = str(problem)
        if wrong:
            self._declared, self._file = before
        return wrong

    def _problem(self, unit: str) -> str:
        """Return what is wrong with what is decided by now."""
        try:
            schema_from(self._tree(unit, self._graph))
        except DitherError as problem:
            return str(problem)
        return ""

    def dataset(self) -> DataSet:
        """Return the whole data set."""
        return schema_from(self._tree(self._unit, self._graph))

    def _column(self, name: str, kind: Kind) -> dict[str, Any]:
        stored = self._facts.column(name).stored_name
        return {**({"from": stored} if stored != name else {}), "kind": kind.value}

    def _tree(self, unit: str, limits: Mapping[str, Any]) -> dict[str, Any]:
        graph: dict[str, Any] = {"ends": list(self._ends), **limits}
        if unit == "edge":
            graph.pop("degree", None)
        columns = {name: {**self._column(name, self._kind), **self._declared} for name in self._ends} | self._time
        table = {"source": self._facts.path, "graph": graph, "columns": columns}
        tables: dict[str, Any] = {self._dataset: table}
        if self._file is not None:
            called = "nodes" if self._dataset != "nodes" else "node_list"
            path, header = self._file
            graph["nodes"] = called
            key = {"from": header, "kind": self._kind.value}
            tables[called] = {"source": path, "public": True, "key": "node", "columns": {"node": key}}
        return {"dataset": self._dataset, "unit": unit, "tables": tables}


QUESTIONS.add(
    "graph",
    Whole(
        graph_questions,
        GraphAnswers,
        "where a row joins two, as friends or as sender and receiver",
        "rows are edges. Which nodes there may be is public and declared; it is never read off the edges.",
    ),
)
