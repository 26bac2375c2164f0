"""The questions that follow the columns: the person of a row, rows and groups a person, and the kinds of data.

A proposal says where it comes from. One that was read from the rows is never taken unless the owner confirms that it is
public, because a schema is public and reading rows for it is not paid for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from dither.cli.column_choices import Choices
from dither.cli.column_outline import Outline
from dither.cli.kind_questions import PartAnswers, Whole, parts, wholes
from dither.cli.prompts import NOWHERE, ROW, Question, meant
from dither.data.expressions import Kind
from dither.data.facts import FROM_NAME, Facts
from dither.data.files import schema_from
from dither.data.hints import id_candidates
from dither.errors import DitherError

PERSON: Final = "privacy id"
ROWS, GROUPS = "contribution.rows", "contribution.groups"
#: In how many groups of an answer one person counts, unless the owner types another number.
USUAL_GROUPS: Final = 1


def questions_of(facts: Facts, dataset: str) -> list[Question]:
    """Return the questions that follow the columns, in the order of a schema file.

    Args:
        facts: what the rows show to their owner.
        dataset: what the data set will be called.

    """
    names = [one.name for one in facts.columns]
    likely = id_candidates(names)
    return [
        Question(
            PERSON,
            f"Which column identifies the person of a row? Its name or number, or '{ROW}' if no person has several rows"
            + "".join(f"; or '{kind}' {whole.choice}" for kind, whole in wholes().items()),
            likely[0] if likely else "",
            FROM_NAME if likely else NOWHERE,
            "the column whose value is the same in all rows of one person, and different for everyone else",
        ),
        Question(
            ROWS,
            "At most how many rows of one person count in an answer?",
            otherwise="more rows need more noise; fewer drop rows of people who have many. Enter a guess now: "
            f"'dither limits {dataset} {dataset} --epsilon 0.1' measures it privately, for a charge",
        ),
        Question(
            GROUPS,
            "In at most how many groups of an answer does one person count?",
            str(USUAL_GROUPS),
            "the defaults",
            "with 1, groups that are not listed are shown from the fewest people, and a person who is in several "
            "groups counts in one of them. Use the number of groups that people really share, such as 12 for months",
        ),
        *(question for part in parts().values() for question in part.questions(facts)),
    ]


class Answers:
    """What the owner has decided so far, as the tree of a schema.

    Args:
        facts: the columns.
        dataset: what the data set will be called.
        choices: what is decided about the columns.

    """

    def __init__(self, facts: Facts | Outline, dataset: str, choices: Choices) -> None:
        self._facts = facts
        self._dataset = dataset
        self.choices = choices
        #: The column that says whose a row is; None where every row is a person.
        self.person: str | None = None
        self.is_person_decided = False
        #: The kind that all rows are of, if they are: then other questions follow.
        self.whole: Whole | None = None
        self.rows: int | None = None
        self.groups: int | None = None
        self._parts: dict[str, PartAnswers] = (
            {kind: part.answers(facts, partial(self._problem_of_part, kind)) for kind, part in parts().items()}
            if isinstance(facts, Facts)
            else {}
        )

    @property
    def has_parts(self) -> bool:
        """Whether a kind of data is a part of the table."""
        return any(part.tree for part in self._parts.values())

    def applies(self, question: Question) -> bool:
        """Return whether a question is still open, by what was decided before."""
        if question.place == PERSON:
            return not self.is_person_decided
        if question.place == ROWS:
            return self.person is not None and self.rows is None
        if question.place == GROUPS:
            return self.person is not None and self.groups is None and self.rows != 1
        part = self._part(question)
        return part is None or part.applies(question, has_persons=self.person is not None)

    def leave_out(self, question: Question) -> str:
        """Decide that something is not declared; return why that cannot be, if it cannot."""
        part = self._part(question)
        return "this one must be decided" if part is None else part.leave_out(question)

    def decide(self, question: Question, typed: str) -> str:
        """Take what was typed; return what is wrong with it, if anything is."""
        if question.place == PERSON:
            return self.decide_person(typed)
        if question.place in (ROWS, GROUPS):
            if not (typed.isascii() and typed.isdecimal() and 0 < int(typed[:12]) <= 2**31):
                return f"not an integer from 1: type a number, such as {10 if question.place == ROWS else 1}"
            setattr(self, "rows" if question.place == ROWS else "groups", int(typed))
            return ""
        part = self._part(question)
        if part is None:
            return "this is not a question"
        problem = part.decide(question, typed)
        self._declare(part.columns)
        opened = [name for name in part.columns if self.choices[name].is_kind_open and name not in part.unbounded]
        if problem and opened:
            numbers = " ".join(str(self.choices.number(name)) for name in opened)
            problem += f"; the kind of {', '.join(opened)} was read from your rows: type 'public {numbers}' to take it"
        return problem

    def decide_person(self, typed: str) -> str:
        """Take the column that identifies people, or the word for rows or for a kind of data."""
        numbered = typed.isascii() and typed.isdecimal() and 0 < int(typed[:9]) <= len(self.choices.names)
        column = meant(self._facts, typed) or (self.choices.names[int(typed) - 1] if numbered else None)
        self.whole = wholes().get(typed) if column is None else None
        if self.whole is not None:
            return ""
        if typed != ROW and column is None:
            kinds = "".join(f", or '{kind}'" for kind in wholes())
            return f"not a column; there are {', '.join(self.choices.names)}, or '{ROW}'{kinds}"
        self.person, self.is_person_decided = column, True
        if column is not None:
            self._declare([column])
        return ""

    def _declare(self, names: tuple[str, ...] | list[str]) -> None:
        """Put back columns that are needed."""
        needed = [name for name in names if self.choices[name].choice.is_out]
        if needed:
            self.choices.change({name: replace(self.choices[name].choice, is_out=False) for name in needed})

    def _part(self, question: Question) -> PartAnswers | None:
        """Return what takes the answer, where a question is about a kind of data."""
        return self._parts.get(question.place.partition(".")[0])

    def _problem_of_part(self, kind: str, tree: Mapping[str, Any]) -> str:
        """Return what is wrong with some columns and one kind of data as they are decided by now."""
        names = [self.person or "", *self._parts[kind].columns]
        try:
            schema_from(self._tree(names, {kind: tree}))
        except DitherError as problem:
            return str(problem)
        return ""

    def tree(self) -> Mapping[str, Any]:
        """Return the whole schema."""
        return self._tree(self.choices.declared, {kind: part.tree for kind, part in self._parts.items()})

    def _tree(self, names: tuple[str, ...] | list[str], kinds: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        table: dict[str, Any] = {"source": self._facts.path, **self._facts.read}
        table |= {kind: dict(tree) for kind, tree in kinds.items() if tree}
        if self._facts.decimal is not None and self.choices.needs_decimal:
            table["decimal"] = self._facts.decimal
        tree: dict[str, Any] = {"dataset": self._dataset, "unit": "row"}
        if self.person is not None:
            table["privacy id"] = self.person
            limits = {"rows": self.rows or 1} | ({} if self.groups is None else {"groups": self.groups})
            tree |= {"unit": "person", "contribution": limits}
        table["columns"] = {name: self._column(name) for name in self.choices.names if name in names}
        return {**tree, "tables": {self._dataset: table}}

    def _column(self, name: str) -> dict[str, Any]:
        one = self.choices[name]
        found = one.tree()
        if name == self.person:
            return {key: value for key, value in found.items() if key in ("from", "kind")}
        if any(name in part.unbounded for part in self._parts.values()):
            # A position is a number, and the box bounds it.
            if one.choice.kind is None and not one.kind.is_number:
                found["kind"] = Kind.REAL.value
            if one.choice.limits is None:
                found.pop("bounds", None)
        return found
