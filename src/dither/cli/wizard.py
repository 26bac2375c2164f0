"""The wizard of ``dither add FILE``: shows owners their own columns on one screen, asks what is public, then registers.

What it shows is on the screen alone, and stored nowhere. A proposal from the data enters the schema only if the owner
types the number of its column as public; there is no command and no option that does it for all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import typer
from rich.table import Table as Grid

from dither.cli.add_options import Said, apply_options, command
from dither.cli.column_choices import Choices
from dither.cli.column_commands import NotUnderstoodError, take
from dither.cli.column_table import show_columns, show_details, show_file, show_legend
from dither.cli.console import console, print_json, say, shown, tell_owner
from dither.cli.kind_questions import Deciding, Whole, wholes
from dither.cli.prompts import DECIMAL_COMMA, DECIMAL_POINT, HELP, NO, YES, Question
from dither.cli.questions import GROUPS, PERSON, ROWS, Answers, questions_of
from dither.cli.read_options import ReadOptions
from dither.data.facts import Facts
from dither.data.files import schema_from
from dither.data.importing.named_files import NamedFiles
from dither.data.schema import DataSet
from dither.data.suggest import Draft, suggest, table_name
from dither.errors import DitherError, InvalidParameter
from dither.privacy import Loss, PureDP, stated_loss

#: The exit code for questions that nobody has answered: nothing was registered.
OPEN: Final = 3
_EPSILON: Final = PureDP("0.1")
_BAR: Final = 20
_NARROW: Final = 72
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
    """Return the error of a count, at most, 95 times of 100, where that many rows of a person count."""
    from dither.publish.queries import quote
    from dither.publish.queries.builder import table

    columns = {"id": "integer"}
    tables = {"t": {"source": "t.csv", "privacy id": "id", "columns": columns}}
    dataset = schema_from({"dataset": "d", "unit": "person", "contribution": {"rows": rows}, "tables": tables})
    return quote(table("t").count("n").build(dataset), _EPSILON).columns[0].error


def show_limits(counts: Mapping[int, int]) -> None:
    """Draw what each limit of rows a person drops, and what it costs."""
    rows, people = sum(many * whose for many, whose in counts.items()), sum(counts.values())
    say(f"{people:,} people have {rows:,} rows; one of them has {max(counts, default=0):,}")
    grid = Grid("rows a person", "rows dropped", "", "people cut", "a count is off by, at epsilon 0.1")
    for limit in limits_of(counts):
        share = limit.dropped / rows if rows else 0.0
        bar = shown("█" * round(_BAR * share) or ("▏" if limit.dropped else ""))
        off = f"{limit.error:,.0f} rows"
        if console.width < _NARROW:
            say(f"{limit.rows:>6,} rows a person: {share:.1%} dropped, a count off by {off}")
        else:
            grid.add_row(f"{limit.rows:,}", f"{limit.dropped:,} ({share:.1%})", bar, f"{limit.people:,}", off)
    if grid.row_count:
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
    path: NamedFiles,
    name: str | None,
    out: Path | None,
    write: Callable[[str], None],
    file: ReadOptions,
    *,
    as_json: bool = False,
) -> None:
    """Print the draft and the open questions where there is no terminal, and leave with the code for that.

    Nothing of it is read off the rows.

    Args:
        path: the file.
        name: what the data set is to be called.
        out: where the draft goes; None for the output.
        write: writes the draft.
        file: how the file is read.
        as_json: whether a program reads.

    """
    draft = suggest(path, name=name, sheet=file.sheet, delimiter=file.delimiter)
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
        f"decide them in {'the draft' if out is None else out}, then 'dither add SCHEMA.yaml --budget EPS'; or as "
        f"options: 'dither add {path} --person COLUMN --rows N --budget EPS'; or on a terminal, where 'dither add "
        f"{path}' shows all columns and asks"
    )
    raise typer.Exit(OPEN)


class Wizard:
    """Asks what is public about a file, on one screen and in a few questions.

    Args:
        facts: what the rows show to their owner.
        dataset: what the data set will be called.
        said: what was typed as options.

    """

    def __init__(self, facts: Facts, dataset: str, said: Said) -> None:
        self.facts, self.dataset = facts, dataset
        self.choices = Choices(facts)
        self.answers = Answers(facts, dataset, self.choices)
        apply_options(said, self.answers)
        self._typed: list[str] = []

    @property
    def typed(self) -> tuple[str, ...]:
        """The lines that decide what no option does, from the screen on."""
        kind = next((name for name, whole in wholes().items() if whole is self.answers.whole), "")
        return (kind, *self._typed) if kind or self._typed else ()

    @property
    def has_decided(self) -> bool:
        """Whether anything was decided that a command can hold."""
        is_named = any(one.choice.is_named for one in self.choices)
        return self.answers.is_person_decided or is_named or bool(self.typed)

    def command(self, path: NamedFiles, options: Sequence[str]) -> str:
        """Return the command that does the same; empty where no options can say it all."""
        is_all = self.answers.whole is None and not self.answers.has_parts and self.facts.decimal is None
        return command(path, self.answers, options) if is_all else ""

    def resume(self, path: NamedFiles, options: Sequence[str]) -> str:
        """Return the command that asks what is still open."""
        return command(path, self.answers, options)

    def ask(self) -> DataSet | None:
        """Ask until all is decided, and return the data set; None where the owner has gone."""
        show_file(self.facts)
        show_columns(self.choices)
        show_legend(self.choices)
        if not self._change_columns():
            return None
        for question in questions_of(self.facts, self.dataset):
            if self.answers.whole is not None:
                break
            if not self.answers.applies(question):
                continue
            if question.place == ROWS and self.answers.person is not None:
                show_limits(self.facts.rows_a_person(self.answers.person))
            if self._asked(question, self.answers) is None:
                return None
            if question.place == ROWS and (self.answers.rows or 1) > 1:
                say(
                    f"with {(many := self.answers.rows):,} rows a person, errors are {many:,} times those on the screen"
                )
        if self.answers.whole is not None:
            return self._ask_whole(self.answers.whole)
        return schema_from(self.answers.tree())

    def _change_columns(self) -> bool:
        """Take commands until the owner continues; return whether they do."""
        warned: tuple[str, ...] = ()
        while True:
            line = _line("columns>")
            if line is None:
                return False
            if line.strip():
                if line.strip().lower() in wholes():
                    self.answers.decide_person(line.strip().lower())
                    return True
                self._take(line)
                continue
            if not self.choices.declared:
                say("all columns are out: put back one at least, as in '1 in'")
                continue
            marked = self.choices.marked
            if not marked or marked == warned:
                return True
            warned = marked
            numbers = " ".join(str(self.choices.number(name)) for name in marked)
            say(f"not taken yet: 'public {numbers}' declares what was read from your rows, if anyone may know it.")
            say("Enter again continues without: such columns stay text, or without a range and categories.")

    def _take(self, line: str) -> None:
        if line.strip().lower() in (DECIMAL_POINT, DECIMAL_COMMA):
            self.facts.read_with("," if line.strip().lower() == DECIMAL_COMMA else None)
            show_columns(self.choices)
            return
        try:
            done = take(line, self.choices)
        except NotUnderstoodError as problem:
            say(shown(f"{problem}"))
            return
        for note in done.notes:
            say(shown(note))
        show_details(self.choices, done.details)
        if done.shows_all or done.changed:
            show_columns(self.choices, None if done.shows_all else done.changed)

    def _ask_whole(self, kind: Whole) -> DataSet | None:
        """Ask what a table of one kind of rows needs; None where the owner has gone."""
        say(kind.said)
        answers = kind.answers(self.facts, self.dataset)
        for question in kind.questions(self.facts):
            if answers.applies(question) and self._asked(question, answers) is None:
                return None
        return answers.dataset()

    def _asked(self, question: Question, answers: Deciding) -> str | None:
        """Ask until the answer can be taken; return it, or None where the owner has gone."""
        while True:
            line = _line(f"{question}\n>")
            if line is None:
                return None
            typed = line.strip()
            if typed.lower() in HELP:
                say(question.otherwise or _WITHOUT_LOOKING)
                continue
            if typed.lower().startswith("public ") and answers is self.answers:
                self._take(typed)
                continue
            if typed.lower() in NO:
                problem = answers.leave_out(question)
            elif typed.lower() in YES or not typed:
                problem = _why_not_taken(question, typed) or answers.decide(question, question.proposal)
            else:
                problem = answers.decide(question, typed)
            if not problem:
                if question.place not in (PERSON, ROWS, GROUPS):
                    self._typed.append(typed)
                return typed or question.proposal
            say(shown(problem))


def _why_not_taken(question: Question, typed: str) -> str:
    if not question.proposal:
        return "nothing is proposed: type a value"
    if not typed and question.must_be_confirmed:
        return "this was read from your rows: type 'y' if it is public"
    return ""


def ask_budget(delta: str | None) -> Loss | None:
    """Ask for the budget until it is one; None where the owner has gone.

    Args:
        delta: that goes with it, if one was given.

    """
    text = "Which budget (epsilon) may all releases together spend? It never renews. For example 1"
    if delta is None:
        text += "; or '1, 1e-6' with a delta, which groups that are not listed need"
    while True:
        line = _line(f"{text}\n>")
        if line is None:
            return None
        epsilon, _, typed = (part.strip() for part in line.partition(","))
        try:
            return stated_loss(epsilon=epsilon, delta=typed or delta, called="budget")
        except DitherError as problem:
            say(shown(str(problem)))


def options_of(loss: Loss) -> str:
    """Return how a budget is stated on the command line.

    >>> options_of(stated_loss(epsilon="0.5", delta="1e-6")), options_of(stated_loss(rho="0.1"))
    ('--budget 0.5 --delta 1e-06', '--rho 0.1')
    """
    figures = {"budget": "epsilon", "rho": "rho", "delta": "delta"}
    stated = {option: loss.to_dict().get(name) for option, name in figures.items()}
    return " ".join(f"--{option} {_typed(figure)}" for option, figure in stated.items() if figure not in (None, "0"))


def _typed(figure: str) -> str:
    """Return an exact figure as a person types it, where it has a short decimal."""
    short = f"{float(Fraction(figure)):g}"
    return short if Fraction(short) == Fraction(figure) else figure


def is_agreed(text: str) -> bool | None:
    """Ask for a yes or a no; None where the owner has gone."""
    line = _line(f"{text} [y/n]\n>")
    while line is not None and line.strip() and line.strip().lower() not in (*YES, *NO):
        line = _line("type y or n\n>")
    return None if line is None else line.strip().lower() in YES


def named(path: str, name: str | None) -> str:
    """Return what a data set is called after its file, unless a name was typed."""
    return table_name(path) if name is None else name


def checked_out(out: Path | None, dataset: str) -> Path:
    """Return the file that the schema is written to, which must be new."""
    path = Path(f"{dataset}.yaml") if out is None else out
    if path.exists():
        raise InvalidParameter("schema_file", str(path), "a new file: -o names another")
    return path


def _line(prompt: str) -> str | None:
    while True:
        try:
            return str(typer.prompt(shown_lines(prompt), prompt_suffix=" ", default="", show_default=False))
        except UnicodeDecodeError:
            say("this terminal sends characters that are not in its encoding: use the numbers of columns")
        except (EOFError, KeyboardInterrupt, typer.Abort):
            say("")  # what is printed next begins its own line
            return None


def shown_lines(text: str) -> str:
    """Return some lines as a terminal can show them."""
    return "\n".join(shown(line) for line in text.rstrip().split("\n"))
