"""Parents and their children: two tables, with a bounded number of records of the second for each of the first.

For households and people, customers and orders: the unit is a parent with all its children. Two models are
learned by any method on records: one of parents with the number of their children, one of children with the attributes
of their parents. A parent is one record of the first and at most ``most`` of the second, so the second is paid for at
that distance. Drawn children go to drawn parents of the same kind. Guarantee: what the two methods lose, at 1 and at
``most``. Children beyond ``most`` of a parent are left out, in the order of the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import InvalidParameter, InvalidValue, NoGuarantee
from dither.estimate.public_randomness import Generator, public_generator
from dither.exact import Of, Whole, whole
from dither.lift.attributes import Attributes
from dither.lift.stored import keep_record
from dither.mechanisms.core.mechanism import Composed, Mechanism, Numerics, NumericsOf
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.discrete_gaussian import DiscreteGaussian
from dither.mechanisms.geometric import Geometric
from dither.privacy import RECORDS, InOrder, Loss, Metric, Plan, Use
from dither.publish.synthetic.independent import IndependentMarginals
from dither.publish.synthetic.models import MOST_RECORDS, Model
from dither.publish.synthetic.mst import MaximumSpanningTree
from dither.publish.synthetic.small_database import SmallDatabase

#: The name of the attribute that says how many children a parent has.
NUMBER: Final = "number of children"
VERSION: Final = 1
#: Of one parent.
MOST_CHILDREN: Final = 2**10

Codes = NDArray[np.int64]
#: From a loss for records 1 apart and attributes to a method on records.
Build = Callable[[Loss, Attributes], Any]


class Families:
    """Parents, their children, and which child belongs to which parent.

    Children that belong to no parent are left out.

    Args:
        parents: integers, a row for each parent, a column for each attribute.
        children: integers, a row for each child, a column for each attribute.
        owners: for each child the number of its parent, from 0.

    >>> house = Families([[0], [2]], [[1, 1], [0, 3], [1, 0]], [1, 1, 0])
    >>> house.numbers.tolist(), len(house.children)
    ([1, 2], 3)

    """

    def __init__(self, parents: ArrayLike, children: ArrayLike, owners: ArrayLike) -> None:
        tables = [np.asarray(given) for given in (parents, children, owners)]
        for name, table, sides in zip(("parents", "children", "owners"), tables, (2, 2, 1), strict=True):
            if table.ndim != sides or table.dtype.kind not in "iu":
                raise InvalidValue(name, table, f"an array of integers with {sides} axes")
        if len(tables[1]) != len(tables[2]):
            raise InvalidValue("owners", tables[2], "one integer for each child")
        own = (tables[2] >= 0) & (tables[2] < len(tables[0]))
        self.parents, self.children, self.owners = tables[0], tables[1][own], tables[2][own].astype(np.int64)

    @property
    def numbers(self) -> Codes:
        """The number of children of each parent."""
        return np.bincount(self.owners, minlength=len(self.parents)).astype(np.int64)

    def first(self, most: int) -> Families:
        """Return the families with at most ``most`` children each, the first ones in the order of the rows."""
        order = np.argsort(self.owners, kind="stable")
        starts = np.cumsum(self.numbers) - self.numbers
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - starts[self.owners[order]]
        kept = rank < most
        return Families(self.parents, self.children[kept], self.owners[kept])

    def listed(self) -> list[tuple[Any, ...]]:
        """Return each family as a tuple: the parent, and its children in the order of the rows."""
        own: list[list[tuple[int, ...]]] = [[] for _ in range(len(self.parents))]
        for owner, child in zip(self.owners.tolist(), self.children.tolist(), strict=True):
            own[owner].append(tuple(child))
        return [(tuple(parent), tuple(mine)) for parent, mine in zip(self.parents.tolist(), own, strict=True)]


class _InFamilies(Metric):
    """The number of families in one collection and not in the other, with their multiplicities."""

    def measure(self, first: Any, second: Any) -> Fraction | None:
        if not isinstance(first, Families) or not isinstance(second, Families):
            return None
        here, there = Counter(first.listed()), Counter(second.listed())
        return Fraction((here - there).total() + (there - here).total())


FAMILIES: Final = _InFamilies("FAMILIES", "the number of parents, each with all its children, in one and not the other")


class FamilyModel:
    """A released model of parents and one of children, from which families are drawn.

    Args:
        parents: a model of parents; its last attribute is the number of children.
        children: a model of the other attributes of parents, in the same order, and those of children.

    """

    def __init__(self, parents: Model, children: Model) -> None:
        shared = _shared(parents.attributes, children.attributes)
        self.parents, self.children, self._shared = parents, children, shared

    def sample(self, parents: int | None = None) -> Families:
        """Return families, by default as many as the model estimates."""
        wanted = round(self.parents.total) if parents is None else parents
        return self.draw(whole("parents", wanted, least=0, most=MOST_RECORDS), public_generator())

    def draw(self, parents: int, generator: Generator) -> Families:
        """Return families: parents, and children drawn with parents as similar to theirs as possible."""
        drawn = self.parents.draw(parents, generator)
        owners = np.repeat(np.arange(parents), drawn[:, -1])
        pool = self.children.draw(len(owners), generator)
        shared = self._shared
        places = matched(drawn[owners, :shared], pool[:, :shared], generator)
        return Families(drawn[:, :shared], pool[places, shared:], owners)

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain JSON values."""
        return {"families": VERSION, "parents": self.parents.to_dict(), "children": self.children.to_dict()}

    @staticmethod
    def from_dict(record: Any) -> FamilyModel:
        """Return the model that plain JSON values describe, or reject them."""
        if not isinstance(record, Mapping) or record.get("families") != VERSION:
            raise InvalidParameter("record", "another record", f"a model of families of version {VERSION}")
        return FamilyModel(Model.from_dict(record.get("parents")), Model.from_dict(record.get("children")))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FamilyModel) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"FamilyModel({self.parents!r}, {self.children!r})"


