"""Times OpenDP's integer noise; run by the interpreter of the rivals' environment, never imported by dither."""

import json
import sys
import time

import opendp.prelude as dp

SAMPLES = 20_000


def nanoseconds(measurement: object) -> float:
    """Return the least processor time of three runs, a sample."""
    zeros = [0] * SAMPLES
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        measurement(zeros)  # type: ignore[operator]
        best = min(best, time.process_time() - start)
    return best / SAMPLES * 1e9


def main() -> None:
    """Print one JSON record: law and scale to nanoseconds."""
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    figures = {}
    for scale in map(float, sys.argv[1:]):
        laplace = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale)
        gaussian = dp.m.make_gaussian(domain, dp.l2_distance(T=int), scale)
        figures[f"laplace {scale:.0f}"] = nanoseconds(laplace)
        figures[f"gaussian {scale:.0f}"] = nanoseconds(gaussian)
    sys.stdout.write(json.dumps(figures) + "\n")


if __name__ == "__main__":
    main()
