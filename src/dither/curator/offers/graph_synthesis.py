"""Synthetic graphs: edges that anybody may have, drawn from released numbers about a declared graph."""

from __future__ import annotations

from typing import Any

from dither.curator.offers.graphs import graph_table, node_labels
from dither.data import wire
from dither.data.schema import DataSet
from dither.exact import Number, whole
from dither.lift.offer import Offer
from dither.lift.stored import LARGEST_ANSWER
from dither.privacy import Loss, stated_loss
from dither.publish.queries import QueryResult

#: Bytes of a stored edge beside its two names, of a letter of a name, and of what stands around all edges.
_EDGE, _LETTER, _HEAD = 64, 12, 2**16
_NUMBER = 20


def graph_synthesis(
    dataset: DataSet,
    table: str | None = None,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
    method: str = "auto",
    most: int | None = None,
    key: str | None = None,
) -> Offer[QueryResult]:
    """Offer a synthetic graph: a table of edges on the declared nodes.

    Args:
        dataset: the schema, whose unit is an edge.
        table: the table of edges; may be left out, as there is one.
        epsilon: what the release may lose, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        method: "clustered", "top-edges", "joint-degrees", "communities", "degrees", "densities", "kronecker",
            "hierarchy", or "auto"
            for the one that comes closest, by public facts.
        most: the most synthetic edges, where fewer than the schema allows are wanted.
        key: the caller's name for this request; with the same key a retry returns the stored answer at no cost.

    """
    from dither.lift.edges import Edges
    from dither.publish.graphs.synthesis.planning import plan_synthesis, present_synthesis

    stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    source = Edges(dataset, graph_table(dataset, table))
    # What a ledger stores is limited, and with it the synthetic edges: by public facts.
    longest = max((len(name) for name in node_labels(source) if isinstance(name, str)), default=_NUMBER)
    limit = (LARGEST_ANSWER - _HEAD) // (_EDGE + 2 * _LETTER * longest)
    wanted = limit if most is None else min(whole("most", most, least=1), limit)
    made = plan_synthesis(source, stated, method=method, most=wanted)
    asked: dict[str, Any] = {"source": wire.encode(source), "method": method, "most": most}

    def present(out: Any) -> bytes:
        from fractions import Fraction

        shown = present_synthesis(made, out, confidence=Fraction(19, 20), labels=lambda: node_labels(source))
        return shown.within(LARGEST_ANSWER).to_json().encode()

    words = f"a synthetic graph like {source.table}"
    expected = "not known before: how near a synthetic graph comes follows from the private one"
    return Offer("graph", words, made, asked, stated, present, QueryResult.stored, key, expected=expected)
