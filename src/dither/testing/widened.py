"""Wide instances of classes whose parameters depend on each other, and why some classes have none.

What has many columns, cells or items by one parameter alone is widened by ``sizes``. Here its mechanism and its data, a
few of each, become many by a rule: the one that the class is registered with (``wide``), else one of its own here, else
one for its kind, such as a graph. A class without any is registered with the reason, or named in ``NARROW``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from dither.mechanisms import Dialogue, PublicArray
from dither.mechanisms.core.registry import Made, entry_of
from dither.privacy import Unit
from dither.testing.widened_places import KINDS_OF_PLACES, RULES_OF_PLACES

_CELLS, _ROWS, _POINTS, _STEPS, _SIDE = 16, 300, 64, 32, 8
#: Cells of what takes any number of them, and the side of a square of more than that many.
_MANY, _LONG_SIDE = 512, 32

#: Classes of which no wide instance is made, and the reason.
NARROW: Final = {
    "gaussian-process": "neighbours are functions in the space of a kernel, which its examples compute point by point",
    "parent-child": "its candidates are all small tables of parents and children: their number explodes with cells",
    "query": "its groups are declared categories; what is computed from each is the same for two and for many",
    "partitioned-query": "its parts are queries, one for each declared category",
    "adaptive-parts": "its questions are queries, each of a declared part",
    "report": "its parts are queries, each with the groups that are declared for it",
    "counted-families": "it lifts a method on parents and children, which has no wide instance either",
    "perturbed-table": "it lifts the perturbation of rows, which is widened separately",
    "stability-histogram": "its cells are without number already: any that occurs may be released",
    "point-learner": "its points are without number already: any that occurs may be released",
    "hierarchical-graph": "all trees over its nodes are listed, and their number explodes with nodes",
    "stable-mode": "one key leaves, out of keys without number",
}


def widened(mechanism: Any, data: Any) -> Made | None:
    """Return an instance with many of what an example has few of, or None where there is none."""
    name = type(mechanism).name
    if reason_to_stay_narrow(name) is not None:
        return None
    entry = entry_of(name)
    own = RULES.get(name) if entry is None or entry.wide is None else entry.wide
    if callable(own):
        return own(mechanism, data)
    return next((rule(mechanism, data) for is_one, rule in KINDS if is_one(mechanism, data)), None)


def reason_to_stay_narrow(name: str) -> str | None:
    """Return why no wide instance is made of a class, by its name; None for a class of which one should be made."""
    entry = entry_of(name)
    return entry.wide if entry is not None and isinstance(entry.wide, str) else NARROW.get(name)


def _workload(mechanism: Any, data: Any) -> Made:
    """Return the sums up to each of many cells, measured cell by cell."""
    from dither.publish.workloads.matrices import Identity
    from dither.publish.workloads.workload import Strategy, Workload

    wide = replace(mechanism, workload=Workload.prefixes(_MANY), strategy=Strategy(Identity(_MANY)))
    return (wide, np.resize(data, _MANY))


def _refined(mechanism: Any, data: Any) -> Made:
    """Return four columns, with room for their sub-cells."""
    columns = 4
    rows = np.resize(data, (_POINTS, columns))
    wide = replace(mechanism, lower=[-1] * columns, upper=[1, 8] * (columns // 2), clusters=8, room=2 * _MANY)
    return (wide, rows)


def _two_phases(mechanism: Any, data: Any) -> Made:
    from dither.publish.workloads.workload import Workload

    return (replace(mechanism, workload=Workload.matrix_of(np.eye(_CELLS, dtype=int))), np.resize(data, _CELLS))


def _weighted_marginals(mechanism: Any, data: Any) -> Made:
    from dither.publish.workloads.workload import Strategy, Workload

    shape = (2,) * 5
    workload = Workload.marginals(shape, [(one,) for one in range(5)])
    strategy = Strategy(Workload.marginals(shape, [tuple(range(5))]).matrix)
    return (replace(mechanism, workload=workload, strategy=strategy), data[:, np.arange(5) % data.shape[1]])


def _quantiles(mechanism: Any, data: Any) -> Made:
    """Return many quantiles on many cells."""
    shares = tuple(f"{place}/16" for place in range(17))
    return (replace(mechanism, shares=shares, cells=_MANY), np.resize(np.asarray(data), _ROWS))


def _most_likely(mechanism: Any, data: Any) -> Made:
    tree = mechanism.tree
    levels = (tree.levels[0],) * (_MANY.bit_length())
    wide = replace(mechanism, tree=replace(tree, cells=_MANY, branching=2, levels=levels))
    return (wide, np.resize(data, _MANY))


def _privelet(mechanism: Any, data: Any) -> Made:
    return (replace(mechanism, shape=(_MANY,), axes=(type(mechanism.axes[0])(_MANY),)), np.resize(data, _MANY))


def _priv_tree(mechanism: Any, data: Any) -> Made:
    side = _LONG_SIDE
    return (replace(mechanism, tree=replace(mechanism.tree, side=side)), np.resize(data, (side, side)))


def _naive_bayes(mechanism: Any, data: Any) -> Made:
    columns = len(mechanism.sizes)
    return (
        replace(mechanism, sizes=mechanism.sizes * 40),
        np.column_stack([*[data[:, :columns]] * 40, data[:, columns:]]),
    )


def _objective(mechanism: Any, data: Any) -> Made:
    """Return six columns; noise on a finer grid, as more columns need."""
    finer = replace(mechanism.part, grid=mechanism.part.grid / 16)
    finish = None if mechanism.finish is None else replace(mechanism.finish, grid=mechanism.finish.grid / 16)
    bounds = {side: PublicArray(np.tile(getattr(mechanism, side).values, 3)) for side in ("lower", "upper")}
    wide = replace(mechanism, part=finer, finish=finish, **bounds)
    return (wide, np.column_stack([*[data[:, :2]] * 3, data[:, 2:]]))


def _diffgen(mechanism: Any, data: Any) -> Made:
    """Return each attribute but the class three times."""
    attributes = mechanism.attributes
    others = [place for place, name in enumerate(attributes.names) if name != mechanism.class_attribute]
    last = attributes.names.index(mechanism.class_attribute)
    places = [*others * 3, last]
    names = [f"{attributes.names[place]}{turn}" for turn in range(3) for place in others]
    sizes = tuple(attributes.sizes[place] for place in places)
    wide = type(attributes)((*names, mechanism.class_attribute), sizes)
    return (replace(mechanism, attributes=wide, trees=mechanism.trees * 3), data[:, places])


def _found_bins(mechanism: Any, data: Any) -> Made:
    """Return a column of more values, with two levels of blocks and more bins."""
    names = mechanism.attributes.names
    wide, binned = (type(mechanism.attributes)(names, (2, size)) for size in (_MANY * _CELLS, _STEPS))
    method = replace(mechanism.method, attributes=binned)
    return (replace(mechanism, attributes=wide, method=method), np.resize(data, (_ROWS, 2)) * (1, _SIDE))


def _diffpart(mechanism: Any, data: Any) -> Made:
    """Return a tree of four groups of four items."""
    groups, items = [f"group {one}" for one in range(4)], [f"item {one}" for one in range(16)]
    parents = (-1, *[0] * 4, *[1 + one // 4 for one in range(16)])
    taxonomy = type(mechanism.taxonomy)(("Any", *groups, *items), parents)
    return (replace(mechanism, taxonomy=taxonomy), data[:, np.arange(16) % data.shape[1]])


def _fixed_size(mechanism: Any, data: Any) -> Made:
    return (replace(mechanism, kept=_ROWS // 3, of=_ROWS), np.resize(data, _ROWS))


def _open_points(mechanism: Any, data: Any) -> Made:
    """Return one label for each open point."""
    count = _ROWS if type(mechanism).name == "label-learner" else _POINTS
    points = np.arange(count) % 4
    rows = np.column_stack([points, np.arange(count) // 3 % 2])
    other = rows.copy()
    other[count // 2, 1] ^= 1
    return (replace(mechanism, points=PublicArray(points)), rows, ((rows, other, 1),))


def _functions(mechanism: Any, data: Any) -> Made:
    return (replace(mechanism, points=PublicArray(np.arange(-_SIDE, _SIDE).reshape(-1, 1))), data)


def _concepts(mechanism: Any, data: Any) -> Made:
    return (replace(mechanism, concepts=replace(mechanism.concepts, size=_POINTS)), _labelled(data))


def _thresholds(mechanism: Any, data: Any) -> Made:
    return (replace(mechanism, size=_POINTS), _labelled(data))


def _labelled(data: Any) -> Any:
    """Return more rows, spread over all points."""
    return np.vstack([data, np.column_stack([np.arange(0, _POINTS, 5), np.arange(0, _POINTS, 5) // 30])])


def _blocks(mechanism: Any, data: Any) -> Made:
    if hasattr(mechanism, "blocks"):
        return (replace(mechanism, blocks=_CELLS), data)
    return (replace(mechanism, part=replace(mechanism.part, blocks=_CELLS)), data)


def _candidates(mechanism: Any, data: Any) -> Made:
    return (replace(mechanism, candidates=mechanism.candidates * _SIDE), data, ((0, 1, 1), (5, 4, 1)))


def _keys(mechanism: Any, data: Any) -> Made:
    return (replace(mechanism, max_keys=_CELLS), [*data, tuple(f"key {one}" for one in range(2 * _CELLS))])


def _sparse(mechanism: Any, data: Any) -> Made:
    return (replace(mechanism, cells=1000), [*data, *range(0, 1000, 90)])


def _projection(mechanism: Any, data: Any) -> Made:
    """Return as many records as are projected; in the neighbour, one of them is replaced."""
    rows = np.resize(data, (_STEPS, data.shape[1]))
    other = rows.copy()
    other[_STEPS // 2] = -2.0
    return (replace(mechanism, records=_STEPS), rows, ((rows, other, 1), (other, rows, 1)))


def _steps(mechanism: Any, data: Any, field: str = "steps") -> Made:
    """Return a long stream, and one with an added event."""
    script = tuple(int(one) for one in np.resize(data.script, _STEPS))
    more = (*script[:20], script[20] + 1, *script[21:])
    here, there = Dialogue(None, script), Dialogue(None, more)
    return (replace(mechanism, **{field: _STEPS}), here, ((here, there, 1), (there, here, 1)))


def _windows(mechanism: Any, data: Any) -> Made:
    """Return a long stream of windows, and one with an added event."""
    return _steps(mechanism, data, "blocks")


def _ticked(mechanism: Any, data: Any) -> Made:
    """Return many groups and ticks, and the same with a row more in one group at one tick."""
    from dither.publish.streams.examples import COUNT, clinic_stream, stream_query
    from dither.publish.streams.ticked import plan_stream

    sites = tuple(f"s{number}" for number in range(_CELLS))
    query = stream_query(clinic_stream(persons=False, sites=sites, horizon=_STEPS), COUNT, by_site=True)
    script = tuple(np.resize(one, (_CELLS, 1)) for one in data.script * (_STEPS // len(data.script)))
    more = (*script[:20], script[20] + np.eye(_CELLS, 1, -3, dtype=np.int64), *script[21:])
    here, there = Dialogue(None, script), Dialogue(None, more)
    wide = plan_stream(query, mechanism.loss(1), released=mechanism.released)
    return (wide, here, ((here, there, 1), (there, here, 1)))


def _talk(mechanism: Any, data: Any) -> Made:
    """Return more attributes and cells, and questions about them; in the neighbour there is one row more."""
    from dither.lift.attributes import Attributes

    wide = Attributes.of({"a": _SIDE, "b": 3, "c": 2})
    counts = np.resize(data.data, wide.sizes)
    more = counts.copy()
    more[_SIDE // 2, 1, 0] += 1
    script = tuple(np.resize(question, wide.sizes) for question in data.script)
    here, there = Dialogue(counts, script), Dialogue(more, script)
    return (replace(mechanism, attributes=wide), here, ((here, there, 1), (there, here, 1)))


def _products(mechanism: Any, data: Any) -> Made:
    """Return columns of many values, of which no table is written out; in the neighbour there is one row more."""
    from dither.lift.attributes import Attributes

    sizes = {"a": _SIDE, "b": _CELLS, "c": _POINTS}
    rows = np.resize(data.data, (_SIDE, 3))
    more = np.vstack([rows, [[_SIDE - 1, 1, _POINTS - 1]]])
    script = tuple({name: np.resize(side, sizes[name]) for name, side in one.items()} for one in data.script)
    here, there = Dialogue(rows, script), Dialogue(more, script)
    return (replace(mechanism, attributes=Attributes.of(sizes)), here, ((here, there, 1), (there, here, 1)))


def _distances(mechanism: Any, data: Any) -> Made:
    """Return places on a long line; in the neighbour there is one row more at its end."""
    places = np.arange(_POINTS)
    wide = replace(mechanism, metric=PublicArray(np.abs(places[:, None] - places)))
    counts = np.resize(data.data, _POINTS)
    return (wide, *_one_more(counts, (0, _POINTS - 1, 7, 0)))


def _disjunctions(mechanism: Any, data: Any) -> Made:
    """Return many attributes, and questions about most of them; in the neighbour there is one row less."""
    from dither.lift.attributes import Attributes

    names = tuple(f"a{number}" for number in range(_CELLS))
    wide = replace(mechanism, attributes=Attributes.of(dict.fromkeys(names, 2)))
    rows = np.resize(data.data, (_ROWS, _CELLS))
    script = (names, names[:9], names[3:5], names)
    here, there = Dialogue(rows, script), Dialogue(rows[1:], script)
    return (wide, here, ((here, there, 1), (there, here, 1)))


def _cuts(mechanism: Any, data: Any) -> Made:
    """Return a ring of many nodes; in the neighbour there is one edge more."""
    from dither.lift.attributes import Attributes

    pairs = Attributes.of(dict.fromkeys(mechanism.method.attributes.names, _STEPS))
    wide = replace(mechanism, method=replace(mechanism.method, attributes=pairs))
    ring = [(node, (node + 1) % _STEPS) for node in range(_STEPS)]
    script = tuple(tuple(np.resize(one, _STEPS) for one in question) for question in data.script)
    here, there = Dialogue(ring, script), Dialogue([*ring, (0, _STEPS // 2)], script)
    return (wide, here, ((here, there, 1), (there, here, 1)))


def _minimisers(mechanism: Any, data: Any) -> Made:
    """Return many cells and candidates; in the neighbour there is one row more in the last cell."""
    choice = replace(mechanism.choice, candidates=_SIDE)
    wide = replace(mechanism, cells=_POINTS, candidates=_SIDE, choice=choice)
    script = tuple(PublicArray(np.resize(one.values, (_SIDE, _POINTS))) for one in data.script)
    return (wide, *_one_more(np.resize(data.data, _POINTS), script))


def _published_model(mechanism: Any, data: Any) -> Made:
    """Return many cells, and queries up to each of them."""
    queries = PublicArray(np.tri(_POINTS, dtype=np.int64))
    return (replace(mechanism, shape=(_POINTS,), queries=queries), np.resize(data, _POINTS))


def _one_more(counts: Any, script: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a conversation, and its neighbours with one row more in the last cell."""
    here, there = Dialogue(counts, script), Dialogue(counts + np.eye(len(counts), dtype=np.int64)[-1], script)
    return (here, ((here, there, 1), (there, here, 1)))


