"""The protocol document of a survey: all that a client and a server must agree on, as small versioned JSON.

A client and a server are both derived from it alone. Its digest is the first 16 bytes of the SHA-256 of its canonical
text (keys in order, no spaces, UTF-8), and begins every report: a report of another document is dropped.

A report is 16 bytes of digest, 16 random bytes by which a repeated delivery is recognised, and the payload, filled up
with zero bits to whole bytes: one length for all answers. It travels as base64url without padding. Version 1 fixes the
order in which random words are read: first the 16 random bytes (``take(128)``), then the payload, as the client half
of the randomiser states; ``noise.client_words`` says how words become numbers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.local.domains import Domain, domain_of

VERSION: Final = 1
DIGEST_BYTES: Final = 16
NONCE_BYTES: Final = 16
_KIND: Final = "local protocol"
_ENTROPY: Final = "words-32"
_FIELDS: Final = ("dither", "version", "question", "domain", "randomiser", "parameters", "entropy")
_LONGEST_QUESTION: Final = 1000
_MOST_CHARACTERS: Final = 2**24

#: What a randomiser's parameter may be: integers, short words, and tables of integers.
Parameters = Mapping[str, Any]


@dataclass(frozen=True)
class Document:
    """A survey of one question.

    Args:
        question: what people are asked, for people.
        domain: what may be answered.
        randomiser: the name of the law by which an answer becomes a report.
        parameters: of the law.

    """

    question: str
    domain: Domain
    randomiser: str
    parameters: Parameters

    def __post_init__(self) -> None:
        """Refuse a question that cannot be shown."""
        if (
            type(self.question) is not str
            or not 1 <= len(self.question) <= _LONGEST_QUESTION
            or not _shows(self.question)
        ):
            rule = f"one line of 1 to {_LONGEST_QUESTION} characters that show, without control or direction characters"
            raise InvalidParameter("question", self.question, rule)
        if type(self.randomiser) is not str:
            raise InvalidParameter("randomiser", self.randomiser, "the name of a randomiser")

    def record(self) -> dict[str, Any]:
        """Return the document as plain JSON data."""
        return {
            "dither": _KIND,
            "version": VERSION,
            "question": self.question,
            "domain": {"kind": self.domain.kind, **self.domain.record()},
            "randomiser": self.randomiser,
            "parameters": dict(self.parameters),
            "entropy": _ENTROPY,
        }

    @cached_property
    def text(self) -> str:
        """The canonical text, of which the digest is taken."""
        return json.dumps(self.record(), sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @cached_property
    def digest(self) -> bytes:
        """What every report begins with."""
        return hashlib.sha256(self.text.encode("utf-8")).digest()[:DIGEST_BYTES]

    @property
    def identifier(self) -> str:
        """The digest in hexadecimal digits."""
        return self.digest.hex()

    @classmethod
    def parse(cls, text: str | bytes | Mapping[str, Any]) -> Document:
        """Return the document of a JSON text, or of its record; one of another version or with other fields is refused.

        What the parameters must be is checked by the randomiser: ``clients.half_of`` and ``randomiser.randomiser_of``.
        """
        record = _loaded(text)
        for field in _FIELDS:
            if field not in record:
                raise InvalidParameter(field, None, "required in a protocol document")
        for field in record:
            if field not in _FIELDS:
                raise InvalidParameter(
                    str(field), "an unknown field", f"not allowed: the fields are {', '.join(_FIELDS)}"
                )
        expected = {"dither": _KIND, "version": VERSION, "entropy": _ENTROPY}
        for field, only in expected.items():
            if type(record[field]) is not type(only) or record[field] != only:
                raise InvalidParameter(field, record[field], f"{only!r}, which this version of dither reads")
        if type(record["parameters"]) is not dict:
            raise InvalidParameter("parameters", record["parameters"], "an object with the parameters by name")
        return cls(record["question"], domain_of(record["domain"]), record["randomiser"], record["parameters"])


@dataclass(frozen=True)
class Report:
    """One report: whose digest it has, the random bytes that name it, and the payload.

    Args:
        digest: of the document.
        nonce: random bytes that no answer has a part in; a second delivery has the same.
        payload: what the randomiser drew, as a big integer in whole bytes.

    """

    digest: bytes
    nonce: bytes
    payload: bytes

    @property
    def text(self) -> str:
        """The report as it travels.

        >>> Report(bytes(16), bytes(16), b"a").text[-4:]
        'AABh'
        """
        return base64.urlsafe_b64encode(self.digest + self.nonce + self.payload).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str | bytes) -> Report | None:
        """Return the report of a string, or None if it is not one; the server decides whether it fits a document."""
        try:
            plain = (text if isinstance(text, bytes) else text.encode("ascii")).strip()
            whole = base64.b64decode(plain + b"=" * (-len(plain) % 4), altchars=b"-_", validate=True)
        except (ValueError, binascii.Error):
            return None
        head = DIGEST_BYTES + NONCE_BYTES
        found = cls(whole[:DIGEST_BYTES], whole[DIGEST_BYTES:head], whole[head:])
        # One text for each report: spare bits that differ would make two of one.
        return found if len(whole) > head and found.text.encode() == plain else None


def _loaded(text: Any) -> dict[str, Any]:
    if isinstance(text, Mapping):
        # As JSON would have it: a tuple or a number of a class of its own is not what a digest is taken of.
        text = json.dumps(dict(text))
    rule = "a JSON object: the protocol document that 'dither survey new' wrote"
    if not isinstance(text, str | bytes) or len(text) > _MOST_CHARACTERS:
        raise InvalidParameter("document", "something else", rule)
    try:
        record = json.loads(text, parse_float=_refused, parse_constant=_refused, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        record = None
    if type(record) is not dict:
        raise InvalidParameter("document", "no JSON object, numbers that are not integers, or repeated fields", rule)
    return record


def _refused(number: str) -> Any:
    raise ValueError(number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError
    return record


def _shows(text: str) -> bool:
    # Others break a line, turn its direction, show nothing, or have no UTF-8.
    return all(one.isprintable() or unicodedata.category(one) == "Zs" for one in text)
