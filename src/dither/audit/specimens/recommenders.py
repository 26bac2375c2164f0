"""Recommenders: sensitivities read from ratings, and ratings that no noise reaches."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dither.audit.specimens.record import BOOK, Odds, Source, Specimen, premise, told_apart
from dither.exact import exp_down, exp_up
from dither.privacy import PureDP

_NOISES = (Fraction(-3, 2), Fraction(-1, 7), Fraction(1, 3), Fraction(5))


def aware_sensitivity(ratings: Sequence[int]) -> Fraction:
    """Return the recommendation-aware sensitivity of two items that every user rated alike.

    Their cosine is 1. Without a user who gave both r it is r^2 over what is left of the squares, the larger term of
    lemma 10.1.
    """
    squares = sum(rating**2 for rating in ratings)
    return max(Fraction(rating**2, squares - rating**2) for rating in ratings)


def aware_noise(ratings: Sequence[int], other_ratings: Sequence[int]) -> Odds:
    """Return the odds that the noisy similarity is near 1, under noise of scale 2 k RS / epsilon, k = epsilon = 1."""
    here, there = (2 * aware_sensitivity(given) for given in (ratings, other_ratings))
    return Odds(f"a similarity within {float(here):.3g} of 1", 1 - exp_up(Fraction(-1)), 1 - exp_down(-here / there))


def exact_denominator(ratings: Sequence[int], other_ratings: Sequence[int]) -> Odds:
    """Return the odds that the mean of an item is near 0: (sum + Laplace noise of scale 2 B / epsilon) / (number + 1).

    At epsilon = 1/10 and B = 1, for ratings of 0 alone and a global mean of 0.
    """
    premise(not any(ratings) and not any(other_ratings), "all ratings are 0")
    near, rate = Fraction(1, 2), Fraction(1, 20)
    here, there = (near * rate * (len(given) + 1) for given in (ratings, other_ratings))
    return Odds("a mean within 0.5 of 0", 1 - exp_up(-here), 1 - exp_down(-there))


def swapped_bounds(rating: int, other_rating: int, *, bound: Fraction = Fraction(1, 8)) -> Odds:
    """Return the odds that the factor of a user with one rating r in [-1, 1] is at its largest, 1/8.

    The factor minimises (r - p q)^2 + p^2 for an item of factor q = 1, so it is r / 2 before noise of scale
    2 k * bound * 2 B / (epsilon n lambda) = 4 * bound, k = epsilon = lambda = B = 1, and is then clamped to 1/8.
    Printed is the largest p for ``bound``; what moves the minimiser is the largest q, which is 1.
    """
    premise((rating, other_rating) == (1, -1), "the ratings are 1 and -1")
    largest = Fraction(1, 8)
    scale = 4 * bound
    least = 1 - exp_up(-(Fraction(rating, 2) - largest) / scale) / 2
    most = exp_up(-(largest - Fraction(other_rating, 2)) / scale) / 2
    return Odds("a factor at its largest", least, most)


def predictions(deviation: Fraction) -> set[Fraction]:
    """Return by how much a prediction from one neighbour differs from the user's own mean, for several noises.

    Args:
        deviation: the neighbour's rating less the neighbour's mean, which similarities weigh.

    """
    similarity = Fraction(1, 2)
    return {(similarity + noise) * deviation / abs(similarity + noise) for noise in _NOISES}


def raw_ratings(deviation: Fraction, other_deviation: Fraction) -> Odds:
    """Return the odds of a prediction that is, but for its sign, the neighbour's own deviation: similarities cancel."""
    here, there = ({abs(found) for found in predictions(given)} for given in (deviation, other_deviation))
    premise((here, there) == ({deviation}, {other_deviation}), "the prediction is the deviation, for any noise")
    return told_apart(here, there, f"a prediction {deviation} away from the user's mean")


SPECIMENS = (
    Specimen(
        name="recommendation-aware-sensitivity",
        source=Source(BOOK, "10.4.2.2, lemma 10.1 (PNCF)"),
        claim=PureDP(1),
        what_is_wrong="It is a local sensitivity, read from the ratings: one user who rates higher than the others "
        "makes the noise 25 times as large, at the same similarity.",
        value=(1,) * 1000,
        neighbour=(1,) * 1000 + (5,),
        step="one user is added",
        refuted_by="closed form",
        replacement="item-covariance",
        weigh=aware_noise,
    ),
    Specimen(
        name="exact-denominators",
        source=Source(BOOK, "10.3.1, equations 10.8 and 10.9"),
        claim=PureDP(Fraction(1, 10)),
        what_is_wrong="Noisy sums are divided by exact numbers of ratings: with one rating more the noise shrinks, "
        "here to half.",
        value=(0,),
        neighbour=(),
        step="one rating is removed",
        refuted_by="closed form",
        replacement="item-covariance",
        weigh=exact_denominator,
    ),
    Specimen(
        name="swapped-factor-bounds",
        source=Source(BOOK, "10.3.2.3, alternating least squares"),
        claim=PureDP(1),
        what_is_wrong=(
            "The noise on a user's factor is scaled by the largest user factor; its change depends on the largest "
            "item factor."
        ),
        value=1,
        neighbour=-1,
        step="the value of one rating is changed",
        refuted_by="closed form",
        weigh=swapped_bounds,
    ),
    Specimen(
        name="raw-neighbour-ratings",
        source=Source(BOOK, "10.2.1 and 10.4.2, prediction by users (PNCF)"),
        claim=PureDP(1),
        what_is_wrong="Only similarities are noisy; the ratings that they weigh are not. With one neighbour the weight "
        "cancels and the rating is the answer.",
        value=Fraction(2),
        neighbour=Fraction(1),
        step="the value of one rating is changed",
        refuted_by="exact argument",
        replacement="item-covariance",
        weigh=raw_ratings,
    ),
)
