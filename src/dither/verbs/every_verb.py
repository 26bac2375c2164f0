"""All groups of verbs together: what a session, its offers and a client have. A new group is a line here."""

from __future__ import annotations

from dither.lift.verb import M
from dither.verbs.anonymous_tables import AnonymousTables
from dither.verbs.answers import Answers
from dither.verbs.count_tables import CountTables
from dither.verbs.found_facts import FoundFacts
from dither.verbs.graphs import Graph
from dither.verbs.models import Models
from dither.verbs.places import Places
from dither.verbs.synthetic_tables import SyntheticTables


class EveryVerb(Answers[M], FoundFacts[M], CountTables[M], SyntheticTables[M], AnonymousTables[M], Models[M]):
    """The verbs of a session: those about its tables, and the groups of what it declares besides."""

    def graph(self, table: str | None = None) -> Graph[M]:
        """Return the verbs about a declared graph: ``session.graph("friends").triangles(epsilon=1)``.

        Args:
            table: the table of edges; may be omitted where there is one.

        """
        return Graph[M](self, table)

    def places(self, table: str | None = None) -> Places[M]:
        """Return the verbs about declared places: ``session.places("checkins").heatmap(epsilon=1)``.

        Args:
            table: the table of places; may be omitted where there is one.

        """
        return Places[M](self, table)
