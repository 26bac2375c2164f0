"""A verb and its words, from wherever they come, to a durable answer: what a service does for an analyst.

Without a key of their own, whoever asks the same of the same rows is given the same answer: the key is then made of the
digest of the request and the edition of the rows, so that asking again is free and gives the same bytes. Fresh noise
needs a key of one's own.
"""

from __future__ import annotations

import contextlib
import functools
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from dither.curator.access import receipt_in_turn, receipt_of, request_of
from dither.curator.argument_checks import check_arguments
from dither.curator.auto_clamp import InTurn
from dither.curator.ledger import Account, Ledger, Receipt, Standing
from dither.curator.ledger.amounts import Amount
from dither.curator.price import Price, saying_what_is_left
from dither.curator.request import Request, written_loss
from dither.curator.request_json import read_words
from dither.curator.session import Session
from dither.data.schema import DataSet
from dither.errors import DitherError, InvalidParameter
from dither.lift.offer import Offer
from dither.lift.verb import REGISTRY
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP
from dither.publish.queries import Quote
from dither.publish.queries.found_clamps import USUAL_SHARE, found_clamps
from dither.publish.queries.sql import agreed_loss, parse_statement
from dither.verbs import answers
from dither.verbs.offers import Offers

#: What is opened, and answers one by one after it was paid for; it is priced as any verb is.
OPENED: Final = ("stream", "conversation", "parts")
#: How a key begins that nobody has chosen; none that is chosen may.
USUAL: Final = "same-"
_AUTO: Final = ("auto_share",)
_STATED: Final = ("epsilon", "rho", "loss")
#: The word of "fit" that states its loss.
_LEARNS: Final = "estimator"
#: How many digits of the question's digest a key has: two questions that share them would each be told of the other.
_QUESTION: Final = 32
#: What changes nothing about the price of a query.
_NOT_QUOTED: Final = ("confidence", "description")
#: What was planned, by what may be offered and by words: plans depend on declarations and words alone.
_plans: WeakKeyDictionary[Offers, OrderedDict[str, tuple[Offer[Any], Request]]] = WeakKeyDictionary()
_planning = threading.Lock()
_MOST_PLANS: Final = 32
#: At how many losses that a person has asked at an answer of theirs is looked for, the latest first.
_MOST_LOSSES: Final = 64
#: Among how many of somebody's latest answers: a quote is to cost little more than its plan.
_MOST_LOOKED_AT: Final = 256
_USUAL_DELTAS: Final = tuple(Fraction(1, 10**power) for power in (5, 6, 9))
#: No figure that somebody states has a longer denominator.
_SHORT: Final = 10**9


def released_verbs() -> tuple[str, ...]:
    """Return what can be released over HTTP: every declared verb whose answer comes at once."""
    # In an order that does not follow from which module was imported first: those of groups at the end.
    return tuple(sorted(set(REGISTRY).difference(OPENED), key=lambda name: ("." in name, name)))


def quoted_verbs() -> tuple[str, ...]:
    """Return what can be priced over HTTP: every declared verb."""
    return (*released_verbs(), *OPENED)


@dataclass(frozen=True)
class Asked:
    """What was asked for, planned from public facts and not yet paid for.

    Args:
        request: as the ledger compares it.
        loss: what it would be charged.
        carry_out: debits, runs and stores it under a key, or finds what is stored for the key.
        steps: how many answers are stored for it, one after another.

    """

    request: Request
    loss: Loss
    carry_out: Callable[[str], Receipt]
    steps: int = 1


def asked_of(session: Session, verb: str, written: Any) -> Asked:
    """Plan what a verb and its words ask for; nothing is opened and nothing is charged.

    Args:
        session: whose data set and account.
        verb: one of ``released_verbs``.
        written: its words, as ``write_words`` writes them, without a key.

    """
    mark = json.dumps([verb, written], sort_keys=True)
    known = _known_plan(session, mark)
    if known is not None:
        return _asked(session, *known)
    words = _checked(session, verb, written, released_verbs())
    with _naming_words(verb):
        if verb == "sql":
            in_turn = _in_turn(session, words)
            if in_turn is not None:
                turns = in_turn(None)
                request = _writable(request_of(session, turns))
                steps = len(turns.finding) + 1
                return Asked(request, turns.loss, lambda key: receipt_in_turn(session, in_turn(key))[0], steps)
            words.pop("auto_share", None)
        with saying_what_is_left(session.balance):
            offer = session.offer.named(verb, words)
        request = _writable(request_of(session, offer))
    _keep_plan(session, mark, offer, request)
    return _asked(session, offer, request)


def _asked(session: Session, offer: Offer[Any], request: Request) -> Asked:
    return Asked(request, offer.loss, lambda key: receipt_of(session, offer, key=key))


