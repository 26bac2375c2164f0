"""Synthetic journeys by PrivTrace's public code; run by the rivals' interpreter, never imported by dither.

Arguments: the folder of a checkout, a file of trajectories in its format, epsilon, and the file that is written. The
last line is a record: the processor time, and how many states the grid has. What the code wants of old libraries is
given to it by name: NumPy's aliases of Python's types, and names of a library that it imports and does not use here.
"""

import importlib
import json
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np


def stand_in() -> None:
    """Give the code what it looks up and does not need."""
    old: Any = np
    old.int, old.float = int, float
    empty: Any = types.ModuleType("torch")
    empty.Tensor = type("Tensor", (), {})
    empty.optim = types.ModuleType("torch.optim")
    sys.modules["torch"], sys.modules["torch.optim"] = empty, empty.optim


def theirs(module: str, name: str) -> Any:
    """Return a class of the checkout."""
    return getattr(importlib.import_module(module), name)


def main() -> None:
    """Print one JSON record."""
    checkout, given, epsilon, written = sys.argv[1:5]
    sys.argv = sys.argv[:1]
    sys.path.insert(0, checkout)
    stand_in()
    carrier = theirs("config.parameter_carrier", "ParameterCarrier")(
        theirs("config.parameter_setter", "ParSetter")().set_up_args(epsilon=float(epsilon))
    )
    trips = theirs("data_preparation.trajectory_set", "TrajectorySet")()
    trip = theirs("data_preparation.trajectory", "Trajectory")
    for line in Path(given).read_text(encoding="ascii").splitlines()[1::2]:
        one = trip()
        points = line.removeprefix(">0:").strip(";").split(";")
        one.trajectory_array = np.array([[float(end) for end in point.split(",")] for point in points])
        trips.add_trajectory(one)
    builder = theirs("primarkov.build_markov_model", "ModelBuilder")
    started = time.process_time()
    grid = theirs("discretization.get_discretization", "DisData")(carrier).get_discrete_data(trips)
    model = builder(carrier).build_model(grid, trips)
    model = builder(carrier).filter_model(trips, grid, model)
    states = theirs("generator.state_trajectory_generation", "StateGeneration")(carrier).generate_tra(model)
    drawn = theirs("generator.to_real_translator", "RealLocationTranslator")(carrier).translate_trajectories(
        grid, states
    )
    spent = time.process_time() - started
    with Path(written).open("w", encoding="ascii") as stream:
        for points in drawn:
            stream.write("".join(f"{first:.4f},{second:.4f};" for first, second in points) + "\n")
    sys.stdout.write(json.dumps({"seconds": spent, "states": int(grid.usable_state_number)}) + "\n")


if __name__ == "__main__":
    main()
