"""Bodies for every route that takes one: good ones, and what is made of them at random and with every known payload."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any, Final

from dither.curator.words import public_view, write_words
from dither.data.files import loads
from dither.data.yaml_tree import read, to_plain
from dither.lift import cells_of
from dither.mechanisms import Geometric
from dither.publish.queries.builder import table
from dither.publish.queries.parts import query_of_part
from dither.publish.workloads import Workload
from dither.verbs.offers import Offers, call_of
from tools.security.payloads import injections, paths

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
#: Data sets of other kinds, for the verbs of graphs, places and families; nothing is drawn from them.
OTHERS: Final = (
    """\
dataset: friends
unit: edge
tables:
  friends:
    source: friends.csv
    graph: {ends: [one, other]}
    columns:
      one: {kind: text, categories: [a, b, c]}
      other: {kind: text, categories: [a, b, c]}
""",
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
)
_ONE: Final[dict[str, Any]] = {"number": "1/10"}
_LOSS: Final[dict[str, Any]] = {"kind": "pure", "epsilon": "1/10"}
_TABLE: Final[dict[str, Any]] = {"table": "visits", "epsilon": _ONE}
_FIT: Final[dict[str, Any]] = {
    "estimator": {"estimator": "LogisticRegression", "parameters": {"epsilon": {"number": "1/10"}}}
}
_COUNT: Final = "SELECT ward, COUNT(*) AS n, AVG(waited) AS m FROM visits WHERE waited > 3 GROUP BY ward"
_CLINIC: Final = public_view(loads(SCHEMA))
_WARDS: Final = table("visits").partition("ward", {"heart": ["heart"], "skin": ["skin"]}).open(_CLINIC)
_PART: Final = query_of_part(_WARDS, "heart", lambda rows: rows.count())
#: What opens an account of parts.
PARTS: Final[dict[str, Any]] = {**write_words({"partition": _WARDS}, _CLINIC), "epsilon": _ONE}
_BY_HAND: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("release", {"verb": "sql", "words": {"text": _COUNT, "epsilon": _ONE}}),
    ("release", {"verb": "sql", "words": {"text": _COUNT, "loss": {"loss": {"kind": "zcdp", "rho": "1/10"}}}}),
    ("release", {"verb": "bounds", "words": {**_TABLE, "column": "waited"}}),
    ("release", {"verb": "limits", "words": _TABLE}),
    ("release", {"verb": "count", "words": _TABLE}),
    ("release", {"verb": "histogram", "words": {**_TABLE, "columns": "waited", "bins": 4}}),
    (
        "release",
        {"verb": "histogram", "words": {**_TABLE, "columns": ["ward", "waited"], "bins": {"map": [["waited", 4]]}}},
    ),
    (
        "release",
        {
            "verb": "marginals",
            "words": {**_TABLE, "sets": [["ward"], ["ward", "waited"]], "bins": {"map": [["waited", 2]]}},
        },
    ),
    ("release", {"verb": "anonymize", "words": {**_TABLE, "columns": ["ward"]}}),
    ("release", {"verb": "fit", "words": {**_FIT, "table": "visits", "target": "ward", "features": ["waited"]}}),
    ("quote", {"verb": "sql", "words": {"text": _COUNT}, "losses": [{"kind": "pure", "epsilon": "1/10"}]}),
    ("quote", {"verb": "histogram", "words": {**_TABLE, "columns": "ward"}}),
    ("loss_for_error", {"words": {"query": _COUNT, "column": "n", "error": 50}}),
    ("room", {"loss": {"kind": "approx", "epsilon": "1", "delta": "1/1000000"}, "counted": True}),
    ("open_conversation", {"name": "more", "words": {**_TABLE, "columns": ["ward"]}}),
    (
        "converse",
        {"questions": ["ward = 'heart'", "SELECT COUNT(*) FROM visits WHERE ward = 'skin'"], "confidence": "0.9"},
    ),
    ("open_stream", {"name": "ticks", "words": {"query": _COUNT, "epsilon": _ONE}}),
    ("release_ticks", {"until": 3, "after": 0}),
    ("open_parts", {"name": "more", "words": PARTS}),
    ("ask_part", {"words": {"label": "heart", **write_words({"question": _PART}, _CLINIC), "epsilon": _ONE}}),
    ("add", {"schema": {**to_plain(read(SCHEMA)), "dataset": "new"}, "budget": _LOSS, "draft": True}),
    (
        "grant",
        {
            "person": "ben",
            "quota": _LOSS,
            "most": _LOSS,
            "usual": None,
            "allowance": {"each": "1/10", "days": 7},
            "approval": {"above": _LOSS, "approvers": 1},
        },
    ),
    ("stage", {"stage": "paused", "reason": "a reason"}),
    ("budget", {"budget": _LOSS, "reason": "a reason"}),
    ("answer_question", {"decision": "decline", "because": "a reason"}),
    ("publish", {"release": "17", "title": "a title"}),
)


def _offered() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a body for each verb that no body above has, as a client writes it."""
    clinic, friends, city, homes = (Offers(public_view(loads(text))) for text in (SCHEMA, *OTHERS))
    cells = cells_of(clinic.dataset, "visits", "ward")
    parts = table("visits").partition("ward", {"a": ["heart"]}).ask(a=lambda rows: rows.count("n"))
    for offers, offer in (
        (clinic, clinic.ask(table("visits").group("ward").count("n"), epsilon="1/10")),
        (clinic, clinic.ask_parts(parts, epsilon="1/10")),
        (clinic, clinic.ask_kept("visits", {"ward": ["heart"]}, epsilon="1/10")),
        (clinic, clinic.workload("visits", "waited", Workload.prefixes(4), 4, epsilon="1/10")),
        (clinic, clinic.synthesize("visits", ["ward"], epsilon="1/10", method="independent")),
        (clinic, clinic.method(Geometric(shape=cells.shape, scale=10 * cells.sensitivity.l1), cells)),
        (friends, friends.graph().edges(epsilon="1/10")),
        (friends, friends.graph().synthesize(epsilon="1/10", method="top-edges")),
        (city, city.places().heatmap(epsilon="1/10", cell=5000)),
        (city, city.places().synthesize(epsilon="1/10", grid=2)),
        (city, city.places().stops(2, epsilon="1/10")),
        (homes, homes.synthesize_families("homes", "people", epsilon="1/10")),
    ):
        call = call_of(offers, offer)
        told = {name: value for name, value in call.arguments.items() if value is not None}
        body = {"verb": call.verb, "words": write_words(told, offers.dataset)}
        yield f"release:{offers.dataset.name}", json.loads(json.dumps(body))


