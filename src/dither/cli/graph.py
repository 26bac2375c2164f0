"""``dither graph``: counts and degrees of a declared graph, and a synthetic one."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dither.cli import ask
from dither.cli.options import (
    Analyst,
    Charged,
    DataSetName,
    Delta,
    Epsilon,
    Force,
    Home,
    Json,
    Key,
    Plot,
    Quoted,
    Rho,
    Server,
    TableOut,
)
from dither.cli.outputs import delivering, table_output
from dither.cli.progress import progress
from dither.errors import InvalidParameter
from dither.publish.graphs.synthesis.pictures import synthetic_page

_SUFFIXES = (".csv", ".parquet", ".json")
_SYNTHESIZE = "synthesize"


def graph(
    dataset: DataSetName,
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="edges, triangles, stars, k-triangles, cliques, clustering, assortativity, degrees, degrees-by-node, "
            "degree-histogram, edges-between, or synthesize; where nodes are protected, degree-sum; where the unit is "
            "a weight, spanning-tree or path.",
        ),
    ],
    k: Annotated[
        int | None,
        typer.Option("--k", help="The neighbours of a star, the nodes over the edge of a k-triangle, or of a clique."),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="Of a count: auto, ladder, smooth, laplace; with --delta also noisy-local, truncated; where nodes are "
            "protected projection, flow, race, recursive of edges, programmes, quick, race, recursive of triangles, "
            "programmes of stars. Of a synthetic graph auto, clustered, top-edges, joint-degrees, communities, "
            "degrees, densities, kronecker or hierarchy."
        ),
    ] = "auto",
    error: Annotated[
        str | None, typer.Option(help="In place of a loss: the largest error, kept in 95 of 100 releases; for counts.")
    ] = None,
    worth: Annotated[
        str | None,
        typer.Option(help="Of degree-sum: what a node of degree 1, 2, 3, ... counts, such as 1,2,3; never falling."),
    ] = None,
    start: Annotated[str | None, typer.Option(help="Of a path: the node where it begins.")] = None,
    end: Annotated[str | None, typer.Option(help="Of a path: the node where it ends.")] = None,
    group: Annotated[str | None, typer.Option(help="Of edges-between: a column of the table of nodes.")] = None,
    since: Annotated[str | None, typer.Option(help="Only edges of this date or time, or a later one, count.")] = None,
    until: Annotated[str | None, typer.Option(help="Only edges of an earlier date or time count.")] = None,
    out: TableOut = None,
    plot: Plot = False,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    analyst: Analyst = "curator",
    key: Key = None,
    force: Force = False,
    is_quoted: Quoted = False,
    server: Server = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Release a count of a graph, its degrees, clustering or assortativity, or a synthetic graph."""
    if plot and out is None:
        raise InvalidParameter("plot", True, "given with --out: the plot is written beside the file, as HTML")
    charged = Charged(epsilon, delta, rho, None, analyst, key, home, as_json, is_quoted, force)
    files = [] if out is None else [table_output("out", out, _SUFFIXES)]
    if plot and out is not None:
        files.append(table_output("plot", out.with_suffix(".html"), (".html",)))
    with ask.charged_session(charged, dataset, files) as session:
        is_drawn = what == _SYNTHESIZE
        about: dict[str, Any] = {"k": k, "error": error, "start": start, "end": end, "group": group}
        about |= {"since": since, "until": until, "worth": None if worth is None else _numbers(worth)}
        asked: dict[str, Any] = {"method": method, "epsilon": epsilon, "delta": delta, "rho": rho, "key": charged.key}
        if is_drawn and (given := [name for name, value in about.items() if value is not None]):
            raise InvalidParameter(given[0], about[given[0]], "left out: a synthetic graph has none")
        offer = (
            session.offer.graph_synthesis(**asked) if is_drawn else session.offer.graph_answer(what, **about, **asked)
        )
        if is_quoted:
            ask.say_price(session.quote(offer), as_json=as_json)
            return
        with progress("drawing" if is_drawn else "counting"):
            result = session.release(offer)
        with delivering(charged.name):
            if out is not None:
                ask.save(result, out)
                if plot and is_drawn:
                    ask.save_page(synthetic_page(result), out.with_suffix(".html"))
                elif plot:
                    ask.save(result, out.with_suffix(".html"))
            ask.show(result, as_json=as_json)


def _numbers(text: str) -> list[int]:
    """Return whole numbers that are separated by commas."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise InvalidParameter("worth", text, "whole numbers, separated by commas, such as 1,2,3")
    return [int(part) for part in parts]
