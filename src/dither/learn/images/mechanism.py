"""Classifiers of small images on public features: what no data chose needs no noise, and a private head does the rest.

For some thousands of small images, where a network from scratch loses to noise. An image becomes features (scattering,
or random convolutions), these change coordinates by a map that public records or drawn shapes decide, and a private
linear learner is trained on them. Cost: about 0.3 ms an image, and the learner's passes. Corrections: in print features
are floats of whole batches, which give an image other bits in other company; here an image's coordinates are integers
that follow from that image alone. Published normalisations take averages of the private features; here all are public.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.exact import Of, OneOf, Whole
from dither.exact.parameters import Maybe
from dither.learn.images.features import (
    COLUMNS,
    EXTRACTORS,
    MOST_FEATURES,
    MOST_SIDE,
    ImageSize,
    feature_count,
    features_of,
)
from dither.learn.images.whitening import SHAPES, PublicMap, public_map
from dither.learn.linear.preconditioned import PreconditionedDescent
from dither.learn.models import LinearModel, Model, model
from dither.learn.rows import STEPS, BoundField, Box, Floats, records_of
from dither.mechanisms.core.mechanism import Composed, Numerics
from dither.mechanisms.core.public import Array, PublicArray
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.privacy import ROW, Loss, Plan, Unit, Use

USUAL_COMPONENTS: Final = 500
#: Public records at most.
MOST_PUBLIC: Final = 2**14
_PUBLIC_ROWS: Final = Array(
    "float", axes=2, least=2, most=MOST_PUBLIC, rule=f"2 to {MOST_PUBLIC} rows of finite numbers"
)
_PUBLIC: Final = Maybe(_PUBLIC_ROWS)


@model
@dataclass(frozen=True)
class ImageModel(Model):
    """Scores that are linear in public coordinates of an image's features.

    Args:
        extractor: how features are made.
        height: rows of pixels.
        width: pixels in a row.
        channels: numbers of a pixel.
        lower: bounds of pixels or columns.
        upper: bounds of pixels or columns.
        centre: what is taken off each feature.
        matrix: the change of coordinates: its integers of four bytes, compressed, as base64.
        shift: the centre of the coordinates.
        radius: coordinates are shortened to this length from the centre.
        weights: a row for each score.
        intercepts: one for each score.

    """

    kind: ClassVar[str] = "images"

    extractor: str
    height: int
    width: int
    channels: int
    lower: PublicArray
    upper: PublicArray
    centre: PublicArray
    matrix: str
    shift: PublicArray
    radius: float
    weights: PublicArray
    intercepts: PublicArray

    def __post_init__(self) -> None:
        if self.extractor not in (*EXTRACTORS, COLUMNS):
            raise InvalidParameter("extractor", self.extractor, f"one of {', '.join((*EXTRACTORS, COLUMNS))}")
        box, size = self._box, self._size
        fits = box.columns == size.pixels and self.centre.values.shape == (feature_count(self.extractor, size),)
        if not fits:
            raise InvalidParameter("centre", self.centre, "a number for each feature of images of this size")
        # Their own checks say whether the parts fit.
        _ = self._linear, self._map

    def scores(self, values: Floats) -> Floats:
        """Return the scores of rows of pixels, one row each."""
        found = features_of(self.extractor, self._size, self._box, values)
        return self._linear.scores(self._map.steps(found) / STEPS)

    @property
    def _box(self) -> Box:
        return Box(self.lower, self.upper)

    @property
    def _size(self) -> ImageSize:
        return ImageSize(self.height, self.width, self.channels)

    @cached_property
    def _map(self) -> PublicMap:
        return PublicMap(
            self.centre.values, unpacked(self.matrix, self.weights.values.shape[1], self.centre.values.size)
        )

    @cached_property
    def _linear(self) -> LinearModel:
        ones = np.ones(self.weights.values.shape[1])
        return LinearModel(
            PublicArray(-ones), PublicArray(ones), self.shift, self.radius, self.weights, self.intercepts
        )


def packed(matrix: Floats) -> str:
    """Return a matrix of integers below 2^31 as a string."""
    return base64.b64encode(zlib.compress(matrix.astype("<i4").tobytes(), 6)).decode()


def unpacked(text: str, rows: int, columns: int) -> Floats:
    """Return the matrix that ``packed`` wrote, or refuse a string of another size."""
    size = rows * columns * 4
    try:
        found = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), size + 1)
    except (ValueError, binascii.Error, zlib.error):
        found = b""
    if len(found) != size:
        raise InvalidParameter("matrix", "another string", f"{rows} by {columns} integers as they were written")
    return np.frombuffer(found, dtype="<i4").reshape(rows, columns).astype(np.float64)


def _examples() -> Iterator[Example]:
    rows = np.array([[0, 9, 0, 9, 0], [9, 9, 0, 0, 1], [float("nan"), 99, -5, 3, 1], [1, 2, 3, 4, 7]], dtype=float)
    others = ((rows, rows[1:], 1), (rows, np.vstack([rows, [9, 0, 9, 0, 0]]), 1))
    head: dict[str, Any] = {"survey": DiscreteGaussian(sigma=2**14), "step": DiscreteGaussian(sigma=2**26)}
    box: dict[str, Any] = {"lower": [0] * 4, "upper": [9] * 4, "height": 2, "width": 2, "channels": 1}
    public = np.array([[0, 0, 0, 9], [9, 9, 0, 0], [3, 3, 3, 3], [0, 9, 9, 0]])

    def learner(columns: int) -> PreconditionedDescent:
        sides: dict[str, Any] = {"lower": [-1] * columns, "upper": [1] * columns}
        return PreconditionedDescent(**sides, classes=2, loss_name="logistic", steps=2, **head)

    for extractor in EXTRACTORS:
        yield Example(
            ImageFeatures(**box, extractor=extractor, components=3, public=public, learner=learner(3)), rows, others
        )
    flat = box | {"height": 1, "width": 4}
    yield Example(ImageFeatures(**flat, extractor=COLUMNS, components=0, learner=learner(4)), rows, others)


@register(
    examples=_examples,
    source="Differentially Private Learning Needs Better Features (or Much More Data) (Tramer, Boneh 2021), sections 2 "
    "and 3; Invariant Scattering Convolution Networks (Bruna, Mallat 2013)",
    made_for={"classes": 2, "extractor": COLUMNS, "height": 1, "width": 4, "channels": 1, "components": 0},
)
@dataclass(frozen=True, kw_only=True)
class ImageFeatures(Composed[Any, ImageModel]):
    """Learn a classifier that is linear in public features of images.

    Guarantee: data ``d_in`` rows apart loses what ``learner`` loses at ``d_in``.

    Args:
        extractor: "scattering", "convolutions", or "columns" for numbers that are features already.
        height: rows of pixels of every image.
        width: pixels in a row.
        channels: numbers of a pixel.
        lower: public bounds of the numbers of an image; numbers beyond them are clipped, NaN is a blank.
        upper: public bounds of the numbers of an image.
        components: the number of public coordinates; 0 for the features themselves.
        public: public images of the same form, which decide the coordinates; drawn shapes where None.
        learner: a linear learner with one column for each coordinate, each bounded by -1 and 1.

    >>> from dither.privacy import ApproxDP
    >>> public = {"height": 4, "width": 4, "classes": 2, "components": 5, "lower": [0] * 16, "upper": [255] * 16}
    >>> learner = ImageFeatures.calibrated(ApproxDP(1, "1e-6"), **public)
    >>> learner.loss(1) <= ApproxDP(1, "1e-6"), learner.learner.steps
    (True, 88)

    """

    name: ClassVar[str] = "image-features"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "the distance between a private learner and the best one depends on the records"
    no_interval_because: ClassVar[str] = "the best classifier has no known distance from a noisy one"

    extractor: OneOf = OneOf(*EXTRACTORS, COLUMNS)
    height: Whole = Whole(least=1, most=MOST_SIDE)
    width: Whole = Whole(least=1, most=2**16)
    channels: Whole = Whole(least=1, most=16)
    lower: BoundField = BoundField()
    upper: BoundField = BoundField()
    components: Whole = Whole(least=0, most=MOST_FEATURES)
    public: Maybe = Maybe(_PUBLIC_ROWS)
    learner: Of[PreconditionedDescent] = Of(PreconditionedDescent)

    def __post_init__(self) -> None:
        size = self.size
        if self.extractor != COLUMNS and self.width > MOST_SIDE:
            raise InvalidParameter("width", self.width, f"at most {MOST_SIDE}")
        if self.extractor == COLUMNS and (self.height, self.channels) != (1, 1):
            raise InvalidParameter("height", self.height, "1, and one channel, for columns that are features already")
        if self.box.columns != size.pixels:
            raise InvalidParameter("lower", self.lower, f"a bound for each of {size.pixels} numbers of an image")
        count = feature_count(self.extractor, size)
        if self.components > min(count, MOST_FEATURES) or (self.components and count > MOST_FEATURES):
            raise InvalidParameter("components", self.components, f"at most the number of features, {count}, or 0")
        if self.public is not None and (not self.components or self.public.values.shape[1] != size.pixels):
            rule = f"rows of {size.pixels} numbers, and only where there are components"
            raise InvalidParameter("public", self.public, rule)
        if self.components > (SHAPES if self.public is None else len(self.public.values)):
            raise InvalidParameter("components", self.components, "at most the number of public records")
        if self.extractor == COLUMNS and self.components and self.public is None:
            raise InvalidParameter("public", self.public, "public rows of the same columns, where there are components")
        bounds, ones = self.learner.box, np.ones(self.components or count)
        if not (np.array_equal(bounds.lower.values, -ones) and np.array_equal(bounds.upper.values, ones)):
            raise InvalidParameter("learner", self.learner, f"one of {ones.size} columns, each within -1 and 1")

    @classmethod
    def calibrated(
        cls,
        within: Loss,
        *,
        lower: Any,
        upper: Any,
        classes: int,
        height: int = 1,
        width: int = 1,
        channels: int = 1,
        extractor: str = "scattering",
        components: int | None = None,
        public: Any = None,
        steps: int | None = None,
        unit: Unit = ROW,
    ) -> Self:
        """Return the learner with the least noise whose loss for one unit is within ``within``.

        Args:
            within: the loss not to exceed.
            lower: public bounds of the numbers of an image.
            upper: public bounds of the numbers of an image.
            classes: the number of classes.
            height: rows of pixels.
            width: pixels in a row.
            channels: numbers of a pixel.
            extractor: "scattering", "convolutions" or "columns".
            components: public coordinates; by default 500, or as many as there are features if these are fewer; of
                columns without public rows 0.
            public: public rows that decide the coordinates.
            steps: of gradient descent.
            unit: ROW or ROW_REPLACED.

        """
        OneOf(*EXTRACTORS, COLUMNS).convert("extractor", extractor)
        sides = {"height": (height, MOST_SIDE), "width": (width, 2**16), "channels": (channels, 16)}
        sizes = [Whole(least=1, most=most).convert(name, given) for name, (given, most) in sides.items()]
        count = feature_count(extractor, ImageSize(*sizes))
        known = _PUBLIC.convert("public", public)
        usual = (
            0
            if extractor == COLUMNS and known is None
            else min(USUAL_COMPONENTS, count, SHAPES if known is None else len(known.values))
        )
        wanted = Whole(most=MOST_FEATURES).convert("components", usual if components is None else components)
        reach = np.ones(wanted or count)
        head = PreconditionedDescent.calibrated(
            within, lower=-reach, upper=reach, classes=classes, steps=steps, unit=unit
        )
        return cls(
            extractor=extractor,
            height=height,
            width=width,
            channels=channels,
            lower=lower,
            upper=upper,
            components=wanted,
            public=known,
            learner=head,
        )

    @property
    def size(self) -> ImageSize:
        """The declared size of images."""
        return ImageSize(self.height, self.width, self.channels)

    @property
    def distance(self) -> Unit:
        """The unit of the learner."""
        return self.learner.unit

    def plan(self) -> Plan:
        """Return what the learner draws: an image becomes a row of coordinates."""
        return Use(self.learner)

    @cached_property
    def box(self) -> Box:
        """The bounds of an intensity in each place of a picture."""
        return Box(self.lower, self.upper)

    def release(self, data: Any, run: Runner) -> ImageModel:
        """Return what the learner releases for the coordinates, with the public change of coordinates."""
        rows = records_of(data, self.box.columns)
        change = public_map(self.extractor, self.size, self.box, self.components, self.public)
        records = np.empty((len(rows), len(change.matrix) + 1))
        records[:, -1] = rows[:, -1]
        for start in range(0, len(rows), 2**11):
            block = slice(start, start + 2**11)
            found = features_of(self.extractor, self.size, self.box, rows[block, :-1])
            records[block, :-1] = change.steps(found) / STEPS
        learned = run(self.learner, records)
        return ImageModel(
            self.extractor,
            self.height,
            self.width,
            self.channels,
            self.lower,
            self.upper,
            PublicArray(change.centre),
            packed(change.matrix),
            learned.shift,
            learned.radius,
            learned.weights,
            learned.intercepts,
        )
