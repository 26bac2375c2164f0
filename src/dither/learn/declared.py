"""What learners derive from declarations about rows: the protected unit, the bounds, the classes.

Mix-ins without fields: a learner states the fields itself, in its own order and with its own words.
"""

from __future__ import annotations

from functools import cached_property

from dither.exact import Whole
from dither.learn.rows import BoundField, Box
from dither.privacy import Unit
from dither.privacy.fields import RowUnit


class DeclaredUnit:
    """A learner that protects the declared unit."""

    unit: RowUnit

    @property
    def distance(self) -> Unit:
        """The declared unit."""
        return self.unit


class DeclaredBounds(DeclaredUnit):
    """A learner from rows within declared bounds."""

    lower: BoundField
    upper: BoundField

    @cached_property
    def box(self) -> Box:
        """The bounds, and their grid."""
        return Box(self.lower, self.upper)


class DeclaredClasses(DeclaredBounds):
    """A learner of a score for each of the declared classes."""

    classes: Whole

    @property
    def scores(self) -> int:
        """The number of scores: one for two classes, otherwise one for each."""
        return 1 if self.classes == 2 else self.classes
