"""The base class of a randomiser: the registered primitive whose law a client half draws, in blocks.

Client half and primitive are two programs of one law. The half decides what is promised (``ratio``), and what a payload
looks like (``widths``); the primitive draws many reports, for checks and simulations, and reads payloads back. That
both draw the same law is enumerated in the tests, over narrow words.
"""

from __future__ import annotations

import importlib
from abc import abstractmethod
from dataclasses import fields
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, non_negative
from dither.local.clients import Half, half_of, octets_of
from dither.local.document import Document
from dither.local.weights import loss_of
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.values import Category
from dither.noise import Noise
from dither.privacy import DIFFERENT, Metric, PureDP

#: The module and the class of each randomiser, by its name in a document.
RANDOMISERS: Final[dict[str, tuple[str, str]]] = {
    "kary-response": ("frequencies.kary", "KaryResponse"),
    "one-bit-number": ("numbers.bit", "OneBitNumber"),
    "piecewise-number": ("numbers.piecewise", "PiecewiseNumber"),
    "hybrid-number": ("numbers.hybrid", "HybridNumber"),
    "square-wave": ("numbers.wave", "SquareWave"),
    "sign-vector": ("numbers.signs", "SignVector"),
    "sampled-attribute": ("numbers.sampled", "SampledAttribute"),
    "prefix-hashing": ("hitters.prefixes", "PrefixHashing"),
    "padded-set": ("hitters.sets", "PaddedSet"),
    "unary-response": ("frequencies.unary", "UnaryResponse"),
    "local-hashing": ("frequencies.hashing", "LocalHashing"),
    "subset-response": ("frequencies.subset", "SubsetResponse"),
    "hadamard-response": ("frequencies.hadamard", "HadamardResponse"),
    "memoised-kary": ("rounds.kary", "MemoisedKary"),
    "memoised-hashing": ("rounds.hashed", "MemoisedHashing"),
    "rappor": ("rounds.rappor", "RapporResponse"),
}
#: Payloads are read this many bits at a time, each a byte in memory.
_BITS_AT_A_TIME: Final = 2**24


class Randomiser(Primitive[Any, Any]):
    """Turns one answer into one report; a subclass is a frozen record with the fields of its client half."""

    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "one report says next to nothing; the estimate from many has a variance"
    no_interval_because: ClassVar[str] = "one report has no interval; the estimate from many has one for each answer"
    half_type: ClassVar[type[Half]]

    @cached_property
    def half(self) -> Half:
        """The client half of the same law."""
        return self.half_type.of(self.parameters)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, as a document has them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @property
    def distance(self) -> Metric:
        """Whether two answers differ."""
        return DIFFERENT

    @property
    def domain(self) -> Category:
        """The cell of an answer; one out of range is the nearest."""
        return Category(self.half.cells)

    @property
    def draw_shape(self) -> tuple[int, ...]:
        """The fields of a payload; one field is a scalar."""
        count = len(self.half.widths)
        return () if count == 1 else (count,)

    def loss(self, d_in: Number = 1) -> PureDP:
        """Return the logarithm of the worst ratio of whole reports, rounded up, for any distance."""
        return loss_of(self.half.ratio) if non_negative("d_in", d_in) else PureDP(0)

    def draw_many(self, value: Any, count: int, noise: Noise) -> NDArray[np.int64]:
        """Return independent reports of one answer."""
        return self.draw_each(np.full(count, self.domain.admit(value)), noise)

    @abstractmethod
    def draw_each(self, cells: NDArray[np.int64], noise: Noise) -> NDArray[np.int64]:
        """Return one report for each answer: of shape ``(len(cells), *draw_shape)``."""

    def is_valid(self, reports: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which reports, with fields of the right widths, the client half can draw."""
        return np.ones(len(reports), dtype=bool)

    def encode(self, reports: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Return the payloads of reports, one a row."""
        columns = reports.reshape(len(reports), -1)
        bits = np.zeros((len(reports), 8 * octets_of(self.half.size)), dtype=np.uint8)
        place = 0
        for column, width in zip(columns.T, self.half.widths, strict=True):
            for step in range(width):
                bits[:, place] = (column >> (width - 1 - step)) & 1
                place += 1
        return np.packbits(bits, axis=1)

    def decode(self, payloads: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the reports of payloads, one a row, and which of them the client half can draw.

        The others have meaningless fields.
        """
        rows = max(1, _BITS_AT_A_TIME // (8 * max(1, payloads.shape[1])))
        parts = [self._decode(payloads[start : start + rows]) for start in range(0, max(len(payloads), 1), rows)]
        reports, valid = (np.concatenate(side) for side in zip(*parts, strict=True))
        return reports.reshape(len(payloads), *self.draw_shape), valid

    def _decode(self, payloads: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        widths, size = self.half.widths, self.half.size
        bits = np.unpackbits(payloads, axis=1)
        valid = ~bits[:, size:].any(axis=1)
        if set(widths) == {1}:
            columns = bits[:, :size].astype(np.int64)
        else:
            columns = np.zeros((len(payloads), len(widths)), dtype=np.int64)
            place = 0
            for number, width in enumerate(widths):
                for step in range(width):
                    columns[:, number] = (columns[:, number] << 1) | bits[:, place + step]
                place += width
        reports = columns.reshape(len(payloads), *self.draw_shape)
        return columns, valid & self.is_valid(reports)

    def document(self, question: str, domain: Any) -> Document:
        """Return the protocol document of a survey with this law."""
        made = Document(question, domain, self.name, self.parameters)
        half_of(made)
        return made

    @classmethod
    def of(cls, document: Document) -> Self:
        """Return the randomiser of a document."""
        half_of(document)
        return cls(**document.parameters)


def randomiser_of(document: Document) -> Randomiser:
    """Return the randomiser of a document, or raise InvalidParameter."""
    return randomiser_class(document.randomiser).of(document)


def randomiser_class(name: str) -> type[Randomiser]:
    """Return the class of a randomiser by its name in a document."""
    if name not in RANDOMISERS:
        raise InvalidParameter("randomiser", name, f"one of {', '.join(RANDOMISERS)}")
    module, of_class = RANDOMISERS[name]
    found: type[Randomiser] = getattr(importlib.import_module(f"dither.local.{module}"), of_class)
    return found
