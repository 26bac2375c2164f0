"""Names and arguments that verbs had in version 0.1: read for one version, since queued requests and clients hold them.

A request that is read so has the digest that it had, and finds the answer that was stored for it. Version 0.3 goes
without this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.lift.verb import REGISTRY

_COUNTS: Final = ("edges", "triangles", "stars", "k-triangles", "cliques", "clustering", "assortativity")
_DEGREES: Final = ("degrees", "degree-histogram", "degrees-by-node", "degree-sum")
_OTHERS: Final = ("edges-between", "spanning-tree", "path")
#: Verbs that have one for each of what they released, by the former name and what was released.
_SPLIT: Final[Mapping[str, Mapping[str, str]]] = {
    "graph_answer": {what: f"graph.{what.replace('-', '_')}" for what in (*_COUNTS, *_DEGREES, *_OTHERS)},
    "place_counts": {what: f"places.{what}" for what in ("heatmap", "regions", "flows")},
}
#: Verbs that have another name.
_RENAMED: Final = {
    "graph_synthesis": "graph.synthesize",
    "place_journeys": "places.synthesize",
    "place_stops": "places.stops",
}
_WHAT: Final = "what"
#: What an argument said that was as good as absent, beside null; the verb of today may not have it at all.
_USUAL: Final = {"method": "auto", "named": "name"}


def present_names(verb: str) -> tuple[str, ...]:
    """Return the names by which a verb goes today: several, where it was split.

    >>> present_names("place_counts"), present_names("sql")
    (('places.heatmap', 'places.regions', 'places.flows'), ('sql',))
    """
    split = _SPLIT.get(verb)
    return (_RENAMED.get(verb, verb),) if split is None else tuple(split.values())


def present_call(verb: str, written: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return a verb and its arguments, as JSON has them, by the names of today.

    Args:
        verb: by its name of today or of before.
        written: its arguments.

    >>> present_call("graph_answer", {"what": "k-triangles", "k": 2, "start": None, "method": "auto"})
    ('graph.k_triangles', {'k': 2, 'method': 'auto'})

    """
    split = _SPLIT.get(verb)
    if split is None:
        name = _RENAMED.get(verb)
        return (verb, written) if name is None else (name, _known(name, written))
    what = written.get(_WHAT)
    found = split.get(what) if isinstance(what, str) else None
    if found is None:
        raise InvalidParameter(f"words.{_WHAT}", what, f"one of {', '.join(split)}")
    return found, _known(found, {name: value for name, value in written.items() if name != _WHAT})


def _known(name: str, written: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments without those that the verb does not have and that say nothing."""
    verb = REGISTRY[name]
    names = {"table", *(one.name for one in verb.arguments)}
    return {
        one: value
        for one, value in written.items()
        if value is not None and (one in names or one not in _USUAL or value != _USUAL[one])
    }
