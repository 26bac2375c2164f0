"""One suite for every kind of ledger: what is admitted, what is refused, what a retry gets."""

from __future__ import annotations

import json
import os
import threading
import warnings
from fractions import Fraction

import pytest

from dither.curator.ledger import Account, Reservation, Stored
from dither.curator.ledger.rules import Books
from dither.errors import (
    BudgetExceeded,
    DitherError,
    HandleMisuse,
    IncompatibleDistance,
    InvalidParameter,
    KeyReused,
    NotFound,
    QuotaExceeded,
    ReleaseFailed,
    RequestSealed,
)
from dither.privacy import ZCDP, ApproxDP, Filter, Loss, PureDP

ANA = Account("visits", "ana")
BEN = Account("visits", "ben")
UNIT = "rows of one person"


def spend(ledger: Books, account: Account, key: str, loss: Loss, answer: bytes = b"answer") -> bytes:
    reservation = ledger.reserve(account, key, f"digest of {key}", loss)
    return reservation.answer if isinstance(reservation, Stored) else ledger.complete(reservation, answer).answer


def given_up(ledger: Books, key: str = "k") -> Reservation:
    """A reservation whose holder said that it failed, and may find the answer all the same."""
    reservation = ledger.reserve(ANA, key, "d", PureDP("0.1"))
    assert isinstance(reservation, Reservation)
    ledger.abandon(reservation)
    return reservation


def test_a_release_is_debited_answered_and_given_again(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    reservation = ledger.reserve(ANA, "k", "d", PureDP("1/4"), description="SELECT count(*)")
    assert isinstance(reservation, Reservation)
    assert (reservation.attempt, reservation.loss.pure) == (1, Fraction(1, 4))
    waiting = ledger.balance("visits")
    assert (waiting.spent.pure, waiting.reserved.pure, waiting.waiting) == (Fraction(1, 4), Fraction(1, 4), 1)
    receipt = ledger.complete(reservation, b"42")
    assert receipt.answer == b"42"
    again = ledger.reserve(ANA, "k", "d", PureDP("1/4"))
    assert isinstance(again, Stored)
    assert again.receipt == receipt
    balance = ledger.balance("visits")
    assert (balance.spent.pure, balance.reserved.pure, balance.left.pure) == (Fraction(1, 4), 0, Fraction(3, 4))
    assert (balance.releases, balance.waiting, balance.sealed, balance.unit) == (1, 0, 0, UNIT)
    assert [entry.kind for entry in ledger.entries("visits")] == ["register", "reserve", "answer"]
    assert json.loads(json.dumps(receipt.to_dict()))["hash"] == [entry.hash for entry in ledger.entries()][-1]
    assert ledger.verify().is_intact


def test_what_is_spent_is_still_spent_when_opened_again(home) -> None:
    with home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit=UNIT)
        assert spend(ledger, ANA, "k", PureDP("1/2"), b"first") == b"first"
        name = ledger.id
    with home.open() as ledger:
        assert ledger.id == name
        assert ledger.datasets() == ("visits",)
        assert spend(ledger, ANA, "k", PureDP("1/2"), b"second") == b"first"
        with pytest.raises(BudgetExceeded):
            ledger.reserve(ANA, "l", "d", PureDP("0.500000001"))
        ledger.reserve(ANA, "l", "d", PureDP("1/2"))
        assert ledger.balance("visits").left.pure == 0


def test_ten_tenths_and_three_thirds_are_the_whole_budget(home) -> None:
    ledger = home.open()
    for parts in (3, 7, 10, 12):
        name = f"in {parts}"
        ledger.register(name, budget=PureDP(1), unit=UNIT)
        for part in range(parts):
            ledger.reserve(Account(name, "ana"), f"k{part}", "d", PureDP(Fraction(1, parts)))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(Account(name, "ana"), "more", "d", PureDP("1e-30"))


def test_tiny_charges_are_not_absorbed(home) -> None:
    """1.0 + 1e-17 is 1.0 in floats: a ledger of floats would give such releases away."""
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    ledger.reserve(ANA, "most", "d", PureDP("0.99999999999999999"))
    ledger.reserve(ANA, "rest", "d", PureDP("1e-17"))
    assert ledger.balance("visits").left.pure == 0
    assert not ledger.would_admit(ANA, PureDP("1e-30"))


