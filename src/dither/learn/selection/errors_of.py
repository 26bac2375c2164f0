"""The error of a released model on private rows, in integers, and how rows are divided among candidates.

The error of a row is an integer that depends on the row and on the model alone, so that one row more or less moves
a sum of errors by that row's own and by nothing else. Matrix products of floats would not do: their last digits depend
on the number of rows. Models that are sums over columns are therefore evaluated column by column, element by element,
trees by looking up and adding; all others one row at a time.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, get_type_hints

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import Of, Real, Text, TupleOf, Whole
from dither.learn.bayes.categorical import CategoricalModel
from dither.learn.bayes.gaussian import GaussianModel
from dither.learn.linear.fourier import features_of
from dither.learn.linear.kernels import KernelModel
from dither.learn.models import LinearModel
from dither.learn.rows import STEPS, Box, Floats, target_box
from dither.learn.sparse.model import SparseModel
from dither.learn.trees.models import BoostedModel, ForestModel
from dither.learn.trees.random_forest import tree_of
from dither.mechanisms.core.mechanism import Composed
from dither.privacy import ROW, Loss
from dither.privacy.losses import largest

#: The error of a row whose prediction is off by half the target's range or more; smaller ones count by their square.
STEPS_OF_ERROR: Final = 2**12
MOST_CANDIDATES: Final = 2**10
#: The methods of a model that tell of rows.
_TELLING: Final = ("scores", "probabilities")


def scores_rows(kind: Any) -> bool:
    """Whether models of learners of this class score rows, by what their ``release`` says that it returns.

    Known before anything is learned or charged; a class that does not say what it returns is not believed.
    """
    return _says_scores(kind)


@lru_cache(maxsize=256)
def _says_scores(kind: Hashable) -> bool:
    try:
        released = get_type_hints(kind.release).get("return")  # type: ignore[attr-defined]
    except (AttributeError, NameError, TypeError):
        return False
    return isinstance(released, type) and any(hasattr(released, name) for name in _TELLING)


def is_judged(learner: Any) -> bool:
    """Whether a learner's models can be scored on rows that were held out.

    A replaced row leaves one part of the rows and enters another, and neither sees a replacement.
    """
    return learner.distance == ROW and scores_rows(type(learner))


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The public facts of the choice among learners: the kind of error, and how rows are divided."""

    candidates: TupleOf = TupleOf(
        Of(Composed, where=is_judged, rule="learners from rows added or removed, of models that score rows"),
        least=2,
        most=MOST_CANDIDATES,
        rule=f"two to {MOST_CANDIDATES} learners",
    )
    classes: Whole = Whole(0, most=2**12)
    target_lower: Real = Real(0)
    target_upper: Real = Real(1)
    held_out: Whole = Whole(1, least=1, most=MOST_CANDIDATES)
    public_seed: Text = Text("")

    def __post_init__(self) -> None:
        if self.classes == 1:
            raise InvalidParameter("classes", self.classes, "two or more, or 0 for a regression")
        # A range that floats do not hold would make an error that is not a number of one that is 0.
        _ = target_box(self.target_lower, self.target_upper)
        if self.classes and not (self.target_lower == 0 and self.target_upper == 1):
            raise InvalidParameter("target_upper", str(self.target_upper), "not allowed: classes have no bounds")

    @property
    def dearest(self) -> Loss:
        """The largest loss of any candidate, figure by figure."""
        return largest(one.loss(1) for one in self.candidates)

    @property
    def kinds(self) -> tuple[type[Any], ...]:
        """The types of the candidates, without duplicates."""
        return tuple(dict.fromkeys(type(one) for one in self.candidates))

    @property
    def largest_error(self) -> int:
        """How far one row moves a sum of errors."""
        return 1 if self.classes else STEPS_OF_ERROR

    def divided(self, data: Any, parts: int) -> list[Floats]:
        """Return the private rows in ``parts`` parts and, last, the held-out part.

        A row's part is a public hash of its content and of its number among its equals: one row more or less changes
        one part by that row.
        """
        rows, slots = slots_of(data, parts + self.held_out, self.public_seed)
        part = np.minimum(slots, parts)
        return [rows[part == number] for number in range(parts + 1)]

    def errors(self, model: Any, rows: Floats) -> int:
        """Return the sum of the errors of a model about private rows; rows without a known label have none."""
        if self.classes:
            return int(np.count_nonzero(told_wrong(model, rows, self.classes)[1]))
        scores, labels = scores_of(model, rows[:, :-1]), rows[:, -1]
        with np.errstate(all="ignore"):
            half = float(self.target_upper - self.target_lower) / 2
            middle = float(self.target_lower + self.target_upper) / 2
            targets = np.clip(np.where(np.isnan(labels), middle, labels), middle - half, middle + half)
            off = np.abs(scores[:, 0] - targets) / half
            off = np.where(np.isnan(off), np.inf, off)
            return int(np.floor(np.minimum(off, 1.0) ** 2 * STEPS_OF_ERROR).astype(np.int64).sum())


