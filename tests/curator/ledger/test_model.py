"""Any sequence of calls, by two handles on one ledger: what comes back is what a model in memory says."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from dither.curator.ledger import OWNER, Account, Reservation, Stored
from dither.curator.ledger.amounts import UNITS
from dither.curator.ledger.rules import Books
from dither.errors import (
    AnalystUnknown,
    BudgetExceeded,
    HandleMisuse,
    InvalidParameter,
    KeyReused,
    ReleaseFailed,
    RequestSealed,
)
from dither.privacy import ZCDP, ApproxDP, Filter, PureDP

#: Whole multiples of the ledger's unit, so that rounding up changes nothing and the model can be exact.
LOSSES = st.sampled_from(
    [
        PureDP("0.1", rho="0.0049"),
        PureDP("0.3", rho="0.04"),
        PureDP("1/3", rho="0.05"),
        ZCDP("0.01"),
        ZCDP("0.02", "1e-7"),
        ApproxDP("0.2", "1e-7", rho="0.01"),
    ]
)
BUDGETS = [PureDP(1), ZCDP("0.05", "1e-6"), ApproxDP(1, "1e-6")]
ANALYSTS = st.sampled_from(["ana", "ben"])
KEYS = st.sampled_from(["k", "l", "m"])
DIGESTS = st.sampled_from(["one", "one", "one", "two"])
_RUNS = itertools.count(1)
#: A ledger remembers every data set it ever had, and opening it reads them all: a new one now and then.
RUNS_A_LEDGER = 20


class Model:
    """What a ledger should say, with nothing durable about it: dictionaries and the filters of the design."""

    def __init__(self, budget: Any) -> None:
        self.budget = budget
        self.filter = Filter(budget)
        self.quotas: dict[str, Filter] = {}
        self.spent: dict[str, list[Any]] = {"ana": [], "ben": []}
        self.requests: dict[tuple[str, str], dict[str, Any]] = {}
        #: What came back to the quota of each analyst, since there is one.
        self.returned: dict[str, Fraction] = {}

    def give_back(self, analyst: str, epsilon: Fraction) -> None:
        """Limits of a pure epsilon take back what an answer did not lose; others do not."""
        if isinstance(self.budget, PureDP):
            self.filter.spent = less(self.filter.spent, epsilon)
        quota = self.quotas.get(analyst)
        if quota is not None and isinstance(quota.budget, PureDP):
            quota.spent = less(quota.spent, epsilon)
            self.returned[analyst] = self.returned.get(analyst, Fraction(0)) + epsilon

    def fits(self, analyst: str, loss: Any) -> bool:
        quota = self.quotas.get(analyst)
        if self.quotas and quota is None:
            return False
        return self.filter.admits(loss) and (quota is None or quota.admits(loss))

    def debit(self, analyst: str, loss: Any) -> None:
        self.filter.spend(loss)
        self.spent[analyst].append(loss)
        if analyst in self.quotas:
            self.quotas[analyst].spend(loss)

    def set_quota(self, analyst: str, quota: Any) -> None:
        replayed = Filter(quota)
        for loss in self.spent[analyst]:
            replayed.spent = replayed.spent + loss
        replayed.spent = less(replayed.spent, self.returned.get(analyst, Fraction(0)))
        self.quotas[analyst] = replayed


def less(spent: Any, epsilon: Fraction) -> Any:
    """Return what stays spent when an epsilon came back; only pure sums have one."""
    return PureDP(spent.epsilon - epsilon, rho=spent.rho) if isinstance(spent, PureDP) and epsilon else spent


def machine(new_home: Callable[[], Any], ledgers: list[Books]) -> type[RuleBasedStateMachine]:
    """Return the rules; ``ledgers`` are the two handles in use at any moment."""
    homes: list[Any] = []

    class Calls(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            run = next(_RUNS)
            if run % RUNS_A_LEDGER == 0 or not homes:
                end(ledgers)
                homes.append(new_home())
                ledgers[:] = [homes[-1].open(), homes[-1].open()]
            self.name = f"run {run}"
            self.model = Model(BUDGETS[run % len(BUDGETS)])
            self.open: list[Reservation] = []
            ledgers[0].register(self.name, budget=self.model.budget, unit="row")

        @rule(
            who=st.sampled_from([0, 1]), analyst=ANALYSTS, key=KEYS, digest=DIGESTS, loss=LOSSES, resumes=st.booleans()
        )
        def reserve(self, who: int, analyst: str, key: str, digest: str, loss: Any, resumes: bool) -> None:
            ledger, account = ledgers[who], Account(self.name, analyst)
            known = self.model.requests.get((analyst, key))
            if known is None:
                if not self.model.fits(analyst, loss):
                    is_stranger = self.model.quotas and analyst not in self.model.quotas
                    with pytest.raises(AnalystUnknown if is_stranger else BudgetExceeded):
                        ledger.reserve(account, key, digest, loss)
                    return
                self.model.debit(analyst, loss)
                made = ledger.reserve(account, key, digest, loss)
                assert (made.attempt, made.loss <= loss, loss <= made.loss) == (1, True, True)
                made_of = {"digest": digest, "loss": loss, "attempts": 1, "state": "reserved", "is_drawn": False}
                self.model.requests[analyst, key] = made_of | {"proof": ""}
                self._hold(self.model.requests[analyst, key], who, made)
                return
            refusal = self._refusal(known, digest, loss, resumes)
            if refusal is not None:
                with pytest.raises(refusal):
                    ledger.reserve(account, key, digest, loss, resumes=resumes)
                return
            again = ledger.reserve(account, key, digest, loss, resumes=resumes)
            if known["state"] == "answered":
                assert isinstance(again, Stored)
                assert again.answer == known["answer"]
            else:
                known["attempts"] += 1
                assert isinstance(again, Reservation)
                assert (again.attempt, again.proof) == (known["attempts"], known["proof"])
                self._hold(known, who, again)

        def _hold(self, known: dict[str, Any], who: int, reservation: Reservation) -> None:
            """Whoever reserves holds the request, through one of the two handles."""
            known["holder"], known["through"] = reservation, who
            self.open.append(reservation)

        @staticmethod
        def _refusal(known: dict[str, Any], digest: str, loss: Any, resumes: bool) -> type[Exception] | None:
            if known["digest"] != digest:
                return KeyReused
            if known["holder"] is not None:
                return HandleMisuse
            if known["state"] == "sealed":
                return ReleaseFailed if known["is_drawn"] else RequestSealed
            if known["state"] == "reserved":
                pure = known["loss"].pure
                dearer = pure is not None and (loss.pure is None or loss.pure > pure)
                if dearer or loss.rho > known["loss"].rho or loss.delta > known["loss"].delta:
                    return InvalidParameter
                if known["is_drawn"] and not (resumes and known["proof"]):
                    known["state"] = "sealed"
                    return ReleaseFailed
                if known["attempts"] == 3:
                    known["state"] = "sealed"
                    return ReleaseFailed if known["is_drawn"] else RequestSealed
            return None

        @rule(
            who=st.sampled_from([0, 1]),
            which=st.integers(0, 30),
            answer=st.binary(max_size=8),
            part=st.sampled_from([None, "0", "1/2", "1"]),
        )
        def complete(self, who: int, which: int, answer: bytes, part: str | None) -> None:
            if not self.open:
                return
            reservation = self.open[which % len(self.open)]
            known = self._given_up(reservation)
            if known["state"] == "sealed":
                with pytest.raises(ReleaseFailed if known["is_drawn"] else RequestSealed):
                    ledgers[who].complete(reservation, answer)
                return
            # A part of the debit was lost, where the answer says so.
            is_said = part is not None and isinstance(known["loss"], PureDP)
            spent = PureDP(known["loss"].epsilon * Fraction(part or 0)) if is_said else None
            if known["state"] == "reserved" and spent is not None:
                self.model.give_back(reservation.account.analyst, known["loss"].epsilon - spent.epsilon)
            known.setdefault("answer", answer)
            known["state"] = "answered"
            assert ledgers[who].complete(reservation, answer, spent=spent).answer == known["answer"]

        @rule(who=st.sampled_from([0, 1]), which=st.integers(0, 30), proof=st.sampled_from(["", f"7:{'0' * 64}"]))
        def begin_draw(self, who: int, which: int, proof: str) -> None:
            if not self.open:
                return
            reservation = self.open[which % len(self.open)]
            known = self.model.requests[reservation.account.analyst, reservation.key]
            refusals = {"answered": InvalidParameter, "sealed": RequestSealed}
            refusal = refusals.get(known["state"])
            if known["is_drawn"] and known["state"] != "answered":
                refusal = ReleaseFailed
            if refusal is not None:
                with pytest.raises(refusal):
                    ledgers[who].begin_draw(reservation, proof=proof)
                return
            known["is_drawn"], known["proof"] = True, proof
            ledgers[who].begin_draw(reservation, proof=proof)

        @rule(who=st.sampled_from([0, 1]), which=st.integers(0, 30))
        def seal(self, who: int, which: int) -> None:
            if not self.open:
                return
            reservation = self.open[which % len(self.open)]
            known = self.model.requests[reservation.account.analyst, reservation.key]
            if known["state"] == "reserved":
                known["state"] = "sealed"
                # What is given up before its last attempt may have been drawn for.
                known["is_drawn"] = known["is_drawn"] or known["attempts"] < 3
            ledgers[who].seal(reservation)

        @rule(who=st.sampled_from([0, 1]), which=st.integers(0, 30))
        def abandon(self, who: int, which: int) -> None:
            if self.open:
                reservation = self.open[which % len(self.open)]
                self._given_up(reservation)
                ledgers[who].abandon(reservation)

        def _given_up(self, reservation: Reservation) -> dict[str, Any]:
            known = self.model.requests[reservation.account.analyst, reservation.key]
            if known["holder"] is reservation:
                known["holder"] = None
            return known

        @rule(who=st.sampled_from([0, 1]), analyst=ANALYSTS, share=st.sampled_from(["1/10", "1/2", "1"]))
        def set_quota(self, who: int, analyst: str, share: str) -> None:
            budget, part = self.model.budget, Fraction(share)
            quota = (
                ZCDP(budget.rho * part, budget.delta) if isinstance(budget, ZCDP) else PureDP((budget.pure or 0) * part)
            )
            ledgers[who].set_quota(self.name, analyst, quota)
            self.model.set_quota(analyst, quota)

        @rule(who=st.sampled_from([0, 1]), analyst=ANALYSTS, loss=LOSSES)
        def would_admit(self, who: int, analyst: str, loss: Any) -> None:
            assert ledgers[who].would_admit(Account(self.name, analyst), loss) == self.model.fits(analyst, loss)

        @rule(which=st.sampled_from([0, 1]))
        def reopen(self, which: int) -> None:
            ledgers[which].close()
            ledgers[which] = homes[-1].open()
            for known in self.model.requests.values():
                if known["through"] == which:
                    known["holder"] = None

        @rule()
        def balances_agree(self) -> None:
            states = [known["state"] for known in self.model.requests.values()]
            spent = self.model.filter.spent
            balance = ledgers[1].balance(self.name)
            # Of a pure sum the model keeps a smaller rho, once something came back: epsilon alone counts there.
            kept, told = (PureDP(one.epsilon) if isinstance(one, PureDP) else one for one in (balance.spent, spent))
            assert kept <= told
            assert kept >= told
            counts = (balance.releases, balance.waiting, balance.sealed)
            assert counts == (len(states), states.count("reserved"), states.count("sealed"))
            assert ledgers[0].would_admit(Account(self.name, OWNER), balance.left)

        def teardown(self) -> None:
            """Every answered request was debited, and the debits keep within the budget, added up anew."""
            self.balances_agree()
            entries = list(ledgers[0].entries(self.name))
            debits = {(entry.analyst, entry.key): entry.loss for entry in entries if entry.kind == "reserve"}
            answers = [(entry.analyst, entry.key) for entry in entries if entry.kind == "answer"]
            assert len(answers) == len(set(answers))
            assert set(answers) <= set(debits)
            draws = [(entry.analyst, entry.key) for entry in entries if entry.kind == "draw"]
            assert len(draws) == len(set(draws))
            again = Filter(self.model.budget)
            for entry in entries:
                if entry.kind == "reserve":
                    again.spend(entry.loss)
                elif entry.kind == "return" and isinstance(self.model.budget, PureDP):
                    again.spent = less(again.spent, Fraction(int(entry.record["epsilon"]), UNITS))

    return Calls


def end(ledgers: list[Books]) -> None:
    """Close the handles of a ledger that is done with, and verify it as a whole."""
    if ledgers:
        assert ledgers[0].verify().is_intact
    for ledger in ledgers:
        ledger.close()


# What differs on a server is the post, which sequences of every length reach: fewer of them will do.
@pytest.mark.parametrize(("kind", "sequences"), [("sqlite", 200), ("postgresql", 60)])
def test_every_sequence_of_calls_agrees_with_the_model(new_home, kind, sequences) -> None:
    ledgers: list[Books] = []
    run_state_machine_as_test(
        machine(lambda: new_home(kind), ledgers),
        settings=settings(
            max_examples=sequences, stateful_step_count=8, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
    end(ledgers)
