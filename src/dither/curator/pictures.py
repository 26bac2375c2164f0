"""Budgets as pictures: what is spent and left, and what each release took. Made of the books alone."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Final

from dither.curator.history import history_of
from dither.curator.ledger.interface import Balance, Ledger
from dither.pages.charts import Bars, Limit, Line, bar_chart, line_chart
from dither.pages.frame import Axis, Chart
from dither.privacy import ZCDP, Loss

#: More releases than this are drawn as a line.
_MOST_BARS: Final = 24
#: Converts a release's zCDP where the budget is stated as an epsilon, to have a number to draw.
_DELTA: Final = Fraction(1, 10**9)


def balance_picture(balance: Balance) -> Chart:
    """Return what is spent, what waits and what is left at once, beside the budget."""
    name, budget = _figure_of(balance.budget)
    parts = [("spent", balance.spent), ("left for one release", balance.left)]
    parts[1:1] = [("of it waiting", balance.reserved)] if balance.waiting else []
    values = [_figure(loss, balance.budget) for _, loss in parts]
    whose = balance.dataset if balance.analyst is None else f"{balance.dataset} for {balance.analyst}"
    chart = bar_chart(
        f"Budget of {whose}",
        [words for words, _ in parts],
        [Bars("loss", values)],
        across=Axis("part of the budget"),
        up=Axis("loss", name),
        limit=Limit("budget", budget),
        area=120,
    )
    many = f"{balance.releases} {'release' if balance.releases == 1 else 'releases'}"
    return chart.captioned(f"{balance.budget}; {balance.unit}; {many}")


def spending(ledger: Ledger, dataset: str) -> Chart:
    """Return the losses of a data set's releases, added up in the order in which they were debited."""
    prices = [act.price for act in history_of(ledger, dataset) if act.price is not None]
    return spending_picture(ledger.balance(dataset), prices)


def spending_picture(balance: Balance, prices: Sequence[Loss]) -> Chart:
    """Return losses that were debited, added up in their order, beside the budget that they are part of."""
    name, budget = _figure_of(balance.budget)
    sums = list(accumulate(_figure(loss, balance.budget) for loss in prices))
    title, across, up = f"What {balance.dataset} has spent, release by release", Axis("release"), Axis("loss", name)
    places, most = range(1, len(sums) + 1), Limit("budget", budget)
    if len(sums) > _MOST_BARS:
        chart = line_chart(title, [Line("losses, added up", places, sums)], across=across, up=up, limit=most, area=150)
    else:
        bars = [Bars("losses, added up", sums)]
        chart = bar_chart(title, list(map(str, places)), bars, across=across, up=up, limit=most, area=150, width=480)
    return chart.captioned(f"{balance.spent} of {balance.budget} spent; {balance.unit}")


def _figure_of(budget: Loss) -> tuple[str, float]:
    """Return in which figure a budget counts, and how large it is."""
    return ("rho" if isinstance(budget, ZCDP) else "epsilon"), _figure(budget, budget)


def _figure(loss: Loss, budget: Loss) -> float:
    """Return a loss in the figure of a budget."""
    if isinstance(budget, ZCDP):
        return float(loss.rho)
    return float(loss.to_approx(loss.delta + _DELTA).epsilon if loss.pure is None else loss.pure)
