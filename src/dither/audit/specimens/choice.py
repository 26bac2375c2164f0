"""Choices whose scores move farther than their weights allow for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

from dither.audit.specimens.laws import claimed
from dither.audit.specimens.record import BOOK, SASKATCHEWAN, Odds, Source, Specimen, premise
from dither.exact import exp_down, exp_up, log_down, log_up
from dither.privacy import PureDP

Rows = tuple[tuple[str, int], ...]


def without_two(scores: Sequence[int], other_scores: Sequence[int]) -> Odds:
    """Return the odds of choosing the first candidate with weights 2^score: e^(epsilon * score), epsilon = ln 2."""
    here, there = (
        Fraction(2) ** given[0] / sum(Fraction(2) ** score for score in given) for given in (scores, other_scores)
    )
    return Odds("the first candidate", here, there)


def entropy(labels: Sequence[object], log: Callable[[Fraction], Fraction]) -> Fraction:
    """Return a bound on the entropy of labels in nats, on the side to which logarithms are rounded."""
    size = len(labels)
    counts = Counter(labels).values()
    return sum((Fraction(count, size) * log(Fraction(size, count)) for count in counts), Fraction(0))


def gain_ratio_down(rows: Rows) -> Fraction:
    """Return at most the information gain of splitting rows (branch, class) by branch, over the entropy of branches.

    Exact where nothing is split: the ratio is then 0 by convention.
    """
    branches = Counter(branch for branch, _ in rows)
    if len(branches) == 1:
        return Fraction(0)
    left = Fraction(0)
    for branch, count in branches.items():
        left += Fraction(count, len(rows)) * entropy([label for other, label in rows if other == branch], log_up)
    gain = entropy([label for _, label in rows], log_down) - left
    return max(gain, Fraction(0)) / entropy([branch for branch, _ in rows], log_up)


def choose_by_gain_ratio(rows: Rows, other_rows: Rows) -> Odds:
    """Return the odds of choosing a useless attribute rather than this one, by weights e^(ratio / (2 sensitivity))."""
    size = max(len(rows), len(other_rows))
    # That of the information gain: (log2(N + 1) + 1 / ln 2) / N bits (Friedman and Schuster 2010).
    sensitivity = (log_up(Fraction(size + 1)) + 1) / log_down(Fraction(2)) / size
    premise(len({branch for branch, _ in rows}) == 1, "the ratio of the first input is exact")
    here, there = (gain_ratio_down(given) / (2 * sensitivity) for given in (rows, other_rows))
    return Odds("the useless attribute", 1 / (1 + exp_up(here)), 1 / (1 + exp_down(there)))


def squared_errors(cells: Sequence[int]) -> list[Fraction]:
    """Return, for every cut into two buckets, how far the cells are from the means of their buckets."""

    def spread(bucket: Sequence[int]) -> Fraction:
        return sum(Fraction(cell) ** 2 for cell in bucket) - Fraction(sum(bucket)) ** 2 / len(bucket)

    return [spread(cells[:cut]) + spread(cells[cut:]) for cut in range(1, len(cells))]


def bound_from_data(cells: Sequence[int], other_cells: Sequence[int], *, bound: int | None = None) -> Odds:
    """Return the odds of a poor cut under weights e^(-error / (2 (2 F + 1))), F the largest cell or a public bound."""
    poorest = 0

    def probability(
        given: Sequence[int], up: Callable[[Fraction], Fraction], down: Callable[[Fraction], Fraction]
    ) -> Fraction:
        rate = Fraction(1, 2 * (2 * (max(given) if bound is None else bound) + 1))
        errors = squared_errors(given)
        best = min(errors)
        return up((best - errors[poorest]) * rate) / sum(down((best - error) * rate) for error in errors)

    return Odds(
        "a cut after the first cell", probability(cells, exp_down, exp_up), probability(other_cells, exp_up, exp_down)
    )


SPECIMENS = (
    Specimen(
        name="exponential-without-two",
        source=Source(SASKATCHEWAN, "1.1.3"),
        claim=claimed(2),
        what_is_wrong="Weights e^(epsilon * score) lack the 2 of e^(epsilon * score / (2 sensitivity)): "
        "one candidate gains while all the others lose.",
        value=(1,) + (0,) * 8,
        neighbour=(0,) + (1,) * 8,
        step="every score moves by at most 1",
        refuted_by="closed form",
        replacement="exponential",
        weigh=without_two,
    ),
    Specimen(
        name="gain-ratio",
        source=Source(BOOK, "6.1.2.1"),
        claim=PureDP(1),
        what_is_wrong=(
            "One row that is alone in its branch makes the ratio 1, and without it the ratio is 0, for any number of "
            "rows: the quotient has not the small sensitivity of the information gain."
        ),
        value=(("common", 0),) * 999,
        neighbour=(("common", 0),) * 999 + (("rare", 1),),
        step="one row is added",
        refuted_by="closed form",
        replacement="chosen-tree",
        weigh=choose_by_gain_ratio,
    ),
    Specimen(
        name="structure-from-data",
        source=Source(BOOK, "4.2.2, StructureFirst, where the bound F is read from the data"),
        claim=PureDP(1),
        what_is_wrong="The largest count that scales the scores is that of the data: "
        "one more row in the largest cell rescales them all.",
        value=(2,) + (1,) * 63 + (0,) * 64,
        neighbour=(1,) * 64 + (0,) * 64,
        step="one row is removed",
        refuted_by="closed form",
        replacement="structure-first",
        weigh=bound_from_data,
    ),
)
