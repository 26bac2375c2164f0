"""A query whose clamps are found first: what is released in turn, for one price.

The loss of the query is debited before the first range is found, so that whoever has paid for ranges gets the answer
that they are for. Each release has an entry of its own in the ledger, which adds the losses up as it does for any
requests of which one is chosen after another. Everything here is made of public facts and of released ranges.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dither.data.schema import DataSet
from dither.errors import DitherError, Unanswerable
from dither.exact import Number, probability
from dither.lift.offer import Offer
from dither.lift.verb import LEVEL, LOSSES, REGISTRY, loss_of
from dither.privacy import Loss, compose
from dither.publish.queries import QueryResult
from dither.publish.queries.finding import FoundBounds
from dither.publish.queries.found_clamps import FoundClamps, split_loss
from dither.publish.queries.result import UNLEDGERED


@dataclass(frozen=True)
class InTurn:
    """The releases of a query with ``CLAMP(x, AUTO)``.

    Args:
        clamps: which are found.
        finding: the ranges, one offer each.
        make: makes the offer of the query with its clamps filled in.
        asking: what the query may lose.
        stated: what all of it may lose.
        asked: the parameters of the whole, as plain JSON data: the same for each retry, whatever is found.
        key: the name of the whole, and of the query among its releases.

    """

    clamps: FoundClamps
    finding: tuple[Offer[FoundBounds], ...]
    make: Callable[[str], Offer[QueryResult]]
    asking: Loss
    stated: Loss
    asked: Mapping[str, Any]
    key: str

    @classmethod
    def of(
        cls,
        dataset: DataSet,
        clamps: FoundClamps,
        how: Mapping[str, Any],
        *,
        auto_share: Number,
        key: str | None = None,
        confidence: Number = LEVEL,
    ) -> InTurn:
        """Plan all releases, and refuse what can be refused without the data.

        Args:
            dataset: the schema.
            clamps: of a query.
            how: the loss and the options of the query.
            auto_share: the share of the loss that finds the ranges.
            key: the caller's name for the request.
            confidence: the level of the intervals.

        """
        said: Any = {name: how.get(name) for name in LOSSES}
        stated = loss_of(said)
        each, asking = split_loss(stated, auto_share, len(clamps.places))
        name = uuid.uuid4().hex if key is None else key
        options = {option: value for option, value in how.items() if option not in LOSSES}

        def make(text: str) -> Offer[QueryResult]:
            arguments = {"text": text, "loss": asking, "key": name, "confidence": confidence, **options}
            made = REGISTRY["sql"].offer(dataset, arguments)
            return replace(made, words=clamps.text)

        bounds = REGISTRY["bounds"]
        finding = tuple(
            bounds.offer(dataset, {"table": table, "column": column, "loss": each, "key": _key(name, table, column)})
            for table, column in clamps.places
        )
        # With clamps that are public: what is wrong with the query is found before anything costs something.
        clamps, trial = _askable(clamps, make)
        asked = {**trial.asked, "auto": [list(place) for place in clamps.places]}
        asked["auto_share"] = str(probability("auto_share", auto_share))
        return cls(clamps, finding, make, asking, stated, asked, name)

    @property
    def planned(self) -> list[Offer[Any]]:
        """All releases, the query with ranges that stand for those to be found."""
        return [*self.finding, self.trial]

    @property
    def trial(self) -> Offer[QueryResult]:
        """The query with its public clamps: as it is checked before, and never released."""
        return self.make(self.clamps.filled(self.clamps.usual))

    @property
    def loss(self) -> Loss:
        """What all releases lose together, at most."""
        return compose([*(offer.loss for offer in self.finding), self.asking])

    @property
    def words(self) -> str:
        """What would be released, for people."""
        columns = ", ".join(column for _, column in self.clamps.places)
        return f"the range of {columns}, for {self.finding[0].loss} each, and then the query, for {self.asking},"

    def after(self, found: Sequence[FoundBounds]) -> tuple[Offer[QueryResult], Callable[[Any], bytes]]:
        """Return the query with the ranges that were released, and how its answer is stored: with what was found.

        All of it is paid for by now. So where the query cannot be asked with these ranges, because a condition can
        never be true within them or a key has too many values, it is asked with the clamps that it was checked with.

        Args:
            found: of each column, in their order.

        """
        told = {place: self.clamps.range_of(place, one) for place, one in zip(self.clamps.places, found, strict=True)}
        try:
            offer = self.make(self.clamps.filled({place: ends for place, (ends, _) in told.items()}))
        except DitherError:
            offer = self.trial
            told = {place: self.clamps.unused(place, ends) for place, (ends, _) in told.items()}

        def present(out: Any) -> bytes:
            shown = QueryResult.stored(offer.present(out), UNLEDGERED)
            return replace(shown, notes=(*shown.notes, *(said for _, said in told.values()))).to_stored().encode()

        return offer, present


def _askable(clamps: FoundClamps, make: Callable[[str], Offer[QueryResult]]) -> tuple[FoundClamps, Offer[QueryResult]]:
    """Return the first of the clamps with which the query can be asked, and its offer; else the first refusal."""
    refused: DitherError | None = None
    for wider in clamps.widened():
        try:
            return wider, make(wider.filled(wider.usual))
        except Unanswerable as error:
            refused = refused or error
    raise refused or Unanswerable("the query is not supported with any clamp", "write CLAMP(x, low, high)")


def _key(name: str, table: str, column: str) -> str:
    """Return the key of a range among the releases of a request: the same for each retry."""
    return f"auto-{hashlib.sha256(repr((name, table, column)).encode('utf-8', 'backslashreplace')).hexdigest()}"