keep_record("families", FamilyModel)


def matched(wanted: Codes, pool: Codes, generator: Generator) -> Codes:
    """Return, for each wanted row, the place of a row of the pool; each pool row is used once.

    Rows that agree in all columns are paired first; what is left is paired by all columns but the last, and so on.

    Args:
        wanted: integers, a row for each.
        pool: rows of the same shape.
        generator: public randomness.

    """
    found = np.full(len(wanted), -1, dtype=np.int64)
    open_rows, open_pool = generator.permutation(len(wanted)), generator.permutation(len(pool))
    for columns in range(wanted.shape[1], -1, -1):
        both = np.concatenate([wanted[open_rows, :columns], pool[open_pool, :columns]])
        _, keys = (
            np.unique(both, axis=0, return_inverse=True) if columns else (None, np.zeros(len(both), dtype=np.int64))
        )
        here, there = keys.ravel()[: len(open_rows)], keys.ravel()[len(open_rows) :]
        # The i-th row of a key goes with the i-th row of the pool that has it.
        left = {pair: place for place, pair in enumerate(zip(there.tolist(), _turns(there).tolist(), strict=True))}
        pairs = [left.get(pair, -1) for pair in zip(here.tolist(), _turns(here).tolist(), strict=True)]
        partner = np.array(pairs, dtype=np.int64)
        is_found = partner >= 0
        found[open_rows[is_found]] = open_pool[partner[is_found]]
        open_pool = np.delete(open_pool, partner[is_found])
        open_rows = open_rows[~is_found]
        if not len(open_rows):
            break
    return found


def _turns(keys: Codes) -> Codes:
    """Return, for each entry, how many equal entries come before it."""
    order = np.argsort(keys, kind="stable")
    counts = np.bincount(keys) if len(keys) else np.zeros(0, dtype=np.int64)
    starts = np.cumsum(counts) - counts
    turns = np.empty(len(keys), dtype=np.int64)
    turns[order] = np.arange(len(keys)) - starts[keys[order]]
    return turns


class _Method(Of[Any]):
    """A mechanism on records that releases a model of them."""

    def __init__(self) -> None:
        rule = "a synthetic method, whose distance is counted in records"
        super().__init__(Mechanism, where=_is_on_records, rule=rule)

    def offenders(self) -> Iterator[Any]:
        """Return mechanisms on other data, and anything that is not a mechanism."""
        yield from (Geometric(scale=1), MaximumSpanningTree)
        yield from super().offenders()


def _is_on_records(method: Any) -> bool:
    return method.distance is RECORDS and hasattr(method, "attributes")


def _examples() -> Iterator[Example]:
    house = Families([[0], [1], [7]], [[1], [0], [1], [-5], [1]], [0, 0, 0, 2, 9])
    fewer = Families([[1], [7]], [[-5]], [1])
    nobody = Families(np.zeros((0, 1), dtype=np.int64), np.zeros((0, 1), dtype=np.int64), np.zeros(0, dtype=np.int64))
    alone = Families([[1]], [[1], [1], [0], [2**40]], [0, 0, 0, 0])
    pairs = ((house, fewer, 1), (fewer, house, 1), (nobody, alone, 1))
    parents, children = Attributes.of({"a": 2, NUMBER: 3}), Attributes.of({"a": 2, "b": 2})
    net = SmallDatabase(attributes=parents, workload=parents.every(1), size=1, total=Geometric(scale=2), choice=4)
    made = ParentChild(parents=net, children=replace(net, attributes=children, workload=children.every(1)), most=2)
    yield Example(made, house, pairs)
    gaussian = IndependentMarginals(attributes=children, single=DiscreteGaussian(sigma=4))
    yield Example(replace(made, children=gaussian), house, pairs)


def _tree(loss: Loss, attributes: Attributes) -> Any:
    return MaximumSpanningTree.calibrated(loss, attributes=attributes)


