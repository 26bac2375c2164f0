"""Generalised tables: groups of values for each attribute, and a noisy count for every combination of groups.

What DiffGen releases. As a table it reads "Professional, [18, 40), Y: 3"; as a model, records can be drawn from it, in
which the values of a group are equally likely. Everything here is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.projections import non_negative_with_total
from dither.estimate.public_randomness import Generator
from dither.estimate.record_fitting import shared_out
from dither.exact import whole
from dither.lift.attributes import Attributes, Axes
from dither.publish.microdata.cuts import members_of
from dither.publish.synthetic.models import MOST_RECORDS, Model

Group = tuple[str, tuple[int, ...]]
Floats = NDArray[np.float64]

#: Cells of a generalised table that is held.
MOST_CELLS: Final = 2**22
_LARGEST_COUNT: Final = 2**62


class GeneralisedTable(Model):
    """Groups of values of every attribute, and a noisy count for every combination.

    Args:
        attributes: names and sizes.
        groups: for each attribute its groups, each a label and the values in it; every value in one group.
        counts: noisy integers, an axis for each attribute; some may be negative.

    >>> table = GeneralisedTable(
    ...     Attributes.of({"age": 4, "ill": 2}), [[("young", (0, 1)), ("old", (2, 3))], [("no", (0,)), ("yes", (1,))]],
    ...     np.array([[3, -1], [1, 1]]),
    ... )
    >>> list(table.rows())[0], table.table((0,)).round(1).tolist()
    (('young', 'no', 3), [1.3, 1.3, 0.7, 0.7])

    """

    kind: ClassVar[str] = "generalised"

    def __init__(self, attributes: Attributes, groups: Sequence[Sequence[Group]], counts: Any) -> None:
        self.attributes = attributes
        self.groups: tuple[tuple[Group, ...], ...] = tuple(tuple(each) for each in groups)
        self.counts: NDArray[np.int64] = np.asarray(counts, dtype=np.int64)
        _check(attributes, self.groups, self.counts.shape)
        self.total = float(min(max(int(self.counts.astype(object).sum()), 0), MOST_RECORDS))

    @cached_property
    def _places(self) -> tuple[NDArray[np.int64], ...]:
        """For each attribute, each value's group."""
        pairs = zip(self.groups, self.attributes.sizes, strict=True)
        return tuple(members_of(groups, size) for groups, size in pairs)

    @cached_property
    def law(self) -> Floats:
        """The combinations' shares: from the nearest non-negative counts; equal shares if those are all 0."""
        wanted = non_negative_with_total(self.counts.astype(np.float64))
        total = float(wanted.sum())
        return wanted / total if total > 0 else np.full(wanted.shape, 1 / wanted.size)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the labels of every combination and its noisy count, as drawn."""
        labels = product(*([label for label, _ in groups] for groups in self.groups))
        for names, count in zip(labels, self.counts.ravel().tolist(), strict=True):
            yield (*names, count)

    def generalised_records(self) -> list[tuple[str, ...]]:
        """Return generalised records: every combination as often as its noisy count, none if it is negative."""
        return [names for *names, count in self.rows() for _ in range(count)]  # type: ignore[misc]

    def table(self, axes: Axes) -> Floats:
        """Return the marginal on these attributes in estimated numbers of records, spread evenly within a group."""
        gone = tuple(axis for axis in range(len(self.groups)) if axis not in axes)
        kept = self.law.sum(axis=gone) * self.total
        for number, axis in enumerate(axes):
            places = self._places[axis]
            along = [1] * kept.ndim
            along[number] = -1
            shares = 1 / np.bincount(places)[places]
            kept = np.take(kept, places, axis=number) * shares.reshape(along)
        return np.asarray(kept)

    def draw(self, rows: int, generator: Generator) -> NDArray[np.int64]:
        """Return records: combinations as often as their shares say, values of a group with equal probability."""
        cells = np.unravel_index(shared_out(self.law.ravel(), rows, generator), self.counts.shape)
        found = np.empty((rows, len(self.groups)), dtype=np.int64)
        for axis, groups in enumerate(self.groups):
            sizes = np.array([len(values) for _, values in groups])
            flat = np.concatenate([np.array(values) for _, values in groups])
            starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
            found[:, axis] = flat[starts[cells[axis]] + generator.integers(0, sizes[cells[axis]])]
        return found

    def write(self) -> dict[str, Any]:
        """Return groups and counts as plain JSON values."""
        groups = [[[label, list(values)] for label, values in each] for each in self.groups]
        return {"groups": groups, "counts": self.counts.ravel().tolist()}

    @classmethod
    def read(cls, attributes: Attributes, total: float, record: Mapping[str, Any]) -> Self:
        """Return the model that ``write`` wrote, or reject a damaged record."""
        groups, counts, rule = record.get("groups"), record.get("counts"), "as it was written"
        if not isinstance(groups, list) or not isinstance(counts, list) or len(counts) > MOST_CELLS:
            raise InvalidParameter("groups", "a record", rule)
        kept = []
        for each in groups:
            if not isinstance(each, list) or not all(isinstance(group, list) and len(group) == 2 for group in each):
                raise InvalidParameter("groups", "a record", rule)
            if not all(isinstance(values, list) for _, values in each):
                raise InvalidParameter("groups", "a record", rule)
            kept.append([(label, tuple(values)) for label, values in each])
        shape = tuple(map(len, kept))
        if len(counts) != int(np.prod(shape, dtype=object)) or not shape:
            raise InvalidParameter("counts", "a record", rule)
        numbers = [whole("counts", count, least=-_LARGEST_COUNT, most=_LARGEST_COUNT) for count in counts]
        model = cls(attributes, kept, np.array(numbers, dtype=np.int64).reshape(shape))
        if model.total != total:
            raise InvalidParameter("total", "a record", rule)
        return model

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GeneralisedTable) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        # Coarse on purpose: it is for people, and an auditor tells outcomes apart by it.
        cut = "; ".join(", ".join(label for label, _ in groups) for groups in self.groups)
        return f"GeneralisedTable({cut}; about {self.total:.0f} records)"


def _check(attributes: Attributes, groups: Sequence[Sequence[Group]], shape: tuple[int, ...]) -> None:
    if tuple(map(len, groups)) != shape or len(shape) != len(attributes.sizes):
        raise InvalidParameter(
            "groups", f"{len(groups)} attributes", "one for each axis of the counts, each with its groups"
        )
    for name, size, each in zip(attributes.names, attributes.sizes, groups, strict=True):
        values = [value for _, inside in each for value in inside]
        if not all(type(value) is int for value in values) or sorted(values) != list(range(size)):
            raise InvalidParameter("groups", name, "groups that hold every value once")
        if not all(isinstance(label, str) and inside for label, inside in each):
            raise InvalidParameter("groups", name, "groups with a string as label and at least one value")
