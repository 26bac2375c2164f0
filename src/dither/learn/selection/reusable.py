"""A holdout for many questions in a row: Thresholdout on the project's sparse vector.

For analysts who choose the next model by how the last ones scored. A score is taken from the training rows, and checked
against the holdout: while the two agree up to a threshold, the score of the training rows is returned, and nothing of
the holdout; where they do not, the score of the holdout with noise. Only such answers cost, and after a fixed number of
them the holdout is used up.

Guarantee: all answers together are epsilon-differentially private for a replaced row of the holdout, where each score
of a row depends on that row alone (over the reals: predictions of a library may differ in their last bits with the
company of a row, which is why answers are made of steps of 2^-20). The training rows are not protected.

Corrections: the printed algorithm refreshes the noise of the threshold after each answer and spends a budget of
answers; here the threshold keeps its noise, the noise of questions grows with the number of answers that are paid for,
the answers are paid for beside the test, and the end is hard (see ``above-threshold``).
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import HandleMisuse, InvalidParameter
from dither.exact import Number, positive, probability, whole
from dither.mechanisms import AboveThreshold, Budget, Geometric, converse, release
from dither.privacy import ROW_REPLACED, PureDP, laplace_scale

#: Scores of a row are integer multiples of one over this number.
STEPS: Final = 2**20
_LEVEL: Final = Fraction(19, 20)
#: Scores of rows, from 0 to 1, for features and targets.
Scores = Callable[[Any, Any], ArrayLike]


class ReusableHoldout:
    """Training rows, and a holdout that answers about scores until its budget is used up.

    Args:
        train: features and targets that models are trained on; they are not protected.
        holdout: features and targets of other rows, which are.
        epsilon: the privacy loss of all answers together, for a replaced row of the holdout.
        threshold: the difference between the two scores from which on the holdout is asked; above 0, below 1.
        answers: how many scores of the holdout may be returned.

    >>> rows, labels = np.arange(4000.0)[:, None], np.arange(4000) % 2
    >>> holdout = ReusableHoldout((rows, labels), (rows, labels), epsilon=2, threshold="0.1", answers=5)
    >>> holdout.ask(lambda rows, labels: labels == 1), holdout.left
    (0.5, 5)

    """

    def __init__(
        self,
        train: tuple[Any, Any],
        holdout: tuple[Any, Any],
        *,
        epsilon: Number,
        threshold: Number,
        answers: int,
    ) -> None:
        self._train, self._holdout = _rows("train", train), _rows("holdout", holdout)
        size, many = len(self._holdout[1]), whole("answers", answers, least=1, most=2**20)
        stated = positive("epsilon", epsilon)
        differ = probability("threshold", threshold, open_below=True)
        self.threshold, self.answers, self.epsilon = differ, many, stated
        # A replaced row moves the sum of the holdout's scores by at most all steps of one row.
        self._test = AboveThreshold.calibrated(
            PureDP(stated / 2), threshold=int(differ * size * STEPS), sensitivity=STEPS, positives=many
        )
        self._noise = Geometric(scale=laplace_scale(PureDP(stated / 2 / many), STEPS))
        reach = Fraction(self._test.error(_LEVEL).value) / (size * STEPS)
        if reach >= differ:
            rule = (
                f"larger than {float(reach):.3g}, the noise of one question on {size:,} rows: take more rows or epsilon"
            )
            raise InvalidParameter("threshold", str(differ), f"{rule}, or fewer answers")
        self._budget = Budget(epsilon=stated, unit=ROW_REPLACED)
        self._handle = converse(self._test, budget=self._budget, stability=STEPS)
        self._given = 0

    @property
    def left(self) -> int:
        """How many scores of the holdout may still be returned."""
        return self.answers - self._given

    @property
    def budget(self) -> str:
        """What is spent of the budget, and of how much."""
        return str(self._budget)

    def ask(self, scores: Scores) -> float:
        """Return the mean score: that of the training rows while the holdout agrees, else that of the holdout.

        Args:
            scores: returns a number from 0 to 1 for each row, from the features and the targets. What it returns for a
                row must depend on that row alone, beside the model. Where it fails on rows of the holdout, or does not
                return a number for each, these rows are scored one by one, and one on which it fails has the score 0:
                no error and no warning tells of a row of the holdout. On the training rows errors are raised.

        Raises HandleMisuse where the holdout is used up.

        """
        if self._handle.is_over:
            raise HandleMisuse(f"the holdout is used up: it has returned {self.answers} scores; take fresh rows")
        trained = _steps(scores, self._train)
        mean = Fraction(int(trained.sum()), len(trained) * STEPS)
        held = _held_steps(scores, self._holdout)
        total, size = int(held.sum()), len(held)
        # The training rows are public here, so that this moves as the sum of the holdout does.
        if not self._handle.ask(abs(total - round(mean * size * STEPS))):
            return float(mean)
        self._given += 1
        noisy = release(self._noise, total, budget=self._budget, stability=STEPS).value
        return min(1.0, max(0.0, int(noisy) / (size * STEPS)))

    def score(self, estimator: Any) -> float:
        """Return the accuracy of a trained classifier.

        Args:
            estimator: with ``predict``, as scikit-learn has it.

        """
        return self.ask(lambda rows, targets: np.asarray(estimator.predict(rows)) == np.asarray(targets))

    def __call__(self, estimator: Any, rows: Any = None, targets: Any = None) -> float:
        """Return the accuracy of a trained classifier, as scikit-learn calls a scorer; other rows are not scored."""
        return self.score(estimator)

    def __repr__(self) -> str:
        return f"<ReusableHoldout: {self.left} of {self.answers} answers left; {self.budget}>"


def _rows(name: str, rows: Any) -> tuple[Any, Any]:
    """Return features and targets; refuse other shapes."""
    if not isinstance(rows, tuple) or len(rows) != 2:
        raise InvalidParameter(name, type(rows).__name__, "a pair of features and targets")
    features, targets = rows
    if isinstance(targets, list | tuple):
        # Each target stays as it is: an array of all would take the type of one for the others.
        listed = np.empty(len(targets), dtype=object)
        for place, target in enumerate(targets):
            listed[place] = target
        targets = listed
    sizes = [len(features) if isinstance(features, list | tuple) else _length(features), _length(targets)]
    if sizes[0] < 1 or sizes[0] != sizes[1] or np.ndim(targets) != 1:
        raise InvalidParameter(name, f"{sizes[0]} rows and {sizes[1]} targets", "a target for each of some rows")
    with contextlib.suppress(Exception):  # by the type of the rows
        _part((features, np.asarray(targets)), 0, 1)
        return features, np.asarray(targets)
    raise InvalidParameter(name, type(features).__name__, "rows in an array, a frame or a list")


def _length(rows: Any) -> int:
    return int(rows.shape[0]) if getattr(rows, "shape", ()) else 0


def _part(rows: tuple[Any, Any], first: int, last: int) -> tuple[Any, Any]:
    """Return the rows between two places."""
    features, targets = rows
    return getattr(features, "iloc", features)[first:last], targets[first:last]


def _steps(scores: Scores, rows: tuple[Any, Any]) -> NDArray[np.int64]:
    """Return the score of each row in steps; what is no number counts as 0, and nothing is beyond 0 and 1."""
    found = np.asarray(scores(*rows), dtype=np.float64)
    if found.shape != (len(rows[1]),):
        raise InvalidParameter(
            "scores", f"an array of shape {found.shape}", f"one number for each of {len(rows[1])} rows"
        )
    clipped = np.clip(np.nan_to_num(found, nan=0.0), 0.0, 1.0)
    return np.floor(clipped * STEPS).astype(np.int64)


def _held_steps(scores: Scores, rows: tuple[Any, Any]) -> NDArray[np.int64]:
    """Return the score of each row of the holdout in steps, 0 for a row on which the scores fail; raise nothing.

    Rows that fail together are scored in halves: in the end every row has the score that it has alone.
    """
    found = np.zeros(len(rows[1]), dtype=np.int64)
    waiting = [(0, len(found))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while waiting:
            first, last = waiting.pop()
            try:
                found[first:last] = _steps(scores, rows if last - first == len(found) else _part(rows, first, last))
            except KeyboardInterrupt:
                raise
            except BaseException:  # its own words might show a row
                middle = (first + last) // 2
                waiting += [] if last - first == 1 else [(middle, last), (first, middle)]
    return found
