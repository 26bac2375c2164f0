"""Published tables beside OpenDP and diffprivlib: the same data, the same loss, the same question, in one run.

Ours are what ``choose`` picks for the question, or the method the question is made for; theirs what their libraries
offer for it, in their own environments. Errors are root mean squares over all queries and runs, of marginals the
mean total variation distance; seconds are processor time from data to a release, the best of all runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.estimate.projections import non_negative_with_total
from dither.mechanisms import perform
from dither.privacy import ZCDP, PureDP
from dither.publish.choose import choose
from dither.publish.marginals import Attributes, ResidualPlanner
from dither.publish.methods import build_method, without_negatives
from tools.rivals.environments import ask_rival, environment

Floats = NDArray[np.float64]
_EPSILON: Final = "1"
_RHO: Final = "1/20"
_CELLS: Final = 1024
_SIDE: Final = 64
_SIZES: Final = (2, 3, 4, 5)
_ROWS: Final = 10**6
_RECORDS: Final = 20_000
_REPEATS: Final = 10


@dataclass(frozen=True)
class RivalFigures:
    """One question: error and seconds of a release, ours and the rival's."""

    task: str
    method: str
    error: float
    seconds: float
    rival: str
    rival_error: float
    rival_seconds: float


@dataclass(frozen=True)
class Data:
    """What both sides get: numbers in [0, 1), pairs of them, and records of a few attributes."""

    values: Floats
    places: Floats
    records: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """The counts of equal parts of [0, 1)."""
        return np.bincount((self.values * _CELLS).astype(np.int64), minlength=_CELLS)

    @property
    def square(self) -> NDArray[np.int64]:
        """The counts of the squares of a grid."""
        at = (self.places * _SIDE).astype(np.int64)
        return np.bincount(at[:, 0] * _SIDE + at[:, 1], minlength=_SIDE**2).reshape(_SIDE, _SIDE)

    def save(self, folder: Path) -> None:
        """Write what the rivals read."""
        pieces = {"values": self.values, "places": self.places, "counts": self.counts}
        for name, array in {**pieces, "rows": self.records, "sizes": np.array(_SIZES)}.items():
            np.save(folder / f"{name}.npy", array)


def made_up(rows: int = _ROWS, records: int = _RECORDS) -> Data:
    """Return data with a peak, a plane with two towns, and attributes that depend on each other."""
    generator = np.random.default_rng(7)
    values = generator.beta(2, 30, size=rows)
    towns = np.where(generator.random((rows, 1)) < 0.7, 0.3, 0.7)
    places = np.clip(towns + 0.06 * generator.standard_normal((rows, 2)), 0, 1 - 1e-9)
    hidden = generator.integers(0, 4, size=records)
    columns = [(generator.random(records) ** (1 + 0.7 * hidden) * size).astype(np.int64) for size in _SIZES]
    return Data(np.minimum(values, 1 - 1e-9), places, np.stack(columns, axis=1))


def range_error(off: Floats) -> float:
    """Return the mean square error of all ranges, from sums of all that begin in the first cell."""
    sums = np.concatenate([[0.0], np.cumsum(off)])
    ranges = off.size * (off.size + 1) / 2
    return float((sums.size * (sums**2).sum() - sums.sum() ** 2) / ranges)


def cell_error(off: Floats) -> float:
    """Return the mean square error of all cells."""
    return float(np.mean(off**2))


def measure_rivals(folder: Path | None, *, data: Data | None = None, repeats: int = _REPEATS) -> list[RivalFigures]:
    """Return the figures beside every rival that can be installed below a folder; none without one."""
    if folder is None:
        return []
    given, found = data or made_up(), []
    with TemporaryDirectory() as scratch:
        given.save(Path(scratch))
        diffprivlib = environment(
            folder / "diffprivlib", modules="diffprivlib", packages=["diffprivlib==0.6.6", "scikit-learn<1.6"]
        )
        if diffprivlib is not None:
            sizes = str(_CELLS), str(_SIDE)
            theirs = ask_rival(diffprivlib, "diffprivlib_histograms.py", scratch, *sizes, _EPSILON, str(repeats))
            found += beside_diffprivlib(given, theirs)
        opendp = environment(folder / "opendp", modules="opendp, mbi, polars", packages=["opendp[mbi]"])
        if opendp is not None:
            losses = _EPSILON, str(float(Fraction(_RHO)))
            theirs = ask_rival(opendp, "opendp_histograms.py", scratch, *losses, str(repeats), seconds=1800)
            found += beside_opendp(given, theirs)
    return found


