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


def run(
    out: Annotated[Path, typer.Option(help="Where to write the HTML report.")] = Path("dither-demo.html"),
    as_json: Json = False,
) -> None:
    """Publish private answers from a generated table, and write a report with a picture."""
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


def _print(tour: Tour, out: Path) -> None:
    def say(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)

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
    say(f"\nIn all answers {tour.held}; 95 % are meant to hold the first.")
    say("The truth is known because the table is generated.")
    say(tour.bias)
    say(f"\nReport with a picture: {out}")
    say("Go on yourself:", "bold")
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
