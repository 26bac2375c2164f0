"""``dither demo``: take the tour, print it, write the report."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from dither.cli.books import print_balances, print_verdict
from dither.cli.console import console, print_json
from dither.cli.demo.report import write
from dither.cli.demo.tour import BUDGET, Tour, take
from dither.cli.options import Json
from dither.cli.outputs import Output, check_outputs, keep_known
from dither.errors import InvalidParameter
from dither.mechanisms.claims import claims


def run(
    out: Annotated[Path, typer.Option(help="Where to write the HTML report.")] = Path("dither-demo.html"),
    stream: Annotated[
        bool, typer.Option("--stream", help="Publish a year of hourly numbers instead, killed and restarted half-way.")
    ] = False,
    ask: Annotated[bool, typer.Option("--ask", help="Ask a hundred questions for one price instead.")] = False,
    as_json: Json = False,
) -> None:
    """Publish private answers from a generated table, and write a report with a picture."""
    if stream and ask:
        raise InvalidParameter("ask", ask, "not allowed with --stream: one demonstration at a time")
    if stream:
        _stream(out.parent / "dither-demo-stream", as_json=as_json)
        return
    if ask:
        _ask(out.parent / "dither-demo-ask", as_json=as_json)
        return
    # A report of before is written over; what a curator's folder keeps is not.
    outputs = [Output("out", out, (".html",))]
    keep_known(outputs)
    out.parent.mkdir(parents=True, exist_ok=True)
    check_outputs(outputs)
    tour = take(out.parent / "dither-demo")
    write(out, tour)
    if as_json:
        print_json(
            {
                "report": str(out),
                "folder": str(tour.folder),
                "answers": [
                    {
                        "question": step.question.words,
                        "sql": step.question.sql,
                        "rows": step.result.to_rows(),
                        "loss": step.result.loss.to_dict(),
                        "within_limits": step.within_limits,
                        "of_all_rows": step.of_all_rows,
                    }
                    for step in tour.steps
                ],
                "spent": tour.balance.spent.to_dict(),
                "held": vars(tour.held),
                "bias": tour.bias,
                "next": _next(tour),
                "ledger_is_intact": tour.verification.is_intact,
            }
        )
        return
    _print(tour, out)


def _stream(folder: Path, *, as_json: bool) -> None:
    """Show a stream that outlives the process that releases it."""
    from dither.cli.demo.stream import EPSILON, HOURS, SQL
    from dither.cli.demo.stream import take as take_stream

    done = take_stream(folder)
    if as_json:
        facts = {"folder": str(done.folder), "killed_after": done.killed_after, "same": done.same, "truth": done.truth}
        print_json({**facts, "last": done.last.to_rows(), "loss": done.last.loss.to_dict()})
        return
    home = done.folder / "home"
    _say(f'$ dither stream open arrivals hourly "{SQL}" --epsilon {EPSILON} --home {home}', "bold")
    _say(f"{done.words}: paid for as a whole, {HOURS} ticks")
    _say(f"\n$ dither stream release arrivals hourly --home {home}", "bold")
    if done.killed_after is None:
        _say("the process was done before it could be killed")
    else:
        same = "what it had released is the same" if done.same else "WHAT IT HAD RELEASED HAS CHANGED"
        _say(f"killed with SIGKILL after {done.killed_after} ticks; started again: {same}, and the rest follows")
    _say("\nthe last tick:")
    _say(str(done.last))
    _say(f"truth, all visits counted: {', '.join(f'{ward} {count}' for ward, count in done.truth.items())}", "green")
    _say(done.spent)
    _say(f"Continue yourself:\n  {_program()} stream show arrivals hourly -o hourly.html --home {home}", "bold")


def _ask(folder: Path, *, as_json: bool) -> None:
    """Show a conversation: any number of questions for one price."""
    from dither.cli.demo.ask import COLUMNS, EPSILON
    from dither.cli.demo.ask import take as take_answers

    done = take_answers(folder)
    if as_json:
        answers = [{**one.to_dict(), "truth": true} for one, true in zip(done.answers, done.truth, strict=True)]
        print_json({"folder": str(done.folder), "answers": answers, "same": done.same, "error": done.error})
        return
    home = done.folder / "home"
    opening = f"$ dither ask clinic many --table visits --columns {','.join(COLUMNS)} --epsilon {EPSILON}"
    _say(f"{opening} --quote --home {home}", "bold")
    _say(done.price)
    _say(f"\n{opening} --home {home}", "bold")
    _say(f"$ dither ask clinic many QUESTION ... --home {home}", "bold")
    for answer, true in list(zip(done.answers, done.truth, strict=True))[:: len(done.answers) // 5]:
        _say(f"{answer}  {answer.question}")
        _say(f"truth, all visits counted: {true}", "green")
    same = "has the same answer" if done.same else "HAS ANOTHER ANSWER"
    _say(f"and so on: {len(done.answers)} questions, off by {done.error:.0f} on average; a repeated one {same}")
    _say(done.spent)
    _say(f"Continue yourself:\n  {_program()} ask clinic many \"ward = 'oncology' AND age < 65\" --home {home}", "bold")


def _say(text: str, style: str = "") -> None:
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


def _print(tour: Tour, out: Path) -> None:
    say = _say
    say(f"{tour.visits:,} generated visits of a clinic that does not exist are in {tour.folder}\n")
    home = tour.folder / "home"
    say(
        f"$ dither init {home}\n"
        f"$ dither add {tour.folder / 'clinic.yaml'} --budget {BUDGET.epsilon} --delta 1e-5 --home {home}",
        "bold",
    )
    first = tour.steps[0].question
    say(f'\n$ dither quote clinic "{first.sql}" --epsilon {first.epsilon} --home {home}', "bold")
    say(str(tour.quote))
    for step in tour.steps:
        say(f"\n# {step.question.words}", "dim")
        say(f"$ {step.question.command} --home {home}", "bold")
        say(str(step.result))
        say(f"truth: {step.held}", "green")
    say(f"\n$ dither ledger show clinic --home {home}", "bold")
    print_balances([tour.balance])
    say(f"\n$ dither ledger verify --home {home}", "bold")
    print_verdict(tour.verification)
    say("\nWhat these numbers claim:", "bold")
    for sentence in claims():
        say(f"  {sentence}")
    say(f"Here the table is generated, so that the truth is known: {tour.held}.")
    say(tour.bias)
    say(f"\nReport with a picture: {out}")
    say("Continue yourself:", "bold")
    say(f"  {_next(tour)}", "bold")
    say(f"  {_program()} init --help   # a folder for your own table", "bold")


def _next(tour: Tour) -> str:
    """Return a command that works when it is pasted into the same shell."""
    asked = "SELECT region, COUNT(*) AS visits FROM visits GROUP BY region"
    home = shlex.quote(str(tour.folder / "home"))
    return f'{_program()} sql clinic "{asked}" --epsilon 0.1 --home {home}'


def _program() -> str:
    """Return how this program is called: by its name if the shell would find this very one, else by its path."""
    called, found = Path(sys.argv[0]), shutil.which("dither")
    if called.stem != "dither" or not called.is_file() or (found and called.samefile(found)):
        return "dither"
    return shlex.quote(os.path.relpath(called) if called.resolve().is_relative_to(Path.cwd()) else str(called))
