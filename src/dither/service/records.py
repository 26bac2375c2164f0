"""What requests and answers are made of, as JSON Schema: the table of routes names these.

Bodies have no fields but those that are here. Answers have all of theirs, unless they are open objects: a card, a quote
and what is declared of a data set are described where they are made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dither.curator.people import Role, Scope
from dither.lift.argument_schemas import FIGURE, STATED, loss_schema
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


def record_of(**fields: Schema) -> dict[str, Any]:
    """Return the schema of an object with all of these fields, and no others."""
    return _body(tuple(fields), **fields)


def array_of(items: Schema) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def _one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def or_null(schema: Schema) -> dict[str, Any]:
    """Return the schema of what may be absent."""
    return {"anyOf": [schema, {"type": "null"}]}


def _page(name: str, line: Schema, after: Schema = NUMBER) -> dict[str, Any]:
    """Return the schema of a page of a list, and of what stands behind ``after`` in the address of the next."""
    return record_of(**{name: array_of(line), "after": or_null(after)})


def names_of(plural: str) -> dict[str, Any]:
    """Return the schema of a page of names."""
    return _page(plural, TEXT, TEXT)


LOSS: Final = loss_schema("Loss", TEXT)
_WORDS: Final = {
    "type": "object",
    "description": 'The arguments of the verb, by name: {"text": "SELECT ...", "epsilon": 0.1}. A JSON number means '
    "its shortest decimal.",
}
_STAGES: Final = ("open", "paused", "closed", "retired")

# Bodies.

_VERB: Final = {**TEXT, "description": 'The name of a verb, such as "sql" or "graph.triangles".'}
LOSSES: Final = {"type": "array", "items": STATED, "maxItems": 64}
#: What the bodies of all verbs share; ``verb_schemas`` has one for each.
RELEASE: Final = _body(("verb", "words"), verb=_VERB, words=_WORDS)
QUOTE: Final = _body(("verb", "words"), verb=_VERB, words=_WORDS, losses=LOSSES)
LOGIN: Final = record_of(id_token=TEXT)
ERROR: Final = record_of(words=_WORDS)
ROOM: Final = _body(("loss",), loss=STATED, counted=TRUTH)
_ALLOWANCE: Final = record_of(each=TEXT, days=NUMBER)
GRANT: Final = _body(
    ("person", "quota"),
    person=TEXT,
    quota=STATED,
    most=or_null(STATED),
    usual=or_null(STATED),
    allowance=record_of(each=FIGURE, days=NUMBER),
    approval=_body((), above=or_null(STATED), approvers=NUMBER),
)
OPEN: Final = record_of(name=TEXT, words=_WORDS)
QUESTIONS: Final = _body(
    ("questions",), questions={"type": "array", "items": TEXT, "maxItems": 1000}, confidence=FIGURE
)
PART: Final = record_of(words=_WORDS)
TICKS: Final = _body((), until=or_null(NUMBER), after=NUMBER)
STAGE: Final = _body(("stage",), stage=_one_of(*_STAGES), reason=TEXT)
ADD: Final = _body(
    ("schema",),
    schema={"type": "object", "description": "What a schema file says; sources are paths below the roots, or tables."},
    budget=STATED,
    draft=TRUTH,
)
BUDGET: Final = record_of(budget=STATED, reason=TEXT)
DECISION: Final = _body(("decision",), decision=_one_of("approve", "decline"), because=TEXT)
PUBLISH: Final = _body(("release",), release={"type": ["integer", "string"]}, title=TEXT)

# Answers.

ALIVE: Final = record_of(status=_one_of("alive"))
READY: Final = record_of(status=_one_of("ready"))
OPENAPI: Final = {"type": "object", "required": ["openapi", "info", "paths", "components"]}
_TERMS: Final[dict[str, Schema]] = {
    "most": or_null(LOSS),
    "usual": or_null(LOSS),
    "allowance": or_null(_ALLOWANCE),
    "approval": or_null(record_of(above=or_null(LOSS), approvers=NUMBER)),
}
ME: Final = {"title": "Me"} | record_of(
    name=TEXT,
    role=_one_of(*(role.value for role in Role)),
    scopes=array_of(_one_of(*(scope.value for scope in Scope))),
    grants=array_of(record_of(dataset=TEXT, **_TERMS)),
)
DATASETS: Final = _page(
    "datasets", record_of(name=TEXT, unit=TEXT, tables=array_of(TEXT), is_granted=TRUTH, stage=TEXT), TEXT
)
ADDED: Final = record_of(dataset=TEXT, unit=TEXT, budget=LOSS, edition=NUMBER, stage=TEXT)
DECLARED: Final = {"title": "DataSet"} | record_of(
    name=TEXT,
    registered=TEXT,
    edition=NUMBER,
    since=NUMBER,
    stage=TEXT,
    analyst=TEXT,
    allows_idealised=TRUTH,
    declared=OBJECT,
)
BALANCE: Final = {"title": "Balance"} | record_of(
    dataset=TEXT,
    analyst=or_null(TEXT),
    unit=TEXT,
    releases=NUMBER,
    waiting=NUMBER,
    sealed=NUMBER,
    budget=LOSS,
    spent=LOSS,
    reserved=LOSS,
    left=LOSS,
    most=or_null(LOSS),
)
FITS: Final = record_of(left=TEXT, fits=TRUTH, releases=or_null(NUMBER), takes_back=TRUTH, after=TEXT)
_STORED: Final = array_of(record_of(entry=NUMBER, loss=LOSS, analyst=TEXT))
PRICE: Final = {
    "title": "Price",
    "description": "What a release would cost, what is left, and the expected error.",
    **_body(
        ("release", "unit", "left", "fits", "loss", "loss_decimals"),
        release=TEXT,
        unit=TEXT,
        left=TEXT,
        fits=TRUTH,
        is_at_most=TRUTH,
        error=TEXT,
        after=TEXT,
        stated=LOSS,
        loss=LOSS,
        loss_decimals=OBJECT,
    ),
}
_NUMBERS: Final = {"type": "number"}
_QUERY_FIELDS: Final = (
    "quote",
    "dataset",
    "unit",
    "limits",
    "loss",
    "loss_decimals",
    "columns",
    "keys",
    "rows",
    "risk",
    "numerics",
    "is_simultaneous",
    "threshold",
    "threshold_share",
    "advice",
    "left",
    "affordable",
)
QUERY_PRICE: Final = {
    "title": "QueryPrice",
    "description": "What a query would cost, and the expected error of each aggregate.",
    **_body(
        _QUERY_FIELDS,
        quote={"const": 1},
        dataset=TEXT,
        unit=TEXT,
        limits=TEXT,
        loss=LOSS,
        loss_decimals=OBJECT,
        columns=array_of(
            {"title": "PricedColumn"}
            | record_of(
                name=TEXT,
                mechanism=TEXT,
                share=TEXT,
                share_decimal=_NUMBERS,
                scale=array_of(_NUMBERS),
                error=_NUMBERS,
                error_unit=TEXT,
                estimand=TEXT,
                bias=TEXT,
                error_words=TEXT,
                group_rows=NUMBER,
            )
        ),
        keys=TEXT,
        rows=or_null(NUMBER),
        risk=_NUMBERS,
        numerics=TEXT,
        is_simultaneous=TRUTH,
        threshold=or_null(NUMBER),
        threshold_share=TEXT,
        advice=array_of(OBJECT),
        left=or_null(TEXT),
        affordable=or_null(NUMBER),
        after=TEXT,
    ),
}
_PRICED: Final = {"anyOf": [PRICE, QUERY_PRICE]}
QUOTED_AT: Final = {
    "anyOf": [record_of(quote=_PRICED, stored=_STORED), record_of(quotes=array_of(_PRICED), stored=_STORED)]
}
LEAST: Final = record_of(loss=LOSS)
RELEASES: Final = _page(
    "releases",
    record_of(
        number=NUMBER,
        time=TEXT,
        who=TEXT,
        what=TEXT,
        outcome=TEXT,
        key=or_null(TEXT),
        edition=NUMBER,
        price=LOSS,
    ),
)
JOB: Final = {"title": "Job"} | record_of(
    job=TEXT,
    dataset=TEXT,
    state=_one_of("queued", WAITING, "running", *ENDED),
    answer=or_null(TEXT),
    place=or_null(NUMBER),
    question=or_null(NUMBER),
    problem=or_null(OBJECT),
)
RECEIPT: Final = {
    "title": "Receipt",
    "type": "object",
    "properties": {"receipt": NUMBER, "checkpoint": TEXT},
    "required": ["receipt"],
}
_GOES_ON: Final[dict[str, Schema]] = {"name": TEXT, "loss": LOSS, "unit": TEXT, "receipt": TEXT, "said": TEXT}
_TALK: Final[dict[str, Schema]] = {"what": TEXT, "columns": array_of(TEXT), "asked": NUMBER, "kind": TEXT, **_GOES_ON}
_ANSWERS: Final = array_of({"type": "object", "required": ["question", "confidence", "source"]})


def _talk(**more: Schema) -> dict[str, Any]:
    """Return the schema of a conversation: about the cells of a table, or about the nodes of a graph."""
    return {"anyOf": [record_of(**_TALK, **{about: NUMBER}, **more) for about in ("cells", "nodes")]}


TALK: Final = _talk()
TALKED: Final = _talk(answers=_ANSWERS)
ANSWERS: Final = record_of(answers=_ANSWERS)
ACCOUNT: Final = record_of(**_GOES_ON, parts={}, partition={}, each=LOSS, asked=NUMBER, left=array_of(LOSS))
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
STREAM: Final = record_of(**_STREAM)
_STORED_TEXT: Final[Schema] = {**TEXT, "description": "A result, as the ledger would store it."}
STREAMED: Final = record_of(**_STREAM, answers=_STORED_TEXT)
_GRANTED: Final[dict[str, Schema]] = {"person": TEXT, "dataset": TEXT, "quota": LOSS, "left": LOSS, **_TERMS}
GRANTED: Final = {"title": "Grant"} | record_of(**_GRANTED)
GRANTS: Final = _page("grants", GRANTED, TEXT)
GRANT_ENDED: Final = record_of(person=TEXT, dataset=TEXT)
STAGED: Final = record_of(dataset=TEXT, stage=TEXT)
RAISED: Final = record_of(dataset=TEXT, budget=LOSS)
_RAISE: Final[dict[str, Schema]] = {"time": TEXT, "from": LOSS, "to": LOSS, "reason": TEXT}
_SHOWN: Final[dict[str, Schema]] = {
    "dataset": TEXT,
    "answer": NUMBER,
    "title": TEXT,
    "time": TEXT,
    "by": TEXT,
    "entry": NUMBER,
    "stated": or_null(NUMBER),
    "budget": or_null(LOSS),
    "spent": or_null(LOSS),
    "raises": array_of(record_of(**_RAISE)),
}
SHOWN: Final = {"title": "Publication"} | record_of(**_SHOWN)
PUBLISHED: Final = _page("published", record_of(**_SHOWN, number=NUMBER))
WITHDRAWN: Final = record_of(dataset=TEXT, release=TEXT)
QUESTION: Final = {"title": "Approval"} | record_of(
    number=NUMBER,
    dataset=TEXT,
    analyst=TEXT,
    what=TEXT,
    loss=LOSS,
    digest=TEXT,
    time=TEXT,
    state=TEXT,
    agreed=array_of(TEXT),
    approvers=NUMBER,
    because=TEXT,
)
WAITING_QUESTIONS: Final = _page("questions", QUESTION)
BALANCES: Final = _page("balances", BALANCE, TEXT)
ENTRIES: Final = _page("entries", record_of(number=NUMBER, hash=TEXT, record=OBJECT))
VERIFICATION: Final = record_of(
    ledger=TEXT,
    entries=NUMBER,
    datasets=NUMBER,
    releases=NUMBER,
    head=TEXT,
    problems=array_of(TEXT),
    is_intact=TRUTH,
)
KEYS: Final = record_of(changes=array_of(TEXT))
CONSISTENCY: Final = record_of(path=array_of(TEXT))
ISSUER: Final = record_of(issuer=TEXT, client=TEXT, scope=TEXT, device_authorization=TEXT, token=TEXT)
TOKEN: Final = record_of(token=TEXT)
PROBLEM: Final = {
    "title": "Problem",
    "type": "object",
    "properties": {"type": TEXT, "title": TEXT, "status": NUMBER, "detail": TEXT},
    "required": ["type", "title", "status", "detail"],
}

# Parameters of addresses.

_COUNT: Final = {"type": "integer", "minimum": 0, "maximum": 10**18 - 1}
_CONFIDENCE: Final = {
    **TEXT,
    "default": "0.95",
    "pattern": "^[0-9./eE-]{1,100}$",
    "description": "The level of the intervals.",
}
AFTER_ENTRY: Final = {"after": {**_COUNT, "default": 0, "description": "What the page before says."}}
AFTER_NAME: Final = {
    "after": {
        **TEXT,
        "default": "",
        "pattern": "^[^\\u0000]{0,200}$",
        "description": "What the page before says.",
    }
}
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
BECAUSE: Final = {
    "because": {
        **TEXT,
        "default": "",
        "pattern": "^[^\\u0000]{0,20000}$",
        "description": "Why, for the books.",
    }
}
SENT_BACK: Final = {
    name: {**TEXT, "pattern": "^[ -~]*$", "description": "As the issuer sends it."} for name in ("code", "state")
}

# Names in paths.

_FORMS: Final = "(\\.json|\\.csv|\\.arrow|\\.parquet)?"
PATH: Final[Mapping[str, Schema]] = {
    "dataset": {**TEXT, "pattern": "^(?!__)[A-Za-z_][A-Za-z0-9_]{0,62}$", "description": "The name of a data set."},
    "entry": {
        **TEXT,
        "pattern": "^[^/\\u0000-\\u001f\\u007f]{1,208}$",
        "description": "The number, key or place of an answer, with an ending for its form: 17, 17.csv.",
    },
    "job": {**TEXT, "pattern": "^[0-9a-f]{32}$", "description": "The name of a job, as Location has it."},
    "name": {**TEXT, "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$", "description": "Your name for it."},
    "person": {**TEXT, "pattern": "^[^/\\u0000-\\u001f\\u007f]{1,200}$", "description": "The name of a person."},
    "question": {**TEXT, "pattern": "^[0-9]{1,18}$", "description": "The number of a question."},
    "code": {**TEXT, "pattern": "^[A-Za-z0-9_-]{43}$", "description": "The code of the link."},
}
#: A published answer is known by its number alone.
PUBLISHED_ENTRY: Final[Mapping[str, Schema]] = {
    "entry": {
        **TEXT,
        "pattern": f"^[0-9]{{1,18}}{_FORMS}$",
        "description": "The number of a published answer, with an ending for its form: 17, 17.csv.",
    }
}
PUBLISHED_NUMBER: Final[Mapping[str, Schema]] = {
    "entry": {**TEXT, "pattern": "^[0-9]{1,18}$", "description": "The number of a published answer."}
}
#: Headers that a request may have.
HEADERS: Final[Mapping[str, Schema]] = {
    "Idempotency-Key": {**TEXT, "pattern": "^[^\\u0000-\\u001f\\u007f]{1,202}$"},
    "Prefer": {**TEXT, "pattern": "^(respond-async|wait=[0-9]{1,4})", "description": "respond-async, or wait=S"},
    "If-None-Match": TEXT,
}
