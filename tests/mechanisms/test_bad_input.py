"""Bad public parameters: one error of our own tree each, naming the parameter, the rule and the offender.

Every public constructor and function, with every kind of nonsense. Nothing is drawn and nothing is charged.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dither
from dither import noise
from dither.errors import DitherError, InvalidParameter, NoGuarantee
from dither.mechanisms import (
    AboveThreshold,
    Budget,
    DiscreteGaussian,
    Exponential,
    Gaussian,
    Geometric,
    Laplace,
    NoisyMax,
    PermuteAndFlip,
    PublicArray,
    RandomisedResponse,
    Runner,
    TopK,
    converse,
    release,
)
from dither.noise import Noise
from dither.privacy import (
    NOTHING,
    ROW,
    ZCDP,
    ApproxDP,
    Best,
    Parallel,
    PureDP,
    Relation,
    Repeat,
    Repeats,
    Sampled,
    Use,
    Within,
    calibrate,
    gaussian_sigma,
    laplace_scale,
    person,
    place,
    w_event,
)
from dither.privacy.filters import Filter, Odometer

F = Fraction
Call = Callable[[Any], Any]

NO_NUMBERS: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    np.float64(math.nan),
    np.float32(math.inf),
    Decimal("NaN"),
    Decimal("-Infinity"),
    "nan",
    "inf",
    "",
    "one",
    "1/0",
    "1 / 2",
    "0x10",
    "1_000",
    "1e99999",
    "9" * 10_000,
    10**4000,
    F(1, 10**4000),
    True,
    np.bool_(True),
    1j,
    b"1",
    [],
    [1],
    (1,),
    {},
    np.array([1.0]),
    np.array([1], dtype=object),
    np.array([]),
    object(),
    np.timedelta64(1, "s"),
]
NOT_POSITIVE = [*NO_NUMBERS, None, 0, 0.0, -0.0, -1, "-1/2", F(-1, 10**9), -1e-300]
NEGATIVE = [*NO_NUMBERS, None, -1, "-0.001", -1e308]
NO_PROBABILITY = [*NEGATIVE, 1, 1.0, "1", "1.5", 2]
NOT_INSIDE = [*NO_PROBABILITY, 0, "0"]
NO_SHARE = [*NEGATIVE, "1.5", 2]
NOT_WHOLE = [math.nan, math.inf, 1.0, 2.5, "3", True, np.bool_(False), None, [1], np.array(1), 1j, F(1), Decimal(1), -1]
NOT_COUNTED = [*NOT_WHOLE, 0]
NO_SHAPES = [0, -1, 2.5, "ab", None, True, (0,), (3, -1), (2.0,), ("a",), [[1]], 2**41, np.array([2])]
NO_FLAGS = [0, 1, "yes", None, "", 1.0, [], np.array([True])]

#: What every refused release would have been charged to.
UNTOUCHED = Budget(epsilon=10**6, unit=ROW)
CHOICES = (Exponential, PermuteAndFlip, NoisyMax)


def cases() -> Iterator[tuple[str, str, Call, list[Any]]]:
    """Yield a label, the parameter to be named, a call with that parameter, and what it must refuse."""
    for kind in (Laplace, Geometric):
        yield f"{kind.__name__} scale", "scale", lambda bad, kind=kind: kind(scale=bad), NOT_POSITIVE
        yield f"{kind.__name__} shape", "shape", lambda bad, kind=kind: kind(scale=1, shape=bad), NO_SHAPES
    for kind in (Gaussian, DiscreteGaussian):
        yield f"{kind.__name__} sigma", "sigma", lambda bad, kind=kind: kind(sigma=bad), NOT_POSITIVE
        yield f"{kind.__name__} shape", "shape", lambda bad, kind=kind: kind(sigma=1, shape=bad), NO_SHAPES
    grids = [bad for bad in NOT_POSITIVE if bad is not None]
    far = [2**21, F(1, 2**57), "1e300", "1e-300"]
    yield "Laplace grid", "grid", lambda bad: Laplace(scale=1, grid=bad), [*grids, *far]
    yield "Gaussian grid", "grid", lambda bad: Gaussian(sigma=1, grid=bad), [*grids, *far]
    yield "Laplace huge scale", "scale", lambda bad: Laplace(scale=bad), ["1e300", "1e-310", 2**1000]
    for huge in ("1e-13", F(1, 2**41), 2**1001, "1e400"):
        yield f"Geometric {huge}", "scale", lambda bad: Geometric(scale=bad), [huge]
        yield f"DiscreteGaussian {huge}", "sigma", lambda bad: DiscreteGaussian(sigma=bad), [huge]
        yield f"NoisyMax {huge}", "scale", lambda bad: NoisyMax(candidates=2, scale=bad), [huge]
        yield (
            f"AboveThreshold {huge}",
            "query_scale",
            lambda bad: AboveThreshold(threshold=0, threshold_scale=1, query_scale=bad),
            [huge],
        )
    for kind in CHOICES:
        name = kind.__name__
        most = [*NOT_COUNTED, 2**32 + 1]
        yield f"{name} candidates", "candidates", lambda bad, kind=kind: kind(candidates=bad, scale=1), most
        yield f"{name} scale", "scale", lambda bad, kind=kind: kind(candidates=2, scale=bad), NOT_POSITIVE
        yield f"{name} grid", "grid", lambda bad, kind=kind: kind(candidates=2, scale=1, grid=bad), grids
        yield (
            f"{name} score_error",
            "score_error",
            lambda bad, kind=kind: kind(candidates=2, scale=1, grid=1, score_error=bad),
            NEGATIVE,
        )
        yield (
            f"{name} score_error without a grid",
            "score_error",
            lambda bad, kind=kind: kind(candidates=2, scale=1, score_error=bad),
            [F(1, 10)],
        )
        yield f"{name} one_way", "one_way", lambda bad, kind=kind: kind(candidates=2, scale=1, one_way=bad), NO_FLAGS
        yield (
            f"{name} sensitivity",
            "sensitivity",
            lambda bad, kind=kind: kind.calibrated(PureDP(1), sensitivity=bad, candidates=2),
            NOT_POSITIVE,
        )
    yield "TopK chosen", "chosen", lambda bad: TopK(candidates=3, chosen=bad, scale=1), [*NOT_COUNTED, 4]
    yield "response epsilon", "epsilon", lambda bad: RandomisedResponse(epsilon=bad), NOT_POSITIVE
    yield (
        "response categories",
        "categories",
        lambda bad: RandomisedResponse(epsilon=1, categories=bad),
        [*NOT_COUNTED, 1, 2**31 + 1],
    )
    usual = {"threshold": 0, "threshold_scale": 1, "query_scale": 1}
    wholes = [bad for bad in NOT_WHOLE if bad != -1]
    for field, bads in (
        ("threshold", [*wholes, 2**60 + 1, -(2**61)]),
        ("threshold_scale", NOT_POSITIVE),
        ("query_scale", NOT_POSITIVE),
        ("positives", [*NOT_COUNTED, 2**40]),
        ("one_way", NO_FLAGS),
    ):
        yield f"AboveThreshold {field}", field, lambda bad, f=field: AboveThreshold(**{**usual, f: bad}), bads
    for field, bads in (("sensitivity", NOT_POSITIVE), ("positives", NOT_COUNTED), ("threshold", [0.5, None])):
        yield (
            f"AboveThreshold calibrated {field}",
            field,
            lambda bad, f=field: AboveThreshold.calibrated(
                PureDP(1), **{"threshold": 0, "sensitivity": 1, "positives": 1, f: bad}
            ),
            bads,
        )
    no_losses = [None, 1, "1", {}, ROW]
    for label, call in (
        ("Laplace", lambda bad: Laplace.calibrated(bad, sensitivity=1)),
        ("Gaussian", lambda bad: Gaussian.calibrated(bad, sensitivity=1)),
        ("Exponential", lambda bad: Exponential.calibrated(bad, sensitivity=1, candidates=2)),
        ("response", lambda bad: RandomisedResponse.calibrated(bad)),
        ("AboveThreshold", lambda bad: AboveThreshold.calibrated(bad, threshold=0, sensitivity=1)),
        ("laplace_scale", lambda bad: laplace_scale(bad, 1)),
        ("gaussian_sigma", lambda bad: gaussian_sigma(bad, 1)),
        ("calibrate", lambda bad: calibrate(lambda scale: Geometric(scale=scale), bad)),
    ):
        yield f"{label} loss", "within", call, no_losses
    yield from methods()
    yield from doors()
    yield from promises()
    yield from samplers()


def methods() -> Iterator[tuple[str, str, Call, list[Any]]]:
    for mechanism in (
        Laplace(scale=1),
        Gaussian(sigma=1),
        Geometric(scale=1),
        DiscreteGaussian(sigma=1),
        *(kind(candidates=2, scale=1) for kind in CHOICES),
        TopK(candidates=2, chosen=1, scale=1),
        RandomisedResponse(epsilon=1),
        AboveThreshold(threshold=0, threshold_scale=1, query_scale=1),
    ):
        yield f"{mechanism.name} loss", "d_in", mechanism.loss, NEGATIVE
        confidences = NO_PROBABILITY if mechanism.no_error_because else NOT_INSIDE
        yield f"{mechanism.name} error", "confidence", mechanism.error, confidences
    nearly_certain = [1 - F(1, 10**320)]
    yield "Laplace certainty", "confidence", Laplace(scale=1).error, nearly_certain
    yield "Gaussian certainty", "confidence", Gaussian(sigma=1).error, nearly_certain
    yield "Exponential certainty", "confidence", Exponential(candidates=2, scale=1).error, nearly_certain
    for interval in (Laplace(scale=1).interval, Geometric(scale=1).interval):
        yield "interval", "confidence", lambda bad, interval=interval: interval(0, bad), NOT_INSIDE


def doors() -> Iterator[tuple[str, str, Call, list[Any]]]:
    yield "Budget epsilon", "epsilon", lambda bad: Budget(epsilon=bad, unit=ROW), NOT_POSITIVE
    yield "Budget rho", "rho", lambda bad: Budget(rho=bad, unit=ROW), [bad for bad in NOT_POSITIVE if bad is not None]
    deltas = [bad for bad in NO_PROBABILITY if bad is not None]
    yield "Budget delta", "delta", lambda bad: Budget(epsilon=1, delta=bad, unit=ROW), deltas
    yield "Budget both", "epsilon", lambda bad: Budget(epsilon=bad, rho=1, unit=ROW), [1]
    yield "Budget rho and delta", "delta", lambda bad: Budget(rho=1, delta=bad, unit=ROW), ["1e-6"]
    yield "Budget unit", "unit", lambda bad: Budget(epsilon=1, unit=bad), [None, "rows", 1, dither.privacy.L1]
    part = AboveThreshold(threshold=0, threshold_scale=1, query_scale=1)
    no_mechanisms = [None, "laplace", 1, Laplace, PureDP(1)]
    yield "release mechanism", "mechanism", lambda bad: release(bad, 1, budget=UNTOUCHED), [*no_mechanisms, part]
    yield (
        "converse mechanism",
        "mechanism",
        lambda bad: converse(bad, budget=UNTOUCHED),
        [*no_mechanisms, Laplace(scale=1)],
    )
    yield "release budget", "budget", lambda bad: release(Geometric(scale=1), 1, budget=bad), [None, 1, "1", PureDP(1)]
    yield "converse budget", "budget", lambda bad: converse(part, budget=bad), [None, 1, "1", PureDP(1)]
    yield (
        "release stability",
        "stability",
        lambda bad: release(Geometric(scale=1), 1, budget=UNTOUCHED, stability=bad),
        NOT_POSITIVE,
    )
    yield "converse stability", "stability", lambda bad: converse(part, budget=UNTOUCHED, stability=bad), NOT_POSITIVE
    runner = Runner(Use(Geometric(scale=1)), noise.system_noise())
    yield "run stability", "stability", lambda bad: runner(Geometric(scale=1), 1, stability=bad), NOT_POSITIVE
    yield "run part", "part", lambda bad: runner(bad, 1), [*no_mechanisms, part]
    yield "sample rate", "rate", lambda bad: runner.sampled([1], bad), NOT_POSITIVE
    yield "PublicArray", "values", PublicArray, [[], ["a"], [math.nan], [None], np.array([1], dtype=object), 1j]


def promises() -> Iterator[tuple[str, str, Call, list[Any]]]:
    yield "PureDP epsilon", "epsilon", PureDP, NEGATIVE
    yield "PureDP rho", "rho", lambda bad: PureDP(1, rho=bad), [bad for bad in NEGATIVE if bad is not None]
    yield "ZCDP rho", "rho", ZCDP, NEGATIVE
    yield "ZCDP delta", "delta", lambda bad: ZCDP(1, bad), NO_PROBABILITY
    yield "ApproxDP epsilon", "epsilon", lambda bad: ApproxDP(bad, "1e-6"), NEGATIVE
    yield "ApproxDP delta", "delta", lambda bad: ApproxDP(1, bad), NO_PROBABILITY
    yield "to_approx", "delta", PureDP(1).to_approx, NO_PROBABILITY
    yield "times", "count", PureDP(1).times, NOT_WHOLE
    yield "group", "size", ZCDP(1).group, NOT_WHOLE
    yield "Use stability", "stability", lambda bad: Use(Geometric(scale=1), bad), NOT_POSITIVE
    one = Use(Geometric(scale=1))
    yield "Repeat times", "times", lambda bad: Repeat(one, bad), NOT_WHOLE
    yield "Parallel siblings", "siblings", lambda bad: Parallel(one, bad, 1), NOT_COUNTED
    yield "Parallel touched", "touched", lambda bad: Parallel(one, 2, bad), NOT_COUNTED
    yield "Sampled rate", "rate", lambda bad: Sampled(one, bad), [*NOT_POSITIVE, 1.5, "11/10"]
    yield "Repeats stop", "stop", lambda bad: Repeats(stop=bad, shape=1), [*NOT_POSITIVE, 1, 2]
    yield "Repeats shape", "shape", lambda bad: Repeats(stop="1/2", shape=bad), [*NOT_WHOLE, 2]
    parts = [1.5, "1/2", -1, math.nan, "x", True, None]
    for label, plan in (
        ("Parallel", Parallel(one, 2, 1)),
        ("Sampled", Sampled(one, "1/2")),
        ("Within", Within(PureDP(1), (Geometric,))),
    ):
        yield f"{label} d_in", "d_in", plan.loss, parts
    yield "Use d_in", "d_in", one.loss, NEGATIVE
    yield "Best d_in", "d_in", Best(one, Repeats(stop="1/2", shape=1)).loss, NEGATIVE
    yield "laplace_scale", "sensitivity", lambda bad: laplace_scale(PureDP(1), bad), NOT_POSITIVE
    yield "gaussian_sigma", "sensitivity", lambda bad: gaussian_sigma(ZCDP(1), bad), NOT_POSITIVE
    yield (
        "Filter conversion",
        "conversion",
        lambda bad: Filter(ApproxDP(1, "1e-6"), conversion=bad),
        [bad for bad in [*NEGATIVE, "1.5", 2] if bad is not None],
    )
    yield "Odometer rho", "first_rho", lambda bad: Odometer(first_rho=bad), NOT_POSITIVE
    yield "Odometer rungs", "rungs", lambda bad: Odometer(first_rho=1, rungs=bad), [*NOT_COUNTED, 257]
    yield "user column", "id_column", lambda bad: person(bad, Relation.REPLACE), [None, "", "a b", 7, "1a"]
    yield "user relation", "relation", lambda bad: person("person", bad), [None, "REPLACE", Relation.METRIC]
    yield "w_event", "width", w_event, NOT_COUNTED
    yield "place", "metric", place, [None, "", "hamming", 1]


def samplers() -> Iterator[tuple[str, str, Call, list[Any]]]:
    sizes = [*NOT_WHOLE, 2**41]
    outside = [*NEGATIVE, 1.5, "2", 7]
    limits = ["1e-13", 2**1001]
    yield "discrete_laplace scale", "scale", lambda bad: noise.discrete_laplace(bad, 1), [*NOT_POSITIVE, *limits]
    yield "discrete_laplace size", "size", lambda bad: noise.discrete_laplace(1, bad), sizes
    yield "discrete_gaussian sigma", "sigma", lambda bad: noise.discrete_gaussian(bad, 1), [*NOT_POSITIVE, *limits]
    yield "discrete_gaussian size", "size", lambda bad: noise.discrete_gaussian(1, bad), sizes
    yield "geometric scale", "scale", lambda bad: noise.geometric(bad, 1), [*NOT_POSITIVE, *limits]
    yield "geometric size", "size", lambda bad: noise.geometric(1, bad), sizes
    yield "bernoulli p", "p", lambda bad: noise.bernoulli(bad, 1), outside
    yield "bernoulli size", "size", lambda bad: noise.bernoulli("1/2", bad), sizes
    yield "bernoulli_exp gamma", "gamma", lambda bad: noise.bernoulli_exp(bad, 1), NEGATIVE
    yield "uniform limit", "limit", lambda bad: noise.uniform_below(bad, 1), NOT_COUNTED
    yield "uniform size", "size", lambda bad: noise.uniform_below(6, bad), sizes
    scores = [[], [1.5], ["a"], [None], [[1]], 7, np.array([1], dtype=object), [True], np.array([math.nan])]
    yield "select scores", "scores", lambda bad: noise.select(bad, 1, 1), scores
    yield "select rate", "rate", lambda bad: noise.select([1], bad, 1), NEGATIVE
    yield "select size", "size", lambda bad: noise.select([1], 1, bad), sizes


CASES = list(cases())


@pytest.fixture(autouse=True)
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every draw a failure."""

    def refuse(self: Any, count: int) -> Any:
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(noise.SystemEntropy, "words", refuse)


