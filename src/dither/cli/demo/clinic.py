"""Generated data: the visits of a clinic that does not exist.

Made from a fixed sequence, so that the demonstration shows the same truth every time; only the noise is fresh.
"""

from __future__ import annotations

import csv
import datetime
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from dither.testing import SeededEntropy

WARDS = ("cardiology", "dermatology", "neurology", "oncology", "orthopaedics", "paediatrics")
REGIONS = {"north": 412_000, "east": 268_000, "south": 531_000, "west": 194_000}
_WARD_SHARES = (0.24, 0.25, 0.11, 0.09, 0.19, 0.12)
_REGION_SHARES = (0.29, 0.19, 0.38, 0.14)

MOST_ROWS = 6
LONGEST_WAIT = 240
SCHEMA = f"""\
dataset: clinic
unit: person
contribution: {{rows: {MOST_ROWS}}}
tables:
  visits:
    source: visits.csv
    privacy id: patient
    columns:
      patient: integer
      age: {{kind: integer, bounds: [0, 110]}}
      region: {{kind: text, categories: [north, east, south, west]}}
      ward: {{kind: text, categories: [cardiology, dermatology, neurology, oncology, orthopaedics, paediatrics]}}
      day: {{kind: date, bounds: [2025-01-01, 2025-12-31]}}
      waited: {{kind: real, bounds: [0, {LONGEST_WAIT}], description: minutes}}
      complaint: {{kind: text, description: "free text; not declared, so groups of it have to be discovered"}}
  regions:
    public: true
    key: region
    source: regions.csv
    columns:
      region: {{kind: text, categories: [north, east, south, west]}}
      population: {{kind: integer, bounds: [0, 1000000]}}
"""

COMPLAINTS = ("back pain", "check-up", "cough", "dizziness", "fever", "headache", "rash", "sprain")


def write(folder: Path, persons: int = 9_000) -> list[tuple[Any, ...]]:
    """Write visits.csv, regions.csv and clinic.yaml into a folder, and return the visits."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "clinic.yaml").write_text(SCHEMA, encoding="utf-8")
    _write_csv(folder / "regions.csv", ("region", "population"), list(REGIONS.items()))
    rows = visits(persons)
    header = ("patient", "age", "region", "ward", "day", "waited", "complaint")
    _write_csv(folder / "visits.csv", header, rows)
    return rows


def bias(rows: list[tuple[Any, ...]]) -> str:
    """Return in a sentence what the limits and bounds of the schema do to visits."""
    left_out = sum(max(0, many - MOST_ROWS) for many in Counter(row[0] for row in rows).values())
    longer = sum(row[5] > LONGEST_WAIT for row in rows)
    return (
        f"At most {MOST_ROWS} visits of a patient count, which omits {left_out} of {len(rows):,} "
        f"({left_out / len(rows):.1%}), and {longer} waits of more than {LONGEST_WAIT} minutes count as "
        f"{LONGEST_WAIT}: intervals are about what is left, and no interval covers that bias."
    )


def visits(persons: int) -> list[tuple[Any, ...]]:
    """Return the visits of a number of people, the same ones every time."""
    entropy = SeededEntropy(20)
    ages = np.floor(_uniform(entropy, persons) ** 0.8 * 95).astype(int)
    regions = _chosen(_uniform(entropy, persons), _REGION_SHARES)
    # Nearly all persons come once or twice. A few come more often than six times: those whom the limit is for.
    counts = 1 + np.floor(-np.log1p(-_uniform(entropy, persons)) * 0.9).astype(int)
    owner = np.repeat(np.arange(persons), counts)
    total = owner.size
    wards = _chosen(_uniform(entropy, total), _WARD_SHARES)
    days = np.floor(_uniform(entropy, total) * 365).astype(int)
    waited = -np.log1p(-_uniform(entropy, total)) * (8 + 5 * wards + 0.2 * ages[owner])
    words = np.floor(_uniform(entropy, total) ** 2 * len(COMPLAINTS)).astype(int)
    start, regions_by_name = datetime.date(2025, 1, 1), list(REGIONS)
    return [
        (
            1000 + int(person),
            int(ages[person]),
            regions_by_name[regions[person]],
            WARDS[wards[row]],
            (start + datetime.timedelta(days=int(days[row]))).isoformat(),
            round(float(waited[row]), 1),
            COMPLAINTS[words[row]],
        )
        for row, person in enumerate(owner)
    ]


def _uniform(entropy: SeededEntropy, size: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return entropy.words(size).astype(float) / 2**16


def _chosen(uniform: np.ndarray[Any, np.dtype[np.float64]], shares: tuple[float, ...]) -> Any:
    return np.searchsorted(np.cumsum(shares), uniform, side="right").clip(0, len(shares) - 1)


def _write_csv(path: Path, header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(rows)