def _lifted_talk(mechanism: Any, data: Any) -> Made:
    """Return finer cells of the same columns."""
    from dither.lift.cells import cells_of

    source = cells_of(mechanism.source.dataset, "visits", ("site", "age"), {"age": _CELLS})
    if mechanism.is_product:
        method = replace(mechanism.method, attributes=source.attributes)
        script = tuple(
            {name: np.resize(side, 2 if name == "site" else _CELLS) for name, side in one.items()}
            for one in data.script
        )
        return (replace(mechanism, source=source, method=method), Dialogue(data.data, script))
    wide = type(mechanism).calibrated(mechanism.loss(1), source=source, corrections=1, questions=2)
    return (wide, Dialogue(data.data, tuple(np.resize(question, (2, _CELLS)) for question in data.script)))


def _lifted_questions(mechanism: Any, data: Any) -> Made:
    """Return finer cells of the same column, on a longer line."""
    from dither.lift.cells import cells_of

    source, places = cells_of(mechanism.source.dataset, "visits", "age", _CELLS), np.arange(_CELLS)
    method = replace(mechanism.method, metric=PublicArray(np.abs(places[:, None] - places)))
    return (replace(mechanism, source=source, method=method), Dialogue(data.data, (0, _CELLS - 1)))


def _batches(mechanism: Any, data: Any) -> Made:
    """Return six columns and eight batches, and the same with one row missing."""
    batches = [np.column_stack([*[batch[:, :2]] * 3, batch[:, 2:]]) for batch in data.script]
    script = tuple(batches[number % len(batches)] for number in range(_SIDE))
    fewer = (*script[:3], script[3][1:], *script[4:])
    bounds = {side: PublicArray(np.tile(getattr(mechanism, side).values, 3)) for side in ("lower", "upper")}
    here, there = Dialogue(None, script), Dialogue(None, fewer)
    return (replace(mechanism, batches=_SIDE, **bounds), here, ((here, there, 1), (there, here, 1)))


