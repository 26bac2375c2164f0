"""What a receipt proves, without the folder and without a server.

That the curator whose key it is has signed a ledger in which, at their places, stand the debit of a loss for a request
and the answer to it; and, with the answer at hand, that the answer is that one. It does not prove that the answer was
computed as it should be, nor that no other ledger was shown to others: a witness compares what everybody is shown.

A published answer has a receipt of another form, for everybody: the entry of its publication, which states loss, unit,
digest and sums, and neither who asked, nor in which words, nor under which key. Whoever holds the first form can prove
those: both name the same entry of the same ledger.

Budget and spent of a published data set are stated by each publication, as they were then, and by entries of their own
whenever the curator states them anew; the receipt of such an entry is a third form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dither.curator.ledger.admission import limit_of
from dither.curator.ledger.amounts import Amount
from dither.curator.ledger.chain import canonical
from dither.curator.ledger.returns import kept_of
from dither.curator.receipts.checkpoint import Checkpoint, PublicKey, read_checkpoint
from dither.curator.receipts.log import digest_of, salted_leaf
from dither.curator.receipts.tree import is_included
from dither.errors import InvalidParameter
from dither.privacy import Loss

_FIELDS: Final = {"receipt", "answer", "debit", "registered", "checkpoint"}
_PUBLIC: Final = {"receipt", "published", "checkpoint"}
_STATED: Final = {"receipt", "stated", "checkpoint"}
_PROOF: Final = {"entry", "salt", "index", "path"}
_LONGEST_PATH: Final = 64


@dataclass(frozen=True)
class Verified:
    """What a receipt has proved.

    Args:
        dataset: the name that it is registered with.
        analyst: who asked; empty where everybody may read the receipt.
        key: the name of the request; likewise.
        request: its digest; likewise.
        answer: the answer's digest.
        loss: what was debited; zero where an earlier debit has paid, as for a question about a part.
        unit: whom it protects, in words.
        edition: of the rows that were asked; None where the debit was made before debits said so.
        entry: the number of the answer's entry.
        time: when it was stored, or published.
        size: how many entries the ledger had when it was signed.
        budget: of the data set when it was published; None where the receipt is not that of a publication.
        spent: of that budget by then, less what came back; likewise.
        raises: how the budget was raised before an answer was published: time, from, to and reason of each.

    """

    dataset: str
    analyst: str
    key: str
    request: str
    answer: str
    loss: Loss
    unit: str
    edition: int | None
    entry: int
    time: str
    size: int
    budget: Loss | None = None
    spent: Loss | None = None
    raises: tuple[Mapping[str, Any], ...] = ()

    def __str__(self) -> str:
        whose, done = (f" to {self.analyst}", "stored") if self.analyst else ("", "published")
        rows = "" if self.edition is None else f" (edition {self.edition})"
        sums = "" if self.budget is None else f", when {self.spent} was spent of the budget of {self.budget}"
        debited = f"{self.loss} was debited{whose} for"
        if self.loss.is_zero:
            # Not that it loses nothing: whoever reads this is not told what was paid before.
            debited = (
                f"paid for by an earlier debit{whose}, which this receipt does not show, and not by a separate debit:"
            )
        return (
            f"{debited} an answer about {self.dataset}{rows}, for {self.unit}: entry "
            f"{self.entry} of {self.size}, {done} at {self.time}{sums}" + "".join(map(_raised, self.raises))
        )


@dataclass(frozen=True)
class Stated:
    """What a statement has proved: how much was spent of a budget when it was made.

    Args:
        dataset: the name that it is registered with.
        budget: what all releases together may lose.
        spent: of it, less what came back.
        releases: how many were debited.
        unit: whom the budget protects, in words.
        entry: the number of the statement's entry.
        time: when it was stated.
        size: how many entries the ledger had when it was signed.

    """

    dataset: str
    budget: Loss
    spent: Loss
    releases: int
    unit: str
    entry: int
    time: str
    size: int

    def __str__(self) -> str:
        return (
            f"{self.spent} was spent of the budget of {self.dataset}, {self.budget}, in {self.releases} releases, for "
            f"{self.unit}: entry {self.entry} of {self.size}, stated at {self.time}"
        )


def receipt_text(receipt: Mapping[str, Any]) -> str:
    """Return a receipt as its one text."""
    return json.dumps(receipt, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False) + "\n"


def read_receipt(text: str) -> Any:
    """Return the receipt that a text is; of two texts one is refused, so that no changed one passes for another.

    Args:
        text: what ``receipt_text`` wrote.

    """
    try:
        found = json.loads(text)
        is_one = receipt_text(found) == text
    except (ValueError, RecursionError):
        is_one = False
    if not is_one:
        raise InvalidParameter("receipt", "another text", "a receipt as it was written, in one line of JSON")
    return found


def verify_receipt(receipt: Any, key: PublicKey, answer: bytes | None = None) -> Verified:
    """Return what a receipt proves.

    Args:
        receipt: as it was written, read as JSON.
        key: the curator's.
        answer: the bytes of the answer, to be compared too.

    Raises:
        InvalidParameter: it proves nothing: the message says which part does not hold.

    """
    if isinstance(receipt, Mapping) and set(receipt) == _PUBLIC and _is_version(receipt["receipt"], 2):
        return _verify_public(receipt, key, answer)
    if not isinstance(receipt, Mapping) or set(receipt) != _FIELDS or not _is_version(receipt["receipt"], 1):
        raise InvalidParameter("receipt", type(receipt).__name__, f"an object of {', '.join(sorted(_FIELDS))}")
    head = read_checkpoint(receipt["checkpoint"], key)
    answered, debited, registered = (_proved(name, receipt[name], head) for name in ("answer", "debit", "registered"))
    if [one.get("kind") for one in (answered, debited, registered)] != ["answer", "reserve", "register"]:
        raise InvalidParameter("receipt", str(answered.get("kind")), "about an answer, its debit and its data set")
    for name in ("dataset", "analyst", "key"):
        if answered.get(name) != debited.get(name):
            raise InvalidParameter(name, answered.get(name), "the same in the answer and in its debit")
    if registered.get("dataset") != answered["dataset"]:
        raise InvalidParameter("registered", registered.get("dataset"), "the data set that the answer is about")
    if debited["seq"] >= answered["seq"]:
        raise InvalidParameter("debit", debited["seq"], "before the answer")
    _compare(answer, answered["answer"])
    return Verified(
        dataset=answered["dataset"],
        analyst=answered["analyst"],
        key=answered["key"],
        request=debited["digest"],
        answer=answered["answer"],
        loss=_charged(debited["charge"]),
        unit=registered["unit"],
        edition=debited.get("edition"),
        entry=answered["seq"],
        time=answered["time"],
        size=head.size,
    )


def verify_statement(receipt: Any, key: PublicKey) -> Stated:
    """Return what the receipt of a statement proves.

    Args:
        receipt: as it was written, read as JSON.
        key: the curator's.

    Raises:
        InvalidParameter: it proves nothing: the message says which part does not hold.

    """
    if not is_statement(receipt):
        raise InvalidParameter("receipt", type(receipt).__name__, f"an object of {', '.join(sorted(_STATED))}")
    head = read_checkpoint(receipt["checkpoint"], key)
    record = _proved("stated", receipt["stated"], head)
    if record.get("kind") != "state":
        raise InvalidParameter("stated", str(record.get("kind")), "an entry that states a budget and what is spent")
    stated = record["stated"]
    budget, spent = _sums(stated)
    return Stated(
        dataset=record["dataset"],
        budget=budget,
        spent=spent,
        releases=stated["releases"],
        unit=stated["unit"],
        entry=record["seq"],
        time=record["time"],
        size=head.size,
    )


def is_statement(receipt: Any) -> bool:
    """Whether a receipt is one that ``verify_statement`` checks."""
    return isinstance(receipt, Mapping) and set(receipt) == _STATED and _is_version(receipt["receipt"], 3)


def _sums(stated: Mapping[str, Any]) -> tuple[Loss, Loss]:
    """Return a budget and what is spent of it, as an entry states them in the ledger's units."""
    limit = canonical(stated["budget"])
    return limit_of(limit), kept_of(limit, Amount.from_dict(stated["spent"])).loss()


