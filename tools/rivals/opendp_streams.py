"""Sums so far from OpenDP's b-ary tree; run by the rivals' interpreter, never imported by dither.

Arguments: numbers of ticks with commas between, epsilon, and how often to run. The last line is a record: for each
number of ticks the mean square error of all sums, and the largest over ticks of the mean over runs.
"""

import json
import sys

import numpy as np
import opendp.prelude as dp


def errors(ticks: int, epsilon: float, repeats: int) -> dict[str, float]:
    """Return mean squares of the error of sums of a consistent tree over nothing but zeros."""
    branching = dp.t.choose_branching_factor(ticks)
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    nodes = dp.t.make_b_ary_tree(*space, leaf_count=ticks, branching_factor=branching)
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=branching, TIA=int, TOA=float)

    def whole(scale: float) -> object:
        return nodes >> dp.m.then_laplace(scale)

    noisy = whole(dp.binary_search_param(whole, d_in=1, d_out=epsilon, T=float))
    zeros = [0] * ticks
    squares = np.zeros(ticks)
    for _ in range(repeats):
        found = np.asarray(consistent(noisy(zeros)))[:ticks]  # type: ignore[operator]
        squares += np.cumsum(found) ** 2 / repeats
    return {"mean": float(squares.mean()), "largest": float(squares.max())}


def main() -> None:
    """Print one JSON record."""
    dp.enable_features("contrib", "honest-but-curious")
    lengths, epsilon, repeats = [int(one) for one in sys.argv[1].split(",")], float(sys.argv[2]), int(sys.argv[3])
    sys.stdout.write(json.dumps({ticks: errors(ticks, epsilon, repeats) for ticks in lengths}) + "\n")


if __name__ == "__main__":
    main()
