"""Shared settings: Hypothesis without deadlines (machines are shared), and a guard that no test is lost."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("shared-machine", deadline=None, print_blob=True)
settings.load_profile("shared-machine")

#: Raised with each release; a folder lost to a collection error would otherwise pass in silence.
FEWEST_TESTS = 4500


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    is_whole_suite = (
        config.args == config.getini("testpaths") and not config.option.keyword and not config.option.markexpr
    )
    if is_whole_suite and len(items) < FEWEST_TESTS:
        raise pytest.UsageError(f"{len(items)} tests were collected, at least {FEWEST_TESTS} exist")
