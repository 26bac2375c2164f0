"""Reports of one place, crowds and paths: remaps, geocasts, rewards, replaced visits, drawn networks.

Real positions are read from the folder in DITHER_DATA; without it remaps and geocasts are left out.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither import Budget, release
from dither.data.places import Box, CellGrid
from dither.mechanisms import Geometric, perform
from dither.mechanisms.planar_noise import PlanarNoise
from dither.privacy import ROW, PureDP
from dither.publish.methods import build_method
from dither.publish.places.crowd import Geocast, allocate, measure, notify, notify_nearest
from dither.publish.places.crowd.rewards import densities
from dither.publish.places.paths import is_comparability
from dither.publish.places.report.remap import best_remap, smoothed_prior
from dither.publish.places.report.visits import ReplacedVisit, place_error, public_clusters

SAN_FRANCISCO: Final = Box.of("37.70", "-122.53", "37.83", "-122.35")
#: Samples of the remap: the file, its columns of people, and the box.
SAMPLES: Final = {
    "Foursquare, New York": ("foursquare_nyc_193users", "label", Box.of("40.55", "-74.1", "40.95", "-73.7")),
    "Brightkite, San Francisco": ("brightkite_user_last_position", "user", SAN_FRANCISCO),
    "Brightkite, Tokyo": ("brightkite_user_last_position", "user", Box.of("35.55", "139.55", "35.82", "139.95")),
    "Gowalla, Austin": ("gowalla_300users", "label", Box.of("30.15", "-97.95", "30.5", "-97.55")),
    "Gowalla, San Francisco": ("gowalla_300users", "label", SAN_FRANCISCO),
}
CITIES: Final = {
    "San Francisco": Box.of("37.2", "-122.6", "38.0", "-121.7"),
    "London": Box.of("51.25", "-0.55", "51.75", "0.35"),
    "Los Angeles": Box.of("33.6", "-118.7", "34.4", "-117.6"),
}


def people(name: str, column: str, box: Box) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Return metres and people of the rows of a sample that lie in a box."""
    import pandas as pd

    frame = pd.read_csv(Path(os.environ["DITHER_DATA"]) / "places" / f"{name}.csv.gz")
    frame = frame.rename(columns={"latitude": "lat", "longitude": "lon"})
    places, known = box.read(frame["lat"], frame["lon"])
    known &= box.inside(places)
    return box.projection.metres(places[known]), frame[column].to_numpy()[known]


