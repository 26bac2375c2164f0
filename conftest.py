"""Examples in pages, docstrings and the README are compared by the rules of ``tools/examples.py``."""

from __future__ import annotations

import pytest

from tools import examples


def pytest_itemcollected(item: pytest.Item) -> None:
    """Compare a noisy output by its shape."""
    if isinstance(item, pytest.DoctestItem):
        examples.mark(item.dtest.examples)
        item.runner._checker = examples.Checker()  # type: ignore[attr-defined]
