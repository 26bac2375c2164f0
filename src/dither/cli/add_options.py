"""What the wizard of ``dither add`` asks, as options; and the command that does what the wizard did.

Nothing is read from the rows for options: a column that no option names has its declared type, and in a CSV file it is
text.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final

from dither.cli.column_choices import Choice, Choices, kind_of_range
from dither.cli.column_commands import (
    NotUnderstoodError,
    join_values,
    kind_of_form,
    problem_of,
    split_range,
    with_categories,
    with_form,
    with_kind,
    with_missing,
    with_range,
)
from dither.cli.column_outline import Outline
from dither.cli.prompts import ROW, meant
from dither.cli.questions import Answers
from dither.cli.read_options import ReadOptions
from dither.data.expressions import Kind
from dither.data.facts import FROM_TYPE
from dither.data.importing.named_files import NamedFiles
from dither.errors import InvalidParameter

_ENDINGS: Final = (".yaml", ".yml")


@dataclass(frozen=True)
class Said:
    """The options of ``dither add FILE`` that answer questions of the wizard.

    Args:
        person: the column that identifies people, or 'row'.
        rows: of one person that count.
        groups: in which one person counts.
        out: columns that are not declared.
        kind: as ``column=kind``.
        form: as ``column=form``.
        range: as ``column=a..b``.
        categories: as ``column=a,b``.
        missing: columns whose rows without a value form a group.

    """

    person: str | None = None
    rows: int | None = None
    groups: int | None = None
    out: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    form: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def first(self) -> str:
        """The first option that was typed; empty if none was."""
        return next((one.name for one in fields(self) if getattr(self, one.name) not in (None, ())), "")

    @property
    def lacks(self) -> str:
        """The first option without which a question stays open."""
        if self.person is None:
            return "person"
        if self.person == ROW:
            return ""
        if self.rows is None:
            return "rows"
        return "groups" if self.rows > 1 and self.groups is None else ""


def said_answers(path: NamedFiles, dataset: str, said: Said, file: ReadOptions) -> Answers:
    """Return what options decide about a file of which no row is read.

    Args:
        path: the file.
        dataset: what the data set will be called.
        said: the options about columns.
        file: the options about how the file is read.

    """
    outline = Outline(path, sheet=file.sheet, delimiter=file.delimiter, decimal=file.decimal)
    answers = Answers(outline, dataset, Choices(outline, is_bare=True))
    apply_options(said, answers)
    return answers


def apply_options(said: Said, answers: Answers) -> None:
    """Decide what options say; refuse what they cannot mean, by the option's name.

    Args:
        said: the options.
        answers: takes them.

    """
    choices = answers.choices
    for typed in said.kind:
        name, value = _assigned("kind", typed, choices)
        _decide(choices, name, "kind", typed, with_kind(choices[name], value) if _is_kind(value) else None)
    for typed in said.form:
        name, value = _assigned("form", typed, choices)
        try:
            _decide(choices, name, "form", typed, with_form(choices[name], value))
        except NotUnderstoodError as problem:
            raise InvalidParameter("form", typed, f"column=form: {problem}") from None
    for typed in said.range:
        name, value = _assigned("range", typed, choices)
        try:
            one = choices[name]
            ends = split_range(value)
            if one.choice.kind is None:
                kind = one.facts.kind if one.facts.origin == FROM_TYPE else kind_of_range(name, ends)
                choices.change({name: replace(one.choice, kind=kind)})
            _decide(choices, name, "range", typed, with_range(choices[name], value))
        except NotUnderstoodError as problem:
            raise InvalidParameter("range", typed, f"column=least..largest: {problem}") from None
    for typed in said.categories:
        name, value = _assigned("categories", typed, choices)
        try:
            _decide(choices, name, "categories", typed, with_categories(choices[name], value))
        except NotUnderstoodError as problem:
            raise InvalidParameter("categories", typed, f"column=value,value: {problem}") from None
    for typed in said.missing:
        name = _column("missing", typed, choices)
        try:
            _decide(choices, name, "missing", typed, with_missing(choices[name]))
        except NotUnderstoodError as problem:
            raise InvalidParameter("missing", typed, f"a column with --range or --categories: {problem}") from None
    for typed in said.out:
        name = _column("out", typed, choices)
        choices.change({name: Choice(is_out=True, is_named=True)})
    _apply_person(said, answers)
    choices.settle()


def _apply_person(said: Said, answers: Answers) -> None:
    choices = answers.choices
    if said.person is not None:
        if said.person != ROW and meant(answers.choices.facts, said.person) is None:
            raise InvalidParameter("person", said.person, f"a column, or '{ROW}': {', '.join(choices.names)}")
        answers.decide_person(said.person)
        if answers.person is not None and any(meant(choices.facts, name) == answers.person for name in said.out):
            raise InvalidParameter("out", answers.person, "another column than that of --person")
    for name in ("rows", "groups"):
        value = getattr(said, name)
        if value is None:
            continue
        if said.person == ROW:
            raise InvalidParameter(name, value, f"omitted with --person {ROW}, where no person has several rows")
        if not 0 < value <= 2**31:
            raise InvalidParameter(name, value, "an integer from 1")
        setattr(answers, name, value)


def _is_kind(value: str) -> bool:
    return value.lower() in {kind.value for kind in Kind}


def _decide(choices: Choices, name: str, option: str, typed: str, choice: Choice | None) -> None:
    if choice is None:
        kinds = ", ".join(kind.value for kind in Kind)
        raise InvalidParameter(option, typed, f"column=kind, with one of the kinds {kinds}")
    before = choices[name]
    if problem := problem_of(replace(before, choice=choice), choices):
        raise InvalidParameter(option, typed, f"right for its column: {problem}")
    choices.change({name: choice})


def _assigned(option: str, typed: str, choices: Choices) -> tuple[str, str]:
    """Return the column and the value of ``column=value``; names may hold an equals sign, too."""
    places = [place for place, sign in enumerate(typed) if sign == "="]
    if not places:
        raise InvalidParameter(option, typed, f"written as {_column_example(choices)}=...")
    for place in reversed(places):
        name = meant(choices.facts, typed[:place].strip())
        if name is not None:
            return name, typed[place + 1 :].strip()
    return _column(option, typed[: places[0]], choices), ""


def _column(option: str, typed: str, choices: Choices) -> str:
    name = meant(choices.facts, typed.strip())
    if name is None:
        if option == "out" and typed.lower().endswith(_ENDINGS):
            raise InvalidParameter(
                "out", typed, f"a column that is not declared; -o {shlex.quote(typed)} names the file"
            )
        raise InvalidParameter(option, typed, f"a column of the file: {', '.join(choices.names)}")
    return name


def _column_example(choices: Choices) -> str:
    return choices.names[0] if choices.names else "column"


def command(path: NamedFiles, answers: Answers, options: Sequence[str]) -> str:
    """Return the command that decides what was decided, quoted for a shell.

    Args:
        path: the file.
        answers: what is decided.
        options: those of the name, the budget and so on, which no question is about.

    """
    words = ["dither", "add", *path.typed]
    if answers.person is not None:
        words += ["--person", answers.person]
        words += [] if answers.rows is None else ["--rows", str(answers.rows)]
        words += [] if answers.groups is None else ["--groups", str(answers.groups)]
    elif answers.is_person_decided:
        words += ["--person", ROW]
    for one in answers.choices:
        words += _words_of(answers, one.facts.name)
    return shlex.join([*words, *options])


def _words_of(answers: Answers, name: str) -> list[str]:
    one = answers.choices[name]
    if one.choice.is_out:
        return ["--out", name]
    limits = None if name == answers.person else one.limits
    implied = one.facts.kind if one.facts.origin == FROM_TYPE else Kind.TEXT
    words = []
    if limits is not None and limits.ends is not None:
        implied = implied if one.facts.origin == FROM_TYPE else kind_of_range(name, limits.ends)
        words = ["--range", f"{name}={limits.ends[0]}..{limits.ends[1]}"]
    elif limits is not None and limits.values:
        words = ["--categories", f"{name}={join_values(limits.values)}"]
        implied = Kind.TEXT
    if one.form and name != answers.person:
        words = [word for form in one.form for word in ("--form", f"{name}={form}")] + words
        implied = kind_of_form(name, one.form[0])
    is_told = bool(one.form) or limits is not None
    if one.kind is not implied or (one.choice.is_bare and one.choice.kind is not None and not is_told):
        words = ["--kind", f"{name}={one.kind.value}", *words]
    return [*words, "--missing", name] if one.choice.nullable else words
