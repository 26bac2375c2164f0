"""Mutants that keep something between runs: killed by running again, and by processes with other histories."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dither.checks.replays import check_again, check_histories
from dither.mechanisms import find
from tools.mutants.record import Mutant
from tools.mutants.targets import BAYES, HISTOGRAM, LINEAR, example_of, of, planted

_first: dict[Any, Any] = {}


def _histories_of_histograms() -> None:
    """Check that what was counted first is not kept."""
    check_histories([example_of(HISTOGRAM)])


def _histories_of_classifiers() -> None:
    """Check that no module keeps what was learned from."""
    check_histories([example_of(LINEAR), example_of(BAYES)])


def _cached_by_shape(before: Any, self: Any, data: Any, run: Any) -> Any:
    # Meant to save the reading of large tables; the key is public, and what is kept is not.
    counts = _first.setdefault(self.shape, np.asarray(data).copy())
    return before(self, data, run) + (counts > 4)


def _first_maximum(before: Any, self: Any, data: Any, run: Any) -> Any:
    kind = type(self)
    if "_largest" not in vars(kind):
        kind._largest = float(np.nan_to_num(np.asarray(data, dtype=float)).max(initial=0.0))
    return before(self, data, run)


def _every_third_run(before: Any, self: Any, data: Any, run: Any, seen: list[int] = []) -> Any:  # noqa: B006
    seen.append(1)
    out = before(self, data, run)
    return out + (0.5 if len(seen) % 3 == 0 else 0.0)


def _kept_on_the_record(before: Any, self: Any, data: Any, run: Any) -> Any:
    object.__setattr__(self, "_counts", np.asarray(data).copy())
    return before(self, data, run)


def _seeded_for_all(before: Any, self: Any, data: Any, run: Any) -> Any:
    vars(np)["random"].shuffle(np.arange(len(data)))
    return before(self, data, run)


@contextmanager
def _last_table() -> Iterator[None]:
    """Let the module of a mechanism note how many rows it saw last."""
    module = sys.modules[find(BAYES).mechanism.__module__]
    seen: list[int] = []

    def noted(before: Any, self: Any, data: Any, run: Any) -> Any:
        seen[:] = [len(data)]
        return before(self, data, run)

    module.__dict__["_rows_seen"] = seen
    try:
        with planted(BAYES, noted)():
            yield
    finally:
        del module.__dict__["_rows_seen"]


KEPT = (
    Mutant(
        37,
        "a cache under a public key keeps the first counts",
        "",
        "later releases tell of the data that was seen first",
        "replay",
        planted(HISTOGRAM, _cached_by_shape),
        _histories_of_histograms,
    ),
    Mutant(
        38,
        "a class attribute keeps the largest value",
        "",
        "every later release could be scaled by it",
        "replay",
        planted(LINEAR, _first_maximum),
        _histories_of_classifiers,
    ),
    Mutant(
        39,
        "a default argument counts the runs",
        "",
        "an output depends on how many were asked for before",
        "replay",
        planted(HISTOGRAM, _every_third_run),
        of(check_again, HISTOGRAM),
    ),
    Mutant(
        40,
        "counts stay on the record of public parameters",
        "",
        "a record that is printed and stored holds data",
        "replay",
        planted(HISTOGRAM, _kept_on_the_record),
        of(check_again, HISTOGRAM),
    ),
    Mutant(
        41,
        "rows are shuffled by the generator of everybody",
        "",
        "how far the generator moved tells how many rows there are",
        "replay",
        planted(LINEAR, _seeded_for_all),
        _histories_of_classifiers,
    ),
    Mutant(
        42,
        "a module keeps the last number of rows",
        "",
        "whoever reads the module knows it",
        "replay",
        _last_table,
        _histories_of_classifiers,
    ),
)
