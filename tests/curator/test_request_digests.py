"""Requests keep their digests for ever: one is written down for every verb and option.

A stored answer is found by the digest of its request. So a verb may be split, renamed or moved in Python, and an option
spelled anew, but no line of ``request_digests.txt`` changes: an honest retry would be refused as another request, and
an answer that was paid for would be lost. Where a verb is re-spelled, only its call in ``VERBS`` changes. A new verb or
option needs a case; ``python -m tools.digests --add`` writes lines that are missing, and refuses to change one.

The declarations below are part of what is asked, and as fixed as the digests. All is planned from them, without rows
and without chance. A request consists of names, texts, integers, exact fractions, and reals as they were declared; here
these have few binary digits, so that equal parts of a range are exact. What remains:

- ``fit``, ``place_stops``, ``method`` and ``anonymize`` ask for a calibrated mechanism. Within an epsilon or a rho, its
  scale is an exact fraction. Within an epsilon and a delta, a rho is found by a search that the logarithm of the
  machine's C library steers (``zcdp_rho``), and another library may end it one step away: those cases are marked
  ``loosely``, and their line is that of the request without the mechanism. For the same reason the only models are
  naive Bayes and clusters in a plane: descent and trees are calibrated in floating point, and a box in degrees has a
  cosine in its bounds.
- The first three of these have the version of the algorithm in the request. Where a version rises, the case gets a new
  name, and the former name goes to ``RETIRED``: its line stays, because stored answers have it.
- ``stream`` with an epsilon and a delta asks for the epsilon alone where that has smaller errors. The case with a delta
  is a stream of leaders, for which nothing is compared.
- Integers that a formula chooses by rounding (the cells of a map by their length, the sides of a grid
  of clusters) are pinned: no rounding of a last digit moves them here.
"""

from __future__ import annotations

import collections
import datetime
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from dither.curator.access import request_of
from dither.curator.auto_clamp import InTurn
from dither.curator.partition_account import PartsInTurn
from dither.curator.remote_release import former_key, usual_key
from dither.curator.request import Request
from dither.curator.session import Session
from dither.data import Column, DataSet, Kind, Table
from dither.data.graphs import Graph
from dither.data.place_tables import Places
from dither.data.schema import person_unit
from dither.data.ticks import Ticks
from dither.errors import InvalidParameter
from dither.lift import cells_of
from dither.lift.offer import Offer
from dither.lift.verb import REGISTRY
from dither.mechanisms import Geometric
from dither.privacy import EDGE, NODE, ROW, ROW_REPLACED, WEIGHT, PureDP, Unit
from dither.publish.graphs.choosing import COUNTING
from dither.publish.graphs.further_plans import WEIGHT_WISHES
from dither.publish.graphs.node_planning import _METHODS as OF_NODES
from dither.publish.graphs.planning import WISHES
from dither.publish.graphs.synthesis.planning import KINDS as SYNTHETIC_GRAPHS
from dither.publish.interactive.question_kinds import KINDS as QUESTIONS
from dither.publish.microdata import METHODS as ANONYMIZING
from dither.publish.microdata import Taxonomy
from dither.publish.places.journey_planning import KINDS as JOURNEYS
from dither.publish.queries.builder import col, table
from dither.publish.queries.found_clamps import found_clamps
from dither.publish.streams.kinds import RELEASED
from dither.publish.synthetic import Determined, Impossible
from dither.publish.workloads import Workload
from dither.verbs.offers import Call, Offers, call_of

PEOPLE = ("ann", "ben", "cem", "dot", "eve", "fay", "gus", "hal")
YEAR = datetime.date(2025, 1, 1), datetime.date(2025, 12, 31)


def clinic(unit: Unit) -> DataSet:
    """Visits and baskets of people, or as single rows; of people also a table with one row for each."""
    of_people = unit.protects == "person"
    person = Column("person", Kind.INTEGER)
    visits = (
        person,
        Column("site", Kind.TEXT, categories=("north", "south")),
        Column("drug", Kind.TEXT, categories=("a", "b", "c")),
        Column("cost", Kind.INTEGER, lower=0, upper=10),
        Column("age", Kind.REAL, lower=0, upper=128),
    )
    baskets = (person, Column("item", Kind.TEXT, categories=("bread", "milk", "tea")), Column("note", Kind.TEXT))
    members = (
        person,
        Column("sex", Kind.TEXT, categories=("f", "m")),
        Column("smokes", Kind.BOOLEAN),
        Column("drinks", Kind.BOOLEAN),
    )
    owner: dict[str, Any] = {"person": "person"} if of_people else {}
    tables = [Table("visits", visits, "visits.csv", **owner), Table("baskets", baskets, "baskets.csv", **owner)]
    if of_people:
        tables.append(Table("members", members, "members.csv", rows_per_person=1, **owner))
    limits = {"rows": 3, "groups": 2, "rows_per_group": 2} if of_people else {}
    return DataSet("clinic", tuple(tables), unit, **limits)  # type: ignore[arg-type]


def friends(unit: Unit, **declared: Any) -> DataSet:
    """A graph of eight people with teams."""
    ends = tuple(Column(name, Kind.TEXT, categories=PEOPLE) for name in ("one", "other"))
    others = (
        Column("met", Kind.DATE, lower=YEAR[0], upper=YEAR[1]),
        Column("length", Kind.INTEGER, lower=0, upper=60),
    )
    teams = (
        Column("name", Kind.TEXT, categories=PEOPLE),
        Column("team", Kind.TEXT, categories=("red", "blue")),
    )
    graph = Graph(("one", "other"), nodes="people", **declared)
    edges = Table("friends", (*ends, *others), "friends.csv", graph=graph)
    return DataSet("friends", (edges, Table("people", teams, "people.csv", is_public=True, key=("name",))), unit)


