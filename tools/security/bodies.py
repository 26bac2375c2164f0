"""Bodies for every route that takes one: good ones, and what is made of them at random and with every known payload.

Those of verbs are made of what the verbs declare (``verb_bodies``).
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any, Final

from dither.curator.request_json import public_view, write_words
from dither.data.yaml_tree import read, to_plain
from dither.publish.queries.builder import table
from dither.publish.queries.parts import query_of_part
from tools.security import verb_bodies
from tools.security.payloads import injections, paths

_ONE: Final[dict[str, Any]] = {"number": "1/10"}
_LOSS: Final[dict[str, Any]] = {"kind": "pure", "epsilon": "1/10"}
_TABLE: Final[dict[str, Any]] = {"table": "visits", "epsilon": _ONE}
_COUNT: Final = "SELECT ward, COUNT(*) AS n, AVG(waited) AS m FROM visits WHERE waited > 3 GROUP BY ward"
_CLINIC: Final = public_view(verb_bodies.DATASETS["clinic"])
_WARDS: Final = table("visits").partition("ward", {"heart": ["heart"], "skin": ["skin"]}).open(_CLINIC)
_PART: Final = query_of_part(_WARDS, "heart", lambda rows: rows.count())
#: What opens an account of parts.
PARTS: Final[dict[str, Any]] = {**write_words({"partition": _WARDS}, _CLINIC), "epsilon": _ONE}
_BY_HAND: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("release", {"verb": "sql", "words": {"text": _COUNT, "epsilon": _ONE}}),
    ("release", {"verb": "sql", "words": {"text": _COUNT, "loss": {"loss": {"kind": "zcdp", "rho": "1/10"}}}}),
    (
        "release",
        {"verb": "histogram", "words": {**_TABLE, "columns": ["ward", "waited"], "bins": {"map": [["waited", 4]]}}},
    ),
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
    ("add", {"schema": {**to_plain(read(verb_bodies.SCHEMA)), "dataset": "new"}, "budget": _LOSS, "draft": True}),
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


#: Bodies that are answered, with the name of the route that each is for, and of the data set where it is another.
GOOD: Final[tuple[tuple[str, dict[str, Any]], ...]] = (*_BY_HAND, *verb_bodies.bodies())
#: What scikit-learn looks for among installed packages, once, before it refuses it.
_NO_TABLE: Final = {"epsilon": _ONE, "categories": 1}
#: Bodies that name what is looked for among all mechanisms and estimators, whose modules are loaded for it.
LOADING: Final = (
    (
        "release",
        {
            "verb": "fit",
            "words": {
                "table": "visits",
                "target": "ward",
                "features": ["waited"],
                "estimator": {"estimator": "LogisticRegression", "parameters": _NO_TABLE},
            },
        },
    ),
    ("release", {"verb": "fit", "words": {"table": "visits", "estimator": {"estimator": "x", "parameters": {}}}}),
    (
        "release",
        {
            "verb": "method",
            "words": {
                "method": {"spec": {"mechanism": "x", "version": 1, "parameters": {}}},
                "source": {"spec": {"source": "x"}},
            },
        },
    ),
)
#: Stands where a payload will.
_MARK: Final = "stands here"
#: How often an argument that the verb declares is added or replaced, and not any part of the body.
_FURTHER: Final = 0.3
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
                found = _declared(body, dice) if dice.random() < _FURTHER else None
                place, value = found or (dice.choice(list(_places(body))), dice.choice(_ODD))
                body = _with(body, place, value)
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


def _declared(body: Any, dice: random.Random) -> tuple[tuple[str, str], Any] | None:
    """Return the place of an argument that the verb of a body declares, and a value of its declared type."""
    verb = verb_bodies.verb_of(body)
    if verb is None or not isinstance(body.get("words"), dict):
        return None
    values = {name: found for name, found in verb_bodies.declared(verb.name).items() if found}
    name = dice.choice(list(values))
    return ("words", name), dice.choice(values[name])


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
