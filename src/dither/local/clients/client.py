"""``Client``: one answer in, one report out, and what a report is made of."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.local.clients.half import Half
from dither.local.clients.handle import OneOwner
from dither.local.document import NONCE_BYTES, Document, Report
from dither.noise.client_words import Words, system_words

#: The module and the class of the client half of each randomiser, by its name in a document.
HALVES: Final[dict[str, tuple[str, str]]] = {
    "kary-response": ("kary", "Kary"),
    "one-bit-number": ("numbers", "OneBit"),
    "piecewise-number": ("numbers", "PiecewiseHalf"),
    "hybrid-number": ("numbers", "Hybrid"),
    "square-wave": ("numbers", "WaveHalf"),
    "sign-vector": ("attributes", "Signs"),
    "sampled-attribute": ("attributes", "Sampled"),
    "prefix-hashing": ("prefixes", "Prefixes"),
    "padded-set": ("sets", "PaddedSetHalf"),
    "unary-response": ("unary", "Unary"),
    "local-hashing": ("hashing", "Hashing"),
    "subset-response": ("subset", "Subset"),
    "hadamard-response": ("hadamard", "Hadamard"),
    "memoised-kary": ("chains", "KaryChain"),
    "memoised-hashing": ("chains", "HashedChain"),
    "rappor": ("chains", "Rappor"),
}

#: e^20, rounded down: a law that loses more than epsilon 20 hides nothing, whoever sends the document.
MOST_RATIO: Final = Fraction(485165195409790277969106830541540558684638988944847254353610, 10**51)


def half_of(document: Document) -> Half:
    """Return the client half of a document, or raise InvalidParameter where law and domain do not fit.

    A law of which one report, or all reports from one stored response, lose more than epsilon 20 is refused.
    """
    if document.randomiser not in HALVES:
        raise InvalidParameter("randomiser", document.randomiser, f"one of {', '.join(HALVES)}")
    module, name = HALVES[document.randomiser]
    kind: type[Half] = getattr(importlib.import_module(f"dither.local.clients.{module}"), name)
    half = kind.of(document.parameters)
    if half.cells != document.domain.cells:
        rule = f"for the {document.domain.cells} answers of the domain"
        raise InvalidParameter("parameters", f"for {half.cells} answers", rule)
    if half.worst_ratio > MOST_RATIO:
        raise InvalidParameter("parameters", "of a law that loses more", "those of a law that loses at most epsilon 20")
    return half


class Client(OneOwner):
    """Writes the report of one device to one survey.

    It remembers its first report and returns that one from then on, whatever the answer is by then: a second draw
    would be a second loss. The memory is that of this object, which belongs to one process and is never copied.
    ``curator.device`` keeps a durable book.

    Args:
        document: of the survey.

    """

    def __init__(self, document: Document) -> None:
        super().__init__()
        self._document, self._half = document, half_of(document)
        self._report: Report | None = None

    @property
    def half(self) -> Half:
        """The law by which it reports."""
        return self._half

    def report(self, answer: Any) -> str:
        """Return the report for an answer, as a string; an answer outside of the domain has a cell as well."""
        with self._alone():
            if self._report is None:
                self._report = draw_report(self._document, self._half, answer)
            return self._report.text


def draw_report(document: Document, half: Half, answer: Any, words: Words | None = None) -> Report:
    """Return a fresh report: a new draw, and so a new loss, each time.

    Args:
        document: of the survey.
        half: its client half.
        answer: any object.
        words: random numbers; those of the system without.

    """
    words = system_words() if words is None else words
    nonce = words.take(8 * NONCE_BYTES).to_bytes(NONCE_BYTES, "big")
    fields = half.draw(document.domain.cell(answer), words)
    return Report(document.digest, nonce, packed(fields, half.widths))


def packed(fields: tuple[int, ...], widths: tuple[int, ...]) -> bytes:
    """Return the fields of a payload in whole bytes, the highest bit first, filled up with zero bits.

    >>> packed((5, 1), (3, 2)).hex()
    'a8'
    """
    bits = "".join(f"{field:0{width}b}" for field, width in zip(fields, widths, strict=True) if width)
    octets = octets_of(len(bits))
    return int(bits.ljust(8 * octets, "0"), 2).to_bytes(octets, "big")


def octets_of(size: int) -> int:
    """Return the number of bytes of a payload."""
    return max(1, -(-size // 8))


def scripted(source: Iterable[int]) -> Words:
    """Return scripted random numbers, for vectors that clients in other languages must reproduce."""
    return Words(source)