def slots_of(data: Any, slots: int, public_seed: str) -> tuple[Floats, NDArray[np.int64]]:
    """Return private rows, and a slot for each: a public hash of its content and of its number among its equals.

    Args:
        data: rows of numbers, the label or target last.
        slots: how many there are.
        public_seed: a public text.

    """
    if not (isinstance(data, np.ndarray) and data.dtype.kind in "biuf" and data.ndim == 2 and data.shape[1] > 1):
        raise InvalidValue("data", data, "an array of numbers, the label or target of a row last")
    with np.errstate(all="ignore"):
        rows = np.ascontiguousarray(data, dtype=np.float64)
        # One zero and one NaN, so that equal rows have equal bits.
        rows = np.where(np.isnan(rows), np.nan, rows + 0.0)
    return rows, tree_of(rows.view(np.int64), slots, public_seed)


def told_wrong(model: Any, rows: Floats, classes: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return for each row whether its label is known and told right, and whether it is known and told wrong."""
    scores, labels = scores_of(model, rows[:, :-1]), rows[:, -1]
    with np.errstate(all="ignore"):
        known = (labels >= 0) & (labels < classes) & (labels == np.floor(labels))
        told = (scores[:, 0] > 0) if scores.shape[1] == 1 else scores.argmax(axis=1)
        is_right = told == labels
    return known & is_right, known & ~is_right


def scores_of(model: Any, values: Floats) -> Floats:
    """Return the scores of each row, computed from that row and the model alone."""
    if isinstance(model, SparseModel):
        places = model.chosen.values
        return _linear(model.inner, model.box.scaled(values)[:, places])
    if isinstance(model, LinearModel):
        return _linear(model, values)
    if isinstance(model, KernelModel):
        steps = Box(model.lower, model.upper).steps(values)
        return _linear(model.linear, features_of(steps, model.frequencies, model.offsets) / STEPS)
    if isinstance(model, GaussianModel):
        return _gaussian(model, values)
    if isinstance(model, BoostedModel | ForestModel | CategoricalModel):
        # Numbers from tables, added element by element.
        return model.scores(values)
    tell = next((getattr(model, name) for name in _TELLING if hasattr(model, name)), None)
    if tell is None:
        # Learners of such models were refused when they were named.
        raise InvalidParameter("model", type(model).__name__, "a model that scores rows")
    if not len(values):
        return np.zeros((0, 2))
    # Always the same place in memory, an array of one row.
    alone = np.empty((1, values.shape[1]))
    found = []
    for row in values:
        alone[0] = row
        found.append(np.array(tell(alone)[0], dtype=np.float64))
    return np.array(found)


def _linear(model: LinearModel, values: Floats) -> Floats:
    """Return the scores of a linear model, adding one column at a time, element by element."""
    centred = Box(model.lower, model.upper).scaled(values) - model.shift.values
    found = np.zeros((len(values), len(model.weights.values)))
    for column in range(centred.shape[1]):
        found = found + centred[:, column, None] * model.weights.values[None, :, column]
    scores: Floats = found / _lengths(centred, model.radius)[:, None] + model.intercepts.values
    return scores


def _gaussian(model: GaussianModel, values: Floats) -> Floats:
    """Return the log densities of normal columns, adding one column at a time, element by element."""
    centred = Box(model.lower, model.upper).scaled(values) - model.shift.values
    rows = centred / _lengths(centred, model.radius)[:, None]
    found = np.zeros((len(values), len(model.shares.values)))
    for column in range(rows.shape[1]):
        apart = rows[:, column, None] - model.means.values[None, :, column]
        found = found - 0.5 * (apart * apart / model.variances.values[None, :, column])
    scores: Floats = found - 0.5 * np.log(model.variances.values).sum(axis=1) + np.log(model.shares.values)
    return scores


def _lengths(centred: Floats, radius: float) -> Floats:
    """Return the lengths of rows, at least the radius, adding one column at a time."""
    squares = np.zeros(len(centred))
    for column in range(centred.shape[1]):
        squares = squares + centred[:, column] * centred[:, column]
    lengths: Floats = np.maximum(np.sqrt(squares), radius)
    return lengths
