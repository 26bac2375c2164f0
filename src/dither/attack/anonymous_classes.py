"""Tables whose rows were made alike in groups of k: what the attacks on k-anonymity and l-diversity start from.

People stand in the order of what identifies them (a year of birth, say), and every k of them in a row are published as
one class, with the sensitive values of its members beside it: k-anonymity in one dimension, as Mondrian makes it. What
an attacker sees of a class is how often each value occurs in it.

The defended table counts the same classes and values with noise. Its attacker reads it in the same way and names the
people of whom it says most; whom to name depends on the release alone, so the ceiling of ``dither.attack.outcome``
holds for them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]


def class_counts(values: NDArray[np.int64], size: int) -> Counts:
    """Return how often each of ``size`` values occurs in each class; ``values`` has a row for each class."""
    counts = np.zeros((len(values), size), dtype=np.int64)
    np.add.at(counts, (np.arange(len(values))[:, None], values), 1)
    return counts


def surest(confidence: NDArray[np.generic], wanted: int, lots: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the ``wanted`` classes of the highest confidence; equals are ordered by lot."""
    return np.lexsort((lots, -confidence.astype(np.float64)))[:wanted]


def share_right(values: NDArray[np.int64], chosen: NDArray[np.int64], guesses: NDArray[np.int64]) -> float:
    """Return the share of members of the chosen classes whose value is the one guessed for their class."""
    return float(np.mean(values[chosen] == guesses[chosen][:, None]))