@register(
    examples=_examples,
    source="PrivLava: Synthesizing Relational Data with Foreign Keys under Differential Privacy (Cai, Xiao, Cormode "
    "2023), for the setting",
    made_for={"parents": Attributes.of({"a": 2}), "children": Attributes.of({"b": 2, "c": 2}), "most": 3},
)
@dataclass(frozen=True, kw_only=True)
class ParentChild(Composed[Families, FamilyModel]):
    """Learn a model of parents with their numbers of children, and one of children with their parents.

    Guarantee: families ``d_in`` apart lose what ``parents`` loses at ``d_in`` and what ``children`` loses at
    ``most * d_in``.

    Args:
        parents: a synthetic method on the attributes of parents, followed by ``"number of children"`` with ``most + 1``
            values.
        children: a synthetic method on the attributes of parents, followed by those of children.
        most: how many children of a parent are kept; public.

    >>> from dither.privacy import PureDP
    >>> house, person = Attributes.of({"region": 4}), Attributes.of({"sex": 2, "age": 10})
    >>> method = ParentChild.calibrated(PureDP(1), parents=house, children=person, most=5)
    >>> method.loss(1).epsilon, method.children.loss(5).epsilon
    (Fraction(1, 1), Fraction(1, 2))

    """

    name: ClassVar[str] = "parent-child"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = NumericsOf("parents", "children")  # type: ignore[assignment]
    no_error_because: ClassVar[str] = "how well two models describe the families depends on the families"
    no_interval_because: ClassVar[str] = "what siblings have in common beyond their parent is not modelled"

    parents: _Method = _Method()
    children: _Method = _Method()
    most: Whole = Whole(least=1, most=MOST_CHILDREN)

    def __post_init__(self) -> None:
        _shared(self.parents.attributes, self.children.attributes)
        if self.parents.attributes.sizes[-1] != self.most + 1:
            given = self.parents.attributes.sizes[-1]
            raise InvalidParameter("parents", f"{given} numbers of children", f"a method on {self.most + 1} of them")

    @classmethod
    def calibrated(
        cls, within: Loss, *, parents: Attributes, children: Attributes, most: int, build: Build = _tree
    ) -> Self:
        """Return the method whose loss for families 1 apart is within ``within``: half for parents, half for children.

        Args:
            within: the loss not to exceed.
            parents: names and sizes of the attributes of parents.
            children: names and sizes of the attributes of children.
            most: how many children of a parent are kept.
            build: makes the method of either, from its loss for records 1 apart and the attributes; a maximum spanning
                tree if nothing else is said.

        """
        half, kept = Purse.within(within) / 2, whole("most", most, least=1, most=MOST_CHILDREN)
        above = Attributes((*parents.names, NUMBER), (*parents.sizes, kept + 1))
        below = Attributes((*parents.names, *children.names), (*parents.sizes, *children.sizes))
        made = cls(parents=build(half.loss, above), children=build(half.per(kept).loss, below), most=kept)
        if not made.loss(1) <= within:
            raise NoGuarantee(f"the release would lose {made.loss(1)}, which is not within {within}")
        return made

    @property
    def distance(self) -> Metric:
        """Parents, each with all its children, in one collection and not in the other."""
        return FAMILIES

    def plan(self) -> Plan:
        """One model of parents, and one of children, of which a parent has at most ``most``."""
        return InOrder.of(Use(self.parents), Use(self.children, self.most))

    def release(self, data: Families, run: Runner) -> FamilyModel:
        """Return both models."""
        width = len(self.parents.attributes.names) - 1
        wide = len(self.children.attributes.names) - width
        if not isinstance(data, Families) or (data.parents.shape[1], data.children.shape[1]) != (width, wide):
            raise InvalidValue("data", data, f"families of {width} attributes of parents and {wide} of children")
        kept = data.first(self.most)
        above = np.concatenate([self._coded(kept.parents, 0), kept.numbers[:, None]], axis=1)
        below = np.concatenate([above[kept.owners, :width], self._coded(kept.children, width)], axis=1)
        return FamilyModel(run(self.parents, above), run(self.children, below, stability=self.most))

    def _coded(self, table: NDArray[Any], start: int) -> Codes:
        """Return values clamped to the ranges of the attributes from this one on."""
        chosen = slice(start, start + table.shape[1])
        attributes = self.children.attributes
        return np.ascontiguousarray(Attributes(attributes.names[chosen], attributes.sizes[chosen]).codes(table).T)


def _shared(parents: Attributes, children: Attributes) -> int:
    """Return how many attributes parents have; reject children's attributes that do not begin with those."""
    shared = len(parents.names) - 1
    if not shared or parents.names[-1] != NUMBER:
        raise InvalidParameter("parents", parents.names, f"attributes of parents, and {NUMBER!r} as the last")
    if len(children.names) <= shared or (children.names[:shared], children.sizes[:shared]) != (
        parents.names[:shared],
        parents.sizes[:shared],
    ):
        raise InvalidParameter("children", children.names, "the attributes of parents, followed by those of children")
    return shared
