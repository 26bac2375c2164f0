"""``dither disguise matrix`` and ``network``: rows of numbers that are distorted, edges that get other weights."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli.console import words_of
from dither.cli.disguise import File, check_files
from dither.cli.disguise_tables import told
from dither.cli.options import Force, Json
from dither.cli.outputs import Output, write_whole
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dither.disguise.matrices import MatrixDisguise
    from dither.disguise.networks import NetworkDisguise, Weighted

_Csv = Annotated[Path, typer.Option("--out", "-o", help="Where the numbers go: .csv.")]


def matrix(
    file: File,
    out: _Csv,
    method: Annotated[str, typer.Option(help="rotation, noise, ranks, wavelets, factors or frequencies.")],
    columns: Annotated[str | None, typer.Option(help="Columns of numbers; all, if not given.")] = None,
    blur: Annotated[float, typer.Option(help="For rotation, noise: the deviation of what is added.", min=0)] = 0.0,
    kept: Annotated[
        int | None, typer.Option(help="For rotation, ranks, factors: how many directions, ranks or factors are kept.")
    ] = None,
    share: Annotated[float, typer.Option(help="For wavelets: the threshold; for frequencies: the share kept.")] = 0.5,
    bases: Annotated[str, typer.Option(help="For wavelets: names of bases, one for each block of columns.")] = "haar",
    restore: Annotated[bool, typer.Option("--restore", help="Give back true means and deviations.")] = False,
    known: Annotated[
        int | None, typer.Option(help="Say what somebody gets who knows this number of rows, drawn at random.", min=1)
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Distort rows of numbers, and say what known rows undo. NO formal guarantee."""
    import numpy as np

    from dither.attack.matrices import undone
    from dither.disguise import Table
    from dither.disguise.matrices import Restored
    from dither.disguise.microaggregation import numbers_of
    from dither.estimate.public_randomness import public_generator

    check_files(file, [Output("out", out, (".csv",))], force=force)
    table = Table.read(file)
    names = words_of(columns) or table.names
    values = np.column_stack([numbers_of(table, name) for name in names])
    by = _distortion(method, kept, blur, share, words_of(bases) or ())
    made = (Restored(by) if restore else by).apply(values)
    figures, more = [], {}
    if known is not None:
        places = public_generator().permutation(len(values))[:known]
        found = undone(values, made.values, places.tolist())
        more["undone"] = found.to_dict()
        figures += [
            f"who knows {found.known} rows tells the others to within {found.known_set:.2%} in the median",
            f"{found.angle_pairs:.1%} of the angles between rows are known to within two degrees",
        ]
    if made.distortion is not None:
        figures += [f"{name}: {figure:.4g}" for name, figure in made.distortion.to_dict().items()]
    shown = names if made.values.shape[1] == len(names) else [f"c{at + 1}" for at in range(made.values.shape[1])]
    path = write_whole(out, lambda target: _write(target, shown, made.values.tolist()))
    told(made, {"numbers": path}, figures, as_json=as_json, more=more)


def _distortion(method: str, kept: int | None, blur: float, share: float, bases: tuple[str, ...]) -> MatrixDisguise:
    from dither.disguise.matrices import FewFactors, FewFrequencies, FewRanks, Perturbed, Wavelets

    if method in ("ranks", "factors") and kept is None:
        raise InvalidParameter("kept", kept, f"given with {method}")
    if kept is not None and method not in ("ranks", "factors", "rotation"):
        raise InvalidParameter("kept", kept, f"left out with {method}")
    if blur and method not in ("rotation", "noise"):
        raise InvalidParameter("blur", blur, f"left out with {method}")
    if method == "noise" and not blur:
        raise InvalidParameter("blur", blur, "above 0 with noise")
    made: dict[str, Callable[[], MatrixDisguise]] = {
        "rotation": lambda: Perturbed(blur=blur, columns=kept),
        "noise": lambda: Perturbed(blur=blur, rotate=False),
        "ranks": lambda: FewRanks(kept or 1),
        "factors": lambda: FewFactors(kept or 1),
        "wavelets": lambda: Wavelets(share, bases),
        "frequencies": lambda: FewFrequencies(share),
    }
    if method not in made:
        raise InvalidParameter("method", method, f"one of {', '.join(made)}")
    return made[method]()


