"""Cells that are left out of a table of totals, and further cells so that the first cannot be computed from the rest.

For every cell that a rule forbids (primary), two linear programmes move it up and down by what the rule needs, keeping
all sums, and change as little as they can in cells that are still shown; whatever they change is left out, too
(secondary). Then each secondary cell is shown again if the intervals still suffice without it, largest first. It is a
heuristic: no single secondary cell can be shown again, but another choice of cells may be smaller. Empty cells are
known and stay shown. The intervals assume an attacker who does not contribute; a contributor knows its own part
besides.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import hstack

from dither.disguise.classes import Figures
from dither.disguise.contract import WARNING
from dither.disguise.rules import Mask
from dither.disguise.totals.rules import TotalsRule
from dither.disguise.totals.tables import Totals, attacker_intervals, sums_to_margins
from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator

#: What a linear programme leaves open, as a share of the grand total.
_SLACK: Final = 1e-7


@dataclass(frozen=True, eq=False)
class SuppressedTotals:
    """A table of totals with cells left out, and what an attacker makes of them. It carries no loss.

    Args:
        shown: the totals, NaN where a cell is left out; margins last.
        primary: cells that a rule forbids.
        secondary: cells that are left out to protect them.
        low: the least that a cell may be, for all that is shown.
        high: the most.
        done: what was done, a sentence each.

    """

    shown: Figures
    primary: Mask
    secondary: Mask
    low: Figures
    high: Figures
    done: tuple[str, ...]

    warning: ClassVar[str] = WARNING

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data: None where a cell is left out, or where nothing bounds it."""
        return {
            "warning": self.warning,
            "done": list(self.done),
            "shown": _plain(self.shown),
            "low": _plain(self.low),
            "high": _plain(self.high),
        }

    def to_json(self) -> str:
        """Return the table as JSON."""
        return json.dumps(self.to_dict(), indent=2)


def _plain(values: Figures) -> list[list[float | None]]:
    return [[float(cell) if np.isfinite(cell) else None for cell in row] for row in values]


def suppress(totals: Totals, rules: Sequence[TotalsRule]) -> SuppressedTotals:
    """Leave out the cells that a rule forbids, and others until each of them lies in a wide enough interval.

    Args:
        totals: the table.
        rules: of which every shown cell fulfils all.

    """
    if not rules:
        raise InvalidParameter("rules", [], "one or more")
    values, scale = totals.values, float(totals.values.max())
    if not scale:
        raise InvalidParameter("totals", 0.0, "above 0 in some cell: intervals around nothing have no width")
    # A forbidden cell whose total is 0 must not be known to be 0: it needs what an average cell does.
    usual = scale / (len(totals.rows) * len(totals.columns))
    needs = np.full(values.shape, np.nan)
    for place in np.ndindex(*values.shape):
        found = [need for rule in rules if (need := rule.need(totals.pieces[place[0]][place[1]])) is not None]
        if found:
            needs[place] = max(found) or usual / 10
    primary = ~np.isnan(needs)
    out = primary.copy()
    up, down = values + needs, np.maximum(values - needs, 0)
    for place in sorted(zip(*np.nonzero(primary), strict=True), key=lambda one: -float(needs[one])):
        for aim in (up[place], down[place]):
            out |= _moved(values / scale, out, totals.empty, place, float(aim - values[place]) / scale)
    for place in sorted(zip(*np.nonzero(out & ~primary), strict=True), key=lambda one: -float(values[one])):
        out[place] = False
        if not _enough(values, out, totals.empty, primary, up, down):
            out[place] = True
    if not _enough(values, out, totals.empty, primary, up, down):
        raise RuntimeError("the interval of a cell is narrower than its rule needs")
    low, high = _bounds(values, out, totals.empty)
    low, high = attacker_intervals(low, high, out)
    done = (
        f"{int(primary.sum())} cells are forbidden by a rule, and {int((out & ~primary).sum())} more are suppressed.",
        "Each forbidden cell has an interval as wide as its rule needs.",
    )
    return SuppressedTotals(np.where(out, np.nan, values), primary, out & ~primary, low, high, done)


def _bounds(values: Figures, out: Mask, empty: Mask) -> tuple[Figures, Figures]:
    hidden = out & ~empty
    return np.where(hidden, 0.0, values), np.where(hidden, np.inf, values)


def _enough(values: Figures, out: Mask, empty: Mask, primary: Mask, up: Figures, down: Figures) -> bool:
    slack = _SLACK * float(values.max())
    for place in zip(*np.nonzero(primary), strict=True):
        asked = np.zeros(values.shape, dtype=np.bool_)
        asked[place] = True
        low, high = attacker_intervals(*_bounds(values, out, empty), asked)
        if low[place] > down[place] + slack or high[place] < up[place] - slack:
            return False
    return True


def _moved(values: Figures, out: Mask, empty: Mask, place: tuple[Any, ...], by: float) -> Mask:
    """Return the cells that change when one of them moves by so much, at the least cost in cells still shown."""
    if not by:
        return np.zeros(values.shape, dtype=np.bool_)
    equations = sums_to_margins(*values.shape)
    # Larger cells are worth more, and every cell is worth something.
    cost = np.where(out, 0.0, values + 1 / values.size).ravel()
    still = empty.ravel()
    most_up = np.where(still, 0.0, np.inf)
    most_down = np.where(still, 0.0, values.ravel())
    cell = int(np.ravel_multi_index(place, values.shape))
    bounds = np.column_stack([np.zeros(2 * values.size), np.concatenate([most_up, most_down])])
    bounds[cell] = max(by, 0.0)
    bounds[values.size + cell] = max(-by, 0.0)
    found = linprog(
        np.concatenate([cost, cost]),
        A_eq=hstack([equations, -equations]),
        b_eq=np.zeros(equations.shape[0]),
        bounds=bounds,
        method="highs",
    )
    if found.status != 0:
        raise RuntimeError(f"a cell cannot be protected: {found.message}")
    return np.asarray(np.abs(found.x[: values.size] - found.x[values.size :]).reshape(values.shape) > _SLACK / 100)


@dataclass(frozen=True, eq=False)
class RoundedTotals:
    """A table of totals rounded to a base, and what an attacker makes of it. It carries no loss.

    Args:
        shown: multiples of the base; margins are rounded by themselves and need not be sums.
        low: the least that a cell may be, for all that is shown.
        high: the most.

    """

    shown: Figures
    low: Figures
    high: Figures

    warning: ClassVar[str] = WARNING


def multiples(values: Figures, base: float, *, nearest: bool = False) -> Figures:
    """Return each value as a multiple of a base: the nearest one, or one beside it that is right on average."""
    parts = values / base
    down = np.floor(parts)
    above = (parts - down >= 0.5) if nearest else public_generator().uniform(size=parts.shape) < parts - down
    return np.asarray((down + above) * base)


def rounded(totals: Totals, base: float, *, nearest: bool = False) -> RoundedTotals:
    """Round every cell and margin to a multiple of a base, by itself.

    Args:
        totals: the table.
        base: above 0.
        nearest: to the nearest multiple; else up or down at random, such that each cell is right on average.

    """
    if not 0 < base < np.inf:
        raise InvalidParameter("base", base, "above 0 and finite")
    shown = multiples(totals.values, base, nearest=nearest)
    reach = base / 2 if nearest else base
    low, high = np.maximum(shown - reach, 0.0), shown + reach
    low, high = attacker_intervals(low, high, np.ones(shown.shape, dtype=np.bool_))
    return RoundedTotals(shown, low, high)
