"""The commands of the wizard's screen: columns are changed by their numbers, several by a range of numbers.

A command that is not understood changes nothing: its problem is one line that states the rule.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dither.cli.column_choices import Choice, Choices, Limits, Standing, kind_of_range, range_problem
from dither.cli.prompts import DECIMAL_COMMA, DECIMAL_POINT, HELP, KINDS, meant
from dither.data.cell_forms import ISO
from dither.data.expressions import Kind
from dither.data.files import schema_from
from dither.data.hints import hint
from dither.errors import DitherError

OUT, IN, RANGE, CATEGORIES, KIND, FORM, MISSING = "out", "in", "range", "categories", "kind", "form", "missing"
#: What may stand behind numbers.
ACTIONS: Final = (RANGE, CATEGORIES, KIND, FORM, MISSING, OUT, IN)
_AFTER_NUMBERS: Final = (
    "type range, categories, kind, form, missing, out or in after the numbers; 'help' shows examples"
)
_NUMBERS: Final = re.compile(r"\s*([0-9]{1,6}(?:\s*-\s*[0-9]{1,6})?)(?=[\s,]|$)[\s,]*")
#: A value in quotes, which are doubled within it, or one without.
_VALUE: Final = re.compile(r'\s*(?:"((?:[^"]|"")*)"\s*(?=,|$)|([^,]*))(?:,|$)')
_MOST_CATEGORIES: Final = 10_000
EXAMPLES: Final = (
    ("3", "show all about column 3"),
    ("3 range 0..500", "declare its range; also 2020-01-01..2024-12-31, or -5.5..10"),
    ('3 categories north, south, "a, b"', "declare the values to group by"),
    ("3 kind integer", f"declare its kind alone: {KINDS}"),
    ("3 form DD.MM.YYYY", "declare how its cells write numbers or days; also 'form 15 %' or 'form 1.234,56 €'"),
    ("3 missing", "rows without a value form a group"),
    ("public 3 5", "take what was read from your rows for columns 3 and 5: you state that it is public"),
    ("4-9 out", "do not declare columns 4 to 9; '4 in' puts one back"),
    ("all others out", "keep only the columns that you named by number, and the one that identifies a person"),
    ("undo", "take back the last change"),
    (DECIMAL_COMMA, f"read 3,14 as a number; '{DECIMAL_POINT}' reads 3.14"),
    ("show", "show all columns again"),
    ("(Enter)", "continue; starred proposals are not taken"),
)


class NotUnderstoodError(Exception):
    """A command that cannot be done: its text is the rule, in one line."""


@dataclass(frozen=True)
class Done:
    """What a line did.

    Args:
        changed: the columns to show again.
        notes: lines to print.
        shows_all: whether the whole screen is to be shown again.
        details: the columns to describe.

    """

    changed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    shows_all: bool = False
    details: tuple[str, ...] = ()


def split_values(text: str) -> tuple[str, ...]:
    """Return values with commas between; one that holds a comma has quotes.

    >>> split_values('north, "a, b",  x ')
    ('north', 'a, b', 'x')
    >>> split_values('" b ",c')
    (' b ', 'c')
    """
    found = [quoted.replace('""', '"') if quoted else plain.strip() for quoted, plain in _VALUE.findall(text)]
    return tuple(value for value in found if value.strip())


def join_values(values: Sequence[str]) -> str:
    """Return values as ``split_values`` reads them.

    >>> join_values(("north", "a, b", " c"))
    'north,"a, b"," c"'
    """
    if not any(value != value.strip() or set(value) & set(',"\n\r') for value in values):
        return ",".join(values)
    return ",".join(
        '"' + value.replace('"', '""') + '"' if value != value.strip() or set(value) & set(',"\n\r') else value
        for value in values
    )


def split_range(text: str) -> tuple[str, str]:
    """Return the two ends of a range.

    >>> split_range("-5..10"), split_range("2020-01-01 to 2021-01-01"), split_range("0, 5")
    (('-5', '10'), ('2020-01-01', '2021-01-01'), ('0', '5'))
    """
    for between in (r"\.\.\.?", r"\s+to\s+", ","):
        ends = [end.strip() for end in re.split(between, text.strip().strip("[]"))]
        if len(ends) == 2 and all(ends):
            return ends[0], ends[1]
    raise NotUnderstoodError("a range is its least and its largest value with two points between, as 0..500")


def take(line: str, choices: Choices) -> Done:
    """Do what a line says, all of it or nothing.

    Args:
        line: one command, or several with semicolons between.
        choices: what is decided about the columns; changed here.

    """
    done = [_take_one(one, choices) for one in [line]] if ";" not in line else _take_several(line, choices)
    return Done(
        tuple(dict.fromkeys(name for one in done for name in one.changed)),
        tuple(note for one in done for note in one.notes),
        any(one.shows_all for one in done),
        tuple(name for one in done for name in one.details),
    )


def _take_several(line: str, choices: Choices) -> list[Done]:
    parts = [part.strip() for part in re.findall(r'(?:[^;"]|"[^"]*")+', line)]
    done: list[Done] = []
    for part in filter(None, parts):
        try:
            done.append(_take_one(part, choices))
        except NotUnderstoodError as problem:
            before = "" if not done else " (the commands before it were done)"
            raise NotUnderstoodError(f"{part}: {problem}{before}") from None
    return done


def _take_one(line: str, choices: Choices) -> Done:
    line = line.strip()
    first, _, rest = line.partition(" ")
    rest = rest.strip()
    if first.lower() in HELP:
        if rest:
            return Done(details=tuple(_numbered(rest, choices)[0]))
        return Done(notes=tuple(f"  {typed:36} {what}" for typed, what in EXAMPLES))
    if line.lower() in ("show", "columns"):
        return Done(shows_all=True)
    if first.lower() == "undo":
        if rest:
            raise NotUnderstoodError("nothing may follow undo: it takes back the last change")
        undone = choices.undo()
        if undone is None:
            raise NotUnderstoodError("nothing was changed yet")
        return Done(tuple(undone))
    if first.lower() == "public":
        return _take_public(rest, choices)
    if re.fullmatch(r"(all\s+)?others\s+out", line, re.IGNORECASE):
        return _others_out(choices)
    if first.lower() == "all":
        raise NotUnderstoodError("'all' is only followed by 'others out'; else type numbers, as in '4-9 out'")
    names, after = _numbered(line, choices)
    if not after:
        return Done(details=tuple(names))
    action, _, said = after.partition(" ")
    return _change(names, action.lower(), said.strip(), choices)


def _numbered(line: str, choices: Choices) -> tuple[list[str], str]:
    """Return the columns whose numbers, or one name, a line begins with, and the rest of it."""
    found: list[int] = []
    rest = line
    while match := _NUMBERS.match(rest):
        least, _, largest = (part.strip() for part in match[1].partition("-"))
        numbers = range(int(least), int(largest or least) + 1)
        if not numbers:
            raise NotUnderstoodError(f"{match[1]} is no range of columns: write {largest}-{least}")
        many = len(choices.names)
        if numbers[0] < 1 or numbers[-1] > many:
            wrong = numbers[-1] if numbers[-1] > many else numbers[0]
            raise NotUnderstoodError(f"there is no column {wrong}: columns have the numbers 1 to {many}")
        for number in numbers:
            if number in found:
                raise NotUnderstoodError(f"column {number} is named twice: name each column once")
            found.append(number)
        rest = rest[match.end() :]
    if found:
        return [choices.names[number - 1] for number in found], rest.strip()
    return _named(line, choices)


def _named(line: str, choices: Choices) -> tuple[list[str], str]:
    """Return the column whose name a line begins with, and the rest of it."""
    words = line.split(" ")
    for many in range(len(words), 0, -1):
        name = meant(choices.facts, " ".join(words[:many]))
        if name is not None:
            return [name], " ".join(words[many:]).strip()
    known = ("public", "undo", "show", "help")
    near = difflib.get_close_matches(words[0].lower(), [*known, *(name.lower() for name in choices.names)], 1)
    meant_it = f"did you mean '{near[0]}'? " if near and near[0] != words[0].lower() else ""
    raise NotUnderstoodError(f"{meant_it}a command begins with a number of a column or is public, undo, show or help")


def _take_public(rest: str, choices: Choices) -> Done:
    words = rest.replace(",", " ").split()
    if not words:
        raise NotUnderstoodError("public needs the numbers of the columns, as in 'public 3 5'")
    if not all(word.isascii() and word.isdecimal() for word in words):
        rule = "public takes single numbers, as in 'public 3 5': each one states that what was read is public"
        raise NotUnderstoodError(rule)
    names, _ = _numbered(" ".join(words), choices)
    changes = {}
    for name in names:
        one = choices[name]
        if not one.is_marked:
            number = choices.number(name)
            raise NotUnderstoodError(f"column {number} ({name}) {_why_nothing(one, number)}")
        changes[name] = one.taken()
    return _checked(changes, choices)


def _why_nothing(one: Standing, number: int) -> str:
    """Return why a column has nothing that ``public`` could take."""
    if one.choice.is_out:
        return f"is out: type '{number} in' first"
    if one.kind is Kind.TEXT and one.shown_limits is None and one.facts.distinct:
        return (
            f"proposes no categories: {too_many(one)}; type '{number} categories a, b' with values that anyone may know"
        )
    return "has nothing that was read from the rows and not taken"


def too_many(one: Standing) -> str:
    """Return why no categories are proposed for a column."""
    if one.facts.values:
        return "its name or its values are those of an amount"
    return f"{one.facts.distinct:,} different values are too many to list"


def _others_out(choices: Choices) -> Done:
    others = [one.facts.name for one in choices if not (one.choice.is_named or one.choice.is_out or one.is_person)]
    if not others:
        raise NotUnderstoodError("there are no others: every column was named by its number")
    if not any(one.choice.is_named and not one.choice.is_out for one in choices):
        raise NotUnderstoodError("name the columns that stay first, as in '2 4 in'; then 'all others out'")
    choices.change({name: replace(choices[name].choice, is_out=True) for name in others})
    return Done(tuple(others))


def _change(names: Sequence[str], action: str, said: str, choices: Choices) -> Done:
    if action not in ACTIONS:
        near = difflib.get_close_matches(action, ACTIONS, 1)
        raise NotUnderstoodError(f"did you mean '{near[0]}'? {_AFTER_NUMBERS}" if near else _AFTER_NUMBERS)
    makers: Mapping[str, Callable[[Standing, str], Choice]] = {
        OUT: lambda one, _: replace(one.choice, is_out=True, is_named=True),
        IN: lambda one, _: replace(one.choice, is_out=False, is_named=True),
        MISSING: with_missing,
        RANGE: with_range,
        CATEGORIES: with_categories,
        KIND: with_kind,
        FORM: with_form,
    }
    if said and action in (OUT, IN, MISSING):
        raise NotUnderstoodError(f"nothing may follow {action}, got {said!r}")
    return _checked({name: makers[action](choices[name], said) for name in names}, choices)


def with_missing(one: Standing, _: str = "") -> Choice:
    """Return the decision that rows without a value form a group."""
    if one.limits is None and one.kind is not Kind.BOOLEAN:
        raise NotUnderstoodError(f"{one.facts.name} has no range and no categories, so that nothing is grouped by it")
    return replace(one.choice, is_out=False, nullable=True, is_named=True)


def with_range(one: Standing, said: str) -> Choice:
    """Return the decision for a range that was typed: of the kind on the screen, or of the kind that its ends have."""
    ends = split_range(said)
    kind = one.shown_kind
    if one.choice.kind is None and range_problem(kind, ends):
        thought = kind_of_range(one.facts.name, ends)
        if kind in (Kind.TEXT, Kind.BOOLEAN) or (kind.is_number and thought.is_number):
            kind = thought
    if kind is Kind.TIMESTAMP:
        ends = (_moment(ends[0], "00:00:00"), _moment(ends[1], "23:59:59"))
    if problem := range_problem(kind, ends):
        raise NotUnderstoodError(problem)
    form = one.shown_form if kind is one.shown_kind else ()
    nullable = one.choice.nullable and one.kind is kind
    return Choice(kind=kind, limits=Limits(ends), form=form, nullable=nullable, is_named=True)


def _moment(end: str, hour: str) -> str:
    """Return the first or the last second of a day, where a day was typed."""
    return f"{end} {hour}" if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", end) else end


def with_categories(one: Standing, said: str) -> Choice:
    """Return the decision for categories that were typed."""
    values = split_values(said)
    if not values:
        raise NotUnderstoodError("categories are values with commas between, as in 'categories north, south'")
    if len(values) > _MOST_CATEGORIES:
        raise NotUnderstoodError(f"at most {_MOST_CATEGORIES:,} categories are taken, got {len(values):,}")
    if len(set(values)) < len(values):
        twice = next(value for place, value in enumerate(values) if value in values[:place])
        raise NotUnderstoodError(f"categories must differ: {twice!r} is listed twice")
    nullable = one.choice.nullable and one.kind is Kind.TEXT
    return Choice(kind=Kind.TEXT, limits=Limits(values=values), nullable=nullable, is_named=True)


def with_kind(_: Standing, said: str) -> Choice:
    """Return the decision for a kind that was typed, which is declared alone."""
    try:
        kind = Kind(said.lower())
    except ValueError:
        raise NotUnderstoodError(f"a kind is one of {KINDS}") from None
    return Choice(kind=kind, is_bare=True, is_named=True)


def with_form(one: Standing, said: str) -> Choice:
    """Return the decision for a form that was typed; a second one of days is added to the first."""
    if not said:
        raise NotUnderstoodError("a form is an example of a number, as '15 %', or a pattern of days, as DD.MM.YYYY")
    kind = kind_of_form(one.facts.name, said)
    if one.shown_kind not in (Kind.TEXT, Kind.BOOLEAN) and one.shown_kind.is_number is kind.is_number:
        kind = one.shown_kind
    before = one.choice.form if one.kind is kind and not kind.is_number else ()
    limits = one.choice.limits if one.kind is kind else None
    return Choice(kind=kind, limits=limits, form=(*before, said), is_bare=limits is None, is_named=True)


def kind_of_form(name: str, form: str) -> Kind:
    """Return the kind of a column that only a form of its cells is known of.

    >>> kind_of_form("x", "15 %"), kind_of_form("x", "DD.MM.YYYY"), kind_of_form("x", "YYYY-MM-DD HH:MM")
    (<Kind.REAL: 'real'>, <Kind.DATE: 'date'>, <Kind.TIMESTAMP: 'timestamp'>)
    """
    if not any(sign.isdecimal() for sign in form):
        return Kind.TIMESTAMP if form == ISO or "HH" in form else Kind.DATE
    return Kind.INTEGER if hint(name).kind is Kind.INTEGER else Kind.REAL


def _checked(changes: Mapping[str, Choice], choices: Choices) -> Done:
    """Decide about columns if a schema can have them so; say what a kind loses."""
    notes = []
    for name, choice in changes.items():
        one = choices[name]
        then = replace(one, choice=choice)
        if choice.is_out:
            continue
        if problem := problem_of(then, choices):
            raise NotUnderstoodError(f"column {choices.number(name)} ({name}): {problem}")
        if then.kind not in (one.facts.kind, Kind.TEXT) and not then.form:
            notes += _lost(then, choices)
    choices.change(changes)
    return Done(tuple(changes), tuple(notes))


def problem_of(one: Standing, choices: Choices) -> str:
    """Return what is wrong with a column as it would be declared."""
    table = {"source": choices.facts.path, "columns": {one.facts.name: one.tree()}}
    try:
        schema_from({"dataset": "d", "unit": "row", "tables": {"t": table}})
    except DitherError as problem:
        return str(problem).replace("tables.t.columns.", "")
    return ""


def _lost(one: Standing, choices: Choices) -> list[str]:
    """Return what another kind than the proposed one loses, for the owner's eyes."""
    look = getattr(choices.facts, "kept_as", None)
    if look is None or not one.facts.filled:
        return []
    many, why = look(one.facts.name, one.kind)
    if many == one.facts.filled:
        return []
    what = "no cell is" if not many else f"{many:,} of {one.facts.filled:,} cells are"
    return [f"{one.facts.name}: {what} {one.kind.value}, the others become NULL: {why}; 'undo' takes it back"]
