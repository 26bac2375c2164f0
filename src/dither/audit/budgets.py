"""Budgets watched from outside, at length: every division, many filters, and windows of every width and scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from dither.checks.spending import (
    check_all_parallel,
    check_filter,
    check_parallel_parts,
    check_spending,
    check_windows,
)
from dither.checks.violation import ContractViolation
from dither.mechanisms import Example, WindowPublisher, registered
from dither.privacy import ZCDP, ApproxDP, PureDP

_BUDGETS = (PureDP(1), PureDP("1/10"), ZCDP("1/2"), ZCDP("1/100"), ApproxDP(1, "1e-6"), ApproxDP("1/10", "1e-9"))
_FILTERS, _LONG = 40, 80
_WIDTHS = (1, 2, 3, 4, 7, 12)
_SHARES = ("1/100", "1/2", "9/10")


@dataclass(frozen=True)
class Budgets:
    """How many budgets were added up from outside, and which were exceeded."""

    checked: int
    exceeded: tuple[str, ...]

    @property
    def complaints(self) -> list[str]:
        """The complaints, as sentences."""
        return [f"a budget is exceeded: {one}" for one in self.exceeded]


def audit_budgets() -> Budgets:
    """Return what adding up from outside shows of all that is registered, and of filters and windows of many sizes."""
    exceeded, checked = [], 0
    for name, check in _checks():
        checked += 1
        try:
            check()
        except ContractViolation as violation:
            exceeded.append(f"{name}, {violation}")
    return Budgets(checked, tuple(exceeded))


def _checks() -> Iterator[tuple[str, Callable[[], None]]]:
    yield "disjoint parts", check_all_parallel
    for budget in _BUDGETS:
        for _ in range(_FILTERS):
            yield f"a filter of {budget}", partial(check_filter, budget, releases=_LONG)
    for scheme in ("absorption", "distribution", "uniform", "sample"):
        for width in _WIDTHS:
            for share in _SHARES:
                made = WindowPublisher(epsilon=1, window=width, scheme=scheme, share=share)
                yield f"{scheme} over {width} ticks", partial(check_windows, Example(made, [0, 1]))
    for name, entry in registered().items():
        for number, example in enumerate(entry.examples()):
            for check in (check_spending, check_parallel_parts, check_windows):
                yield f"{name} {number}", partial(check, example)
