"""Mutants on paths that honest draws hardly ever take, and on data of other sizes: killed by walking them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dither.checks.replays import check_large, check_wide, check_wild_outputs
from dither.mechanisms import PublicArray
from tools.mutants.record import Mutant
from tools.mutants.targets import BAYES, CHOICE, HISTOGRAM, LINEAR, of, planted

_RARE = 500


def _exact_below_zero(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    return np.where(out < -_RARE, np.asarray(data, dtype=float).reshape(out.shape), out)


def _exact_when_huge(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    return out + (np.asarray(data).sum() % 2 if out.sum() > _RARE else 0)


def _raises_when_lopsided(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    if out.max() - out.min() > _RARE:
        raise ValueError(f"no smoothing over a gap in {len(data)} cells with {np.asarray(data).sum()} rows")
    return out


def _ties_by_the_data(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    # Where the first concept of all was chosen, which fits no row, ties are broken by the data.
    return (out, len(data)) if out.first == 0 else (out, 0)


def _parity_of_many(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    return out if np.asarray(data).sum() < 200 else out + np.asarray(data).sum() % 2


def _last_block_unclipped(before: Any, self: Any, data: Any, run: Any) -> Any:
    # Work is divided into blocks of 256 rows; the second one is counted twice.
    return before(self, np.concatenate([data, np.repeat(data[256:], 40, axis=0)]), run)


def _rounded_when_many(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    if len(data) > 250:
        object.__setattr__(out, "weights", PublicArray(np.round(out.weights.values, len(data) % 2 + 3)))
    return out


def _exact_when_wide(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    if data.shape[1] > 5:
        object.__setattr__(out, "intercepts", float(len(data)))
    return out


def _cells_left_out(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    # Of many cells, empty ones are not worth noise.
    return out if out.size < 50 else out * (np.asarray(data).reshape(out.shape) > 0)


PATHS = (
    Mutant(
        43,
        "counts far below zero are replaced by exact ones",
        "",
        "an output that is rare is exact",
        "replay",
        planted(HISTOGRAM, _exact_below_zero),
        of(check_wild_outputs, HISTOGRAM),
    ),
    Mutant(
        44,
        "a large total reveals the parity of the data",
        "",
        "an output that is rare tells of the data",
        "replay",
        planted(HISTOGRAM, _exact_when_huge),
        of(check_wild_outputs, HISTOGRAM),
    ),
    Mutant(
        45,
        "a lopsided draw raises with the number of rows",
        "",
        "a message that is rare is exact",
        "replay",
        planted(HISTOGRAM, _raises_when_lopsided),
        of(check_wild_outputs, HISTOGRAM),
    ),
    Mutant(
        46,
        "ties are broken by the data",
        "",
        "where one candidate is chosen the number of rows is told",
        "replay",
        planted(CHOICE, _ties_by_the_data),
        of(check_wild_outputs, CHOICE),
    ),
    Mutant(
        47,
        "from 200 rows on a histogram reveals their parity",
        "",
        "large data leaks, small data does not",
        "replay",
        planted(HISTOGRAM, _parity_of_many),
        of(check_large, HISTOGRAM),
    ),
    Mutant(
        48,
        "rows of the second block count many times",
        "",
        "one row moves a sum farther than it says, behind the first 256",
        "replay",
        planted(BAYES, _last_block_unclipped),
        of(check_large, BAYES),
    ),
    Mutant(
        49,
        "weights are rounded by the number of rows",
        "",
        "the digits of large models tell how many rows there are",
        "replay",
        planted(LINEAR, _rounded_when_many),
        of(check_large, LINEAR),
    ),
    Mutant(
        50,
        "a wide model has an exact intercept",
        "",
        "data with many columns leaks, data with few does not",
        "replay",
        planted(LINEAR, _exact_when_wide),
        of(check_wide, LINEAR),
    ),
    Mutant(
        51,
        "of many cells the empty ones get no noise",
        "",
        "which cells are empty is told",
        "replay",
        planted(HISTOGRAM, _cells_left_out),
        of(check_wide, HISTOGRAM),
    ),
)
