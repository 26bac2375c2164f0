"""Transformers that follow from declarations alone: they read nothing from rows, so they cost nothing."""

# scikit-learn calls rows X.
# ruff: noqa: N803

from __future__ import annotations

from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dither.data.cell_values import codes_of, is_label
from dither.errors import InvalidParameter, InvalidValue
from dither.learn.base import bounds_of, numbers_of, width_of
from dither.learn.containers import is_named, rows_as_columns
from dither.learn.rows import Floats
from dither.learn.saved import Privacy, Savable, read
from dither.privacy import PureDP

#: What a transformer that reads no rows loses.
NOTHING_LOST: Final = Privacy(
    PureDP(0), PureDP(0), "any change of the rows", "exact", "declared", "", "nothing charged"
)


class PublicTransformer(Savable, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer whose ``fit`` reads only the shape of the rows.

    A subclass says in ``_declare`` what its parameters mean for a number of columns.
    """

    n_features_in_: int
    privacy_: Privacy

    def fit(self, X: Any, y: Any = None, *, columns: int | None = None) -> Self:
        """Check the declarations against the number of columns; rows are not read.

        Args:
            X: rows.
            y: not used.
            columns: the number of columns of a list of rows; by default the declared number.

        """
        return self._adopt(self._fit_columns(X, columns))

    def _released(self) -> dict[str, Any]:
        check_is_fitted(self, "privacy_")
        return {"model": None, "privacy": self.privacy_.to_dict()}

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the fitted transformer that a text describes, or refuse the text."""
        record = read(text)
        if record["estimator"] != cls.__name__:
            raise InvalidParameter("estimator", record["estimator"], cls.__name__)
        try:
            found = cls(**record["parameters"])
            columns = int(record["columns"])
        except (TypeError, ValueError):
            raise InvalidParameter("text", "a record of other parts", "a transformer as it was written") from None
        if record["names"] is not None:
            found.feature_names_in_ = np.array([str(name) for name in record["names"]], dtype=object)
        return found._adopt(columns)

    def _adopt(self, columns: int) -> Self:
        self._declare(columns)
        self.n_features_in_, self.privacy_ = columns, NOTHING_LOST
        return self

    def _declare(self, columns: int) -> None:
        """Set the attributes that the parameters mean for ``columns`` columns."""
        raise NotImplementedError

    def _fit_columns(self, X: Any, columns: int | None) -> int:
        return int(numbers_of(self, X, reset=True, columns=columns).shape[1])

    def _checked(self, X: Any) -> Floats:
        check_is_fitted(self, "privacy_")
        return numbers_of(self, X, reset=False)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.requires_fit = True
        return tags


class MinMaxScaler(PublicTransformer):
    """Columns moved from their declared bounds to 0 and 1; costs nothing, because no row is read.

    Args:
        bounds: (lower, upper) for all columns, or a pair for each; numbers beyond are clipped, NaN means the middle.

    >>> from dither.learn import MinMaxScaler
    >>> MinMaxScaler(bounds=[(0, 50)]).fit([[1.0]]).transform([[25.0], [99.0]]).tolist()
    [[0.5], [1.0]]

    """

    data_min_: Floats
    data_max_: Floats

    def __init__(self, *, bounds: Any = None) -> None:
        self.bounds = bounds

    def transform(self, X: Any) -> Floats:
        """Return the rows between 0 and 1."""
        values = self._checked(X)
        low, high = self.data_min_, self.data_max_
        with np.errstate(all="ignore"):
            known = np.where(np.isnan(values), low / 2 + high / 2, values)
            found: Floats = np.clip((np.clip(known, low, high) - low) / (high - low), 0.0, 1.0)
        return found

    def inverse_transform(self, X: Any) -> Floats:
        """Return rows in their own units."""
        values = self._checked(X)
        found: Floats = self.data_min_ + values * (self.data_max_ - self.data_min_)
        return found

    def _declare(self, columns: int) -> None:
        self.data_min_, self.data_max_ = bounds_of(self.bounds, columns)


class OneHotEncoder(PublicTransformer):
    """A column of zeros and ones for each declared category; a value that is not a category becomes all zeros.

    Nothing is lost, because categories are declared and never found in the rows.

    Args:
        categories: a list of labels for each column.

    >>> from dither.learn import OneHotEncoder
    >>> encoder = OneHotEncoder(categories=[["a", "b"], [0, 1]]).fit([["a", 0]])
    >>> encoder.transform([["b", 1], ["c", 0]]).tolist()
    [[0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0]]
    >>> encoder.get_feature_names_out().tolist()
    ['x0_a', 'x0_b', 'x1_0', 'x1_1']

    """

    categories_: list[list[Any]]

    def __init__(self, *, categories: Any = None) -> None:
        self.categories = categories

    def transform(self, X: Any) -> Floats:
        """Return zeros and ones, the categories of the first column first."""
        check_is_fitted(self, "privacy_")
        columns = self._columns(X, reset=False)
        parts = []
        for labels, cells in zip(self.categories_, columns, strict=True):
            code = codes_of(labels)
            codes = np.fromiter(map(code, cells), dtype=np.int64, count=len(cells))
            parts.append((codes[:, None] == np.arange(len(labels))).astype(np.float64))
        return np.hstack(parts)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return a name for each column that ``transform`` makes."""
        check_is_fitted(self, "privacy_")
        given = getattr(self, "feature_names_in_", None) if input_features is None else input_features
        names = [f"x{place}" for place in range(self.n_features_in_)] if given is None else [str(one) for one in given]
        pairs = zip(names, self.categories_, strict=True)
        return np.array([f"{name}_{label}" for name, labels in pairs for label in labels], dtype=object)

    def _declare(self, columns: int) -> None:
        rule = f"declared: a list of different labels for each of {columns} columns; never taken from data"
        declared = self.categories
        if not (isinstance(declared, list | tuple | np.ndarray) and len(declared) == columns):
            raise InvalidParameter("categories", declared, rule)
        lists = [list(one) if np.ndim(one) == 1 else [] for one in declared]
        for one in lists:
            # Labels that look alike would be columns of one name.
            if not one or not all(map(is_label, one)) or len({str(label) for label in one}) != len(one):
                raise InvalidParameter("categories", declared, rule)
            code = codes_of(one)
            if [code(label) for label in one] != list(range(len(one))):
                raise InvalidParameter("categories", declared, rule)
        self.categories_ = lists

    def _fit_columns(self, X: Any, columns: int | None) -> int:
        return len(self._columns(X, reset=True, columns=columns))

    def _columns(self, X: Any, *, reset: bool, columns: int | None = None) -> list[list[Any]]:
        """Return the cells of each column."""
        cells = rows_as_columns(X, width_of(self, reset=reset, columns=columns))
        if reset:
            validate_data(self, X if is_named(X) else np.empty((0, len(cells))), skip_check_array=True)
        elif len(cells) != self.n_features_in_:
            rule = f"{self.n_features_in_} columns wide (X has {len(cells)} features, but {type(self).__name__} "
            raise InvalidValue("X", X, f"{rule}is expecting {self.n_features_in_} features as input)")
        return cells
