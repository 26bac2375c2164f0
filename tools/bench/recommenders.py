"""Recommenders: the error of predictions by loss on ratings of films and jokes, beside the same models without noise.

MovieLens 100K and Jester from the folder in ``DITHER_DATA``; where that is not set, made-up ratings. A fifth of the
ratings is held out, medians of five splits. Settings of the models were chosen on made-up ratings and on MovieLens
latest-small, never on these. Figures without noise are no release. ``python -m tools.bench recommenders``.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.learn.recommend import ItemCovariance, ItemMeans, ItemModel
from dither.learn.recommend.choose import COVARIANCE, chosen_method
from dither.learn.recommend.personal import first_of
from dither.lift.profiles import Profiles
from dither.mechanisms import perform
from dither.privacy import ApproxDP
from tools.bench.clock import load

EPSILONS: Final = ("0.5", "1", "5", "20")
DELTA: Final = "1e-5"
SPLITS: Final = 5
_HELD_OUT: Final = 0.2
_SHOWN: Final = 10
_RAREST: Final = 0.1
#: A loss with next to no noise, and a reach with which everybody counts in full.
_NO_NOISE: Final = 10**12
_EVERYBODY: Final = 2**10

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Ratings:
    """Ratings, one in each place of three arrays, and what is public about them."""

    name: str
    people: Ints
    items: Ints
    values: Floats
    size: int
    lower: float
    upper: float
    attributes: Floats | None = None

    @property
    def persons(self) -> int:
        """The number of people."""
        return int(self.people.max()) + 1


@dataclass(frozen=True)
class Figures:
    """How well one model does on what was held out: its error, that for people of rare taste, what is shown."""

    error: float
    rarest: float
    shown: float


def _rows(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        return [*csv.reader(stream)][1:]


def _numbered(values: Sequence[str]) -> Ints:
    return np.unique(np.array(values, dtype=np.int64), return_inverse=True)[1].ravel().astype(np.int64)


def films(folder: Path) -> Ratings:
    """Return MovieLens 100K, with genres and years of films."""
    rows, listed = _rows(folder / "ml100k_ratings.csv.gz"), _rows(folder / "ml100k_items.csv.gz")
    genres = np.array([[float(cell or 0) for cell in row[5:24]] for row in listed])
    years = [re.search(r"(\d{4})$", row[2]) for row in listed]
    parts = np.zeros((len(listed), 8))
    for place, found in enumerate(years):
        if found is not None:
            parts[place, min(max(int(found[1]) - 1920, 0) // 10, 7)] = 1.0
    people, items, values = (np.array(column) for column in zip(*(row[:3] for row in rows), strict=True))
    known = np.hstack([genres, parts])
    numbers = items.astype(np.int64) - 1
    return Ratings("MovieLens 100K", _numbered(people), numbers, values.astype(float), len(listed), 1, 5, known)  # type: ignore[arg-type]


def jokes(folder: Path) -> Ratings:
    """Return Jester."""
    people, items, values = (np.array(one) for one in zip(*_rows(folder / "jester5k.csv.gz"), strict=True))
    numbers = _numbered(items)  # type: ignore[arg-type]
    return Ratings("Jester", _numbered(people), numbers, values.astype(float), int(numbers.max()) + 1, -10, 10)  # type: ignore[arg-type]


def made_up(persons: int = 3000, items: int = 60, rank: int = 4) -> Ratings:
    """Return ratings of people whose taste has a few dimensions."""
    draw = np.random.default_rng()
    taste, traits = draw.normal(size=(persons, rank)), draw.normal(size=(items, rank)) / np.sqrt(rank)
    values = 3 + draw.normal(0, 0.4, (persons, 1)) + draw.normal(0, 0.5, items) + taste @ traits.T
    is_rated = draw.uniform(size=values.shape) < draw.uniform(0.1, 0.7, size=(persons, 1))
    people, numbers = np.nonzero(is_rated)
    drawn = np.clip(values + draw.normal(0, 0.6, values.shape), 1, 5)[people, numbers]
    return Ratings("made up", people.astype(np.int64), numbers.astype(np.int64), drawn, items, 1, 5)


def collections() -> Iterator[Ratings]:
    """Yield the real ratings, or made-up ones where there are none."""
    folder = Path(os.environ.get("DITHER_DATA", "")) / "ratings"
    if "DITHER_DATA" not in os.environ or not folder.is_dir():
        yield made_up()
        return
    yield films(folder)
    yield jokes(folder)


def models(ratings: Ratings, profiles: Profiles, epsilon: str | None) -> Iterator[tuple[str, ItemModel]]:
    """Yield models of a loss by their method, and the name of that which ``auto`` takes; without noise for None."""
    loss = ApproxDP(epsilon or _NO_NOISE, DELTA)
    usual = chosen_method(loss, ratings.size, ratings.persons)
    kinds: Mapping[str, Any] = {"means": ItemMeans, COVARIANCE: ItemCovariance}
    for name, kind in kinds.items():
        reach = {"reach": _EVERYBODY} if epsilon is None else {}
        method = kind.calibrated(loss, items=ratings.size, lower=ratings.lower, upper=ratings.upper, **reach)
        is_usual = name == usual and epsilon is not None
        yield (f"{name} (auto)" if is_usual else name), perform(method, profiles)


def figures(ratings: Ratings, model: ItemModel, held_out: NDArray[np.bool_]) -> Figures:
    """Return how well a model predicts what was held out, for each person from that person's other ratings."""
    middle, half = (ratings.lower + ratings.upper) / 2, (ratings.upper - ratings.lower) / 2
    order = np.argsort(ratings.people, kind="stable")
    ends = np.searchsorted(ratings.people[order], np.arange(ratings.persons + 1))
    often = np.bincount(ratings.items, minlength=ratings.size)
    wrong, taste, shown = [], [], set[int]()
    for start, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        own = order[start:stop]
        known, asked = own[~held_out[own]], own[held_out[own]]
        if not asked.size:
            continue
        values = (ratings.values[known] - middle) / half
        expected = np.clip(middle + half * model.expected(ratings.items[known], values), ratings.lower, ratings.upper)
        wrong.append(((expected[ratings.items[asked]] - ratings.values[asked]) ** 2).tolist())
        taste.append(float(np.mean(often[ratings.items[own]])))
        expected[ratings.items[known]] = -np.inf
        shown.update(first_of(expected, _SHOWN).tolist())
    rare = np.argsort(taste)[: max(1, int(_RAREST * len(taste)))]
    rarest = [one for place in rare.tolist() for one in wrong[place]]
    every = [one for each in wrong for one in each]
    return Figures(float(np.sqrt(np.mean(every))), float(np.sqrt(np.mean(rarest))), len(shown) / ratings.size)


