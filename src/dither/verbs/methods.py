"""Any method over any source: what no other verb has a name for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Unpack

from dither.data import wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter, NotSerialisable
from dither.lift.offer import Offer
from dither.lift.verb import Arg, Group, Keyed, M, verb
from dither.mechanisms import perform
from dither.mechanisms.core.mechanism import Composed, Mechanism, Primitive
from dither.mechanisms.core.spec import digest, from_spec, to_spec

if TYPE_CHECKING:
    pass

_SPEC = {"type": "object", "required": ["spec"]}
Method = Annotated[
    Any, Arg("a registered mechanism on what the source reads, for example Geometric on Cells", schema=_SPEC)
]
Reads = Annotated[
    Any, Arg('what is read of the data set, for example cells_of(dataset, "visits", "site")', schema=_SPEC)
]


class Methods(Group[M]):
    """Any registered method."""

    @verb
    @staticmethod
    def method(dataset: DataSet, method: Method, source: Reads, **terms: Unpack[Keyed]) -> Offer[Any]:
        """Release what a registered mechanism makes of a declared source."""
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
            raise InvalidParameter(
                "method", method.name, f"a mechanism whose release can be stored: {problem}"
            ) from None
        asked = {"source": wire.encode(lifted.source), "method": digest(plain)}
        return Offer(
            "method",
            f"{method.name} of {type(source).__name__}",
            lifted,
            asked,
            lifted.loss(1),
            write_value,
            lambda stored, _: read_value(stored),
            # Of most mechanisms every output loses the same.
            spent=None
            if type(plain).loss_of is Mechanism.loss_of
            else lambda stored: lifted.loss_of(read_value(stored)),
        )
