# ruff: noqa: S608 - every part of these statements stands here
"""Joins, subqueries, unions and windows for the brute force of ``audit.queries``: the same search over other rows.

Each shape is a subquery as an analyst writes it, with the columns of the table that it reads. All of them stay within
one person, so that the limits bound what that person moves, whatever is joined to it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from dither.audit.queries import NEW, plain_answers
from dither.data import Column, DataSet, Kind, Table
from dither.noise import Noise
from dither.publish.queries.answer import Answer, plan_query
from dither.publish.queries.sql import parse_sql

_ALL: Final = "v.person, v.site, v.drug, v.cost, v.age"
_RATES: Final = Table(
    "rates",
    (Column("site", Kind.TEXT), Column("drug", Kind.TEXT), Column("rate", Kind.INTEGER)),
    "rates.csv",
    is_public=True,
    key=("site", "drug"),
    rows=3,
)
#: A public table with repeated keys and more rows than it says.
_PUBLIC: Final[list[dict[str, Any]]] = [
    *({"site": site, "drug": drug, "rate": rate} for site, drug, rate in itertools.product("ab", "xy", (1, 20))),
    {"site": None, "drug": "x", "rate": None},
]
_OTHERS: Final = ((1, 3), (1, -3), (2, 0))
_OWN: Final = ((NEW, 12), (NEW, 1))


#: Where a person is the unit.
OF_PERSONS: Final = (
    f"SELECT {_ALL} FROM visits v CROSS JOIN rates",
    "SELECT v.person, r.site, r.drug, v.cost, v.age FROM visits v LEFT JOIN rates r ON r.site = v.site",
    f"SELECT {_ALL} FROM rates r JOIN visits v ON r.rate > v.cost",
    f"SELECT {_ALL} FROM visits v, others o WHERE v.person = o.person",
    "SELECT COALESCE(v.person, w.person) AS person, w.site, v.drug, v.cost, w.age FROM visits v "
    "FULL JOIN visits w ON v.person = w.person AND v.cost < w.cost",
    f"SELECT {_ALL} FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.person = v.person AND w.cost > v.cost)",
    f"SELECT {_ALL} FROM visits v WHERE v.cost NOT IN (SELECT w.cost FROM visits w WHERE w.person = v.person "
    "AND w.drug <> v.drug)",
    f"SELECT {_ALL} FROM visits v SEMI JOIN others o ON o.person = v.person AND o.cost < v.cost",
    f"SELECT {_ALL} FROM visits v ANTI JOIN visits o ON o.person = v.person AND o.cost > v.cost",
    "SELECT v.person, site, drug, r.rate AS cost, v.age FROM visits v NATURAL JOIN rates r",
    f"SELECT {_ALL} FROM visits v WHERE v.age > 50 OR v.person IN (SELECT person FROM visits WHERE cost < 0)",
    f"SELECT {_ALL} FROM visits v WHERE v.drug IN (SELECT drug FROM rates WHERE rate > 5) OR v.cost > 0",
    f"SELECT {_ALL} FROM visits v UNION ALL SELECT {_ALL} FROM visits v WHERE cost > 0 "
    f"UNION ALL SELECT {_ALL} FROM others v",
    f"SELECT {_ALL} FROM visits v WHERE v.cost >= (SELECT MAX(w.cost) FROM visits w WHERE w.person = v.person)",
    # One row for each person, whose id is shown beside the totals; and a subquery tied by a name without its table.
    "SELECT person, MAX(site) AS site, MIN(drug) AS drug, SUM(CLAMP(cost, -7, 13)) AS cost, MAX(age) AS age "
    "FROM visits GROUP BY person",
    "SELECT person, drug, MAX(site) AS site, COUNT(DISTINCT site) AS cost, AVG(CLAMP(age, 0, 100)) AS age "
    "FROM visits GROUP BY person, drug HAVING COUNT(DISTINCT cost) FILTER (WHERE age > 5) < 3",
    "SELECT t.who AS person, v.site, v.drug, t.total AS cost, v.age FROM visits v JOIN (SELECT person, COUNT(*) "
    "FROM visits GROUP BY person) AS t (who, total) ON t.who = v.person",
    "SELECT person, site, drug, cost, age FROM visits WHERE cost >= (SELECT MAX(value) FROM (SELECT person AS p, "
    "cost AS value FROM visits) AS w WHERE p = person)",
    f"SELECT {_ALL} FROM visits v UNION SELECT {_ALL} FROM others v",
    f"SELECT {_ALL} FROM visits v EXCEPT SELECT {_ALL} FROM visits v WHERE age > 50",
    f"SELECT {_ALL} FROM visits v INTERSECT SELECT v.person, v.site, 'x', v.cost, v.age FROM visits v",
    f"SELECT {_ALL} FROM visits v EXCEPT ALL SELECT v.person, v.site, 'x', v.cost, v.age FROM visits v",
    "SELECT person, site, drug, 3 AS cost, 50.0 AS age FROM visits INTERSECT ALL "
    "SELECT person, site, drug, 3, 50.0 FROM others",
    "SELECT person, site, drug, SUM(CLAMP(cost, -7, 13)) OVER (PARTITION BY person ORDER BY age) AS cost, "
    "LAG(age, 2, 100) OVER (PARTITION BY person, site ORDER BY cost) AS age FROM visits",
    "SELECT person, site, drug, SUM(CLAMP(cost, -7, 13)) OVER (PARTITION BY person ORDER BY age "
    "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS cost, MAX(age) OVER (PARTITION BY person, site ORDER BY cost "
    "ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS age FROM visits",
    "SELECT v.person, v.site, u.part AS drug, w.x AS cost, v.age FROM visits v, UNNEST([-7, 13, cost]) AS w(x) "
    "CROSS JOIN UNNEST(STRING_SPLIT(drug || '-' || site, '-')[1:2]) AS u(part)",
    f"SELECT {_ALL} FROM visits v QUALIFY RANK() OVER (PARTITION BY person ORDER BY cost DESC) < 3",
)
#: Where every row is a unit of its own.
OF_ROWS: Final = (
    "SELECT v.person, r.site, v.drug, v.cost, v.age FROM rates r, visits v WHERE r.site = v.site AND r.drug = v.drug",
    f"SELECT {_ALL} FROM visits v LEFT JOIN rates r ON r.site = v.site AND r.drug = v.drug AND r.rate > v.cost",
    f"SELECT {_ALL} FROM visits v WHERE v.site NOT IN (SELECT site FROM rates WHERE rate > 5) OR v.cost > 3",
    f"SELECT {_ALL} FROM visits v WHERE EXISTS (SELECT 1 FROM rates r WHERE r.drug = v.drug AND r.rate > 5)",
    f"SELECT {_ALL} FROM visits v UNION ALL SELECT {_ALL} FROM others v WHERE v.cost > 0",
)


def tables(dataset: DataSet, visits: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Return what stands beside the rows of the search: a public table, and a second private one.

    There the person of the search has rows exactly where they have some in the first: a person comes with all of them.
    """
    own = _OWN if dataset.protects_persons and any(row["person"] == NEW for row in visits) else ()
    others = [{"person": one, "site": "a", "drug": "x", "cost": cost, "age": 50.0} for one, cost in (*_OTHERS, *own)]
    return {"visits": visits, "others": others, "rates": _PUBLIC}


def shaped_answers(noise: Noise) -> Iterator[Answer]:
    """Return the answers of ``plain_answers`` over every shape in turn."""
    turns = {True: itertools.cycle(OF_PERSONS), False: itertools.cycle(OF_ROWS)}
    for answer in plain_answers(noise):
        query = answer.query
        of_persons = query.dataset.protects_persons
        (visits,) = query.dataset.tables
        entering: dict[str, Any] = {"rows_per_join": int(noise.uniform_below(4, 1)[0]) + 1} if of_persons else {}
        others = replace(visits, name="others", source="others.csv")
        dataset = replace(query.dataset, tables=(visits, others, _RATES), **entering)
        relation = parse_sql(f"SELECT COUNT(*) FROM ({next(turns[of_persons])}) t", dataset).relation
        shaped = replace(query, dataset=dataset, relation=relation)
        yield plan_query(shaped, answer.design.target, noise=answer.design.noise)
