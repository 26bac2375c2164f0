"""What the chain says of one request: asked before its answer is given out, and before it is begun again.

The row of a request says again what its entries say. Bytes that were changed in it are not sent, and a row from which
an answer or an attempt was taken does not have noise drawn anew for a debit that paid for it already.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dither.curator.ledger.chain import PROOF, answer_digest, quoted
from dither.curator.ledger.interface import Account
from dither.curator.ledger.transaction import Page, Request, guarded
from dither.errors import LedgerCorrupted


def checked_answer(page: Page, account: Account, key: str, known: Request) -> tuple[bytes, int, str, str]:
    """Return an answer, the number and hash of its entry, and its digest, if the chain has them so."""
    if known.answered is None or known.answer is None:
        raise LedgerCorrupted(page.rows.place, "an answered request has no answer")
    content = answer_digest(known.answer)
    _check_debit(page, account, key, known)
    digest = _linked(page, known.answered, {"kind": "answer", **_whose(account, key), "answer": content})
    return known.answer, known.answered, digest, content


@guarded
def check_waiting(page: Page, account: Account, key: str, known: Request) -> str:
    """Refuse a request that is said to wait for its answer if its entries tell otherwise; return the proof of its draw.

    That is "" where there is no draw, or one that has no proof.

    Reads the entries of the data set since the debit: for a request that is begun again, which is seldom.
    """
    if page.is_written(account, key):
        return ""
    _check_debit(page, account, key, known)
    pattern = re.sub("([%_!])", "!\\1", f'"key":{quoted(key)},"kind":')
    rows = page.rows.all(
        "SELECT record FROM entries WHERE dataset = ? AND seq > ? AND record LIKE ? ESCAPE '!' ORDER BY seq",
        account.dataset,
        known.reserved,
        f"%{pattern}%",
    )
    whose = _whose(account, key).items()
    later = [record for record in (json.loads(row[0]) for row in rows) if whose <= record.items()]
    kinds = [record["kind"] for record in later]
    draws = [record for record in later if record["kind"] == "draw"]
    proof = str(draws[0].get(PROOF, "")) if draws else ""
    is_told = kinds.count("renew") == known.attempts - 1 and [one["seq"] for one in draws] == (
        [] if known.drawn is None else [known.drawn]
    )
    # Only a draw that has a proof is followed by another attempt.
    is_told = is_told and len(kinds) == known.attempts - 1 + len(draws) and (bool(proof) or "draw" not in kinds[:-1])
    if not is_told:
        raise LedgerCorrupted(page.rows.place, f"request {key!r} contradicts its entries")
    if proof and known.drawn is not None:
        # What noise is drawn again rests on it.
        _linked(page, known.drawn, {"kind": "draw", **_whose(account, key), PROOF: proof})
    return proof


def _check_debit(page: Page, account: Account, key: str, known: Request) -> None:
    said = {"kind": "reserve", **_whose(account, key), "digest": known.digest, "charge": known.charge.to_dict()}
    _linked(page, known.reserved, said)


def _whose(account: Account, key: str) -> dict[str, Any]:
    return {"dataset": account.dataset, "analyst": account.analyst, "key": key}


@guarded
def _linked(page: Page, seq: int, said: Mapping[str, Any]) -> str:
    """Return the hash of an entry that says all this and is linked to the one before it."""
    record, digest = page.linked(seq)
    for name, value in said.items():
        if record[name] != value:
            rule = f"the {name} of request {said['key']!r} is not what entry {seq} says"
            raise LedgerCorrupted(page.rows.place, rule)
    return digest
