"""A body for every declared verb, and further arguments for any of them, as they are declared."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from dither.curator.remote_release import OPENED
from dither.curator.request_json import public_view, write_words
from dither.data.files import loads
from dither.data.schema import DataSet
from dither.learn import LogisticRegression
from dither.lift import cells_of
from dither.lift.verb import REGISTRY, Verb, arguments_schema
from dither.mechanisms import Geometric
from dither.publish.queries.builder import table
from dither.publish.workloads import Workload

SCHEMA: Final = """\
dataset: clinic
unit: person
contribution: {rows: 2, groups: 2, rows per group: 2}
tables:
  visits:
    source: visits.csv
    privacy id: patient
    columns:
      patient: integer
      ward: {kind: text, categories: [heart, skin]}
      waited: {kind: real, bounds: [0, 100]}
"""
_FRIENDS: Final = """\
dataset: {name}
unit: {unit}
tables:
  friends:
    source: {name}.csv
    graph: {{ends: [one, other], nodes: people{further}}}
    columns:
      one: text
      other: text
      length: {{kind: integer, bounds: [0, 60]}}
      of_{name}: integer
  people:
    source: people of {name}.csv
    public: true
    key: name
    columns:
      name: {{kind: text, categories: [a, b, c, d]}}
      team: {{kind: text, categories: [red, blue]}}
      in_{name}: integer
"""
#: Data sets of other kinds, for the verbs of graphs, places, streams and families; nothing is drawn from them.
OTHERS: Final = (
    _FRIENDS.format(name="friends", unit="edge", further=""),
    """\
dataset: city
unit: person
contribution: {rows: 3}
tables:
  points:
    source: points.csv
    privacy id: who
    places:
      at: [lat, lon]
      box: [50.0, 10.0, 50.1, 10.1]
      trip: trip
      time: when
      trips per person: 1
      points per trip: 3
    columns: {who: {kind: integer}, trip: {kind: integer}, when: {kind: integer}, lat: {kind: real}, lon: {kind: real}}
""",
    """\
dataset: homes
unit: person
contribution: {rows: 4}
tables:
  homes:
    source: homes.csv
    privacy id: home
    columns: {home: {kind: integer}, rooms: {kind: integer, bounds: [1, 3]}}
  people:
    source: people.csv
    privacy id: home
    columns: {home: {kind: integer}, age: {kind: integer, bounds: [0, 3]}}
""",
    _FRIENDS.format(name="members", unit="node", further=", degree: 2"),
    _FRIENDS.format(name="roads", unit="weight", further=", weight: length"),
    """\
dataset: rides
unit: row
tables:
  rides:
    source: rides.csv
    places: {zones: [origin, target]}
    columns:
      origin: {kind: text, categories: [a, b, c]}
      target: {kind: text, categories: [a, b, c]}
""",
    """\
dataset: clicks
unit: row
tables:
  clicks:
    source: clicks.csv
    stream: {time: at, tick: 1 hour, start: 2025-01-01T00:00:00, horizon: 24}
    columns: {at: timestamp, page: {kind: text, categories: [home, search]}}
