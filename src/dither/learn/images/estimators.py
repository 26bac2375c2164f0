"""Estimators of images: a private head on public features, and on what a caller's frozen extractor returns."""

# scikit-learn calls rows X.
# ruff: noqa: N803

from __future__ import annotations

import hashlib
import math
from typing import Any, ClassVar, Final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dither.errors import InvalidParameter, InvalidValue
from dither.exact import whole
from dither.learn.base import AnyMechanism, ChanceClassifier, bounds_of, numbers_of
from dither.learn.containers import is_named
from dither.learn.conventions import Iterated, in_words
from dither.learn.images.features import COLUMNS, EXTRACTORS, MOST_FEATURES, MOST_SIDE
from dither.learn.images.files import FORMS, pixels_of_files
from dither.learn.images.frozen import check_extractor, extracted
from dither.learn.images.mechanism import ImageFeatures
from dither.learn.linear.descent import USUAL_PURE_STEPS, USUAL_STEPS
from dither.learn.rows import Floats
from dither.mechanisms.core.purse import Purse

#: What a saved estimator holds in place of public records.
_DIGEST = "sha256:"
#: What it holds in place of a function.
_NOT_SAVED: Final = "not saved"


class _FeatureClassifier(Iterated, ChanceClassifier):
    """A classifier that is linear in public coordinates of public features."""

    bounds: Any
    public: Any
    n_components: Any
    max_iter: Any

    def _mechanism(self, columns: int, **form: Any) -> AnyMechanism:
        lower, upper = self.box(columns)
        return ImageFeatures.calibrated(
            self._target(),
            lower=lower,
            upper=upper,
            classes=len(self.declared_classes()),
            components=self.n_components,
            public=self._public_rows(columns),
            steps=self.max_iter,
            unit=self._unit(),
            **form,
        )

    def _public_rows(self, columns: int) -> Floats | None:
        """Return public records as rows of numbers; they may be refused by what they hold."""
        if self.public is None:
            return None
        if isinstance(self.public, str):
            rule = "the public records themselves: a saved estimator holds only their digest"
            raise InvalidParameter("public", self.public, rule)
        try:
            found = np.asarray(self.public, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.empty(0)
        if found.ndim < 2 or not len(found) or found[0].size != columns or not np.isfinite(found).all():
            raise InvalidParameter("public", type(self.public).__name__, f"records of {columns} finite numbers each")
        return found.reshape(len(found), columns)

    def _saved_parameters(self) -> dict[str, Any]:
        parameters = super()._saved_parameters()
        if self.public is not None and not isinstance(self.public, str):
            rows = self._public_rows(self.n_features_in_)
            parameters["public"] = _DIGEST + hashlib.sha256(b"" if rows is None else rows.tobytes()).hexdigest()
        return parameters

    @property
    def n_iter_(self) -> int:
        """The number of steps taken."""
        check_is_fitted(self, "model_")
        usual = USUAL_PURE_STEPS if Purse.within(self._target()).is_pure else USUAL_STEPS
        return usual if self.max_iter is None else int(self.max_iter)


class ImageClassifier(_FeatureClassifier):
    """Logistic regression on public features of small images, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded; with one, Gaussian noise and smaller errors.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        height: rows of pixels of every image.
        width: pixels in a row.
        channels: numbers of a pixel, which stand side by side.
        form: "pixels", "bytes" (PNG, PGM or PPM files, as bytes or base64) or "paths" of such files. A file that cannot
            be read, or has another size, is a blank image.
        bounds: (lower, upper) of pixels: blank and full, by default (0, 255); required for arrays of floats, whose full
            may be 1. NaN means blank.
        classes: all labels that may occur; images with another one are left out.
        extractor: "scattering" (averages of wavelets' lengths, twice), or "convolutions" (random filters).
        n_components: the number of public coordinates of the features; by default 500, or fewer for tiny images.
        public: public images of the same size, which decide the coordinates; by default drawn shapes, which are part
            of this package. Never images of those who are protected.
        max_iter: steps of gradient descent; by default a number that suits the kind of loss.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> import numpy as np
    >>> from dither.learn import ImageClassifier
    >>> y = np.repeat([0, 1], 500)
    >>> X = np.where((np.arange(16) % 4 < 2)[None] == y[:, None], 250, 5)  # the left half is light, or the right
    >>> public = np.arange(50 * 16).reshape(50, 16) * 37 % 256
    >>> model = ImageClassifier(rho=1, height=4, width=4, classes=[0, 1], n_components=4, public=public, max_iter=9)
    >>> model.fit(X, y).predict(X[[0, -1]]).tolist()
    [0, 1]

    """

    #: The bounds of pixels where none are declared.
    usual_bounds: ClassVar = (0, 255)

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        height: int | None = None,
        width: int | None = None,
        channels: int = 1,
        form: str = "pixels",
        bounds: Any = None,
        classes: Any = None,
        extractor: str = "scattering",
        n_components: int | None = None,
        public: Any = None,
        max_iter: int | None = None,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.height, self.width, self.channels = height, width, channels
        self.form, self.bounds, self.classes = form, bounds, classes
        self.extractor, self.n_components, self.public = extractor, n_components, public
        self.max_iter, self.unit, self.budget = max_iter, unit, budget

    @in_words(components="n_components", steps="max_iter")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        if self.extractor not in EXTRACTORS:
            raise InvalidParameter("extractor", self.extractor, f"one of {', '.join(EXTRACTORS)}")
        sizes = dict(zip(("height", "width", "channels"), self.image_size(), strict=True))
        if columns != self._pixels():
            raise InvalidParameter("height", self.height, f"with width and channels the size of {columns} numbers")
        return self._mechanism(columns, extractor=self.extractor, **sizes)

    def image_size(self) -> tuple[int, int, int]:
        """Return rows of pixels, pixels in a row, and numbers of a pixel, or refuse what is declared."""
        if self.form not in FORMS:
            raise InvalidParameter("form", self.form, f"one of {', '.join(FORMS)}")
        height, width = (whole(name, getattr(self, name), least=1, most=MOST_SIDE) for name in ("height", "width"))
        channels = whole("channels", self.channels, least=1)
        if self.form != "pixels" and channels not in (1, 3):
            raise InvalidParameter("channels", channels, "1 or 3 for image files")
        return height, width, channels

    def _pixels(self) -> int:
        return math.prod(self.image_size())

    def _values(self, X: Any, *, reset: bool, columns: int | None = None) -> Floats:
        size = self.image_size()
        if self.form != "pixels":
            if reset:
                self.n_features_in_ = self._pixels()
            return pixels_of_files(X, *size, self.form)
        if reset and self.bounds is None and has_floats(X):
            raise InvalidParameter("bounds", None, "required for floats: bounds=(0, 1), or bounds=(0, 255)")
        flat = rows_of_images(X, size, listed=not reset or columns is not None)
        declared = self._pixels()
        return super()._values(flat, reset=reset, columns=columns or (declared if reset else None))

    def box(self, columns: int) -> tuple[Floats, Floats]:
        """Return the bounds of the numbers of an image."""
        return bounds_of(self.usual_bounds, columns) if self.bounds is None else super().box(columns)

    def _public_rows(self, columns: int) -> Floats | None:
        shape, size = np.shape(self.public) if isinstance(self.public, np.ndarray) else (), self.image_size()
        if len(shape) > 2 and not has_size(shape, size):
            raise InvalidParameter("public", shape, f"images of {by_axes(size)}, channels last")
        return super()._public_rows(columns)


def by_axes(size: tuple[int, int, int]) -> str:
    """Return a declared size as the last axes of an array."""
    return f"{size[0]} by {size[1]}" if size[2] == 1 else f"{size[0]} by {size[1]} by {size[2]}"


def has_size(shape: tuple[int, ...], size: tuple[int, int, int]) -> bool:
    """Whether the axes of an array of images are those of the declared size: rows, columns, and channels last."""
    return tuple(shape[1:]) == size or (size[2] == 1 and tuple(shape[1:]) == size[:2])


def has_floats(X: Any) -> bool:
    """Whether an array or a frame has floats, by its types alone."""
    kinds = [getattr(X, "dtype", None), *(getattr(X, "dtypes", ()) if hasattr(X, "columns") else ())]
    return any(getattr(kind, "kind", "") == "f" or str(kind).startswith("torch.float") for kind in kinds)


def rows_of_images(X: Any, size: tuple[int, int, int], *, listed: bool) -> Any:
    """Return images with a row for each; containers that hold no pixels are refused by type and shape alone.

    Args:
        X: images by their axes, or rows of pixels.
        size: the declared rows of pixels, pixels in a row, and numbers of a pixel.
        listed: whether lists and arrays of objects are taken as rows of numbers: where the caller says so by
            ``columns``, or nothing is learned. Their cells are private, so that their types decide nothing.

    """
    kind, axes = getattr(getattr(X, "dtype", None), "kind", ""), getattr(X, "ndim", 2)
    is_list = isinstance(X, list | tuple) or kind == "O"
    if (is_list and not listed) or (axes == 1 and hasattr(X, "dtype") and kind != "O") or (kind and kind in "SUT"):
        shape = f"({', '.join(map(str, ('images', *(size if size[2] > 1 else size[:2]))))})"
        rule = (
            f"an array of numbers with axes {shape}, such as numpy.stack(X), or a list with columns={math.prod(size)}"
        )
        raise InvalidValue("X", X, f"{rule}; for files set form='paths' or form='bytes'")
    if axes <= 2 or not hasattr(X, "dtype"):
        return X
    if not has_size(X.shape, size):
        found = " by ".join(map(str, X.shape[1:]))
        rule = (
            f"images of {by_axes(size)}, channels last, which {found} is not; numpy.moveaxis(X, 1, -1) moves channels"
        )
        raise InvalidValue("X", X, rule)
    array = np.asarray(X)
    return array.reshape(len(array), -1)


class FeatureClassifier(_FeatureClassifier):
    """Logistic regression on features that a frozen public extractor makes, under differential privacy.

    Guarantee: ``fit`` loses at most the stated loss for one row added or removed (or replaced); see ``privacy_``.

    The extractor sees one record a call, so that no record's features depend on another record. It has to be public:
    made without anybody who is protected. A record that it fails on counts as a record whose features are not known.

    Args:
        epsilon: what may be lost, alone or with ``delta``; or ``rho`` instead of both.
        delta: the probability that the epsilon bound may be exceeded; with one, Gaussian noise and smaller errors.
        rho: a loss in zero-concentrated differential privacy.
        loss: what may be lost as a record, in place of these three.
        extractor: a function of one record that returns its features, or a module of PyTorch, which is called without
            gradients on a batch of that record alone; None where rows are features already.
        n_outputs: how many features the extractor returns; where None ``bounds`` say it.
        bounds: (lower, upper) of all features, or a pair for each; numbers beyond are clipped, NaN means the centre.
        classes: all labels that may occur; rows with another one are left out.
        n_components: the number of public coordinates of the features; by default the features as they are, or with
            ``public`` 500 or fewer.
        public: public records of the same kind, which decide the coordinates. Never those of who is protected.
        max_iter: steps of gradient descent; by default a number that suits the kind of loss.
        unit: "row" (added or removed) or "row_replaced"; or ROW, ROW_REPLACED.
        budget: what every ``fit`` is charged to, those of copies included; by default each is a budget of its own.

    >>> from dither.learn import FeatureClassifier
    >>> words = ["a", "aaa", "bb", "bbbb"] * 500
    >>> counts = lambda word: [word.count("a"), word.count("b")]
    >>> model = FeatureClassifier(rho=1, extractor=counts, n_outputs=2, bounds=(0, 4), classes=["A", "B"])
    >>> model.fit(words, [word[0].upper() for word in words]).predict(["aa", "bbb"]).tolist()
    ['A', 'B']

    """

    def __init__(
        self,
        *,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        loss: Any = None,
        extractor: Any = None,
        n_outputs: int | None = None,
        bounds: Any = None,
        classes: Any = None,
        n_components: int | None = None,
        public: Any = None,
        max_iter: int | None = None,
        unit: Any = "row",
        budget: Any = None,
    ) -> None:
        self.epsilon, self.delta, self.rho, self.loss = epsilon, delta, rho, loss
        self.extractor, self.n_outputs, self.bounds, self.classes = extractor, n_outputs, bounds, classes
        self.n_components, self.public = n_components, public
        self.max_iter, self.unit, self.budget = max_iter, unit, budget

    @in_words(components="n_components", steps="max_iter", width="bounds")
    def mechanism(self, columns: int) -> AnyMechanism:
        """Return what ``fit`` will release."""
        return self._mechanism(columns, extractor=COLUMNS, width=columns)

    def _values(self, X: Any, *, reset: bool, columns: int | None = None) -> Floats:
        if self.extractor is None:
            return super()._values(X, reset=reset, columns=columns)
        if isinstance(self.extractor, str):
            rule = "required: a saved estimator does not contain functions; set it again with set_params(extractor=...)"
            raise InvalidParameter("extractor", self.extractor, rule)
        width = self._outputs() if reset else int(self.n_features_in_)
        records = _records(X, "X")
        if reset:
            check_extractor(self.extractor, records, width)
        found = extracted(self.extractor, records, width)
        return numbers_of(self, found, reset=reset, columns=width)

    def _outputs(self) -> int:
        """Return how many features the extractor returns, as declared."""
        if self.n_outputs is not None:
            return whole("n_outputs", self.n_outputs, least=1, most=MOST_FEATURES)
        listed = self.bounds if isinstance(self.bounds, list | tuple | np.ndarray) else ()
        if not len(listed) or np.ndim(listed[0]) != 1:
            raise InvalidParameter("n_outputs", None, "required: the number of features that the extractor returns")
        return len(listed)

    def _public_rows(self, columns: int) -> Floats | None:
        if self.extractor is None or self.public is None or isinstance(self.public, str):
            return super()._public_rows(columns)
        found = extracted(self.extractor, _records(self.public, "public"), columns)
        if not np.isfinite(found).all():
            rule = f"a function that returns {columns} finite numbers, as n_outputs says, for every public record"
            raise InvalidParameter("extractor", "a failure", rule)
        return found

    def _saved_parameters(self) -> dict[str, Any]:
        # A function cannot be saved: the loaded estimator gets it again before it predicts.
        return super()._saved_parameters() | {"extractor": None if self.extractor is None else _NOT_SAVED}


def _records(given: Any, parameter: str) -> Any:
    """Return records of which none decides the type of another: a column as a list, a frame is refused."""
    if is_named(given):
        rule = "a list or an array of records, such as a column of the frame: a row of a frame would be a record whose"
        raise InvalidValue(parameter, given, f"{rule} types other rows decide")
    for method in ("to_pylist", "to_list"):  # of Arrow, of pandas and Polars
        if hasattr(given, method):
            return getattr(given, method)()
    return given
