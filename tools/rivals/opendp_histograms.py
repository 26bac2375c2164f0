"""Times OpenDP's b-ary tree and its contingency tables; run by the rivals' interpreter, never imported by dither.

Arguments: a folder with ``counts.npy`` and ``rows.npy`` (of attributes with ``sizes.npy`` values), epsilon, rho, and
how often to run. The last line is a record of tasks, each with all that was released and the seconds of a release.
"""

import json
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import opendp.prelude as dp


def measured(release: Callable[[], list[float]], repeats: int) -> dict[str, object]:
    """Return all releases, and the least processor time of one after a first."""
    released, best = [], float("inf")
    for run in range(repeats):
        start = time.process_time()
        released.append(release())
        best = min(best, time.process_time() - start) if run else best
    return {"released": released, "seconds": best}


def tree(counts: list[int], epsilon: float) -> Callable[[], list[float]]:
    """Return the release of all counts from a consistent tree, with the branching that OpenDP itself would take."""
    branching = dp.t.choose_branching_factor(len(counts))
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    nodes = dp.t.make_b_ary_tree(*space, leaf_count=len(counts), branching_factor=branching)
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=branching, TIA=int, TOA=float)

    def whole(scale: float) -> object:
        return nodes >> dp.m.then_laplace(scale)

    noisy = whole(dp.binary_search_param(whole, d_in=1, d_out=epsilon, T=float))
    return lambda: [float(value) for value in consistent(noisy(counts))[: len(counts)]]  # type: ignore[operator]


def table(rows: np.ndarray, sizes: list[int], rho: float) -> Callable[[], list[float]]:
    """Return the release of all pairs of attributes from a contingency table, which is fitted to exactly these."""
    import polars as pl
    from opendp.extras.mbi import Count, Fixed, make_contingency_table

    names = [f"a{place}" for place in range(rows.shape[1])]
    pairs, known = list(combinations(names, 2)), dict(zip(names, sizes, strict=True))
    frame = pl.LazyFrame({name: rows[:, place] for place, name in enumerate(names)})
    space = dp.lazyframe_domain([dp.series_domain(name, dp.atom_domain(T=dp.i64)) for name in names])
    measurement, *_ = make_contingency_table(
        space,
        dp.symmetric_distance(),
        dp.zero_concentrated_divergence(),
        d_in=1,
        d_out=rho,
        keys={name: list(range(size)) for name, size in known.items()},
        algorithm=Fixed(queries=[Count(by) for by in pairs]),
    )

    def release() -> list[float]:
        found = measurement(frame)
        # Each attribute has its own value for missing, after all others.
        tables = (np.asarray(found.project(pair))[: known[pair[0]], : known[pair[1]]] for pair in pairs)
        return [float(value) for one in tables for value in one.ravel()]

    return release


def main() -> None:
    """Print one JSON record."""
    dp.enable_features("contrib", "honest-but-curious")
    folder, epsilon, rho, repeats = Path(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    counts, rows = np.load(folder / "counts.npy").tolist(), np.load(folder / "rows.npy")
    sizes = np.load(folder / "sizes.npy").tolist()
    # A fit takes many seconds: two have to do.
    tasks = {"tree": measured(tree(counts, epsilon), repeats), "table": measured(table(rows, sizes, rho), 2)}
    sys.stdout.write(json.dumps(tasks) + "\n")


if __name__ == "__main__":
    main()
