"""The wizard of ``dither add FILE``: shows owners their own rows in figures, asks what is public, then registers.

What it shows is on the screen alone, and kept nowhere. A proposal from the data enters the schema only if the owner
says that it is public; a terminal is needed for that, and there is no option that says it for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import typer
from rich.markup import escape
from rich.table import Table as Grid

from dither.cli.console import console, print_json, say, tell_owner
from dither.cli.kind_questions import Deciding, Whole
from dither.cli.prompts import DECIMAL, HELP, NO, YES, Question
from dither.cli.questions import Answers, questions_of
from dither.data.expressions import Kind
from dither.data.facts import ColumnFacts, Facts
from dither.data.files import schema_from
from dither.data.schema import DataSet
from dither.data.suggest import Draft, suggest, table_name
from dither.errors import DitherError, InvalidParameter
from dither.privacy import Loss, PureDP, stated_loss

#: The exit code for questions that nobody has answered: nothing was registered.
OPEN: Final = 3
_EPSILON: Final = PureDP("0.1")
_BAR: Final = 20
_MOST_LIMITS: Final = 20
_WITHOUT_LOOKING: Final = "think of what anybody could know, and take round numbers"


@dataclass(frozen=True)
class Limit:
    """What a limit of rows a person does.

    Args:
        rows: of one person that count.
        dropped: rows that do not.
        people: who have more.
        error: how far a count of rows is off at most at an epsilon of 0.1, 95 times of 100.

    """

    rows: int
    dropped: int
    people: int
    error: float


def limits_of(counts: Mapping[int, int]) -> list[Limit]:
    """Return what the limits 1, 2, 4, 8 ... do, up to the first that drops nothing.

    Args:
        counts: how many people have how many rows, by the number of rows.

    """
    found: list[Limit] = []
    rows = 1
    while len(found) < _MOST_LIMITS:
        dropped = sum((many - rows) * people for many, people in counts.items() if many > rows)
        more = sum(people for many, people in counts.items() if many > rows)
        found.append(Limit(rows, dropped, more, count_error(rows)))
        if not dropped:
            break
        rows *= 2
    return found


def count_error(rows: int) -> float:
    """Return how far a count is off at most, 95 times of 100, where that many rows of a person count."""
    from dither.publish.queries import quote
    from dither.publish.queries.builder import table

    columns = {"id": "integer"}
    tables = {"t": {"source": "t.csv", "privacy id": "id", "columns": columns}}
    dataset = schema_from({"dataset": "d", "unit": "person", "contribution": {"rows": rows}, "tables": tables})
    return quote(table("t").count("n").build(dataset), _EPSILON).columns[0].error


def show_facts(facts: Facts) -> None:
    """Show what the rows say, column by column, on the owner's screen."""
    say("NOT PRIVATE: what follows is for the owner of the rows alone, and is kept nowhere", style="bold")
    say(f"{facts.path}: {facts.rows:,} rows" + ("" if facts.rows else "; only the names of columns, if any"))
    grid = Grid("column", "kind", "from", "missing", "distinct", "values")
    for one in facts.columns:
        grid.add_row(
            escape(one.name),
            one.kind.value,
            one.origin,
            f"{one.missing:.1%}",
            f"{one.distinct:,}",
            escape(_values(one)),
        )
    console.print(grid)
    if facts.decimal is not None:
        say(f"numbers are read with {facts.decimal!r} before their decimals, because cells look so")
    for one in facts.columns:
        if one.note:
            say(f"{one.name}: {one.note}")
    for why in facts.left_out:
        say(f"left out: {why}")


def _values(one: ColumnFacts) -> str:
    if one.values:
        return ", ".join(one.values)[:80]
    return "" if one.least is None else f"{one.least} to {one.largest}"


def show_questions(questions: Sequence[Question]) -> None:
    """Show all that is open, at once."""
    say(f"{len(questions)} questions are open:")
    for number, question in enumerate(questions, 1):
        say(f"  {number}. {question}")


