"""``python -m tools.security``: every attack, one after another, each within its time; exit 1 if one succeeds."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from typing import Final

#: What is run, for how many minutes at most; the sum is what all of it may take.
PARTS: Final[tuple[tuple[str, tuple[str, ...], float], ...]] = (
    ("who gets in, and what is told", ("-m", "pytest", "-q", "tests/service"), 4),
    ("neighbours", ("-m", "tools.security.neighbours", "--tables", "200", "--minutes", "7.5"), 8),
    ("bodies", ("-m", "tools.security.fuzz", "--bodies", "1000000", "--minutes", "16"), 17),
    ("slow clients", ("-m", "tools.security.slow"), 2),
    ("plans without end", ("-m", "tools.security.plans"), 0.5),
    ("the OpenAPI text", ("-m", "tools.security.schema"), 2.5),
    ("receipts and ledgers", ("-m", "tools.receipts", "--receipts", "40", "--entries", "100000"), 2),
    ("time", ("-m", "tools.security.timing", "--timing", "strict 250ms", "--minutes", "8.5"), 9),
)
#: Of tests that have a short form, the long one.
WHOLE: Final = {**os.environ, "DITHER_WHOLE": "1"}


def main() -> None:
    """Run all parts, or some."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", choices=[name for name, _, _ in PARTS], help="one of the parts")
    asked = parser.parse_args()
    failed = []
    for name, command, minutes in PARTS:
        if asked.only and name not in asked.only:
            continue
        begun = time.monotonic()
        print(f"{name}: {' '.join(command)}", flush=True)
        try:
            status = subprocess.run([sys.executable, *command], timeout=60 * minutes, env=WHOLE).returncode
        except subprocess.TimeoutExpired:
            print(f"  stopped after {minutes:g} minutes")
            status = 1
        print(f"  {time.monotonic() - begun:.0f} s, exit {status}", flush=True)
        failed += [name] if status else []
    print(f"failed: {', '.join(failed)}" if failed else "nothing got through")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
