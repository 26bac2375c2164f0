"""A generated table: visits to a clinic that does not exist.

Made from a fixed sequence, so that the demonstration shows the same truth every time; only the noise is fresh.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dither.testing import SeededEntropy

AGE_GROUPS = ("0-17", "18-29", "30-44", "45-59", "60-74", "75+")
WARDS = ("cardiology", "orthopaedics", "paediatrics", "neurology", "oncology", "dermatology")
LONGEST_WAIT = 240
_AGE_SHARES = (0.12, 0.15, 0.21, 0.22, 0.19, 0.11)
_WARD_SHARES = (0.24, 0.19, 0.12, 0.11, 0.09, 0.25)


@dataclass(frozen=True)
class Visits:
    """One row a visit: age group, ward, minutes waited."""

    age_group: NDArray[np.int64]
    ward: NDArray[np.int64]
    waited: NDArray[np.float64]

    def __len__(self) -> int:
        return self.age_group.size


def generate(rows: int = 2_000) -> Visits:
    """Return that many visits, the same ones every time."""
    entropy = SeededEntropy(20)
    uniform = entropy.words(3 * rows).reshape(3, rows) / 2**16
    ages = np.searchsorted(np.cumsum(_AGE_SHARES), uniform[0], side="right").clip(0, len(AGE_GROUPS) - 1)
    wards = np.searchsorted(np.cumsum(_WARD_SHARES), uniform[1], side="right").clip(0, len(WARDS) - 1)
    waited = -np.log1p(-uniform[2]) * (25 + 6 * wards)
    return Visits(ages, wards, waited)