def city() -> DataSet:
    """Points of journeys, of people."""
    columns = (
        Column("who", Kind.INTEGER),
        Column("trip", Kind.INTEGER),
        Column("at", Kind.TIMESTAMP),
        Column("lat", Kind.REAL),
        Column("lon", Kind.REAL),
    )
    places = Places(("lat", "lon"), (50.0, 10.0, 50.5, 10.5), trip="trip", time="at", trips=1, points=16)
    return DataSet("city", (Table("points", columns, "points.csv", "who", places=places),), person_unit("who"), rows=16)


def field_of_people() -> DataSet:
    """Positions in a plane, of people."""
    columns = (Column("who", Kind.INTEGER), Column("y", Kind.REAL), Column("x", Kind.REAL))
    places = Places(("y", "x"), (0.0, 0.0, 1024.0, 1024.0), coordinates="metres")
    return DataSet("field", (Table("spots", columns, "spots.csv", "who", places=places),), person_unit("who"), rows=2)


def rides() -> DataSet:
    """Trips between zones, and between positions, as single rows."""
    zones = tuple(Column(name, Kind.TEXT, categories=("a", "b", "c")) for name in ("origin", "target"))
    ends = tuple(Column(name, Kind.REAL) for name in ("y", "x", "to_y", "to_x"))
    positions = Places(("y", "x"), (0.0, 0.0, 1024.0, 1024.0), coordinates="metres", to=("to_y", "to_x"))
    tables = (
        Table("rides", zones, "rides.csv", places=Places(zones=("origin", "target"))),
        Table("moves", ends, "moves.csv", places=positions),
    )
    return DataSet("rides", tables, ROW)


def clicks(unit: Unit) -> DataSet:
    """Rows that arrive over a day, hour by hour."""
    of_people = unit.protects == "person"
    columns = (
        Column("person", Kind.INTEGER),
        Column("at", Kind.TIMESTAMP),
        Column("site", Kind.TEXT, categories=("north", "south")),
        Column("cost", Kind.INTEGER, lower=0, upper=10),
    )
    limits: dict[str, Any] = {"rows": 1, "ticks": 4} if of_people else {}
    stream = Ticks("at", 3600, datetime.datetime(2025, 1, 1), 24, **limits)
    arriving = Table("clicks", columns, "clicks.csv", "person" if of_people else None, stream=stream)
    return DataSet("clicks", (arriving,), unit, **({"rows": 4} if of_people else {}))


PERSON = person_unit("person")
#: The data sets that cases are about.
DATASETS: dict[str, Callable[[], DataSet]] = {
    "people": lambda: clinic(PERSON),
    "people replaced": lambda: clinic(person_unit("person", replaced=True)),
    "rows": lambda: clinic(ROW),
    "rows replaced": lambda: clinic(ROW_REPLACED),
    "edges": lambda: friends(EDGE, time="met"),
    "nodes": lambda: friends(NODE, degree=6),
    "nodes of a time": lambda: friends(NODE, degree=6, time="met"),
    "weights": lambda: friends(WEIGHT, weight="length"),
    "city": city,
    "field": field_of_people,
    "rides": rides,
    "clicks": lambda: clicks(ROW),
    "people's clicks": lambda: clicks(PERSON),
}


class Same(dict[str, Any]):
    """Words that ask the same as those of another case, and have its digest: by default those of the verb as it is."""

    of: str | None = None


def same(of: str | None = None, **words: Any) -> Same:
    """Return words that ask the same as another case."""
    made = Same(words)
    made.of = of
    return made


class Loosely(dict[str, Any]):
    """Words of a case whose mechanism depends on the machine: its line is that of the request without it."""