def compared(
    ratings: Ratings, epsilons: Sequence[str | None], splits: int = SPLITS
) -> Iterator[tuple[str, str, Figures]]:
    """Yield the figures of each method at each loss, medians over splits."""
    for epsilon in epsilons:
        found: dict[str, list[Figures]] = {}
        for split in range(splits):
            held_out = np.random.default_rng(split).uniform(size=ratings.people.size) < _HELD_OUT
            kept = ~held_out
            none = np.zeros(int(kept.sum()))
            parts = (ratings.people[kept], ratings.items[kept], ratings.values[kept])
            profiles = Profiles.of(*parts, none, ratings.attributes)
            for name, model in models(ratings, profiles, epsilon):
                found.setdefault(name, []).append(figures(ratings, model, held_out))
        for name, many in found.items():
            middle = (statistics.median(getattr(one, part) for one in many) for part in ("error", "rarest", "shown"))
            yield epsilon or "no noise", name, Figures(*middle)


def lines() -> Iterator[str]:
    """Yield the figures for people."""
    yield "ratings | epsilon | model | RMSE | RMSE, people of the rarest taste | share of items ever shown"
    for ratings in collections():
        for epsilon, name, one in compared(ratings, (*EPSILONS, None)):
            yield f"{ratings.name} | {epsilon} | {name} | {one.error:.4f} | {one.rarest:.4f} | {one.shown:.1%}"
    yield f"delta {DELTA}, medians of {SPLITS} splits; {load()}"
