"""Mutants that begin beyond some size: of a scale, a value, a distance, or of the number of entries, rows or columns.

Each keeps every promise on small examples. Nearly all are killed without a sample: by what is asked of the noise, by
the same bits on other values, by wide instances, long conversations, and by the names in the code of a release.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from dither.checks.draws import (
    check_candidates,
    check_large_values,
    check_law_enlarged,
    check_long_conversation,
    check_own_noise,
    check_scales,
)
from dither.checks.prices import check_prices_of_parts
from dither.checks.replays import (
    check_crowded,
    check_looks_nowhere,
    check_replay,
    check_sampling,
    check_strict_floats,
    check_wide,
)
from dither.exact import Number, non_negative
from dither.privacy import Loss
from tools.mutants.record import SAMPLING, Mutant, mutated, replaced
from tools.mutants.targets import HISTOGRAM, of, planted

_GEOMETRIC = "dither.mechanisms.geometric:Geometric"
_GAUSSIAN = "dither.mechanisms.discrete_gaussian:DiscreteGaussian"
_ENTRIES, _SCALE, _CANDIDATES, _COLUMNS, _CELLS = 64, 100, 128, 64, 400
_LARGE, _CROWD = 2**32, 1000


def _shared_entries(before: Any, self: Any, value: Any, count: int, noise: Any) -> Any:
    drawn = before(self, value, count, noise)
    if len(self.draw_shape) == 1 and self.draw_shape[0] > _ENTRIES:
        values = self.domain.admit(value)
        drawn[:, _ENTRIES:] = values[_ENTRIES:] + (drawn - values)[:, _ENTRIES : _ENTRIES + 1]
    return drawn


def _half_from_a_hundred(before: Any, self: Any, value: Any, count: int, noise: Any) -> Any:
    return before(replace(self, sigma=self.sigma / 2) if self.sigma > _SCALE else self, value, count, noise)


def _half_below(before: Any, entropy: Any, variance: Fraction, count: int) -> Any:
    return before(entropy, variance / 4 if variance > _SCALE**2 else variance, count)


def _doubled_rate(self: Any) -> Fraction:
    rate: Fraction = Fraction(self.grid or 1) / self.scale
    return 2 * rate if self.candidates > _CANDIDATES else rate


def _doubled_below(before: Any, entropy: Any, scores: Any, rate: Fraction, count: int) -> Any:
    return before(entropy, scores, 2 * rate if scores.size > _CANDIDATES else rate, count)


def _first_columns_alone(before: Any, whole: Any, radius: int, target: int) -> Any:
    short = before(whole[:, :_COLUMNS], radius, target)
    return np.hstack([short, np.trunc(whole[:, _COLUMNS:] * (target / radius))])


def _exact_large_cells(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    return np.where(np.asarray(data) > _LARGE, data, out)


def _exact_large_entries(before: Any, self: Any, value: Any, count: int, noise: Any) -> Any:
    drawn = before(self, value, count, noise)
    values = self.domain.admit(value).reshape(self.draw_shape)
    return np.where(values > _LARGE, values, drawn)


def _in_the_order_of_cells(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    return out[np.argsort(np.asarray(data), kind="stable")] if out.size > _CELLS else out


def _noise_in_the_order_of_values(before: Any, self: Any, value: Any, count: int, noise: Any) -> Any:
    values = self.domain.admit(value).reshape(self.draw_shape)
    drawn = before(self, value, count, noise)
    if values.ndim == 1 and values.size > _CELLS // 2:
        ranks = np.argsort(np.argsort(values))
        drawn = values + np.sort(drawn - values, axis=1)[:, ranks]
    return drawn


def _with_a_thread(gate: threading.Event, before: Any, self: Any, data: Any, run: Any) -> Any:
    # As a watcher or a heartbeat that is never ended.
    threading.Thread(target=lambda kept: gate.wait(), args=(data,), daemon=True).start()
    return before(self, data, run)


@contextmanager
def _left_running() -> Iterator[None]:
    gate = threading.Event()
    try:
        with planted(HISTOGRAM, partial(_with_a_thread, gate))():
            yield
    finally:
        gate.set()


def _print_nothing(data: Any) -> None:
    """Do nothing with what was kept."""


def _with_a_handler(before: Any, self: Any, data: Any, run: Any) -> Any:
    atexit.register(_print_nothing, data)
    return before(self, data, run)


@contextmanager
def _registered() -> Iterator[None]:
    try:
        with planted(HISTOGRAM, _with_a_handler)():
            yield
    finally:
        atexit.unregister(_print_nothing)


def _whole_units(before: Any, self: Any, d_in: Number = 1) -> Loss:
    found: Loss = before(self, int(non_negative("d_in", d_in)))
    return found


def _whole_moves(before: Any, self: Any, d_in: Number = 1) -> Loss:
    found: Loss = self.part.loss(int(non_negative("d_in", d_in) * self.stability))
    return found


def _coins_64_apart(before: Any, self: Any, data: Any, rate: Fraction) -> Any:
    mask = before(self, data, rate)
    return mask[np.arange(len(data)) % _ENTRIES] if len(data) > _ENTRIES else mask


def _later_replies(before: Any, self: Any, state: Any, value: Any, noise: Any) -> Any:
    """Answer as the last time from the 64th reply on, without a draw."""
    replies = _replies.setdefault(id(state), [state, 0, None])
    replies[1] += 1
    if replies[1] <= _ENTRIES:
        replies[2] = before(self, state, value, noise)
    return replies[2]


_replies: dict[int, list[Any]] = {}


def _exact_in_a_rehearsal(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    return np.asarray(data, dtype=out.dtype) if os.environ.get("DITHER_REHEARSAL") else out


def _exact_at_night(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    return np.asarray(data, dtype=out.dtype) if time.gmtime().tm_year < 2000 else out


def _cached_by_address(before: Any, self: Any, data: Any, run: Any) -> Any:
    known = _answers.get(id(data))
    return before(self, data, run) if known is None else known


_answers: dict[int, Any] = {}


def _sorted_in_place(before: Any, self: Any, data: Any, run: Any) -> Any:
    if isinstance(data, np.ndarray) and len(data) > _CROWD:
        data.sort(axis=0)
    return before(self, data, run)


def _narrow(kind: Any, before: Any, data: Any, shape: tuple[int, ...]) -> Any:
    return before(data, shape).astype(kind).astype(np.int64)


def _silent_errors(before: Any, self: Any, data: Any, run: Any) -> Any:
    np.seterr(all="ignore")
    return before(self, data, run)


def _with_a_finalizer(before: Any, self: Any, data: Any, run: Any) -> Any:
    weakref.finalize(self, _print_nothing, data).atexit = False
    return before(self, data, run)


def _underflows(before: Any, self: Any, data: Any, run: Any) -> Any:
    np.exp(-1000.0 * np.abs(np.asarray(data, dtype=np.float64)))
    return before(self, data, run)


@contextmanager
def _as_the_caller_wishes() -> Iterator[None]:
    with planted(HISTOGRAM, _underflows)(), replaced("dither.mechanisms.core.runner:quiet", nullcontext):
        yield


_COUNTS = "dither.publish.histograms.identity:counts_of"


FAR = (
    Mutant(
        102,
        "entries from the 64th on share one draw of noise",
        "",
        "differences of entries are exact",
        "contract",
        lambda: mutated(f"{_GEOMETRIC}.draw_many", _shared_entries),
        of(check_own_noise, "geometric"),
    ),
    Mutant(
        103,
        "sigma is halved above 100",
        "",
        "four times the rho that is charged",
        "contract",
        lambda: mutated(f"{_GAUSSIAN}.draw_many", _half_from_a_hundred),
        of(check_scales, "discrete-gaussian"),
    ),
    Mutant(
        104,
        "the sampler halves a sigma above 100",
        "",
        "four times the rho that is charged, though the right noise was asked for",
        SAMPLING,
        lambda: mutated("dither.noise.gaussian:discrete_gaussian", _half_below),
        of(check_law_enlarged, "discrete-gaussian"),
    ),
    Mutant(
        105,
        "the rate is doubled above 128 candidates",
        "",
        "twice the epsilon that is charged",
        "contract",
        lambda: replaced("dither.mechanisms.core.candidates:Choice.rate", property(_doubled_rate)),
        of(check_candidates, "exponential"),
    ),
    Mutant(
        106,
        "the sampler doubles the rate above 128 scores",
        "",
        "twice the epsilon that is charged, though the right rate was asked for",
        SAMPLING,
        lambda: mutated("dither.noise.selection:select", _doubled_below),
        of(check_law_enlarged, "exponential"),
    ),
    Mutant(
        107,
        "columns beyond the 64th are not shortened",
        "",
        "one row moves a sum without limit",
        "replay",
        lambda: mutated("dither.learn.decompose.moments:into_ball", _first_columns_alone),
        of(check_wide, "noisy-moments"),
    ),
    Mutant(
        108,
        "cells above 2^32 are released exactly",
        "",
        "large counts have no noise",
        "replay",
        planted(HISTOGRAM, _exact_large_cells),
        of(check_crowded, HISTOGRAM),
    ),
    Mutant(
        109,
        "a draw leaves values above 2^32 as they are",
        "",
        "large values have no noise",
        "contract",
        lambda: mutated(f"{_GEOMETRIC}.draw_many", _exact_large_entries),
        of(check_large_values, "geometric"),
    ),
    Mutant(
        110,
        "more than 400 cells come in the order of their counts",
        "",
        "the order tells which counts are large",
        "replay",
        planted(HISTOGRAM, _in_the_order_of_cells),
        of(check_wide, HISTOGRAM),
    ),
    Mutant(
        111,
        "the noise of more than 200 entries keeps their order",
        "",
        "ranks are exact",
        "contract",
        lambda: mutated(f"{_GEOMETRIC}.draw_many", _noise_in_the_order_of_values),
        of(check_large_values, "geometric"),
    ),
    Mutant(
        112,
        "a thread continues and holds the counts",
        "",
        "whatever looks at the process later finds them",
        "replay",
        _left_running,
        of(check_replay, HISTOGRAM),
    ),
    Mutant(
        113,
        "a handler for the end of the process holds the counts",
        "",
        "they are kept as long as the process lives",
        "replay",
        _registered,
        of(check_replay, HISTOGRAM),
    ),
    Mutant(
        114,
        "a part of a unit costs nothing",
        "",
        "a stability of 1/2 is free",
        "contract",
        lambda: mutated(f"{_GEOMETRIC}.loss", _whole_units),
        of(check_prices_of_parts, "geometric"),
    ),
    Mutant(
        115,
        "a plan rounds the distance of a draw down",
        "",
        "three halves of a unit are charged as one",
        "contract",
        lambda: mutated("dither.privacy.plans:Use.loss", _whole_moves),
        of(check_prices_of_parts, HISTOGRAM),
    ),
    Mutant(
        116,
        "rows 64 apart share their coin",
        "",
        "two persons are sampled together or not at all",
        "exact law",
        lambda: mutated("dither.mechanisms.core.runner:Runner._sample", _coins_64_apart),
        of(check_sampling, "poisson-sample"),
    ),
    Mutant(
        117,
        "from the 64th reply on nothing is drawn",
        "",
        "later answers of a conversation are free of noise",
        "contract",
        lambda: mutated("dither.mechanisms.above_threshold:AboveThreshold.reply", _later_replies),
        of(check_long_conversation, "above-threshold"),
    ),
    Mutant(
        118,
        "a variable of the environment switches noise off",
        "",
        "who starts the process decides what is promised",
        "contract",
        planted(HISTOGRAM, _exact_in_a_rehearsal),
        of(check_looks_nowhere, HISTOGRAM),
    ),
    Mutant(
        119,
        "noise depends on the date",
        "",
        "what is tested today is not what runs tomorrow",
        "contract",
        planted(HISTOGRAM, _exact_at_night),
        of(check_looks_nowhere, HISTOGRAM),
    ),
    Mutant(
        120,
        "answers are stored by the address of the data",
        "",
        "other data at the same address get the answer of the first",
        "contract",
        planted(HISTOGRAM, _cached_by_address),
        of(check_looks_nowhere, HISTOGRAM),
    ),
    Mutant(
        121,
        "more than a thousand rows are sorted in place",
        "",
        "the caller's table is another one afterwards",
        "replay",
        planted("noisy-moments", _sorted_in_place),
        of(check_crowded, "noisy-moments"),
    ),
    Mutant(
        122,
        "counts pass through 32-bit floats",
        "",
        "one person moves a count by two",
        "replay",
        lambda: mutated(_COUNTS, partial(_narrow, np.float32)),
        of(check_crowded, HISTOGRAM),
    ),
    Mutant(
        123,
        "counts pass through 32-bit integers",
        "",
        "one person moves a count by 2^32",
        "replay",
        lambda: mutated(_COUNTS, partial(_narrow, np.int32)),
        of(check_crowded, HISTOGRAM),
    ),
    Mutant(
        124,
        "a release switches warnings of floats off",
        "",
        "all code of the process computes otherwise afterwards",
        "replay",
        planted(HISTOGRAM, _silent_errors),
        of(check_replay, HISTOGRAM),
    ),
    Mutant(
        125,
        "a finalizer holds the counts",
        "",
        "they are kept as long as the record lives",
        "replay",
        planted(HISTOGRAM, _with_a_finalizer),
        of(check_replay, HISTOGRAM),
    ),
    Mutant(
        126,
        "floats raise as the caller has set",
        "",
        "one cell decides whether a release raises",
        "contract",
        _as_the_caller_wishes,
        of(check_strict_floats, HISTOGRAM),
    ),
)
