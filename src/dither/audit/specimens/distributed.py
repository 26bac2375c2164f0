"""The Adelaide thesis on sums of many curators, chapters 4 and 5."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dither.audit.specimens.laws import HALF, at_least
from dither.audit.specimens.record import ADELAIDE, Odds, Source, Specimen, premise
from dither.exact import log_up
from dither.privacy import PureDP

#: The setting of the thesis: 10,000 curators add noise one time in 10,000, and 5 aggregators one time in 100.
_CURATORS, _CURATOR_NOISE = 10_000, Fraction(1, 10_000)
_AGGREGATORS, _AGGREGATOR_NOISE = 5, Fraction(1, 100)
_WEIGHTS = (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))


def no_noise_at_all() -> Fraction:
    """Return the probability that none of the curators adds noise.

    >>> round(float(no_noise_at_all()), 3)
    0.35
    """
    return (1 - _CURATOR_NOISE) ** _CURATORS * (1 - _AGGREGATOR_NOISE) ** _AGGREGATORS


def skipped_noise(total: int, other_total: int) -> Odds:
    """Return the odds of the exact total: with continuous noise, no draw makes up for a difference."""
    exactly = no_noise_at_all()
    return Odds(f"the total {total} itself", exactly, exactly if total == other_total else Fraction(0))


def proportional_shares(secret: int, other_secret: int) -> Odds:
    """Return the odds that one aggregator is sent 0: a share is the secret times a weight, and is seldom noised."""
    here, there = ({weight * given for weight in _WEIGHTS} for given in (secret, other_secret))
    premise(here == {0} and 0 not in there, "zero stays zero under every weight, and nothing else becomes zero")
    return Odds("a share of 0", 1 - _CURATOR_NOISE, Fraction(0))


def inverted_bound(counts: Sequence[int], other_counts: Sequence[int]) -> Odds:
    """Return the odds that the first curator's noisy count is as large as it is, noise of ratio 1/2 on each count.

    The others collude: they take their own counts and noise away from the sum.
    """
    first, other_first = counts[0], other_counts[0]
    return Odds(f"at least {first} from the first curator", at_least(HALF, 0), at_least(HALF, first - other_first))


def bound_of_the_theorem(counts: Sequence[int]) -> PureDP:
    """Return what theorem 5.1 promises to a curator: the largest |U| * D_i / f(x_i) * epsilon_i, D_i = 1."""
    epsilon = log_up(Fraction(2))
    return PureDP(max(Fraction(len(counts), count) * epsilon for count in counts))


_COUNTS = (8, 8)

SPECIMENS = (
    Specimen(
        name="skipped-noise",
        source=Source(ADELAIDE, "4.2, algorithm 4.1 and proposition 4.1"),
        claim=PureDP(10),
        what_is_wrong="Noise is added with a small probability, and the proof forgets what happens otherwise: at the "
        "thesis's own setting the exact total comes out 35 times in a hundred.",
        value=1000,
        neighbour=999,
        step="one record is removed",
        refuted_by="exact argument",
        replacement="geometric",
        weigh=skipped_noise,
    ),
    Specimen(
        name="proportional-shares",
        source=Source(ADELAIDE, "4.2, algorithm 4.1, step 1"),
        claim=PureDP(10),
        what_is_wrong="A share that is a weight times the secret hides nothing: a share of zero is a secret of zero, "
        "and known weights give every secret.",
        value=0,
        neighbour=1,
        step="a secret that moves by 1",
        refuted_by="exact argument",
        weigh=proportional_shares,
    ),
    Specimen(
        name="inverted-local-to-global-bound",
        source=Source(ADELAIDE, "theorem 5.1"),
        claim=bound_of_the_theorem(_COUNTS),
        what_is_wrong=(
            "A curator's loss is claimed to fall with what the curator contributes; it grows with it. A curator with "
            "8 records loses 8 times what one record does."
        ),
        value=_COUNTS,
        neighbour=(0, *_COUNTS[1:]),
        step="one curator is removed",
        refuted_by="closed form",
        replacement="dither.privacy.PureDP",
        weigh=inverted_bound,
    ),
)
