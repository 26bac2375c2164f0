"""What the limits of a person do to an aggregate, in words: at the head of its column, and where its interval ends.

A limit that takes no row away, such as one row a person of totals by person, is not named: a reader would look for rows
that are missing. A number of people loses nobody to a limit of rows, unless it is counted in groups.
"""

from __future__ import annotations

from dataclasses import dataclass

from dither.data import DataSet, Limits, Relation
from dither.data.joins import join_limit
from dither.data.owners import declared_rows
from dither.data.relations import rows_per_person
from dither.publish.queries.design import Design
from dither.publish.queries.query import Aggregate


@dataclass(frozen=True)
class Limited:
    """What counts of a person in one aggregate.

    Args:
        head: for the head of a column, such as "at most 32 rows a person"; empty where nothing is limited.
        estimand: the same behind what the interval is about.
        bias: what no interval covers.

    """

    head: str = ""
    estimand: str = ""
    bias: str = ""


def limited(design: Design, aggregate: Aggregate) -> Limited:
    """Return what the limits of a person do to an aggregate."""
    if not design.has_persons:
        return Limited()
    query = design.query
    if aggregate.function == "persons":
        texts = _of_people(design)
        return _said(query.dataset, design.limits, query.relation, texts, "groups" if texts else "rows")
    texts = _of_rows(design.limits, query.relation, has_groups=bool(query.keys))
    return _said(query.dataset, design.limits, query.relation, texts, "rows")


def limited_cells(dataset: DataSet, limits: Limits, relation: Relation) -> Limited:
    """Return what the limits of a person do to counts of cells."""
    if not dataset.protects_persons:
        return Limited()
    return _said(dataset, limits, relation, _of_rows(limits, relation, has_groups=True), "rows")


def _said(dataset: DataSet, limits: Limits, relation: Relation, texts: list[str], what: str) -> Limited:
    declared = declared_rows(relation).items()
    texts = [*texts, *(f"{_several(most, 'row')} of {name} a person" for name, most in declared if most != limits.rows)]
    entering = join_limit(relation)
    if entering is not None:
        texts.append(f"{_several(entering, 'row')} a person on each side of a join")
    if not texts:
        return Limited()
    head = "at most " + ", ".join(texts)
    share = _dropped(dataset, limits) if what == "rows" else ""
    return Limited(head, f", {head}", f"other {what} of a person do not count{share}")


def _of_rows(limits: Limits, relation: Relation, *, has_groups: bool) -> list[str]:
    texts = []
    if limits.rows is not None and not _is_structural(limits, relation):
        texts.append(f"{_several(limits.rows, 'row')} a person")
    if has_groups and limits.groups is not None and (limits.rows is None or limits.groups < limits.rows):
        texts.append(f"{_several(limits.groups, 'group')} a person")
    if limits.rows_per_group is not None and (limits.rows is None or limits.rows_per_group < limits.rows):
        texts.append(f"{_several(limits.rows_per_group, 'row')} a person and group")
    return texts


def _of_people(design: Design) -> list[str]:
    """Return in how many groups a person counts, where that is not all of them."""
    groups, query = design.contribution.groups, design.query
    is_every = design.groups is not None and groups >= len(design.groups)
    if is_every or not query.keys or _is_structural(design.limits, query.relation):
        return []
    return [f"{_several(groups, 'group')} a person"]


def _is_structural(limits: Limits, relation: Relation) -> bool:
    """Whether no person has more rows than the limit, by the form of the query: what a table declares drops rows."""
    most = rows_per_person(relation)
    return most is not None and limits.rows is not None and most <= limits.rows and not declared_rows(relation)


def _dropped(dataset: DataSet, limits: Limits) -> str:
    """Return what the owner states about the rows that the declared limit drops, where that is the limit in force."""
    if dataset.dropped is None or limits.rows != dataset.rows:
        return ""
    most = "" if dataset.dropped_up_to is None else f", up to {dataset.dropped_up_to:,} a person"
    return f" (about {100 * dataset.dropped:.2g} % of all rows{most})"


def _several(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