def refusal(call: Call, bad: Any) -> InvalidParameter:
    try:
        taken = call(bad)
    except InvalidParameter as error:
        return error
    pytest.fail(f"{bad!r:.80} was taken: {taken!r:.80}")


@pytest.mark.parametrize(("parameter", "call", "bads"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_bad_parameters_are_refused_by_name(parameter: str, call: Call, bads: list[Any]) -> None:
    for bad in bads:
        error = refusal(call, bad)
        assert error.parameter == parameter, (bad, str(error))
        assert str(error).startswith(error.worded(parameter, ""))
        assert isinstance(error, DitherError)
        assert isinstance(error, ValueError)
        assert len(error.rule) > 5
        assert len(str(error)) < 400
    assert UNTOUCHED.spent == NOTHING


def test_offenders_are_shown_as_they_were_given() -> None:
    for bad, shown in ((math.nan, "nan"), ("one", "'one'"), (True, "True"), (-1, "-1"), ([1], "[1]")):
        error = refusal(lambda given: Geometric(scale=given), bad)
        assert str(error).endswith(f"got {shown}")
        assert error.offender is bad


def test_no_constructor_was_forgotten() -> None:
    """Every public class and function of the package stands in the table, or says here why not."""
    elsewhere = {"DitherError", "Release", "Unit", "EDGE", "EVENT", "NODE", "ROW", "ROW_REPLACED"}
    elsewhere |= {"Curator", "Session", "open", "private"}  # tests/curator
    elsewhere |= {"choose", "choose_graph", "col", "Synthesizer"}  # tests/publish
    elsewhere |= {"connect"}  # tests/service
    elsewhere |= {"Column", "DataSet", "Kind", "Table"}  # tests/data
    elsewhere |= {name for name in dither.__all__ if name in vars(dither.errors)}
    text = inspect.getsource(inspect.getmodule(cases))  # type: ignore[arg-type]
    for name in set(dither.__all__) - elsewhere:
        assert f"{name}(" in text or f"{name}," in text, name


def test_missing_parameters_are_missing_and_not_guessed() -> None:
    for build in (
        Laplace,
        Gaussian,
        Geometric,
        DiscreteGaussian,
        Exponential,
        RandomisedResponse,
        AboveThreshold,
        Budget,
    ):
        with pytest.raises(TypeError, match="required keyword-only argument"):
            build()


def test_a_delta_of_zero_reaches_no_gaussian() -> None:
    with pytest.raises(NoGuarantee):
        Gaussian.calibrated(ApproxDP(1, 0), sensitivity=1)


@pytest.mark.parametrize("frozen", [Laplace(scale=1), Exponential(candidates=2, scale=1), PureDP(1), Repeats("1/2", 1)])
def test_records_are_frozen(frozen: Any) -> None:
    name = next(iter(frozen.__dataclass_fields__))
    with pytest.raises(AttributeError):
        setattr(frozen, name, 2)


def test_noise_is_not_drawn_by_pricing() -> None:
    """The guard of this file bites: a draw fails, and everything but a draw works."""
    assert Laplace(scale=1).loss(1) == PureDP(1)
    assert Laplace(scale=1).error("0.9").value > 2
    with pytest.raises(AssertionError, match="noise was drawn"):
        Laplace(scale=1).draw(1, Noise(noise.SystemEntropy()))
