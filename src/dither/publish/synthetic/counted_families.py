"""Counted families: parents and children stay in their engine, which counts what two synthetic methods need.

For a data set of two private tables with one privacy id, one of which has a row for each parent (a household, a
customer) and the other several for each (people, orders). Of each parent one row counts and at most ``most`` children.
Cost: a statement for each block of marginals of either, so linear in the rows. Guarantee: what the method of parents
loses at one record for each unit, and that of children at ``most`` records; twice as many where units are replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

from dither.data import (
    Aggregation,
    Bounded,
    Call,
    CountRows,
    JoinPersons,
    Kind,
    Limits,
    Literal,
    Name,
    PerPerson,
    Project,
    Relation,
)
from dither.data.engines.protocol import Engine
from dither.data.expressions import Expression
from dither.errors import InvalidParameter, NoGuarantee
from dither.exact import Of, Whole, whole
from dither.lift.attributes import Attributes
from dither.lift.axes import Axis
from dither.lift.cells import Cells
from dither.lift.margins import Margins
from dither.lift.over_data import OverData
from dither.mechanisms import Numerics, Runner, register
from dither.mechanisms.core.mechanism import Mechanism, NumericsOf
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Example
from dither.privacy import RECORDS, ZCDP, InOrder, Loss, Plan, PureDP, Unit, Use
from dither.publish.synthetic.independent import IndependentMarginals
from dither.publish.synthetic.parent_child import MOST_CHILDREN, NUMBER, FamilyModel

_PARENT, _CHILD, _MANY = "p", "c", "many"
_NONE: Final = Literal(0, Kind.INTEGER)
#: From a loss for records 1 apart and attributes to a method on records.
Build = Callable[[Loss, Attributes], Any]


def _examples() -> Iterator[Example]:
    from dither.data import Column, DataSet, Table
    from dither.data.reference import ReferenceEngine
    from dither.data.schema import person_unit
    from dither.publish.synthetic.columns import codings_of

    homes = (Column("home", Kind.INTEGER), Column("area", Kind.TEXT, categories=("a", "b")))
    people = (Column("home", Kind.INTEGER), Column("sex", Kind.TEXT, categories=("f", "m")))
    houses = [{"home": 1, "area": "a"}, {"home": 2, "area": "b"}, {"home": 2, "area": "a"}, {"home": 3, "area": "?"}]
    members = [{"home": home, "sex": "fm"[home % 2]} for home in (1, 1, 1, 2, 3, 4)]
    for replaced, loss in ((False, PureDP(1)), (True, ZCDP("1/8"))):
        tables = (Table("houses", homes, "houses.csv", "home"), Table("people", people, "people.csv", "home"))
        dataset = DataSet("homes", tables, person_unit("home", replaced=replaced), rows=2)
        parents, _ = codings_of(dataset, "houses")
        children, _ = codings_of(dataset, "people")

        def build(each: Loss, attributes: Attributes) -> Any:
            return IndependentMarginals.calibrated(each, attributes=attributes)

        engine = ReferenceEngine(dataset, {"houses": houses, "people": members})
        yield Example(families_within(loss, parents, children, build=build), engine)


@register(
    examples=_examples,
    source="PrivLava: Synthesizing Relational Data with Foreign Keys under Differential Privacy (Cai, Xiao, Cormode "
    "2023), for the setting; Differentially Private SQL with Bounded User Contribution (Wilson et al. 2020), section "
    "3, for the limits",
)
@dataclass(frozen=True, kw_only=True)
class CountedFamilies(OverData[FamilyModel]):
    """Release a model of a data set's parents with their numbers of children, and one of children with their parents.

    Guarantee: data sets one person apart lose what ``of_parents`` loses at 1 and what ``of_children`` loses at
    ``most``; at 2 and at twice ``most`` where people are replaced.

    Args:
        parents: the rows of parents, of which one counts for each privacy id, and the codes of their columns; public.
        children: the rows of children, of the same data set, and the codes of their columns; public.
        most: how many children of a parent count; at most what the limits of the data set leave.
        of_parents: a synthetic method on the columns of parents, followed by ``"number of children"``.
        of_children: a synthetic method on the columns of parents, followed by those of children.

    >>> from dither.data import Column, DataSet, Table
    >>> from dither.data.schema import person_unit
    >>> from dither.publish.synthetic.columns import codings_of
    >>> home, sex = Column("home", Kind.INTEGER), Column("sex", Kind.TEXT, categories=("f", "m"))
    >>> owned = Column("owned", Kind.BOOLEAN)
    >>> tables = (Table("houses", (home, owned), "h.csv", "home"), Table("people", (home, sex), "p.csv", "home"))
    >>> homes = DataSet("homes", tables, person_unit("home"), rows=5)
    >>> made = families_within(PureDP(1), codings_of(homes, "houses")[0], codings_of(homes, "people")[0])
    >>> made.most, made.loss(1).epsilon, made.of_children.loss(5).epsilon
    (5, Fraction(1, 1), Fraction(1, 2))

    """

    name: ClassVar[str] = "counted-families"
    version: ClassVar[int] = 2
    numerics: ClassVar[Numerics] = NumericsOf("of_parents", "of_children")  # type: ignore[assignment]
    no_error_because: ClassVar[str] = "how well two models describe the families depends on the families"
    no_interval_because: ClassVar[str] = "what siblings have in common beyond their parent is not modelled"

    parents: Of[Cells] = Of(Cells)
    children: Of[Cells] = Of(Cells)
    most: Whole = Whole(least=1, most=MOST_CHILDREN)
    of_parents: Of[Any] = Of(Mechanism, rule="a synthetic method, whose distance is counted in records")
    of_children: Of[Any] = Of(Mechanism, rule="a synthetic method, whose distance is counted in records")

    def __post_init__(self) -> None:
        """Reject rows that are not families, and methods for other columns."""
        check_families(self.parents, self.children)
        if self.most > self.children.contribution.total:
            raise InvalidParameter(
                "most", self.most, f"at most {self.children.contribution.total}, as the limits leave"
            )
        for name, method, cells in (
            ("of_parents", self.of_parents, self.above),
            ("of_children", self.of_children, self.below),
        ):
            if method.distance is not RECORDS or getattr(method, "attributes", None) != cells.attributes:
                raise InvalidParameter(name, method.name, f"a synthetic method on {', '.join(cells.names)}")

    @property
    def distance(self) -> Unit:
        """The unit of the data set: a person, who is a parent with all children."""
        return self.parents.dataset.unit

    @cached_property
    def above(self) -> Cells:
        """Parents with their numbers of children."""
        return parents_of(self.parents, self.children, self.most)

    @cached_property
    def below(self) -> Cells:
        """Children with their parents."""
        return children_of(self.parents, self.children, self.most)

    def aggregations(self) -> tuple[Aggregation, ...]:
        """Return the engine's first aggregations."""
        return tuple(asked for cells in (self.above, self.below) for asked in Margins.of_pairs(cells).aggregations())

    @property
    def _touched(self) -> int:
        return self.parents.contribution.touched

    def plan(self) -> Plan:
        """One model of parents, and one of children, of which a parent has at most ``most``."""
        return InOrder.of(Use(self.of_parents, self._touched), Use(self.of_children, self._touched * self.most))

    def release(self, data: Engine, run: Runner) -> FamilyModel:
        """Return both models."""
        above, below = Margins.of_pairs(self.above).read(data), Margins.of_pairs(self.below).read(data)
        parents = run(self.of_parents, above, stability=self._touched)
        return FamilyModel(parents, run(self.of_children, below, stability=self._touched * self.most))


