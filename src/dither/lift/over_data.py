"""Mechanisms on a data set: composed mechanisms that read an engine and declare their requests in advance."""

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
        """Return the engine's first aggregations; it may refuse them before anything is charged."""

    def check_public(self, data: Engine) -> None:
        """Reject, by public rows alone, what cannot be released: before anything is charged."""
