"""Models of diffprivlib, learned in an environment of their own from the same divisions of the same rows."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from dither.bench.learn import Rival, divisions, scaled
from dither.bench.learning_data import Task
from tools.rivals.environments import ask_rival, environment


def diffprivlib(folder: Path) -> Rival:
    """Return what learns with diffprivlib, in an environment in ``folder`` that is made when it is first needed."""
    return partial(learned_by_diffprivlib, folder)


def learned_by_diffprivlib(
    folder: Path, model: str, task: Task, epsilons: Sequence[str], runs: int
) -> tuple[float, ...] | None:
    """Return the scores of diffprivlib on columns scaled to [-1, 1] by the same bounds; None where it is absent."""
    python = environment(
        folder / "diffprivlib", modules="diffprivlib", packages=["diffprivlib==0.6.6", "scikit-learn>=1.7,<1.8"]
    )
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as scratch:
        for number, (train, labels, test, truth) in enumerate(divisions(task, model, runs)):
            np.savez(
                Path(scratch) / f"{number}.npz",
                train=scaled(task, train),
                labels=labels,
                test=scaled(task, test),
                truth=truth,
            )
        found = ask_rival(python, "diffprivlib_learning.py", scratch, model, ",".join(epsilons))
    return tuple(float(score) for score in found["scores"])
