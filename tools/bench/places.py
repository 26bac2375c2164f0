"""Places: range counts on maps, flows between zones, synthetic journeys, and the time they take.

Maps: ten histograms of DPBench and three cut out of Brightkite's last positions, from the folder in ``DITHER_DATA``;
where that is not set, made-up ones. Flows: a day of taxi trips from there, else made-up ones. Journeys: a generated
city. Figures are against the true counts: a benchmark on public data, no release.
"""

from __future__ import annotations

import csv
import gzip
import os
import resource
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.bench.journeys import MEASURES, compared, divergence
from dither.estimate.projections import non_negative_with_total
from dither.mechanisms.core.release import perform
from dither.privacy import PureDP
from dither.publish.methods import build_method
from dither.publish.places import (
    FlowTable,
    GridJourneys,
    JourneySynthesis,
    MarkovJourneys,
    PrefixJourneys,
    TimedJourneys,
)
from dither.testing.city import city_trips

SIDE: Final = 256
EPSILONS: Final = ("1", "0.1")
RIVALS: Final = ("identity", "quad-tree", "dp-cube", "uniform-grid", "adaptive-grid", "priv-tree")
MAPS: Final = (
    *("adult", "beijingtaxie", "beijingtaxis", "loan", "mdsalary", "stroke"),
    *("cabspottinge", "cabspottings", "checkin", "twitter"),
)
#: Parts of the world: south, north, west, east.
BOXES: Final = {
    "brightkite world": (-60, 75, -180, 180),
    "brightkite states": (24, 50, -125, -66),
    "brightkite bay": (37.2, 38.0, -122.6, -121.7),
}
RUNS: Final = 3
#: On one map the errors of DPCube lie far apart, so that a median of few releases says little.
MAP_RUNS: Final = 7
TRIPS: Final = 20_000
Counts = NDArray[np.int64]


def lines() -> Iterator[str]:
    """Yield the figures in words."""
    yield from map_lines()
    yield from flow_lines()
    yield from journey_lines()


def maps() -> Iterator[tuple[str, Counts]]:
    """Yield maps by name."""
    folder = os.environ.get("DITHER_DATA")
    if folder is None:
        generator = np.random.default_rng(1)
        made = generator.normal(0.5, 0.1, (20_000, 2))
        yield "made up", np.histogram2d(made[:, 0], made[:, 1], bins=SIDE, range=[[0, 1], [0, 1]])[0].astype(np.int64)
        return
    for name in MAPS:
        with gzip.open(Path(folder) / f"histograms/dpbench_2d_{name}.csv.gz", "rt") as stream:
            yield name, np.loadtxt(stream, delimiter=",").astype(np.int64)
    with gzip.open(Path(folder) / "places/brightkite_user_last_position.csv.gz", "rt") as stream:
        rows = [row for row in csv.DictReader(stream) if row["latitude"] and row["longitude"]]
    points = np.array([(float(row["latitude"]), float(row["longitude"])) for row in rows])
    points = points[(points != 0).any(axis=1)]
    for name, (south, north, west, east) in BOXES.items():
        inside = [[south, north], [west, east]]
        yield name, np.histogram2d(points[:, 0], points[:, 1], bins=SIDE, range=inside)[0].astype(np.int64)


def range_error(found: NDArray[Any], true: Counts) -> float:
    """Return the root mean square error of 2,000 random rectangles, the same for all methods."""
    generator = np.random.default_rng(2)
    down, across = (np.sort(generator.integers(0, SIDE + 1, (2000, 2)), axis=1) for _ in range(2))
    off = np.zeros((SIDE + 1, SIDE + 1))
    off[1:, 1:] = np.cumsum(np.cumsum(np.asarray(found, dtype=np.float64) - true, axis=0), axis=1)
    answers = off[down[:, 1], across[:, 1]] - off[down[:, 0], across[:, 1]]
    answers -= off[down[:, 1], across[:, 0]] - off[down[:, 0], across[:, 0]]
    return float(np.sqrt(np.mean(answers**2)))


def map_lines() -> Iterator[str]:
    """Yield for each map the error of pruned-plane as a multiple of the best of the others in hindsight."""
    for epsilon in EPSILONS:
        ratios = []
        for name, true in maps():
            errors = {
                method: statistics.median(
                    range_error(perform(build_method(method, PureDP(epsilon), true.shape), true, stability=1), true)
                    for _ in range(MAP_RUNS)
                )
                for method in (*RIVALS, "pruned-plane")
            }
            best = min(RIVALS, key=errors.__getitem__)
            ratios.append(errors["pruned-plane"] / min(errors.values()))
            against = errors["pruned-plane"] / errors[best]
            yield f"map {name}, epsilon {epsilon}: best other {best} {errors[best]:.1f}; auto {against:.2f} of it"
        middle, worst = statistics.median(ratios), max(ratios)
        yield f"maps, epsilon {epsilon}: auto to the best of all, median {middle:.2f}, worst {worst:.2f}"


