"""Series that are published tick by tick: median relative error by method and epsilon, and how errors grow.

Real series from the folder in ``DITHER_DATA`` where that is set (yellow taxis of New York by hour, and by zone; demand
for electricity in Victoria; bikes in Washington; influenza in Bavaria and Baden-Wuerttemberg), else a made-up one.
Figures are against the true numbers: a benchmark on public data, never a release.
"""

from __future__ import annotations

import csv
import gzip
import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms import (
    BufferedCounter,
    DecayedCounter,
    HybridCounter,
    SplitCounter,
    TickNoise,
    TreeCounter,
    WindowPublisher,
    perform,
)
from dither.noise import system_noise
from dither.pages.charts import Line, line_chart
from dither.pages.frame import Axis, Chart
from dither.privacy import ApproxDP, Loss, PureDP
from dither.publish.streams import FourierSeries

EPSILONS: Final = ("0.01", "0.1", "1")
DELTA: Final = "1e-6"
#: How many ticks a promise for a window covers.
WINDOW: Final = 24
Series = NDArray[np.int64]


def _rows(folder: Path, name: str) -> Iterator[dict[str, str]]:
    with gzip.open(folder / "streams" / f"{name}.csv.gz", "rt", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def series(folder: str | None) -> dict[str, Series]:
    """Return series of counts: an array of ticks, or of ticks and groups."""
    if not folder:
        made = np.arange(8760)
        busy = 400 + 350 * np.sin(made * (2 * np.pi / 24)) + 100 * np.sin(made * (2 * np.pi / 168))
        return {"made up, 8,760 hours": np.rint(busy).astype(np.int64).clip(0)}
    home = Path(folder)
    taxis = np.array([int(row["pickups"]) for row in _rows(home, "nyc_yellow_taxi_hourly_2022_2024")])
    counts: dict[tuple[str, str], int] = {}
    for row in _rows(home, "nyc_yellow_taxi_zone_hour_2023_03"):
        counts[row["hour"], row["zone"]] = int(row["pickups"])
    hours, zones = (sorted({key[part] for key in counts}) for part in (0, 1))
    by_zone = np.array([[counts.get((hour, zone), 0) for zone in zones] for hour in hours])
    power = np.array([round(float(row["Demand"])) for row in _rows(home, "vic_electricity")])
    bikes = np.array([round(float(row["users"])) for row in _rows(home, "bike_sharing_hourly")])
    flu = np.array([[int(one) for name, one in row.items() if name != "week"] for row in _rows(home, _FLU)])
    found = {"taxis by hour": taxis, f"taxis in {len(zones)} zones": by_zone, "electricity": power, "bikes": bikes}
    return {**found, f"flu in {flu.shape[1]} districts": flu}


_FLU: Final = "flu_bavaria_bw_weekly"


def fed(mechanism: Any, values: Series, *, blocks: bool = True) -> NDArray[Any]:
    """Return the answers of a conversation, all ticks at once where it can."""
    noise = system_noise()
    state = mechanism.begin(noise)
    if blocks:
        return np.asarray(mechanism.reply(state, values, noise)[0])
    given = values if values.ndim > 1 else values.tolist()
    return np.array([mechanism.reply(state, value, noise)[0] for value in given])


def ticks_of(values: Series, epsilon: str) -> Iterator[tuple[str, Callable[[], NDArray[Any]]]]:
    """Yield methods that publish each tick by itself, each for the same epsilon."""
    shape, steps, pure = values.shape[1:], len(values), PureDP(epsilon)
    each = TickNoise.calibrated(pure, sensitivity=1, steps=steps, shape=shape)
    yield "noise of each tick, for events", lambda: fed(each, values, blocks=False)
    split = TickNoise.calibrated(pure, sensitivity=steps, steps=steps, shape=shape)
    yield "epsilon split among all ticks", lambda: fed(split, values, blocks=False)
    for scheme in ("uniform", "sample", "distribution", "absorption"):
        window = WindowPublisher(epsilon=epsilon, window=WINDOW, scheme=scheme, shape=shape)
        name = f"any {WINDOW} ticks, {scheme}"
        yield name, partial(fed, window, values, blocks=False)
    if not shape:
        waves = FourierSeries.calibrated(pure, sensitivity=1, steps=steps, waves=min(200, steps))
        yield "200 waves, for events", lambda: np.asarray(perform(waves, values, stability=1))


def sums_of(values: Series, epsilon: str) -> Iterator[tuple[str, Callable[[], NDArray[Any]]]]:
    """Yield methods that publish running sums, each for one event and the same epsilon."""
    steps, pure, delta = len(values), PureDP(epsilon), ApproxDP(epsilon, DELTA)
    given: dict[str, Any] = {"sensitivity": 1, "shape": values.shape[1:]}
    methods: dict[str, Any] = {
        "noise on every tick": TreeCounter.calibrated(pure, steps=steps, bases=(), **given),
        "binary tree": TreeCounter.calibrated(
            pure, steps=steps, bases=(2,) * (steps - 1).bit_length(), combine="add", **given
        ),
        "tree with subtraction": TreeCounter.calibrated(pure, steps=steps, **given),
        "no known end": HybridCounter.calibrated(pure, **given),
        f"buffers, delta {DELTA}": BufferedCounter.calibrated(_rho(delta), steps=steps, even=True, **given),
    }
    if values.ndim == 1:
        methods["epsilon split among all ticks"] = SplitCounter.calibrated(pure, sensitivity=1, steps=steps)
    for name, counter in methods.items():
        yield name, partial(fed, counter, values)


def _rho(loss: Loss) -> Loss:
    """Return what a Gaussian counter may lose within an epsilon and a delta."""
    from dither.mechanisms.core.purse import Purse

    return Purse.within(loss).loss


def median_error(found: NDArray[Any], truth: Series) -> float:
    """Return the median over ticks and groups of the error, as a part of the number, or of 1 where that is less."""
    return float(np.median(np.abs(found - truth) / np.maximum(np.abs(truth), 1)))


def measured(values: Series, *, running: bool) -> dict[str, list[float]]:
    """Return the median relative error of every method at every epsilon, of one run over all ticks."""
    truth = np.cumsum(values, axis=0) if running else values
    found: dict[str, list[float]] = {}
    for epsilon in EPSILONS:
        for name, method in (sums_of if running else ticks_of)(values, epsilon):
            found.setdefault(name, []).append(median_error(method(), truth))
    return found


def growth() -> list[str]:
    """Return how the largest standard error grows with the number of ticks: exponents, fitted from 2^10 to 2^20."""
    lengths = [2**power for power in (10, 12, 14, 16, 18, 20)]
    rho: dict[str, Any] = {"within": _rho(ApproxDP(1, DELTA)), "sensitivity": 1}
    pure: dict[str, Any] = {"within": PureDP(1), "sensitivity": 1}
    laws: dict[str, tuple[Callable[[int], float], bool, str]] = {
        "epsilon split among ticks": (
            lambda t: float(SplitCounter.calibrated(**pure, steps=t).standard_error(t - 1)),
            False,
            "1",
        ),
        "noise on every tick": (
            lambda t: TreeCounter.calibrated(**pure, steps=t, bases=()).largest_standard_error,
            False,
            "0.5",
        ),
        "binary tree, epsilon": (
            lambda t: (
                TreeCounter.calibrated(
                    **pure, steps=t, bases=(2,) * (t - 1).bit_length(), combine="add"
                ).largest_standard_error
            ),
            True,
            "1.5",
        ),
        "tree with subtraction, epsilon": (
            lambda t: TreeCounter.calibrated(**pure, steps=t).largest_standard_error,
            True,
            "1.5",
        ),
        "binary tree, rho": (
            lambda t: (
                TreeCounter.calibrated(
                    **rho, steps=t, bases=(2,) * (t - 1).bit_length(), combine="add"
                ).largest_standard_error
            ),
            True,
            "1",
        ),
        "buffers, rho": (lambda t: BufferedCounter.calibrated(**rho, steps=t).standard_error(t - 1), True, "1"),
        "decayed by 0.99, rho": (
            lambda t: DecayedCounter.calibrated(**rho, decay="0.99", steps=t).standard_error(t - 1),
            False,
            "0",
        ),
    }
    found = ["counter | error at 2^10 | at 2^20 | grows as | fitted | in theory"]
    for name, (error, is_logarithmic, theory) in laws.items():
        errors = [error(length) for length in lengths]
        axis = [math.log(math.log(length) if is_logarithmic else length) for length in lengths]
        slope = float(np.polyfit(axis, np.log(errors), 1)[0])
        law = "a power of log T" if is_logarithmic else "a power of T"
        found.append(f"{name} | {errors[0]:.3g} | {errors[-1]:.3g} | {law} | {slope:.2f} | {theory}")
    return found


def lines() -> Iterator[str]:
    """Yield the figures for people."""
    yield from growth()
    for name, values in series(os.environ.get("DITHER_DATA") or None).items():
        for running in (False, True):
            what = "sums so far" if running else "each tick"
            yield f"{name}, {len(values):,} ticks, {what}: median relative error at epsilon {', '.join(EPSILONS)}"
            for method, errors in measured(values, running=running).items():
                yield f"{method} | {' | '.join(f'{error:.3g}' for error in errors)}"


def chart_of(*, running: bool) -> Chart:
    """Draw the errors on the first series by epsilon, of each tick by itself or of sums so far."""
    name, first = next(iter(series(os.environ.get("DITHER_DATA") or None).items()))
    places = [float(one) for one in EPSILONS]
    drawn = [Line(method, places, errors) for method, errors in measured(first, running=running).items()]
    up = Axis("median relative error", is_log=True)
    title = f"{name}, {'sums so far' if running else 'each tick'}"
    chart = line_chart(title, drawn, across=Axis("epsilon", is_log=True), up=up, width=560)
    return chart.captioned(f"{len(first):,} ticks.")
