"""Bugs in samples: one sample for all steps, rows that are kept by their place, blocks that share rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dither.learn.linear.minibatch import MinibatchDescent
from dither.mechanisms import SampleAndAggregate, SmoothCauchy
from dither.mechanisms.core import runner
from dither.mechanisms.gamma_norm import GammaNorm
from dither.privacy import ROW_REPLACED
from tools.mutants.plants.record import Plant, edited
from tools.mutants.plants.witnessing import Sheet

_FAMILY = "samples"


def _fresh_samples() -> str:
    """Three steps whose samples leave out another row each: what a step is handed follows its own sample."""
    noise: dict[str, Any] = {"survey": GammaNorm(scale=2**13), "step": GammaNorm(scale=2**26), "delta": 0}
    learner = MinibatchDescent(lower=[-1], upper=[1], classes=2, loss_name="logistic", steps=3, rate="1/2", **noise)
    rows = np.array([[0.5, 1.0], [0.9, 0.0], [-0.5, 1.0]])
    handed = []
    for shift in (0, 1):
        sheet = _Shifted(shift)
        learner.release(rows, sheet)  # type: ignore[arg-type]
        handed.append([np.asarray(value).tolist() for _, value, _ in sheet.handed])
    # Answers are alike up to the second step's sample, which alone is another.
    if handed[0][2] != handed[1][2]:
        return ""
    loss = math.log(1 + (math.exp(3) - 1) / 2), 3 * math.log(1 + (math.e - 1) / 2)
    return f"the second step is handed the sample of the first: epsilon {loss[0]:.4g} for steps of 1, not {loss[1]:.4g}"


class _Shifted(Sheet):
    """A sheet whose second sample leaves out a row of choice."""

    def __init__(self, shift: int, **named: Any) -> None:
        super().__init__(**named)
        self._shift = shift

    def sampled(self, data: Any, rate: Any) -> tuple[Any, Sheet]:
        number = len(self._top.samples)
        left_out = number % len(data) if number != 1 else (1 + self._shift) % len(data)
        rows = data[np.arange(len(data)) != left_out]
        self._top.samples.append(rows)
        return rows, Sheet(top=self._top)


class _Coins:
    """Coins as scripted, then all alike."""

    def __init__(self, first: list[bool], then: bool) -> None:
        self._first, self._then = first, then

    def bernoulli(self, p: Any, size: int) -> Any:
        if self._first and size == len(self._first):
            found, self._first = np.array(self._first), []
            return found
        return np.full(size, self._then)


def _kept_places() -> str:
    """Forty places of which two showed heads and one is kept: which one must follow further coins."""
    heads = [place in (3, 29) for place in range(40)]
    kept = {tuple(np.flatnonzero(runner._subset(_Coins(list(heads), then), 1, 40))) for then in (False, True)}  # type: ignore[arg-type]
    return "" if len(kept) > 1 else f"of places 3 and 29, {kept} is always kept: later rows are sampled more often"


def _smooth_blocks() -> str:
    """Seven answers of which a replaced row changes two: the bound covers how far the centre moves."""
    part = SmoothCauchy(power=2, least=1, smoothness="1/2", scale=2, grid=4)
    made = SampleAndAggregate(
        part=part, unit=ROW_REPLACED, statistic="mean", blocks=5, lower=0, upper=40, otherwise=0, grid=1
    )
    for seed in range(60):
        rows = np.random.default_rng(seed).integers(0, 41, 8).astype(float)
        pairs = []
        for data in (rows, np.concatenate([rows[:-1], [40.0 - rows[-1]]])):
            sheet = Sheet()
            made.release(data, sheet)  # type: ignore[arg-type]
            ((_, value, _),) = sheet.handed
            pairs.append((float(value[0]), float(value[1])))
        (centre, bound), (other, wide) = pairs
        if abs(centre - other) > min(bound, wide) * (1 + 1e-9) or abs(math.log(bound / wide)) > 0.5 + 1e-9:
            return f"a replaced row moves the centre by {abs(centre - other):.6g}; bounds {bound:.6g}, {wide:.6g}"
    return ""


SAMPLES = (
    Plant(
        57,
        "one sample serves all steps",
        _FAMILY,
        "steps are charged as if each had a sample of its own",
        ("minibatch-descent",),
        edited(
            "dither.learn.linear.minibatch:MinibatchDescent.release",
            (
                "table = np.column_stack([seen.records, classes])",
                "table, first = np.column_stack([seen.records, classes]), []",
            ),
            (
                "sample, inner = run.sampled(table, self.rate)",
                "sample, inner = run.sampled(table, self.rate); first.append(sample); sample = first[0]",
            ),
        ),
        _fresh_samples,
    ),
    Plant(
        58,
        "what a fixed sample has too many is its first rows",
        _FAMILY,
        "from 33 rows on late rows are sampled more often than early ones",
        ("fixed-size-sample",),
        edited(
            "dither.mechanisms.core.runner:_subset",
            ("mask[among[_subset(noise, abs(surplus), among.size)]]", "mask[among[: abs(surplus)]]"),
        ),
        _kept_places,
        is_known_kind=True,
    ),
    Plant(
        59,
        "a replaced row changes one block",
        _FAMILY,
        "the smooth bound of a centre covers one block where two may change",
        ("sample-and-aggregate",),
        edited(
            "dither.mechanisms.sample_and_aggregate:SampleAndAggregate.release",
            ("changed=self.unit.touched", "changed=1"),
        ),
        _smooth_blocks,
    ),
)
