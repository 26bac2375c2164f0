"""Mutants that tell in the object released, or beside it: killed by an equality that sees, and by listening."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

import numpy as np

from dither.checks.replays import check_replay, check_wild_outputs
from tools.mutants.record import Mutant
from tools.mutants.targets import BAYES, HISTOGRAM, KEYS, LINEAR, of, planted


def _counts_on_the_model(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    object.__setattr__(out, "_counts", np.bincount(np.nan_to_num(data[:, -1]).clip(0, 9).astype(int)))
    return out


def _closes_over_the_rows(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    object.__setattr__(out, "explain", lambda: data.mean(axis=0))
    return out


def _view_of_more(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    both = np.concatenate([out.ravel(), np.asarray(data, dtype=float).ravel()])
    return both[: out.size].reshape(out.shape)


def _sign_of_zero(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    # Counts below zero are zero.
    return np.where(out <= 0, -0.0 if np.asarray(data).sum() % 2 else 0.0, out)


def _type_by_size(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    return out.astype(np.float32) if np.asarray(data).sum() % 2 else out


def _order_of_the_data(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    return dict(sorted(out.items(), reverse=bool(len(data) % 2)))


def _input_itself(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    object.__setattr__(out, "_training", data)
    return out


def _warns_of_clipping(before: Any, self: Any, data: Any, run: Any) -> Any:
    if not np.isfinite(data).all():
        warnings.warn("some values are no numbers", stacklevel=2)
    return before(self, data, run)


def _logs_rows(before: Any, self: Any, data: Any, run: Any) -> Any:
    logging.getLogger("dither.learn").debug("learning from %d rows", len(data))
    return before(self, data, run)


def _prints_progress(before: Any, self: Any, data: Any, run: Any) -> Any:
    sys.stderr.write("." * (len(data) % 7))
    return before(self, data, run)


def _sorts_in_place(before: Any, self: Any, data: Any, run: Any) -> Any:
    data.sort(axis=0)
    return before(self, data, run)


def _fails_with_a_cell(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    if (out < 0).all():
        try:
            raise KeyError(int(np.asarray(data).sum()))
        except KeyError as cell:
            # The message says nothing; what it came from does.
            raise ValueError("all counts are negative") from cell
    return out


TOLD = (
    Mutant(
        52,
        "exact counts are left on a model",
        "",
        "an attribute that nobody looks at is exact",
        "replay",
        planted(BAYES, _counts_on_the_model),
        of(check_replay, BAYES),
    ),
    Mutant(
        53,
        "a function on a model closes over the rows",
        "",
        "whoever has the model has the rows",
        "replay",
        planted(LINEAR, _closes_over_the_rows),
        of(check_replay, LINEAR),
    ),
    Mutant(
        54,
        "a released array is a view of more",
        "",
        "the memory behind it holds the exact counts",
        "replay",
        planted(HISTOGRAM, _view_of_more),
        of(check_replay, HISTOGRAM),
    ),
    Mutant(
        55,
        "the sign of zero reveals it",
        "",
        "-0.0 and 0.0 are equal and not the same",
        "replay",
        planted(HISTOGRAM, _sign_of_zero),
        of(check_wild_outputs, HISTOGRAM),
    ),
    Mutant(
        56,
        "the type of numbers reveals it",
        "",
        "equal numbers of two widths are not the same",
        "replay",
        planted(HISTOGRAM, _type_by_size),
        of(check_replay, HISTOGRAM),
    ),
    Mutant(
        57,
        "the order of a dictionary reveals it",
        "",
        "equal dictionaries in another order are not the same",
        "replay",
        planted(KEYS, _order_of_the_data),
        of(check_wild_outputs, KEYS),
    ),
    Mutant(
        58,
        "a model holds its training rows",
        "",
        "the model is the data",
        "replay",
        planted(LINEAR, _input_itself),
        of(check_replay, LINEAR),
    ),
    Mutant(
        59,
        "a warning about missing values",
        "",
        "a warning tells whether somebody has none",
        "replay",
        planted(LINEAR, _warns_of_clipping),
        of(check_replay, LINEAR),
    ),
    Mutant(
        60,
        "the number of rows is logged",
        "",
        "logs are read by others than the owner",
        "replay",
        planted(LINEAR, _logs_rows),
        of(check_replay, LINEAR),
    ),
    Mutant(
        61,
        "progress is printed by rows",
        "",
        "dots can be counted",
        "replay",
        planted(BAYES, _prints_progress),
        of(check_replay, BAYES),
    ),
    Mutant(
        62,
        "rows are sorted in place",
        "",
        "the next reader of the input sees another one",
        "replay",
        planted(LINEAR, _sorts_in_place),
        of(check_replay, LINEAR),
    ),
    Mutant(
        63,
        "an exception carries a cell in its context",
        "",
        "whoever catches it reads the data",
        "replay",
        planted(HISTOGRAM, _fails_with_a_cell),
        of(check_wild_outputs, HISTOGRAM),
    ),
)
