"""Every registered mechanism keeps the contract, on every example."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from operator import itemgetter

import pytest

from dither.checks import checks
from dither.mechanisms import registered

# Three confidences a check, 1e-10 each; and 1e-10 for the laws of all that is enlarged.
COVERAGE = pytest.mark.statistical(
    n=8000, false_alarm=4e-10, catches="intervals that cover less often than they say, a rate twice as large as stated"
)
Check = Callable[[], None]


def by_example() -> Iterator[tuple[str, list[tuple[str, Check]]]]:
    """Yield the name of an example, and all its checks: one test for each, since most checks take no time at all."""
    every = [(title.rpartition("-")[0], title, check) for name in registered() for title, check in checks(name)]
    for example, group in groupby(every, key=itemgetter(0)):
        yield example, [(title, check) for _, title, check in group]


ALL = [
    pytest.param(group, id=example, marks=[COVERAGE for title, _ in group if title.endswith("intervals_cover")][:1])
    for example, group in by_example()
]


@pytest.mark.parametrize("group", ALL)
def test_contract(group: list[tuple[str, Check]]) -> None:
    for title, check in group:
        try:
            check()
        except Exception as failure:
            failure.add_note(f"in {title}")
            raise
