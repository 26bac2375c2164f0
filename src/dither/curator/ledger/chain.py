"""The hash chain: each entry's hash covers its own record and the hash before it.

Guarantee: whoever changes, drops, inserts or reorders entries must change the hash of the last one, or find two inputs
with one SHA-256. Who holds a receipt or an anchor holds such a hash.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


#: The field of a draw's entry that has its proof.
PROOF = "witness"


def canonical(record: Mapping[str, Any]) -> str:
    """Return the one text of a record: sorted keys, no spaces, ASCII."""
    return _ENCODER.encode(record)


#: The canonical text of a single text.
quoted: Callable[[str], str] = _ENCODER.encode


def debit_text(
    seq: int,
    time: str,
    account: tuple[str, str],
    key: str,
    digest: str,
    charge: Mapping[str, str | None],
    words: str,
    edition: int,
) -> str:
    """Return the canonical text of a debit's record, much quicker than ``canonical`` finds it."""
    epsilon = "null" if charge["epsilon"] is None else f'"{charge["epsilon"]}"'
    amount = f'{{"delta":"{charge["delta"]}","epsilon":{epsilon},"rho":"{charge["rho"]}"}}'
    dataset, analyst = account
    return (
        f'{{"analyst":{quoted(analyst)},"charge":{amount},"dataset":{quoted(dataset)},"description":{quoted(words)},'
        f'"digest":{quoted(digest)},"edition":{edition},"key":{quoted(key)},"kind":"reserve","seq":{seq},'
        f'"time":{quoted(time)}}}'
    )


def answer_text(seq: int, time: str, account: tuple[str, str], key: str, digest: str) -> str:
    """Return the canonical text of an answer's record, likewise."""
    dataset, analyst = account
    return (
        f'{{"analyst":{quoted(analyst)},"answer":{quoted(digest)},"dataset":{quoted(dataset)},"key":{quoted(key)},'
        f'"kind":"answer","seq":{seq},"time":{quoted(time)}}}'
    )


def first_link(ledger: str) -> str:
    """Return the hash that the first entry of a ledger follows."""
    return hashlib.sha256(f"dither ledger {ledger}".encode()).hexdigest()


def link(previous: str, text: str) -> str:
    """Return the hash of an entry, given the hash before it and its canonical text."""
    return hashlib.sha256(f"{previous}\n{text}".encode()).hexdigest()


def answer_digest(answer: bytes) -> str:
    """Return the digest by which the chain knows an answer."""
    return hashlib.sha256(answer).hexdigest()
