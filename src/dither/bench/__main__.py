"""``python -m dither.bench``: measure, and print a table."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dither.bench.accountants import measure_accountants
from dither.bench.clock import load
from dither.bench.noise import (
    NoiseFigures,
    measure_noise,
    nanoseconds_per_random_byte,
    peak_bytes_per_sample,
    time_value_correlation,
)
from dither.bench.primitives import measure_primitives


def rivals(folder: Path) -> Path | None:
    """Return the interpreter of the rivals' environment, made if need be; None where they cannot be installed."""
    python = folder / "bin" / "python"
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        present = subprocess.run([str(python), "-c", "import opendp, dp_accounting"], capture_output=True, check=False)
        if present.returncode:
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", "opendp", "dp-accounting"], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return python


def table(figures: list[NoiseFigures]) -> Table:
    """Return the figures side by side, as times and as ratios."""
    shown = Table(title="exact noise, nanoseconds a sample (processor time, best of 5)", title_justify="left")
    for title in ("law", "scale", "dither", "goal", "NumPy (insecure)", "dither / NumPy", "OpenDP", "OpenDP / dither"):
        shown.add_column(title, justify="left" if title == "law" else "right")
    for one in figures:
        rival = one.opendp_nanoseconds
        shown.add_row(
            one.law,
            f"{one.scale:,}",
            f"{one.nanoseconds:.1f}",
            f"{one.goal:.0f}",
            f"{one.numpy_nanoseconds:.1f}",
            f"{one.nanoseconds / one.numpy_nanoseconds:.2f}",
            "absent" if rival is None else f"{rival:,.0f}",
            "" if rival is None else f"{rival / one.nanoseconds:,.0f}",
        )
    return shown


def primitives_table() -> Table:
    """Return the time of a release, for every registered primitive."""
    shown = Table(title="primitives, first example of each (processor time)", title_justify="left")
    for title in ("mechanism", "one release, microseconds", "among many, nanoseconds"):
        shown.add_column(title, justify="left" if title == "mechanism" else "right")
    for one in measure_primitives():
        bulk = "" if one.nanoseconds_in_bulk is None else f"{one.nanoseconds_in_bulk:,.0f}"
        shown.add_row(one.mechanism, f"{one.microseconds_alone:.0f}", bulk)
    return shown


def accountants_table(rival: Path | None) -> Table:
    """Return the time and the epsilon of accounting tasks, ours and the rival's."""
    shown = Table(title="accounting at delta 1e-5, from parameters to epsilon (processor time)", title_justify="left")
    for title in ("task", "grid", "dither, s", "epsilon", "dp-accounting, s", "epsilon", "dither / rival"):
        shown.add_column(title, justify="left" if title in ("task", "grid") else "right")
    for one in measure_accountants(rival):
        theirs = (one.rival_seconds, one.rival_epsilon)
        absent = theirs[0] is None or theirs[1] is None
        shown.add_row(
            one.task,
            one.grid,
            f"{one.seconds:.3f}",
            f"{one.epsilon:.4f}",
            "absent" if absent else f"{theirs[0]:.3f}",
            "" if absent else f"{theirs[1]:.4f}",
            "" if not theirs[0] else f"{one.seconds / theirs[0]:.2f}",
        )
    return shown


def main() -> None:
    """Measure everything this room knows."""
    parser = argparse.ArgumentParser(prog="dither.bench", description=__doc__)
    parser.add_argument("--samples", type=int, default=10**6, help="samples a figure")
    parser.add_argument("--rivals", type=Path, help="folder of the rivals' environment, made if it is not there")
    given = parser.parse_args()
    console = Console(soft_wrap=True)
    console.width = max(console.width, 110)
    console.print(f"machine before: {load()}; {given.samples:,} samples a figure", highlight=False)
    rival = rivals(given.rivals) if given.rivals else None
    console.print(table(measure_noise(given.samples, rival)))
    console.print(accountants_table(rival))
    console.print(primitives_table())
    byte = nanoseconds_per_random_byte()
    console.print(f"one random byte costs {byte:.3f} ns; the key stream is the floor of every figure above")
    for law, peak in peak_bytes_per_sample(given.samples).items():
        console.print(f"{law}: peak memory {peak:.2f} bytes a sample beyond the result (goal 16)", highlight=False)
    for law, correlation in time_value_correlation().items():
        console.print(f"{law}: rank correlation of time and size {correlation:+.4f} (goal below 0.03)", highlight=False)
    console.print(f"machine after: {load()}", highlight=False)


if __name__ == "__main__":
    main()
