"""Bugs in prices, samples and ledgers: a power that is missing, a group that is one unit, a certificate too far."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from dither.curator.ledger.admission import Certificates
from dither.curator.ledger.amounts import UNITS, ZERO, Amount
from dither.curator.ledger.terms import Allowance
from dither.mechanisms import BoundedGeometric, Geometric, sample_and_aggregate
from dither.privacy import ZCDP, ApproxDP, Parallel, PureDP, Use, losses
from dither.privacy.plans import Sampled, SampledExactly
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import exceeds

_PRICES, _SAMPLES, _LEDGER = "composition and prices", "samples", "ledger arithmetic and stored answers"


def _chain() -> str:
    """Three laws in a row, of an event that grows from 0 to d, and from d to d (1 + e)."""
    found, charged = 0.001 * (1 + math.e), float(ApproxDP(1, "0.001").group(2).delta)
    return f"delta {found:.6g} is lost by two, and {charged:.6g} is charged" if found > charged else ""


def _two_replaced() -> str:
    """Two replaced rows, each of which leaves one part and enters another: four parts move by one."""
    return exceeds(4.0, Parallel(Use(Geometric(scale=1)), 8, 2).loss(2).pure, "four parts of the data")


def _dearest() -> str:
    """Take the larger of two deltas."""
    found = losses.largest([ApproxDP(2, "1e-6"), ApproxDP(1, "1e-3")]).delta
    return f"delta {float(found):g} does not cover 1e-3" if found < Fraction(1, 1000) else ""


def _three_deltas() -> str:
    """Three releases, each of which fails with chance 1/100: some fails with nearly 3/100."""
    found, charged = 1 - 0.99**3, float(ZCDP(1, "0.01").times(3).delta)
    return f"one of three fails with {found:.6g}, and {charged:.6g} is charged" if found > charged else ""


def _pair_sampled() -> str:
    """Tell with odds e whether any of two rows is in a sample of half of all rows: one is, with 3/4."""
    told = BoundedGeometric(scale=1, low=0, high=1)
    lost = math.log(1 + 0.75 * (math.e - 1))
    return exceeds(lost, Sampled(Use(told), Fraction(1, 2)).loss(2).pure, "two rows, caught with chance 3/4")


def _few_kept() -> str:
    """Two of five rows kept, one replaced: it is in the sample with chance 2/5."""
    lost = math.log(1 + 0.4 * (math.e - 1))
    return exceeds(lost, SampledExactly(Use(Geometric(scale=1)), 2, 5).loss(1).pure, "one row of five")


def _half_kept() -> str:
    """Tell a bit that is told truly with odds e, seen with chance 1/2: the ratio of its law."""
    truth = math.e / (1 + math.e)
    lost = math.log((0.5 * truth + 0.5 * (1 - truth)) / (1 - truth))
    return exceeds(lost, Sampled(Use(Geometric(scale=1)), Fraction(1, 2)).loss(1).pure, "half of the rows")


def _blocks() -> str:
    """Rows without the first of them: how many blocks are others."""
    rows = list(range(12))
    here = sample_and_aggregate.divided(rows, 6, "")
    there = sample_and_aggregate.divided(rows[1:], 6, "")
    moved = sum(sorted(one) != sorted(other) for one, other in zip(here, there, strict=True))
    return f"one row moves {moved} blocks" if moved > 1 else ""


def _admitted() -> str:
    """Ask for a tenth of the budget thirty times."""
    ledger, limit = Certificates(), json.dumps(PureDP(1).to_dict())
    spent, charge = ZERO, Amount.of(PureDP("1/10"))
    for _ in range(30):
        if not ledger.admits(limit, spent, charge):
            break
        spent = spent + charge
    return f"{spent.loss()} was admitted, and the limit is epsilon = 1" if (spent.epsilon or 0) > UNITS else ""


def _three_times() -> str:
    """Three times a delta."""
    found = Amount.of(ApproxDP(1, "1e-3")).times(3).delta
    return "three releases have the delta of one" if found < 3 * UNITS // 1000 else ""


def _first_day() -> str:
    """Look an hour after an allowance began, one period has come."""
    begun = datetime(2025, 1, 1, tzinfo=UTC)
    allowed = Allowance.of("1/10", 7).begun(begun.isoformat(), ZERO)
    found = allowed.whole(PureDP(5), (begun + timedelta(hours=1)).isoformat())
    return exceeds(float(found.pure or 0), 0.1, "what is allowed in the first hour")


PRICES = (
    Plant(
        119,
        "delta of a group lacks its largest power",
        _PRICES,
        "delta of a group of two or more is too small by its largest term",
        (),
        edited(
            "dither.privacy.conversions:group_delta", ("for power in range(size))", "for power in range(size - 1))")
        ),
        _chain,
    ),
    Plant(
        120,
        "groups of replaced rows touch as many parts as one row of them",
        _PRICES,
        "two replaced rows are charged for two parts and touch four",
        (),
        edited(
            "dither.privacy.plans:Parallel.loss",
            ("range(1, touched * distance + 1)", "range(1, max(touched, distance) + 1)"),
        ),
        _two_replaced,
    ),
    Plant(
        121,
        "the largest of several losses keeps the delta of the dearest epsilon",
        _PRICES,
        "a part with a small epsilon and a large delta is not covered",
        (),
        edited(
            "dither.privacy.losses:largest",
            ("max(first.delta, second.delta)", "(first if first.rho >= second.rho else second).delta"),
        ),
        _dearest,
    ),
    Plant(
        122,
        "repeated concentrated losses keep one delta",
        _PRICES,
        "delta of approximate zCDP is not multiplied",
        (),
        edited("dither.privacy.losses:ZCDP.times", ("_delta(count * self.delta, self)", "self.delta")),
        _three_deltas,
    ),
    Plant(
        123,
        "a group is caught by a sample as often as one row",
        _SAMPLES,
        "groups of two or more rows are charged with the rate of one",
        ("poisson-sample",),
        edited("dither.privacy.plans:Sampled.loss", ("1 - _power_down(1 - self.rate, distance)", "self.rate")),
        _pair_sampled,
    ),
    Plant(
        124,
        "a sample of fixed size misses with a factor too few",
        _SAMPLES,
        "the chance to miss a row is too large: that of one row is missing",
        ("fixed-size-sample",),
        edited("dither.privacy.plans:_missed_down", ("for earlier in range(few)", "for earlier in range(few - 1)")),
        _few_kept,
    ),
    Plant(
        125,
        "amplification by sampling multiplies epsilon",
        _SAMPLES,
        "the rate times epsilon is less than what a sample loses",
        ("poisson-sample", "fixed-size-sample"),
        edited(
            "dither.privacy.conversions:amplified_epsilon",
            ("round_up(log_up(1 + rate * (exp_up(epsilon) - 1)))", "rate * epsilon"),
        ),
        _half_kept,
    ),
    Plant(
        126,
        "rows are put into blocks by their place",
        _SAMPLES,
        "a row less moves all rows behind it to other blocks",
        ("sample-and-aggregate",),
        edited("dither.mechanisms.sample_and_aggregate:divided", ("{seen[text]}", "{seen.total()}")),
        _blocks,
    ),
    Plant(
        127,
        "a certificate for many releases is given after a look at one",
        _LEDGER,
        "after the first release, dozens more are admitted whatever is left",
        (),
        edited(
            "dither.curator.ledger.admission:Certificates.admits",
            ("counted.usual.holds(far.loss())", "counted.usual.holds((spent + charge).loss())"),
        ),
        _admitted,
    ),
    Plant(
        128,
        "several amounts have the delta of one",
        _LEDGER,
        "delta is not multiplied where releases are counted ahead",
        (),
        edited("dither.curator.ledger.amounts:Amount.times", ("count * self.delta", "self.delta")),
        _three_times,
    ),
    Plant(
        129,
        "an allowance begins with two periods",
        _LEDGER,
        "a period that has begun is counted beside the first one",
        (),
        edited(
            "dither.curator.ledger.terms:Allowance.periods",
            ("1 + (moment - begun)", "2 + (moment - begun)"),
        ),
        _first_day,
    ),
)
