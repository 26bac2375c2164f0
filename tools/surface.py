"""Write the public names of the package to ``tests/public_surface.txt``: to be run when a name is added on purpose."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import dither

PINNED = Path(__file__).resolve().parents[1] / "tests" / "public_surface.txt"
#: Rooms whose names are for people who run them, not for programs that import them.
UNPINNED = frozenset({"__main__", "bench", "cli"})


def public_names() -> list[str]:
    """Return every name that a room promises, sorted."""
    rooms = [found.name for found in pkgutil.iter_modules(dither.__path__) if found.name not in UNPINNED]
    modules = [dither, *(importlib.import_module(f"dither.{room}") for room in rooms)]
    return sorted(f"{module.__name__}.{name}" for module in modules for name in getattr(module, "__all__", ()))


if __name__ == "__main__":
    PINNED.write_text("\n".join(public_names()) + "\n", encoding="utf-8")
