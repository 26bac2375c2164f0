"""Every registered mechanism keeps the contract, on every example."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dither.checks import checks
from dither.mechanisms import registered

ALL = [pytest.param(check, id=title) for name in registered() for title, check in checks(name)]


@pytest.mark.parametrize("check", ALL)
def test_contract(check: Callable[[], None]) -> None:
    check()