@pytest.mark.parametrize(
    "budget",
    [PureDP(1), PureDP("1/17"), ZCDP("0.1"), ZCDP("0.1", "1e-9"), ApproxDP(1, "1e-6")],
    ids=str,
)
def test_admission_is_the_filter_of_the_design(home, budget) -> None:
    """Every kind of loss against every kind of budget, until nothing fits: the ledger and Filter decide alike."""
    ledger = home.open()
    ledger.register("visits", budget=budget, unit=UNIT)
    ours = Filter(budget)
    menu = [PureDP("0.05"), ZCDP("0.001"), ApproxDP("0.03", "1e-8"), ZCDP("0.0005", "1e-10"), PureDP("0.002")]
    for step in range(40):
        loss = menu[step * step % len(menu)]
        fits = ours.admits(loss)
        assert ledger.would_admit(ANA, loss) == fits
        if fits:
            ours.spend(loss)
            ledger.reserve(ANA, f"k{step}", "d", loss)
        else:
            with pytest.raises(BudgetExceeded):
                ledger.reserve(ANA, f"k{step}", "d", loss)
    spent = ledger.balance("visits").spent
    assert (spent.pure, spent.rho >= ours.spent.rho, spent.delta) == (ours.spent.pure, True, ours.spent.delta)
    left = ledger.balance("visits").left
    assert ledger.would_admit(ANA, left)
    ledger.reserve(ANA, "all of it", "d", left)
    assert ledger.verify().is_intact


