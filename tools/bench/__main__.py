"""``python -m tools.bench``: measure, and print a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dither.errors import MissingExtra
from tools.bench import (
    clusters,
    conversations,
    disguise,
    graphs,
    graphs_node,
    graphs_synthesis,
    groups,
    histograms,
    images,
    inference,
    itemsets,
    learn,
    ledger,
    marginals,
    microdata,
    places,
    queries,
    recommenders,
    reports,
    retrieval,
    scale,
    service,
    spark,
    stream_series,
    streams,
    synthetic,
    uniques,
    waiting,
    workloads,
)
from tools.bench.accountants import measure_accountants
from tools.bench.clock import load
from tools.bench.noise import (
    NoiseFigures,
    measure_noise,
    nanoseconds_per_random_byte,
    peak_bytes_per_sample,
    time_value_correlation,
)
from tools.bench.primitives import measure_primitives
from tools.rivals import histograms as rival_histograms
from tools.rivals import streams as rival_streams
from tools.rivals.environments import environment


def rivals(folder: Path) -> Path | None:
    """Return the interpreter of the rivals' environment, made if needed; None where they cannot be installed."""
    return environment(folder, modules="opendp, polars, dp_accounting", packages=["opendp[polars]", "dp-accounting"])


def table(figures: list[NoiseFigures]) -> Table:
    """Return the figures side by side, as times and as ratios."""
    shown = Table(title="exact noise, nanoseconds a sample (processor time, best of 5)", title_justify="left")
    for title in ("law", "scale", "dither", "goal", "NumPy (insecure)", "dither / NumPy", "OpenDP", "OpenDP / dither"):
        shown.add_column(title, justify="left" if title == "law" else "right")
    for one in figures:
        rival = one.opendp_nanoseconds
        shown.add_row(
            one.law,
            f"{one.scale:,}",
            f"{one.nanoseconds:.1f}",
            f"{one.goal:.0f}",
            f"{one.numpy_nanoseconds:.1f}",
            f"{one.nanoseconds / one.numpy_nanoseconds:.2f}",
            "absent" if rival is None else f"{rival:,.0f}",
            "" if rival is None else f"{rival / one.nanoseconds:,.0f}",
        )
    return shown


def primitives_table() -> Table:
    """Return the time of a release, for every registered primitive."""
    shown = Table(title="primitives, first example of each (processor time)", title_justify="left")
    for title in ("mechanism", "one release, microseconds", "among many, nanoseconds"):
        shown.add_column(title, justify="left" if title == "mechanism" else "right")
    for one in measure_primitives():
        bulk = "" if one.nanoseconds_in_bulk is None else f"{one.nanoseconds_in_bulk:,.0f}"
        shown.add_row(one.mechanism, f"{one.microseconds_alone:.0f}", bulk)
    return shown


def accountants_table(rival: Path | None) -> Table:
    """Return the time and the epsilon of accounting tasks, ours and the rival's."""
    shown = Table(title="accounting at delta 1e-5, from parameters to epsilon (processor time)", title_justify="left")
    for title in ("task", "grid", "dither, s", "epsilon", "dp-accounting, s", "epsilon", "dither / rival"):
        shown.add_column(title, justify="left" if title in ("task", "grid") else "right")
    for one in measure_accountants(rival):
        theirs = (one.rival_seconds, one.rival_epsilon)
        absent = theirs[0] is None or theirs[1] is None
        shown.add_row(
            one.task,
            one.grid,
            f"{one.seconds:.3f}",
            f"{one.epsilon:.4f}",
            "absent" if absent else f"{theirs[0]:.3f}",
            "" if absent else f"{theirs[1]:.4f}",
            "" if not theirs[0] else f"{one.seconds / theirs[0]:.2f}",
        )
    return shown