def families_within(
    within: Loss, parents: Cells, children: Cells, *, most: int | None = None, build: Build | None = None
) -> CountedFamilies:
    """Return the release whose loss is within ``within``: half for parents, half for children.

    Args:
        within: what one person may lose.
        parents: the rows of parents and the codes of their columns.
        children: those of children.
        most: how many children of a parent count; None for the data set's limits.
        build: makes the method of either, from its loss for records 1 apart and the attributes; a maximum spanning tree
            if nothing else is said.

    """
    from dither.publish.synthetic.mst import MaximumSpanningTree

    check_families(parents, children)
    kept = min(children.contribution.total, MOST_CHILDREN) if most is None else whole("children", most, least=1)
    if kept > children.contribution.total:
        rule = f"at most {children.contribution.total}, as the limits of the data set leave"
        raise InvalidParameter("children", kept, rule)
    make = build or (lambda each, attributes: MaximumSpanningTree.calibrated(each, attributes=attributes))
    half, touched = Purse.within(within) / 2, parents.contribution.touched
    above, below = parents_of(parents, children, kept), children_of(parents, children, kept)
    release = CountedFamilies(
        parents=parents,
        children=children,
        most=kept,
        of_parents=make(half.per(touched).loss, above.attributes),
        of_children=make(half.per(touched * kept).loss, below.attributes),
    )
    if not release.loss(1) <= within:
        raise NoGuarantee(f"the release would lose {release.loss(1)}, which is not within {within}")
    return release


