"""Lift: turn mechanisms on values into mechanisms on a data set.

A ``Source`` says what is read of a data set and how far one unit of it moves what is read; ``Lifted`` reads it and
applies a method with that stability; an ``Offer`` is what a session prices or releases. Belongs here: sources and what
they are made of. Does not belong here: noise, or any algorithm. A new kind of data needs a source, and then has prices,
sessions, commands, checks and audits.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dither.lift.cells import Cells, SparseCells, cells_of
    from dither.lift.codes import Codes
    from dither.lift.items import ItemTable
    from dither.lift.lifted import Lifted
    from dither.lift.margins import Margins
    from dither.lift.offer import Offer
    from dither.lift.rows import Rows
    from dither.lift.source import Source

_MODULES = {
    "Cells": "cells",
    "Codes": "codes",
    "ItemTable": "items",
    "Lifted": "lifted",
    "Margins": "margins",
    "Offer": "offer",
    "Rows": "rows",
    "Source": "source",
    "SparseCells": "cells",
    "cells_of": "cells",
}
__all__ = [
    "Cells",
    "Codes",
    "ItemTable",
    "Lifted",
    "Margins",
    "Offer",
    "Rows",
    "Source",
    "SparseCells",
    "cells_of",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'dither.lift' has no attribute {name!r}")
    return getattr(importlib.import_module(f"dither.lift.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
