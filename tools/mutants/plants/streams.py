"""Bugs in streams and conversations: a window that forgets, a person who comes twice, a state that shows a value."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from dither.mechanisms import (
    AboveThreshold,
    DecayedCounter,
    DiscreteGaussian,
    Geometric,
    Intrusion,
    PanPrivateCounter,
    StreamMean,
    TreeCounter,
    WindowPublisher,
)
from dither.privacy import ZCDP
from dither.publish.queries.query import Aggregate
from dither.publish.streams import ranked
from dither.publish.streams.drift import DriftPublisher
from dither.publish.streams.examples import clinic_stream, stream_query
from dither.publish.streams.moved import stability_of
from dither.publish.streams.ranked import plan_ranked
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import Sheet, Written, exceeds

_FAMILY = "streams and conversations"


def _windows() -> str:
    """Tables that jump at every tick: what each window of four ticks spends, summed up outside."""
    publisher = WindowPublisher(epsilon=1, window=4, scheme="distribution")
    noise, spent = Written("windows"), []
    state = publisher.begin(noise)
    for tick in range(24):
        before = len(noise.asked)
        publisher.reply(state, 10**9 * (tick % 2), noise)
        scales = [Fraction(given[0]) for name, given, _ in noise.asked[before:] if name == "discrete_laplace"]
        spent.append(sum((1 / scale for scale in scales), Fraction(0)))
    worst = max(sum(spent[start : start + 4]) for start in range(len(spent) - 3))
    return exceeds(float(worst), publisher.loss(1).pure, "what four ticks in a row spend")


def _visits() -> str:
    """Try a person at ticks 0 and 2 of a stream, intervals of three ticks: the length of the change, by hand."""
    counter = TreeCounter(steps=9, bases=(3,), node=DiscreteGaussian(sigma=3), ticks=2, apart=2)
    for here in combinations(range(9), 2):
        if here[1] - here[0] < 2:
            continue
        moved = [0] * 12
        for tick in here:
            moved[tick] += 1
            moved[9 + tick // 3] += 1
        length = sum(one * one for one in moved)
        if length > counter.stability**2:
            return f"visits at {here} move intervals by the root of {length}, beyond {float(counter.stability):.6g}"
    return ""


def _many_visits() -> str:
    """Try a person at three ticks moves three intervals of each level by one, in L1."""
    counter = TreeCounter(steps=8, bases=(2, 2), node=Geometric(scale=3), ticks=3, apart=1)
    moved = 3 * 3
    return "" if counter.stability >= moved else f"three visits move nine sums, and {counter.stability} is stated"


def _late_bits() -> str:
    """Try a bit that is read after the first few: the noise that it meets."""
    mean = StreamMean(kept=1, times=(4000,), epsilon=1, kind="noise")
    shares = set()
    for number in range(40):
        noise = Written(f"bits {number}")
        shares |= {float(mean.draw_many(np.ones(4000, dtype=np.int64), 1, noise)[0][0])}
    # Noise of scale 1 gives a share of 0 to ones now and then: bits that are read late must meet it too.
    return "" if 0.0 in shares else "a stream of ones is always answered with 1: ones and zeros never meet"


def _after_a_report() -> str:
    """Try an intruder right after a report, who has seen it: the difference is the value that came since."""
    counter = PanPrivateCounter(scale=1, steps=4, every=2, shape=2)
    differences = set()
    for number in range(12):
        noise = Written(f"intruder {number}")
        state = counter.begin(noise)
        counter.reply(state, np.array([5, 0]), noise)
        report, _ = counter.reply(state, np.array([1, 0]), noise)
        counter.reply(state, np.array([7, 0]), noise)
        seen, _ = counter.reply(state, Intrusion.UNANNOUNCED, noise)
        differences.add(int(seen[0]) - int(report[0]))
    return "" if len(differences) > 1 else f"the state is always the last report and {differences}, the value fed since"


def _ranks() -> str:
    """One row moves a cell of every level of a tree over values: a Euclidean length of the root of their number."""
    sites = tuple(f"site {number}" for number in range(8))
    query = stream_query(clinic_stream(persons=False, sites=sites), Aggregate("n", "count"), by_site=True)
    given = plan_ranked(query, ZCDP("1/8"))
    counter = ranked._counter(ZCDP("1/8"), given.moved[0], ranked.levels_of(8, 2), steps=given.steps, outer=1)
    answer = replace(given, branch=2, counter=counter)
    alone, numbers = stability_of(answer.counter, answer.moved[0]), np.zeros(answer.cells, dtype=np.int64)
    more = numbers.copy()
    more[-1] += 1
    length = int(((answer.counted(more) - answer.counted(numbers)) ** 2).sum())
    if alone is None or answer.stability**2 >= alone**2 * length:
        return ""
    return f"a row moves {length} levels, and {float(answer.stability / alone):.6g} is stated for them"


def _drifting() -> str:
    """Two entries far from what was shown: an event of size three moves one of them by three."""
    test = AboveThreshold(threshold=3, threshold_scale=2, query_scale=8, positives=2)
    publisher = DriftPublisher(test=test, node=Geometric(scale=2), steps=5, largest=3, shape=2)
    sheets: list[Sheet] = []
    for first in (0, 3):
        sheet = Sheet(sheets[0].answers if sheets else None)
        talk = publisher.open(None, sheet)  # type: ignore[arg-type]
        for value in ([first, 9], [0, -9], [0, 0]):
            talk.feed(np.array(value))
        sheets.append(sheet)
    for (part, here, far), (_, there, _) in zip(sheets[0].handed, sheets[1].handed, strict=True):
        moved = max(abs(int(a) - int(b)) for a, b in zip(np.ravel(here), np.ravel(there), strict=True))
        if moved > far:
            return f"what {part.name} is given moves by {moved}, and {far} is stated"
    return ""


def _decay() -> str:
    """Try people at two ticks, one or two apart: the length of two columns of the factor, added up."""
    apart_two = DecayedCounter(decay="3/4", sigma=3, rates=("3/8",), zeros=("1/4",), ticks=2, apart=2).length
    apart_one = DecayedCounter(decay="3/4", sigma=3, rates=("3/8",), zeros=("1/4",), ticks=2, apart=1).length
    # Column of the factor (1 - rate z) / (1 - zero z): 1, zero - rate, (zero - rate) zero, ...; shifted and added.
    column = [1.0, *((0.25 - 0.375) * 0.25 ** (lag - 1) for lag in range(1, 60))]

    def length(shift: int) -> float:
        both = [a + b for a, b in zip([*column, *[0.0] * shift], [*[0.0] * shift, *column], strict=True)]
        return max(math.sqrt(sum(x * x for x in both)), math.sqrt(2 * sum(x * x for x in column)))

    for shift, stated in ((2, apart_two), (1, apart_one)):
        if length(shift) > float(stated) * (1 + 1e-9):
            return f"visits {shift} apart move by {length(shift):.6g}, and {float(stated):.6g} is stated"
    return ""


STREAMS = (
    Plant(
        38,
        "a window of three or more ticks forgets one",
        _FAMILY,
        "publications within a window spend more than epsilon",
        ("window-publisher",),
        edited(
            "dither.mechanisms.window_publisher:WindowPublisher.reply",
            (
                "if len(state.spent) >= self.window:",
                "if len(state.spent) >= max(self.window - 1, min(self.window, 2)):",
            ),
        ),
        _windows,
    ),
    Plant(
        39,
        "visits in an interval are rounded down",
        _FAMILY,
        "two visits of a person within one interval count as one, in L2",
        ("tree-counter",),
        edited(
            "dither.mechanisms.tree_counter:TreeCounter.stability",
            ("-(-size // self.apart)", "max(1, size // self.apart)"),
        ),
        _visits,
    ),
    Plant(
        40,
        "a person visits two ticks at most",
        _FAMILY,
        "three or more visits of a person are charged as two",
        ("tree-counter",),
        edited(
            "dither.mechanisms.tree_counter:TreeCounter.stability",
            ("min(self.ticks, -(-self.steps // self.apart))", "min(self.ticks, 2, -(-self.steps // self.apart))"),
        ),
        _many_visits,
    ),
    Plant(
        41,
        "bits that are read late meet no noise",
        _FAMILY,
        "of kind noise, a bit that takes the place of another is kept as it is",
        ("stream-mean",),
        edited(
            "dither.mechanisms.stream_mean:StreamMean._shares",
            ('fresh = read + kept if self.kind == "noise"', 'fresh = read if self.kind == "noise"'),
        ),
        _late_bits,
    ),
    Plant(
        42,
        "the state after a report is the report",
        _FAMILY,
        "an intruder who has seen the report sees every value since",
        ("pan-private-counter",),
        edited(
            "dither.mechanisms.pan_private:PanPrivateCounter._shown",
            (
                "shown + self._fresh(noise), False",
                "shown + (0 * self._fresh(noise) if self.shape else self._fresh(noise)), False",
            ),
        ),
        _after_a_report,
    ),
    Plant(
        43,
        "the tree over values is charged for its leaves",
        _FAMILY,
        "Gaussian counters of ranked streams are handed more levels than are paid for",
        ("ranked-answer",),
        edited("dither.publish.streams.ranked:_spread", ("else sqrt_up(Fraction(levels))", "else Fraction(1)")),
        _ranks,
    ),
    Plant(
        44,
        "drift is added up over entries and multiplied by their number",
        _FAMILY,
        "tables of several entries move the test without limit",
        ("drift-publisher",),
        edited(
            "dither.publish.streams.drift:Republishing.feed",
            (
                "int(np.abs(self._sums - self._shown).max())",
                "int(np.linalg.norm(self._sums - self._shown, 1) * len(self._sums))",
            ),
        ),
        _drifting,
    ),
    Plant(
        45,
        "a person visits a decayed stream once",
        _FAMILY,
        "two or more visits of a person are charged as one",
        ("decayed-counter",),
        edited(
            "dither.mechanisms.decayed_counter:DecayedCounter.length",
            ("self.factor.length(self.steps, self.ticks, self.apart)", "self.factor.length(self.steps, 1, self.apart)"),
        ),
        _decay,
    ),
)
