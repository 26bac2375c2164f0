"""A messy export, as people have them: accents, line breaks in cells, N/A, '15 %', two ways of writing dates."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Final

HEADER: Final = (
    *("Customer No.", "Größe", "age", "région", "amount", "discount", "visit date", "paid on", "note", "smoker"),
    "country",
)
_REGIONS: Final = ("Zürich", "Genève", "Köln")
_COUNTRIES: Final = ("CH", "DE", "")


def write_export(path: Path, rows: int = 1200) -> None:
    """Write the export: the same for everyone, about people who do not exist.

    Args:
        path: of the CSV file.
        rows: of the file.

    """
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(HEADER)
        for n in range(rows):
            month, day = n % 12 + 1, n % 28 + 1
            writer.writerow(
                (
                    f"K{n % 400:05}",
                    ("171", "182", "N/A")[n % 3],
                    18 + n % 70,
                    _REGIONS[n % 3],
                    f"{n * 7919 % 90000 / 100:.2f}",
                    f"{n % 4 * 5} %",
                    f"2024-{month:02}-{day:02}",
                    f"{day:02}.{month:02}.2024",
                    f"first line\nsecond line of {n}",
                    ("yes", "no")[n % 2],
                    _COUNTRIES[n % 3],
                )
            )
