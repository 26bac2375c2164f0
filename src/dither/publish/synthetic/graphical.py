"""Graphical models as synthetic tables: any of their marginals, and records that keep the marginals.

Records are drawn attribute by attribute along the junction tree. All records that agree on what an attribute depends on
form a group, and the law of the attribute in the group is turned into whole numbers of records that are rounded down or
up, never farther: what remains is sampled systematically, with starting points spread evenly over the groups, so that
sums over many small groups come out right as well. Independent draws would add noise of their own to every marginal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.graphical_model import (
    FULL_STEPS,
    MOST_CELLS,
    Calibrated,
    Floats,
    NoisyMarginal,
    fit_graphical_model,
)
from dither.estimate.junction_tree import junction_tree
from dither.estimate.public_randomness import Generator
from dither.lift.attributes import Attributes, Axes
from dither.publish.synthetic.drawing import assigned, dealt
from dither.publish.synthetic.merging import Merging
from dither.publish.synthetic.models import MOST_RECORDS, Model

#: Entries of a table that says what merged values are made of.
_MOST_MEMBERS: Final = 2**22


class GraphicalModel(Model):
    """A distribution with one potential for each measured set of attributes.

    Args:
        attributes: names and sizes.
        total: the estimated number of records.
        potentials: for sets of attributes, what the logarithm of the law is the sum of, on merged values.
        merging: which values are merged; None for none.

    >>> model = GraphicalModel(Attributes.of({"a": 2, "b": 2}), 8.0, {(0, 1): np.log([[3.0, 1.0], [1.0, 3.0]])})
    >>> model.table((0, 1)).round(6).tolist(), np.bincount(model.sample(8)[:, 0]).tolist()
    ([[3.0, 1.0], [1.0, 3.0]], [4, 4])

    """

    kind: ClassVar[str] = "graphical"

    def __init__(
        self, attributes: Attributes, total: float, potentials: Mapping[Axes, Floats], merging: Merging | None = None
    ) -> None:
        self.attributes, self.total = attributes, float(min(max(total, 0.0), MOST_RECORDS))
        self.merging = Merging.none(attributes) if merging is None else merging
        self.potentials = {axes: np.asarray(table, dtype=np.float64) for axes, table in sorted(potentials.items())}

    @classmethod
    def fitted(
        cls,
        attributes: Attributes,
        measured: Sequence[NoisyMarginal],
        merging: Merging | None = None,
        start: Self | None = None,
        steps: int = FULL_STEPS,
    ) -> Self:
        """Return the model that fits noisy marginals of merged values.

        Args:
            attributes: names and sizes.
            measured: the noisy marginals.
            merging: which values are merged in them.
            start: a model of fewer measurements to begin with.
            steps: of the fit, at most.

        """
        kept = Merging.none(attributes) if merging is None else merging
        known = None if start is None else start.potentials
        fit = fit_graphical_model(kept.sizes, measured, start=known, steps=steps)
        return cls(attributes, fit.total, fit.potentials, kept)

    @cached_property
    def law(self) -> Calibrated:
        """The distribution on merged values, with the marginal of every clique."""
        return Calibrated(junction_tree(self.merging.sizes, self.potentials), self.potentials)

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The attribute names of each clique of the junction tree."""
        return tuple(self.attributes.named(clique) for clique in self.law.tree.cliques)

    def table(self, axes: Axes) -> Floats:
        """Return the marginal on these attributes in estimated numbers of records."""
        return self.merging.spread(self.merged_table(axes), axes)

    def merged_table(self, axes: Axes) -> Floats:
        """Return the marginal on these attributes with merged values, in estimated numbers of records."""
        return self.law.marginal(axes) * self.total

    def draw(self, rows: int, generator: Generator) -> NDArray[np.int64]:
        """Return records whose clique marginals differ from the model's only by rounding."""
        tree = self.law.tree
        drawn = np.zeros((len(self.attributes.sizes), rows), dtype=np.int64)
        for place, clique in enumerate(tree.cliques):
            table = self.law.clique(place)
            given = list(tree.separators[place])
            for axis in (axis for axis in clique if axis not in tree.separators[place]):
                order = [*given, axis]
                left = [other for other in clique if other in order]
                kept = table.sum(axis=tuple(number for number, other in enumerate(clique) if other not in order))
                law = kept.transpose([left.index(other) for other in order]).reshape(-1, tree.sizes[axis])
                drawn[axis] = assigned(self._groups(drawn, given, rows), law, generator)
                given.append(axis)
        values = drawn.copy()
        for axis in self.merging.merged_axes:
            # Members of a merged value are spread evenly over what else is known in one of its cliques.
            clique = next(clique for clique in tree.cliques if axis in clique)
            around = [*(other for other in clique if other != axis), axis]
            groups = self._groups(drawn, around, rows)
            if self.merging.sizes[axis] * self.attributes.sizes[axis] <= _MOST_MEMBERS:
                values[axis] = assigned(groups, self._members(axis), generator)
            else:
                law = (self.merging.places[axis], self.merging.shares[axis])
                values[axis] = dealt(groups, drawn[axis], *law, generator)
        return np.ascontiguousarray(values.T)

    def _groups(self, drawn: NDArray[np.int64], given: Sequence[int], rows: int) -> NDArray[np.int64]:
        """Return each record's group number: its cell in the table of attributes drawn so far."""
        groups = np.zeros(rows, dtype=np.int64)
        for axis in given:
            groups = groups * self.merging.sizes[axis] + drawn[axis]
        return groups

    def _members(self, axis: int) -> Floats:
        """Return, for each merged value of an attribute, the distribution of its members."""
        places, shares = self.merging.places[axis], self.merging.shares[axis]
        law = np.zeros((self.merging.sizes[axis], places.size))
        law[places, np.arange(places.size)] = shares
        return law

    def write(self) -> dict[str, Any]:
        """Return potentials and merged values as plain JSON values."""
        potentials = [[list(axes), table.ravel().tolist()] for axes, table in self.potentials.items()]
        return {"potentials": potentials, "merging": self.merging.write()}

    @classmethod
    def read(cls, attributes: Attributes, total: float, record: Mapping[str, Any]) -> Self:
        """Return the model that ``write`` wrote, or reject a damaged record."""
        rule = "pairs of increasing numbers of attributes and a finite number for each cell"
        merging = Merging.read(attributes, record.get("merging"))
        potentials: dict[Axes, Floats] = {}
        entries = record.get("potentials")
        if not isinstance(entries, list):
            raise InvalidParameter("potentials", "a record", rule)
        for entry in entries:
            if not (isinstance(entry, list) and len(entry) == 2 and all(isinstance(part, list) for part in entry)):
                raise InvalidParameter("potentials", "a record", rule)
            axes, numbers = tuple(entry[0]), entry[1]
            if not all(type(axis) is int and 0 <= axis < len(attributes.sizes) for axis in axes):
                raise InvalidParameter("potentials", "a record", rule)
            shape = merging.shape_of(axes)
            if list(axes) != sorted(set(axes)) or axes in potentials or len(numbers) != math.prod(shape):
                raise InvalidParameter("potentials", "a record", rule)
            if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
                raise InvalidParameter("potentials", "a record", rule)
            potentials[axes] = np.array(numbers, dtype=np.float64).reshape(shape)
        if junction_tree(merging.sizes, potentials).cells > MOST_CELLS:
            raise InvalidParameter("potentials", "a record", f"a model of at most {MOST_CELLS} cells")
        return cls(attributes, total, potentials, merging)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphicalModel) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        # Coarse on purpose: it is for people, and an auditor tells outcomes apart by it.
        sets = ", ".join("/".join(self.attributes.named(axes)) for axes in self.potentials)
        return f"GraphicalModel(of about {self.total:.0f} records from {sets or 'nothing'})"