""",
)
DATASETS: Final[Mapping[str, DataSet]] = {one.name: one for one in map(loads, (SCHEMA, *OTHERS))}
_VIEWS: Final = {name: public_view(one) for name, one in DATASETS.items()}
_LOSS: Final = "1/10"
_AREA: Final = [[10.0, 50.0], [10.1, 50.0], [10.1, 50.1], [10.0, 50.1], [10.0, 50.0]]
_AREAS: Final = {
    "type": "FeatureCollection",
    "features": [
        {
            "type": "Feature",
            "properties": {"name": "all"},
            "geometry": {"type": "Polygon", "coordinates": [_AREA]},
        }
    ],
}
_CELLS: Final = cells_of(_VIEWS["clinic"], "visits", "ward")
_WARDS: Final = table("visits").partition("ward", {"a": ["heart"]})


class Sample(NamedTuple):
    """What is asked of a verb: of which data set, and what it needs beside a loss."""

    dataset: str
    arguments: Mapping[str, Any]


def _of(dataset: str, **arguments: Any) -> Sample:
    return Sample(dataset, arguments)


#: One for each verb of the registry.
SAMPLES: Final[Mapping[str, Sample]] = {
    "sql": _of("clinic", text="SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"),
    "ask": _of("clinic", query=table("visits").group("ward").count("n")),
    "ask_parts": _of("clinic", parts=_WARDS.ask(a=lambda rows: rows.count("n"))),
    "ask_kept": _of("clinic", table="visits", conditions={"ward": ["heart"]}),
    "bounds": _of("clinic", table="visits", column="waited"),
    "limits": _of("clinic", table="visits"),
    "count": _of("clinic", table="visits"),
    "histogram": _of("clinic", table="visits", columns="waited", bins=4),
    "marginals": _of("clinic", table="visits", sets=[["ward"], ["ward", "waited"]], bins={"waited": 2}),
    "workload": _of("clinic", table="visits", columns="waited", workload=Workload.prefixes(4), bins=4),
    "synthesize": _of("clinic", table="visits", columns=["ward"], method="independent"),
    "synthesize_families": _of("homes", parent="homes", child="people"),
    "anonymize": _of("clinic", table="visits", columns=["ward"]),
    "fit": _of(
        "clinic",
        estimator=LogisticRegression(epsilon=_LOSS),
        table="visits",
        target="ward",
        features=["waited"],
    ),
    "method": _of("clinic", method=Geometric(shape=_CELLS.shape, scale=10 * _CELLS.sensitivity.l1), source=_CELLS),
    "stream": _of("clicks", query="SELECT page, COUNT(*) AS n FROM clicks GROUP BY page"),
    "conversation": _of("clinic", table="visits", columns=["ward"]),
    "parts": _of("clinic", partition=_WARDS),
    "graph.edges": _of("friends"),
    "graph.triangles": _of("friends"),
    "graph.stars": _of("friends", k=2),
    "graph.k_triangles": _of("friends", k=2),
    "graph.cliques": _of("friends", k=3),
    "graph.clustering": _of("friends"),
    "graph.assortativity": _of("friends"),
    "graph.degrees": _of("friends"),
    "graph.degree_histogram": _of("friends"),
    "graph.degrees_by_node": _of("friends"),
    "graph.degree_sum": _of("members", worth=[1]),
    "graph.edges_between": _of("friends", group="team"),
    "graph.spanning_tree": _of("roads"),
    "graph.path": _of("roads", start="a", end="c"),
    "graph.synthesize": _of("friends", method="top-edges"),
    "places.heatmap": _of("city", cell=5000),
    "places.regions": _of("city", regions=_AREAS, grid=2),
    "places.flows": _of("rides"),
    "places.synthesize": _of("city", grid=2),
    "places.stops": _of("city", count=2),
}


def called(verb: str) -> tuple[DataSet, dict[str, Any]]:
    """Return the data set and the arguments of the sample of a verb, with a loss where the verb takes one."""
    sample = SAMPLES[verb]
    stated = {} if REGISTRY[verb].argument("epsilon") is None else {"epsilon": _LOSS}
    return _VIEWS[sample.dataset], {**sample.arguments, **stated}


def bodies() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a body for every verb, as a client writes it, and the route and the data set that it is for."""
    for verb in SAMPLES:
        dataset, arguments = called(verb)
        body = {"verb": verb, "words": write_words(arguments, dataset)}
        route = "quote" if verb in OPENED else "release"
        yield f"{route}:{dataset.name}", json.loads(json.dumps(body))


def declared(verb: str) -> dict[str, list[Any]]:
    """Return values that the arguments of a verb may have by their declaration, by name."""
    return {name: list(_values(one)) for name, one in arguments_schema(REGISTRY[verb])["properties"].items()}


def _values(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield values of a schema: the default, each that is listed, and one of each type."""
    yield from (schema["default"],) if "default" in schema else ()
    yield from schema.get("enum", ())
    for one in schema.get("anyOf", ()):
        yield from _values(one)
    kinds = schema.get("type", ())
    for kind in (kinds,) if isinstance(kinds, str) else kinds:
        yield from _of_type(kind, schema)


def _of_type(kind: str, schema: Mapping[str, Any]) -> Iterator[Any]:
    match kind:
        case "array":
            item = next(_values(schema.get("items", {})), "ward")
            yield [item] * max(1, schema.get("minItems", 1))
        case "object":
            fields = schema.get("properties", {})
            yield {name: next(_values(fields.get(name, {})), "ward") for name in schema.get("required", ())}
        case _:
            yield {"string": "ward", "integer": 2, "number": 0.5, "boolean": True}.get(kind)


def unsampled() -> set[str]:
    """Return the verbs of the registry without a body, and the bodies of no verb."""
    return set(REGISTRY).symmetric_difference(SAMPLES)


def verb_of(body: Mapping[str, Any]) -> Verb[..., Any] | None:
    """Return the verb that a body names, if there is one."""
    name = body.get("verb")
    return REGISTRY.get(name) if isinstance(name, str) else None
