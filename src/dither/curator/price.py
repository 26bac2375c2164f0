"""The price of a release before it is made: from public facts alone, with the data closed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dither.privacy import Loss


@dataclass(frozen=True)
class Price:
    """What a release would cost.

    Args:
        release: what would be released, in words.
        loss: what it would lose.
        unit: whom it would protect, in words.
        left: what the analyst may still spend.
        fits: whether it would be admitted now; nothing is promised for a moment later.

    """

    release: str
    loss: Loss
    unit: str
    left: str
    fits: bool

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        said = {"release": self.release, "unit": self.unit, "left": self.left, "fits": self.fits}
        return {**said, "loss": self.loss.to_dict()}

    def __str__(self) -> str:
        fits = "it fits" if self.fits else "it does not fit"
        return f"{self.release} would cost {self.loss}, for {self.unit}; {self.left} is left: {fits}"