def _known_plan(session: Session, mark: str) -> tuple[Offer[Any], Request] | None:
    """Return what was planned for words, by anybody who asked the same of the same declarations."""
    with _planning:
        plans = _plans.get(session.offer)
        if plans is None or mark not in plans:
            return None
        plans.move_to_end(mark)
        return plans[mark]


def _keep_plan(session: Session, mark: str, offer: Offer[Any], request: Request) -> None:
    with _planning:
        plans = _plans.setdefault(session.offer, OrderedDict())
        plans[mark] = offer, request
        while len(plans) > _MOST_PLANS:
            plans.popitem(last=False)


class Quoted(NamedTuple):
    """What a release would cost, and the digest of what goes on after it was paid for; "" for other verbs."""

    price: Quote | Price
    digest: str = ""


def quoted(session: Session, verb: str, written: Any) -> Quoted:
    """Return what a verb and its words would cost, and how far a query would err; the data stays closed.

    Args:
        session: whose data set and account.
        verb: one of ``quoted_verbs``.
        written: its words, as ``write_words`` writes them, without a key.

    """
    words = _checked(session, verb, written, quoted_verbs())
    with _naming_words(verb):
        if verb in ("sql", "ask"):
            for name in _NOT_QUOTED:
                words.pop(name, None)
            what = words.pop("text" if verb == "sql" else "query", None)
            return Quoted(session.quote(what, **words))
        with saying_what_is_left(session.balance):
            offer = session.offer.named(verb, words)
        return Quoted(session.quote(offer), request_of(session, offer).digest if verb in OPENED else "")


def loss_for_error(session: Session, written: Any) -> Loss:
    """Return the least loss at which a column of a query errs by at most so much; the data stays closed.

    Args:
        session: whose data set.
        written: the words of ``Session.loss_for_error``, as ``write_words`` writes them.

    """
    words = read_words(written, session.dataset)
    with _naming_words("loss_for_error"):
        found: Loss = session.loss_for_error(**words)
        return found


def states_loss(verb: str, written: Mapping[str, Any]) -> bool:
    """Whether words say what a release may lose, as words or in the text of a query; a mechanism always does.

    Args:
        verb: one of ``quoted_verbs``.
        written: its words, as ``write_words`` writes them.

    """
    said = _stating(verb, written)
    if verb == "method" or any((said or {}).get(name) is not None for name in _STATED):
        return True
    text = written.get("text") if verb == "sql" else None
    with contextlib.suppress(DitherError):
        # By a clause of its own; what is wrong with it is said by whoever plans the query.
        return isinstance(text, str) and agreed_loss(text) is not None
    return False


def with_loss(verb: str, written: Mapping[str, Any], loss: Loss) -> Mapping[str, Any]:
    """Return words that state no loss with one that they state: an estimator's stands among its parameters.

    Args:
        verb: one of ``quoted_verbs``, other than "method".
        written: its words, as ``write_words`` writes them.
        loss: what the release may lose.

    """
    if verb == "method":
        rule = "not allowed: the parameters of a mechanism determine its loss; quote each mechanism separately"
        raise InvalidParameter("losses", verb, rule)
    stated = {"loss": {"loss": loss.to_dict()}}
    if verb != "fit":
        return {**written, **stated}
    said = _stating(verb, written)
    # What is no estimator is refused by whoever reads the words.
    return written if said is None else {**written, _LEARNS: {**written[_LEARNS], "parameters": {**said, **stated}}}


