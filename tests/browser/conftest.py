"""One Chromium for each file of tests; without one they skip, and say what is absent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tools.browser.looking import Browser, absent, browser


# Not for the session: while Playwright runs it holds an event loop, beside which other tests could have none.
@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    """Return a browser in which pages are opened."""
    if (reason := absent()) is not None:
        pytest.skip(reason)
    with browser() as started:
        yield started
