"""Any method over any source: what no other verb has a name for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter, NotSerialisable
from dither.lift.offer import Offer
from dither.mechanisms import perform
from dither.mechanisms.core.mechanism import Composed, Mechanism, Primitive
from dither.mechanisms.core.spec import digest, from_spec, to_spec

if TYPE_CHECKING:
    from dither.lift.source import Source


def method(dataset: DataSet, method: Mechanism[Any, Any], source: Source[Any], *, key: str | None = None) -> Offer[Any]:
    """Offer what a registered mechanism makes of a declared source.

    Args:
        dataset: the schema.
        method: a registered mechanism on what the source reads, such as ``Geometric`` on ``Cells``.
        source: what is read of the data set, such as ``cells_of(dataset, "visits", "site")``.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.

    """
    from dither.data.reference import ReferenceEngine
    from dither.lift.lifted import Lifted
    from dither.lift.source import Source
    from dither.lift.stored import check_length, read_value, write_value
    from dither.lift.trusted import checked_mechanism

    if not isinstance(source, Source) or source.dataset != dataset:
        raise InvalidParameter("source", source, f"a Source over {dataset.name} as it is declared now")
    if not isinstance(method, Primitive | Composed):
        raise InvalidParameter("method", method, "a registered primitive or composed mechanism")
    checked_mechanism(method)
    # Made anew of what is written down: a record of a class of its own inside of them stays behind.
    plain: Any = from_spec(to_spec(method))
    lifted = Lifted(source=wire.decode(wire.encode(source)), method=plain)
    # On no rows at all, which tells nothing: what cannot be stored is refused before it costs anything.
    empty = ReferenceEngine(dataset, {table.name: [] for table in dataset.tables})
    try:
        # What has a public shape is as long with rows as without.
        check_length("method", 1, len(write_value(perform(lifted, empty))))
    except NotSerialisable as problem:
        raise InvalidParameter("method", method.name, f"a mechanism whose release can be stored: {problem}") from None
    asked = {"source": wire.encode(lifted.source), "method": digest(plain)}
    return Offer(
        "method",
        f"{method.name} of {type(source).__name__}",
        lifted,
        asked,
        lifted.loss(1),
        write_value,
        lambda stored, _: read_value(stored),
        key,
        # Of most mechanisms every output loses the same.
        spent=None if type(plain).loss_of is Mechanism.loss_of else lambda stored: lifted.loss_of(read_value(stored)),
    )
