"""Every registered mechanism keeps the contract, on every example."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dither.checks import checks
from dither.mechanisms import registered

# Three confidences a check, 1e-10 each.
COVERAGE = pytest.mark.statistical(n=4000, false_alarm=3e-10, catches="intervals that cover less often than they say")
ALL = [
    pytest.param(check, id=title, marks=[COVERAGE] if title.endswith("intervals_cover") else [])
    for name in registered()
    for title, check in checks(name)
]


@pytest.mark.parametrize("check", ALL)
def test_contract(check: Callable[[], None]) -> None:
    check()
