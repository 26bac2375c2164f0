"""What requests and answers are made of, as JSON Schema: the table of routes names these.

Bodies have no fields but those that are here. Answers have all of theirs, unless they are open objects: a card, a quote
and what is declared of a data set are described where they are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dither.curator.delivering import QUOTED, VERBS
from dither.curator.people import Role, Scope
from dither.service.jobs import ENDED, WAITING

Schema = Mapping[str, Any]

TEXT: Final = {"type": "string"}
NUMBER: Final = {"type": "integer"}
TRUTH: Final = {"type": "boolean"}
OBJECT: Final = {"type": "object"}


def _body(required: tuple[str, ...], **fields: Schema) -> dict[str, Any]:
    """Return the schema of an object with these fields, some of which must be there, and no others."""
    plain = {"type": "object", "properties": dict(fields), "additionalProperties": False}
    return {**plain, "required": list(required)} if required else plain


def _record(**fields: Schema) -> dict[str, Any]:
    """Return the schema of an object with all of these fields, and no others."""
    return _body(tuple(fields), **fields)


def _list(items: Schema) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def _or_null(schema: Schema) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _page(name: str, line: Schema, after: Schema = NUMBER) -> dict[str, Any]:
    """Return the schema of a page of a list, and of what stands behind ``after`` in the address of the next."""
    return _record(**{name: _list(line), "after": _or_null(after)})


LOSS: Final = {
    "type": "object",
    "description": 'What may be lost, in exact figures: {"kind": "pure", "epsilon": "1/10"}.',
    "properties": {"kind": TEXT, "epsilon": TEXT, "delta": TEXT, "rho": TEXT},
    "required": ["kind"],
}
_WORDS: Final = {
    "type": "object",
    "description": "The arguments of the verb, by name: see the guide to the service for how figures are written.",
}
_STAGES: Final = ("open", "paused", "closed", "retired")

# Bodies.

RELEASE: Final = _body(("verb", "words"), verb=_one_of(*VERBS), words=_WORDS)
QUOTE: Final = _body(
    ("verb", "words"), verb=_one_of(*QUOTED), words=_WORDS, losses={"type": "array", "items": LOSS, "maxItems": 64}
)
LOGIN: Final = _record(id_token=TEXT)
ERROR: Final = _record(words=_WORDS)
ROOM: Final = _body(("loss",), loss=LOSS, counted=TRUTH)
_ALLOWANCE: Final = _record(each=TEXT, days=NUMBER)
GRANT: Final = _body(
    ("person", "quota"),
    person=TEXT,
    quota=LOSS,
    most=_or_null(LOSS),
    usual=_or_null(LOSS),
    allowance=_ALLOWANCE,
    approval=_body((), above=_or_null(LOSS), approvers=NUMBER),
)
OPEN: Final = _record(name=TEXT, words=_WORDS)
QUESTIONS: Final = _body(("questions",), questions={"type": "array", "items": TEXT, "maxItems": 1000}, confidence=TEXT)
PART: Final = _record(words=_WORDS)
TICKS: Final = _body((), until=_or_null(NUMBER), after=NUMBER)
STAGE: Final = _body(("stage",), stage=_one_of(*_STAGES), reason=TEXT)
ADD: Final = _body(
    ("schema",),
    schema={"type": "object", "description": "What a schema file says; sources are paths below the roots, or tables."},
    budget=LOSS,
    draft=TRUTH,
)
BUDGET: Final = _record(budget=LOSS, reason=TEXT)
DECISION: Final = _body(("decision",), decision=_one_of("approve", "decline"), because=TEXT)
PUBLISH: Final = _body(("release",), release={"type": ["integer", "string"]}, title=TEXT)

# Answers.

ALIVE: Final = _record(status=_one_of("alive"))
READY: Final = _record(status=_one_of("ready"))
OPENAPI: Final = {"type": "object", "required": ["openapi", "info", "paths", "components"]}
_TERMS: Final[dict[str, Schema]] = {
    "most": _or_null(LOSS),
    "usual": _or_null(LOSS),
    "allowance": _or_null(_ALLOWANCE),
    "approval": _or_null(_record(above=_or_null(LOSS), approvers=NUMBER)),
}
ME: Final = _record(
    name=TEXT,
    role=_one_of(*(role.value for role in Role)),
    scopes=_list(_one_of(*(scope.value for scope in Scope))),
    grants=_list(_record(dataset=TEXT, **_TERMS)),
)
DATASETS: Final = _page(
    "datasets", _record(name=TEXT, unit=TEXT, tables=_list(TEXT), is_granted=TRUTH, stage=TEXT), TEXT
)
ADDED: Final = _record(dataset=TEXT, unit=TEXT, budget=LOSS, edition=NUMBER, stage=TEXT)
DECLARED: Final = _record(
    name=TEXT,
    registered=TEXT,
    edition=NUMBER,
    since=NUMBER,
    stage=TEXT,
    analyst=TEXT,
    allows_idealised=TRUTH,
    declared=OBJECT,
)
BALANCE: Final = _record(
    dataset=TEXT,
    analyst=_or_null(TEXT),
    unit=TEXT,
    releases=NUMBER,
    waiting=NUMBER,
    sealed=NUMBER,
    budget=LOSS,
    spent=LOSS,
    reserved=LOSS,
    left=LOSS,
)
FITS: Final = _record(left=TEXT, fits=TRUTH, releases=_or_null(NUMBER), takes_back=TRUTH)
_STORED: Final = _list(_record(entry=NUMBER, loss=LOSS, analyst=TEXT))
QUOTED_AT: Final = {"anyOf": [_record(quote=OBJECT, stored=_STORED), _record(quotes=_list(OBJECT), stored=_STORED)]}
LEAST: Final = _record(loss=LOSS)
RELEASES: Final = _page(
    "releases",
    _record(
        number=NUMBER,
        time=TEXT,
        who=TEXT,
        what=TEXT,
        outcome=TEXT,
        key=_or_null(TEXT),
        edition=NUMBER,
        price=LOSS,
    ),
)
JOB: Final = _record(
    job=TEXT,
    dataset=TEXT,
    state=_one_of("queued", WAITING, "running", *ENDED),
    answer=_or_null(TEXT),
    place=_or_null(NUMBER),
    question=_or_null(NUMBER),
    problem=_or_null(OBJECT),
)
RECEIPT: Final = {"type": "object", "properties": {"receipt": NUMBER, "checkpoint": TEXT}, "required": ["receipt"]}
CONVERSATIONS: Final = _page("conversations", TEXT, TEXT)
PARTITIONS: Final = _page("parts", TEXT, TEXT)
STREAMS: Final = _page("streams", TEXT, TEXT)
_GOES_ON: Final[dict[str, Schema]] = {"name": TEXT, "loss": LOSS, "unit": TEXT, "receipt": TEXT, "said": TEXT}
_TALK: Final[dict[str, Schema]] = {"what": TEXT, "columns": _list(TEXT), "asked": NUMBER, "kind": TEXT, **_GOES_ON}
_ANSWERS: Final = _list({"type": "object", "required": ["question", "confidence", "source"]})


def _talk(**more: Schema) -> dict[str, Any]:
    """Return the schema of a conversation: about the cells of a table, or about the nodes of a graph."""
    return {"anyOf": [_record(**_TALK, **{about: NUMBER}, **more) for about in ("cells", "nodes")]}


TALK: Final = _talk()
TALKED: Final = _talk(answers=_ANSWERS)
ANSWERS: Final = _record(answers=_ANSWERS)
ACCOUNT: Final = _record(**_GOES_ON, parts={}, partition={}, each=LOSS, asked=NUMBER, left=_list(LOSS))
_STREAM: Final[dict[str, Schema]] = {
    **_GOES_ON,
    "what": TEXT,
    "kind": TEXT,
    "ticks": NUMBER,
    "tick_seconds": {"type": "number"},
    "start": TEXT,
    "released": NUMBER,
    "closed": TRUTH,
}
STREAM: Final = _record(**_STREAM)
_STORED_TEXT: Final[Schema] = {**TEXT, "description": "A result, as the ledger would store it."}
STREAMED: Final = _record(**_STREAM, answers=_STORED_TEXT)
_GRANTED: Final[dict[str, Schema]] = {"person": TEXT, "dataset": TEXT, "quota": LOSS, "left": LOSS, **_TERMS}
GRANTED: Final = _record(**_GRANTED)
GRANTS: Final = _page("grants", GRANTED, TEXT)
GRANT_ENDED: Final = _record(person=TEXT, dataset=TEXT)
STAGED: Final = _record(dataset=TEXT, stage=TEXT)
RAISED: Final = _record(dataset=TEXT, budget=LOSS)
_RAISE: Final[dict[str, Schema]] = {"time": TEXT, "from": LOSS, "to": LOSS, "reason": TEXT}
_SHOWN: Final[dict[str, Schema]] = {
    "dataset": TEXT,
    "answer": NUMBER,
    "title": TEXT,
    "time": TEXT,
    "by": TEXT,
    "entry": NUMBER,
    "stated": _or_null(NUMBER),
    "budget": _or_null(LOSS),
    "spent": _or_null(LOSS),
    "raises": _list(_record(**_RAISE)),
}
SHOWN: Final = _record(**_SHOWN)
PUBLISHED: Final = _page("published", _record(**_SHOWN, number=NUMBER))
WITHDRAWN: Final = _record(dataset=TEXT, release=TEXT)
QUESTION: Final = _record(
    number=NUMBER,
    dataset=TEXT,
    analyst=TEXT,
    what=TEXT,
    loss=LOSS,
    digest=TEXT,
    time=TEXT,
    state=TEXT,
    agreed=_list(TEXT),
    approvers=NUMBER,
    because=TEXT,
)
WAITING_QUESTIONS: Final = _page("questions", QUESTION)
BALANCES: Final = _page("balances", BALANCE, TEXT)
ENTRIES: Final = _page("entries", _record(number=NUMBER, hash=TEXT, record=OBJECT))
VERIFICATION: Final = _record(
    ledger=TEXT,
    entries=NUMBER,
    datasets=NUMBER,
    releases=NUMBER,
    head=TEXT,
    problems=_list(TEXT),
    is_intact=TRUTH,
)
KEYS: Final = _record(changes=_list(TEXT))
CONSISTENCY: Final = _record(path=_list(TEXT))
ISSUER: Final = _record(issuer=TEXT, client=TEXT, scope=TEXT, device_authorization=TEXT, token=TEXT)
TOKEN: Final = _record(token=TEXT)
PROBLEM: Final = {
    "type": "object",
    "properties": {"type": TEXT, "title": TEXT, "status": NUMBER, "detail": TEXT},
    "required": ["type", "title", "status", "detail"],
}

# Parameters of addresses.

_COUNT: Final = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
_CONFIDENCE: Final = {**TEXT, "default": "0.95", "description": "The level of the intervals."}
AFTER_ENTRY: Final = {"after": {**_COUNT, "default": 0, "description": "What the page before says."}}
AFTER_NAME: Final = {"after": {**TEXT, "default": "", "description": "What the page before says."}}
SIZES: Final[Mapping[str, Schema]] = {
    "earlier": {**_COUNT, "minimum": 1, "description": "How many entries there were."},
    "size": {**_COUNT, "minimum": 1, "description": "How many there are, or were later."},
}
TALKED_AT: Final = {"confidence": _CONFIDENCE}
STREAMED_AT: Final[Mapping[str, Schema]] = {
    "first": {**_COUNT, "default": 0, "description": "The first tick, counted from 0."},
    "end": {**_COUNT, "description": "The tick before which to end; else all."},
    "confidence": _CONFIDENCE,
}
BECAUSE: Final = {"because": {**TEXT, "default": "", "description": "Why, for the books."}}
SENT_BACK: Final = {name: {**TEXT, "description": "As the issuer sends it."} for name in ("code", "state")}
