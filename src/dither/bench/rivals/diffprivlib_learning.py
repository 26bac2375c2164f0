"""Learns with diffprivlib; run by the rivals' interpreter, never imported by dither.

Arguments: a folder of ``.npz`` files with ``train``, ``labels``, ``test`` and ``truth`` (columns in [-1, 1]), the model
("logistic" or "naive Bayes") and epsilons separated by commas. The last line is a record of median accuracies.
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


def main() -> None:
    """Print one JSON record."""
    warnings.simplefilter("ignore")
    folder, model, epsilons = Path(sys.argv[1]), sys.argv[2], sys.argv[3].split(",")
    accuracies = []
    for epsilon in epsilons:
        found = []
        for path in sorted(folder.glob("*.npz")):
            data = np.load(path)
            columns = data["train"].shape[1]
            if model == "logistic":
                made = models.LogisticRegression(epsilon=float(epsilon), data_norm=float(np.sqrt(columns)))
            else:
                made = models.GaussianNB(epsilon=float(epsilon), bounds=(-1, 1))
            fitted = made.fit(data["train"], data["labels"])
            found.append(float((fitted.predict(data["test"]) == data["truth"]).mean()))
        accuracies.append(statistics.median(found))
    sys.stdout.write(json.dumps({"accuracies": accuracies}) + "\n")


if __name__ == "__main__":
    main()
