"""What local reports can achieve at best, and how many people they need: calculators of the theory.

The best possible error of a mean (Duchi, Jordan and Wainwright 2013), with its constant worked out here, and
statistical queries answered by local reports (Kasiviswanathan et al. 2011). Public numbers alone; the proofs are in
docs/theory/local-limits.md.
"""

from __future__ import annotations

from fractions import Fraction

from dither.exact import Number, exp_up, log_up, positive, probability, round_up, whole


def contraction(epsilon: Number) -> Fraction:
    """Return how many times the squared distance of two laws the reports of them can differ, rounded up.

    The two relative entropies of the reports add up to at most this times the squared total variation of the answers.

    >>> round(float(contraction("0.5")), 4)
    0.4208
    """
    return round_up((exp_up(positive("epsilon", epsilon, at_most=50)) - 1) ** 2)


def least_mean_error(epsilon: Number, *, people: int, radius: Number = 1) -> Fraction:
    """Return a mean squared error that no estimate of a mean from local reports goes below for all populations.

    Everybody has a number between ``-radius`` and ``radius``, drawn from an unknown law whose mean is estimated, and
    reports once, in one round. The rate is that of 1 / (people * epsilon^2), where a trusted curator's is 1 / people.

    >>> round(float(least_mean_error("0.5", people=10_000)) * 10_000, 4)
    0.7041
    """
    count, reach = whole("people", people, least=1), positive("radius", radius)
    # delta^2 / 2 * (1 - rate * delta), the best delta being 2 / (3 rate), or 1 where that is above it.
    square = contraction(epsilon) * count / 4
    if square <= Fraction(4, 9):
        # Then delta = 1 is allowed; the root of the square is at most 2/3, so that a third is left at least.
        return reach * reach / 6
    return reach * reach * Fraction(2, 27) / square


def duchi_error(epsilon: Number, *, people: int, radius: Number = 1) -> Fraction:
    """Return the largest mean squared error of the estimate from one-bit reports, which has the best rate; rounded up.

    >>> round(float(duchi_error("0.5", people=10_000)) * 10_000, 2)
    16.67
    """
    count, reach = whole("people", people, least=1), positive("radius", radius)
    ratio = exp_up(positive("epsilon", epsilon, at_most=50))
    # (x + 1) / (x - 1) falls with x, and exp_up is right to a part in 10^38.
    scale = (ratio + 1) / (ratio - 1) * (1 + Fraction(1, 10**30))
    return round_up((reach * scale) ** 2 / count)


def people_for_queries(epsilon: Number, *, queries: int, tolerance: Number, failure: Number) -> int:
    """Return how many people answer that many statistical queries by local reports, each person one of them.

    A statistical query is the mean of a function between -1 and 1 over the population. With probability ``1 -
    failure`` all answers are within ``tolerance``.

    >>> people_for_queries(1, queries=10, tolerance="0.1", failure="0.05")
    56120
    """
    count, width = whole("queries", queries, least=1), positive("tolerance", tolerance)
    ratio = exp_up(positive("epsilon", epsilon, at_most=50))
    scale = (ratio + 1) / (ratio - 1) * (1 + Fraction(1, 10**30))
    needed = 2 * scale * scale * log_up(2 * count / probability("failure", failure, open_below=True)) / width**2
    return count * -(-needed.numerator // needed.denominator)


def people_for_learning(epsilon: Number, *, hypotheses: int, excess: Number, failure: Number) -> int:
    """Return how many people find, by local reports, a hypothesis within ``excess`` of the best of a finite class.

    The error of each hypothesis is one statistical query, known to within half the excess.

    >>> people_for_learning(1, hypotheses=10, excess="0.2", failure="0.05")
    14030
    """
    # An error is (1 + a query) / 2: a query within the excess is an error within half of it.
    return people_for_queries(epsilon, queries=hypotheses, tolerance=excess, failure=failure)


def reports_for_parity(epsilon: Number, *, bits: int) -> Fraction:
    """Return a number of reports of one round up to which no method finds which of 2^bits parities holds.

    A method finds it with probability at most 1/2 + 2^-bits, where a curator needs about ``bits / epsilon`` rows.

    >>> round(reports_for_parity(1, bits=20))
    710299
    """
    count = whole("bits", bits, least=1, most=10**4)
    return Fraction(2 ** (count + 1)) / contraction(epsilon)
