"""Accountants: the joint loss of several mechanisms, as tight as is known, for plans fixed in advance.

Belongs here: rules that turn what is known of mechanisms into one (epsilon, delta), and what that means for a person.
Privacy-loss distributions of dominating pairs, Renyi curves, optimal composition of epsilons and deltas, the exact
curve of Gaussian noise, amplification by sampling and by shuffling, membership. Does not belong here: filters and
budgets. Except for sums of rho and of pure epsilons, which live one room above, **no bound here holds for losses that
are chosen as the answers come**.

All figures are rounded towards more loss; floats are used only where their error is bounded and added.
"""

from dither.privacy.accountants.amplification import (
    poisson_sampled,
    sampled_with_replacement,
    sampled_without_replacement,
)
from dither.privacy.accountants.distribution import SMALLEST_DELTA, LossDistribution, compose_distributions
from dither.privacy.accountants.membership import (
    advantage,
    explain_loss,
    hockey_stick_of,
    success,
    true_positive_rate,
)
from dither.privacy.accountants.optimal import (
    advanced_epsilon,
    concentrated_epsilon,
    mixed_delta,
    mixed_epsilon,
    optimal_delta,
    optimal_epsilon,
)
from dither.privacy.accountants.pairs import (
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    FinitePair,
    GaussianPair,
    LaplacePair,
    Pair,
    ResponsePair,
    SampledPair,
    Sampling,
)
from dither.privacy.accountants.renyi import (
    ORDERS,
    RenyiCurve,
    discrete_gaussian_curve,
    gaussian_curve,
    laplace_curve,
    response_curve,
    sampled_gaussian_curve,
)
from dither.privacy.accountants.shuffling import (
    Mixture,
    any_randomiser,
    closed_form_epsilon,
    mixture_of,
    mixtures_of,
    shuffled,
    shuffled_delta,
    shuffled_loss,
)
from dither.privacy.gaussian_curve import analytic_delta, analytic_epsilon, analytic_sigma, classical_sigma

__all__ = [
    "ORDERS",
    "SMALLEST_DELTA",
    "DiscreteGaussianPair",
    "DiscreteLaplacePair",
    "FinitePair",
    "GaussianPair",
    "LaplacePair",
    "LossDistribution",
    "Mixture",
    "Pair",
    "RenyiCurve",
    "ResponsePair",
    "SampledPair",
    "Sampling",
    "advanced_epsilon",
    "advantage",
    "analytic_delta",
    "analytic_epsilon",
    "analytic_sigma",
    "any_randomiser",
    "classical_sigma",
    "closed_form_epsilon",
    "compose_distributions",
    "concentrated_epsilon",
    "discrete_gaussian_curve",
    "explain_loss",
    "gaussian_curve",
    "hockey_stick_of",
    "laplace_curve",
    "mixed_delta",
    "mixed_epsilon",
    "mixture_of",
    "mixtures_of",
    "optimal_delta",
    "optimal_epsilon",
    "poisson_sampled",
    "response_curve",
    "sampled_gaussian_curve",
    "sampled_with_replacement",
    "sampled_without_replacement",
    "shuffled",
    "shuffled_delta",
    "shuffled_loss",
    "success",
    "true_positive_rate",
]
