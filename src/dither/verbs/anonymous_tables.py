"""Anonymized tables: generalised, rebuilt from groups, randomised, or stored for queries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from dither.data import Filter, Kind, Limits, Literal, Name, OneOf, wire
from dither.data.schema import DataSet
from dither.errors import InvalidParameter
from dither.lift.offer import Offer
from dither.lift.stored import check_length
from dither.lift.verb import Arg, Group, M, Measured, Terms, Typed, level_of, loss_of, verb
from dither.mechanisms.core.spec import to_spec
from dither.publish.queries import Query, QueryResult
from dither.publish.queries.rows_named import rows_of
from dither.verbs.answers import offer_of_query
from dither.verbs.arguments import Bins, Columns, Labels, TableName, Where, names
from dither.verbs.plain_records import unversioned

if TYPE_CHECKING:
    from dither.publish.microdata import AnonymizedTable


def _taxonomies(path: str, _: Typed) -> Any:
    from dither.publish.microdata import read_taxonomies

    return read_taxonomies(path)


def _terms(texts: Sequence[str], known: Typed) -> dict[str, list[str]]:
    """Return the labels of columns from "age=young,middle,old"."""
    found = {}
    for text in texts:
        name, _, said = text.partition("=")
        labels = names(said, known)
        if len(labels) < 2:
            raise InvalidParameter("terms", text, "COLUMN=LABEL,LABEL, with at least two labels")
        found[name.strip()] = list(labels)
    return found


def _groups(texts: Sequence[str], known: Typed) -> list[tuple[str, ...]]:
    return [names(text, known) for text in texts]


def _conditions(texts: Sequence[str], known: Typed) -> dict[str, list[Any]]:
    """Return values of their kind by column from "city=Basel,Bern"; labels of terms are strings."""
    table, found = known.dataset.table(known.arguments["table"]), dict[str, list[Any]]()
    for text in texts:
        name, _, said = text.partition("=")
        column, values = name.strip(), names(said, known)
        if not values:
            raise InvalidParameter("ask", text, "COLUMN=VALUE,VALUE")
        kind = Kind.TEXT if column in known.arguments.get("terms", ()) else table.column(column).kind
        if kind is Kind.TEXT:
            found[column] = list(values)
        elif kind is Kind.BOOLEAN:
            found[column] = [value.lower() == "true" for value in values]
        else:
            try:
                found[column] = [int(value) for value in values]
            except ValueError:
                raise InvalidParameter("ask", text, "strings, integers, or labels of a column") from None
    return found


TABLE_METHODS = ("priv-fuzzy", "diffgen", "diffpart", "perturbed-rows")
Method = Annotated[
    str,
    Arg(
        "priv-fuzzy (columns in groups, rebuilt from noisy histograms), diffgen (values generalised along "
        "taxonomies), diffpart (sets of items, one per person) or perturbed-rows (every row randomised: to see what "
        "that costs)",
        choices=TABLE_METHODS,
    ),
]
Target = Annotated[str | None, Arg("for diffgen: the column that groups should predict")]
Taxonomies = Annotated[
    Mapping[str, Any] | None,
    Arg(
        "for diffgen and diffpart: public trees over the declared values of columns, as a YAML file",
        read=_taxonomies,
        metavar="FILE",
    ),
]
Steps = Annotated[int | None, Arg("for diffgen: the largest number of specialisations")]
ColumnTerms = Annotated[
    Any,
    Arg(
        "COLUMN=young,middle,old: for numeric columns, labels that are spread evenly over the bounds; in Python also "
        "a linguistic variable",
        read=_terms,
        is_repeated=True,
        metavar="COLUMN=LABEL,...",
        schema={},
    ),
]
ColumnGroups = Annotated[
    Sequence[Sequence[str]] | None,
    Arg(
        "columns that belong together; public. By default priv-fuzzy finds them, and pays for that",
        read=_groups,
        is_repeated=True,
        metavar="COLUMN,COLUMN",
        option="--group",
    ),
]
Rows = Annotated[int | None, Arg("for perturbed-rows: how many are published, from public knowledge")]
Conditions = Annotated[
    Mapping[str, Sequence[Any]],
    Arg(
        "declared values of a column, or its labels; all columns must match",
        read=_conditions,
        is_repeated=True,
        metavar="COLUMN=VALUE,...",
        option="--ask",
        schema={},
    ),
]


class AnonymousTables(Group[M]):
    """Anonymized tables."""

    @verb(arguments=("table",), doing="anonymizing")
    @staticmethod
    def anonymize(
        dataset: DataSet,
        table: TableName,
        columns: Columns = None,
        *,
        method: Method = "priv-fuzzy",
        target: Target = None,
        taxonomies: Taxonomies = None,
        steps: Steps = None,
        terms: ColumnTerms = None,
        groups: ColumnGroups = None,
        rows: Rows = None,
        bins: Bins = None,
        other: Labels = None,
        where: Where = None,
        **stated_terms: Unpack[Terms],
    ) -> Offer[AnonymizedTable]:
        """Anonymize a table with noise: generalised values, merged groups of columns, sets of items, or rows at random.

        For "diffpart" the columns are the column of items.
        """
        from dither.publish.microdata import AnonymizedTable, Wishes, plan_anonymized

        stated = loss_of(stated_terms)
        wishes = Wishes(target, taxonomies or {}, steps, terms or {}, groups, rows, bins or {}, other or {})
        source = rows_of(dataset, table, where)
        planned = plan_anonymized(dataset, source, stated, method=method, columns=columns, wishes=wishes, name=table)
        asked = {
            "mechanism": unversioned(to_spec(planned.mechanism)),
            "codings": [wire.encode(coding) for coding in planned.codings],
            "columns": [[name, kind.value] for name, kind in planned.columns],
            "method": planned.method,
        }
        # The codes of every row that is published, where that number is asked for.
        check_length("rows", rows or 0, 2 + 8 * len(planned.codings), len(json.dumps(asked)))

        def present(released: Any) -> bytes:
            return planned.present(released).to_json().encode()

        def read(stored: bytes, receipt: str) -> AnonymizedTable:
            return replace(AnonymizedTable.from_json(stored.decode()), receipt=receipt)

        said = f"anonymized {table}, by {method}"
        return Offer("anonymized table", said, planned.mechanism, asked, stated, present, read)

    @verb(arguments=("table",), doing="asking")
    @staticmethod
    def ask_kept(
        dataset: DataSet,
        table: TableName,
        conditions: Conditions,
        *,
        terms: ColumnTerms = None,
        where: Where = None,
        **stated_terms: Unpack[Measured],
    ) -> Offer[QueryResult]:
        """Release about how many rows have one of these values in every column: a question to a table that stays.

        Every question is charged separately, so asking again and averaging costs what it reveals.
        """
        from dither.publish.microdata.terms import coded_cells
        from dither.publish.queries.query import Aggregate

        stated = loss_of(stated_terms)
        source = rows_of(dataset, table, where)
        known_terms = dict(terms or {})
        for name in known_terms:
            dataset.table(table).column(name)
        told = {name: known_terms[name] for name in conditions if name in known_terms}
        cells, codings = coded_cells(dataset, source, tuple(conditions), terms=told)
        relation = cells.relation
        for axis, coding in zip(cells.axes, codings, strict=True):
            codes = {label: place for place, label in enumerate(coding.labels or ())}
            values = conditions[axis.name]
            if isinstance(values, str) or not values or not all(value in codes for value in values):
                known = ", ".join(map(str, list(codes)[:5])) or "none, unless terms are given"
                raise InvalidParameter(f"values of {axis.name}", values, f"at least one of the declared ones: {known}")
            wanted = tuple(Literal(codes[value], Kind.INTEGER) for value in values)
            relation = Filter(relation, OneOf(axis.value, wanted))
        count = Aggregate("count", "count")
        query = Query(dataset, relation, (), (count,), (("count", Name("count")),), Limits())
        said = f"kept {table}: how many with {', '.join(conditions)}"
        return offer_of_query(dataset, query, stated, description=said, level=level_of(stated_terms))