def _kept_table(mechanism: Any, data: Any) -> Made:
    """Return five further attributes in separate groups."""
    attributes = mechanism.attributes
    names = tuple(f"further{number}" for number in range(5))
    wide = type(attributes)((*attributes.names, *names), (*attributes.sizes, *(3,) * 5))
    rows = np.column_stack([data.data, *[data.data[:, :1]] * 5])
    groups = (*mechanism.groups, names[:3], names[3:])
    return (replace(mechanism, attributes=wide, groups=groups), Dialogue(rows, data.script))


def _properties(mechanism: Any, data: Any) -> Made:
    """Return questions about sixteen points."""
    script = tuple(replace(one, holds=PublicArray(np.resize(one.holds.values, (_CELLS, 2)))) for one in data.script)
    return (replace(mechanism, universe=_CELLS), Dialogue(data.data, script))


def _kernel_conversation(mechanism: Any, data: Any) -> Made:
    """Return six columns and many features, and the same with one row missing."""
    from dither.learn.linear.fourier import public_features

    frequencies, offsets = public_features(6, _POINTS)
    bounds = {side: PublicArray(np.tile(getattr(mechanism, side).values, 3)) for side in ("lower", "upper")}
    rows = np.column_stack([*[data.data[:, :2]] * 3, data.data[:, 2:]])
    script = tuple(tuple(point) * 3 for point in data.script)
    here, there = Dialogue(rows, script), Dialogue(rows[1:], script)
    wide = replace(mechanism, frequencies=frequencies, offsets=offsets, **bounds)
    return (wide, here, ((here, there, 1), (there, here, 1)))


