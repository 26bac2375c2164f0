"""Offers by verb: what a session would release. Nothing is opened or charged."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final
from weakref import WeakValueDictionary

from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.lift.offer import Offer
from dither.lift.verb import REGISTRY, Priced, Verb
from dither.verbs.conversations import Conversations
from dither.verbs.every_verb import EveryVerb
from dither.verbs.methods import Methods
from dither.verbs.parts import PartAccounts
from dither.verbs.streams import Streams

#: What makes the offers of kinds of data whose unit other verbs do not price.
_OFFERS: Final = {"policy": "dither.verbs.under_policy", "personal": "dither.verbs.personal_rows"}


@dataclass(frozen=True)
class Call:
    """What was asked to make an offer: a verb, and its arguments by name. Another session can make the same of it."""

    verb: str
    arguments: Mapping[str, Any]


class Offers(EveryVerb[Priced], Methods[Priced], Streams[Priced], Conversations[Priced], PartAccounts[Priced]):
    """What a session could release, verb by verb; nothing is opened or charged.

    >>> from dither.data.examples import clinic
    >>> from dither.privacy import ROW
    >>> offer = Offers(clinic(ROW)).histogram("visits", "site", epsilon=1)
    >>> offer.words, str(offer.loss)
    ('histogram of site', 'epsilon = 1')
    """

    def __init__(self, dataset: DataSet) -> None:
        self.dataset = dataset
        self._made: WeakValueDictionary[int, Offer[Any]] = WeakValueDictionary()
        self._calls: dict[int, Call] = {}

    def has_made(self, offer: Offer[Any]) -> bool:
        """Whether an offer is one of these, and not one that a caller put together."""
        return self._made.get(id(offer)) is offer

    def named(self, verb: str, arguments: Mapping[str, Any]) -> Offer[Any]:
        """Return the offer of a verb by its name, as requests name it, such as "graph.triangles".

        Args:
            verb: one of ``dither.lift.verb.REGISTRY``.
            arguments: by name.

        """
        if verb not in REGISTRY:
            raise InvalidParameter("verb", verb, f"one of {', '.join(REGISTRY)}")
        return self._do(REGISTRY[verb], dict(arguments))  # type: ignore[no-any-return]

    def _do(self, verb: Verb[..., Any], arguments: dict[str, Any]) -> Any:
        made: Offer[Any]
        if self.dataset.members > 1:
            from dither.verbs.declared_groups import offer_of_group

            made = offer_of_group(self.dataset, verb, arguments)
        elif self.dataset.own_kind is not None and self.dataset.own_kind.answers_by_offers:
            made = import_module(_OFFERS[self.dataset.own_kind.kind]).offer_of(self.dataset, verb, arguments)
        else:
            made = verb.offer(self.dataset, arguments)
        self._made[id(made)] = made
        self._calls[id(made)] = Call(verb.name, arguments)
        weakref.finalize(made, self._calls.pop, id(made), None)
        return made


def call_of(offers: Offers, offer: Offer[Any]) -> Call:
    """Return what was asked to make an offer.

    Args:
        offers: which made it.
        offer: one of them.

    """
    return offers._calls[id(offer)]