def show_noise(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure the samplers."""
    console.print(table(measure_noise(given.samples, rival)))
    byte = nanoseconds_per_random_byte()
    console.print(f"one random byte costs {byte:.3f} ns; the key stream is the floor of every figure above")
    for law, peak in peak_bytes_per_sample(given.samples).items():
        console.print(f"{law}: peak memory {peak:.2f} bytes a sample beyond the result (goal 16)", highlight=False)
    for law, correlation in time_value_correlation().items():
        console.print(f"{law}: rank correlation of time and size {correlation:+.4f} (goal below 0.03)", highlight=False)


def show_accountants(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure accounting."""
    console.print(accountants_table(rival))


def show_primitives(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure single releases."""
    console.print(primitives_table())


def show_queries(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure aggregations in DuckDB beside plain ones."""
    console.print(queries.table(queries.measure_queries(given.rows)))
    for form, peak in queries.measure_memory(given.rows).items():
        console.print(f"{form}: peak memory {peak:,.0f} MB", highlight=False)
    console.print(queries.rival_line(queries.measure_rival(given.rows, rival)), highlight=False)


def show_recommenders(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure the error of recommenders by loss."""
    for line in recommenders.lines():
        console.print(line)


def show_groups(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure answers with many groups beside plain ones."""
    for line in groups.lines():
        console.print(line, highlight=False, markup=False)


def show_spark(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure aggregations in Spark beside plain ones."""
    try:
        console.print(spark.table(spark.measure_spark(given.rows)))
    except MissingExtra as absent:
        console.print(f"Spark: {absent}", highlight=False)


def show_ledger(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure the ledger and the waits of a session."""
    for line in [*ledger.lines(), *waiting.lines()]:
        console.print(line, highlight=False)


def show_workloads(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure the search for strategies, with the least error that any could have beside each."""
    for line in workloads.lines():
        console.print(line, highlight=False, markup=False)


def show_marginals(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure plans of marginals, and constrained inference."""
    for line in [*marginals.lines(), *inference.lines()]:
        console.print(line, highlight=False, markup=False)


def show_service(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure a service beside sessions in this process."""
    console.print(service.measure())


def show_conversations(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure many questions for one price, and inner products of two private vectors, beside baselines."""
    for line in [*conversations.lines(), *retrieval.lines(), *reports.lines()]:
        console.print(line, highlight=False, markup=False)


def show_disguise(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure disguises: rules that hold, checkers beside pycanon's, times, estimates of uniques beside the truth."""
    for line in (*disguise.lines(given.rivals, rows=min(given.rows, 10**6)), *uniques.lines()):
        console.print(line, highlight=False)


def show_rival_histograms(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure published tables beside others, each in its own environment."""
    for line in rival_histograms.lines(given.rivals):
        console.print(line, highlight=False, markup=False)


def show_rival_streams(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure sums so far beside others, each in its own environment."""
    for line in rival_streams.lines(given.rivals):
        console.print(line, highlight=False, markup=False)


def show_histograms(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure releases of histograms."""
    for line in histograms.lines():
        console.print(line, highlight=False, markup=False)


def show_synthetic(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure synthetic tables."""
    for line in synthetic.lines():
        console.print(line, highlight=False, markup=False)


def show_microdata(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure anonymized tables."""
    for line in microdata.lines():
        console.print(line, highlight=False, markup=False)


def show_itemsets(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure frequent itemsets."""
    for line in itemsets.lines():
        console.print(line, highlight=False, markup=False)


def show_learn(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure private models."""
    for line in learn.lines(given.rivals):
        console.print(line, highlight=False, markup=False)


def show_images(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure classifiers of small images."""
    for line in images.lines():
        console.print(line, highlight=False, markup=False)


def show_clusters(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure k-means."""
    for line in clusters.lines():
        console.print(line, highlight=False, markup=False)


def show_graphs_node(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure graphs whose nodes are protected."""
    for line in graphs_node.lines():
        console.print(line, highlight=False, markup=False)


def show_streams(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure counters on streams."""
    for line in [*streams.lines(), *stream_series.lines()]:
        console.print(line, highlight=False, markup=False)


def show_graphs(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure counts in graphs."""
    for line in graphs.lines():
        console.print(line, highlight=False, markup=False)


def show_graphs_synthesis(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure synthetic graphs beside those they stand for, and Graph Update's experiment."""
    console.print(graphs_synthesis.table(list(graphs_synthesis.measure())))
    console.print(graphs_synthesis.update_table(list(graphs_synthesis.measure_update())))


def show_places(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure maps, flows and journeys."""
    for line in places.lines():
        console.print(line, highlight=False, markup=False)


def show_scale(console: Console, given: argparse.Namespace, rival: Path | None) -> None:
    """Measure every verb by the number of rows."""
    console.print(scale.table(given.rows))


SECTIONS = {
    "noise": show_noise,
    "accountants": show_accountants,
    "primitives": show_primitives,
    "queries": show_queries,
    "groups": show_groups,
    "recommenders": show_recommenders,
    "spark": show_spark,
    "workloads": show_workloads,
    "histograms": show_histograms,
    "marginals": show_marginals,
    "conversations": show_conversations,
    "service": show_service,
    "rival-histograms": show_rival_histograms,
    "rival-streams": show_rival_streams,
    "synthetic": show_synthetic,
    "microdata": show_microdata,
    "itemsets": show_itemsets,
    "streams": show_streams,
    "graphs": show_graphs,
    "graphs-node": show_graphs_node,
    "graphs-synthesis": show_graphs_synthesis,
    "places": show_places,
    "clusters": show_clusters,
    "images": show_images,
    "learn": show_learn,
    "ledger": show_ledger,
    "scale": show_scale,
    "disguise": show_disguise,
}


def main() -> None:
    """Measure everything this room knows, or the sections named."""
    parser = argparse.ArgumentParser(prog="tools.bench", description=__doc__)
    parser.add_argument("sections", nargs="*", choices=[*SECTIONS, []], help="what to measure; everything by default")
    parser.add_argument("--samples", type=int, default=10**6, help="samples a figure of noise")
    parser.add_argument("--rows", type=int, default=10**7, help="rows of a table that is queried")
    parser.add_argument("--rivals", type=Path, help="folder of the rivals' environment, made if it is not there")
    given = parser.parse_args()
    console = Console(soft_wrap=True)
    console.width = max(console.width, 110)
    console.print(f"machine before: {load()}; {given.samples:,} samples, {given.rows:,} rows", highlight=False)
    rival = rivals(given.rivals) if given.rivals else None
    for name in given.sections or SECTIONS:
        console.rule(name)
        SECTIONS[name](console, given, rival)
    console.print(f"machine after: {load()}", highlight=False)


if __name__ == "__main__":
    main()
