"""What all estimators share: scikit-learn's contract around a mechanism that releases a model.

``fit`` does four things in this order: refuse what is wrong by type, shape or declaration; build the mechanism from
public parameters alone; charge a budget; release. Nothing raises because of data once the budget is charged, and no
message shows a value. ``prepare`` and ``adopt`` are the steps before and after the charge, for doors with a ledger.
"""

# scikit-learn calls rows X.
# ruff: noqa: N803

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar, Final, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from dither.data.cell_values import codes_of, sorted_classes
from dither.errors import DitherError, InvalidParameter, InvalidValue
from dither.estimate.one_thread import one_thread
from dither.exact import whole
from dither.learn.containers import cells_in, column_as_numbers, is_named, one_column, rows_as_numbers
from dither.learn.encoding import Encoding, encoding_of
from dither.learn.models import Model, softmax
from dither.learn.rows import MOST_COLUMNS, Floats
from dither.learn.saved import Privacy, Savable, parameters_of, read
from dither.learn.spending import Tally, budget_of
from dither.mechanisms.core.mechanism import Composed
from dither.mechanisms.core.release import Budget, release
from dither.mechanisms.core.spec import digest
from dither.privacy import Loss, Unit, stated_loss, unit_of
from dither.privacy.fields import RowUnit

AnyMechanism = Composed[Any, Any]
_TWO_AXES: Final = (
    "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
    "for example using ravel()."
)


