"""The declaration of each column while the wizard runs: proposals, what the owner typed, and what is in force.

A proposal is in force where it follows from a declared type or from the name of the column. One that was read from the
rows is marked, and enters the schema only after the owner has named the number of its column. Without that the cells of
a CSV file are text, which is true of every cell and says nothing about the rows.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from dither.data.expressions import Kind
from dither.data.facts import FROM_DATA, FROM_NAME, ColumnFacts, round_range
from dither.data.hints import hint, id_candidates

#: A number as people write it, with a sign of a currency or a unit; no code such as 01067.
_AMOUNT: Final = re.compile(r"\W{0,2}(?!0[0-9])[0-9][0-9.,' ]*\s*(%|\W|[A-Za-z]{1,3})?")


class Columns(Protocol):
    """The columns of a file: with what the rows show, or without."""

    path: str

    @property
    def read(self) -> Mapping[str, str]:
        """The sheet, delimiter and decimal sign that a schema declares for the file."""

    @property
    def columns(self) -> tuple[ColumnFacts, ...]:
        """The columns in the order of the file."""

    @property
    def decimal(self) -> str | None:
        """The sign before the decimals of numbers; None for a point."""


@dataclass(frozen=True)
class Limits:
    """A range or categories: what makes a column fit for sums or groups.

    Args:
        ends: the least and the largest value, as they are typed.
        values: the categories.
        origin: where a proposal comes from.

    """

    ends: tuple[str, str] | None = None
    values: tuple[str, ...] = ()
    origin: str = ""

    @property
    def is_read(self) -> bool:
        """Whether the rows say it, and not a name or the owner."""
        return self.origin == FROM_DATA


@dataclass(frozen=True)
class Choice:
    """What the owner has decided about one column.

    Args:
        is_out: whether it is not declared at all.
        kind: that was typed or taken; None where nothing was.
        limits: that were typed or taken; None where nothing was.
        form: how cells write numbers or days, where that was typed or taken.
        nullable: whether rows without a value are a group.
        is_bare: whether the kind alone is declared, whatever is proposed.
        is_named: whether its number was typed.

    """

    is_out: bool = False
    kind: Kind | None = None
    limits: Limits | None = None
    form: tuple[str, ...] = ()
    nullable: bool = False
    is_bare: bool = False
    is_named: bool = False


def proposed_limits(one: ColumnFacts) -> Limits | None:
    """Return the range or the categories to propose; None where nothing is.

    An amount is never proposed as something to group by, even where its cells are text such as '15 %'; and more
    values than can be listed are not proposed.
    """
    if one.kind is Kind.TEXT:
        return Limits(values=one.values, origin=FROM_DATA) if one.values and not is_amount(one) else None
    if one.kind.is_number:
        if hint(one.name).bounds:
            least, largest = hint(one.name).bounds.strip("[]").split(",")
            return Limits((least.strip(), largest.strip()), origin=FROM_NAME)
        near = round_range(one.least, one.largest)
        return None if near is None else Limits((str(near[0]), str(near[1])), origin=FROM_DATA)
    if isinstance(one.least, datetime.date) and isinstance(one.largest, datetime.date):
        first, last = f"{one.least.year:04}-01-01", f"{one.largest.year:04}-12-31"
        if one.kind is Kind.TIMESTAMP:
            first, last = f"{first} 00:00:00", f"{last} 23:59:59"
        return Limits((first, last), origin=FROM_DATA)
    return None


def is_amount(one: ColumnFacts) -> bool:
    """Return whether a column of strings holds numbers by its name, or in most of its few values."""
    expected = hint(one.name).kind
    numbers = sum(bool(_AMOUNT.fullmatch(value)) for value in one.values)
    return expected not in (None, Kind.TEXT) or 2 * numbers > len(one.values)


@dataclass(frozen=True)
class Standing:
    """One column as it is by now: its proposals, and what is in force.

    Args:
        facts: what the file shows of it.
        choice: what the owner has decided.
        is_person: whether its name is that of what identifies people; it gets no range and no categories then.

    """

    facts: ColumnFacts
    choice: Choice
    is_person: bool = False

    @property
    def default_kind(self) -> Kind:
        """The kind where the owner decides nothing."""
        return Kind.TEXT if self.facts.origin == FROM_DATA else self.facts.kind

    @property
    def kind(self) -> Kind:
        """The kind that is in force."""
        return self.choice.kind or self.default_kind

    @property
    def shown_kind(self) -> Kind:
        """The kind on the screen: that of a proposal if it is not decided."""
        return self.choice.kind or (self.default_kind if self.is_person else self.facts.kind)

    @property
    def is_kind_open(self) -> bool:
        """Whether the kind on the screen was read from the rows and is not taken."""
        return self.choice.kind is None and self.shown_kind is not self.default_kind

    @property
    def shown_form(self) -> tuple[str, ...]:
        """How the cells write their values, as it is proposed or decided."""
        is_proposed = not self.choice.form and self.shown_kind is self.facts.kind and not self.is_person
        return self.facts.form if is_proposed else self.choice.form

    @property
    def form(self) -> tuple[str, ...]:
        """The form that is in force: one that was read from the rows goes with its kind."""
        return self.shown_form if self.choice.kind is not None else ()

    @property
    def shown_limits(self) -> Limits | None:
        """The range or categories on the screen, proposed or decided."""
        if self.choice.limits is not None or self.choice.is_bare or self.is_person:
            return self.choice.limits
        return proposed_limits(self.facts) if self.shown_kind is self.facts.kind else None

    @property
    def are_limits_open(self) -> bool:
        """Whether the range or the categories on the screen were read from the rows and are not taken."""
        shown = self.shown_limits
        return self.choice.limits is None and shown is not None and shown.is_read

    @property
    def limits(self) -> Limits | None:
        """The range or categories that are in force."""
        return None if self.are_limits_open or self.is_kind_open else self.shown_limits

    @property
    def is_missing_open(self) -> bool:
        """Whether rows without a value could be a group beside the others, which the rows say."""
        if self.choice.nullable or not self.facts.missing or not self.facts.rows:
            return False
        shown = self.shown_limits
        return self.shown_kind is Kind.BOOLEAN or bool(shown is not None and shown.values)

    @property
    def is_marked(self) -> bool:
        """Whether something on the screen was read from the rows and is not taken."""
        return not self.choice.is_out and (self.is_kind_open or self.are_limits_open or self.is_missing_open)

    def taken(self) -> Choice:
        """Return the decision that takes all that is proposed, because the owner says that it is public."""
        limits = self.shown_limits
        return replace(
            self.choice,
            is_out=False,
            kind=self.shown_kind,
            limits=None if limits is None else replace(limits, origin=""),
            form=self.shown_form,
            nullable=self.choice.nullable or self.is_missing_open,
            is_named=True,
        )

    def tree(self) -> dict[str, Any]:
        """Return the column as a schema has it."""
        one, limits = self.facts, self.limits
        found: dict[str, Any] = {"from": one.stored_name} if one.stored_name != one.name else {}
        found["kind"] = self.kind.value
        if self.form:
            found["form"] = list(self.form) if len(self.form) > 1 else self.form[0]
        if limits is not None and limits.ends is not None:
            found["bounds"] = [_plain(end, self.kind) for end in limits.ends]
        elif limits is not None and limits.values:
            found["categories"] = list(limits.values)
        if self.choice.nullable:
            found["nullable"] = True
        return found


class Choices:
    """What is decided about all columns, with all that was decided before.

    Args:
        facts: the columns.
        is_bare: whether nothing is proposed.

    """

    def __init__(self, facts: Columns, *, is_bare: bool = False) -> None:
        self.facts = facts
        self._likely = tuple(id_candidates([one.name for one in facts.columns])[:1])
        self._choices: dict[str, Choice] = {one.name: Choice(is_bare=is_bare) for one in facts.columns}
        self._before: list[dict[str, Choice]] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order of their numbers."""
        return tuple(self._choices)

    def __getitem__(self, name: str) -> Standing:
        one = next(one for one in self.facts.columns if one.name == name)
        if self.facts.decimal is not None and one.kind is Kind.REAL:
            # That cells are numbers follows from the decimal sign, which was read from the rows.
            one = replace(one, origin=FROM_DATA)
        return Standing(one, self._choices[name], name in self._likely)

    def __iter__(self) -> Iterator[Standing]:
        return iter([self[name] for name in self.names])

    def number(self, name: str) -> int:
        """Return the number of a column on the screen."""
        return self.names.index(name) + 1

    def change(self, changes: Mapping[str, Choice]) -> None:
        """Decide about some columns; one ``undo`` takes it back."""
        self._before.append(dict(self._choices))
        self._choices |= changes

    def undo(self) -> list[str] | None:
        """Take back the last change, and return the columns that it was about; None where nothing was changed."""
        if not self._before:
            return None
        later, self._choices = self._choices, self._before.pop()
        return [name for name in self.names if later[name] != self._choices[name]]

    def settle(self) -> None:
        """Let ``undo`` begin here."""
        self._before.clear()

    @property
    def declared(self) -> tuple[str, ...]:
        """The columns that are not out."""
        return tuple(one.facts.name for one in self if not one.choice.is_out)

    @property
    def marked(self) -> tuple[str, ...]:
        """The columns with a proposal that was read from the rows and is not taken."""
        return tuple(one.facts.name for one in self if one.is_marked)

    @property
    def needs_decimal(self) -> bool:
        """Whether a column was taken whose numbers are read with the decimal sign that the rows show."""
        return any(one.choice.kind is Kind.REAL and not one.choice.is_out for one in self)