def show_limits(counts: Mapping[int, int]) -> None:
    """Draw what each limit of rows a person drops, and what it costs."""
    rows, people = sum(many * whose for many, whose in counts.items()), sum(counts.values())
    say(f"{people:,} people have {rows:,} rows; one of them has {max(counts, default=0):,}")
    grid = Grid("rows a person", "rows dropped", "", "people cut", "a count is off by, at epsilon 0.1")
    for limit in limits_of(counts):
        share = limit.dropped / rows if rows else 0.0
        bar = "█" * round(_BAR * share) or ("▏" if limit.dropped else "")
        grid.add_row(
            f"{limit.rows:,}", f"{limit.dropped:,} ({share:.1%})", bar, f"{limit.people:,}", f"{limit.error:,.0f} rows"
        )
    console.print(grid)


def draft_record(draft: Draft, out: Path | None) -> dict[str, Any]:
    """Return a draft as plain data: its text, what is open, and what no schema can name.

    Args:
        draft: from names and declared types.
        out: where it was written, if anywhere.

    """
    said = {"draft": draft.text, "open": list(draft.decisions), "left_out": list(draft.left_out)}
    return said | {"written": None if out is None else str(out), "registered": False}


def print_open(
    path: Path, name: str | None, out: Path | None, write: Callable[[str], None], *, as_json: bool = False
) -> None:
    """Give the draft and the open questions where nobody can be asked, and leave with the code for that.

    Nothing of it is read off the rows.

    Args:
        path: the file.
        name: what the data set is to be called.
        out: where the draft goes; None for the output.
        write: writes the draft.
        as_json: whether a program reads.

    """
    draft = suggest(path, name=name)
    if as_json:
        if out is not None:
            write(draft.text)
        print_json(draft_record(draft, out))
        raise typer.Exit(OPEN)
    write(draft.text)
    tell_owner(f"{path}: {len(draft.decisions)} questions are open, and nothing was registered:")
    for place in draft.decisions:
        tell_owner(f"  {place}")
    tell_owner(
        f"decide them in {'the draft' if out is None else out}, then 'dither add SCHEMA.yaml --budget EPS'; or on a "
        f"terminal 'dither add {path}' shows what the rows say and asks one by one"
    )
    raise typer.Exit(OPEN)


def ask_all(facts: Facts, dataset: str) -> DataSet | None:
    """Ask every question, one by one, and return the data set; None where the owner has gone.

    Args:
        facts: what the rows show.
        dataset: what it will be called.

    """
    questions, answers = questions_of(facts, dataset), Answers(facts, dataset)
    warned: set[tuple[str, str]] = set()
    show_facts(facts)
    show_questions(questions)
    say("Enter takes a proposal from a name or a type. One from the data is taken by 'y' alone: I say it is public.")
    say("'n' leaves it undeclared, '?' says how else it is found, anything else is taken instead.")
    while questions:
        question = questions.pop(0)
        if not answers.applies(question):
            continue
        if question.place == "contribution.rows" and answers.person is not None:
            show_limits(facts.rows_a_person(answers.person))
        typed = _asked(question, answers)
        if typed is None:
            return None
        if answers.whole is not None:
            return _ask_whole(answers.whole, facts, dataset)
        if question.place == DECIMAL and facts.decimal is None:
            # What was shown and asked followed from the comma.
            questions, answers = questions_of(facts, dataset), Answers(facts, dataset)
            show_facts(facts)
            show_questions(questions)
        if question.place.endswith(".kind"):
            questions[:0] = _after_kind(facts, question, typed, warned)
    return schema_from(answers.tree())


def _ask_whole(kind: Whole, facts: Facts, dataset: str) -> DataSet | None:
    """Ask what a table of one kind of rows needs; None where the owner has gone."""
    say(kind.said)
    answers = kind.answers(facts, dataset)
    for question in kind.questions(facts):
        if answers.applies(question) and _asked(question, answers) is None:
            return None
    return answers.dataset()


