"""Bayesian networks as models: every attribute conditioned on a few that come before it.

Records are drawn attribute by attribute in that order. All records that agree on the parents of an attribute form a
group, and the law of the attribute in the group becomes whole numbers of records, rounded down or up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.graphical_model import Calibrated
from dither.estimate.junction_tree import junction_tree
from dither.estimate.projections import non_negative_with_total
from dither.estimate.public_randomness import Generator, public_generator
from dither.lift.attributes import MOST_CELLS, Attributes, Axes
from dither.publish.histograms.common import Floats
from dither.publish.synthetic.drawing import assigned
from dither.publish.synthetic.models import MOST_RECORDS, Model

#: Cells of a junction tree up to which marginals are computed exactly; beyond, from drawn records.
EXACT_CELLS: Final = 2**22
_DRAWN: Final = 2**18
#: What a probability of 0 counts as where logarithms are taken.
_LEAST: Final = 1e-300


@dataclass(frozen=True, eq=False)
class Conditional:
    """The conditional distribution of one attribute given some others.

    Args:
        axis: the number of the attribute.
        parents: the numbers of the others, in increasing order.
        law: for each combination of values of the parents the probabilities of the values of the attribute.

    """

    axis: int
    parents: Axes
    law: Floats

    @property
    def axes(self) -> Axes:
        """The attribute and its parents, in increasing order."""
        return tuple(sorted((*self.parents, self.axis)))


class NetworkModel(Model):
    """A distribution that is the product of conditional distributions.

    Args:
        attributes: names and sizes.
        total: the estimated number of records.
        conditionals: one for each attribute, after those of its parents.

    >>> pair = Attributes.of({"a": 2, "b": 2})
    >>> first = Conditional(0, (), np.array([0.5, 0.5]))
    >>> second = Conditional(1, (0,), np.array([[1.0, 0.0], [0.25, 0.75]]))
    >>> model = NetworkModel(pair, 8.0, [first, second])
    >>> model.table((1,)).round(6).tolist(), np.bincount(model.sample(8)[:, 1]).tolist()
    ([5.0, 3.0], [5, 3])

    """

    kind: ClassVar[str] = "network"

    def __init__(self, attributes: Attributes, total: float, conditionals: Sequence[Conditional]) -> None:
        self.attributes, self.total = attributes, float(min(max(total, 0.0), MOST_RECORDS))
        self.conditionals = tuple(conditionals)
        known: set[int] = set()
        rule = "one for each attribute, after those of its parents, with probabilities that add up to 1"
        for each in self.conditionals:
            numbers = (*each.parents, each.axis)
            if each.axis in known or not set(each.parents) <= known or list(each.parents) != sorted(set(each.parents)):
                raise InvalidParameter("conditionals", numbers, rule)
            if not 0 <= each.axis < len(attributes.sizes) or each.law.shape != attributes.shape_of(numbers):
                raise InvalidParameter("conditionals", numbers, rule)
            sums = each.law.sum(axis=-1)
            if not (np.isfinite(each.law).all() and (each.law >= 0).all() and np.allclose(sums, 1.0, atol=1e-6)):
                raise InvalidParameter("conditionals", numbers, rule)
            known.add(each.axis)
        if len(known) != len(attributes.sizes):
            raise InvalidParameter("conditionals", f"{len(known)} of them", rule)

    @cached_property
    def _law(self) -> Calibrated | None:
        """The distribution on a junction tree; None if that would be too large."""
        sets = {each.axes: each for each in self.conditionals}
        tree = junction_tree(self.attributes.sizes, sets)
        if tree.cells > EXACT_CELLS:
            return None
        return Calibrated(tree, {axes: _logarithms(each) for axes, each in sets.items()})

    @cached_property
    def _drawn(self) -> NDArray[np.int64]:
        """Records, a row for each attribute, for marginals that cannot be computed exactly."""
        return self.draw(_DRAWN, public_generator()).T

    def table(self, axes: Axes) -> Floats:
        """Return the marginal on these attributes in estimated numbers of records.

        Exact where the junction tree of the network has at most 2^22 cells; otherwise that of 2^18 drawn records.
        """
        if self.attributes.cells_of(axes) > MOST_CELLS:
            raise InvalidParameter("axes", self.attributes.named(axes), f"a marginal of at most {MOST_CELLS} cells")
        if self._law is not None:
            return np.asarray(self._law.marginal(axes) * self.total)
        return np.asarray(self.attributes.count(self._drawn, axes) * (self.total / _DRAWN))

    def draw(self, rows: int, generator: Generator) -> NDArray[np.int64]:
        """Return records that keep every conditional distribution up to rounding."""
        drawn = np.zeros((len(self.attributes.sizes), rows), dtype=np.int64)
        for each in self.conditionals:
            groups = np.zeros(rows, dtype=np.int64)
            for axis in each.parents:
                groups = groups * self.attributes.sizes[axis] + drawn[axis]
            drawn[each.axis] = assigned(groups, each.law.reshape(-1, each.law.shape[-1]), generator)
        return np.ascontiguousarray(drawn.T)

    def write(self) -> dict[str, Any]:
        """Return the conditional distributions as plain JSON values."""
        return {
            "conditionals": [[each.axis, list(each.parents), each.law.ravel().tolist()] for each in self.conditionals]
        }

    @classmethod
    def read(cls, attributes: Attributes, total: float, record: Mapping[str, Any]) -> Self:
        """Return the model that ``write`` wrote, or reject a damaged record."""
        entries, rule = record.get("conditionals"), "an attribute, its parents and probabilities, for every attribute"
        if not isinstance(entries, list) or not all(isinstance(entry, list) and len(entry) == 3 for entry in entries):
            raise InvalidParameter("conditionals", "a record", rule)
        found = []
        for axis, parents, numbers in entries:
            if not isinstance(parents, list) or not isinstance(numbers, list):
                raise InvalidParameter("conditionals", "a record", rule)
            places = [*parents, axis]
            if not all(type(place) is int and 0 <= place < len(attributes.sizes) for place in places):
                raise InvalidParameter("conditionals", "a record", rule)
            shape = attributes.shape_of(tuple(places))
            if len(numbers) != math.prod(shape) or not all(type(number) in (int, float) for number in numbers):
                raise InvalidParameter("conditionals", "a record", rule)
            law = np.array(numbers, dtype=np.float64).reshape(shape)
            found.append(Conditional(axis, tuple(parents), law))
        return cls(attributes, total, found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NetworkModel) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        # Coarse on purpose: it is for people, and an auditor tells outcomes apart by it.
        names = self.attributes.named
        sets = ", ".join(
            names((each.axis,))[0] + (f" given {'/'.join(names(each.parents))}" if each.parents else "")
            for each in self.conditionals
        )
        return f"NetworkModel(of about {self.total:.0f} records: {sets})"


def _logarithms(each: Conditional) -> Floats:
    """Return the logarithms of a conditional distribution, attributes in increasing order."""
    order = (*each.parents, each.axis)
    return np.log(np.maximum(each.law, _LEAST)).transpose([order.index(axis) for axis in each.axes])


def conditional_of(axis: int, parents: Axes, axes: Axes, noisy: Floats) -> Conditional:
    """Return an attribute's distribution given its parents, from a noisy table that contains them.

    The table is replaced by the nearest one without negative numbers: taking these for 0 would leave the noise of all
    empty cells that came out above 0.

    Where no record is left that has certain values of the parents, the law is that of all records; where none is left
    at all, all values are alike.

    Args:
        axis: the attribute.
        parents: its parents, in increasing order.
        axes: the attributes of the table, in increasing order.
        noisy: a released number of records for each cell.

    """
    order = (*parents, axis)
    kept = non_negative_with_total(noisy).sum(axis=tuple(place for place, one in enumerate(axes) if one not in order))
    left = [one for one in axes if one in order]
    joint = kept.transpose([left.index(one) for one in order])
    overall = joint.reshape(-1, joint.shape[-1]).sum(axis=0)
    if overall.sum() <= 0:
        overall = np.ones(overall.size)
    sums = joint.sum(axis=-1, keepdims=True)
    law = np.where(sums > 0, joint / np.where(sums > 0, sums, 1.0), overall / overall.sum())
    return Conditional(axis, parents, law)
