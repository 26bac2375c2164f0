"""Sources: what is read from a data set, and how far one unit moves it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dither.data import Aggregation, DataSet
from dither.data.engines.protocol import Engine
from dither.data.wire import decode, encode
from dither.errors import InvalidParameter
from dither.mechanisms.core.mechanism import Mechanism
from dither.mechanisms.core.spec import Codec, register_codec
from dither.privacy import Distance

V = TypeVar("V")


class Source(ABC, Generic[V]):
    """Public facts about private data: what is read, and how far one unit moves it.

    Subclasses are frozen records that check themselves, registered with ``data.wire``: a request is made of them.
    """

    if TYPE_CHECKING:

        @property
        def dataset(self) -> DataSet:
            """The schema, with the unit and the limits: a field or a property."""

    @abstractmethod
    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return an engine's first aggregations; it may refuse them before anything is charged."""

    @abstractmethod
    def read(self, engine: Engine) -> V:
        """Return what a method sees. Never raises because of what an engine returns."""

    def aggregations_for(self, method: Mechanism[Any, Any]) -> tuple[Aggregation, ...]:
        """Return an engine's first aggregations where a certain method sees what is read."""
        return self.aggregations()

    def read_for(self, engine: Engine, method: Mechanism[Any, Any]) -> Any:
        """Return what a certain method sees: what is read, or sums of it that are all the method needs."""
        return self.read(engine)

    @abstractmethod
    def moves(self) -> dict[Distance, Fraction]:
        """Return how far one unit moves what is read, in each distance in which that is bounded."""

    def check(self, method: Mechanism[Any, Any]) -> None:
        """Reject a method for something else, such as other columns."""
        if method.distance not in self.moves():
            known = " or ".join(map(repr, self.moves()))
            rule = (
                f"a mechanism whose distance is {known}: these bound the effect of one unit on what "
                f"{type(self).__name__} reads"
            )
            raise InvalidParameter("method", f"{method.name}, whose distance is {method.distance!r}", rule)

    def moved(self, method: Mechanism[Any, Any]) -> Fraction:
        """Return how far one unit moves what is read, in a method's distance."""
        return self.moves()[method.distance]


def _read(record: Any) -> Source[Any]:
    source = decode(record)
    if not isinstance(source, Source):
        raise InvalidParameter("source", type(source).__name__, "a Source")
    return source


register_codec("source", Codec(Source, encode, _read))
