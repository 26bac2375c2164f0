"""Small images: how many test images a private head on public features tells right.

MNIST and Fashion-MNIST come from the folder in ``DITHER_DATA``, digits from scikit-learn. The reach of strides, the
number of coordinates and the quietest direction were settled on Fashion-MNIST; nothing is chosen by looking at MNIST
or digits. Figures are against true labels: a benchmark on public data, never a release.
"""

from __future__ import annotations

import gzip
import importlib
import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from dither.learn.images.features import ImageSize, features_of
from dither.learn.images.mechanism import USUAL_COMPONENTS
from dither.learn.images.whitening import public_map
from dither.learn.linear.preconditioned import PreconditionedDescent
from dither.learn.rows import STEPS, Box, Floats
from dither.mechanisms import PublicArray, perform
from dither.privacy import ApproxDP

DELTA: Final = "1e-5"
#: Runs at each epsilon.
RUNS: Final = 5
#: What must be reached, with and without public images, at the epsilons of each set.
GOALS: Final = {
    ("mnist", "shapes"): {"0.5": 0.949, "2": 0.965, "8": 0.969},
    ("mnist", "fashion"): {"0.5": 0.970, "2": 0.981, "8": 0.986},
    ("fashion", "shapes"): {"2.7": 0.88},
    ("digits", "shapes"): {"1": 0.90, "3": 0.94, "10": 0.96},
}


@dataclass(frozen=True)
class Pictures:
    """Images to learn from and to score on.

    Args:
        size: of every image.
        top: the value of a full pixel.
        train: a row of pixels for each image.
        labels: their classes.
        test: other images.
        truth: their classes.

    """

    size: ImageSize
    top: float
    train: Floats
    labels: Any
    test: Floats
    truth: Any

    @property
    def box(self) -> Box:
        """The bounds of pixels."""
        return Box(PublicArray([0.0] * self.size.pixels), PublicArray([self.top] * self.size.pixels))


def idx_pictures(name: str) -> Pictures | None:
    """Return MNIST or Fashion-MNIST; None where the folder is not there."""
    folder = Path(os.environ.get("DITHER_DATA", "")) / "images"
    parts: list[Any] = []
    for part in ("train", "t10k"):
        for kind, skipped in (("images-idx3", 16), ("labels-idx1", 8)):
            path = folder / f"{name}_{part}-{kind}-ubyte.gz"
            if not path.is_file():
                return None
            read = np.frombuffer(gzip.decompress(path.read_bytes()), dtype=np.uint8, offset=skipped)
            parts.append(read.reshape(-1, 784).astype(float) if skipped == 16 else read.astype(np.int64))
    return Pictures(ImageSize(28, 28, 1), 255, *parts)


def digits(number: int) -> Pictures:
    """Return a division of scikit-learn's digits: four fifths to learn from."""
    known = importlib.import_module("sklearn.datasets").load_digits()
    order = np.random.default_rng(number).permutation(len(known.data))
    learned, held = order[:1437], order[1437:]
    parts = known.data[learned], known.target[learned], known.data[held], known.target[held]
    return Pictures(ImageSize(8, 8, 1), 16, *parts)


def measure(name: str, public: str, runs: int = RUNS, extractor: str = "scattering") -> Iterator[str]:
    """Yield the figures of one set, one epsilon a line."""
    start = time.process_time()
    given = [digits(number) for number in range(runs)] if name == "digits" else [idx_pictures(name)]
    others = None if public == "shapes" else idx_pictures(public)
    if any(one is None for one in given) or (public != "shapes" and others is None):
        yield f"{name}, {public}: absent"
        return
    coordinates = []
    for one in given:
        if one is None:
            continue
        known = None if others is None else PublicArray(others.train[:12000])
        change = public_map(extractor, one.size, one.box, USUAL_COMPONENTS, known)
        seen = [change.steps(features_of(extractor, one.size, one.box, rows)) / STEPS for rows in (one.train, one.test)]
        coordinates.append((np.column_stack([seen[0], one.labels]), seen[1], one.truth))
    yield f"{name}, {extractor}, {public}: coordinates took {time.process_time() - start:.0f} s of processor time"
    for epsilon, goal in GOALS[name, public].items():
        bounds = np.ones(USUAL_COMPONENTS)
        head = PreconditionedDescent.calibrated(ApproxDP(epsilon, DELTA), lower=-bounds, upper=bounds, classes=10)
        scores, start = [], time.process_time()
        for number in range(runs):
            rows, test, truth = coordinates[number % len(coordinates)]
            scores.append(float((perform(head, rows).scores(test).argmax(axis=1) == truth).mean()))
        took = (time.process_time() - start) / runs
        yield (
            f"{name}, {extractor}, {public}, epsilon {epsilon}: median {statistics.median(scores):.4f} of {runs} runs "
            f"({min(scores):.4f} to {max(scores):.4f}), goal {goal}; a head took {took:.1f} s"
        )


def lines(runs: int = RUNS) -> Iterator[str]:
    """Yield the figures of all sets."""
    for name, public in GOALS:
        yield from measure(name, public, runs)
