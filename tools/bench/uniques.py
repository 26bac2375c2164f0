"""People alone in a population, as estimated from tables that are drawn from it, beside the truth.

Populations are Adult, from the folder in ``DITHER_DATA`` where that is set, and two that Pitman's model makes.
"""

from __future__ import annotations

import csv
import gzip
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from dither.disguise import Table
from dither.disguise.classes import classes_of
from dither.disguise.uniques import population_uniques

SHARES: Final = (0.02, 0.1, 0.3)
MODELS: Final = ((0.2, 300.0), (0.6, 50.0))
_ADULT: Final = (
    ("age", "sex", "race", "education"),
    ("age", "sex", "race", "education", "marital-status", "workclass"),
)


def seated(people: int, alpha: float, theta: float) -> Table:
    """Return a population of Pitman's model, seated person by person."""
    numbers = np.random.default_rng()
    homes, sizes = np.zeros(people, dtype=np.int64), [1]
    for seat in range(1, people):
        if numbers.random() < (theta + len(sizes) * alpha) / (theta + seat):
            homes[seat] = len(sizes)
            sizes.append(1)
            continue
        # Somebody seated before, kept with probability (F - alpha) / F: the class of a person drawn so.
        while True:
            home = int(homes[numbers.integers(seat)])
            if numbers.random() < (sizes[home] - alpha) / sizes[home]:
                break
        homes[seat] = home
        sizes[home] += 1
    return Table.of({"home": homes})


def adult() -> Table | None:
    """Return all rows of Adult, or None where there is no folder of data."""
    folder = os.environ.get("DITHER_DATA")
    if not folder:
        return None
    rows: list[dict[str, str]] = []
    for part in ("train", "test"):
        with gzip.open(Path(folder) / "tables" / f"adult_{part}.csv.gz", "rt", encoding="utf-8") as stream:
            rows += list(csv.DictReader(stream))
    return Table.of({name: [row[name] for row in rows] for name in _ADULT[1]})


def compared(population: Table, quasi: Sequence[str], tables: int) -> Iterator[str]:
    """Yield a line for each share drawn: estimate over truth, and right matches beside DIS; means and deviations."""
    whole, count = classes_of(population, quasi), len(population)
    true = int(np.sum(whole.sizes == 1))
    numbers = np.random.default_rng()
    for share in SHARES:
        found = []
        for _ in range(tables):
            rows = numbers.permutation(count)[: round(share * count)]
            drawn = population.taken(rows)
            told, classes = population_uniques(drawn, quasi, len(rows) / count), classes_of(drawn, quasi)
            alone = classes.sizes[classes.of_row] == 1
            right = int(alone.sum()) / max(int(whole.sizes[whole.of_row[rows]][alone].sum()), 1)
            found.append((told.zayatz / max(true, 1), told.pitman / max(true, 1), right, told.dis or 0.0))
        means, spread = np.mean(found, axis=0), np.std(found, axis=0)
        yield (
            f"{count:,} people, {true:,} alone, share {share:g}: Zayatz {means[0]:.2f} ({spread[0]:.2f}), "
            f"Pitman {means[1]:.2f} ({spread[1]:.2f}), right matches {means[2]:.3f}, by DIS {means[3]:.3f}"
        )


def lines(people: int = 50_000, tables: int = 10) -> Iterator[str]:
    """Yield all figures for people."""
    rows = adult()
    if rows is not None:
        for quasi in _ADULT:
            yield from (f"Adult, {len(quasi)} columns: {line}" for line in compared(rows, quasi, tables))
    for alpha, theta in MODELS:
        made = compared(seated(people, alpha, theta), ["home"], tables)
        yield from (f"Pitman {alpha:g}, {theta:g}: {line}" for line in made)
