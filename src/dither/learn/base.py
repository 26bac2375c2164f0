"""What all estimators share: scikit-learn's contract around a mechanism that releases a model.

``fit`` does four things in this order: refuse what is wrong by type, shape or declaration; build the mechanism from
public parameters alone; charge a budget; release. Nothing raises because of data once the budget is charged, and no
message shows a value. ``prepare`` and ``adopt`` are the steps before and after the charge, for doors with a ledger.
"""

# scikit-learn calls rows X.
# ruff: noqa: N803, N806

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from dither.errors import InvalidParameter, InvalidValue
from dither.learn.models import Model, softmax
from dither.learn.rows import MOST_COLUMNS, Floats
from dither.learn.saved import Privacy, plain, read, write
from dither.mechanisms.core import Composed
from dither.mechanisms.release import Budget, release
from dither.mechanisms.spec import digest
from dither.privacy import ROW, ROW_REPLACED, ApproxDP, Loss, PureDP, Unit, stated_loss

UNITS: Final = {"row": ROW, "row_replaced": ROW_REPLACED}
AnyMechanism = Composed[Any, Any]


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that learns through one release of a mechanism.

    A subclass keeps its parameters in ``__init__`` and says in ``mechanism`` what they release.
    """

    epsilon: Any
    delta: Any
    rho: Any
    unit: str
    privacy_: Privacy
    model_: Any
    n_features_in_: int

    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release for so many columns: a function of public parameters, priced without data.

        Args:
            columns: how many columns there are.

        """
        raise NotImplementedError

    def fit(self, X: Any, y: Any, *, budget: Budget | None = None) -> Self:
        """Learn from rows and their labels or targets; every call is a release of its own.

        Args:
            X: rows of numbers. NaN, infinities and numbers beyond the bounds have a declared meaning.
            y: a label or target for each row.
            budget: what is charged; by default a budget of exactly this release.

        """
        mechanism, rows = self.prepare(X, y)
        loss, unit = mechanism.loss(1), cast(Unit, mechanism.distance)
        released = release(mechanism, rows, budget=_budget_of(loss, unit) if budget is None else budget)
        return self.adopt(released.value, mechanism, released.receipt)

    def prepare(self, X: Any, y: Any) -> tuple[AnyMechanism, Floats]:
        """Return the mechanism and its private rows; nothing is charged or drawn yet."""
        values = self._values(X, reset=True)
        mechanism = self.mechanism(self.n_features_in_)
        labels = self._labels(y)
        if len(labels) != len(values):
            raise InvalidValue("y", y, "one label for each row (inconsistent numbers of samples)")
        return mechanism, np.column_stack([values, labels])

    def adopt(self, model: Model, mechanism: AnyMechanism, receipt: str) -> Self:
        """Keep a released model; everything from here on is post-processing."""
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

    def save(self, path: Path | str) -> Path:
        """Write what was released to a JSON file that ``load`` reads, and return its path."""
        target = Path(path)
        target.write_text(self.to_json(), encoding="utf-8")
        return target

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Return the fitted estimator that ``save`` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def to_json(self) -> str:
        """Return the fitted estimator as JSON."""
        check_is_fitted(self, "model_")
        names = getattr(self, "feature_names_in_", None)
        return write(
            type(self).__name__,
            {
                "parameters": {name: plain(value) for name, value in self.get_params(deep=False).items()},
                "columns": int(self.n_features_in_),
                "names": None if names is None else [str(name) for name in names],
                "model": self.model_.to_record(),
                "privacy": self.privacy_.to_record(),
            },
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return the fitted estimator that a text stands for, or refuse the text."""
        record = read(text)
        if record["estimator"] != cls.__name__:
            raise InvalidParameter("estimator", record["estimator"], cls.__name__)
        try:
            found = cls(**record["parameters"])
            found.n_features_in_ = int(record["columns"])
            if record["names"] is not None:
                found.feature_names_in_ = np.array([str(name) for name in record["names"]], dtype=object)
        except (TypeError, ValueError):
            raise InvalidParameter("text", "a record of other parts", "an estimator as it was written") from None
        found.model_ = Model.from_record(record["model"])
        found.privacy_ = Privacy.from_record(record["privacy"])
        found._publish()
        return found

    def _publish(self) -> None:
        """Set the public attributes that follow from the model."""

    def _labels(self, y: Any) -> Floats:
        """Return private labels or targets as numbers."""
        raise NotImplementedError

    def _target(self) -> Loss:
        """Return what may be lost."""
        return stated_loss(epsilon=self.epsilon, delta=self.delta, rho=self.rho)

    def _unit(self) -> Unit:
        if self.unit not in UNITS:
            raise InvalidParameter("unit", self.unit, f"one of {', '.join(UNITS)}")
        return UNITS[self.unit]

    def _values(self, X: Any, *, reset: bool) -> Floats:
        return numbers_of(self, X, reset=reset)

    def _fitted(self, X: Any) -> Floats:
        check_is_fitted(self, "model_")
        return self._values(X, reset=False)

    def __getstate__(self) -> dict[str, Any]:
        # Copies and other processes get released numbers, as JSON would hold them.
        state = dict(super().__getstate__())
        return state | {name: state[name].to_record() for name in ("model_", "privacy_") if name in state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        readers = {"model_": Model.from_record, "privacy_": Privacy.from_record}
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

    def fit(self, X: Any, y: Any = None, *, budget: Budget | None = None) -> Self:
        """Learn from rows; every call is a release of its own.

        Args:
            X: rows of numbers. NaN, infinities and numbers beyond the bounds have a declared meaning.
            y: not used.
            budget: what is charged; by default a budget of exactly this release.

        """
        return super().fit(X, y, budget=budget)

    def prepare(self, X: Any, y: Any = None) -> tuple[AnyMechanism, Floats]:
        """Return the mechanism and its private rows; nothing is charged or drawn yet."""
        values = self._values(X, reset=True)
        return self.mechanism(self.n_features_in_), values

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A classifier among declared classes; rows with another label are left out."""

    classes: Any
    classes_: NDArray[Any]

    def _declared_classes(self) -> NDArray[Any]:
        if self.classes is None:
            raise InvalidParameter(
                "classes", None, "declared: all labels that may occur; they are never taken from data"
            )
        found = np.unique(np.asarray(self.classes))
        if found.ndim != 1 or found.size < 2 or found.dtype.kind not in "biufUSO":
            raise InvalidParameter("classes", self.classes, "two or more labels")
        return found

    def _labels(self, y: Any) -> Floats:
        codes = {label: code for code, label in enumerate(self._declared_classes().tolist())}
        return np.array([_code(codes, label) for label in _one_column(y).tolist()], dtype=np.float64)

    def _publish(self) -> None:
        self.classes_ = self._declared_classes()

    def decision_function(self, X: Any) -> Floats:
        """Return scores: above 0 for the second of two classes, else one for each class."""
        scores = self._scores(self._fitted(X))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        scores = self._scores(self._fitted(X))
        return cast("NDArray[Any]", self.classes_[scores.argmax(axis=1)])

    def _scores(self, values: Floats) -> Floats:
        """Return a score for each row and class; one score of a model is that of the second class against the first."""
        scores: Floats = self.model_.scores(values)
        return np.column_stack([np.zeros(len(scores)), scores]) if scores.shape[1] == 1 else scores


class ChanceClassifier(PrivateClassifier):
    """A classifier whose scores are logarithms of odds."""

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class, as the model has it."""
        return softmax(self._scores(self._fitted(X)))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return cast(Floats, np.log(self.predict_proba(X)))


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """A linear regression of a target within declared bounds; a target that is no number means their middle."""

    coef_: Floats
    intercept_: float

    def _labels(self, y: Any) -> Floats:
        column = _one_column(y)
        try:
            return column.astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidValue("y", y, "numbers") from None

    def _publish(self) -> None:
        self.coef_, self.intercept_ = self.model_.coefficients[0], float(self.model_.constants[0])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the expected target of each row."""
        values = self._fitted(X)
        found: Floats = self.model_.scores(values)[:, 0]
        return found


def numbers_of(estimator: Any, X: Any, *, reset: bool) -> Floats:
    """Return rows as floats, refusing by type and shape alone; no message of another library shows a value.

    Args:
        estimator: whose number and names of columns are kept, or must be met.
        X: rows of columns.
        reset: whether these are the rows that are learned from.

    """
    if hasattr(X, "toarray"):
        X = X.toarray()  # a sparse matrix
    try:
        array = np.asarray(X)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except Exception:
        array = np.array("")
    if array.dtype.kind == "c":
        raise InvalidValue("X", X, "real numbers (Complex data not supported)")
    if array.dtype.kind not in "biuf":
        rule = "numbers; encode texts by public categories first (an argument must be a string or a number)"
        raise (TypeError(f"X must be {rule}") if _holds_objects(X) else InvalidValue("X", X, rule))
    if array.ndim != 2:
        raise InvalidValue("X", X, "rows of columns. Reshape your data: X.reshape(-1, 1) or X.reshape(1, -1)")
    if not hasattr(X, "columns"):
        X = array
    checked = validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    return np.asarray(checked, dtype=np.float64)


def bounds_of(bounds: Any, columns: int, parameter: str = "bounds") -> tuple[Floats, Floats]:
    """Return the lower and the upper bound of each column, or say what must be declared.

    Args:
        bounds: a pair (lower, upper), each one number or one for each column; or a row (lower, upper) for each column,
            which is what two lists of two numbers mean where there are two columns.
        columns: how many columns there are.
        parameter: its name in refusals.

    """
    rule = f"declared: (lower, upper) for all columns, or one pair for each of {columns}; never taken from data"
    if bounds is None or not columns <= MOST_COLUMNS:
        raise InvalidParameter(parameter, bounds, rule)
    try:
        if isinstance(bounds, tuple | list) and len(bounds) == 2 and (columns != 2 or np.ndim(bounds[0]) == 0):
            low, high = (np.broadcast_to(np.asarray(side, dtype=np.float64), (columns,)) for side in bounds)
        else:
            low, high = np.broadcast_to(np.asarray(bounds, dtype=np.float64), (columns, 2)).T
    except (TypeError, ValueError):
        raise InvalidParameter(parameter, bounds, rule) from None
    if not (np.isfinite(low).all() and np.isfinite(high).all() and (low < high).all()):
        raise InvalidParameter(parameter, bounds, "finite, the lower below the upper in every column")
    return np.array(low), np.array(high)


def _budget_of(loss: Loss, unit: Unit) -> Budget:
    """Return a budget for one release of this loss."""
    if isinstance(loss, PureDP):
        return Budget(epsilon=loss.epsilon, unit=unit)
    if isinstance(loss, ApproxDP):
        return Budget(epsilon=loss.epsilon, delta=loss.delta, unit=unit)
    return Budget(rho=loss.rho, unit=unit)


def _one_column(y: Any) -> NDArray[Any]:
    if y is None:
        raise InvalidValue("y", y, "given: this estimator requires y to be passed, but the target y is None")
    array = np.asarray(y)
    if array.dtype.kind == "c":
        raise InvalidValue("y", y, "real labels (Complex data not supported)")
    if array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1):
        return np.asarray(column_or_1d(array, warn=True))
    raise InvalidValue("y", y, "one label for each row")


def _code(codes: dict[Any, int], label: Any) -> int:
    try:
        return codes.get(label, -1)
    except TypeError:
        return -1


def _holds_objects(X: Any) -> bool:
    """Whether the first cell is neither a number nor a text, which scikit-learn wants refused as a type."""
    try:
        first = np.asarray(X, dtype=object).ravel()[:1].tolist()
    except ValueError:
        return False
    return bool(first) and not isinstance(first[0], str | bytes | float | int)
