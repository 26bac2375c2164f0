"""Summaries of the commands that are made of declared verbs: ``python -m tools.commands`` writes them.

A list of commands shows them without importing a declaration. ``--check`` compares.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

TARGET: Final = Path(__file__).parents[1] / "src" / "dither" / "cli" / "summaries.py"
_HEAD: Final = '''"""What commands of declared verbs do, in a line each; written by ``python -m tools.commands``."""

# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SUMMARIES: Final[Mapping[str, str]] = MappingProxyType(
    {
'''


def written() -> str:
    """Return the module as it should be."""
    from dither.cli.verbs import DERIVED, command

    lines = []
    for name in DERIVED:
        text = (command(name).__doc__ or "").replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'        "{name}": "{text}",\n')
    return f"{_HEAD}{''.join(lines)}    }}\n)\n"


def main() -> int:
    """Write the summaries, or compare them."""
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(written(), encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") == written():
        return 0
    print(f"{TARGET} is not fresh: run python -m tools.commands")
    return 1


if __name__ == "__main__":
    sys.exit(main())