@dataclass(frozen=True)
class Verb:
    """Cases of a verb: one as it is, and one for each option that is set besides.

    Args:
        dataset: the data set.
        call: makes an offer with further words.
        options: by what a line says of it, the words of each further case, beside those of the first one or in their
            place. Words for a loss take the place of all that state one.
        words: of the first case.
        is_whole: whether the losses of ``LOSSES`` are cases as well.

    """

    dataset: str
    call: Callable[..., Offer[Any]]
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    words: Mapping[str, Any] = field(default_factory=lambda: {"epsilon": 1})
    is_whole: bool = True

    def cases(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Return what a line says of each case besides the verb, and all of its words."""
        yield "", self.words
        for said, words in {**(LOSSES if self.is_whole else {}), **self.options}.items():
            kept = [name for name in self.words if name not in _STATED or not set(_STATED) & set(words)]
            yield said, {name: self.words[name] for name in kept} | words

    def option(self, said: str) -> Mapping[str, Any]:
        """Return what was set beside the words of the first case."""
        return self.options.get(said, LOSSES.get(said, {}))


#: The ways to state a loss. A record is the same as words.
LOSSES: dict[str, Mapping[str, Any]] = {
    "epsilon 1/2": {"epsilon": "0.5"},
    "epsilon and delta": {"epsilon": 1, "delta": "1e-6"},
    "rho": {"rho": "1/8"},
    "loss": same(loss=PureDP(1)),
}
_STATED = ("epsilon", "delta", "rho", "loss")
COUNT = table("visits").group("site").count("n")
FOUND = table("baskets").group("note").count("n")
HALVES = {"up": ["north"], "down": ["south"]}
HALVED = {"parts": HALVES}
PARTED = (
    table("visits").partition("site", HALVES).ask(up=lambda rows: rows.count("n"), down=lambda rows: rows.sum("cost"))
)
TREE = Taxonomy.of({"old": ["a", "b"], "new": ["c"]}, root="any")
ITEMS = Taxonomy.of({"food": ["bread"], "drink": ["milk", "tea"]}, root="any")


def _square(name: str, larger: str, x: float) -> dict[str, Any]:
    ring = [[x, 0.0], [x + 512, 0.0], [x + 512, 1024.0], [x, 1024.0], [x, 0.0]]
    shape = {"type": "Polygon", "coordinates": [ring]}
    return {"type": "Feature", "properties": {"name": name, "code": f"{name}1", "in": larger}, "geometry": shape}


def _town(west: float, east: float) -> dict[str, Any]:
    ring = [[west, 50.0], [east, 50.0], [east, 50.5], [west, 50.5], [west, 50.0]]
    shape = {"type": "Polygon", "coordinates": [ring]}
    return {"type": "Feature", "properties": {"name": f"to {east}"}, "geometry": shape}


TOWNS = {"type": "FeatureCollection", "features": [_town(10.0, 10.25), _town(10.25, 10.5)]}
BLOCKS = {"type": "FeatureCollection", "features": [_square("west", "all", 0.0), _square("east", "all", 512.0)]}


def _fit(offer: Offers, name: str, /, *words: Any, loss: Mapping[str, Any] | None = None, **options: Any) -> Offer[Any]:
    import dither.learn

    return offer.fit(getattr(dither.learn, name)(**(loss or {"epsilon": 1})), *words, **options)


def _geometric(offer: Offers, column: str, scale: int = 2) -> Offer[Any]:
    cells = cells_of(offer.dataset, "visits", column)
    return offer.method(Geometric(shape=cells.shape, scale=scale), cells)


COUNTS = {
    "noise laplace": {"noise": "laplace"},
    "noise gaussian": {"noise": "gaussian", "rho": "1/8"},
    "shares": {"shares": {"n": "1/4", "s": "3/4"}},
    "confidence": {"confidence": "0.9"},
}
DISCOVERED = {"epsilon": 1, "delta": "1e-6"}
METERED = {"confidence": {"confidence": "0.9"}, "where": {"where": "cost > 3"}}

#: Every verb, with its options one by one. The names of cases, and what they ask, stay; the calls are as Python spells
#: them today.
#: The first of these towns, named by another property.
CODED: dict[str, Any] = {**TOWNS, "features": [{**TOWNS["features"][0], "properties": {"code": "t1"}}]}
#: Options of answers about the edges of a period, and of counts.
PERIOD: dict[str, Any] = {
    "since": {"since": "2025-02-01"},
    "until": {"until": "2025-03-01"},
    "confidence": {"confidence": "0.9"},
}
COUNTED: dict[str, Any] = {**PERIOD, "method": {"method": "laplace"}, "error": {"error": 10, "loss": None}}

VERBS: dict[str, Verb] = {
    # Answers.
    "sql": Verb(
        "people",
        lambda offer, **how: offer.sql("SELECT site, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY site", **how),
        {**COUNTS, "auto share, of a query without one": same(auto_share="1/4")},
    ),
    "sql of rows": Verb("rows", lambda offer, **how: offer.sql("SELECT COUNT(*) AS n FROM visits", **how)),
    "sql of rows replaced": Verb(
        "rows replaced", lambda offer, **how: offer.sql("SELECT COUNT(*) AS n FROM visits", **how)
    ),
    "sql of people replaced": Verb(
        "people replaced", lambda offer, **how: offer.sql("SELECT COUNT(*) AS n FROM visits", **how)
    ),
    "sql with a condition": Verb(
        "people",
        lambda offer, **how: offer.sql("SELECT AVG(age) AS mean FROM visits WHERE drug = 'a'", **how),
        is_whole=False,
    ),
    "sql of a join": Verb(
        "people",
        lambda offer, **how: offer.sql(
            "SELECT m.sex, SUM(v.cost) AS s FROM visits v JOIN members m ON v.person = m.person GROUP BY m.sex", **how
        ),
    ),
    "sql of a median": Verb(
        "people",
        lambda offer, **how: offer.sql("SELECT MEDIAN(cost) AS m FROM visits", **how),
        {
            "quantiles tree": {"quantiles": "tree"},
            "quantiles exponential": {"quantiles": "exponential"},
        },
        is_whole=False,
    ),
    "sql of found groups": Verb(
        "people",
        lambda offer, **how: offer.sql("SELECT note, COUNT(*) AS n FROM baskets GROUP BY note", **how),
        {"threshold share": {"threshold_share": "0.4"}, "likely empty": same(likely_empty=True)},
        words=DISCOVERED,
        is_whole=False,
    ),
    "sql with a threshold share": Verb(
        "people",
        lambda offer, **how: offer.sql(
            "SELECT note, COUNT(*) AS n FROM baskets GROUP BY note OPTION (THRESHOLD_SHARE = 0.25)", **how
        ),
        words=DISCOVERED,
        is_whole=False,
    ),
    "sql with a loss in it": Verb(
        "people",
        lambda offer, **how: offer.sql(
            "SELECT WITH ANONYMIZATION OPTIONS (epsilon = 1) COUNT(*) AS n FROM visits", **how
        ),
        words={},
        is_whole=False,
    ),
    "sql of a report": Verb(
        "people",
        lambda offer, **how: offer.sql(
            "SELECT COUNT(*) AS n FROM visits UNION ALL SELECT COUNT(*) AS n FROM baskets", **how
        ),
        {
            "noise laplace": {"noise": "laplace"},
            "noise gaussian": {"noise": "gaussian", "rho": "1/8"},
            "confidence": {"confidence": "0.9"},
        },
    ),
    "ask": Verb(
        "people",
        lambda offer, **how: offer.ask(**how),
        {
            "query": {"query": table("visits").group("drug").count("n")},
            "as a text": same("sql of found groups", query=FOUND, **DISCOVERED),
            "noise laplace": {"noise": "laplace"},
            "noise gaussian": {"noise": "gaussian", "rho": "1/8"},
            "shares": {"shares": {"n": 1}},
            "confidence": {"confidence": "0.9"},
            "description": same(description="a line for people"),
        },
        words={"query": COUNT, "epsilon": 1},
    ),
    "ask with a condition": Verb(
        "people", lambda offer, **how: offer.ask(table("visits").where(col("cost") > 3).count("n"), **how)
    ),
    "ask for a median": Verb(
        "people",
        lambda offer, **how: offer.ask(table("visits").quantile("cost", 0.5), **how),
        {"quantiles tree": {"quantiles": "tree"}},
    ),
    "ask for found groups": Verb(
        "people",
        lambda offer, **how: offer.ask(FOUND, **how),
        {"threshold share": {"threshold_share": "0.4"}, "likely empty": same(likely_empty=True)},
        words={"epsilon": 2, "delta": "1e-6"},
        is_whole=False,
    ),
    "ask parts": Verb(
        "people",
        lambda offer, **how: offer.ask_parts(PARTED, **how),
        {
            "noise laplace": {"noise": "laplace"},
            "noise gaussian": {"noise": "gaussian", "rho": "1/8"},
            "confidence": {"confidence": "0.9"},
            "description": same(description="a line for people"),
        },
    ),
    # Facts that are found.
    "bounds": Verb(
        "people", lambda offer, **how: offer.bounds("visits", "age", **how), {"where": {"where": "cost > 3"}}
    ),
    "limits": Verb(
        "people",
        lambda offer, **how: offer.limits("visits", **how),
        {"share": {"share": "0.8"}, "most": {"most": 16}, "where": {"where": "cost > 3"}, "drops": {"drops": 2}},
    ),
    # Tables of counts.
    "histogram": Verb(
        "people",
        lambda offer, **how: offer.histogram("visits", "cost", **how),
        {
            **METERED,
            "method": {"method": "identity"},
            "method dawa": {"method": "dawa"},
            "questions cells": {"questions": "cells"},
            "questions ranges": {"questions": "ranges"},
            "data dependent": {"data_dependent": True},
            "rows": {"rows": 1000},
            "negative": {"non_negative": False},
            "bins": {"bins": 5},
        },
    ),
    "histogram of reals": Verb(
        "people",
        lambda offer, **how: offer.histogram("visits", "age", **how),
        {
            "bins by edges": {"bins": [0, 16, 64, 128]},
            "outside ends": {"bins": [16, 64], "outside": "ends"},
            "outside drop": {"bins": [16, 64], "outside": "drop"},
        },
        words={"epsilon": 1, "bins": 4},
        is_whole=False,
    ),
    "histogram of two columns": Verb(
        "rows",
        lambda offer, **how: offer.histogram("visits", ("site", "age"), **how),
        {"bins": {"bins": {"age": 8}}},
        words={"epsilon": 1, "bins": {"age": 4}},
    ),
    "histogram of many cells": Verb(
        "people",
        lambda offer, **how: offer.histogram("visits", ("cost", "age"), {"age": 64}, **how),
        words={"epsilon": 1, "delta": "1e-6", "method": "sparse-histogram"},
        is_whole=False,
    ),
    "count": Verb(
        "people",
        lambda offer, **how: offer.count("visits", **how),
        {
            "epsilon 1/2": {"epsilon": "0.5"},
            "loss": same(loss=PureDP(1)),
            "share": {"share": "0.1"},
            "levels": {"levels": 4},
            "columns": {"columns": "site"},
            "bins": {"columns": "age", "bins": 4},
            "outside": {"columns": "age", "bins": [16, 64], "outside": "ends"},
            **METERED,
        },
        is_whole=False,
    ),
    "workload": Verb(
        "people",
        lambda offer, **how: offer.workload("visits", "cost", **how),
        {
            "ranges": {"workload": Workload.all_ranges(11)},
            "method hdmm": {"method": "hdmm"},
            "method identity": {"method": "identity"},
            "bins": {"workload": Workload.prefixes(5), "bins": 5},
            "outside": {"workload": Workload.prefixes(2), "bins": [2, 4, 6], "outside": "drop"},
            **METERED,
        },
        words={"epsilon": 1, "workload": Workload.prefixes(11)},
    ),
    "marginals": Verb(
        "people",
        lambda offer, **how: offer.marginals("visits", **how),
        {
            "bins": {"sets": [("site",), ("age", "site")], "bins": {"age": 4}},
            "outside": {"sets": [("age",), ("site",)], "bins": {"age": [16, 64]}, "outside": "drop"},
            **METERED,
        },
        words={"epsilon": 1, "sets": [("site",), ("drug", "site")]},
    ),
    # Tables of rows.
    "synthesize": Verb(
        "people",
        lambda offer, **how: offer.synthesize("visits", **how),
        {
            "columns": {"columns": ["site", "drug"]},
            "method": {"method": "independent"},
            "method mst": {"method": "mst"},
            "bins": {"bins": {"age": 4}},
            "bins found": {"bins": {"age": "found"}},
            "other": {"other": {"drug": "else"}},
            "impossible": {"constraints": [Impossible(("site", "drug"), (("north", "a"),))]},
            "determined": {
                "constraints": [Determined("site", "drug", (("a", "north"), ("b", "south"), ("c", "south")))]
            },
            "where": {"where": "cost > 3"},
        },
    ),
    "synthesize families": Verb(
        "people",
        lambda offer, **how: offer.synthesize_families("members", "visits", **how),
        {
            "columns": {"columns": ["sex", "site"]},
            "method": {"method": "mst"},
            "bins": {"bins": {"age": 4}},
            "other": {"other": {"drug": "else"}},
            "children": {"children": 2},
        },
    ),
    "anonymize": Verb(
        "people",
        lambda offer, **how: offer.anonymize("visits", **how),
        {
            "epsilon and delta": Loosely(epsilon=1, delta="1e-6"),
            "columns": {"columns": ["site", "drug"]},
            "terms": {"terms": {"age": ["young", "old"]}},
            "groups": {"groups": [["site", "drug"], ["cost"]]},
            "bins": {"bins": {"age": 4}},
            "other": {"other": {"drug": "else"}},
            "where": {"where": "cost > 3"},
        },
        words={"epsilon": 1, "columns": ["site", "drug", "cost", "age"]},
    ),
    "anonymize by diffgen": Verb(
        "people",
        lambda offer, **how: offer.anonymize("visits", ["site", "drug", "cost"], method="diffgen", **how),
        {
            "target": {"target": "drug"},
            "steps": {"steps": 2},
            "taxonomies": {"taxonomies": {"drug": TREE}},
        },
        words={"epsilon": 1, "target": "site"},
        is_whole=False,
    ),
    "anonymize by diffpart": Verb(
        "people",
        lambda offer, **how: offer.anonymize("baskets", ["item"], method="diffpart", **how),
        {"taxonomies": {"taxonomies": {"item": ITEMS}}},
        is_whole=False,
    ),
    "anonymize by perturbed rows": Verb(
        "rows replaced",
        lambda offer, **how: offer.anonymize("visits", ["site", "drug"], method="perturbed-rows", **how),
        {"rows": {"rows": 50}},
        words={"epsilon": 1, "rows": 100},
        is_whole=False,
    ),
    "ask kept": Verb(
        "people",
        lambda offer, **how: offer.ask_kept("visits", **how),
        {
            "conditions": {"conditions": {"site": ["south"]}},
            "terms": {"conditions": {"age": ["old"]}, "terms": {"age": ["young", "old"]}},
            **METERED,
        },
        words={"epsilon": 1, "conditions": {"site": ["north"], "drug": ["a", "b"]}},
    ),
    # Models.
    "fit": Verb(
        "people",
        lambda offer, **how: _fit(offer, "GaussianNB", "visits", **how),
        {
            "epsilon 1/2": {"loss": {"epsilon": "0.5"}},
            "epsilon and delta": Loosely(loss={"epsilon": 1, "delta": "1e-6"}),
            "rho": {"loss": {"rho": "1/8"}},
            "loss": same(loss={"loss": PureDP(1)}),
            "features": {"features": ["cost"]},
            "target": {"target": "drug"},
            "per row": {"per": "row"},
            "score": {"score": True},
            "where": {"where": "cost > 3"},
        },
        words={"target": "site", "features": ["cost", "age"]},
        is_whole=False,
    ),
    "fit of rows": Verb(
        "rows replaced",
        lambda offer, **how: _fit(offer, "GaussianNB", "visits", target="site", features=["cost"], **how),
        words={},
        is_whole=False,
    ),
    # What goes on.
    "stream": Verb(
        "clicks",
        lambda offer, **how: offer.stream(
            "SELECT site, COUNT(*) AS n, SUM(cost) AS s FROM clicks GROUP BY site", **how
        ),
        {
            "released tick": {"released": "tick"},
            "released decayed": {"released": "decayed", "decay": "1/2"},
            "decay": {"released": "decayed", "decay": "1/4"},
            "horizon": {"horizon": 12},
            "shares": {"shares": {"n": "1/4", "s": "3/4"}},
            "kept exact": {"kept": "exact"},
            "epsilon 1/2": {"epsilon": "0.5"},
            "rho": {"rho": "1/8"},
            "loss": same(loss=PureDP(1)),
        },
        is_whole=False,
    ),
    "stream of quantiles": Verb(
        "clicks",
        lambda offer, **how: offer.stream("SELECT cost, COUNT(*) AS n FROM clicks GROUP BY cost", **how),
        {"ranks": {"ranks": ["1/4", "3/4"]}},
        words={"epsilon": 1, "released": "quantiles"},
        is_whole=False,
    ),
    "stream of the largest": Verb(
        "clicks",
        lambda offer, **how: offer.stream("SELECT cost, COUNT(*) AS n FROM clicks GROUP BY cost", **how),
        {
            "top": {"top": 3},
            "changes": {"changes": 8},
            "threshold": {"threshold": 64},
            "epsilon and delta": {"epsilon": 1, "delta": "1e-6"},
        },
        words={"epsilon": 1, "released": "top", "top": 2, "changes": 4, "threshold": 32},
        is_whole=False,
    ),
    "stream of people": Verb(
        "people's clicks",
        lambda offer, **how: offer.stream(table("clicks").group("site").count("n"), **how),
        is_whole=False,
    ),
    "conversation": Verb(
        "people",
        lambda offer, **how: offer.conversation("visits", **how),
        {
            "columns": {"columns": ["drug"]},
            "bins": {"columns": ["age"], "bins": {"age": 4}},
            "corrections": {"corrections": 1},
            "questions": {"questions": 50},
        },
        words={"epsilon": 1, "columns": ["site", "cost"]},
    ),
    "conversation about cuts": Verb(
        "edges",
        lambda offer, **how: offer.conversation(kind="cuts", **how),
        {"table": same(table="friends"), "corrections": {"corrections": 1}},
        is_whole=False,
    ),
    "conversation about distances": Verb(
        "people",
        lambda offer, **how: offer.conversation("visits", ["site"], kind="distances", **how),
        {"metric": {"metric": "line"}, "metric by table": {"metric": [[0, 2], [2, 0]]}},
        is_whole=False,
    ),
    "conversation about disjunctions": Verb(
        "people",
        lambda offer, **how: offer.conversation("members", ["smokes", "drinks"], kind="disjunctions", **how),
        {"degree": {"degree": 1}},
        is_whole=False,
    ),
    "conversation about minimisers": Verb(
        "people",
        lambda offer, **how: offer.conversation("visits", ["site"], kind="minimisers", **how),
        {"candidates": {"candidates": 5}, "top": {"top": 2}},
        words={"epsilon": 1, "candidates": 4, "top": 1},
        is_whole=False,
    ),
    "parts": Verb(
        "people",
        lambda offer, **how: offer.parts(table("visits").partition("site", **how.pop("split", HALVED)), **how),
        {
            "partition": {"split": {"parts": {"all": ["north", "south"]}}},
            "groups": {"split": {"parts": HALVES, "groups": 1}},
        },
    ),
    # Graphs.
    "graph edges": Verb(
        "edges",
        lambda offer, **how: _graph(offer, "edges", **how),
        {
            "table": same(table="friends"),
            "method laplace": {"method": "laplace"},
            "method truncated": {"method": "truncated", "epsilon": 1, "delta": "1e-6"},
            "error": {"error": 10, "loss": None},
            "since": {"since": "2025-02-01"},
            "since, as a date": same("graph edges: since", since=datetime.date(2025, 2, 1)),
            "until": {"until": "2025-03-01"},
            "confidence": {"confidence": "0.9"},
        },
    ),
    "graph triangles": Verb(
        "edges",
        lambda offer, **how: _graph(offer, "triangles", **how),
        {
            "method ladder": {"method": "ladder"},
            "method smooth": {"method": "smooth", "epsilon": 1, "delta": "1e-6"},
            "method noisy-local": {"method": "noisy-local", "epsilon": 1, "delta": "1e-6"},
            "error": {"error": 10, "loss": None},
            **PERIOD,
        },
    ),
    "graph stars": Verb(
        "edges",
        lambda offer, **how: _graph(offer, "stars", **how),
        {"k": {"k": 3}, **COUNTED},
        words={"epsilon": 1, "k": 2},
    ),
    "graph k-triangles": Verb(
        "edges",
        lambda offer, **how: _graph(offer, "k-triangles", **how),
        {"k": {"k": 3}, **COUNTED},
        words={"epsilon": 1, "k": 2},
    ),
    "graph cliques": Verb(
        "edges",
        lambda offer, **how: _graph(offer, "cliques", **how),
        {"k": {"k": 5}, **COUNTED},
        words={"epsilon": 1, "k": 4},
    ),
    "graph degrees": Verb("edges", lambda offer, **how: _graph(offer, "degrees", **how), PERIOD),
    "graph degree-histogram": Verb("edges", lambda offer, **how: _graph(offer, "degree-histogram", **how), PERIOD),
    "graph degrees-by-node": Verb("edges", lambda offer, **how: _graph(offer, "degrees-by-node", **how), PERIOD),
    "graph clustering": Verb("edges", lambda offer, **how: _graph(offer, "clustering", **how), PERIOD),
    "graph assortativity": Verb("edges", lambda offer, **how: _graph(offer, "assortativity", **how), PERIOD),
    "graph edges-between": Verb(
        "edges",
        lambda offer, **how: _graph(offer, "edges-between", group="team", **how),
        {
            "since": {"since": "2025-02-01"},
            "until": {"until": "2025-03-01"},
            "confidence": {"confidence": "0.9"},
        },
    ),
    "graph edges of nodes": Verb(
        "nodes",
        lambda offer, **how: _graph(offer, "edges", **how),
        {f"method {name}": {"method": name} for name in ("projection", "flow", "race", "recursive")},
    ),
    "graph triangles of nodes": Verb(
        "nodes",
        lambda offer, **how: _graph(offer, "triangles", **how),
        {f"method {name}": {"method": name} for name in ("programmes", "quick")},
    ),
    "graph degrees of nodes": Verb(
        "nodes",
        lambda offer, **how: _graph(offer, "degrees", **how),
        {"method projection": {"method": "projection"}},
    ),
    "graph stars of nodes": Verb("nodes", lambda offer, **how: _graph(offer, "stars", k=2, **how)),
    "graph degree-sum": Verb(
        "nodes",
        lambda offer, **how: _graph(offer, "degree-sum", **how),
        {"worth": {"worth": [1, 2, 3]}},
        words={"epsilon": 1, "worth": (1,)},
    ),
    "graph degree-sum of a time": Verb(
        "nodes of a time",
        lambda offer, **how: _graph(offer, "degree-sum", **how),
        PERIOD,
        words={"epsilon": 1, "worth": (1,)},
        is_whole=False,
    ),
    "graph spanning-tree": Verb(
        "weights",
        lambda offer, **how: _graph(offer, "spanning-tree", **how),
        {"method laplace": {"method": "laplace"}, "confidence": {"confidence": "0.9"}},
    ),
    "graph path": Verb(
        "weights",
        lambda offer, **how: _graph(offer, "path", **how),
        {
            "start": {"start": "ben"},
            "end": {"end": "dot"},
            "method laplace": {"method": "laplace"},
            "confidence": {"confidence": "0.9"},
        },
        words={"epsilon": 1, "start": "ann", "end": "cem"},
    ),
    "graph synthesis": Verb(
        "edges",
        lambda offer, **how: _graph(offer, "synthesize", **how),
        {
            "table": same(table="friends"),
            "most": {"most": 4},
            **{
                f"method {name}": {"method": name}
                for name in (
                    "clustered",
                    "top-edges",
                    "joint-degrees",
                    "communities",
                    "degrees",
                    "densities",
                    "kronecker",
                    "hierarchy",
                )
            },
        },
    ),
    # Places.
    "heatmap": Verb(
        "city",
        lambda offer, **how: _places(offer, "heatmap", **how),
        {
            "table": same(table="points"),
            "grid": {"grid": 4},
            "grid of two sides": {"grid": (4, 8)},
            "cell": {"cell": 10_000},
            "method": {"method": "identity"},
            "questions cells": {"questions": "cells"},
            "questions rectangles": {"questions": "rectangles"},
            "confidence": {"confidence": "0.9"},
        },
    ),
    "regions": Verb(
        "city",
        lambda offer, **how: _places(offer, "regions", **how),
        {
            "table": same(table="points"),
            "regions": {"regions": {**TOWNS, "features": TOWNS["features"][:1]}},
            "grid": {"grid": 4},
            "cell": {"grid": None, "cell": 10_000},
            "named": {"named": "code", "regions": CODED},
            "method": {"method": "identity"},
            "confidence": {"confidence": "0.9"},
        },
        words={"epsilon": 1, "regions": TOWNS, "grid": 8},
    ),
    "flows": Verb(
        "rides",
        lambda offer, **how: _places(offer, "flows", table="rides", **how),
        {
            "regions": {"regions": {"a": "up", "b": "up", "c": "down"}},
            "method": {"method": "identity"},
            "confidence": {"confidence": "0.9"},
        },
    ),
    "flows of positions": Verb(
        "rides",
        lambda offer, **how: _places(offer, "flows", table="moves", **how),
        {"grid": {"grid": 4}, "cell": {"grid": None, "cell": 128}},
        words={"epsilon": 1, "grid": 2},
        is_whole=False,
    ),
    "flows between polygons": Verb(
        "rides",
        lambda offer, **how: _places(offer, "flows", table="moves", **how),
        {"named": {"named": "code"}, "within": {"within": "in"}, "grid": {"grid": 4}},
        words={"epsilon": 1, "regions": BLOCKS, "grid": 8},
        is_whole=False,
    ),
    "journeys": Verb(
        "city",
        lambda offer, **how: _places(offer, "synthesize", **how),
        {
            "table": same(table="points"),
            "grid": {"grid": 4},
            "length": {"length": 8},
            "most": {"most": 100},
            **{f"method {name}": {"method": name} for name in ("walks", "prefix-tree", "markov", "hierarchy")},
            "times": {"times": 24},
        },
    ),
    "stops": Verb(
        "field",
        lambda offer, **how: _places(offer, "stops", **how),
        {
            "epsilon and delta": Loosely(epsilon=1, delta="1e-6"),
            "count": {"count": 3},
            "table": same(table="spots"),
            "algorithm": {"algorithm": "grid"},
        },
        words={"epsilon": 1, "count": 2},
    ),
    # Anything else.
    "method": Verb(
        "people",
        lambda offer, **how: _geometric(offer, **how),
        {"method": {"column": "site", "scale": 3}, "source": {"column": "drug"}},
        words={"column": "site"},
        is_whole=False,
    ),
}


#: A query whose clamps are found first: what all of it asks, the keys of its ranges, and these as they are asked.
AUTO = "SELECT site, SUM(CLAMP(age, AUTO)) AS s, COUNT(*) AS n FROM visits GROUP BY site"
IN_TURN: dict[str, Mapping[str, Any]] = {
    "": {"epsilon": 1},
    **LOSSES,
    "noise laplace": {"epsilon": 1, "noise": "laplace"},
    "noise gaussian": {"rho": "1/8", "noise": "gaussian"},
    "shares": {"epsilon": 1, "shares": {"s": "3/4", "n": "1/4"}},
    "confidence": {"epsilon": 1, "confidence": "0.9"},
    "auto share": {"epsilon": 1, "auto_share": "1/4"},
}
#: Names of cases that nothing asks any more: their lines stay.
RETIRED: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Made:
    """A case as it was made.

    Args:
        digest: what its line says.
        request: what is asked.
        call: the verb and its words, where it is a verb of ``Offers``.
        same_as: the case that asks the same.

    """

    digest: str
    request: Request
    call: Call | None = None
    same_as: str | None = None


@functools.cache
def session_of(dataset: str) -> Session:
    """Return a session that plans and could not release: it has no curator."""
    return Session(cast("Any", None), DATASETS[dataset](), analyst="ana")


def _graph(offer: Offers, what: str, *, table: str | None = None, **how: Any) -> Offer[Any]:
    found: Offer[Any] = getattr(offer.graph(table), what.replace("-", "_"))(**how)
    return found


def _places(offer: Offers, what: str, *, table: str | None = None, **how: Any) -> Offer[Any]:
    found: Offer[Any] = getattr(offer.places(table), what)(**how)
    return found


def _offered() -> Iterator[tuple[str, Made]]:
    """Make the cases of all verbs."""
    for name, verb in VERBS.items():
        session = session_of(verb.dataset)
        for said, words in verb.cases():
            offer = verb.call(session.offer, **words)
            request, option = request_of(session, offer), verb.option(said)
            if isinstance(option, Loosely):
                request = replace(request, asked={k: v for k, v in request.asked.items() if k != "mechanism"})
            twin = (option.of or name) if isinstance(option, Same) else None
            yield _named(name, said), Made(request.digest, request, call_of(session.offer, offer), twin)


def _in_turn() -> Iterator[tuple[str, Made]]:
    """Make the cases of a query with ranges to be found, and those of the ranges."""
    session, name = session_of("people"), "sql in turn"
    clamps = found_clamps(AUTO, session.dataset)
    assert clamps is not None
    for said, words in IN_TURN.items():
        rest = {"noise": "auto", "shares": None, "threshold_share": None, "quantiles": "auto"}
        how = rest | {word: value for word, value in words.items() if word not in ("auto_share", "confidence")}
        others = {"auto_share": words.get("auto_share", "1/10"), "confidence": words.get("confidence", "0.95")}
        turns = InTurn.of(session.dataset, clamps, how, key="monday", **others)
        request = request_of(session, turns)
        yield _named(name, said), Made(request.digest, request, same_as=name if isinstance(words, Same) else None)
        if not said:
            (finding,) = turns.finding
            found = request_of(session, finding)
            yield f"{name}, its range", Made(found.digest, found)
            yield f"{name}, the key of its range", Made(str(finding.key), found)


def _of_parts() -> Iterator[tuple[str, Made]]:
    """Make the cases of a question to an account of parts."""
    session = session_of("people")
    offer = session.offer.parts(table("visits").partition("site", HALVES), epsilon=1)
    account = PartsInTurn("weekly", session, cast("Any", offer.mechanism), cast("Any", None), "")
    options: dict[str, dict[str, Any]] = {
        "": {},
        "label": {"label": "down"},
        "question": {"question": lambda rows: rows.sum("cost")},
        "loss": {"loss": PureDP("1/2")},
        "noise": {"noise": "laplace"},
        "confidence": {"confidence": "0.9"},
    }
    usual = {"label": "up", "question": lambda rows: rows.count("n"), "loss": PureDP("1/4")}
    for said, words in options.items():
        request = account.planned(**(usual | words)).request
        yield _named("question to a part", said), Made(request.digest, request)


def _keys() -> Iterator[tuple[str, Made]]:
    """Make the keys that requests get for which nobody has chosen one."""
    session = session_of("people")
    request = request_of(session, session.offer.histogram("visits", "cost", epsilon=1))
    for said, key in {"usual key": usual_key, "former key": former_key}.items():
        yield f"histogram, its {said}", Made(key(request, 1), request)


def _named(name: str, said: str) -> str:
    return f"{name}: {said}" if said else name


@functools.cache
def cases() -> dict[str, Made]:
    """Return every case by its name; made once, by the first test that looks."""
    made = [*_offered(), *_in_turn(), *_of_parts(), *_keys()]
    assert len({name for name, _ in made}) == len(made), "two cases of one name"
    return dict(made)


def digests() -> dict[str, str]:
    """Return what the lines of ``request_digests.txt`` say: for ``tools/digests.py``."""
    return {name: case.digest for name, case in cases().items()}


def verbs() -> dict[str, inspect.Signature]:
    """Return the signatures of all declared verbs; what one is about is found by its table."""
    table = inspect.Parameter("table", inspect.Parameter.KEYWORD_ONLY, default=None)
    return {
        name: one.signature.replace(parameters=[*one.signature.parameters.values(), table])
        if one.is_about_part
        else one.signature
        for name, one in REGISTRY.items()
    }


@pytest.fixture
def tool(load_tool: Callable[[str], ModuleType]) -> Any:
    return load_tool("digests")


def test_every_request_has_the_digest_that_was_written_down_for_it(tool: Any) -> None:
    written, made = tool.read(), digests()
    assert tool.changed(written, made) == [], "stored answers would be lost: make these requests what they were"
    assert sorted(made.keys() - written.keys()) == [], "python -m tools.digests --add writes them down"
    assert written.keys() - made.keys() == RETIRED, "a line stays for ever: its case does, or its name is retired"


def test_every_verb_and_option_has_a_case() -> None:
    """Two words of ``count`` are there to be refused, and a key is no part of what is asked."""
    tried: dict[str, set[str]] = collections.defaultdict(set)
    for case in cases().values():
        if case.call is not None:
            tried[case.call.verb] |= _chosen(case.call)
    wanted = {verb: set(signature.parameters) - {"key"} for verb, signature in verbs().items()}
    wanted["count"] -= {"delta", "rho"}
    assert len(wanted) > 20
    assert {verb: sorted(words - tried[verb]) for verb, words in wanted.items() if words - tried[verb]} == {}
    offer = session_of("people").offer
    for refused in ({"epsilon": 1, "delta": "1e-6"}, {"rho": "1/8"}):
        with pytest.raises(InvalidParameter):
            offer.count("visits", **refused)


def _chosen(call: Call) -> set[str]:
    """Return the words of a call that are not left at their default."""
    known = verbs()[call.verb].parameters
    defaults = {name: known[name].default for name in call.arguments}
    return {
        name
        for name, value in call.arguments.items()
        if defaults[name] is inspect.Parameter.empty or (value is not defaults[name] and value != defaults[name])
    }


#: What may stand in a request under a name, where that says which of several releases is meant.
CHOICES: dict[tuple[str, str], set[str]] = {
    ("graph", "what"): {*WISHES, "edges-between", *WEIGHT_WISHES},
    ("graph", "method"): {
        "auto",
        *COUNTING,
        *SYNTHETIC_GRAPHS,
        *(name for names in OF_NODES.values() for name in names),
    },
    ("places", "what"): {"heatmap", "regions", "flows", "stops"},
    ("places", "method"): {"auto", *JOURNEYS},
    ("stream", "released"): {*RELEASED},
    ("conversation", "kind"): {*QUESTIONS},
    ("anonymized table", "method"): {*ANONYMIZING},
}


@pytest.mark.parametrize("choice", CHOICES, ids=" ".join)
def test_every_choice_of_a_release_has_a_case(choice: tuple[str, str]) -> None:
    verb, name = choice
    seen = {case.request.asked.get(name) for case in cases().values() if case.request.verb == verb}
    assert sorted(CHOICES[choice] - seen) == []


def test_what_asks_for_other_things_is_told_apart_and_what_asks_the_same_is_not() -> None:
    alike: dict[str, list[str]] = collections.defaultdict(list)
    for name, case in cases().items():
        if case.same_as is None:
            alike[case.digest].append(name)
        else:
            assert case.digest == cases()[case.same_as].digest, name
    assert [names for names in alike.values() if len(names) > 1] == []


def test_a_line_is_added_and_never_changed(tool: Any, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    assert tool.add({"b": "2" * 64, "a: x": "1" * 64}, path) == ["a: x", "b"]
    assert path.read_text() == f"{'1' * 64}  a: x\n{'2' * 64}  b\n"
    assert tool.add({"b": "2" * 64, "c": "3" * 64}, path) == ["c"]
    before = path.read_text()
    assert tool.read(path) == {"a: x": "1" * 64, "b": "2" * 64, "c": "3" * 64}
    with pytest.raises(ValueError, match="b"):
        tool.add({"b": "4" * 64, "d": "5" * 64}, path)
    assert path.read_text() == before
    path.write_text(before + f"{'6' * 64}  b\n")
    with pytest.raises(ValueError, match="two lines"):
        tool.read(path)
