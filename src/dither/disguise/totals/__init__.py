"""Tables of totals, WITHOUT a formal guarantee: which cells must not be shown, and what they hide when they are not."""

from dither.disguise.totals.rules import Dominance, PPercent, Threshold, TotalsRule
from dither.disguise.totals.suppression import RoundedTotals, SuppressedTotals, rounded, suppress
from dither.disguise.totals.tables import Totals, attacker_intervals

__all__ = [
    "Dominance",
    "PPercent",
    "RoundedTotals",
    "SuppressedTotals",
    "Threshold",
    "Totals",
    "TotalsRule",
    "attacker_intervals",
    "rounded",
    "suppress",
]
