"""Attacks that learn from the whole table what goes with what, and use it within a class; and a plain classifier.

*deFinetti* (Kifer 2009): rows of a class are not equally likely to have each of its values, because other classes show
which quasi-identifiers go with which values. *Freeform* (Wang, Xu, Fu, Wong 2009): a column that was not thought of as
a quasi-identifier is seen, and tells rows of a class apart. *Foreground* (Wong, Fu, Wang, Yu, Pei 2011): a regression
over all classes tells which value goes with which kind of people, one quasi-identifier at a time. As in ``tables``,
figures are of one release and bound nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from dither.attack.tables import MOST_CELLS, Codes, Found, View, Weights

_ROUNDS: Final = 10
_BALANCES: Final = 5
_LEAST: Final = 1e-300
#: A rate that least squares finds below this is taken for this: nobody is ruled out by chance.
_RULED_OUT: Final = 0.005


def speaking(known: Sequence[Codes], widths: Sequence[int], soft: Weights) -> list[Weights]:
    """Return for each column the logarithm of how likely each of its values is with each label (naive Bayes).

    Args:
        known: the columns, from 0 on.
        widths: how many values each has.
        soft: a row for each person, a column for each label: how much of the person has it.

    """
    totals = soft.sum(axis=0) + 1.0
    found = []
    for codes, width in zip(known, widths, strict=True):
        pairs = np.column_stack([np.bincount(codes, weights=line, minlength=width) for line in soft.T])
        # One row more, spread evenly, so that nothing is impossible.
        found.append(np.asarray(np.log((pairs + 1 / width) / totals)))
    return found


def classified(
    known: Sequence[Codes], widths: Sequence[int], labels: Codes, size: int, asked: Sequence[Codes]
) -> Codes:
    """Return the likeliest label of each asked row, learned from rows with labels by naive Bayes."""
    soft = np.eye(size)[labels]
    scores = np.tile(np.log(soft.sum(axis=0) + 1.0), (len(asked[0]), 1))
    for table, codes in zip(speaking(known, widths, soft), asked, strict=True):
        scores += table[codes]
    return np.asarray(scores.argmax(axis=1))


def definetti(view: View, values: Codes, known: Sequence[Codes], widths: Sequence[int]) -> Found | None:
    """Guess everybody's value by what goes with their true quasi-identifiers, within the values of their class.

    ``chance`` is here what the counts of the class give without it. None where the table is too large.

    Args:
        view: what the classes say: counts of values.
        values: of the people.
        known: their true quasi-identifiers, from 0 on.
        widths: how many values each has.

    """
    counts = view.weights
    if len(values) * counts.shape[1] > MOST_CELLS:
        return None
    shares = view.shares()
    soft = shares[view.of_row]
    for _ in range(_ROUNDS):
        scores = np.zeros_like(soft)
        for table, codes in zip(speaking(known, widths, soft), known, strict=True):
            scores += table[codes]
        soft = shares[view.of_row] * np.exp(scores - scores.max(axis=1, keepdims=True))
        # A class gives out each of its values as often as it has it.
        for _ in range(_BALANCES):
            soft /= np.maximum(soft.sum(axis=1, keepdims=True), _LEAST)
            given = np.column_stack([np.bincount(view.of_row, weights=line, minlength=len(counts)) for line in soft.T])
            soft *= (counts / np.maximum(given, _LEAST))[view.of_row]
        soft /= np.maximum(soft.sum(axis=1, keepdims=True), _LEAST)
    share = float(np.mean(soft.argmax(axis=1) == values))
    plain = float(np.mean(shares.argmax(axis=1)[view.of_row] == values))
    words = "value inferred from what goes together in other classes (by chance: by counts)"
    return Found("definetti", words, share, plain, len(values))


def foreground(view: View, values: Codes, known: Sequence[Codes], widths: Sequence[int]) -> Found | None:
    """Guess everybody's value by the rates of their kind, within the values of their class.

    Kinds are the values of that quasi-identifier whose numbers in the classes tell those of sensitive values best, by
    least squares. ``chance`` is here what the counts of the class give without it. None where the table is too large.

    Args:
        view: what the classes say: counts of values.
        values: of the people.
        known: their true quasi-identifiers, from 0 on.
        widths: how many values each has.

    """
    counts, shares = view.weights, view.shares()
    classes, size = counts.shape
    if not known or max(len(values) * size, classes * max(widths), max(widths) * size) > MOST_CELLS:
        return None
    best: tuple[float, Codes, Weights] | None = None
    for codes, width in zip(known, widths, strict=True):
        members = np.bincount(view.of_row * width + codes, minlength=classes * width).reshape(classes, width)
        rates, *_ = np.linalg.lstsq(members.astype(np.float64), counts, rcond=None)
        left = float(np.sum((counts - members @ rates) ** 2))
        if best is None or left < best[0]:
            best = left, codes, np.asarray(rates, dtype=np.float64)
    assert best is not None  # noqa: S101 - there is a column
    # What is frequent in the whole table is frequent in every class already.
    usual = np.maximum(counts.sum(axis=0) / len(values), _LEAST)
    gains = np.maximum(best[2], _RULED_OUT) / usual
    told = (shares[view.of_row] * gains[best[1]]).argmax(axis=1)
    share = float(np.mean(told == values))
    plain = float(np.mean(shares.argmax(axis=1)[view.of_row] == values))
    words = "value inferred from the rates of one column's kinds (by chance: by counts)"
    return Found("foreground", words, share, plain, len(values))


def freeform(view: View, values: Codes, seen: Codes, column: str) -> Found | None:
    """Guess everybody's value, having seen one more column of the table; None where the table is too large.

    ``chance`` is here what the counts of the class give without it.

    Args:
        view: what the classes say.
        values: of the people.
        seen: the other column, from 0 on.
        column: its name.

    """
    size = view.weights.shape[1]
    kinds, of_row = np.unique(view.of_row * (int(seen.max()) + 1) + seen, return_inverse=True)
    if len(kinds) * size > MOST_CELLS:
        return None
    both = View.of_classes(of_row.astype(np.int64), values, size)
    share = float(both.weights.max(axis=1).sum() / len(values))
    plain = float(view.weights.max(axis=1).sum() / len(values))
    words = f"value inferred once {column} is seen as well (by chance: by counts)"
    return Found("freeform", words, share, plain, len(values))
