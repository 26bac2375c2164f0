"""Bugs in what a plan, a conversion or a filter charges, against prices by brute force."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

from dither.mechanisms import Geometric, RandomisedResponse, TruncatedLaplace
from dither.privacy import ZCDP, ApproxDP, Filter, PureDP, Repeats, conversions
from dither.privacy.plans import Best, Parallel, Repeat, Sampled, SampledExactly, Use
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import discrete_laplace, exceeds, gaussian_delta

_FAMILY = "composition and prices"
_PLANS = "dither.privacy.plans:"


def _touched() -> str:
    """One unit that touches three of four siblings, and two units: all loads, tried one by one."""
    part = Geometric(scale=1)
    for touched, units in product((1, 2, 3, 4), (1, 2)):
        plan = Parallel(Use(part), siblings=4, touched=touched)
        loads = product(range(units + 1), repeat=4)
        lost = max(sum(load) for load in loads if sum(load) <= touched * units)
        found = exceeds(float(lost), plan.loss(units).pure, f"{units} units that touch {touched} siblings each")
        if found:
            return found
    return ""


def _sampled_group() -> str:
    """Two rows more, each sampled with 1/4, and a truth that tells whether any is there: 7 of 16 samples have one."""
    plan = Sampled(Use(RandomisedResponse(epsilon=1)), Fraction(1, 4))
    caught, told = 1 - (3 / 4) ** 2, 1 / (1 + math.exp(-1))
    lost = math.log((caught * told + (1 - caught) * (1 - told)) / (1 - told))
    return exceeds(lost, plan.loss(2).pure, "two rows of which each is sampled")


def _fixed_group() -> str:
    """Two of four rows replaced, two rows kept: the sample holds none, one or both of them."""
    plan = SampledExactly(Use(Geometric(scale=1)), kept=2, of=4)
    chances = [Fraction(1, 6), Fraction(4, 6), Fraction(1, 6)]
    far = 40
    there = sum(float(chance) * discrete_laplace(1, far - count) for count, chance in enumerate(chances))
    return exceeds(math.log(there / discrete_laplace(1, far)), plan.loss(2).pure, "two rows in a sample of two")


def _best_of() -> str:
    """Try a geometric number of runs, a rare result and a rarer better one: the law of the best, summed up."""
    epsilon, stop = 1.0, 1e-9

    def best(own: float, better: float) -> float:
        # P[the best is this] = sum_k stop (1 - stop)^(k - 1) ((1 - better)^k - (1 - better - own)^k)
        on = 1 - stop

        def power(base: float) -> float:
            return stop * base / (1 - on * base)

        return power(1 - better) - power(1 - better - own)

    # The result is e times as likely, the better one e times less likely: three factors of e.
    lost = math.log(best(1e-6 * math.e, 1e-3 / math.e) / best(1e-6, 1e-3))
    plan = Best(Use(Geometric(scale=Fraction(epsilon))), Repeats(stop="1/1000", shape=1))
    return exceeds(lost, plan.loss(1).pure, "the best of a geometric number of runs")


def _group_rho() -> str:
    """Geometric noise at distance two: its relative entropy is at most rho."""
    scale, far = 10, range(-2000, 2000)
    entropy = sum(
        discrete_laplace(scale, x) * math.log(discrete_laplace(scale, x) / discrete_laplace(scale, x - 2)) for x in far
    )
    rho = float(PureDP(Fraction(1, scale), rho=Geometric(scale=scale).loss(1).rho).group(2).rho)
    return f"relative entropy {entropy:.6g} above rho {rho:.6g}" if entropy > rho * (1 + 1e-9) else ""


def _converted() -> str:
    """Gaussian noise, whose exact curve is known, from its rho."""
    claimed = float(conversions.zcdp_epsilon(Fraction(5), Fraction(1, 1000)))
    found = gaussian_delta(math.sqrt(10), claimed)
    return f"at epsilon {claimed:.6g} delta is {found:.6g}, and 0.001 is claimed" if found > 1e-3 else ""


def _group_of_delta() -> str:
    """Try a chain of three laws on one event: 0, delta, delta * (1 + e^epsilon)."""
    epsilon, delta = Fraction(1), Fraction(1, 1000)
    found, claimed = float(delta) * (1 + math.e), float(conversions.group_delta(epsilon, delta, 2))
    return f"delta {found:.6g} above {claimed:.6g}" if found > claimed * (1 + 1e-9) else ""


def _delta_twice() -> str:
    """Try a release that leaks with all of delta, and then Gaussian noise: not both fit one budget."""
    counted = Filter(ApproxDP(1, "1e-3"))
    counted.spend(ApproxDP("1/1000", "1e-3"))
    rho = Fraction(1)
    while rho > Fraction(1, 10**4) and not counted.admits(ZCDP(rho)):
        rho /= 2
    if not counted.admits(ZCDP(rho)):
        return ""
    delta = 1e-3 + (1 - 1e-3) * gaussian_delta(math.sqrt(2 * float(rho)), 0.999)
    return f"delta {delta:.9g} was admitted to a budget of 0.001" if delta > 1e-3 * (1 + 1e-9) else ""


def _rounds() -> str:
    """Three draws in a row."""
    plan = Repeat(Use(Geometric(scale=1)), 3)
    return exceeds(3.0, plan.loss(1).pure, "three draws at distance 1")


def _leak_in_sample() -> str:
    """Try a release that leaks a sampled row with chance delta: it leaks with rate times delta."""
    inner = TruncatedLaplace(scale=1, bound=2)
    plan = Sampled(Use(inner), Fraction(1, 8))
    charged = plan.loss(1)
    # Where the row is in the sample the largest integer is new: nothing else gives it.
    weights = [math.exp(-abs(x)) for x in range(-2, 3)]
    leak = weights[-1] / sum(weights) / 8
    return f"delta {leak:.6g} above {float(charged.delta):.6g}" if leak > float(charged.delta) else ""


PRICES = (
    Plant(
        9,
        "a unit touches two siblings at most",
        _FAMILY,
        "a person in three or more disjoint parts is charged for two",
        ("partitioned-query", "adaptive-parts", "query"),
        edited(_PLANS + "Parallel.loss", ("min(self.touched, self.siblings)", "min(self.touched, self.siblings, 2)")),
        _touched,
    ),
    Plant(
        10,
        "several rows are sampled as one",
        _FAMILY,
        "a group of rows in a Poisson sample is charged at the rate of one row",
        ("poisson-sample",),
        edited(_PLANS + "Sampled.loss", ("1 - _power_down(1 - self.rate, distance)", "self.rate")),
        _sampled_group,
        is_known_kind=True,
    ),
    Plant(
        11,
        "a fixed sample holds one replaced row at most",
        _FAMILY,
        "a group of rows in a sample of fixed size is charged as one row inside it",
        ("fixed-size-sample",),
        edited(
            _PLANS + "SampledExactly.loss",
            ("self.plan.loss(min(distance, self.kept))", "self.plan.loss(min(distance, 1))"),
        ),
        _fixed_group,
        is_known_kind=True,
    ),
    Plant(
        12,
        "the best of a geometric number of runs costs two runs",
        _FAMILY,
        "shape 1 is charged as shape 0",
        ("repeat-and-select", "repeated-tuning"),
        edited(_PLANS + "Best.loss", ("(2 + self.repeats.shape)", "2")),
        _best_of,
    ),
    Plant(
        13,
        "rho of a group grows in proportion",
        _FAMILY,
        "two units together are charged twice the rho of one, and lose four times",
        ("privbayes", "mwem", "lifted"),
        edited(
            "dither.privacy.losses:PureDP.group", ("rho=_short(size * size * self.rho)", "rho=_short(size * self.rho)")
        ),
        _group_rho,
    ),
    Plant(
        14,
        "zCDP is converted with the order for the order less one",
        _FAMILY,
        "epsilon at a delta is too small where rho is large",
        ("minibatch-descent", "query"),
        edited("dither.privacy.conversions:zcdp_epsilon", ("/ (alpha - 1) + log_up", "/ alpha + log_up")),
        _converted,
    ),
    Plant(
        15,
        "delta of a group grows in proportion",
        _FAMILY,
        "the factor e^epsilon of group privacy is missing from delta",
        ("stability-selection", "lifted", "diffpart"),
        edited(
            "dither.privacy.conversions:group_delta",
            ("sum((growth**power for power in range(size)), Fraction(0))", "Fraction(size)"),
        ),
        _group_of_delta,
    ),
    Plant(
        16,
        "delta is used for releases and for the conversion",
        _FAMILY,
        "a filter admits all of delta to releases and converts rho with it as well",
        ("aim", "priv-basis", "query"),
        edited(
            "dither.privacy.filters:Division.holds",
            ("if total.delta > self.terms:", "if total.delta > self.budget.delta:"),
        ),
        _delta_twice,
    ),
    Plant(
        17,
        "the last round of a loop is free",
        _FAMILY,
        "a loop of several rounds is charged for one round less",
        ("gradient-descent", "mst", "structure-first", "prefix-journeys"),
        edited(_PLANS + "Repeat.loss", (".times(self.times)", ".times(max(self.times - 1, min(self.times, 1)))")),
        _rounds,
        is_known_kind=True,
    ),
    Plant(
        18,
        "delta is amplified twice by sampling",
        _FAMILY,
        "delta of a sampled plan is multiplied by the square of the rate",
        ("poisson-sample",),
        edited(_PLANS + "_amplified", ("caught * inner.delta)", "caught * caught * inner.delta)")),
        _leak_in_sample,
    ),
)
