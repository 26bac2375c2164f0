"""Learns with diffprivlib; run by the rivals' interpreter, never imported by dither.

Arguments: a folder of ``.npz`` files with ``train``, ``labels``, ``test`` and ``truth`` (columns in [-1, 1]), the model
("logistic", "naive Bayes", "trees" or "k-means") and epsilons separated by commas. The last line is a record of median
scores: accuracy, or the adjusted Rand index of clusters.
"""

import importlib
import json
import statistics
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

models: Any = importlib.import_module("diffprivlib.models")
metrics: Any = importlib.import_module("sklearn.metrics")


def made(model: str, epsilon: float, columns: int, classes: int) -> Any:
    """Return diffprivlib's model with the same public facts."""
    if model == "logistic":
        return models.LogisticRegression(epsilon=epsilon, data_norm=float(np.sqrt(columns)))
    if model == "naive Bayes":
        return models.GaussianNB(epsilon=epsilon, bounds=(-1, 1))
    if model == "trees":
        return models.RandomForestClassifier(epsilon=epsilon, bounds=(-1, 1), classes=list(range(classes)))
    return models.KMeans(n_clusters=classes, epsilon=epsilon, bounds=(-1, 1))


def main() -> None:
    """Print one JSON record."""
    warnings.simplefilter("ignore")
    folder, model, epsilons = Path(sys.argv[1]), sys.argv[2], sys.argv[3].split(",")
    scores = []
    for epsilon in epsilons:
        found = []
        for path in sorted(folder.glob("*.npz")):
            data = np.load(path)
            learner = made(model, float(epsilon), data["train"].shape[1], int(data["labels"].max()) + 1)
            guessed = learner.fit(data["train"], data["labels"]).predict(data["test"])
            score = metrics.adjusted_rand_score if model == "k-means" else metrics.accuracy_score
            found.append(float(score(data["truth"], guessed)))
        scores.append(statistics.median(found))
    sys.stdout.write(json.dumps({"scores": scores}) + "\n")


if __name__ == "__main__":
    main()