def test_a_key_belongs_to_one_request(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    ledger.reserve(ANA, "k", "one", PureDP("0.1"))
    with pytest.raises(KeyReused):
        ledger.reserve(ANA, "k", "another", PureDP("0.1"))
    # The same key of another analyst is another key.
    assert isinstance(ledger.reserve(BEN, "k", "another", PureDP("0.1")), Reservation)
    assert ledger.balance("visits").releases == 2


def test_three_attempts_then_sealed_for_ever(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    reservations = [given_up(ledger) for _ in range(3)]
    assert [one.attempt for one in reservations] == [1, 2, 3]
    assert len({(one.entry, one.hash) for one in reservations}) == 1
    assert ledger.balance("visits").spent.pure == Fraction(1, 10)
    for _ in range(2):
        with pytest.raises(RequestSealed):
            ledger.reserve(ANA, "k", "d", PureDP("0.1"))
    for late in reservations:
        with pytest.raises(RequestSealed):
            ledger.complete(late, b"too late")
    balance = ledger.balance("visits")
    assert (balance.spent.pure, balance.sealed, balance.waiting) == (Fraction(1, 10), 1, 0)
    with home.open() as again, pytest.raises(RequestSealed):
        again.reserve(ANA, "k", "d", PureDP("0.1"))
    assert ledger.verify().is_intact


def test_what_was_drawn_is_never_drawn_again(home) -> None:
    """Whoever dies between draw and answer: the debit stands, nobody begins anew, and all hear the same."""
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    first, second = (given_up(ledger) for _ in range(2))
    ledger.begin_draw(second)
    for late in (first, second):
        with pytest.raises(ReleaseFailed):
            ledger.begin_draw(late)
    for _ in range(2):
        with pytest.raises(ReleaseFailed):
            ledger.reserve(ANA, "k", "d", PureDP("0.1"))
    with pytest.raises(ReleaseFailed):
        ledger.complete(second, b"too late")
    with home.open() as again, pytest.raises(ReleaseFailed):
        again.reserve(ANA, "k", "d", PureDP("0.1"))
    balance = ledger.balance("visits")
    assert (balance.spent.pure, balance.sealed, balance.waiting) == (Fraction(1, 10), 1, 0)
    assert [entry.kind for entry in ledger.entries("visits")] == ["register", "reserve", "renew", "draw", "seal"]
    assert ledger.verify().is_intact


def test_a_draw_is_answered_by_whoever_made_it(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    held = ledger.reserve(ANA, "k", "d", PureDP("0.1"))
    ledger.begin_draw(held)
    assert ledger.complete(held, b"42").answer == b"42"
    assert ledger.reserve(ANA, "k", "d", PureDP("0.1")).answer == b"42"
    with pytest.raises(InvalidParameter, match="not answered yet"):
        ledger.begin_draw(held)
    with pytest.raises(InvalidParameter, match="what reserve returned"):
        ledger.begin_draw("k")
    sealed = [given_up(ledger, "l") for _ in range(3)]
    with pytest.raises(RequestSealed):
        ledger.reserve(ANA, "l", "d", PureDP("0.1"))
    with pytest.raises(RequestSealed):
        ledger.begin_draw(sealed[0])
    assert ledger.verify().is_intact


def test_the_first_to_complete_wins(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    first, second = (given_up(ledger) for _ in range(2))
    winner = ledger.complete(second, b"second's")
    assert ledger.complete(first, b"first's") == winner
    assert ledger.complete(second, b"second's, drawn anew").answer == b"second's"
    assert ledger.balance("visits").releases == 1


def test_a_renewed_request_may_not_cost_more_than_was_debited(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    ledger.reserve(ANA, "k", "d", PureDP("0.1"))
    with pytest.raises(InvalidParameter, match="at most what key 'k' was debited"):
        ledger.reserve(ANA, "k", "d", PureDP("0.2"))
    cheaper = ledger.reserve(ANA, "k", "d", PureDP("0.05"))
    assert cheaper.loss.pure == Fraction(1, 10)
    assert cheaper.attempt == 2


def test_reservations_of_another_ledger_pay_for_nothing(home, new_home) -> None:
    ours, theirs = home.open(), new_home(home.kind).open()
    for ledger in (ours, theirs):
        ledger.register("visits", budget=PureDP(1), unit=UNIT)
        ledger.reserve(ANA, "k", "d", PureDP("0.1"))
    foreign = theirs.reserve(ANA, "k", "d", PureDP("0.1"))
    with pytest.raises(InvalidParameter, match="one that this ledger holds"):
        ours.complete(foreign, b"x")


def test_quotas_divide_the_budget_and_never_add_to_it(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    for analyst in ("ana", "ben", "eve"):
        ledger.set_quota("visits", analyst, PureDP("0.6"))
    ledger.reserve(ANA, "k", "d", PureDP("0.5"))
    with pytest.raises(QuotaExceeded, match="quota of 'ana'"):
        ledger.reserve(ANA, "l", "d", PureDP("0.2"))
    assert ledger.balance("visits", "ana").left.pure == Fraction(1, 10)
    assert ledger.balance("visits", "ana").budget == PureDP("0.6")
    ledger.reserve(BEN, "k", "d", PureDP("0.45"))
    # Ben's quota has room for 0.15; the data set has not. Colluding analysts gain nothing.
    assert ledger.balance("visits", "ben").left.pure == Fraction(1, 20)
    with pytest.raises(BudgetExceeded) as refused:
        ledger.reserve(BEN, "l", "d", PureDP("0.1"))
    assert not isinstance(refused.value, QuotaExceeded)
    ledger.set_quota("visits", "ana", PureDP("0.1"))
    assert ledger.balance("visits", "ana").left.pure == 0
    for outside in (PureDP(2), ZCDP("0.1"), ApproxDP(1, "1e-9")):
        with pytest.raises(InvalidParameter):
            ledger.set_quota("visits", "ana", outside)
    assert ledger.verify().is_intact


@pytest.mark.parametrize(
    ("budget", "unit", "refusal"),
    [
        (PureDP(2), UNIT, InvalidParameter),
        (PureDP("0.5"), UNIT, InvalidParameter),
        (ZCDP(1), UNIT, InvalidParameter),
        (ApproxDP(1, "1e-9"), UNIT, InvalidParameter),
        (PureDP(1, rho="0.1"), UNIT, InvalidParameter),
        (PureDP(1), "one row", IncompatibleDistance),
        (PureDP(1), UNIT + "s", IncompatibleDistance),
    ],
    ids=str,
)
def test_a_name_taken_again_inherits_what_was_spent(home, budget, unit, refusal) -> None:
    """Evasion by registering anew: under the same name nothing but the same terms is accepted."""
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    ledger.reserve(ANA, "k", "d", PureDP("0.7"))
    with pytest.raises(refusal):
        ledger.register("visits", budget=budget, unit=unit)
    ledger.register("visits", budget=PureDP("1.0"), unit=UNIT)
    assert ledger.balance("visits").spent.pure == Fraction(7, 10)
    assert [entry.kind for entry in ledger.entries()] == ["register", "reserve"]


def test_a_budget_can_be_raised_and_the_reason_is_kept(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=ApproxDP(1, "1e-6"), unit=UNIT)
    ledger.reserve(ANA, "k", "d", PureDP(1))
    for less in (ApproxDP("0.9", "1e-6"), ApproxDP(2, "1e-7"), PureDP(3), ZCDP(1)):
        with pytest.raises(InvalidParameter):
            ledger.raise_budget("visits", less, reason="try")
    ledger.raise_budget("visits", ApproxDP(2, "1e-6"), reason="the board decided")
    ledger.reserve(ANA, "l", "d", PureDP("0.5"))
    assert [entry.record["reason"] for entry in ledger.entries() if entry.kind == "raise"] == ["the board decided"]
    assert ledger.verify().is_intact


HOSTILE = ["'; DROP TABLE entries; --", '"', "a%sb?c", "{}", "null", "résumé", "\N{SNOWMAN}" * 200]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_names_and_keys_are_only_ever_parameters(home, text) -> None:
    ledger = home.open()
    ledger.register(text, budget=PureDP(1), unit=text)
    account = Account(text, text)
    ledger.set_quota(text, text, PureDP("0.5"))
    reservation = ledger.reserve(account, text, text, PureDP("0.1"), description=text + "\n\t" + text)
    ledger.complete(reservation, text.encode())
    assert ledger.reserve(account, text, text, PureDP("0.1")).answer == text.encode()
    assert ledger.balance(text, text).spent.pure == Fraction(1, 10)
    (reserve,) = (entry for entry in ledger.entries(text) if entry.kind == "reserve")
    assert (reserve.dataset, reserve.analyst, reserve.key) == (text, text, text)
    assert ledger.verify().is_intact


@pytest.mark.parametrize("name", ["", " visits", "vis\nits", "vis\0its", "\ud800", "\u212bngstrom", "x" * 201, 7, None])
def test_names_that_hide_something_are_refused(file_home, name) -> None:
    """A name that looks like another one, or cannot be printed, would open a second budget for the same people."""
    ledger = file_home.open()
    with pytest.raises(InvalidParameter):
        ledger.register(name, budget=PureDP(1), unit=UNIT)
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    with pytest.raises(InvalidParameter):
        Account("visits", name)
    for key, digest in ((name, "d"), ("k", name)):
        with pytest.raises(InvalidParameter):
            ledger.reserve(ANA, key, digest, PureDP("0.1"))
    assert ledger.balance("visits").releases == 0


@pytest.mark.parametrize("loss", [0.1, "0.1", None, PureDP(10**7), ZCDP(10**7)], ids=str)
def test_what_is_no_loss_is_refused(file_home, loss) -> None:
    ledger = file_home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    for refused in (
        lambda: ledger.reserve(ANA, "k", "d", loss),
        lambda: ledger.would_admit(ANA, loss),
        lambda: ledger.register("other", budget=loss, unit=UNIT),
        lambda: ledger.set_quota("visits", "ana", loss),
        lambda: ledger.raise_budget("visits", loss, reason="why not"),
    ):
        with pytest.raises(InvalidParameter):
            refused()
    assert len(list(ledger.entries())) == 1


def test_an_unknown_data_set_is_named(home) -> None:
    ledger = home.open()
    for asked in (
        lambda: ledger.balance("visits"),
        lambda: ledger.reserve(ANA, "k", "d", PureDP("0.1")),
        lambda: ledger.would_admit(ANA, PureDP("0.1")),
        lambda: ledger.set_quota("visits", "ana", PureDP(1)),
        lambda: ledger.raise_budget("visits", PureDP(1), reason="r"),
    ):
        with pytest.raises(NotFound, match="'visits'"):
            asked()
    assert list(ledger.entries()) == []


@pytest.mark.parametrize("answer", ["text", None, 7, bytearray(b"x")], ids=str)
def test_an_answer_is_bytes_and_is_not_shown_in_the_refusal(file_home, answer) -> None:
    ledger = file_home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    reservation = ledger.reserve(ANA, "k", "d", PureDP("0.1"))
    with pytest.raises(InvalidParameter) as refused:
        ledger.complete(reservation, answer)
    assert "text" not in str(refused.value)
    assert "x'" not in str(refused.value)


def test_empty_and_large_answers_come_back_as_they_were(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    for key, answer in (("empty", b""), ("all bytes", bytes(range(256))), ("large", b"\0\xff" * 2**20)):
        spend(ledger, ANA, key, PureDP("0.1"), answer)
        assert ledger.reserve(ANA, key, f"digest of {key}", PureDP("0.1")).answer == answer
    assert ledger.verify().is_intact


def test_five_hundred_retries_cost_nothing(home) -> None:
    with home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit=UNIT)
        for key in range(10):
            spend(ledger, ANA, f"k{key}", PureDP("0.01"), f"answer {key}".encode())
        before = list(ledger.entries())
    ledgers = [home.open() for _ in range(4)]
    for retry in range(500):
        key = retry % 10
        stored = ledgers[retry % 4].reserve(ANA, f"k{key}", f"digest of k{key}", PureDP("0.01"))
        assert stored.answer == f"answer {key}".encode()
        if retry % 50 == 0:
            with pytest.raises(KeyReused):
                ledgers[retry % 4].reserve(ANA, f"k{key}", "another body", PureDP("0.01"))
    assert list(ledgers[0].entries()) == before


def test_threads_share_a_ledger_without_overspending(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    outcomes: list[str] = []

    def client(number: int) -> None:
        for count in range(5):
            try:
                spend(ledger, Account("visits", f"client {number}"), f"k{count}", PureDP("0.07"))
                outcomes.append("answered")
            except BudgetExceeded:
                outcomes.append("refused")

    threads = [threading.Thread(target=client, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("answered") == 14
    assert ledger.balance("visits").spent.pure == Fraction(98, 100)
    assert ledger.verify().is_intact


def test_a_ledger_stays_in_its_process_and_ends_when_closed(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    with warnings.catch_warnings():
        # Later Pythons warn of threads; the child only calls the ledger and ends.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            ledger.reserve(ANA, "k", "d", PureDP("0.1"))
        except HandleMisuse:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert ledger.balance("visits").releases == 0
    ledger.close()
    ledger.close()
    with pytest.raises(HandleMisuse):
        ledger.balance("visits")


def test_clocks_may_jump(home) -> None:
    """The time is for people: backwards, absent or absurd, nothing changes but the text."""
    moments = iter(())
    ledger = home.open(clock=lambda: next(moments, 0.0))
    # From here on: how often a new ledger asks for the time follows from its version.
    moments = iter([1e9, 5e8, -1e18, float("nan"), float("inf"), 2e9, 0.0] + [3.0] * 40)
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    for key in "abcd":
        spend(ledger, ANA, key, PureDP("0.1"))
    assert [entry.number for entry in ledger.entries()] == list(range(1, 10))
    assert "unknown" in {entry.time for entry in ledger.entries()}
    assert ledger.verify().is_intact


def test_refusals_leave_no_trace_and_are_alike_for_everybody(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit=UNIT)
    ledger.reserve(ANA, "k", "d", PureDP(1))
    said = set()
    for account in (ANA, BEN):
        with pytest.raises(DitherError) as refused:
            ledger.reserve(account, "l", "d", PureDP("0.1"))
        said.add(str(refused.value))
    assert said == {
        "a release of epsilon = 0.1 does not fit: epsilon = 1 of epsilon = 1 is spent already; "
        "epsilon is short: nothing would fit"
    }
    assert [entry.kind for entry in ledger.entries()] == ["register", "reserve"]


def test_the_latest_answers_are_listed_and_of_very_many_only_the_latest_are_looked_at(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(10), unit=UNIT)
    spend(ledger, ANA, "same-x", PureDP("0.1"))
    for number in range(6):
        spend(ledger, ANA, f"k{number}", PureDP("0.1"))
        spend(ledger, BEN, f"k{number}", PureDP("0.2"))
    ledger.reserve(ANA, "waits", "d", PureDP("0.1"))
    found = ledger.latest_answered(ANA, but="same-")
    assert [key for key, _, _ in found] == ["k5", "k4", "k3", "k2", "k1", "k0"]
    assert {(digest, charge.loss().pure) for _, digest, charge in found} == {
        (f"digest of k{number}", Fraction(1, 10)) for number in range(6)
    }
    later = next(entry.number for entry in ledger.entries() if entry.key == "k3")
    assert [key for key, _, _ in ledger.latest_answered(ANA, but="same-", after=later)] == ["k5", "k4"]
    # Of the twelve last entries three are debits of hers, and one of these has no answer.
    assert [key for key, _, _ in ledger.latest_answered(ANA, but="same-", most=4)] == ["k5", "k4"]
    assert [key for key, _, _ in ledger.latest_answered(ANA, but="k")] == ["same-x"]
