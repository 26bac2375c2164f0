"""The report of the demonstration: one HTML file that needs nothing from outside."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from dither.cli.demo.tour import Step, Tour
from dither.pages.charts import Bars, Limit, bar_chart
from dither.pages.frame import Axis, Chart
from dither.pages.markup import Markup, tag
from dither.pages.page import figure, figures, listing, note, page, paragraph, section
from dither.publish.queries.pictures import answer_table, picture


def write(out: Path, tour: Tour) -> None:
    """Write the report to ``out``."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(_page(tour), encoding="utf-8")


def _page(tour: Tour) -> str:
    balance, verification = tour.balance, tour.verification
    spent = balance.spent.pure or 0
    visits = picture(
        tour.steps[0].result,
        "visits",
        title="Visits by ward, with 95% intervals",
        truth=[truth.get("visits") for truth in _truths(tour.steps[0])],
    )
    return page(
        f"Private answers from {tour.visits:,} generated visits",
        paragraph(
            "Each query was priced before the table was opened, debited to a durable ledger, and only then drawn. "
            "Every number has a 95% interval. The truth is shown beside it because the table is generated; a real "
            "report has no such figures."
        ),
        figure(visits.markup(), _about(tour.steps[0], "visits")),
        section("What one query costs, before it is asked", listing(tour.quote)),
        *(_section(step) for step in tour.steps),
        section(
            "What was spent",
            figures([figure(_spending(tour).markup())]),
            paragraph(
                f"{balance.spent} of {balance.budget}, for {balance.unit}, in {balance.releases} releases. The ledger "
                f"has {verification.entries} entries and is {'intact' if verification.is_intact else 'not intact'}; "
                f"its head is {verification.head[:16]}."
            ),
        ),
        section(
            "What that is worth",
            paragraph(
                "Whoever sees all answers above, and knows all visits but those of one patient, can change their mind "
                "about that patient by a factor of at most e",
                tag("sup", f"{float(spent):g}"),
                f" = {math.exp(spent):.2f}, but for a chance of {float(balance.spent.delta):.1e}. The noise is exact: "
                "no rounding of floats widens this bound.",
            ),
            note("Nothing here concerns a real person."),
        ),
    )


def _section(step: Step) -> Markup:
    result = step.result
    said = "; ".join(f"{column.name}: {column.estimand}" for column in result.columns if column.estimand)
    return section(
        step.question.words,
        listing(step.question.command),
        answer_table(result, _truths(step)),
        note(f"cost {result.loss}; {said}" if said else f"cost {result.loss}"),
    )


def _about(step: Step, name: str) -> str:
    """Return what the intervals of a column are about, and what separates that from the truth."""
    column = next(column for column in step.result.columns if column.name == name)
    words = "; ".join(part for part in (column.estimand, column.bias) if part)
    return f"Bars and their 95% intervals are about this: {words}. The dots count all visits." if words else ""


def _truths(step: Step) -> list[dict[str, Any]]:
    """Return the true row of every row that was released; an empty one where the truth has no such group."""
    result = step.result
    keys = [column.name for column in result.columns if column.is_key]
    known = {tuple(row[key] for key in keys): row for row in step.truth}
    return [known.get(tuple(row[result.names.index(key)] for key in keys), {}) for row in result.rows]


def _spending(tour: Tour) -> Chart:
    """Return what each answer cost, and the budget."""
    spent = [float(step.result.loss.pure or step.result.loss.to_approx(1e-9).epsilon) for step in tour.steps]
    total = sum(spent)
    return bar_chart(
        "What each answer cost, and all of them",
        [*(f"answer {place}" for place in range(1, len(spent) + 1)), "all"],
        [Bars("loss", [*spent, total])],
        across=Axis("release"),
        up=Axis("loss", "epsilon"),
        limit=Limit("budget", float(tour.balance.budget.pure or 0)),
        area=140,
    )
