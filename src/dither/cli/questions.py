"""What a schema needs that only the owner can decide: all open questions of a file, in the order of a schema file.

A proposal says where it comes from: the declared type, the name of the column, or the data. One from the data is never
taken unless the owner confirms that it is public, because a schema is public and a look at rows is not paid for.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Protocol

from dither.cli.asked import DECIMAL, GRAPH, KINDS, NOWHERE, ROW, YES, Question, meant
from dither.cli.place_questions import PLACES, PlaceDecisions, place_questions
from dither.data.expressions import Kind
from dither.data.facts import FROM_DATA, FROM_NAME, FROM_TYPE, ColumnFacts, Facts, round_range
from dither.data.files import schema_from
from dither.data.hints import hint, id_candidates
from dither.errors import DitherError


def questions_of(facts: Facts, dataset: str) -> list[Question]:
    """Return all open questions, in the order of a schema file.

    Args:
        facts: what the rows show to their owner.
        dataset: what the data set will be called.

    """
    names = [one.name for one in facts.columns]
    likely = id_candidates(names)
    found = []
    if facts.decimal is not None:
        found.append(
            Question(
                DECIMAL,
                "numbers are written with a comma before their decimals, as in 3,14",
                "yes",
                FROM_DATA,
                "'y' if your numbers look so; 'n' if the comma is something else: such columns are text then",
            )
        )
    found += [
        Question(
            "privacy id",
            f"whose is a row? the name of a column; '{ROW}' where no person has several rows; or '{GRAPH}' where a row "
            "joins two, as friends or as sender and receiver",
            likely[0] if likely else "",
            FROM_NAME if likely else NOWHERE,
            "the column whose value is the same in all rows of one person, and another for everybody else",
        ),
        Question(
            "contribution.rows",
            "how many rows of one person count in an answer?",
            otherwise=f"take a guess now; 'dither limits {dataset} {dataset} --epsilon 0.1' finds it under privacy "
            "once the data set is added, and is paid for",
        ),
        *place_questions(facts),
    ]
    for one in facts.columns:
        found += _of_column(one, f"'dither bounds {dataset} {dataset} {one.name} --epsilon 0.1'")
    return found


def _of_column(one: ColumnFacts, paid: str) -> list[Question]:
    place = f"columns.{one.name}"
    found = []
    if one.origin != FROM_TYPE:
        otherwise = f"what its cells are: {KINDS}; 'n' leaves the whole column out"
        found.append(Question(f"{place}.kind", f"the kind of {one.name}", one.kind.value, one.origin, otherwise))
    if one.kind is Kind.TEXT and (one.values or hint(one.name).is_category):
        listed, origin = _listed(one.values), FROM_DATA if one.values else NOWHERE
        text = f"the categories of {one.name}, to group by, with commas between"
        found.append(Question(f"{place}.categories", text, listed, origin))
    elif one.kind not in (Kind.TEXT, Kind.BOOLEAN):
        proposal, origin = _bounds(one)
        text = f"the bounds of {one.name}, to add up: least, largest"
        otherwise = f"'n' declares no bounds; {paid} finds them privately, for a price" if one.kind.is_number else ""
        found.append(Question(f"{place}.bounds", text, proposal, origin, otherwise))
    if one.missing:
        text = f"rows in which {one.name} is missing form a separate group"
        otherwise = "'y' makes missing a value that may be published; 'n' leaves such rows out of groups and models"
        found.append(Question(f"{place}.nullable", text, "yes", FROM_DATA, otherwise))
    return found


def _bounds(one: ColumnFacts) -> tuple[str, str]:
    if one.kind.is_number:
        if hint(one.name).bounds:
            return hint(one.name).bounds.strip("[]"), FROM_NAME
        near = round_range(one.least, one.largest)
        return ("", NOWHERE) if near is None else (f"{near[0]}, {near[1]}", FROM_DATA)
    if isinstance(one.least, datetime.date) and isinstance(one.largest, datetime.date):
        first, last = f"{one.least.year:04}-01-01", f"{one.largest.year:04}-12-31"
        is_moment = one.kind is Kind.TIMESTAMP
        return (f"{first} 00:00:00, {last} 23:59:59" if is_moment else f"{first}, {last}"), FROM_DATA
    return "", NOWHERE


def _listed(values: tuple[str, ...]) -> str:
    """Return values with commas between, or nothing where they have commas of their own."""
    return "" if any("," in value or value != value.strip() for value in values) else ", ".join(values)


class Deciding(Protocol):
    """What takes answers to questions."""

    def leave_out(self, question: Question) -> str:
        """Decide that something is not declared; return why that cannot be, if it cannot."""

    def decide(self, question: Question, typed: str) -> str:
        """Take what was typed; return what is wrong with it, if anything is."""


class Answers:
    """What the owner has decided so far, as the tree of a schema."""

    def __init__(self, facts: Facts, dataset: str) -> None:
        self._facts = facts
        self._dataset = dataset
        self._person: str | None = None
        self._is_graph = False
        self._rows = 1
        self._columns: dict[str, dict[str, Any]] = {}
        for one in facts.columns:
            source = {"from": one.stored_name} if one.stored_name != one.name else {}
            self._columns[one.name] = {**source, "kind": one.kind.value}
        self._places = PlaceDecisions(facts, self._problem_of_places)

    @property
    def person(self) -> str | None:
        """The column that says whose a row is; None where every row is a person."""
        return self._person

    @property
    def is_graph(self) -> bool:
        """Whether the rows are edges: then other things are asked."""
        return self._is_graph

    def applies(self, question: Question) -> bool:
        """Return whether a question is still open, by what was decided before."""
        if question.place == "contribution.rows":
            return self._person is not None
        if _is_of_places(question):
            return self._places.applies(question, has_persons=self._person is not None)
        if not question.column:
            return True
        if question.column not in self._columns:
            return False
        what = question.place.rpartition(".")[2]
        if what == "kind":
            return True
        if question.column == self._person or (what == "bounds" and question.column in self._places.positions):
            return False
        declared = self._columns[question.column]
        kind = Kind(declared["kind"])
        if what == "nullable":
            return kind is Kind.BOOLEAN or "categories" in declared or "bounds" in declared
        return kind not in (Kind.TEXT, Kind.BOOLEAN) if what == "bounds" else kind is Kind.TEXT

    def leave_out(self, question: Question) -> str:
        """Decide that something is not declared; return why that cannot be, if it cannot."""
        if question.place == DECIMAL:
            self._facts.read_with(None)
            return ""
        if _is_of_places(question):
            return self._places.leave_out(question)
        if not question.column:
            return "this one must be decided"
        if question.place.endswith(".kind"):
            if question.column == self._person:
                return "the column that identifies people is required"
            if question.column in self._places.columns:
                return "a column of positions, times or trips is required"
            del self._columns[question.column]
        return ""

    def decide(self, question: Question, typed: str) -> str:
        """Take what was typed; return what is wrong with it, if anything is."""
        if question.place == DECIMAL:
            return "" if typed.lower() in YES else "not 'y' or 'n'"
        if question.place == "privacy id":
            column = meant(self._facts, typed)
            self._is_graph = typed == GRAPH and column is None
            if self._is_graph:
                return ""
            if typed != ROW and column is None:
                return f"not a column; there are {', '.join(self._columns)}, or '{ROW}', or '{GRAPH}'"
            self._person = None if typed == ROW else column
            return ""
        if question.place == "contribution.rows":
            if not (typed.isascii() and typed.isdecimal() and int(typed) > 0):
                return "not an integer from 1"
            self._rows = int(typed)
            return ""
        if _is_of_places(question):
            return self._places.decide(question, typed)
        name, what = question.column, question.place.rpartition(".")[2]
        if what == "nullable":
            if typed.lower() not in YES:
                return "not 'y' or 'n'"
            self._columns[name] = {**self._columns[name], what: True}
            return ""
        words = [word.strip() for word in typed.strip("[]").split(",")]
        if what == "bounds" and len(words) != 2:
            return "not two values with a comma between"
        before = self._columns[name]
        self._columns[name] = {**before, what: typed if what == "kind" else [_plain(word, before) for word in words]}
        beside = self._places.columns if name in self._places.columns else ()
        problem = self._problem([self._person or name, name, *beside], self._places.tree if beside else {})
        if problem:
            self._columns[name] = before
        return problem

    def _problem_of_places(self, places: Mapping[str, Any]) -> str:
        named = [*places.get("at", ()), *places.get("to", ()), *(places.get(name) for name in ("trip", "time"))]
        return self._problem([self._person or "", *(name for name in named if name)], places)

    def _problem(self, names: list[str], places: Mapping[str, Any]) -> str:
        """Return what is wrong with some columns and places as they are decided by now."""
        try:
            schema_from(self._tree(names, places))
        except DitherError as problem:
            return str(problem)
        return ""

    def tree(self) -> Mapping[str, Any]:
        """Return the whole schema."""
        return self._tree(list(self._columns), self._places.tree)

    def _tree(self, names: list[str], places: Mapping[str, Any]) -> dict[str, Any]:
        table: dict[str, Any] = {"source": self._facts.path}
        if places:
            table["places"] = dict(places)
        if self._facts.decimal is not None:
            table["decimal"] = self._facts.decimal
        tree: dict[str, Any] = {"dataset": self._dataset, "unit": "row"}
        if self._person is not None:
            table["privacy id"] = self._person
            tree |= {"unit": "person", "contribution": {"rows": self._rows}}
        table["columns"] = {name: self._columns[name] for name in self._columns if name in names}
        return {**tree, "tables": {self._dataset: table}}


def _is_of_places(question: Question) -> bool:
    return question.place.startswith(f"{PLACES}.")


def _plain(word: str, column: Mapping[str, Any]) -> Any:
    """Return a typed word as a schema has it."""
    kind = Kind(column["kind"])
    if not kind.is_number:
        return word
    for read in (int, float):
        try:
            return read(word)
        except ValueError:
            continue
    return word