def network(
    file: File,
    out: _Csv,
    method: Annotated[str, typer.Option(help="scaled, paths (chosen shortest paths stay) or alike.")],
    ends: Annotated[str, typer.Option(help="The two columns of nodes.")] = "from,to",
    weight: Annotated[str, typer.Option(help="The column of weights.")] = "weight",
    directed: Annotated[bool, typer.Option("--directed", help="Edges lead from the first node to the second.")] = False,
    sigma: Annotated[float, typer.Option(help="For scaled: the deviation of a draw.")] = 0.15,
    reach: Annotated[float, typer.Option(help="For paths: the greatest change, as a share of a weight.")] = 0.5,
    pairs: Annotated[
        Path | None,
        typer.Option(help="For paths, alike: pairs of nodes whose shortest path stays, two columns of a .csv."),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="For alike: edges of a node that look alike, at least.")] = None,
    mu: Annotated[float | None, typer.Option(help="For alike: how near their weights are.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Change the weights of a network's edges, and say what stays. NO formal guarantee."""
    from dither.disguise import Table
    from dither.disguise.microaggregation import numbers_of

    check_files(file, [Output("out", out, (".csv",))], force=force)
    table = Table.read(file)
    columns = words_of(ends) or ()
    if len(columns) != 2:
        raise InvalidParameter("ends", ends, "two columns, with a comma between")
    cells = [table[name].cells() for name in columns]
    for name, some in zip(columns, cells, strict=True):
        if None in some:
            raise InvalidParameter(name, f"nothing in row {some.index(None) + 1}", "a node in every row")
    # Nodes are numbered as they come.
    nodes = {
        node: number
        for number, node in enumerate(dict.fromkeys(one for pair in zip(*cells, strict=True) for one in pair))
    }
    weights = numbers_of(table, weight)
    if method == "alike" and not directed:
        raise InvalidParameter("directed", directed, "given with alike, which compares the edges that leave a node")
    by = _reweighing(method, _chosen(pairs, nodes, method), sigma, reach, k, mu)
    graph = _graph(nodes, cells, weights.tolist(), directed=directed)
    try:
        made = by.apply(graph)
    except InvalidParameter as failure:
        pair = failure.offender
        if failure.parameter != "pairs" or not isinstance(pair, tuple):
            raise
        by_number = list(nodes)
        raise InvalidParameter("pairs", tuple(by_number[node] for node in pair), failure.rule) from None
    rows = [(*pair, one) for pair, one in zip(zip(*cells, strict=True), made.graph.weights.tolist(), strict=True)]
    path = write_whole(out, lambda target: _write(target, (*columns, weight), rows))
    told(made, {"edges": path}, [f"{name}: {figure:.4g}" for name, figure in made.measured], as_json=as_json)


def _graph(nodes: dict[Any, int], cells: Sequence[Sequence[Any]], weights: list[float], *, directed: bool) -> Weighted:
    from dither.disguise.networks import Weighted

    seen: set[Any] = set()
    for number, (first, last, one) in enumerate(zip(*cells, weights, strict=True), start=1):
        if not one > 0:
            raise InvalidParameter(f"weight of row {number}", one, f"above zero, between {first} and {last}")
        if first == last:
            raise InvalidParameter(f"row {number}", first, "an edge between two different nodes")
        pair = (first, last) if directed else frozenset((first, last))
        if pair in seen:
            raise InvalidParameter(f"row {number}", f"{first}, {last}", "an edge that is listed once")
        seen.add(pair)
    edges = [(nodes[first], nodes[last], one) for first, last, one in zip(*cells, weights, strict=True)]
    return Weighted.of(edges, nodes=len(nodes), directed=directed)


def _chosen(pairs: Path | None, nodes: dict[Any, int], method: str) -> tuple[tuple[int, int], ...]:
    """Return the chosen pairs of nodes by their numbers."""
    from dither.disguise import Table

    if pairs is None:
        return ()
    if method not in ("paths", "alike"):
        raise InvalidParameter("pairs", str(pairs), f"left out with {method}")
    table = Table.read(pairs)
    if len(table.names) != 2:
        raise InvalidParameter("pairs", list(table.names), "a file of two columns")
    found = list(zip(*table.columns().values(), strict=True))
    for pair in found:
        if pair[0] == pair[1]:
            raise InvalidParameter("pairs", pair, "of two different nodes")
        for node in pair:
            if node not in nodes:
                raise InvalidParameter("pairs", node, "nodes of the network")
    return tuple((nodes[first], nodes[last]) for first, last in found)


def _reweighing(
    method: str, pairs: tuple[tuple[int, int], ...], sigma: float, reach: float, k: int | None, mu: float | None
) -> NetworkDisguise:
    from dither.disguise.networks import AlikeWeights, KeptPaths, ScaledWeights

    if method == "alike":
        if k is None or mu is None:
            raise InvalidParameter("k" if k is None else "mu", None, "given with alike")
        return AlikeWeights(k, mu, pairs)
    if k is not None or mu is not None:
        raise InvalidParameter("k" if k is not None else "mu", k if k is not None else mu, f"left out with {method}")
    if method == "paths":
        return KeptPaths(pairs, reach)
    if method == "scaled":
        return ScaledWeights(sigma)
    raise InvalidParameter("method", method, "one of scaled, paths, alike")


def _write(target: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(names)
        writer.writerows(rows)
