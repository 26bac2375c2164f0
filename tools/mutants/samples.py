"""Mutants of secret samples: killed where they are drawn, by the exact law of every set of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dither.checks.replays import check_sampling
from dither.checks.sampling import check_fixed_sample, check_many_rows, check_number_of_runs
from dither.noise import Noise
from dither.privacy import Repeats
from tools.mutants.record import SAMPLING, Mutant, mutated
from tools.mutants.targets import of

_RUNNER = "dither.mechanisms.core.runner:Runner"
_SAMPLES, _FALSE_ALARM = 3000, 1e-10


def _fixed() -> None:
    """Check that all sets of rows of one size are equally likely."""
    check_fixed_sample(2, 4)


def _many() -> None:
    """Check rows at every place of a longer table."""
    check_many_rows(_SAMPLES, _FALSE_ALARM)


def _runs() -> None:
    """Check the number of runs of a selection."""
    check_number_of_runs(Repeats(Fraction(1, 3), 1))


def _first_rows(before: Any, self: Any, data: Any, rate: Fraction) -> Any:
    return np.arange(len(data)) < float(rate * len(data))


def _one_coin_for_all(before: Any, self: Any, data: Any, rate: Fraction) -> Any:
    return np.repeat(self._noise.bernoulli(rate, 1), len(data))


def _by_content(before: Any, self: Any, data: Any, rate: Fraction) -> Any:
    # A hash that anybody can compute: the sample is the same for everybody, and known.
    return np.array([(7 * int(row) + 3) % 16 < 16 * rate for row in np.asarray(data).ravel()[: len(data)]])


def _a_window(before: Any, self: Any, data: Any, kept: int) -> Any:
    start = int(self._noise.uniform_below(len(data), 1)[0])
    return np.isin(np.arange(len(data)), (start + np.arange(kept)) % len(data))


def _surplus_from_the_front(before: Any, noise: Noise, kept: int, of: int) -> Any:
    if of <= 32:
        return before(noise, kept, of)
    mask = noise.bernoulli(Fraction(kept, of), of)
    surplus = int(mask.sum()) - kept
    among = np.flatnonzero(mask == (surplus > 0))[: abs(surplus)]
    mask[among] = surplus < 0
    return mask


def _at_most_three(before: Any, self: Any, repeats: Repeats) -> int:
    return min(int(before(self, repeats)), 3)


SAMPLES = (
    Mutant(
        72,
        "the first rows as a Poisson sample",
        "",
        "those in front are always in it",
        "exact law",
        lambda: mutated(f"{_RUNNER}._sample", _first_rows),
        of(check_sampling, "poisson-sample"),
    ),
    Mutant(
        73,
        "one coin for all rows",
        "",
        "all are sampled or nobody is, and amplification is gone",
        "exact law",
        lambda: mutated(f"{_RUNNER}._sample", _one_coin_for_all),
        of(check_sampling, "poisson-sample"),
    ),
    Mutant(
        74,
        "rows are sampled by a public hash",
        "",
        "everybody knows who is in the sample",
        "exact law",
        lambda: mutated(f"{_RUNNER}._sample", _by_content),
        of(check_sampling, "poisson-sample"),
    ),
    Mutant(
        75,
        "a sample of fixed size is a window",
        "",
        "neighbours in the table are sampled together",
        "exact law",
        lambda: mutated(f"{_RUNNER}._sample_exactly", _a_window),
        _fixed,
    ),
    Mutant(
        76,
        "a surplus is taken from the front",
        "",
        "in longer tables the first rows are sampled less often",
        SAMPLING,
        lambda: mutated("dither.mechanisms.core.runner:_subset", _surplus_from_the_front),
        _many,
    ),
    Mutant(
        77,
        "at most three runs of a selection",
        "",
        "selection is private for another law of runs",
        "exact law",
        lambda: mutated(f"{_RUNNER}._count_runs", _at_most_three),
        _runs,
    ),
)