def _asked(question: Question, answers: Deciding) -> str | None:
    """Ask until the answer can be taken; return it, or None where the owner has gone."""
    while True:
        line = _line(f"{question}\n> ")
        if line is None:
            return None
        typed = line.strip()
        if typed.lower() in HELP:
            say(question.otherwise or _WITHOUT_LOOKING)
            continue
        if typed.lower() in NO:
            problem = answers.leave_out(question)
        elif typed.lower() in YES or not typed:
            problem = _why_not_taken(question, typed) or answers.decide(question, question.proposal)
            typed = question.proposal
        else:
            problem = answers.decide(question, typed)
        if not problem:
            return typed
        say(problem)


def _why_not_taken(question: Question, typed: str) -> str:
    if not question.proposal:
        return "nothing is proposed: type it" + (", or 'n' to leave it undeclared" if question.column else "")
    if not typed and question.must_be_confirmed:
        return f"this comes from the data: type 'y' if it is public, or {question.instead}"
    return ""


def _after_kind(facts: Facts, question: Question, typed: str, warned: set[tuple[str, str]]) -> list[Question]:
    """Say what another kind than the proposed one loses, and return what is open then.

    A kind that no cell has is asked for again, once: who types it again means it.
    """
    if typed == question.proposal or typed.lower() in NO:
        return []
    kind, one = Kind(typed), facts.column(question.column)
    kept, why = facts.kept_as(one.name, kind)
    if one.filled and not kept and (one.name, typed) not in warned:
        warned.add((one.name, typed))
        say(f"{one.name}: no cell would be kept: {why}")
        say(f"type another kind, 'n' to leave the column out, or {typed} again if that is meant")
        return [question]
    if kept < one.filled:
        say(f"{one.name}: {kept:,} of {one.filled:,} cells are kept, the others become NULL: {why}")
    place, name = f"columns.{one.name}", one.name
    if kind is Kind.TEXT:
        return [Question(f"{place}.categories", f"the categories of {name}, to group by, with commas between")]
    return [Question(f"{place}.bounds", f"the bounds of {name}, to add up: least, largest")]


def ask_budget(delta: str | None) -> Loss | None:
    """Ask for the budget until it is one; None where the owner has gone.

    Args:
        delta: that goes with it, if one was given.

    """
    while True:
        line = _line("what may all releases together lose, for ever? an epsilon, such as 1\n> ")
        if line is None:
            return None
        try:
            return stated_loss(epsilon=line.strip(), delta=delta, called="budget")
        except DitherError as problem:
            say(str(problem))


def options_of(loss: Loss) -> str:
    """Return how a budget is stated on the command line.

    >>> options_of(stated_loss(epsilon="0.5", delta="1e-6")), options_of(stated_loss(rho="0.1"))
    ('--budget 1/2 --delta 1/1000000', '--rho 1/10')
    """
    figures = {"budget": "epsilon", "rho": "rho", "delta": "delta"}
    stated = {option: loss.to_dict().get(name) for option, name in figures.items()}
    return " ".join(f"--{option} {figure}" for option, figure in stated.items() if figure not in (None, "0"))


def is_agreed(text: str) -> bool:
    """Ask whether to go on."""
    line = _line(f"{text} [y/n]\n> ")
    while line is not None and line.strip() and line.strip().lower() not in (*YES, *NO):
        line = _line("type y or n\n> ")
    return line is not None and line.strip().lower() in YES


def named(path: Path, name: str | None) -> str:
    """Return what a data set is called after its file, unless something else is said."""
    return table_name(path) if name is None else name


def checked_out(out: Path | None, dataset: str) -> Path:
    """Return the file that the schema is written to, which must be new."""
    path = Path(f"{dataset}.yaml") if out is None else out
    if path.exists():
        raise InvalidParameter("out", str(path), "a new file")
    return path


def _line(prompt: str) -> str | None:
    try:
        return str(typer.prompt(prompt.rstrip(), prompt_suffix=" ", default="", show_default=False))
    except (EOFError, KeyboardInterrupt, typer.Abort):
        return None