class PrivateEstimator(Savable, BaseEstimator):  # type: ignore[misc]
    """An estimator that learns through one release of a mechanism.

    A subclass keeps its parameters in ``__init__`` and says in ``mechanism`` what they release.
    """

    #: Whether columns of declared categories are read as codes, and not as a column of zeros and ones each.
    reads_codes: ClassVar[bool] = False

    epsilon: Any
    delta: Any
    rho: Any
    loss: Any
    unit: Any
    budget: Any
    privacy_: Privacy
    model_: Any
    n_features_in_: int

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return the mechanism that ``fit`` will run on rows of ``columns`` columns: priced without data.

        Args:
            columns: the number of columns.

        """
        raise NotImplementedError

    def fit(self, X: Any, y: Any, *, columns: int | None = None, budget: Budget | None = None) -> Self:
        """Learn from rows and their labels or targets; every call is a new release.

        Args:
            X: rows: an array, a sparse matrix, a frame, or a list where the number of columns is declared. NaN,
                infinities, numbers beyond the bounds, cells that are not numbers and cells that are none of the
                declared categories have a declared meaning.
            y: a label or target for each row.
            columns: how many columns a list of rows has; by default as many as ``bounds`` or ``categories`` declare.
            budget: what is charged; by default that of the estimator, and without one a budget of exactly this release.

        """
        mechanism, rows = self.prepare(X, y, columns=columns)
        stated = self.budget if budget is None else budget
        with one_thread(rows.size):
            released = release(mechanism, rows, budget=budget_of(mechanism) if stated is None else stated)
        self._tally.add(released.loss)
        return self.adopt(released.value, mechanism, self._tally.receipt())

    def prepare(self, X: Any, y: Any, *, columns: int | None = None) -> tuple[AnyMechanism, Floats]:
        """Return the mechanism and its private rows; nothing is charged or drawn yet."""
        records = self.private_rows(X, y, columns=columns)
        return self.mechanism(self.n_features_in_), records

    def private_rows(self, X: Any, y: Any, *, reset: bool = True, columns: int | None = None) -> Floats:
        """Return private rows as the mechanism takes them, each read by itself: columns, then a label or target.

        Args:
            X: rows of numbers.
            y: a label or target for each row.
            reset: whether the number and the names of columns are kept, or must be met.
            columns: the number of columns of a list of rows.

        """
        values = self._values(X, reset=reset, columns=columns)
        labels = self._labels(y)
        if len(labels) != len(values):
            raise InvalidValue("y", y, "one label for each row (inconsistent numbers of samples)")
        return np.column_stack([values, labels])

    def adopt(self, model: Model, mechanism: AnyMechanism, receipt: str) -> Self:
        """Keep a released model; every later step is post-processing."""
        self.model_ = model
        self.privacy_ = Privacy(
            mechanism.loss(1),
            self._target(),
            str(mechanism.distance),
            mechanism.numerics.value,
            mechanism.name,
            digest(mechanism),
            receipt,
        )
        self._publish()
        return self

    def _released(self) -> dict[str, Any]:
        check_is_fitted(self, "model_")
        return {"model": self.model_.to_dict(), "privacy": self.privacy_.to_dict()}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the fitted estimator that a text describes, or refuse the text."""
        record = read(text)
        if record["estimator"] != cls.__name__:
            raise InvalidParameter("estimator", record["estimator"], cls.__name__)
        found = None
        with suppress(TypeError, ValueError):
            made = cls(**parameters_of(record))
            made.n_features_in_ = int(record["columns"])
            if record["names"] is not None:
                made.feature_names_in_ = np.array([str(name) for name in record["names"]], dtype=object)
            found = made
        if found is None:
            raise InvalidParameter("text", "a record of other parts", "an estimator as it was written")
        found.model_ = Model.from_dict(record["model"])
        found.privacy_ = Privacy.from_dict(record["privacy"])
        found._publish()
        return found

    def _publish(self) -> None:
        """Set the public attributes that follow from the model."""

    def _labels(self, y: Any) -> Floats:
        """Return private labels or targets as numbers."""
        raise NotImplementedError

    def _target(self) -> Loss:
        """Return the loss that the parameters allow."""
        return stated_loss(epsilon=self.epsilon, delta=self.delta, rho=self.rho, loss=self.loss)

    def _unit(self) -> Unit:
        return RowUnit(rule="row or row_replaced").convert("unit", unit_of(self.unit))

    def encoding(self) -> Encoding | None:
        """Return what is declared about columns by name; None where they have no declared names."""
        bounds, categories = getattr(self, "bounds", None), getattr(self, "categories", None)
        return encoding_of(bounds, categories, as_codes=self.reads_codes)

    def box(self, columns: int) -> tuple[Floats, Floats]:
        """Return the bounds of the numbers that a row becomes, or say what must be declared.

        Args:
            columns: how many columns there are.

        """
        declared = self.encoding()
        if declared is None:
            return bounds_of(getattr(self, "bounds", None), columns)
        if len(declared.names) != columns:
            raise InvalidParameter("bounds", list(declared.names), f"with categories, for each of {columns} columns")
        return declared.box()

    def _values(self, X: Any, *, reset: bool, columns: int | None = None) -> Floats:
        declared = self.encoding()
        if declared is None:
            return self._coded(numbers_of(self, X, reset=reset, columns=columns))
        found = declared.numbers(X, self.threshold_of_numbers())
        if reset:
            self.n_features_in_ = len(declared.names)
            self.feature_names_in_ = np.array(declared.names, dtype=object)
        return found

    def _coded(self, values: Floats) -> Floats:
        """Return these numbers as the mechanism takes them, each row by itself."""
        above = self.threshold_of_numbers()
        return values if above is None else np.where(np.isnan(values), np.nan, (values > above).astype(np.float64))

    def threshold_of_numbers(self) -> float | None:
        """Return the public number above which a number is read as 1, otherwise as 0; None where it is kept as is."""
        return None

    def declared_classes(self) -> NDArray[Any] | None:
        """Return the declared labels in the order of their codes; None where labels are numbers."""
        return None

    def _fitted(self, X: Any) -> Floats:
        check_is_fitted(self, "model_")
        return self._values(X, reset=False)

    @property
    def _tally(self) -> Tally:
        """What this estimator and its copies have lost in this process."""
        return cast(Tally, self.__dict__.setdefault("_shared_tally", Tally()))

    def __sklearn_clone__(self) -> Self:
        # Searches fit copies: these are counted with their original.
        copied = super().__sklearn_clone__()
        copied.__dict__["_shared_tally"] = self._tally
        return cast(Self, copied)

    def __getstate__(self) -> dict[str, Any]:
        # Copies and other processes get released numbers, as JSON would hold them.
        state = dict(super().__getstate__())
        state.pop("_shared_tally", None)
        return state | {name: state[name].to_dict() for name in ("model_", "privacy_") if name in state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        readers = {"model_": Model.from_dict, "privacy_": Privacy.from_dict}
        kept = {name: read_back(state[name]) for name, read_back in readers.items() if name in state}
        super().__setstate__(state | kept)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.non_deterministic = True
        return tags


class RowsEstimator(PrivateEstimator):
    """An estimator that learns from rows without labels."""

    def fit(self, X: Any, y: Any = None, *, columns: int | None = None, budget: Budget | None = None) -> Self:
        """Learn from rows; every call is a new release.

        Args:
            X: rows: an array, a sparse matrix, a frame, or a list where the number of columns is declared. NaN,
                infinities, numbers beyond the bounds, cells that are not numbers and cells that are none of the
                declared categories have a declared meaning.
            y: not used.
            columns: how many columns a list of rows has; by default as many as ``bounds`` declares.
            budget: what is charged; by default that of the estimator, and without one a budget of exactly this release.

        """
        return super().fit(X, y, columns=columns, budget=budget)

    def prepare(self, X: Any, y: Any = None, *, columns: int | None = None) -> tuple[AnyMechanism, Floats]:
        """Return the mechanism and its private rows; nothing is charged or drawn yet."""
        return super().prepare(X, y, columns=columns)

    def private_rows(self, X: Any, y: Any = None, *, reset: bool = True, columns: int | None = None) -> Floats:
        """Return private rows as the mechanism takes them, each read by itself."""
        return self._values(X, reset=reset, columns=columns)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


#: Kinds of arrays whose equal entries are equal labels.
_COMPARED = "biufU"


def _coded(column: Any, code: Callable[[Any], int]) -> Floats:
    """Return the code of each label; of an array each different label is looked at once."""
    if isinstance(column, np.ndarray) and column.dtype.kind in _COMPARED and column.size:
        different, places = np.unique(column.reshape(-1), return_inverse=True)
        return np.array([code(label) for label in cells_in(different)], dtype=np.float64)[places.reshape(-1)]
    return np.array([code(label) for label in cells_in(column)], dtype=np.float64)


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A classifier among declared classes; rows with another label are left out."""

    classes: Any
    classes_: NDArray[Any]

    def declared_classes(self) -> NDArray[Any]:
        """Return the declared labels in the order of their codes."""
        return sorted_classes(self.classes)

    def _labels(self, y: Any) -> Floats:
        return _coded(_one_column(y), codes_of(self.declared_classes().tolist()))

    def _publish(self) -> None:
        self.classes_ = self.declared_classes()

    def decision_function(self, X: Any) -> Floats:
        """Return scores: for two classes one, above 0 for the second; otherwise one for each class."""
        scores = self._scores(self._fitted(X))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        scores = self._scores(self._fitted(X))
        return cast("NDArray[Any]", self.classes_[scores.argmax(axis=1)])

    def _scores(self, values: Floats) -> Floats:
        """Return a score for each row and class; a single score is that of the second class against the first."""
        scores: Floats = self.model_.scores(values)
        return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores


def guarded(build: Callable[[Any, int], AnyMechanism]) -> Callable[[Any, int], AnyMechanism]:
    """Make a classifier's ``mechanism`` guard a learner of two classes where little may be lost.

    See ``GuardedClassifier``: what is released is the learner's model, or the noisy shares of the classes where it
    seems to do worse than the larger one.

    Args:
        build: returns the learner that spends the loss which the estimator states.

    """

    @functools.wraps(build)
    def built(estimator: Any, columns: int) -> AnyMechanism:
        # The rooms of the learners are below this one; that of selections imports it.
        from dither.learn.selection.guarded import GuardedClassifier, is_small

        stated = estimator._target()
        # The largest of many classes is seldom worth much, and noise makes one of them look larger than it is.
        if not is_small(stated) or len(estimator.declared_classes()) != 2:
            return build(estimator, columns)
        public = estimator.get_params(deep=False) | dict.fromkeys(("epsilon", "delta", "rho"))

        def learner(loss: Loss) -> AnyMechanism:
            return build(type(estimator)(**public | {"loss": loss}), columns)

        # Where a parameter is wrong, that is refused again below; or the learner cannot keep a share of such a loss.
        with suppress(DitherError):
            return GuardedClassifier.calibrated(stated, build=learner, classes=2)
        return build(estimator, columns)

    return built


class ChanceClassifier(PrivateClassifier):
    """A classifier whose scores are log odds."""

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class under the model."""
        return softmax(self._scores(self._fitted(X)))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return cast(Floats, np.log(self.predict_proba(X)))


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """A linear regression of a target within declared bounds; a target that is not a number means their middle."""

    coef_: Floats
    intercept_: float

    def _labels(self, y: Any) -> Floats:
        return column_as_numbers(_one_column(y))

    def _publish(self) -> None:
        self.coef_, self.intercept_ = self.model_.coefficients[0], float(self.model_.constants[0])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the expected target of each row."""
        values = self._fitted(X)
        found: Floats = self.model_.scores(values)[:, 0]
        return found


def numbers_of(estimator: Any, X: Any, *, reset: bool, columns: int | None = None) -> Floats:
    """Return rows as floats, each cell read by itself; containers are refused by type and shape alone.

    Args:
        estimator: whose number and names of columns are kept, or must be met.
        X: rows of columns.
        reset: whether these are the rows that are learned from.
        columns: the number of columns of a list of rows; by default as fitted or declared.

    """
    values = rows_as_numbers(X, width_of(estimator, reset=reset, columns=columns))
    # Names and widths only: cells have been read.
    validate_data(estimator, X if is_named(X) else values, reset=reset, skip_check_array=True)
    return values


def width_of(estimator: Any, *, reset: bool, columns: int | None = None) -> int | None:
    """Return the number of columns of a list of rows, which its rows cannot say: stated, known or declared.

    Args:
        estimator: a fitted one, or one with declarations for each column.
        reset: whether rows are learned from.
        columns: the stated number.

    """
    if columns is not None:
        return whole("columns", columns, least=1, most=MOST_COLUMNS)
    if not reset:
        return int(estimator.n_features_in_)
    for part in (estimator, getattr(estimator, "estimator", None)):
        listed = getattr(part, "categories", None)
        is_list = isinstance(listed, list | tuple) or (isinstance(listed, np.ndarray) and listed.ndim > 0)
        found = len(cast("list[Any]", listed)) if is_list else _columns_bounded(getattr(part, "bounds", None))
        if found:
            return found
    return None


def _columns_bounded(bounds: Any) -> int | None:
    """Return the number of columns whose bounds are declared one by one; None where one pair holds for all columns."""
    if isinstance(bounds, np.ndarray):
        return len(bounds) if bounds.ndim == 2 else None
    if not isinstance(bounds, tuple | list):
        return None
    if len(bounds) == 2:
        # Two sides or two columns; two numbers are for all columns.
        sizes = {len(side) for side in bounds if np.ndim(side) == 1}
        return sizes.pop() if len(sizes) == 1 else None
    return len(bounds)


def bounds_of(bounds: Any, columns: int, parameter: str = "bounds") -> tuple[Floats, Floats]:
    """Return the lower and the upper bound of each column, or raise an error that says what must be declared.

    Args:
        bounds: a pair (lower, upper), each one number or one for each column; or a row (lower, upper) for each column,
            which is what two lists of two numbers mean where there are two columns.
        columns: the number of columns.
        parameter: its name in refusals.

    """
    rule = f"declared: (lower, upper) for all columns, or one pair for each of {columns}; never taken from data"
    if bounds is None or not columns <= MOST_COLUMNS:
        raise InvalidParameter(parameter, bounds, rule)
    sides = None
    with suppress(TypeError, ValueError):
        if isinstance(bounds, tuple | list) and len(bounds) == 2 and (columns != 2 or np.ndim(bounds[0]) == 0):
            sides = [np.broadcast_to(np.asarray(side, dtype=np.float64), (columns,)) for side in bounds]
        else:
            pairs = np.asarray(bounds, dtype=np.float64)
            # A list of one pair is for one column: it does not stand for all of them in silence.
            if pairs.shape in ((2,), (columns, 2)):
                sides = [*np.broadcast_to(pairs, (columns, 2)).T]
    if sides is None:
        raise InvalidParameter(parameter, bounds, rule)
    low, high = sides
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise InvalidParameter(parameter, bounds, "finite, the lower below the upper in every column")
    return np.array(low), np.array(high)


def _one_column(y: Any) -> Any:
    """Return labels or targets with one axis; a column with two is taken with scikit-learn's warning."""
    found = one_column(y)
    if not isinstance(found, np.ndarray) or found.ndim != 2:
        return found
    # scikit-learn's own reshaping refuses by content (complex numbers, with all of them in its words) and drops masks.
    warnings.warn(_TWO_AXES, DataConversionWarning, stacklevel=2)
    return found.reshape(-1)
