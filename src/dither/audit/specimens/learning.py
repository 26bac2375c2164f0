"""Training: noise on the wrong function, at the wrong moment, or without end."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from dither.audit.specimens.record import BOOK, Odds, Source, Specimen, premise, told_apart
from dither.exact import exp_down, exp_up
from dither.noise import system_noise
from dither.privacy import PureDP

_NEAR = Fraction(1, 10)
_UPLOADS = 20_000


def _sigmoid_down(x: Fraction) -> Fraction:
    return 1 / (1 + exp_up(-x))


def _sigmoid_up(x: Fraction) -> Fraction:
    return 1 / (1 + exp_down(-x))


def weight_near_zero(penalty: Fraction, scale: Fraction) -> Odds:
    """Return the odds of a weight within h = 0.1 of 0, for logistic regression on one record of feature 1 or 0.

    The weight w minimises loss + penalty w^2 / 2 + b w, b of Laplace's law. For feature x that means
    b = x sigmoid(-x w) - penalty w, which falls in w: so w is in (-h, h) exactly when b is between its values at h and
    -h.
    """
    first, last = _sigmoid_up(-_NEAR) - penalty * _NEAR, _sigmoid_down(_NEAR) + penalty * _NEAR
    premise(first > 0, "both ends are above 0, as the formula below takes for granted")
    least = (exp_down(-first / scale) - exp_up(-last / scale)) / 2
    most = 1 - exp_down(-penalty * _NEAR / scale)
    return Odds(f"a weight within {float(_NEAR)} of 0", max(least, Fraction(0)), most)


def uncorrected_objective(feature: int, other_feature: int) -> Odds:
    """Return the odds under the printed noise of scale 2 / epsilon, at epsilon = 1 and a penalty of 0.01."""
    premise((feature, other_feature) == (1, 0), "the features are 1 and 0")
    return weight_near_zero(Fraction(1, 100), Fraction(2))


def unclipped_gradient(label: int, count: int) -> NDArray[Any]:
    """Return the gradient of (w - y)^2 / 2 at w = 0 plus Laplace noise of the sensitivity of that loss, in halves.

    The loss y^2 / 2 moves by at most 1/2 for labels in [-1, 1], so the noise has scale 1/2: one half.
    """
    return -2 * label + system_noise().discrete_laplace(1, count)


def moving_encoder(feature: int, other_feature: int) -> Odds:
    """Return the odds that a coefficient is the same before and after the encoder has moved from 0 to 1.

    The coefficient is (1/2 - x) sigmoid(W x) plus one and the same noise at every step, which the difference loses.
    """

    def is_unmoved(given: int) -> bool:
        return given == 0 or not _sigmoid_down(Fraction(given)) > Fraction(1, 2)

    premise(is_unmoved(feature), "the first coefficient does not move")
    return told_apart(is_unmoved(feature), is_unmoved(other_feature), "the same coefficient before and after a step")


def uploads_made(allowed: int, patience: int) -> int:
    """Return the number of uploads that the printed lines make before they halt, or the limit of the count."""
    made = 0
    while made < patience:
        count = 0  # line 2
        made += 1  # lines 3 to 8
        count += 1
        if count >= allowed:  # line 9; or else go to line 1
            break
    return made


def counter_reset(sign: int, other_sign: int) -> Odds:
    """Return the odds that at least half of the first 20,000 uploads are +1/2, at epsilon = 1 and c = 2.

    Gradients are +1/2 or -1/2, as large in absolute value, so the test lets them pass alike; an upload adds noise of
    scale 2 c / epsilon_2 = 36 and is then clamped to [-1/2, 1/2]. From +1/2 it is +1/2 with probability one half, and
    from -1/2 less often; Hoeffding's inequality bounds how often that is half of the time.
    """
    premise((sign, other_sign) == (1, -1), "the signs are 1 and -1")
    premise(uploads_made(2, _UPLOADS) == _UPLOADS, "the run is not halted after two uploads")
    short = (1 - exp_up(Fraction(-1, 36))) / 2
    most = exp_up(-2 * _UPLOADS * short**2)
    return Odds(f"half of {_UPLOADS:,} uploads are the largest gradient allowed", Fraction(1, 2), most)


SPECIMENS = (
    Specimen(
        name="objective-perturbation-uncorrected",
        source=Source(BOOK, "6.2.2.2, algorithm 3"),
        claim=PureDP(1),
        what_is_wrong="How strongly weights are squeezed together depends on the data: without the correction of "
        "epsilon and the extra penalty, few records and a small penalty give them away.",
        value=1,
        neighbour=0,
        step="the only record is replaced",
        refuted_by="closed form",
        replacement="objective-perturbation",
        weigh=uncorrected_objective,
    ),
    Specimen(
        name="laplace-descent-without-clipping",
        source=Source(BOOK, "7.3.1, algorithm 2"),
        claim=PureDP(1),
        what_is_wrong=(
            "The noise has the sensitivity of the loss, and goes to its gradient, which moves four times more here "
            "and without bound where records have no bound."
        ),
        value=1,
        neighbour=-1,
        step="the only record of a batch is replaced",
        refuted_by="sampling",
        replacement="gradient-descent",
        sample=unclipped_gradient,
    ),
    Specimen(
        name="moving-encoder",
        source=Source(BOOK, "7.3.3, algorithm 4 (deep private auto-encoder)"),
        claim=PureDP(1),
        what_is_wrong="One draw of noise is to cover coefficients that change with the weights: from one step to the "
        "next it cancels. Shown for weights that are seen at two steps.",
        value=0,
        neighbour=1,
        step="the only record is replaced",
        refuted_by="exact argument",
        weigh=moving_encoder,
    ),
    Specimen(
        name="selective-descent-counter-reset",
        source=Source(BOOK, "7.3.4.1, algorithm 6"),
        claim=PureDP(1),
        what_is_wrong="After an upload the run goes back to lines 1 and 2, which set the count of uploads to 0: "
        "for c of 2 or more it never halts, and each upload costs.",
        value=1,
        neighbour=-1,
        step="one record that turns the gradients round",
        refuted_by="closed form",
        replacement="numeric-sparse",
        weigh=counter_reset,
    ),
)
