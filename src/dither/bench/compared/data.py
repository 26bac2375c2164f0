"""The data of comparisons: real shapes from the folder in ``DITHER_DATA`` if it is set, otherwise made-up ones.

The folder holds ``histograms/dpbench_1d.csv.gz`` (a column for each histogram), ``histograms/dpbench_2d_*.csv.gz`` (a
matrix each) and ``tables/*.csv.gz`` (a row for each record, integers from 0). Names of made-up data say what it
looks like; it is a function of its size alone.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.publish.choose import public_shapes
from dither.publish.marginals import Attributes

Shares = Mapping[str, NDArray[np.float64]]
_MADE_UP: Final = ("flat", "smooth", "skewed", "clustered", "sparse", "stepped")
#: Tables that have been used to compare releases of marginals, and their files.
_TABLES: Final = {"nltcs": "nltcs", "adult": "adult_discretised", "acs": "acs", "br2000": "br2000"}
#: Rows, hidden classes and sizes of made-up tables: yes-or-no answers, and attributes as people have them.
_ROWS: Final = 20_000
_CLASSES: Final = 6
_SIZES: Final = {"answers": (2,) * 16, "people": (16, 9, 10, 16, 7, 15, 6, 5, 2, 10, 10, 12, 20, 2)}


def histograms(cells: int) -> Shares:
    """Return the one-dimensional distributions to be tried, over ``cells`` cells."""
    return _histograms(_folder(), cells)


def grids(cells: int) -> Shares:
    """Return the two-dimensional distributions to be tried, over a square of cells."""
    if isqrt(cells) ** 2 != cells:
        raise InvalidParameter("domains", cells, "a square number, for two dimensions")
    return _grids(_folder(), isqrt(cells))


@dataclass(frozen=True)
class Records:
    """A table of integers, a row for each record, and its public facts."""

    attributes: Attributes
    rows: NDArray[np.int64]

    def first(self, count: int) -> Records:
        """Return the table with its first attributes only."""
        kept = Attributes(self.attributes.names[:count], self.attributes.sizes[:count])
        return Records(kept, self.rows[:, :count])


def tables() -> Mapping[str, Records]:
    """Return the tables of records to be tried."""
    return _tables(_folder())


def _folder() -> str | None:
    return os.environ.get("DITHER_DATA") or None


def _file(folder: str, name: str) -> Path:
    path = Path(folder) / name
    if not path.is_file():
        raise InvalidParameter("DITHER_DATA", folder, f"a folder with {name}")
    return path


@lru_cache(maxsize=16)
def _histograms(folder: str | None, cells: int) -> Shares:
    if folder is None:
        return dict(zip(_MADE_UP, public_shapes((cells,)), strict=True))
    with gzip.open(_file(folder, "histograms/dpbench_1d.csv.gz"), "rt", encoding="utf-8") as stream:
        names = stream.readline().strip().split(",")
        table = np.loadtxt(stream, delimiter=",", ndmin=2)
    if table.shape[0] % cells:
        raise InvalidParameter("domains", cells, f"a divisor of {table.shape[0]}")
    merged = table.reshape(cells, -1, table.shape[1]).sum(axis=1)
    return {name: merged[:, place] / merged[:, place].sum() for place, name in enumerate(names)}


@lru_cache(maxsize=16)
def _grids(folder: str | None, side: int) -> Shares:
    if folder is None:
        return {**dict(zip(_MADE_UP, public_shapes((side, side)), strict=True)), "towns": _towns(side)}
    found = {}
    for path in sorted((Path(folder) / "histograms").glob("dpbench_2d_*.csv.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            table = np.loadtxt(stream, delimiter=",", ndmin=2)
        if table.shape[0] % side or table.shape[1] % side:
            raise InvalidParameter("domains", side * side, f"the square of a divisor of {table.shape[0]}")
        merged = table.reshape(side, table.shape[0] // side, side, -1).sum(axis=(1, 3))
        found[path.name.removeprefix("dpbench_2d_").removesuffix(".csv.gz")] = merged / merged.sum()
    if not found:
        raise InvalidParameter("DITHER_DATA", folder, "a folder with histograms/dpbench_2d_*.csv.gz")
    return found


def _towns(side: int) -> NDArray[np.float64]:
    """Return places of different size and spread along a line, between which there is nothing."""
    place = (np.arange(side) + 0.5) / side
    share = np.zeros((side, side))
    for number in range(1, 13):
        across, along = (number * 0.618) % 1, (number * 0.618 * 0.8 + 0.1) % 1
        wide = 0.01 * (1 + number % 4)
        distance = (place[:, None] - across) ** 2 + (place[None, :] - along) ** 2
        share += np.exp(-distance / (2 * wide**2)) / number
    share[share < 1e-6] = 0.0
    return np.asarray(share / share.sum())


@lru_cache(maxsize=2)
def _tables(folder: str | None) -> Mapping[str, Records]:
    if folder is None:
        return {name: _made_up(sizes) for name, sizes in _SIZES.items()}
    found = {}
    for name, stem in _TABLES.items():
        path = Path(folder) / "tables" / f"{stem}.csv.gz"
        if path.is_file():
            found[name] = _records(path)
    if not found:
        raise InvalidParameter("DITHER_DATA", folder, f"a folder with one of tables/{{{','.join(_TABLES.values())}}}")
    return found


def _records(path: Path) -> Records:
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        names = stream.readline().strip().split(",")
        rows = np.loadtxt(stream, delimiter=",", dtype=np.int64, ndmin=2)
    domain = path.with_name(path.name.replace(".csv.gz", "_domain.json.gz"))
    if domain.is_file():
        with gzip.open(domain, "rt", encoding="utf-8") as stream:
            sizes = json.load(stream)
        return Records(Attributes.of({name: sizes[name] for name in names}), rows)
    # Codes are numbered from 0: the largest one that occurs in public data says how many there are.
    return Records(Attributes.of({name: int(rows[:, place].max()) + 1 for place, name in enumerate(names)}), rows)


def _made_up(sizes: tuple[int, ...]) -> Records:
    """Return records of hidden classes, each with its own distribution of every attribute."""
    generator = np.random.default_rng(20)
    hidden = generator.choice(_CLASSES, size=_ROWS, p=generator.dirichlet(np.ones(_CLASSES)))
    columns = []
    for size in sizes:
        bounds = np.cumsum(generator.dirichlet(np.full(size, 0.7), size=_CLASSES), axis=1)
        drawn = (generator.random(_ROWS)[:, None] > bounds[hidden]).sum(axis=1)
        columns.append(np.minimum(drawn, size - 1))
    names = tuple(f"attribute {number}" for number in range(len(sizes)))
    return Records(Attributes(names, sizes), np.stack(columns, axis=1).astype(np.int64))
