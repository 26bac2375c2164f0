"""What an owner has decided about a data set, beside how large its budget is.

All of it is kept in one text with the budget: by which names the data set went, whether only analysts with quotas may
spend, at which stage of its life it is, which edition its rows are, and what releases gave back (``returns``). So
whatever keeps, follows, remembers, restores or replays a budget does the same for these, and a row that was edited is
as little believed.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from dither.curator.ledger.returns import RETURNED
from dither.curator.ledger.terms import GRANTED

_CALLED, _CLOSED, _RETIRED, _EDITION, _SINCE = "called", "closed", "retired", "edition", "since"
_STAGE = "stage"
#: What stands beside the figures of a budget or a quota, in its text.
BESIDE: Final = frozenset([_CALLED, _CLOSED, _RETIRED, _EDITION, _SINCE, _STAGE, RETURNED]) | GRANTED
#: Where a data set may go from each stage of its life. Something is debited at one of them alone.
OPEN: Final = "open"
STAGES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {"draft": (OPEN, "closed"), OPEN: ("paused", "closed"), "paused": (OPEN, "closed"), "closed": ()}
)


@dataclass(frozen=True)
class Standing:
    """How a data set stands.

    Args:
        called: the names that it was given after the one it is registered with, the latest last.
        is_closed: whether only analysts with a quota may spend, and the owner.
        is_retired: whether nothing more is debited to it.
        edition: which edition of its rows is asked, from 1.
        since: the entry that began this edition; 0 for the first.
        stage: "draft", which can be priced; "open"; "paused"; or "closed", for ever. One that is retired is detached:
            its rows are gone.

    """

    called: tuple[str, ...] = ()
    is_closed: bool = False
    is_retired: bool = False
    edition: int = 1
    since: int = 0
    stage: str = OPEN

    def name(self, registered: str) -> str:
        """Return what a data set is called now.

        Args:
            registered: the name that it is registered with.

        """
        return self.called[-1] if self.called else registered


@functools.lru_cache(maxsize=256)
def standing_of(limit: str | None) -> Standing:
    """Return what the text of a budget says beside its figures; raises ValueError where that is nothing sensible.

    >>> standing_of('{"epsilon":"1","kind":"pure","retired":true}').is_retired
    True
    """
    record = {} if limit is None else json.loads(limit)
    called = record.get(_CALLED, [])
    edition, since = record.get(_EDITION, 1), record.get(_SINCE, 0)
    if not (isinstance(called, list) and all(isinstance(name, str) for name in called)):
        raise ValueError
    stage = record.get(_STAGE, OPEN)
    if type(edition) is not int or type(since) is not int or stage not in STAGES:
        raise ValueError
    return Standing(tuple(called), record.get(_CLOSED) is True, record.get(_RETIRED) is True, edition, since, stage)


def beside(limit: str | None) -> dict[str, Any]:
    """Return what the text of a budget says beside its figures, as it stands there."""
    record = {} if limit is None else json.loads(limit)
    return {name: value for name, value in record.items() if name in BESIDE}


def closed(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Return the terms of a data set that only analysts with quotas may spend from."""
    return {**terms, _CLOSED: True}


def renamed(terms: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the terms of a data set that is called otherwise from now on."""
    return {**terms, _CALLED: [*terms.get(_CALLED, []), name]}


def retired(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Return the terms of a data set to which nothing more is debited."""
    return {**terms, _RETIRED: True}


def staged(terms: Mapping[str, Any], stage: str) -> dict[str, Any]:
    """Return the terms of a data set at another stage of its life; open is what is not said."""
    rest = {name: value for name, value in terms.items() if name != _STAGE}
    return rest if stage == OPEN else {**rest, _STAGE: stage}


def renewed(terms: Mapping[str, Any], entry: int) -> dict[str, Any]:
    """Return the terms of a data set whose rows are another edition.

    Args:
        terms: as they were.
        entry: the number of the entry that says so.

    """
    return {**terms, _EDITION: terms.get(_EDITION, 1) + 1, _SINCE: entry}
