"""``dither disguise matrix``, ``network`` and ``walks``: numbers that are distorted, edges that get other weights."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli.console import print_json, say, words_of
from dither.cli.disguise import File, check_files
from dither.cli.disguise_tables import told
from dither.cli.options import Force, Json
from dither.cli.outputs import Output, write_whole
from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.disguise.matrices import MatrixDisguise
    from dither.disguise.networks import NetworkDisguise, Weighted

_Csv = Annotated[Path, typer.Option("--out", "-o", help="Where the numbers go: .csv.")]


def matrix(
    file: File,
    out: _Csv,
    method: Annotated[str, typer.Option(help="rotation, noise, ranks, wavelets, factors or frequencies.")],
    columns: Annotated[str | None, typer.Option(help="Columns of numbers; all, if not given.")] = None,
    blur: Annotated[
        float | None, typer.Option(help="For rotation, noise: the deviation of what is added.", min=0)
    ] = None,
    kept: Annotated[
        int | None,
        typer.Option(help="For rotation, ranks, factors: the number of directions, ranks or factors to keep.", min=1),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(help="For wavelets: the threshold; for frequencies: the share to keep. [default: 0.5]"),
    ] = None,
    bases: Annotated[
        str | None, typer.Option(help="For wavelets: names of bases, one for each block of columns; else haar.")
    ] = None,
    restore: Annotated[bool, typer.Option("--restore", help="Give back true means and deviations.")] = False,
    known: Annotated[int | None, typer.Option(help="Attack with this many known rows, drawn at random.", min=1)] = None,
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
    if known is not None and known >= len(values):
        raise InvalidParameter("known", known, f"fewer than the {len(values)} rows")
    by = _distortion(method, {"kept": kept, "blur": blur, "share": share, "bases": words_of(bases)})
    made = (Restored(by) if restore else by).apply(values)
    figures, more = [], {}
    if known is not None:
        places = public_generator().permutation(len(values))[:known]
        found = undone(values, made.values, places.tolist())
        more["undone"] = found.to_dict()
        figures += [
            f"anyone who knows {found.known} rows knows the others to within {found.known_set:.2%} in the median",
            f"{found.angle_pairs:.1%} of the angles between rows are known to within two degrees",
        ]
    if made.distortion is not None:
        figures += [f"{name}: {figure:.4g}" for name, figure in made.distortion.to_dict().items()]
    shown = names if made.values.shape[1] == len(names) else [f"c{at + 1}" for at in range(made.values.shape[1])]
    path = write_whole(out, lambda target: _write(target, shown, made.values.tolist()))
    told(made, {"numbers": path}, figures, as_json=as_json, more=more)


def _distortion(method: str, typed: Mapping[str, Any]) -> MatrixDisguise:
    from dither.disguise.matrices import FewFactors, FewFrequencies, FewRanks, Perturbed, Wavelets

    given = _taken(
        method,
        {
            "rotation": ("blur", "kept"),
            "noise": ("blur",),
            "ranks": ("kept",),
            "factors": ("kept",),
            "wavelets": ("share", "bases"),
            "frequencies": ("share",),
        },
        typed,
    )
    kept, share = given.get("kept"), given.get("share", 0.5)
    if method in ("ranks", "factors") and kept is None:
        raise InvalidParameter("kept", kept, f"required with {method}")
    if method == "noise" and not given.get("blur"):
        raise InvalidParameter("blur", given.get("blur"), "above 0 with noise")
    made: dict[str, Callable[[], MatrixDisguise]] = {
        "rotation": lambda: Perturbed(blur=given.get("blur", 0.0), columns=kept),
        "noise": lambda: Perturbed(blur=given["blur"], rotate=False),
        "ranks": lambda: FewRanks(given["kept"]),
        "factors": lambda: FewFactors(given["kept"]),
        "wavelets": lambda: Wavelets(share, given.get("bases", ("haar",))),
        "frequencies": lambda: FewFrequencies(share),
    }
    return made[method]()


def _taken(method: str, known: Mapping[str, Sequence[str]], typed: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, if the method takes all of them.

    Args:
        method: its name.
        known: the options that each method takes.
        typed: all options; None for those that were not given.

    """
    if method not in known:
        raise InvalidParameter("method", method, f"one of {', '.join(known)}")
    given = {name: value for name, value in typed.items() if value is not None}
    for name, value in given.items():
        if name not in known[method]:
            raise InvalidParameter(name, value, f"not allowed with {method}")
    return given


