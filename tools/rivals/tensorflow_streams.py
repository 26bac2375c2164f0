"""Sums so far from TensorFlow Privacy's trees; run by the rivals' interpreter, never imported by dither.

Arguments: numbers of ticks with commas between, and how many streams to draw. The last line is a record: for each
number of ticks the largest, over ticks, of the standard errors of the plain tree and of the one that combines nodes,
at rho 1/2 for one event: noise of the root of the number of levels at every node.
"""

import importlib.util
import json
import math
import sys
from pathlib import Path
from typing import Any

import tensorflow as tf


def trees() -> Any:
    """Return the module of the trees by itself: the package around it needs more than they do."""
    package: Any = importlib.util.find_spec("tensorflow_privacy")
    place = Path(next(iter(package.submodule_search_locations))) / "privacy" / "dp_query" / "tree_aggregation.py"
    spec: Any = importlib.util.spec_from_file_location("tree_aggregation", place)
    module = importlib.util.module_from_spec(spec)
    sys.modules["tree_aggregation"] = module
    spec.loader.exec_module(module)
    return module


def largest(kind: Any, module: Any, ticks: int, streams: int) -> float:
    """Return the largest standard error of any tick."""
    deviation = math.sqrt(math.ceil(math.log2(ticks)) + 1)
    noise = module.GaussianNoiseGenerator(deviation, tf.TensorSpec([streams], tf.float64))
    tree = kind(noise)
    state, most = tree.init_state(), 0.0
    step = tf.function(tree.get_cumsum_and_update)
    for _ in range(ticks):
        drawn, state = step(state)
        most = max(most, float(tf.sqrt(tf.reduce_mean(tf.square(drawn)))))
    return most


def main() -> None:
    """Print one JSON record."""
    lengths, streams, module = [int(one) for one in sys.argv[1].split(",")], int(sys.argv[2]), trees()
    found = {
        ticks: {
            "plain": largest(module.TreeAggregator, module, ticks, streams),
            "combined": largest(module.EfficientTreeAggregator, module, ticks, streams),
        }
        for ticks in lengths
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
