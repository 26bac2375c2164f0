"""Journeys of others beside ours: a generated city in the format of AdaTrace and PrivTrace, and what they draw from it.

``python -m tools.rivals.journeys write FILE`` writes the city of ``tools.bench places``; ``... privtrace CHECKOUT
PYTHON FILE OUT`` lets a checkout of PrivTrace's public code draw journeys at epsilon 1, in an environment of its own;
``... compare OUT...`` prints the five measures of drawn files. Points lie anywhere in their cells, because grids of
others do not follow these; ``--every N`` keeps each N-th point and the last one of a trip.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dither.bench.journeys import compared
from dither.testing.city import city_trips
from tools.rivals.environments import ask_rival

TRIPS, SIDE = 20_000, 20
_SECONDS = 3600


def written(target: Path, *, every: int) -> None:
    """Write the city: two lines for each trip."""
    generator = np.random.default_rng(7)
    with target.open("w", encoding="ascii") as stream:
        for number, row in enumerate(city_trips(TRIPS)):
            cells = row[row >= 0]
            north, east = cells // SIDE + generator.random(cells.size), cells % SIDE + generator.random(cells.size)
            kept = sorted({*range(0, cells.size, every), cells.size - 1})
            points = "".join(f"{east[place]:.4f},{north[place]:.4f};" for place in kept)
            stream.write(f"#{number}:\n>0:{points}\n")


def read(drawn: Path) -> NDArray[np.int64]:
    """Return a row of cells for each drawn trip; points beyond the city count at its border."""
    lines = [line.strip().removeprefix(">0:").strip(";") for line in drawn.read_text(encoding="ascii").splitlines()]
    trips = [[point.split(",") for point in line.split(";")] for line in lines if line and not line.startswith("#")]
    rows = np.full((len(trips), max(map(len, trips))), -1, dtype=np.int64)
    for place, trip in enumerate(trips):
        ends = np.clip(np.array(trip, dtype=np.float64).astype(np.int64), 0, SIDE - 1)
        rows[place, : len(trip)] = ends[:, 1] * SIDE + ends[:, 0]
    return rows


def main() -> None:
    """Do one of the three."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("what", choices=["write", "privtrace", "compare"])
    words.add_argument("given", nargs="+", type=Path)
    words.add_argument("--every", type=int, default=1)
    asked = words.parse_args()
    if asked.what == "write":
        written(asked.given[0], every=asked.every)
    elif asked.what == "privtrace":
        checkout, python, given, drawn = asked.given
        script = "privtrace_journeys.py"
        sys.stdout.write(f"{ask_rival(python, script, str(checkout), str(given), '1', str(drawn), seconds=_SECONDS)}\n")
    else:
        true = city_trips(TRIPS)
        for drawn in asked.given:
            found = compared(true, read(drawn), (SIDE, SIDE))
            sys.stdout.write(f"{drawn.name}: {', '.join(f'{name} {value:.4f}' for name, value in found.items())}\n")


if __name__ == "__main__":
    main()
