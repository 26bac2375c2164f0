"""A graph as a picture: communities around a circle, nodes within them. For graphs that anybody may see."""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

import numpy as np

from dither.pages.charts import Line, line_chart
from dither.pages.frame import Axis, Chart, colour_of, filled, lined, words_at
from dither.pages.markup import joined, tag
from dither.pages.page import bullets, figure, note, page
from dither.publish.graphs.simple_graph import Ints
from dither.publish.graphs.synthesis.partition import communities
from dither.publish.queries import QueryResult

#: The nodes and edges that are drawn: those of the largest degrees.
_MOST_NODES: Final = 300
_MOST_EDGES: Final = 2000
_SIDE: Final = 560.0
_TOP: Final = 28.0
#: The angle between nodes of a community that come one after the other, so that they fill a disc evenly.
_TURN: Final = math.pi * (3 - math.sqrt(5))


def graph_picture(title: str, edges: Ints, names: list[str]) -> Chart:
    """Return a graph as points and lines: colours are communities, and sizes degrees.

    Args:
        title: what is shown.
        edges: pairs of numbers of nodes.
        names: of the nodes.

    """
    degrees = np.bincount(edges.ravel(), minlength=len(names)) if len(edges) else np.zeros(len(names), dtype=np.int64)
    kept = np.argsort(-degrees, kind="stable")[:_MOST_NODES]
    kept = kept[degrees[kept] > 0]
    place = np.full(len(names), -1)
    place[kept] = np.arange(len(kept))
    inner = place[edges] if len(edges) else np.zeros((0, 2), dtype=np.int64)
    inner = inner[(inner >= 0).all(axis=1)][:_MOST_EDGES]
    groups = communities(inner, np.ones(len(inner)), len(kept)) if len(kept) else np.zeros(0, dtype=np.int64)
    spots = _spots(groups)
    parts = [words_at(title, 8.0, 18.0, colour="ink", size=13)]
    for one, other in inner.tolist():
        (x1, y1), (x2, y2) = spots[one], spots[other]
        parts.append(lined("axis", x1=x1, y1=y1, x2=x2, y2=y2, stroke_width=0.5, opacity=0.45))
    for node, (x, y) in enumerate(spots):
        name, degree = names[int(kept[node])], int(degrees[kept[node]])
        radius = 2.0 + min(math.sqrt(degree), 6.0)
        said = tag("title", f"{name}: {degree} edges")
        parts.append(filled(colour_of(int(groups[node])), "circle", said, cx=x, cy=y, r=radius))
    many = len(set(groups.tolist()))
    said_all = (
        f"Graph of {len(names)} nodes and {len(edges)} edges. Drawn are the {len(kept)} nodes of the largest degrees "
        f"in {many} communities, and {len(inner)} edges among them."
    )
    return Chart(title, said_all, _SIDE, _SIDE + _TOP, joined(parts))


def _spots(groups: Ints) -> list[tuple[float, float]]:
    """Return a place for each node: communities by size around a circle, each a disc of its nodes."""
    sizes = Counter(groups.tolist()).most_common()
    whole = sum(math.sqrt(size) for _, size in sizes) or 1.0
    middles, done = {}, 0.0
    for name, size in sizes:
        share = math.sqrt(size) / whole
        angle = 2 * math.pi * (done + share / 2)
        far = 0.0 if len(sizes) == 1 else 0.36 * _SIDE
        middles[name] = (_SIDE / 2 + far * math.cos(angle), _TOP + _SIDE / 2 + far * math.sin(angle), share)
        done += share
    seen: Counter[int] = Counter()
    spots = []
    for group in groups.tolist():
        x, y, share = middles[group]
        step = seen[group]
        seen[group] += 1
        radius = min(0.9 * _SIDE * share, 0.13 * _SIDE if len(sizes) > 1 else 0.45 * _SIDE)
        out = radius * math.sqrt((step + 0.5) / dict(sizes)[group])
        spots.append((x + out * math.cos(step * _TURN), y + out * math.sin(step * _TURN)))
    return spots


def synthetic_page(result: QueryResult) -> str:
    """Return a synthetic graph as a page: the graph, its degrees on log scales, and notes on how to read it."""
    names = sorted({str(cell) for row in result.rows for cell in row})
    number = {name: place for place, name in enumerate(names)}
    pairs = [[number[str(cell)] for cell in row] for row in result.rows]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    falling = np.sort(np.bincount(edges.ravel(), minlength=len(names)))[::-1]
    # Nodes of at least each degree that occurs.
    degrees = np.unique(falling)
    at_least = [int((falling >= degree).sum()) for degree in degrees.tolist()]
    tail = line_chart(
        "Nodes of at least a degree",
        [Line("synthetic", degrees.tolist(), at_least)],
        across=Axis("degree", is_log=True),
        up=Axis("nodes", is_log=True),
    )
    return page(
        "Synthetic graph",
        figure(graph_picture("Synthetic graph", edges, names).markup(), "The nodes of the largest degrees."),
        figure(tail.markup()),
        bullets(result.notes),
        note(f"Cost {result.loss}, for {result.unit}; {result.receipt}."),
    )