#: Bodies that are answered, with the name of the route that each is for, and of the data set where it is another.
GOOD: Final[tuple[tuple[str, dict[str, Any]], ...]] = (*_BY_HAND, *_offered())
#: Bodies that name what is looked for among all mechanisms and estimators, whose modules are loaded for it.
LOADING: Final = (
    ("release", {"verb": "fit", "words": {"estimator": {"estimator": "x", "parameters": {}}}}),
    ("release", {"verb": "method", "words": {"method": {"spec": {"mechanism": "x", "version": 1, "parameters": {}}}}}),
)
#: Stands where a payload will.
_MARK: Final = "stands here"
_MARKED: Final = json.dumps(_MARK).encode()
_ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 2**64, 10**400, "", "\x00", [], {}, [[]], {"": 0}),
    *({"number": "1e999"}, {"number": "1/0"}, {"real": "nan"}, {"date": "0000-00-00"}, {"map": [[1, 2], [1, 2]]}),
    *({"spec": {"mechanism": "laplace"}}, {"estimator": "os.system", "parameters": {}}, {"loss": {"kind": "pure"}}),
    *([0] * 1000, {str(number): number for number in range(300)}, {"code": "1"}, {"path": "/etc/passwd"}),
)
_BYTES: Final = (
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b'"',
    b"{",
    b"[" * 150,
    b"}",
    b",",
    b":",
    b"NaN",
    b"1e9",
    b"\\u0000",
    b"9" * 500,
)


def texts(start: int = 0, step: int = 1) -> Iterator[tuple[str, bytes]]:
    """Yield each good body with each of its texts replaced by each injection and each path.

    Args:
        start: how many are left out before the first.
        step: one in so many is made, and the others are not.

    """
    payloads = [json.dumps(payload).encode() for payload in (*injections(), *paths())]
    left = start
    for route, body in GOOD:
        for place in _places(body):
            if isinstance(_at(body, place), str):
                around = json.dumps(_with(body, place, _MARK)).encode()
                for payload in payloads[left::step]:
                    yield route, around.replace(_MARKED, payload, 1)
                left = (left - len(payloads)) % step if left < len(payloads) else left - len(payloads)


def changed(seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield good bodies with bytes or parts changed at random, for ever."""
    dice = random.Random(seed)  # noqa: S311 - nothing here is secret
    while True:
        route, body = dice.choice(GOOD)
        if dice.random() < 0.5:
            for _ in range(dice.randint(1, 3)):
                body = _with(body, dice.choice(list(_places(body))), dice.choice(_ODD))
            yield route, json.dumps(body).encode()
        else:
            content = bytearray(json.dumps(body).encode())
            for _ in range(dice.randint(1, 4)):
                start = dice.randrange(len(content))
                end = start + dice.choice((0, 1, 1, 4, 40))
                content[start:end] = dice.choice(
                    (dice.choice(_BYTES), bytes([dice.randrange(256)]), content[start:end] * 2)
                )
            yield route, bytes(content)


def _places(tree: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if before:
        yield before
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from _places(tree[key], (*before, key))


def _at(tree: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        tree = tree[key]
    return tree


def _with(tree: Any, place: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(tree)
    _at(made, place[:-1])[place[-1]] = value
    return made
