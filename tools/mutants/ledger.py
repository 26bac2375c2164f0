"""Mutants of the ledger and of the door to it: killed by asking it in the worst order.

The rooms that they break lie above this one and are named by texts. Each check opens a ledger in its own folder,
with tables in memory.
"""

from __future__ import annotations

import importlib
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from dither.checks.violation import require
from dither.data.examples import clinic, some_visits
from dither.data.importing.sources import FRAMES
from dither.data.reference import ReferenceEngine
from dither.data.schema import DataSet
from dither.errors import BudgetExceeded, DitherError, EngineFailure
from dither.privacy import ROW, ApproxDP, Loss, PureDP
from tools.mutants.record import Mutant, both, mutated

_SESSION = "dither.curator.session:Session"
_BOOKS = "dither.curator.ledger.rules:Books"
_AMOUNTS = "dither.curator.ledger.amounts"
_CELL = "diagnosis 4711"


def _room(name: str) -> Any:
    return importlib.import_module(f"dither.curator.{name}")


@contextmanager
def _ledger(**options: Any) -> Iterator[Any]:
    """Open a new ledger with a budget of 1 for one data set."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        ledger = _room("ledger.sqlite").SqliteLedger(home / "ledger.sqlite", home / "anchors", **options)
        try:
            ledger.register("clinic", budget=ApproxDP(1, "1e-3"), unit="rows")
            yield ledger
        finally:
            ledger.close()


@contextmanager
def _session(engine: _Witness) -> Iterator[Any]:
    """Open a session about a clinic whose file is not there; its tables are in memory."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        curator = _room("folder").Curator.create(home / "home", anchors=home / "anchors")
        try:
            curator.add(_given_in_memory(clinic(ROW)), budget=PureDP(10))
            session = curator.session("clinic")
            session._tables.append(engine)
            yield session
        finally:
            curator.close()


def _given_in_memory(dataset: DataSet) -> DataSet:
    return replace(dataset, tables=tuple(replace(table, source=FRAMES) for table in dataset.tables))


class _Witness(ReferenceEngine):
    """An engine that notes what was spent when it was asked, and may fail."""

    def __init__(self, failure: Exception | None = None) -> None:
        super().__init__(clinic(ROW), {"visits": some_visits()})
        self.failure = failure
        self.session: Any = None
        self.spent: list[Any] = []

    def aggregate(self, aggregation: Any) -> Any:
        """Note what is spent by now."""
        self.spent.append(self.session.balance().spent.pure)
        if self.failure is not None:
            raise self.failure
        return super().aggregate(aggregation)


def _ask(session: Any, key: str | None = None) -> Any:
    return session.ask(session.table("visits").count(), PureDP(1), key=key)


def _debited_first() -> None:
    """Check that when the data is asked, the debit is in the ledger."""
    engine = _Witness()
    with _session(engine) as session:
        engine.session = session
        _ask(session)
    require(engine.spent == [Fraction(1)], f"when the data was asked, {engine.spent} was spent")


def _failures_cost() -> None:
    """Check that a release that fails keeps its debit, and says nothing about why."""
    engine = _Witness(ValueError(_CELL))
    with _session(engine) as session:
        engine.session = session
        try:
            _ask(session)
        except EngineFailure as failure:
            told = " ".join([str(failure), *getattr(failure, "__notes__", ())])
            require(_CELL not in told and failure.__cause__ is None, "an error tells what a cell holds")
        else:
            require(False, "an engine that failed gave an answer")
        spent = session.balance().spent.pure
    require(spent == 1, f"a release that failed was charged {spent}")


def _retries() -> None:
    """Check that the same key gives the same bytes, at no further cost."""
    engine = _Witness()
    with _session(engine) as session:
        engine.session = session
        first, second = (_ask(session, "k") for _ in range(2))
        spent = session.balance().spent.pure
    require(len(engine.spent) == 1, "a retry asked the data again")
    require(first.to_json() == second.to_json(), "a retry gave another answer")
    require(spent == 1, f"a retry was charged: {spent} in all")


def _price() -> None:
    """Check that a price needs no data: the file is not there, and an engine that is there is not asked."""
    engine = _Witness(ValueError(_CELL))
    with _session(engine) as session:
        engine.session = session
        session.quote(session.table("visits").count(), epsilon=1)
    require(not engine.spent, "a price was computed from data")


def _race() -> None:
    """Check that of two clients who would fit alone one is refused, in the worst order too."""
    account, others = _account("ana"), list[Any]()

    def let_another_in(step: str) -> None:
        if step == "reserve: asked" and others:
            others.pop().reserve(_account("bob"), "b", "b", PureDP("3/4"))

    with _ledger(reach=let_another_in) as ledger:
        second = _room("ledger.sqlite").SqliteLedger(Path(ledger.place), Path(ledger.place).parent / "anchors")
        others.append(second)
        try:
            ledger.reserve(account, "a", "a", PureDP("3/4"))
        except BudgetExceeded:
            pass
        except DitherError as failure:
            require(False, f"a race ended with {failure!r}")
        finally:
            second.close()
        spent = ledger.balance("clinic").spent.pure
    require(spent == Fraction(3, 4), f"two clients spent {spent} of a budget of 1")


def _account(analyst: str) -> Any:
    return _room("ledger").Account("clinic", analyst)


def _all_figures() -> None:
    """Check that every figure of a loss is debited."""
    loss = ApproxDP("1/10", "1e-6")
    with _ledger() as ledger:
        ledger.reserve(_account("ana"), "a", "a", loss)
        spent = ledger.balance("clinic").spent
    require(spent.pure == loss.epsilon and spent.delta == loss.delta, f"{spent} was debited for {loss}")


