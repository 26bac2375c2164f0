"""Mechanisms on a data set: composed ones whose data are an engine, and which say beforehand what they ask of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import TypeVar

from dither.data import Aggregation
from dither.data.engines.protocol import Engine
from dither.mechanisms.core.mechanism import Composed

O = TypeVar("O")  # noqa: E741


class OverData(Composed[Engine, O]):
    """A mechanism on a data set."""

    @abstractmethod
    def aggregations(self) -> Iterable[Aggregation]:
        """Return what the engine is asked for first; it may refuse that before anything is charged."""
