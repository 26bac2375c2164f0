"""Verbs of a session for kinds of data that are asked by name: graphs and places."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from dither.curator.offers import graphs
from dither.data.schema import DataSet

if TYPE_CHECKING:
    from dither.curator.graph_answers import GraphAnswers
    from dither.curator.place_answers import PlaceAnswers


class ByKind:
    """What a session adds for data sets that declare a graph or places; a session has the verbs these lead to."""

    dataset: DataSet
    if TYPE_CHECKING:
        graph_answer: Any
        graph_synthesis: Any
        place_counts: Any
        place_stops: Any
        place_journeys: Any

    def graph(self, table: str | None = None) -> GraphAnswers:
        """Release counts and degrees of a declared graph: ``session.graph("friends").triangles(epsilon=1)``.

        Args:
            table: the table of edges; may be left out, as there is one.

        """
        from dither.curator.graph_answers import GraphAnswers

        name = graphs.graph_table(self.dataset, table)
        return GraphAnswers(partial(self.graph_answer, table=name), name, partial(self.graph_synthesis, table=name))

    def places(self, table: str | None = None) -> PlaceAnswers:
        """Release maps of declared places: ``session.places("checkins").heatmap(epsilon=1)``.

        Args:
            table: which declares places; may be left out where there is one.

        """
        from dither.curator.place_answers import PlaceAnswers
        from dither.lift.places import places_table

        found = places_table(self.dataset, table)
        verbs = (self.place_counts, self.place_journeys, self.place_stops)
        counts, journeys, stops = (partial(verb, table=found.name) for verb in verbs)
        return PlaceAnswers(counts, journeys, stops, found)
