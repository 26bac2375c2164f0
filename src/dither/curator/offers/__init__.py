"""Offers by verb: what each verb of a session would release, made of words, the schema and nothing else.

A function for each verb, from the data set and the caller's words to an ``Offer``. Planning itself is done in the rooms
that publish and learn.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakValueDictionary

from dither.curator.offers import (
    anonymous_tables,
    answers,
    conversations,
    count_tables,
    found_facts,
    graph_synthesis,
    graphs,
    methods,
    models,
    parts,
    places,
    streams,
    synthetic_tables,
)
from dither.curator.offers.signatures import check_arguments, without_dataset
from dither.data.schema import DataSet
from dither.lift.offer import Offer

P = ParamSpec("P")
T = TypeVar("T")


def _offered(make: Callable[Concatenate[DataSet, P], Offer[T]]) -> Callable[Concatenate[Offers, P], Offer[T]]:
    @wraps(make)
    def offer(self: Offers, /, *words: P.args, **options: P.kwargs) -> Offer[T]:
        check_arguments(make, words, options)
        made = make(self.dataset, *words, **options)
        self._made[id(made)] = made
        self._calls[id(made)] = Call.of(make, words, options)
        weakref.finalize(made, self._calls.pop, id(made), None)
        return made

    return without_dataset(offer, make)


@dataclass(frozen=True)
class Call:
    """What was asked to make an offer: the verb, and its words by name. Another session can make the same of it."""

    verb: str
    words: Mapping[str, Any]

    @classmethod
    def of(cls, make: Callable[..., Any], words: Sequence[Any], options: Mapping[str, Any]) -> Call:
        """Return the call of a function that takes the data set first."""
        bound = inspect.signature(make).bind(None, *words, **options).arguments
        return cls(make.__name__, dict(list(bound.items())[1:]))


class Offers:
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

    sql = _offered(answers.sql)
    ask = _offered(answers.ask)
    ask_parts = _offered(answers.ask_parts)
    bounds = _offered(found_facts.bounds)
    limits = _offered(found_facts.limits)
    histogram = _offered(count_tables.histogram)
    count = _offered(count_tables.count)
    workload = _offered(count_tables.workload)
    marginals = _offered(count_tables.marginals)
    synthesize = _offered(synthetic_tables.synthesize)
    synthesize_families = _offered(synthetic_tables.synthesize_families)
    anonymize = _offered(anonymous_tables.anonymize)
    ask_kept = _offered(anonymous_tables.ask_kept)
    fit = _offered(models.fit)
    stream = _offered(streams.stream)
    conversation = _offered(conversations.conversation)
    parts = _offered(parts.parts)
    graph_answer = _offered(graphs.graph_answer)
    graph_synthesis = _offered(graph_synthesis.graph_synthesis)
    place_counts = _offered(places.place_counts)
    place_journeys = _offered(places.place_journeys)
    place_stops = _offered(places.place_stops)
    method = _offered(methods.method)


def call_of(offers: Offers, offer: Offer[Any]) -> Call:
    """Return what was asked to make an offer.

    Args:
        offers: which made it.
        offer: one of them.

    """
    return offers._calls[id(offer)]
