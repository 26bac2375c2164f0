"""Four questions to a generated table, one budget, one report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

from dither import ROW, AboveThreshold, Budget, Exponential, Geometric, Laplace, PureDP, Release, converse, release
from dither.cli.console import console, print_json
from dither.cli.demo.report import write
from dither.cli.demo.table import AGE_GROUPS, LONGEST_WAIT, WARDS, Visits, generate

_MANY = 300
_ORDER = ("oncology", "neurology", "paediatrics", "orthopaedics", "cardiology", "dermatology")


@dataclass(frozen=True)
class Answer:
    """A question in words, its answer, how sure that is, the truth (the table is generated), the price, the release."""

    question: str
    answer: str
    certainty: str
    truth: str
    price: str
    release: Release[Any] | None = None


def ask(visits: Visits, budget: Budget) -> list[Answer]:
    """Return private answers to four questions about the table."""
    return [
        _visits_by_age(visits, budget),
        _mean_wait(visits, budget),
        _busiest(visits, budget),
        _alarm(visits, budget),
    ]


def _visits_by_age(visits: Visits, budget: Budget) -> Answer:
    counts = np.bincount(visits.age_group, minlength=len(AGE_GROUPS))
    mechanism = Geometric.calibrated(PureDP("0.3"), sensitivity=1, shape=counts.shape)
    found = release(mechanism, counts, budget=budget)
    pairs = zip(AGE_GROUPS, found.value, strict=True)
    return Answer(
        "How many visits did each age group make?",
        ", ".join(f"{name}: {count}" for name, count in pairs),
        f"each within {mechanism.error('0.95').value:g}, all at once",
        ", ".join(map(str, counts)),
        str(found.loss),
        found,
    )


def _mean_wait(visits: Visits, budget: Budget) -> Answer:
    # Each visit is put on a grid of eighths of a minute, so that the sum is exact and moves by at most 240 minutes.
    eighths = int(np.floor(np.clip(visits.waited, 0, LONGEST_WAIT) * 8).astype(np.int64).sum())
    sums, counts = Laplace.calibrated(PureDP("0.2"), sensitivity=LONGEST_WAIT), Geometric(scale=10)
    total = release(sums, eighths / 8, budget=budget, stability=LONGEST_WAIT)
    size = release(counts, len(visits), budget=budget)
    # Both intervals hold together with 95 %, so the quotient lies between their extreme quotients.
    minutes, people = sums.interval(total.value, "0.975"), counts.interval(size.value, "0.975")
    low, high = minutes.low / max(1, people.high), minutes.high / max(1, people.low)
    return Answer(
        "How long did people wait on average?",
        f"{total.value / max(1, size.value):.1f} minutes",
        f"between {low:.1f} and {high:.1f}",
        f"{float(np.clip(visits.waited, 0, LONGEST_WAIT).mean()):.1f} minutes",
        f"{total.loss} for the sum, {size.loss} for the count",
    )


def _busiest(visits: Visits, budget: Budget) -> Answer:
    counts = np.bincount(visits.ward, minlength=len(WARDS))
    mechanism = Exponential.calibrated(PureDP("0.2"), candidates=len(WARDS), sensitivity=1, one_way=True)
    found = release(mechanism, counts, budget=budget)
    return Answer(
        "Which ward is the busiest?",
        WARDS[found.value],
        f"at most {mechanism.error('0.95').value:.0f} visits behind the busiest",
        WARDS[int(counts.argmax())],
        str(found.loss),
    )


def _alarm(visits: Visits, budget: Budget) -> Answer:
    test = AboveThreshold.calibrated(PureDP("0.2"), threshold=_MANY, sensitivity=1, one_way=True)
    handle = converse(test, budget=budget)
    counts = np.bincount(visits.ward, minlength=len(WARDS))
    found = next((ward for ward in _ORDER if handle.ask(int(counts[WARDS.index(ward)]))), "none")
    return Answer(
        f"Which is the first ward, in a public order, with {_MANY} visits or more?",
        f"{found}, after {handle.calls} questions for one price",
        f"a wrong answer is off by at most {test.error('0.95').value:g} visits",
        next((ward for ward in _ORDER if counts[WARDS.index(ward)] >= _MANY), "none"),
        str(test.loss(1)),
    )


def run(out: Path, *, as_json: bool) -> None:
    """Ask, print, and write the report to ``out``."""
    budget = Budget(epsilon=1, unit=ROW)
    visits = generate()
    answers = ask(visits, budget)
    write(out, visits, answers, budget)
    if as_json:
        print_json(
            {
                "report": str(out),
                "answers": [
                    {"question": a.question, "answer": a.answer, "certainty": a.certainty, "price": a.price}
                    for a in answers
                ],
                "spent": budget.spent.to_json(),
                "unit": str(budget.unit),
            }
        )
        return
    table = Table(title=f"Private answers from {len(visits):,} generated visits", title_justify="left", show_lines=True)
    for title in ("question", "private answer", "with 95 % certainty", "truth (generated)", "price"):
        table.add_column(title, overflow="fold")
    for answer in answers:
        table.add_row(answer.question, answer.answer, answer.certainty, answer.truth, answer.price)
    console.print(table)
    console.print(f"Budget: {budget}.", highlight=False)
    console.print(f"Report: {out}", highlight=False)
