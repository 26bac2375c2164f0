"""The price of a release before it is made: from public facts alone, with the data closed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from dither.mechanisms.notebook import decimals, html
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
        return {**said, "loss": self.loss.to_dict(), "loss_decimals": decimals(self.loss)}

    def to_json(self) -> str:
        """Return plain values as JSON."""
        return json.dumps(self.to_dict(), sort_keys=True)

    def __repr__(self) -> str:
        return f"<Price: {self.loss} for {self.release}>"

    def _repr_html_(self) -> str:
        facts = [("cost", str(self.loss)), ("protects", self.unit), ("left", self.left)]
        return html(f"Price of {self.release}", facts=[*facts, ("fits", "yes" if self.fits else "no")])

    def __str__(self) -> str:
        fits = "it fits" if self.fits else "it does not fit"
        return f"{self.release} would cost {self.loss}, for {self.unit}; {self.left} is left: {fits}"
