"""A request: everything that decides what will be released, and nothing that was released.

Its digest tells a retry from another request: the same key with another digest is refused. It does not contain the
version of any algorithm, so that an honest retry after an upgrade still finds its answer.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dither.curator.ledger.interface import LONGEST_DESCRIPTION
from dither.errors import InvalidParameter
from dither.privacy import Loss

_VERSION: Final = 1
#: How much of a long description is kept.
_HEAD: Final = 2000
_AFTER_LOSS: Final = ("verb", "version")


@dataclass(frozen=True)
class Request:
    """What is asked of a data set, in plain public data.

    Args:
        dataset: its name.
        verb: what kind of release, such as "query".
        asked: the parameters, as plain JSON data.
        loss: what it may lose.
        description: for people: the SQL text, if there is one.

    """

    dataset: str
    verb: str
    asked: Mapping[str, Any]
    loss: Loss
    description: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.description, str):
            raise InvalidParameter("description", self.description, "a string")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        record = {"version": _VERSION, "dataset": self.dataset, "verb": self.verb}
        return {**record, "asked": dict(self.asked), "loss": self.loss.to_dict()}

    @property
    def summary(self) -> str:
        """The description as a ledger can keep it: a long one is its beginning, its length and its SHA-256.

        >>> from dither.privacy import PureDP
        >>> Request("visits", "query", {}, PureDP(1), "SELECT " + "1" * 30_000).summary[-90:-64]
        '30007 characters, SHA-256 '
        """
        text = self.description.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
        if len(text) <= LONGEST_DESCRIPTION:
            return text
        whole = hashlib.sha256(self.description.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{text[:_HEAD]} ... {len(self.description)} characters, SHA-256 {whole}"

    @functools.cached_property
    def digest(self) -> str:
        """The SHA-256 of the canonical JSON.

        >>> from dither.privacy import PureDP
        >>> Request("visits", "query", {"sql": "a"}, PureDP(1)).digest == Request(
        ...     "visits", "query", {"sql": "b"}, PureDP(1)).digest
        False
        """
        return _digest(self.to_dict())

    @functools.cached_property
    def question(self) -> str:
        """The digest of what is asked, whatever it may lose.

        >>> from dither.privacy import PureDP
        >>> Request("visits", "query", {"sql": "a"}, PureDP(1)).question == Request(
        ...     "visits", "query", {"sql": "a"}, PureDP(2)).question
        True
        """
        record = self.to_dict()
        del record["loss"]
        return _digest(record)

    def digests_at(self, losses: Iterable[str]) -> set[str]:
        """Return the digests that the same question has at other losses, sooner than requests for each would.

        Args:
            losses: as ``written_loss`` writes them.

        >>> from dataclasses import replace
        >>> from dither.privacy import PureDP
        >>> one = Request("visits", "query", {"sql": "a"}, PureDP(1))
        >>> one.digests_at([written_loss(PureDP(2))]) == {replace(one, loss=PureDP(2)).digest}
        True

        """
        record = self.to_dict()
        # The keys of canonical JSON are sorted: the loss stands between these.
        before, after = (_text({key: record[key] for key in part}) for part in (("asked", "dataset"), _AFTER_LOSS))
        begun = hashlib.sha256(f'{before[:-1]},"loss":'.encode())
        found = set()
        for loss in losses:
            whole = begun.copy()
            whole.update(f"{loss},{after[1:]}".encode())
            found.add(whole.hexdigest())
        return found


def written_loss(loss: Loss) -> str:
    """Return a loss as the digest of a request has it."""
    return _text(loss.to_dict())


def _digest(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(record).encode()).hexdigest()


def _text(record: Mapping[str, Any]) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