def kind_of_range(name: str, ends: tuple[str, str]) -> Kind:
    """Return the kind of a column that only its range is known of.

    >>> kind_of_range("price", ("0", "5")), kind_of_range("age", ("0", "99")), kind_of_range("x", ("a", "b"))
    (<Kind.REAL: 'real'>, <Kind.INTEGER: 'integer'>, <Kind.REAL: 'real'>)
    >>> kind_of_range("day", ("2024-01-01", "2024-12-31"))
    <Kind.DATE: 'date'>
    """
    if all(_is_day(end) for end in ends):
        return Kind.DATE
    if all(_is_moment(end) for end in ends):
        return Kind.TIMESTAMP
    is_whole = hint(name).kind is Kind.INTEGER and all(isinstance(_plain(end, Kind.INTEGER), int) for end in ends)
    return Kind.INTEGER if is_whole else Kind.REAL


def range_problem(kind: Kind, ends: tuple[str, str]) -> str:
    """Return what is wrong with a range of columns of a kind; empty if nothing is.

    >>> range_problem(Kind.INTEGER, ("9", "1"))
    'a range begins with its least value: write 1..9'
    >>> range_problem(Kind.DATE, ("1", "9"))
    'a range of a date is written as 2020-01-01..2024-12-31'
    """
    examples: Mapping[Kind, tuple[Callable[[str], Any], str, str]] = {
        Kind.INTEGER: (int, "an integer", "0..500"),
        Kind.REAL: (float, "a real", "0..99.5"),
        Kind.DATE: (datetime.date.fromisoformat, "a date", "2020-01-01..2024-12-31"),
        Kind.TIMESTAMP: (
            datetime.datetime.fromisoformat, "a timestamp", "2020-01-01 00:00:00..2024-12-31 23:59:59",
        ),
    }  # fmt: skip
    if kind not in examples:
        return f"{kind.value} has no range; only numbers, dates and timestamps do"
    read, called, example = examples[kind]
    try:
        least, largest = (read(end) for end in ends)
    except ValueError:
        return f"a range of {called} is written as {example}"
    if least > largest:
        return f"a range begins with its least value: write {ends[1]}..{ends[0]}"
    return ""


def _is_day(text: str) -> bool:
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return "-" in text


def _is_moment(text: str) -> bool:
    try:
        datetime.datetime.fromisoformat(text)
    except ValueError:
        return False
    return "-" in text


def _plain(word: str, kind: Kind) -> Any:
    """Return a typed value as a schema has it."""
    if not kind.is_number:
        return word
    for read in (int, float):
        try:
            return read(word)
        except ValueError:
            continue
    return word