def _stating(verb: str, written: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the words among which a verb states its loss; None where they are not as they should be."""
    if verb != "fit":
        return written
    estimator = written.get(_LEARNS)
    said = estimator.get("parameters") if isinstance(estimator, dict) else None
    return said if isinstance(said, dict) else None


def usual_key(request: Request, edition: int) -> str:
    """Return the key of a request for which nobody has chosen one: the same for the same question about the same rows.

    Args:
        request: what is asked.
        edition: of the rows, as it was before they were opened.

    """
    return f"{_same_question(request)}{request.digest}-{edition}"


def former_key(request: Request, edition: int) -> str:
    """Return the key that such a request was given before keys named the question: its answer is found by it."""
    return f"{USUAL}{request.digest}-{edition}"


def known_answers(
    ledger: Ledger, request: Request, person: str, standing: Standing, *, is_shared: bool = False
) -> list[Receipt]:
    """Return the stored answers to the same question about the same rows, at any loss, the dearest last.

    What was asked under a key of somebody's own is found for that person alone, among their latest answers, the latest
    at each loss, wherever the charge tells what loss was stated: from an epsilon, a rho, or either with a delta that is
    usual.

    Args:
        ledger: where they are.
        request: what is asked.
        person: who asks.
        standing: of the data set, as it was before its rows were opened.
        is_shared: whether answers for which nobody has chosen a key are everybody's.

    """
    whose = None if is_shared else [person]
    usual = ledger.answers_that_begin(request.dataset, _same_question(request), whose)
    same = [one for one in usual if one.key.endswith(f"-{standing.edition}")]
    account = Account(request.dataset, person)
    named = ledger.latest_answered(account, but=USUAL, after=standing.since, most=_MOST_LOOKED_AT)
    charges = list(dict.fromkeys(charge for _, _, charge in named))[:_MOST_LOSSES]
    # Of a query whose clamps are found first, only what the query itself may lose is debited under its key.
    rest = 1 - Fraction(request.asked.get("auto_share", 0))
    digests = request.digests_at(loss for one in charges for loss in _stated_for(one, request.loss.delta, rest))
    # Of each loss the latest: whoever asks much under names of their own is not shown all of it.
    keys = list({digest: key for key, digest, _ in reversed(named) if digest in digests}.values())
    own = ledger.answers_called(request.dataset, keys, [person]) if keys else ()
    return sorted((*same, *own), key=lambda one: (one.loss.rho, one.entry))


@functools.lru_cache(maxsize=4096)
def _stated_for(charged: Amount, delta: Fraction, share: Fraction) -> tuple[str, ...]:
    """Return the losses that somebody may have stated who was debited an amount, each as a request writes it.

    An amount is what was stated but for the last digits, in which noise of whole steps is a little better; noise with a
    delta is often charged without it. Which of them it was is told by the digest.

    Args:
        charged: as the ledger has it.
        delta: one that is looked for beside the usual ones.
        share: of what was stated that the amount is.

    """
    charge, found = charged.loss(), list[Loss]()
    deltas = [one for one in dict.fromkeys((charge.delta, delta, *_USUAL_DELTAS)) if one]
    if charge.pure is not None:
        for epsilon in _written(charge.pure / share):
            found += [PureDP(epsilon), *(ApproxDP(epsilon, one) for one in deltas)]
    else:
        for rho in _written(charge.rho / share):
            found += [ZCDP(rho, one) for one in {Fraction(0), charge.delta, delta}]
        for within in (charge.to_approx(one) for one in deltas if one > charge.delta):
            found += [ApproxDP(epsilon, within.delta) for epsilon in _written(within.epsilon / share)]
    return tuple(map(written_loss, found))


def _written(figure: Fraction) -> set[Fraction]:
    """Return the numbers that people may have written for a figure: itself, and the nearest that is short."""
    return {figure, figure.limit_denominator(_SHORT)}


def _same_question(request: Request) -> str:
    return f"{USUAL}{request.question[:_QUESTION]}-"


def is_usual(key: str) -> bool:
    """Whether a key is one that nobody has chosen."""
    return key.startswith(USUAL)


def _checked(session: Session, verb: str, written: Any, verbs: tuple[str, ...]) -> dict[str, Any]:
    if verb not in verbs:
        raise InvalidParameter("verb", verb, f"one of {', '.join(verbs)}")
    return read_arguments(verb, written, session.dataset)


def read_arguments(verb: str, written: Any, dataset: DataSet) -> dict[str, Any]:
    """Return the arguments of a verb that ``write_words`` wrote; those that it does not declare are refused.

    Args:
        verb: one of ``quoted_verbs``.
        written: as JSON has them, without a key.
        dataset: as it is declared, places included.

    """
    if isinstance(written, dict):
        if "key" in written:
            raise InvalidParameter(
                "words.key", written["key"], "not allowed: send the key in the Idempotency-Key header"
            )
        check_arguments(REGISTRY[verb], written)
    return read_words(written, dataset)


def _writable(request: Request) -> Request:
    """Return a request that has a digest: what cannot be written down has none."""
    _ = request.digest
    return request


@contextlib.contextmanager
def _naming_words(verb: str) -> Iterator[None]:
    """Refuse words of kinds that a verb does not know; all of it is planned from public words."""
    try:
        yield
        return
    except DitherError:
        raise
    except (TypeError, AttributeError, ValueError, LookupError, ArithmeticError) as error:
        said = type(error).__name__
    raise InvalidParameter("words", said, f"arguments of {verb}, each of a type that it accepts")


def _in_turn(session: Session, words: Mapping[str, Any]) -> Callable[[str | None], InTurn] | None:
    """Return what plans a query whose clamps are found first, if it has such."""
    text = words.get("text")
    if not isinstance(text, str):
        raise InvalidParameter("words.text", text, "one SELECT")
    statement = parse_statement(text)
    if statement.is_explained:
        raise InvalidParameter("words.text", text, "a SELECT: for its price, send a quote")
    clamps = found_clamps(statement.sql, session.dataset)
    if clamps is None:
        return None
    how = {name: value for name, value in words.items() if name not in ("text", "confidence", *_AUTO)}
    how["threshold_share"] = answers.one_share(statement, how.get("threshold_share"))
    more = {name: words[name] for name in ("confidence", *_AUTO) if name in words}
    more.setdefault("auto_share", USUAL_SHARE)

    def planned(key: str | None) -> InTurn:
        with saying_what_is_left(session.balance):
            return InTurn.of(session.dataset, clamps, how, key=key, **more)

    return planned
