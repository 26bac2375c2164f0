"""Spaces of classes whose parameters only fit together when they are planned together, by the name of the class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dither.testing import planned_lifts, planned_queries, planned_streams
from dither.testing.spaces import Space

#: How the space of a class is made.
RULES: Final[dict[str, Callable[[], Space]]] = {**planned_queries.RULES, **planned_streams.RULES, **planned_lifts.RULES}
