"""Parts of a public partition, asked one after the other in a session: a parallel account that is paid for at once.

What all parts may lose together is debited when the account is opened, before anything is asked. Each question is then
a request of its own, debited nothing: its text is in the ledger before its noise is drawn, its answer before it is
returned, and a retry with its key gives the stored answer. What is left for a part is known to this process alone, so
that the account ends with it; what was paid for and not asked is lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

from dither.curator.ledger import Receipt, Stored
from dither.curator.request import Request
from dither.data import wire
from dither.data.engines import Engine
from dither.errors import HandleMisuse, InvalidParameter, NoGuarantee
from dither.exact import Number, probability
from dither.lift.stored import LARGEST_ANSWER
from dither.mechanisms import Budget, Numerics, converse
from dither.privacy import Loss, PureDP, stated_loss
from dither.publish.queries.adaptive_parts import AdaptiveParts, PartQuestion, PartsConversation, check_fixed
from dither.publish.queries.answer import plan_query
from dither.publish.queries.builder import Groups, Rows
from dither.publish.queries.parts import Partition
from dither.publish.queries.present import present
from dither.publish.queries.rehearsal import rehearse
from dither.publish.queries.result import QueryResult
from dither.publish.queries.sense import check_sense

if TYPE_CHECKING:
    from dither.curator.session import Session

#: What is debited for a question: it was paid for when the account was opened.
_FREE = PureDP(0)


class PartsInTurn:
    """What may still be asked about each part.

    Guarantee: data sets one unit apart lose ``loss`` over all questions, whatever is asked of which part.

    Args:
        name: the caller's name for it.
        session: who asks, and of which data set.
        split: the parts, as the caller built them.
        mechanism: the parts and what each may lose.
        talk: what answers.
        receipt: of the debit.

    """

    def __init__(
        self,
        name: str,
        session: Session,
        split: Partition,
        mechanism: AdaptiveParts,
        talk: PartsConversation,
        receipt: Receipt,
    ) -> None:
        self.name, self.receipt = name, session.place(receipt)
        self._session, self._split, self._mechanism, self._talk = session, split, mechanism, talk

    @property
    def loss(self) -> Loss:
        """What all questions together lose."""
        return self._mechanism.loss(1)

    @property
    def labels(self) -> tuple[str, ...]:
        """The parts."""
        return tuple(label for label, _ in self._mechanism.partition.parts)

    def __reduce__(self) -> NoReturn:
        raise HandleMisuse("parts cannot be copied or pickled: two copies would spend one account twice")

    def __repr__(self) -> str:
        left = ", ".join(f"{label}: {self.left(label)}" for label in self.labels)
        return f"<PartsInTurn {self.name}, {self.loss} for all; left in {left}>"

    def left(self, label: str) -> Loss:
        """Return the largest question about a part that still fits."""
        return self._talk.left(label)

    def ask(
        self,
        label: str,
        question: Callable[[Rows], Groups],
        loss: Loss | None = None,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        key: str | None = None,
        noise: str = "auto",
        confidence: Number = "0.95",
    ) -> QueryResult:
        """Return the answer to a question about one part; nothing more is debited.

        Args:
            label: which part.
            question: makes the query of its rows: ``lambda rows: rows.count()``.
            loss: what the answer may lose of the part's account, in place of the three words below.
            epsilon: what it may lose, alone or with ``delta``; or ``rho`` instead of both.
            delta: the probability that the epsilon bound may be exceeded.
            rho: a loss in zero-concentrated differential privacy.
            key: the caller's name for this question; with the same key a retry returns the stored answer.
            noise: "laplace", "gaussian", or "auto" for whichever errs less.
            confidence: the level of the intervals.

        """
        session, partition = self._session, self._mechanism.partition
        session.check_declared()
        stated = stated_loss(epsilon=epsilon, delta=delta, rho=rho, loss=loss)
        level = probability("confidence", confidence, open_below=True)
        query = self._split.query(partition, label, question)
        answer = plan_query(query, stated, noise=noise, quantiles="tree")
        rehearse(answer, confidence=level)
        asked = PartQuestion(label, answer)
        with session.opened() as engine:
            for aggregation in answer.aggregations():
                engine.prepare(aggregation)
        record = {"of": self.name, "label": label, "query": wire.encode(query), "noise": noise}
        words = f"a question about the part {label} of {self.name}"
        request = Request(session.dataset.name, "part", {**record, "confidence": str(level)}, stated, words)
        if key is None or not session.is_known(key):
            self._talk.check(asked)

        def run(_: Engine) -> bytes:
            shown = present(answer, self._talk.ask(asked), confidence=level)
            return shown.stored_within(LARGEST_ANSWER)[1].encode()

        receipt = session.charged(request, _FREE, run, key)
        return QueryResult.stored(receipt.answer, session.place(receipt))


def opened_parts(session: Session, name: str, split: Partition, each: Loss) -> PartsInTurn:
    """Return an account of parts, having debited what all of them may lose together.

    Args:
        session: who asks, and of which data set.
        name: the caller's name for it.
        split: the parts, as the caller built them.
        each: what the questions about one part may lose together.

    """
    if type(split) is not Partition:
        raise InvalidParameter("partition", split, "made by session.table(...).partition(...)")
    session.check_declared()
    partition = split.open(session.dataset)
    for label, _ in partition.parts:
        check_sense(partition.rows(label), (), ())
    mechanism = AdaptiveParts(partition=partition, each=each)
    if mechanism.numerics is Numerics.IDEALISED:
        raise NoGuarantee("the proof is over the reals only")
    loss = mechanism.loss(1)
    words = f"questions about {len(partition.parts)} parts, one after the other"
    request = Request(session.dataset.name, "parts in turn", {"parts": wire.encode(partition)}, each, words)
    ledger = session.curator.ledger
    with session.opened() as engine:
        check_fixed(engine)
        held = ledger.reserve(session.account, f"parts {name}", request.digest, loss, description=words)
        if isinstance(held, Stored):
            rule = "a new one: it was opened before, and what was paid for ended with its process"
            raise InvalidParameter("name", name, rule)
        try:
            receipt = ledger.complete(held, json.dumps({"parts": words}).encode())
        finally:
            ledger.abandon(held)
        talk = converse(mechanism, engine, budget=Budget(loss=loss, unit=session.dataset.unit))
    return PartsInTurn(name, session, split, mechanism, talk, receipt)
