"""What a schema needs that only the owner can decide: all open questions of a file, in the order of a schema file.

A proposal says where it comes from: the declared type, the name of the column, or the data. One from the data is never
taken unless the owner confirms that it is public, because a schema is public and a look at rows is not paid for.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from functools import partial
from typing import Any

from dither.cli.kind_questions import PartAnswers, Whole, parts, wholes
from dither.cli.prompts import DECIMAL, KINDS, NOWHERE, ROW, YES, Question, meant
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
            f"whose is a row? the name of a column; '{ROW}' where no person has several rows"
            + "".join(f"; or '{kind}' {whole.choice}" for kind, whole in wholes().items()),
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
        *(question for part in parts().values() for question in part.questions(facts)),
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


class Answers:
    """What the owner has decided so far, as the tree of a schema."""

    def __init__(self, facts: Facts, dataset: str) -> None:
        self._facts = facts
        self._dataset = dataset
        self._person: str | None = None
        self._whole: Whole | None = None
        self._rows = 1
        self._columns: dict[str, dict[str, Any]] = {}
        for one in facts.columns:
            source = {"from": one.stored_name} if one.stored_name != one.name else {}
            self._columns[one.name] = {**source, "kind": one.kind.value}
        self._asked = parts()
        self._parts = {
            kind: part.answers(facts, partial(self._problem_of_part, kind)) for kind, part in self._asked.items()
        }

    @property
    def person(self) -> str | None:
        """The column that says whose a row is; None where every row is a person."""
        return self._person

    @property
    def whole(self) -> Whole | None:
        """The kind that all rows are of, if they are: then other things are asked."""
        return self._whole

    def applies(self, question: Question) -> bool:
        """Return whether a question is still open, by what was decided before."""
        if question.place == "contribution.rows":
            return self._person is not None
        if part := self._part(question):
            return part.applies(question, has_persons=self._person is not None)
        if not question.column:
            return True
        if question.column not in self._columns:
            return False
        what = question.place.rpartition(".")[2]
        if what == "kind":
            return True
        unbounded = [name for part in self._parts.values() for name in part.unbounded]
        if question.column == self._person or (what == "bounds" and question.column in unbounded):
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
        if part := self._part(question):
            return part.leave_out(question)
        if not question.column:
            return "this one must be decided"
        if question.place.endswith(".kind"):
            if question.column == self._person:
                return "the column that identifies people is required"
            for kind in self._naming(question.column):
                return f"{self._asked[kind].why_needed} is required"
            del self._columns[question.column]
        return ""

    def decide(self, question: Question, typed: str) -> str:
        """Take what was typed; return what is wrong with it, if anything is."""
        if question.place == DECIMAL:
            return "" if typed.lower() in YES else "not 'y' or 'n'"
        if question.place == "privacy id":
            column = meant(self._facts, typed)
            self._whole = wholes().get(typed) if column is None else None
            if self._whole is not None:
                return ""
            if typed != ROW and column is None:
                kinds = "".join(f", or '{kind}'" for kind in wholes())
                return f"not a column; there are {', '.join(self._columns)}, or '{ROW}'{kinds}"
            self._person = None if typed == ROW else column
            return ""
        if question.place == "contribution.rows":
            if not (typed.isascii() and typed.isdecimal() and int(typed) > 0):
                return "not an integer from 1"
            self._rows = int(typed)
            return ""
        if part := self._part(question):
            return part.decide(question, typed)
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
        beside = self._naming(name)
        others = [other for kind in beside for other in self._parts[kind].columns]
        problem = self._problem(
            [self._person or name, name, *others], {kind: self._parts[kind].tree for kind in beside}
        )
        if problem:
            self._columns[name] = before
        return problem

    def _part(self, question: Question) -> PartAnswers | None:
        """Return what takes the answer, where a question is about a kind of data."""
        return self._parts.get(question.place.partition(".")[0])

    def _naming(self, column: str) -> list[str]:
        """Return the kinds of data of which a column is a part by now."""
        return [kind for kind, part in self._parts.items() if column in part.columns]

    def _problem_of_part(self, kind: str, tree: Mapping[str, Any]) -> str:
        return self._problem([self._person or "", *self._parts[kind].columns], {kind: tree})

    def _problem(self, names: list[str], kinds: Mapping[str, Mapping[str, Any]]) -> str:
        """Return what is wrong with some columns and kinds of data as they are decided by now."""
        try:
            schema_from(self._tree(names, kinds))
        except DitherError as problem:
            return str(problem)
        return ""

    def tree(self) -> Mapping[str, Any]:
        """Return the whole schema."""
        return self._tree(list(self._columns), {kind: part.tree for kind, part in self._parts.items()})

    def _tree(self, names: list[str], kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        table: dict[str, Any] = {"source": self._facts.path}
        table |= {kind: dict(tree) for kind, tree in kinds.items() if tree}
        if self._facts.decimal is not None:
            table["decimal"] = self._facts.decimal
        tree: dict[str, Any] = {"dataset": self._dataset, "unit": "row"}
        if self._person is not None:
            table["privacy id"] = self._person
            tree |= {"unit": "person", "contribution": {"rows": self._rows}}
        table["columns"] = {name: self._columns[name] for name in self._columns if name in names}
        return {**tree, "tables": {self._dataset: table}}


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