def flows() -> Counts:
    """Return a table of trips."""
    folder = os.environ.get("DITHER_DATA")
    if folder is None:
        generator = np.random.default_rng(1)
        shares = generator.dirichlet(np.full(100, 0.3), 2)
        return generator.poisson(50_000 * np.outer(shares[0], shares[1]))
    import duckdb

    path = Path(folder) / "streams/nyc_yellow_taxi_trips_2023_03_15.parquet"
    ends = duckdb.read_parquet(str(path)).fetchnumpy()
    table = np.zeros((265, 265), dtype=np.int64)
    np.add.at(table, tuple(np.asarray(ends[name], dtype=np.int64) - 1 for name in ("PULocationID", "DOLocationID")), 1)
    return table


def flow_lines() -> Iterator[str]:
    """Yield the error of flows in L1 as a share of the trips, and that of the total."""
    true = flows()
    for epsilon in EPSILONS:
        method = FlowTable.calibrated(PureDP(epsilon), shape=true.shape)
        plain = build_method("identity", PureDP(epsilon), true.shape)
        released = [perform(method, true, stability=1) for _ in range(2 * RUNS)]
        errors = [float(np.abs(each - true).sum() / true.sum()) for each in released]
        totals = [abs(float(each.sum()) / float(true.sum()) - 1) for each in released]
        noisy = perform(plain, true, stability=1)
        shown = {"raw": noisy, "clipped": np.maximum(noisy, 0), "simplex": non_negative_with_total(noisy)}
        beside = ", ".join(f"{name} {np.abs(each - true).sum() / true.sum():.3f}" for name, each in shown.items())
        yield (
            f"flows, epsilon {epsilon}: error {statistics.median(errors):.3f} (worst {max(errors):.3f}), total off by "
            f"{max(totals):.2%} at worst; {beside}"
        )


def journey_lines() -> Iterator[str]:
    """Yield the five measures by method on a generated city, and the time for a million trips."""
    city = city_trips(TRIPS)
    for words, true in (("", city), (", every second or fourth point", recorded(city))):
        for kind in (JourneySynthesis, MarkovJourneys, GridJourneys, PrefixJourneys):
            method = kind.calibrated(PureDP(1), shape=(20, 20), length=60)
            found = [compared(true, perform(method, true, stability=1), (20, 20)) for _ in range(RUNS)]
            shown = ", ".join(f"{name} {_spread([each[name] for each in found])}" for name in MEASURES)
            yield f"journeys{words}, epsilon 1, {kind.name}: {shown}"
    yield timed_line(city)
    many = city_trips(10**6)
    started = time.process_time()
    perform(JourneySynthesis.calibrated(PureDP(1), shape=(20, 20), length=60), many, stability=1)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    yield f"journeys, a million trips: {time.process_time() - started:.0f} CPU s, {held:.1f} GB in all"


def recorded(trips: Counts) -> Counts:
    """Return trips of which every second or every fourth point was recorded, and the last one."""
    found, by = np.full_like(trips, -1), np.random.default_rng(3).choice([2, 4], len(trips))
    for place, every in enumerate(by.tolist()):
        cells = trips[place][trips[place] >= 0]
        kept = cells[sorted({*range(0, cells.size, every), cells.size - 1})]
        found[place, : kept.size] = kept
    return found


def timed_line(true: Counts) -> str:
    """Return the measures of journeys with hours, and how far hours by half of the city are from the true ones."""
    generator = np.random.default_rng(4)
    # The farther east a trip begins, the later.
    hours = np.clip(np.rint(generator.normal(7 + true[:, 0] % 20 / 2, 2)), 0, 23).astype(np.int64)
    data = np.concatenate([hours[:, None], true], axis=1)

    def build(loss: Any) -> JourneySynthesis:
        return JourneySynthesis.calibrated(loss, shape=(20, 20), length=60)

    method = TimedJourneys.calibrated(PureDP(1), build=build, times=24)
    drawn = [perform(method, data, stability=1) for _ in range(RUNS)]
    found = [compared(true, each[:, 1:], (20, 20)) for each in drawn]
    shown = [f"{name} {_spread([each[name] for each in found])}" for name in MEASURES]
    apart = [divergence(_hours(data), _hours(each)) for each in drawn]
    return f"journeys with hours, epsilon 1: {', '.join(shown)}, hours {_spread(apart)}"


def _hours(rows: Counts) -> NDArray[np.float64]:
    return np.bincount(rows[:, 0] * 2 + (rows[:, 1] % 20 >= 10), minlength=48).astype(np.float64)


def _spread(values: list[float]) -> str:
    return f"{statistics.median(values):.4f} ({min(values):.4f} to {max(values):.4f})"
