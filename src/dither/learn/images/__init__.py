"""Images: classifiers that learn privately from public features of small images.

Belongs here: maps from one image to numbers that no data chose (scattering, random convolutions, a caller's frozen
extractor), the public change of coordinates after them, and the mechanism and estimators around them. Does not belong
here: networks whose weights are learned (``learn.deep``), linear learners (``learn.linear``).
"""

from __future__ import annotations

from dither.learn.images.features import EXTRACTORS, feature_count, features_of
from dither.learn.images.mechanism import ImageFeatures
from dither.learn.images.shapes import public_shapes

__all__ = ["EXTRACTORS", "ImageFeatures", "feature_count", "features_of", "public_shapes"]
