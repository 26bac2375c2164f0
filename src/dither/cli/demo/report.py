"""The report of the demonstration: one HTML file that needs nothing from outside."""

from __future__ import annotations

import math
from pathlib import Path

from dither.cli.demo.tour import Step, Tour
from dither.mechanisms.claims import claims
from dither.pages.charts import Bars, Limit, bar_chart
from dither.pages.frame import Axis, Chart
from dither.pages.markup import Markup, tag
from dither.pages.page import bullets, figure, figures, listing, note, page, paragraph, section
from dither.publish.queries.pictures import answer_table, picture, quote_markup


def write(out: Path, tour: Tour) -> None:
    """Write the report to ``out``."""
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(_page(tour), encoding="utf-8")


def _page(tour: Tour) -> str:
    balance, verification, first = tour.balance, tour.verification, tour.steps[0]
    spent = balance.spent.pure or 0
    return page(
        f"Private answers from {tour.visits:,} generated visits",
        paragraph(
            "Each query was priced before the table was opened, debited to a durable ledger, and only then drawn. "
            "Every number has a 95 % interval. The truth is shown beside it because the table is generated; a real "
            "report has no such figures."
        ),
        figures([_figure(first, "visits", "Visits"), _figure(first, "waited", "Mean wait", "minutes")]),
        section(
            "How accurate is that?",
            paragraph(f"{tour.held}. {tour.bias}"),
        ),
        section("The price of one query, before it runs", quote_markup(tour.quote)),
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
                "Anyone who sees all answers above, and knows all visits but those of one patient, can change their "
                "mind about that patient by a factor of at most e",
                tag("sup", f"{float(spent):g}"),
                f" = {math.exp(spent):.2f}, but for a chance of {float(balance.spent.delta):.1e}. The noise is exact: "
                "no rounding of floats widens this bound.",
            ),
            bullets(claims()),
            note("Nothing here concerns a real person."),
        ),
    )


def _figure(step: Step, name: str, words: str, unit: str = "") -> Markup:
    """Return a column with its intervals and the truth of all rows as dots."""
    truth = [row.get(name) for row in step.of_all_rows]
    column = next(column for column in step.result.columns if column.name == name)
    drawn = picture(step.result, name, title=f"{words} by ward, with 95 % intervals", truth=truth, unit=unit)
    return figure(drawn.markup(), f"Bars: {column.estimand}. Dots: the truth of all rows. Cost {step.result.loss}.")


def _section(step: Step) -> Markup:
    result = step.result
    said = "; ".join(f"{column.name}: {column.estimand}" for column in result.columns if column.estimand)
    return section(
        step.question.words,
        listing(step.question.command),
        answer_table(result, {"truth, within limits": step.within_limits, "truth, all rows": step.of_all_rows}),
        note(f"Cost {result.loss}; {said}. {step.held}."),
    )


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