def _tiny() -> None:
    """Check that a thousand tiny spends are no less than their sum."""
    amounts, each = importlib.import_module(_AMOUNTS), Fraction(1, 10**14)
    total = sum((amounts.Amount.of(PureDP(each)) for _ in range(1000)), amounts.ZERO).loss().pure
    require(total is not None and total >= 1000 * each, f"1000 spends of {each} were counted as {total}")


# The mutants.


def _drawn_first(before: Any, self: Any, run: Any, key: str | None) -> Any:
    return _stored(self, run, run.carry_out(self._open(), None), key)


def _stored(session: Any, run: Any, answer: bytes, key: str | None) -> Any:
    """Debit and store an answer that is there already, or return the one that was stored before."""
    ledger = session._curator.ledger
    held = ledger.reserve(session._account, key or uuid.uuid4().hex, run.request.digest, run.loss)
    return held.receipt if hasattr(held, "receipt") else ledger.complete(held, answer)


def _charged_when_it_worked(before: Any, self: Any, run: Any, key: str | None) -> Any:
    if not self._curator.ledger.would_admit(self._account, run.loss):
        raise BudgetExceeded(run.loss, PureDP(0), PureDP(0))
    try:
        answer = run.carry_out(self._open(), None)
    except Exception:
        raise EngineFailure from None
    return _stored(self, run, answer, key)


def _drawn_again(before: Any, self: Any, run: Any, key: str | None) -> Any:
    receipt = before(self, run, key)
    return replace(receipt, answer=run.carry_out(self._open(), None))


def _told_why(before: Any, self: Any, run: Any, key: str | None) -> Any:
    def loudly(before: Any, *given: Any) -> Any:
        try:
            return before(*given)
        except Exception as failure:
            texts.append(str(failure))
            raise

    texts: list[str] = []
    try:
        with mutated("dither.curator.access:Run.carry_out", loudly):
            return before(self, run, key)
    except EngineFailure as failure:
        failure.add_note(f"the engine said: {texts}")
        raise


def _quoted_on_data(before: Any, self: Any, query: Any, **options: Any) -> Any:
    built = query.build(self.dataset)
    for aggregation in _plan(built).aggregations():
        try:
            self._open().aggregate(aggregation)
        except ValueError:
            continue
    return before(self, built, **options)


def _plan(query: Any) -> Any:
    return importlib.import_module("dither.publish.queries").plan_query(query, PureDP(1))


def _looked_first(before: Any, self: Any, account: Any, key: str, digest: str, loss: Loss, **options: Any) -> Any:
    left = self.balance(account.dataset).left
    if loss.pure is not None and left.pure is not None and loss.pure > left.pure:
        raise BudgetExceeded(loss, PureDP(0), left)
    return before(self, account, key, digest, loss, **options)


def _always(before: Any, *given: Any) -> bool:
    return True


def _without_delta(before: Any, kind: Any, *given: Any) -> Any:
    return replace(before(kind, *given), delta=0)


def _in_whole_billionths(before: Any, kind: Any, loss: Loss, *given: Any) -> Any:
    """Round to the nearest unit of 10^-9, as a ledger with nine decimals does."""
    units, nano = importlib.import_module(_AMOUNTS).UNITS, 10**9
    figures = [None if figure is None else round(figure * nano) for figure in (loss.pure, loss.rho, loss.delta)]
    return kind(*(None if each is None else each * units // nano for each in figures))


LEDGER = (
    Mutant(
        26,
        "debit after the draw",
        "dscc-admin-ch/lomas",
        "who dies between the two has an answer for nothing",
        "ledger",
        lambda: mutated(f"{_SESSION}._charged", _drawn_first),
        _debited_first,
    ),
    Mutant(
        27,
        "check, then act",
        "dscc-admin-ch/lomas",
        "two requests that fit alone are both admitted",
        "ledger",
        lambda: both(
            mutated(f"{_BOOKS}.reserve", _looked_first),
            mutated("dither.curator.ledger.transaction:Purse.admits", _always),
        ),
        _race,
    ),
    Mutant(
        28,
        "epsilon charged, delta not",
        "dscc-admin-ch/lomas",
        "deltas add up unseen",
        "ledger",
        lambda: mutated(f"{_AMOUNTS}:Amount.of", _without_delta),
        _all_figures,
    ),
    Mutant(
        29,
        "failures are free",
        "dscc-admin-ch/lomas",
        "whether a release failed is told for nothing",
        "ledger",
        lambda: mutated(f"{_SESSION}._charged", _charged_when_it_worked),
        _failures_cost,
    ),
    Mutant(
        30,
        "a retry draws again",
        "",
        "answers with fresh noise are averaged for one price",
        "ledger",
        lambda: mutated(f"{_SESSION}._charged", _drawn_again),
        _retries,
    ),
    Mutant(
        31,
        "price computed on the data",
        "dscc-admin-ch/lomas",
        "what is free tells about the data",
        "ledger",
        lambda: mutated(f"{_SESSION}.quote", _quoted_on_data),
        _price,
    ),
    Mutant(
        33,
        "a cell in the text of an error",
        "",
        "an error shows a private value",
        "ledger",
        lambda: mutated(f"{_SESSION}._charged", _told_why),
        _failures_cost,
    ),
    Mutant(
        35,
        "tiny spends absorbed",
        "maziyarpanahi/openmed#2457",
        "small releases are free",
        "ledger",
        lambda: mutated(f"{_AMOUNTS}:Amount.of", _in_whole_billionths),
        _tiny,
    ),
)