def beside_diffprivlib(data: Data, theirs: dict[str, Any]) -> list[RivalFigures]:
    """Return cells and ranges of a line, and cells of a plane, beside what diffprivlib released."""
    loss, line, plane = PureDP(_EPSILON), theirs["histogram"], theirs["histogram2d"]
    cells = build_method("identity", loss, (_CELLS,))
    squares = build_method("identity", loss, (_SIDE, _SIDE))
    ranges = choose("ranges", _CELLS, loss=loss)
    tree = ranges.build()
    # Theirs has no negative counts; ours loses them by projection, which is free as well.
    questions: list[tuple[str, str, Callable[[], Floats], NDArray[np.int64], Any, Callable[[Floats], float]]] = [
        (
            f"every one of {_CELLS:,} cells",
            "identity",
            lambda: non_negative_with_total(perform(cells, data.counts, stability=1)),
            data.counts,
            line,
            cell_error,
        ),
        (
            f"all ranges of {_CELLS:,} cells",
            ranges.method,
            lambda: without_negatives(perform(tree, data.counts, stability=1), is_ordered=True),
            data.counts,
            line,
            range_error,
        ),
        (
            f"every one of {_SIDE} x {_SIDE} cells",
            "identity",
            lambda: non_negative_with_total(perform(squares, data.square, stability=1)),
            data.square,
            plane,
            cell_error,
        ),
    ]
    return [
        _figures(task, ours, release, truth, "diffprivlib", *rest) for task, ours, release, truth, *rest in questions
    ]


def beside_opendp(data: Data, theirs: dict[str, Any]) -> list[RivalFigures]:
    """Return ranges beside OpenDP's b-ary tree, and pairs of attributes beside its contingency tables."""
    ranges, counts = choose("ranges", _CELLS, epsilon=_EPSILON), data.counts
    tree = ranges.build()
    # As both are released: nothing is done about negative counts on either side.
    found = [
        _figures(
            f"all ranges of {_CELLS:,} cells",
            ranges.method,
            lambda: perform(tree, counts, stability=1),
            counts,
            "OpenDP, b-ary tree",
            theirs["tree"],
            range_error,
        )
    ]
    table = Attributes(tuple(f"a{place}" for place in range(len(_SIZES))), _SIZES)
    planner = ResidualPlanner.calibrated(ZCDP(_RHO), attributes=table, marginals=table.every(2))
    codes = table.codes(data.records)
    truth = [table.count(codes, axes).ravel() for axes in combinations(range(len(_SIZES)), 2)]

    def release() -> Floats:
        tables = planner.tables(perform(planner, data.records)).values()
        return np.concatenate([non_negative_with_total(one).ravel() for one in tables])

    apart = _total_variation([each.size for each in truth], len(data.records))
    task, rival = f"all pairs of {len(_SIZES)} attributes", "OpenDP, contingency table"
    flat = np.concatenate(truth)
    return [*found, _figures(task, "residual-planner", release, flat, rival, theirs["table"], apart)]


def _total_variation(sizes: Sequence[int], rows: int) -> Callable[[Floats], float]:
    """Return the square of the mean total variation distance of marginals of these sizes; roots come at the end."""
    ends = np.cumsum(sizes)[:-1]
    return lambda off: float(np.mean([np.abs(piece).sum() / (2 * rows) for piece in np.split(off, ends)])) ** 2


def _figures(
    task: str,
    ours: str,
    release: Callable[[], Floats],
    truth: NDArray[np.int64],
    rival: str,
    theirs: Any,
    square: Callable[[Floats], float],
) -> RivalFigures:
    """Run ours as often as the rival ran, at least ten times, and return both errors and times."""
    squares, best = [], float("inf")
    for _ in range(max(_REPEATS, len(theirs["released"]))):
        start = time.process_time()
        found = release()
        best = min(best, time.process_time() - start)
        squares.append(square(np.asarray(found, dtype=np.float64).ravel() - truth.ravel()))
    other = [square(np.asarray(each, dtype=np.float64) - truth.ravel()) for each in theirs["released"]]
    errors = float(np.sqrt(np.mean(squares))), float(np.sqrt(np.mean(other)))
    return RivalFigures(task, ours, errors[0], best, rival, errors[1], float(theirs["seconds"]))


def lines(folder: Path | None) -> list[str]:
    """Return the figures for people, one question a line, errors and times as ratios."""
    title = (
        f"epsilon {_EPSILON}, rho {_RHO}: task | dither | error | ms | rival | error | ms | rival / dither: error, time"
    )
    found = [title]
    for row in measure_rivals(folder):
        ours = f"{row.task} | {row.method} | {row.error:.4g} | {row.seconds * 1000:.2f}"
        theirs = f"{row.rival} | {row.rival_error:.4g} | {row.rival_seconds * 1000:.2f}"
        ratios = f"{row.rival_error / row.error:.2f}, {row.rival_seconds / row.seconds:,.1f}"
        found.append(f"{ours} | {theirs} | {ratios}")
    return found if len(found) > 1 else ["tables beside others: no rival can be installed here"]
