"""``dither graph``: counts and degrees of a declared graph."""

from __future__ import annotations

from typing import Annotated

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
    TableOut,
)
from dither.cli.outputs import delivering, table_output
from dither.cli.progress import progress
from dither.errors import InvalidParameter

_SUFFIXES = (".csv", ".parquet", ".json")


def graph(
    dataset: DataSetName,
    what: Annotated[
        str,
        typer.Argument(metavar="WHAT", help="edges, triangles, stars, k-triangles, degrees, or degrees-by-node."),
    ],
    k: Annotated[
        int | None, typer.Option("--k", help="The neighbours of a star, or the nodes over the edge of a k-triangle.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="Of a count: auto, ladder, smooth or laplace; projection, flow or race where nodes are protected."
        ),
    ] = "auto",
    out: TableOut = None,
    plot: Plot = False,
    epsilon: Epsilon = None,
    delta: Delta = None,
    rho: Rho = None,
    analyst: Analyst = "curator",
    key: Key = None,
    force: Force = False,
    is_quoted: Quoted = False,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Release a count of a graph, or its degrees: edges, triangles, stars, k-triangles."""
    if plot and out is None:
        raise InvalidParameter("plot", True, "given with --out: the plot is written beside the file, as HTML")
    charged = Charged(epsilon, delta, rho, None, analyst, key, home, as_json, is_quoted, force)
    files = [] if out is None else [table_output("out", out, _SUFFIXES)]
    if plot and out is not None:
        files.append(table_output("plot", out.with_suffix(".html"), (".html",)))
    with ask.charged_session(charged, dataset, files) as session:
        offer = session.offer.graph_answer(
            what, k=k, method=method, epsilon=epsilon, delta=delta, rho=rho, key=charged.name
        )
        if is_quoted:
            ask.say_price(session.quote(offer), as_json=as_json)
            return
        with progress("counting"):
            result = session.release(offer)
        with delivering(charged.name):
            if out is not None:
                ask.save(result, out)
                if plot:
                    ask.save(result, out.with_suffix(".html"))
            ask.show(result, as_json=as_json)
