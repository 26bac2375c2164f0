"""dither: differential privacy that is exact, priced before it looks, and checked by trial.

A curator declares what is public and sets a budget; every release is charged before it is drawn and says what it is
worth.

>>> from dither import ROW, Budget, Geometric, release
>>> budget = Budget(epsilon=1, unit=ROW)
>>> people = release(Geometric(scale=2), 1234, budget=budget, stability=1)
>>> print(people.loss, "|", budget)
epsilon = 0.5 | epsilon = 0.5 of epsilon = 1 spent, for rows added or removed
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dither.errors import (
    BudgetExceeded,
    DitherError,
    EngineFailure,
    InvalidParameter,
    MissingExtra,
    NoGuarantee,
    NotFound,
    Unanswerable,
)

if TYPE_CHECKING:
    from dither.curator.folder import Curator
    from dither.curator.folder import open_curator as open  # noqa: A004 - as in dither.open("clinic")
    from dither.curator.private import private
    from dither.curator.session import Session
    from dither.data import Column, DataSet, Kind, Table
    from dither.mechanisms import Budget, Gaussian, Geometric, Laplace, Release, converse, release
    from dither.privacy import EDGE, EVENT, NODE, ROW, ROW_REPLACED, ZCDP, ApproxDP, PureDP, Unit, person
    from dither.publish.choose import choose
    from dither.publish.choose_graph import choose_graph
    from dither.publish.queries.builder import col
    from dither.publish.synthetic.synthesizer import Synthesizer
    from dither.service.client import connect

__version__ = "0.2.0.dev0"

__all__ = [
    "EDGE",
    "EVENT",
    "NODE",
    "ROW",
    "ROW_REPLACED",
    "ZCDP",
    "ApproxDP",
    "Budget",
    "BudgetExceeded",
    "Column",
    "Curator",
    "DataSet",
    "DitherError",
    "EngineFailure",
    "Gaussian",
    "Geometric",
    "InvalidParameter",
    "Kind",
    "Laplace",
    "MissingExtra",
    "NoGuarantee",
    "NotFound",
    "PureDP",
    "Release",
    "Session",
    "Synthesizer",
    "Table",
    "Unanswerable",
    "Unit",
    "choose",
    "choose_graph",
    "col",
    "connect",
    "converse",
    "open",
    "person",
    "private",
    "release",
]

#: Where everything but the errors is; loaded when it is first asked for, so that whoever needs one room loads one room.
_LATER = {
    "EDGE": ("dither.privacy", "EDGE"),
    "EVENT": ("dither.privacy", "EVENT"),
    "NODE": ("dither.privacy", "NODE"),
    "ROW": ("dither.privacy", "ROW"),
    "ROW_REPLACED": ("dither.privacy", "ROW_REPLACED"),
    "ZCDP": ("dither.privacy", "ZCDP"),
    "ApproxDP": ("dither.privacy", "ApproxDP"),
    "Budget": ("dither.mechanisms", "Budget"),
    "Column": ("dither.data", "Column"),
    "Curator": ("dither.curator.folder", "Curator"),
    "DataSet": ("dither.data", "DataSet"),
    "Gaussian": ("dither.mechanisms", "Gaussian"),
    "Geometric": ("dither.mechanisms", "Geometric"),
    "Kind": ("dither.data", "Kind"),
    "Laplace": ("dither.mechanisms", "Laplace"),
    "PureDP": ("dither.privacy", "PureDP"),
    "Release": ("dither.mechanisms", "Release"),
    "Session": ("dither.curator.session", "Session"),
    "Synthesizer": ("dither.publish.synthetic.synthesizer", "Synthesizer"),
    "Table": ("dither.data", "Table"),
    "Unit": ("dither.privacy", "Unit"),
    "choose": ("dither.publish.choose", "choose"),
    "choose_graph": ("dither.publish.choose_graph", "choose_graph"),
    "col": ("dither.publish.queries.builder", "col"),
    "connect": ("dither.service.client", "connect"),
    "converse": ("dither.mechanisms", "converse"),
    "open": ("dither.curator.folder", "open_curator"),
    "person": ("dither.privacy", "person"),
    "private": ("dither.curator.private", "private"),
    "release": ("dither.mechanisms", "release"),
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'dither' has no attribute {name!r}")
    module, shown = _LATER[name]
    return getattr(importlib.import_module(module), shown)


def __dir__() -> list[str]:
    """Return the names that a user types."""
    return sorted([*__all__, "__version__"])
