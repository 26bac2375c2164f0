"""Predictive reports: say the last report again while it still serves, and pay for a fresh one only when it does not.

For a device that reports all day and moves seldom. A sparse vector asks at each step, with noise, whether the last
report is still within a public number of metres of the place; its yeses are free, and each no buys a fresh report, up
to a public number. So the whole day costs one stated epsilon per metre, however many steps it has. Cost: a draw a step.
Correction: the paper pays for each test; here all tests together cost one sparse vector, which the runner enforces.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dither.data.places import Box
from dither.errors import HandleMisuse, InvalidValue
from dither.exact import Of, Positive, Probability, Whole
from dither.mechanisms.above_threshold import AboveThreshold
from dither.mechanisms.core.mechanism import Interactive, Numerics
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.planar_noise import PlanarNoise
from dither.privacy import InOrder, Plan, PureDP, Repeat, Unit, Use, trace
from dither.publish.places.report.metres import metres_of, unit_of, units_per_metre, whole_distances
from dither.publish.places.report.planar import LEAST_EPSILON, MOST_EPSILON

_NUMBERS = (int, float, np.integer, np.floating)
_FAR = 1e300


def _examples() -> Iterator[Example]:
    plane = Box.of(0, 0, 1000, 1000, plane=True)
    day = ((100, 100), (101, 100), (900, 900), (float("nan"), 0), (902, 901))
    moved = ((103, 104), (101, 100), (897, 896), (500, 500), (902, 901))

    def talk(places: tuple[Any, ...]) -> Dialogue:
        return Dialogue(None, places)

    yield Example(
        PredictiveReports(box=plane, epsilon="0.02", steps=5, fresh=2, reach=50),
        talk(day),
        ((talk(day), talk(moved), 5), (talk(moved), talk(day), 5), (talk(day[:1]), talk(moved[:1]), 5)),
    )


@register(
    examples=_examples,
    source="A Predictive Differentially-Private Mechanism for Mobility Traces (Chatzikokolakis, Palamidessi, Stronati "
    "2014), sections 3 and 4",
)
@dataclass(frozen=True, kw_only=True)
class PredictiveReports(Interactive[None, "Reporting"]):
    """Report a place at each step: the last report again while it is near enough, a fresh one when it is not.

    Guarantee: traces of which every place moves by at most ``d_in`` metres over the ground lose epsilon =
    ``epsilon * d_in``, for all steps together. That is geo-indistinguishability and NOT plain differential privacy.
    What is not a place counts as the centre of the box, a place outside it as the nearest inside.

    Args:
        box: where places lie; public.
        epsilon: the loss for each metre, of the whole trace.
        steps: how many reports there are at most; public.
        fresh: how many of them are fresh at most, the first included; later ones repeat the last.
        reach: how far the place may be from the last report, in metres, before a fresh one is wanted.
        share: which part of epsilon the tests get.

    >>> box = Box.of(0, 0, 10_000, 10_000, plane=True)
    >>> PredictiveReports(box=box, epsilon="0.01", steps=1000, fresh=5, reach=800).loss(100).epsilon
    Fraction(1, 1)

    """

    name: ClassVar[str] = "predictive-reports"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.BOUNDED
    no_error_because: ClassVar[str] = "after the last fresh report the place may be anywhere"
    no_interval_because: ClassVar[str] = no_error_because

    box: Of[Box] = Of(Box)
    epsilon: Positive = Positive(least=LEAST_EPSILON, most=MOST_EPSILON)
    steps: Whole = Whole(least=1, most=2**32)
    fresh: Whole = Whole(least=2, most=2**16)
    reach: Positive = Positive(most=10**6)
    share: Probability = Probability("1/3")

    @property
    def distance(self) -> Unit:
        """Metres over the ground that every place of the trace may move: a relaxed notion of privacy."""
        return trace("great circle")

    @property
    def stability(self) -> Fraction:
        """How many units a tested distance moves for each metre over the ground."""
        return units_per_metre(self.box)

    @cached_property
    def test(self) -> AboveThreshold:
        """The sparse vector that asks whether the last report is out of reach."""
        threshold = int(self.reach / self.box.projection.most / unit_of(self.box))
        share = max(self.share, Fraction(1, 1000)) * self.epsilon
        return AboveThreshold.calibrated(
            PureDP(share), threshold=min(threshold, 2**59), sensitivity=self.stability, positives=self.fresh - 1
        )

    @cached_property
    def noise(self) -> PlanarNoise:
        """The noise of one fresh report."""
        left = self.epsilon - max(self.share, Fraction(1, 1000)) * self.epsilon
        return PlanarNoise(scale=self.fresh / (left * self.box.projection.least))

    def plan(self) -> Plan:
        """Return the first report, the test, and a fresh report for each time that the test may say no."""
        fresh = Use(self.noise, 1 / self.box.projection.least)
        return InOrder.of(fresh, Use(self.test, self.stability), Repeat(fresh, self.fresh - 1))

    def open(self, data: None, run: Runner) -> Reporting:
        """Return the conversation; ``data`` is None, because places arrive one by one."""
        return Reporting(self, run)


def _row(value: Any) -> Any:
    """Return a place as an array of one row; what is not two numbers is refused by its type."""
    is_pair = isinstance(value, tuple | list | np.ndarray) and len(value) == 2
    numbers = list(value) if is_pair else []
    if not is_pair or any(isinstance(one, bool) or not isinstance(one, _NUMBERS) for one in numbers):
        raise InvalidValue("value", value, "latitude and longitude, two numbers")
    return np.array([[float(max(min(one, _FAR), -_FAR)) if one == one else float("nan") for one in numbers]])


class Reporting:
    """The conversation of ``PredictiveReports``."""

    def __init__(self, reports: PredictiveReports, run: Runner) -> None:
        self._reports, self._run = reports, run
        self._test: Any = None
        self._last = np.zeros(2)
        self.fed, self.fresh = 0, 0

    @quietly
    def feed(self, value: Any) -> tuple[float, float]:
        """Return the latitude and longitude that are reported for a place, given as latitude and longitude."""
        reports, box = self._reports, self._reports.box
        if self.fed == reports.steps:
            raise HandleMisuse(f"the trace ended after {self.fed} reports, as its price allows")
        here = metres_of(_row(value), box, 1)
        self.fed += 1
        if self._test is None:
            self._renew(here)
            self._test = self._run.open(reports.test, stability=reports.stability)
        elif not self._test.is_over and self._test.ask(int(whole_distances(here[0], self._last, box))):
            self._renew(here)
        north, east = box.projection.place_of(self._last).tolist()
        return north, east

    def _renew(self, here: Any) -> None:
        drawn = self._run(self._reports.noise, here, stability=1 / self._reports.box.projection.least)
        self._last = np.asarray(drawn, dtype=np.float64)[0]
        self.fresh += 1
