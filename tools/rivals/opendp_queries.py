"""Times OpenDP's bounded GROUP BY over a Parquet file; run by the rivals' interpreter, never imported by dither."""

import json
import sys
import time
import warnings
from typing import Any

import opendp.prelude as dp
import polars as pl

ROWS_A_PERSON, AREAS, KINDS = 5, 50, 20
EPSILON, DELTA = 1.0, 1e-7


def answer(file: str, rows: int) -> int:
    """Release a count and a clamped sum for every area and kind, five rows a person; return the number of keys."""
    cost: Any = pl.col("cost").fill_null(0.0).fill_nan(0.0)
    context = dp.Context.compositor(
        data=pl.scan_parquet(file),
        privacy_unit=dp.unit_of(contributions=ROWS_A_PERSON, identifier=pl.col("person")),
        privacy_loss=dp.loss_of(epsilon=EPSILON, delta=DELTA),
        split_evenly_over=1,
        # A sum of doubles needs to know how many there may be.
        margins=[dp.polars.Margin(max_length=2 * rows, max_groups=AREAS * KINDS)],
    )
    bounded = context.query().truncate_per_group(ROWS_A_PERSON).group_by("area", "kind")
    asked = bounded.agg(dp.len(), cost.dp.sum((0.0, 100.0))).with_keys(public_keys())
    return int(asked.release().collect().height)


def public_keys() -> pl.LazyFrame:
    """Return every pair of an area and a kind."""
    pairs = [(area, kind) for area in range(AREAS) for kind in range(KINDS)]
    schema = {"area": pl.Int32, "kind": pl.Int32}
    return pl.LazyFrame(pairs, schema=schema, orient="row")


def main() -> None:
    """Print one JSON record: the number of keys, and the least processor seconds of a few runs after a first one."""
    file, rows, repeats = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    dp.enable_features("contrib", "honest-but-curious")
    keys, seconds = answer(file, rows), []
    for _ in range(repeats):
        start = time.process_time()
        answer(file, rows)
        seconds.append(time.process_time() - start)
    sys.stdout.write(json.dumps({"keys": keys, "seconds": min(seconds)}) + "\n")


if __name__ == "__main__":
    main()
