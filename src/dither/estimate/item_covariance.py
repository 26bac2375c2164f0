"""How items go together, from noisy products of what people think of them: cleaned, and of low rank.

Post-processing: all that is read here was released. Products are divided by how many people rated both items, entries
that noise drowns are pulled to 0, and directions that are no stronger than noise alone would make them are cut off.
What is left is a covariance of low rank, which has no negative direction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: The rank of the table of how many people rated both of two items.
_RANK_OF_PAIRS = 3
#: Directions weaker than this multiple of the strongest that noise is expected to make are cut off, others lowered.
_CUT = 1.1
#: The least share of the variance of a rating that is the rating's alone.
_ALONE = 0.5
#: How often the diagonal is replaced by what the factors explain.
_ROUNDS = 4


def cleaned_factors(products: Floats, pairs: Floats, *, deviation: float) -> tuple[Floats, float]:
    """Return factors, a row for each item, of which products are the covariance; and the variance beside it.

    Args:
        products: noisy sums of products of residuals, a square table.
        pairs: noisy numbers of people who rated both items, a square table.
        deviation: the standard deviation of the noise of a product of two different items.

    >>> truth = np.outer([1.0, -1.0], [1.0, -1.0]) * 500
    >>> factors, rest = cleaned_factors(truth, np.full((2, 2), 1000.0), deviation=1.0)
    >>> bool((factors @ factors.T)[0, 1] < -0.2), 0 < rest < 1
    (True, True)

    """
    items = len(products)
    values, vectors = np.linalg.eigh((pairs + pairs.T) / 2)
    strong = np.argsort(-values)[: min(_RANK_OF_PAIRS, items)]
    often = (vectors[:, strong] * values[strong]) @ vectors[:, strong].T
    usual = max(float(np.median(np.diag(often))) * 0.02, 1.0)
    alone = np.sqrt(np.maximum(np.diag(often), usual))
    often = np.maximum(often, np.outer(alone, alone) * 0.05)
    share = products / often
    noise = (deviation / often) ** 2
    apart = ~np.eye(items, dtype=np.bool_)
    # Of pairs that many people rated, since a quotient of two small numbers says nothing.
    usual_square = max(float(np.mean((often**2)[apart])), 1e-12) if items > 1 else 1.0
    strength = float(np.mean((products**2)[apart])) - deviation**2 if items > 1 else 0.0
    signal = max(strength / usual_square, 1e-6)
    pulled = signal / (signal + noise)
    clean = np.where(apart, share * pulled, 0.0)
    total = max(float(np.trace(products)) / max(float(np.trace(often)), 1.0), 1e-3)
    cut = _CUT * 2 * np.sqrt(float(np.mean((noise * pulled**2)[apart])) * items) if items > 1 else 0.0
    factors = np.zeros((items, 1))
    for _ in range(_ROUNDS):
        # The variance of an item is mostly its ratings' own: the diagonal is what the factors explain, and no more.
        values, vectors = np.linalg.eigh((clean + clean.T) / 2 + np.diag((factors**2).sum(axis=1)))
        left = values > max(cut, 1e-9)
        lowered = np.sqrt(values[left] ** 2 - cut**2)
        factors = vectors[:, left] * np.sqrt(lowered) if left.any() else np.zeros((items, 1))
    return factors, max(total - float(np.mean((factors**2).sum(axis=1))), _ALONE * total)