def _images(mechanism: Any, data: Any) -> Made:
    """Return images of six by six pixels, and the same with one image missing."""
    tiled = np.tile(data[:, :4], 9)
    images = np.column_stack([np.vstack([tiled, tiled[:, ::-1]]), np.tile(data[:, 4], 2)])
    bounds = {side: PublicArray(np.tile(getattr(mechanism, side).values, 9)) for side in ("lower", "upper")}
    public = PublicArray(np.tile(mechanism.public.values, 9))
    wide = replace(mechanism, height=6, width=6, public=public, **bounds)
    return (wide, images, ((images, images[1:], 1), (images[1:], images, 1)))


def _lifted(mechanism: Any, data: Any) -> Made:
    """Return one column in many cells."""
    from dither.lift.cells import cells_of

    dataset = mechanism.source.dataset
    fine = cells_of(dataset, dataset.tables[0].name, ("age",), {"age": _POINTS})
    return (replace(mechanism, source=fine, method=replace(mechanism.method, shape=fine.shape)), data)


def _many_groups(mechanism: Any, data: Any) -> Made:
    """Return a stream of many groups that are ranked, and the same with one row more."""
    from dither.publish.streams.examples import COUNT, clinic_stream, stream_query
    from dither.publish.streams.leading import plan_leading
    from dither.publish.streams.ranked import plan_ranked
    from dither.publish.streams.seizable import plan_seizable

    sites = tuple(f"site {number}" for number in range(_POINTS))
    query = stream_query(clinic_stream(persons=False, sites=sites), COUNT, by_site=True)
    plans: dict[str, Callable[..., Any]] = {
        "ranked-answer": plan_ranked,
        "leading-groups": partial(plan_leading, top=3),
        "seizable-answer": plan_seizable,
    }
    wide = plans[mechanism.name](query, mechanism.loss(1))
    tick = np.arange(_POINTS, dtype=np.int64)[:, None] % 7
    more = tick.copy()
    more[_POINTS // 2] += 1
    here, there = Dialogue(None, (tick, tick, tick)), Dialogue(None, (tick, more, tick))
    return (wide, here, ((here, there, 1), (there, here, 1)))


def _graph(mechanism: Any, data: Any) -> Made:
    """Return a graph of many nodes, and the same with an edge or a node more, by what is protected."""
    nodes = 150
    edges = [
        (node, (node + step) % nodes) for node in range(nodes - 1) for step in (1, 2, 5) if node + step < nodes - 1
    ]
    hub = [(node, nodes - 1) for node in range(nodes - 1)]
    more = [*edges, *(hub if mechanism.distance.protects == "node" else hub[:1])]
    return (replace(mechanism, nodes=nodes), edges, ((edges, more, 1), (more, edges, 1)))


def _pairs(mechanism: Any, data: Any) -> Made:
    """Return a graph of many nodes of which few pairs pass."""
    wide, *rest = _graph(replace(mechanism, threshold=8), data)
    return (wide, *rest)


def _weights(mechanism: Any, data: Any) -> Made:
    """Return a ring of many nodes with chords, and the same with another weight."""
    nodes = 100
    rows = [(node, (node + step) % nodes, (node * step) % 9) for node in range(nodes) for step in (1, 2, 5)]
    other = [(0, 1, 8), *rows[1:]]
    return (replace(mechanism, nodes=nodes), rows, ((rows, other, 1), (other, rows, 1)))


def _graph_parts(mechanism: Any, data: Any) -> Made:
    """Return the same for a mechanism whose parts are for a number of nodes as well."""
    parts = tuple(replace(part, nodes=150) for part in mechanism.parts)
    _, *rest = _graph(mechanism.parts[0], data)
    return (replace(mechanism, nodes=150, parts=parts), *rest)


#: How classes with their own rule are widened.
RULES: Final[dict[str, Callable[[Any, Any], Made]]] = {
    **RULES_OF_PLACES,
    **dict.fromkeys(("label-learner", "label-response"), _open_points),
    **dict.fromkeys(("pac-learner", "semi-supervised-learner"), _concepts),
    **dict.fromkeys(("threshold-learner", "threshold-descent"), _thresholds),
    "sliding-window": _windows,
    "ticked-answer": _ticked,
    **dict.fromkeys(("ranked-answer", "leading-groups", "seizable-answer"), _many_groups),
    "lifted-conversation": _lifted_talk,
    "lifted-questions": _lifted_questions,
    "distance-conversation": _distances,
    "disjunction-conversation": _disjunctions,
    "cut-conversation": _cuts,
    "minimising-conversation": _minimisers,
    "published-model": _published_model,
    **dict.fromkeys(("model-first", "iterative-construction"), _talk),
    "product-first": _products,
    **dict.fromkeys(("poisson-sample", "sample-and-aggregate"), _blocks),
    "exponential-quantiles": _quantiles,
    "graph-ratio": _graph_parts,
    **dict.fromkeys(("weighted-length", "spanning-tree-cost"), _weights),
    "top-edges-graph": _pairs,
    "lifted": _lifted,
    "two-phase": _two_phases,
    "refined-clusters": _refined,
    "weighted-marginals": _weighted_marginals,
    "most-likely-histogram": _most_likely,
    "privelet": _privelet,
    "priv-tree": _priv_tree,
    "categorical-naive-bayes": _naive_bayes,
    "objective-perturbation": _objective,
    "diffgen": _diffgen,
    "diffpart": _diffpart,
    "found-bins": _found_bins,
    "fixed-size-sample": _fixed_size,
    "function-release": _functions,
    "repeat-and-select": _candidates,
    "stability-selection": _keys,
    "sparse-histogram": _sparse,
    "random-projection": _projection,
    "prefix-counter": _steps,
    "incremental-regression": _batches,
    "kept-table": _kept_table,
    "image-features": _images,
    "kernel-conversation": _kernel_conversation,
    "statistical-queries": _properties,
}


def _is_graph(mechanism: Any, data: Any) -> bool:
    distance = mechanism.distance
    return hasattr(mechanism, "nodes") and isinstance(distance, Unit) and distance.protects in ("edge", "node")


def _is_workload(mechanism: Any, data: Any) -> bool:
    return hasattr(mechanism, "workload") and hasattr(mechanism, "strategy")


def _is_stream(mechanism: Any, data: Any) -> bool:
    return hasattr(mechanism, "steps") and isinstance(data, Dialogue) and data.data is None


#: How whole kinds of mechanisms are widened that have no rule of their own: a new one of these kinds needs none.
KINDS: Final[tuple[tuple[Callable[[Any, Any], bool], Callable[[Any, Any], Made]], ...]] = (
    *KINDS_OF_PLACES,
    (_is_graph, _graph),
    (_is_workload, _workload),
    (_is_stream, _steps),
)