_Ends = Annotated[str, typer.Option(help="The two columns of nodes.")]
_Weight = Annotated[str, typer.Option(help="The column of weights.")]
_Directed = Annotated[bool, typer.Option("--directed", help="Edges lead from the first node to the second.")]


def network(
    file: File,
    out: _Csv,
    method: Annotated[str, typer.Option(help="scaled, paths (chosen shortest paths stay) or alike.")],
    ends: _Ends = "from,to",
    weight: _Weight = "weight",
    directed: _Directed = False,
    sigma: Annotated[float | None, typer.Option(help="For scaled: the deviation of a draw; else 0.15.")] = None,
    reach: Annotated[
        float | None, typer.Option(help="For paths: the greatest change, as a share of a weight; else 0.5.")
    ] = None,
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
    check_files(file, [Output("out", out, (".csv",))], force=force)
    by = _reweighing(method, {"sigma": sigma, "reach": reach, "pairs": pairs, "k": k, "mu": mu})
    if method == "alike" and not directed:
        raise InvalidParameter("directed", directed, "set with alike, which compares the edges that leave a node")
    read = _read(file, ends, weight, directed=directed)
    chosen = () if pairs is None else _chosen(pairs, read.nodes)
    with _as_written(read.nodes):
        made = by(chosen).apply(read.graph)
    rows = [(*pair, one) for pair, one in zip(read.pairs, made.graph.weights.tolist(), strict=True)]
    path = write_whole(out, lambda target: _write(target, (*read.columns, weight), rows))
    figures = [f"{name}: {figure:.4g}" for name, figure in made.measured]
    if method == "paths" and not chosen:
        figures.insert(0, "no pairs are chosen, so no path is promised to stay the shortest: --pairs chooses some")
    told(made, {"edges": path}, figures, as_json=as_json)


def walks(
    file: File,
    out: _Csv,
    theta: Annotated[
        float, typer.Option(help="How much walks prefer short ones, in units of the mean weight; above 0.")
    ] = 20.0,
    pairs: Annotated[
        Path | None, typer.Option(help="Pairs of nodes, two columns of a .csv; all pairs, if not given.")
    ] = None,
    ends: _Ends = "from,to",
    weight: _Weight = "weight",
    directed: _Directed = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Say how long random walks that prefer short edges are, beside the shortest paths. NO formal guarantee."""
    import math

    from dither.disguise import WARNING
    from dither.disguise.networks import RandomisedPaths

    check_files(file, [Output("out", out, (".csv",))], force=force)
    read = _read(file, ends, weight, directed=directed)
    count = len(read.nodes)
    every = ((one, other) for one in range(count) for other in range(count) if one != other)
    chosen = tuple(every) if pairs is None else _chosen(pairs, read.nodes)
    means, shortest = RandomisedPaths.of(read.graph, theta).mean_lengths(), read.graph.lengths()
    names = list(read.nodes)
    rows = [
        (names[one], names[other], float(shortest[one, other]), float(means[one, other]))
        for one, other in chosen
        if math.isfinite(shortest[one, other])
    ]
    path = write_whole(out, lambda target: _write(target, (*read.columns, "shortest", "walks"), rows))
    longer = max((mean / short for *_, short, mean in rows), default=1.0)
    told_walks = (
        f"{len(rows):,} of {len(chosen):,} pairs are connected; from one inverse for all of them.",
        f"The mean walk is up to {longer:.4g} times as long as the shortest path.",
        "These are lengths under the true weights: anyone who has them learns about every weight.",
    )
    if as_json:
        figures = {"pairs": len(chosen), "connected": len(rows), "longer": longer, "theta": theta}
        print_json({"warning": WARNING, "done": list(told_walks), **figures, "written": {"lengths": str(path)}})
        return
    say(WARNING, style="bold red")
    for sentence in told_walks:
        say(sentence)
    say(f"wrote the lengths to {path}")


@dataclass(frozen=True, eq=False)
class _Read:
    """A network as a file has it: its nodes by name, the two ends of every row, and the graph of their numbers."""

    columns: tuple[str, ...]
    nodes: dict[Any, int]
    pairs: list[tuple[Any, ...]]
    graph: Weighted


def _read(file: Path, ends: str, weight: str, *, directed: bool) -> _Read:
    from dither.disguise import Table
    from dither.disguise.microaggregation import numbers_of

    table = Table.read(file)
    columns = words_of(ends) or ()
    if len(columns) != 2:
        raise InvalidParameter("ends", ends, "two columns, with a comma between")
    cells = [table[name].cells() for name in columns]
    for name, some in zip(columns, cells, strict=True):
        if None in some:
            raise InvalidParameter(name, f"nothing in row {some.index(None) + 1}", "a node in every row")
    pairs = list(zip(*cells, strict=True))
    # Nodes are numbered as they come.
    nodes = {node: number for number, node in enumerate(dict.fromkeys(one for pair in pairs for one in pair))}
    weights = numbers_of(table, weight).tolist()
    return _Read(columns, nodes, pairs, _graph(nodes, cells, weights, directed=directed))


@contextlib.contextmanager
def _as_written(nodes: dict[Any, int]) -> Iterator[None]:
    """Name the nodes of a pair that cannot be chosen as the file does, not by their numbers."""
    try:
        yield
    except InvalidParameter as failure:
        pair = failure.offender
        if failure.parameter != "pairs" or not isinstance(pair, tuple):
            raise
        by_number = list(nodes)
        raise InvalidParameter("pairs", tuple(by_number[node] for node in pair), failure.rule) from None


def _graph(nodes: dict[Any, int], cells: Sequence[Sequence[Any]], weights: list[float], *, directed: bool) -> Weighted:
    from dither.disguise.networks import Weighted
    from dither.disguise.networks.graph import LARGEST, LEAST

    seen: set[Any] = set()
    for number, (first, last, one) in enumerate(zip(*cells, weights, strict=True), start=1):
        if not one > 0:
            raise InvalidParameter(f"weight of row {number}", one, f"above zero, between {first} and {last}")
        if not LEAST <= one <= LARGEST:
            rule = f"from {LEAST:g} to {LARGEST:g}, between {first} and {last}"
            raise InvalidParameter(f"weight of row {number}", one, rule)
        if first == last:
            raise InvalidParameter(f"row {number}", first, "an edge between two different nodes")
        pair = (first, last) if directed else frozenset((first, last))
        if pair in seen:
            raise InvalidParameter(f"row {number}", f"{first}, {last}", "an edge that is listed once")
        seen.add(pair)
    edges = [(nodes[first], nodes[last], one) for first, last, one in zip(*cells, weights, strict=True)]
    return Weighted.of(edges, nodes=len(nodes), directed=directed)


def _chosen(pairs: Path, nodes: dict[Any, int]) -> tuple[tuple[int, int], ...]:
    """Return the chosen pairs of nodes by their numbers."""
    from dither.disguise import Table

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


def _reweighing(method: str, typed: Mapping[str, Any]) -> Callable[[tuple[tuple[int, int], ...]], NetworkDisguise]:
    """Return what makes the disguise of chosen pairs."""
    from dither.disguise.networks import AlikeWeights, KeptPaths, ScaledWeights

    known = {"scaled": ("sigma",), "paths": ("reach", "pairs"), "alike": ("k", "mu", "pairs")}
    given = _taken(method, known, typed)
    if method == "alike":
        for name in ("k", "mu"):
            if name not in given:
                raise InvalidParameter(name, None, "required with alike")
        return lambda pairs: AlikeWeights(given["k"], given["mu"], pairs)
    if method == "paths":
        return lambda pairs: KeptPaths(pairs, given.get("reach", 0.5))
    return lambda pairs: ScaledWeights(given.get("sigma", 0.15))


def _write(target: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with target.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(names)
        writer.writerows(rows)
