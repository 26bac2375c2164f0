"""The words that every distorted matrix and every reweighted network carries."""

from __future__ import annotations

from typing import Final

#: Stands on everything that leaves ``disguise.matrices`` and ``disguise.networks``.
NO_GUARANTEE: Final = (
    "No formal guarantee: this is no differential privacy, and no loss is stated. Numbers that differ from the true "
    "ones may still be undone by anyone who knows a few of them."
)
#: Where the distortions of matrices and networks come from.
KENTUCKY: Final = "Liu, doctoral thesis, University of Kentucky (2015)"
