"""Pictures of reports of one place, of a region that is notified, and of a drawn path; all on generated places."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dither import Budget, release
from dither.data.places import Box, CellGrid
from dither.mechanisms import Geometric
from dither.pages.charts import Line, line_chart
from dither.pages.frame import Axis, Chart
from dither.pages.heat import heat_map
from dither.privacy import ROW, place
from dither.publish.places.crowd import Geocast, geocast
from dither.publish.places.paths import Network, draw_levels, path_states

TOWN = Box.of("48.80", "2.25", "48.92", "2.42")
HERE = (48.8584, 2.2945)


def pictures() -> Iterator[tuple[str, Chart]]:
    """Draw them."""
    yield "reports", reports()
    yield "geocast", region()
    yield "drawing", drawing()


def reports() -> Chart:
    """Draw the place of a device and what it reports at two prices."""
    from dither.publish.places.report import ReportedPlaces

    lines = []
    for said in ("0.005", "0.02"):
        method = ReportedPlaces(box=TOWN, epsilon=said, reports=80)
        told = release(method, np.tile(HERE, (80, 1)), budget=Budget(epsilon=1, unit=place("great circle"))).value
        lines.append(Line(f"reports at {said} per metre", told[:, 1].tolist(), told[:, 0].tolist(), is_joined=False))
    lines.append(Line("the device", [HERE[1]], [HERE[0]], is_joined=False))
    chart = line_chart(
        "Where a device is, and 80 reports at each of two prices",
        lines,
        across=Axis("longitude", "degrees"),
        up=Axis("latitude", "degrees"),
        width=560,
        area=330,
    )
    return chart.captioned("At 0.005 per metre a report is 400 m off on average, at 0.02 it is 100 m.")


def region() -> Chart:
    """Draw noisy counts of workers and the cells that are notified for a task."""
    dice = np.random.default_rng()
    grid = CellGrid(Box.of(0, 0, 16_000, 20_000, plane=True), 10, 8)
    spots = np.concatenate([dice.normal(middle, 2500, (60, 2)) for middle in ((-5000, -3000), (4000, 2000))])
    true = np.bincount(grid.cell_of_metres(spots), minlength=grid.cells)
    noisy = np.asarray(
        release(Geometric(shape=(grid.cells,), scale=1), true, budget=Budget(epsilon=1, unit=ROW), stability=1).value
    )
    chosen = geocast(grid, noisy, [0, 0], Geocast(wanted=0.9, eager=0.1, farthest=10_000)).tolist()
    rows = [
        [float(noisy[row * 10 + column]) if row * 10 + column in chosen else 0.0 for column in range(10)]
        for row in reversed(range(8))
    ]
    chart = heat_map(
        "Workers who are notified of a task in the middle",
        [str(14 - 2 * row) for row in range(8)],
        [str(2 * column) for column in range(10)],
        rows,
        across=Axis("km to the east"),
        up=Axis("km to the north"),
        shown=Axis("noisy count of a notified cell"),
    )
    return chart.captioned(
        "120 generated workers, cells of 2 km, epsilon 1; the region grows until somebody accepts with 90 %."
    )


def drawing() -> Chart:
    """Draw the levels of the worked example of the Adelaide thesis."""
    network = Network.of(
        6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5), (1, 3), (1, 4), (1, 5), (2, 4), (2, 5), (3, 5)]
    )
    states = path_states(network, range(6)).states
    told = [pair for pair, state in zip(network.pairs, states, strict=True) if state == 2]
    made = draw_levels(6, [*told, (0, 2)])
    order = {vertex: vertex + 1.0 for vertex in range(6)}
    lines = [
        Line(f"{above + 1} above {under + 1}", [order[above], order[under]], [-made.level[above], -made.level[under]])
        for above, under in sorted(made.below)
    ]
    return line_chart(
        "The worked example: vertices of one branch are joined, steps of the path are not",
        lines,
        across=Axis("vertex"),
        up=Axis("level"),
        width=560,
    )