def _verify_public(receipt: Mapping[str, Any], key: PublicKey, answer: bytes | None) -> Verified:
    """Return what the receipt of a published answer proves."""
    head = read_checkpoint(receipt["checkpoint"], key)
    published = _proved("published", receipt["published"], head)
    stated = published.get("stated")
    if published.get("kind") != "publish" or not isinstance(stated, dict) or "answer" not in stated:
        raise InvalidParameter("published", str(published.get("kind")), "a publication that states its answer")
    _compare(answer, stated["answer"])
    budget, spent = _sums(stated)
    return Verified(
        dataset=published["dataset"],
        analyst="",
        key="",
        request="",
        answer=stated["answer"],
        loss=_charged(stated["loss"]),
        unit=stated["unit"],
        edition=stated.get("edition"),
        entry=published["about"],
        time=published["time"],
        size=head.size,
        budget=budget,
        spent=spent,
        raises=tuple(stated.get("raises", ())),
    )


def _raised(record: Mapping[str, Any]) -> str:
    before, after = (Loss.from_dict(record[name]) for name in ("from", "to"))
    return f"; before, its budget was raised from {before} to {after} at {record['time']}: {record['reason']}"


def _compare(answer: bytes | None, digest: str) -> None:
    if answer is not None and digest_of(answer) != digest:
        raise InvalidParameter("answer", "other bytes", "the answer that the receipt is about")


def _is_version(version: Any, number: int) -> bool:
    """Whether a version is a number, and neither true nor 1.0, which Python holds for equal to 1."""
    return type(version) is int and version == number


def _charged(record: Mapping[str, Any]) -> Loss:
    return Amount.from_texts(record["epsilon"], record["rho"], record["delta"]).loss()


def _proved(name: str, proof: Any, head: Checkpoint) -> dict[str, Any]:
    """Return the record of an entry that is proved to be in the tree."""
    if not isinstance(proof, Mapping) or set(proof) != _PROOF:
        raise InvalidParameter(name, type(proof).__name__, f"an object of {', '.join(sorted(_PROOF))}")
    text, index, path = proof["entry"], proof["index"], proof["path"]
    if not isinstance(text, str) or type(index) is not int or not isinstance(path, list) or len(path) > _LONGEST_PATH:
        raise InvalidParameter(name, "a proof of other parts", "an entry, a place and a list of hashes")
    hashes = [_hash(name, one) for one in path]
    leaf = salted_leaf(_hash(name, proof["salt"]), text)
    if not is_included(leaf, index, head.size, hashes, head.root):
        raise InvalidParameter(name, "an entry that is not proved", "in the ledger that was signed")
    record = json.loads(text)
    if not isinstance(record, dict) or record.get("seq") != index + 1:
        raise InvalidParameter(name, "an entry of another number", "at its own place")
    return record


def _hash(name: str, text: Any) -> bytes:
    # One hash has one text: a receipt in which a letter was changed proves nothing.
    if not (isinstance(text, str) and len(text) == 64 and text == text.lower()):
        raise InvalidParameter(name, "a hash of another length", "made of hashes of 64 hexadecimal digits")
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise InvalidParameter(name, "a hash of other signs", "made of hashes of 64 hexadecimal digits") from None
