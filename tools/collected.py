"""Write the number of tests of the whole suite to ``tests/collected.txt``, to which later runs are held.

``python tools/collected.py`` collects the suite without running it, and writes the number. A run of the whole suite
then fails when it collects less than 98 % of it: a folder that is lost to an import error, or a parametrisation that
has become empty, would otherwise pass in silence. Tests that skip, because a machine lacks Java or PostgreSQL, are
collected all the same. Run it with a release, and whenever tests were taken out on purpose.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = ROOT / "tests" / "collected.txt"
KEPT_PERCENT = 98


class Counting:
    """Remembers how many tests were collected."""

    def __init__(self) -> None:
        self.count = 0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Count what is left after all other plugins."""
        self.count = len(session.items)


def last_collected() -> int:
    """Return how many tests were collected when the number was last written."""
    return int(WRITTEN.read_text(encoding="utf-8"))


def lost(collected: int, last: int) -> str | None:
    """Return a message if far fewer tests were collected than the last time, or None."""
    if 100 * collected >= KEPT_PERCENT * last:
        return None
    return (
        f"{collected} tests were collected, and {last} the last time: find those that are lost, or, "
        "if they were taken out, run python tools/collected.py"
    )


def main() -> int:
    """Collect, and write the number; nothing is written when something could not be collected."""
    counting = Counting()
    with contextlib.chdir(ROOT):
        status = pytest.main(["--collect-only", "-qq", "-p", "no:cacheprovider"], plugins=[counting])
    if status != pytest.ExitCode.OK:
        print("the suite could not be collected; nothing was written")
        return 1
    WRITTEN.write_text(f"{counting.count}\n", encoding="utf-8")
    print(f"{counting.count} tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
