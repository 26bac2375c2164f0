"""What commands of declared verbs do, in a line each; written by ``python -m tools.commands``."""

# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SUMMARIES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bounds": "Find a range of a numeric column that holds nearly all of its values, to declare or to clamp to.",
        "limits": "Find the smallest limit of rows per person within which a share of people have all their rows.",
        "synthesize": "Make a synthetic table that can be shared: its rows are drawn from a private model of the real ones.",
        "anonymize": "Anonymize a table with noise: generalised values, merged groups of columns, sets of items, or rows at random.",
        "fit": "Learn a private model of a table: linear, logistic, naive Bayes, or another estimator of 'dither.learn'.",
        "graph": "Release a count of a graph, its degrees, clustering or assortativity, or a synthetic graph.",
        "places": "Release a heat map, contour lines, counts by region, flows, stops or journeys of declared places.",
        "histogram": "Publish how many rows fall into each cell of one column or more, each count with its interval.",
        "count": "Count rows to a relative accuracy, for the smallest epsilon at which the released counts show it.",
        "workload": "Publish the answers to many linear queries on the cells of one column or more, for one price.",
        "marginals": "Publish several marginals of one table, which agree with each other.",
    }
)
