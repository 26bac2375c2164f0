"""Write ``docs/tpch.md``."""

from __future__ import annotations

import argparse
from pathlib import Path

from tools.tpch.page import page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tpch.md"


def main() -> None:
    """Read the arguments and write the page."""
    reader = argparse.ArgumentParser(prog="python -m tools.tpch", description="Ask the 22 queries of TPC-H privately.")
    reader.add_argument("--scale", type=float, default=0.01, help="1 is 150,000 customers")
    reader.add_argument("--epsilon", default="1", help="for each query")
    reader.add_argument("--delta", default="1e-6", help="for queries that need one")
    reader.add_argument("-o", "--output", type=Path, default=PAGE)
    given = reader.parse_args()
    given.output.write_text(page(given.scale, given.epsilon, given.delta), encoding="utf-8")


if __name__ == "__main__":
    main()
