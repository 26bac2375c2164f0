"""The tools of a source checkout: mutants, rivals, benchmarks. They are not part of an installation.

A checkout is told by where this package lies: in ``src``, beside the folder ``tools``. Nothing is looked for in the
working directory, and a package of the same name that lies elsewhere is never taken for it.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import dither
from dither.errors import NotFound


def root() -> Path | None:
    """Return the folder of the checkout that this package runs from; None where it is installed."""
    source = Path(dither.__file__).resolve().parents[1]
    is_checkout = source.name == "src" and (source.parent / "tools" / "__init__.py").is_file()
    return source.parent if is_checkout else None


def tool(name: str) -> ModuleType:
    """Return a module of the checkout's tools.

    Args:
        name: such as ``mutants`` or ``rivals.learning``.

    """
    folder = root()
    if folder is None:
        raise NotFound(
            f"tools/{name.replace('.', '/')} is in the source checkout and not in an installation: run this from a "
            "checkout, installed with 'pip install --editable .'"
        )
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    package = importlib.import_module("tools")
    if Path(package.__file__ or "").resolve().parent != folder / "tools":
        raise NotFound(f"another package named 'tools' hides that of the checkout: {package.__file__}")
    return importlib.import_module(f"tools.{name}")