def remap_gain(name: str, radius: float, *, part: float = 0.5, draws: int = 3) -> float:
    """Return which share of the error a remap takes off: a prior from half of the people, reports of the others."""
    file, column, box = SAMPLES[name]
    metres, who = people(file, column, box)
    epsilon = math.log(4) / radius
    ids = np.unique(who)
    np.random.default_rng().shuffle(ids)
    is_prior = np.isin(who, ids[: len(ids) // 2])
    grid = CellGrid.of_side(box, part / epsilon)
    # Each person counts once in a cell: a home that is reported every day is one home.
    seen = {(person, cell) for person, cell in zip(who[is_prior], grid.cell_of_metres(metres[is_prior]), strict=True)}
    counts = np.bincount([cell for _, cell in seen], minlength=grid.cells)
    table = best_remap(grid, smoothed_prior(grid, counts, epsilon=epsilon), epsilon=epsilon)
    true = np.repeat(metres[~is_prior], draws, axis=0)
    told = np.asarray(perform(PlanarNoise(scale=1 / epsilon, places=len(true)), true, stability=1), dtype=np.float64)
    moved = grid.centres()[table[grid.cell_of_metres(told)]]
    return 1 - float(np.hypot(*(moved - true).T).mean() / np.hypot(*(told - true).T).mean())


def geocasts(city: str, tasks: int = 100) -> dict[str, tuple[float, float, float]]:
    """Return notified workers beside those by exact counts, the loss of success, and the success, at epsilon 1.

    By noise on cells of 2.5 km; by an adaptive grid over cells of half the side; and by the choice that knows every
    position, which is private in no way.
    """
    box = CITIES[city]
    workers, _ = people("brightkite_user_last_position", "user", box)
    dice = np.random.default_rng()
    places = workers[dice.integers(0, len(workers), tasks)] + dice.normal(0, 500, (tasks, 2))
    rule = Geocast(wanted=0.9, eager=0.1, farthest=10_000)
    grid, fine = CellGrid.of_side(box, 2500), CellGrid.of_side(box, 1250)
    true, small = (np.bincount(one.cell_of_metres(workers), minlength=one.cells) for one in (grid, fine))
    adaptive = build_method("adaptive-grid", PureDP(1), (fine.rows, fine.columns))
    budget = Budget(epsilon=2, unit=ROW)
    noisy = release(Geometric(shape=(grid.cells,), scale=1), true, budget=budget, stability=1).value
    divided = release(adaptive, small.reshape(fine.rows, fine.columns), budget=budget, stability=1).value
    exact = notify(grid, true, places, workers, rule)
    found = {
        "cells": notify(grid, np.asarray(noisy), places, workers, rule),
        "adaptive grid": notify(fine, np.asarray(divided).ravel(), places, workers, rule),
        "every position known": notify_nearest(places, workers, rule),
    }
    return {
        name: (one.workers / exact.workers, exact.success - one.success, one.success) for name, one in found.items()
    }


def rewarded(cities: int = 50, tasks: int = 40) -> dict[str, tuple[float, float]]:
    """Return the measures of optimised and uniform rewards over generated cities, at epsilon 1: mean DE, RejR, EC."""
    dice = np.random.default_rng()
    rows: dict[str, list[tuple[float, float]]] = {"DE": [], "RejR": [], "EC": []}
    side, area = 30, 0.3**2 * 4
    for _ in range(cities):
        middles = dice.uniform(0, side, (6, 2))
        spots = np.concatenate([dice.normal(middle, 3, (400, 2)) for middle in middles])
        cells = np.clip(spots.astype(int), 0, side - 1)
        true = np.bincount(cells[:, 0] * side + cells[:, 1], minlength=side * side)
        noisy = np.asarray(
            release(
                Geometric(shape=(side * side,), scale=1), true, budget=Budget(epsilon=1, unit=ROW), stability=1
            ).value
        )
        # Tasks come where people are, and within a cell of them.
        near = cells[dice.integers(0, len(cells), tasks)] + dice.integers(-1, 2, (tasks, 2))
        at = np.clip(near, 0, side - 1) @ np.array([side, 1])
        released, exact = (densities(counts.astype(float), side, area, at) for counts in (noisy, true))
        settings = {"wanted": 0.85, "constant": 0.05}
        made = [
            measure(
                allocate(
                    np.maximum(released, 1e-2), total=10 * tasks, floor=1, farthest=1.5, optimised=optimised, **settings
                ),
                np.maximum(released, 1e-2),
                np.maximum(exact, 1e-2),
                farthest=1.5,
                **settings,
            )
            for optimised in (True, False)
        ]
        for word, field in (("DE", "distance_error"), ("RejR", "rejected"), ("EC", "travel")):
            rows[word].append((getattr(made[0], field), getattr(made[1], field)))
    return {word: tuple(np.mean(pairs, axis=0).tolist()) for word, pairs in rows.items()}


def replaced(epsilon: float, clusters: int, visits: int = 400) -> tuple[float, float]:
    """Return the distance error of replaced visits, and that of a random place; no move has 0."""
    dice = np.random.default_rng()
    box = Box.of(0, 0, 20_000, 20_000, plane=True)
    middles = dice.uniform(2000, 18_000, (40, 2))
    places = np.clip(np.concatenate([dice.normal(middle, 500, (10, 2)) for middle in middles]), 0, 20_000)
    method = ReplacedVisit.for_epsilon(box, places, public_clusters(box, places, clusters), epsilon=epsilon)
    true = dice.integers(0, len(places), visits)
    told = [perform(method, int(one)) for one in true]
    return place_error(box, places, true, told), place_error(box, places, true, dice.integers(0, len(places), visits))


def usable(vertices: int, extra: int, networks: int = 300) -> float:
    """Return the share of random networks, with that many edges off the path, that can be drawn whole."""
    off_path = [pair for pair in itertools.combinations(range(vertices), 2) if pair[1] - pair[0] > 1]
    dice = np.random.default_rng()
    drawn = (dice.choice(len(off_path), extra, replace=False) for _ in range(networks))
    return sum(is_comparability(vertices, [off_path[at] for at in chosen]) for chosen in drawn) / networks


def lines() -> Iterator[str]:
    """Yield the figures for people."""
    if "DITHER_DATA" in os.environ:
        yield "error that a remap takes off, ln 4 within 200, 500, 1,000 m"
        for name in SAMPLES:
            yield f"{name} | " + " | ".join(f"{remap_gain(name, radius):+.1%}" for radius in (200, 500, 1000))
        yield "geocast at epsilon 1: notified beside exact counts on cells of 2.5 km | success lost | success"
        for city in CITIES:
            for name, figures in geocasts(city).items():
                yield f"{city}, {name} | " + " | ".join(f"{figure:.3f}" for figure in figures)
    yield "rewards over 50 generated cities, optimised and uniform"
    for word, (optimised, uniform) in rewarded().items():
        yield f"{word} | {optimised:.4f} | {uniform:.4f}"
    yield "distance error of replaced visits (random place): epsilon, clusters"
    for epsilon, clusters in itertools.product((1, 4, 8), (10, 40)):
        yield f"{epsilon}, {clusters} | " + " | ".join(f"{figure:.4f}" for figure in replaced(epsilon, clusters))
    sizes = [(n, extra) for n in range(5, 11) for extra in range(math.comb(n, 2) - n + 2)]
    shares = [usable(n, extra) for n, extra in sizes]
    yield f"networks: {len(sizes)} sizes, {sum(share < 0.5 for share in shares)} usable in under half, "
    yield f"{sum(share == 1 for share in shares)} always"
