"""``SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (...)``: what a query says of its own privacy must agree with the rest.

Epsilon and delta are what the query may lose, if the caller says nothing, or the same as the caller says. The number of
groups or rows of a person may be lower than the data set's own. The privacy unit is the one that is declared.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from dither.data.owners import scan_of
from dither.data.relations import person_columns
from dither.errors import InvalidParameter, Unanswerable
from dither.exact import Number, positive
from dither.privacy import Loss, stated_loss
from dither.publish.queries.query import Query
from dither.publish.queries.sql.numbers import whole_number
from dither.publish.queries.sql.parse import Parsed
from dither.publish.queries.work import planning

_LOSS: Final = ("epsilon", "delta")
_LIMITS: Final = {"max_groups_contributed": "groups", "kappa": "groups", "max_rows_contributed": "rows"}
_KNOWN: Final = (*_LOSS, *_LIMITS, "privacy_unit_column")


def with_options(query: Query, parsed: Parsed) -> Query:
    """Return a query within the limits that its privacy clause states; reject options that do not agree."""
    for name, (value, _) in parsed.options.items():
        if name not in _KNOWN:
            raise Unanswerable(
                f"{name[:60]} is not an option of the privacy clause that is understood",
                "write OPTIONS (epsilon = 1, delta = 1e-6, max_groups_contributed = 2, privacy_unit_column = id)",
            )
        if name in _LIMITS:
            query = _limited(query, name, value)
        elif name == "privacy_unit_column":
            _check_unit(query, value)
        else:
            positive(name, value)
    return query


def _limited(query: Query, name: str, value: str) -> Query:
    if not query.relation.has_persons:
        raise Unanswerable(f"{name} where each row is its own unit", "remove it")
    part = _LIMITS[name]
    own = getattr(query.limits, part)
    many = whole_number(value, 2**31 - 1)
    if many is None or many < 1 or (own is not None and many > own):
        most = "" if own is None else f" to {own}, which the data set allows"
        raise InvalidParameter(name, value, f"an integer from 1{most}")
    return replace(query, limits=replace(query.limits, **{part: many}))


def _check_unit(query: Query, value: str) -> None:
    # A table that belongs to people through another one may hold the privacy id, too, under a name of its own.
    declared = {
        name.lower(): person
        for table in query.dataset.tables
        if not table.is_public
        for person in person_columns(scan_of(query.dataset, table))
        for name in (person, table.column(person).source)
        if name is not None
    }
    if value.rsplit(".", 1)[-1].strip('"`').lower() not in declared:
        shown = ", ".join(sorted(set(declared.values()))) or "not allowed: each row is its own unit"
        raise InvalidParameter("privacy_unit_column", value, shown)


def agreed_loss(
    text: str,
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    loss: Loss | None = None,
) -> Loss:
    """Return what a query may lose: as the caller states, as its own clause states, and the same if both do.

    >>> agreed_loss("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) COUNT(*) FROM visits")
    PureDP('1/2')
    >>> agreed_loss("SELECT COUNT(*) FROM visits", epsilon=1)
    PureDP('1')
    """
    said = {name: value for name, (value, _) in options_of(text).items() if name in _LOSS}
    is_given = any(word is not None for word in (epsilon, delta, rho, loss))
    if not said:
        return stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    if not is_given:
        return stated_loss(epsilon=said.get("epsilon"), delta=said.get("delta"))
    given = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
    stated = stated_loss(epsilon=said.get("epsilon", epsilon), delta=said.get("delta"))
    if given != stated:
        raise InvalidParameter("epsilon and delta", given, f"those of the query's own OPTIONS ({stated}), or omitted")
    return given


def options_of(text: str) -> dict[str, tuple[str, int]]:
    """Return the options of a query's own privacy clause, each with its place in the text."""
    if "OPTIONS" not in text.upper():
        return {}
    # Also where nothing is priced yet: reading takes no more steps than planning may.
    with planning():
        return Parsed(text).options