def check_families(parents: Cells, children: Cells) -> None:
    """Reject rows that do not say which children belong to which parent."""
    if parents.dataset != children.dataset or not parents.dataset.protects_persons:
        rule = "two tables of a data set whose unit is a person: the privacy id says whose children are whose"
        raise InvalidParameter("tables", parents.dataset.name, rule)
    if not all(axis.is_numbered for axis in (*parents.axes, *children.axes)):
        raise InvalidParameter("tables", parents.names, "coded columns, as codings_of makes them")
    if shared := set(_named(parents)) & set(_named(children)):
        raise InvalidParameter("tables", sorted(shared), "two different tables")


def parents_of(parents: Cells, children: Cells, most: int) -> Cells:
    """Return parents, one for each privacy id, with their numbers of children."""
    counted = PerPerson(_rows_of(children, _CHILD, most), (), ((_MANY, CountRows()),))
    joined = JoinPersons(_rows_of(parents, _PARENT, 1), counted, None, keep_unmatched=True, prefix="")
    many = Call("coalesce", (Name(_MANY), _NONE))
    number = _axis(NUMBER, many, most + 1)
    return Cells(parents.dataset, joined, (*_axes(parents, _PARENT), number))


def children_of(parents: Cells, children: Cells, most: int) -> Cells:
    """Return children, at most ``most`` for each privacy id, with their parents; those without one are left out."""
    below, above = _rows_of(children, _CHILD, most), _rows_of(parents, _PARENT, 1)
    joined = JoinPersons(below, above, None, keep_unmatched=False, prefix="")
    return Cells(parents.dataset, joined, (*_axes(parents, _PARENT), *_axes(children, _CHILD)))


def _rows_of(cells: Cells, prefix: str, most: int) -> Relation:
    """Return the rows that count as codes, at most ``most`` of each person."""
    coded = Margins(cells, ((0,),)).rows
    names = tuple(f"{prefix}{place}" for place in range(len(cells.axes)))
    renamed = Project(coded, tuple((name, Name(code)) for name, code in zip(names, coded.columns, strict=True)))
    return Bounded(renamed, (), Limits(rows=most), names)


def _named(cells: Cells) -> tuple[str, ...]:
    """Return column names prefixed by their table's name, so that two tables may use the same column name."""
    below: Any = cells.relation
    while not hasattr(below, "table"):
        below = below.relation
    return tuple(f"{below.table.name}.{name}" for name in cells.names)


def _axes(cells: Cells, prefix: str) -> tuple[Axis, ...]:
    return tuple(
        _axis(name, Name(f"{prefix}{place}"), axis.size)
        for place, (name, axis) in enumerate(zip(_named(cells), cells.axes, strict=True))
    )


def _axis(name: str, value: Expression, size: int) -> Axis:
    return Axis(name, value, tuple(range(size)), None, is_numbered=True, is_ordered=False)
