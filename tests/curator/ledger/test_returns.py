"""What releases give back: once, with their answer, to pure limits alone; and never more than the budget in all."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shutil
import signal
import sqlite3
from collections.abc import Callable
from fractions import Fraction

import pytest

from dither.curator.ledger import Account, accept_restored
from dither.curator.ledger.admission import Certificates
from dither.curator.ledger.amounts import UNITS, ZERO, Amount
from dither.curator.ledger.commands import Answer, read_orders, write_orders
from dither.curator.ledger.returns import returned_of, returning, unused
from dither.curator.ledger.transaction import Purse, limit_text
from dither.errors import BudgetExceeded, InvalidParameter, LedgerCorrupted
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP

ANA, OWNER = Account("visits", "ana"), Account("visits", "curator")
F = Fraction


def spend(ledger, key: str, worst: str, spent: str | None = None, account: Account = OWNER):
    held = ledger.reserve(account, key, "d", PureDP(worst))
    return ledger.complete(held, key.encode(), spent=None if spent is None else PureDP(spent))


def test_what_was_not_lost_is_there_again(home) -> None:
    with home.open() as ledger, home.open() as other:
        ledger.register("visits", budget=PureDP(1), unit="row")
        receipt = spend(ledger, "k", "0.8", "0.1")
        assert receipt.loss.pure == F(4, 5)
        for one in (ledger, other):
            balance = one.balance("visits")
            assert (balance.spent.pure, balance.left.pure, balance.releases) == (F(1, 10), F(9, 10), 1)
            assert one.balance("visits", "curator").spent.pure == F(1, 10)
            assert not one.would_admit(OWNER, PureDP("0.91"))
        # The stored answer is free, and gives nothing back a second time.
        assert ledger.reserve(OWNER, "k", "d", PureDP("0.8")).answer == b"k"
        assert spend(other, "l", "0.9").answer == b"l"
        with pytest.raises(BudgetExceeded, match=r"epsilon = 1 of epsilon = 1 is spent"):
            spend(ledger, "m", "0.01")
        assert [entry.kind for entry in ledger.entries()].count("return") == 1
        assert ledger.verify().is_intact
    with home.open() as ledger:
        assert ledger.balance("visits").spent.pure == 1
        assert ledger.verify().problems == ()


def test_a_budget_to_which_something_came_back_gets_no_delta(file_home) -> None:
    """More than its epsilon may have been debited, as the answers had it: no division of a delta holds that."""
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
        spend(ledger, "k", "0.8", "0.1")
        with pytest.raises(InvalidParameter, match="gave back a part"):
            ledger.raise_budget("visits", ApproxDP(2, "1e-6"), reason="models")
        ledger.raise_budget("visits", PureDP(2), reason="more")
        assert ledger.verify().is_intact


def test_the_first_to_complete_decides_what_comes_back(file_home) -> None:
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
        held = ledger.reserve(OWNER, "k", "d", PureDP(1))
        ledger.complete(held, b"coarse", spent=PureDP("0.5"))
        assert ledger.complete(held, b"coarser", spent=PureDP("0.1")).answer == b"coarse"
        assert ledger.balance("visits").spent.pure == F(1, 2)
        assert ledger.verify().is_intact


@pytest.mark.parametrize("budget", [ZCDP("0.5"), ApproxDP(1, "1e-6"), PureDP(1, rho="0.4")])
def test_other_budgets_keep_the_worst_case(file_home, budget: Loss) -> None:
    with file_home.open() as ledger:
        ledger.register("visits", budget=budget, unit="row")
        spend(ledger, "k", "0.5", "0.1")
        assert ledger.balance("visits").spent.pure == F(1, 2)
        assert "return" not in [entry.kind for entry in ledger.entries()]
        assert ledger.verify().is_intact


def test_each_limit_takes_back_for_itself(file_home) -> None:
    """A pure quota within an (epsilon, delta) budget; a new quota of another kind counts the worst case again."""
    with file_home.open() as ledger:
        ledger.register("visits", budget=ApproxDP(1, "1e-6"), unit="row")
        ledger.set_quota("visits", "ana", PureDP("0.5"))
        spend(ledger, "k", "0.5", "0.2", ANA)
        assert ledger.balance("visits").spent.pure == F(1, 2)
        assert ledger.balance("visits", "ana").spent.pure == F(1, 5)
        assert ledger.balance("visits", "ana").left.pure == F(3, 10)
        ledger.set_quota("visits", "ana", PureDP("0.6"))
        assert ledger.balance("visits", "ana").left.pure == F(2, 5)
        ledger.set_quota("visits", "ana", ApproxDP("0.6", "1e-7"))
        assert ledger.balance("visits", "ana").spent.pure == F(1, 2)
        assert ledger.verify().is_intact
    with file_home.open() as ledger:
        assert ledger.verify().is_intact


def test_a_raised_budget_keeps_what_came_back(file_home) -> None:
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
        spend(ledger, "k", "1", "0.25")
        ledger.raise_budget("visits", PureDP(2), reason="a larger study")
        ledger.rename("visits", "calls")
        assert ledger.balance("visits").left.pure == F(7, 4)
        assert ledger.verify().is_intact


class Died(BaseException):
    """The end of a process, for whoever is told of a step."""


@pytest.mark.parametrize(
    ("moment", "is_durable"),
    [("asked", False), ("posted", False), ("written", False), ("committed", True), ("anchored", True), ("told", True)],
)
def test_a_death_leaves_the_answer_with_what_it_gave_back_or_the_worst_case(file_home, moment, is_durable) -> None:
    def reach(step: str) -> None:
        if step == f"complete: {moment}":
            raise Died

    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
    dying = file_home.open(reach=reach)
    held = dying.reserve(OWNER, "k", "d", PureDP("0.8"))
    dying.begin_draw(held)
    try:
        dying.complete(held, b"42", spent=PureDP("0.1"))
        was_reached = False
    except Died:
        was_reached = True
    dying.close()
    is_durable = is_durable or not was_reached
    with file_home.open() as ledger:
        kinds = [entry.kind for entry in ledger.entries()]
        assert kinds.count("answer") == kinds.count("return") == is_durable
        assert ledger.balance("visits").spent.pure == (F(1, 10) if is_durable else F(4, 5))
        assert ledger.verify().is_intact


# Newer Pythons warn of forks beside threads; here the child dies at once.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(("moment", "is_durable"), [("written", False), ("committed", True)])
def test_a_process_that_is_killed_leaves_both_or_neither(file_home, moment, is_durable) -> None:
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
    child = os.fork()
    if not child:
        gc.disable()  # what the parent holds may wait for threads that are not here

        def reach(step: str) -> None:
            if step == f"complete: {moment}":
                os.kill(os.getpid(), signal.SIGKILL)

        with contextlib.suppress(BaseException):
            dying = file_home.open(reach=reach)
            held = dying.reserve(OWNER, "k", "d", PureDP("0.8"))
            dying.begin_draw(held)
            dying.complete(held, b"42", spent=PureDP("0.1"))
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    with file_home.open() as ledger:
        assert ledger.balance("visits").spent.pure == (F(1, 10) if is_durable else F(4, 5))
        assert ledger.verify().is_intact


def test_a_restored_backup_keeps_what_was_spent_and_what_came_back(file_home) -> None:
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
        spend(ledger, "k", "0.5", "0.1")
    copy = file_home.folder / "backup.db"
    shutil.copy(file_home.path, copy)
    with file_home.open() as ledger:
        spend(ledger, "l", "0.5", "0.2")
    shutil.copy(copy, file_home.path)
    with accept_restored(file_home.path, reason="disk failure", anchors=file_home.anchors) as ledger:
        assert ledger.balance("visits").spent.pure == F(3, 10)
        assert ledger.verify().is_intact
        spend(ledger, "m", "0.7")
        assert not ledger.would_admit(OWNER, PureDP("0.01"))
    with file_home.open() as ledger:
        assert ledger.verify().is_intact


def test_two_histories_of_one_ledger_give_back_only_what_the_kept_one_did(file_home) -> None:
    """Each copy went on alone: all debits of both are spent, and of what came back the kept copy's part is known."""
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(2), unit="row")
    copy = file_home.folder / "backup.db"
    shutil.copy(file_home.path, copy)
    with file_home.open() as ledger:
        spend(ledger, "k", "0.5", "0.1")
    kept = file_home.folder / "kept"
    shutil.copytree(file_home.anchors, kept)
    shutil.copy(copy, file_home.path)
    shutil.rmtree(file_home.anchors)
    with file_home.open() as ledger:
        spend(ledger, "l", "0.5", "0.2")
        spend(ledger, "m", "0.1")
    shutil.rmtree(file_home.anchors)
    shutil.copytree(kept, file_home.anchors)
    with accept_restored(file_home.path, reason="two copies", anchors=file_home.anchors) as ledger:
        assert ledger.balance("visits").spent.pure == F(5, 10) + F(2, 10) + F(1, 10)
        assert ledger.verify().is_intact


def _entered(ledger, units: int, key: str = "k") -> None:
    fields = {"dataset": "visits", "analyst": "curator", "key": key, "epsilon": str(units)}

    def work(page) -> None:
        page.enter("return", **fields)
        unit, purse = page.dataset("visits")
        page.keep_dataset("visits", unit, purse.take_back(units))

    ledger._change("return", work)


@pytest.mark.parametrize("units", [1, UNITS, 2 * UNITS])
@pytest.mark.parametrize("is_answered", [True, False])
def test_what_no_answer_gave_back_is_found(file_home, units, is_answered) -> None:
    """Entries that are well made, with sums that follow them: a second return, and one before the answer."""
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
        if is_answered:
            spend(ledger, "k", "0.5", "0.1")
        else:
            ledger.abandon(ledger.reserve(OWNER, "k", "d", PureDP("0.5")))
        _entered(ledger, units)
        assert any("no answer gave back" in problem for problem in ledger.verify().problems)


def test_more_than_was_debited_is_found_even_beside_its_answer(file_home) -> None:
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
        spend(ledger, "k", "0.5")
        _entered(ledger, UNITS)
        assert any("more came back than was debited" in problem for problem in ledger.verify().problems)


def test_an_edited_sum_of_what_came_back_is_not_believed(file_home) -> None:
    with file_home.open() as ledger:
        ledger.register("visits", budget=PureDP(1), unit="row")
        spend(ledger, "k", "1", "0.5")
    with contextlib.closing(sqlite3.connect(file_home.path)) as connection, connection:
        raised = returning(limit_text(PureDP(1)), UNITS)
        connection.execute("UPDATE datasets SET budget = ?", (raised,))
    with pytest.raises(LedgerCorrupted):
        file_home.open()


def test_orders_carry_what_comes_back() -> None:
    orders = [Answer(ANA, "k", "d", 3, "h", b"\0answer", 12), Answer(ANA, "l", "d", 4, "h", b"", 0)]
    assert read_orders(write_orders(orders)) == orders


@pytest.mark.parametrize("figure", ['"-1"', '"1.5"', "1", '""', "null"])
def test_a_sum_that_makes_no_sense_is_refused(figure: str) -> None:
    limit = f'{{"epsilon":"1","kind":"pure","returned":{figure}}}'
    with pytest.raises(ValueError):
        returned_of(limit)


def test_no_other_limit_has_a_sum_of_what_came_back() -> None:
    with pytest.raises(ValueError):
        returned_of('{"kind":"zcdp","returned":"1","rho":"1"}')


@pytest.mark.parametrize(
    ("spent", "units"),
    [(None, 0), (PureDP("1/4"), UNITS // 4), (PureDP(1), 0), (ZCDP("0.01"), 0), (ApproxDP("0.1", "1e-9"), 0)],
)
def test_only_pure_losses_give_back(spent: Loss | None, units: int) -> None:
    assert unused(Amount.of(PureDP("1/2")), spent) == units
    assert unused(Amount.of(ZCDP("1/2")), spent) == 0


def test_what_stays_debited_is_rounded_up() -> None:
    charge = Amount.of(PureDP("1/17"))
    stays = (charge.epsilon or 0) - unused(charge, PureDP("1/19"))
    assert UNITS <= 19 * stays < UNITS + 19


# The game: everything an analyst can do with releases that stop early, and all that can come of it.

#: A release: the worst case, and what each of its outcomes loses, in quarters of epsilon.
MENU: tuple[tuple[int, tuple[int, ...]], ...] = ((1, (1,)), (2, (1, 2)), (3, (0, 1, 3)), (4, (2, 4)))
QUARTER = UNITS // 4
#: The purse, the releases that wait for their answers, what was lost by those that were answered.
State = tuple[Purse, tuple[int, ...], int]


def _charge(quarters: int) -> Amount:
    return Amount.of(PureDP(F(quarters, 4)))


def _reached(admits: Callable[[Purse, int], bool], steps: int) -> set[State]:
    """Return every state that some choice of releases, in some order, with some outcomes, leads to."""
    begun: State = (Purse(limit_text(PureDP(1)), ZERO, 0), (), 0)
    found, latest = {begun}, {begun}
    for _ in range(steps):
        latest = {following for state in latest for following in _following(admits, *state)} - found
        found |= latest
    return found


def _following(admits: Callable[[Purse, int], bool], purse: Purse, waiting: tuple[int, ...], lost: int) -> set[State]:
    found: set[State] = set()
    for which, (worst, _) in enumerate(MENU):
        if admits(purse, worst):
            found.add((purse.pay(_charge(worst)), tuple(sorted((*waiting, which))), lost))
    for place, which in enumerate(waiting):
        worst, outcomes = MENU[which]
        rest = (*waiting[:place], *waiting[place + 1 :])
        for outcome in outcomes:
            found.add((purse.take_back((worst - outcome) * QUARTER), rest, lost + outcome))
    return found


def _worst(state: State) -> int:
    """Return what may be lost when all that waits is answered."""
    return state[2] + sum(MENU[which][0] for which in state[1])


def test_no_order_of_releases_and_outcomes_overspends() -> None:
    """Exhaustively: debits and answers in any order, chosen by the outcomes so far, by the ledger's own purse."""
    certificates = Certificates()
    found = _reached(lambda purse, worst: purse.admits(_charge(worst), certificates), 8)
    assert len(found) > 200
    assert max(map(_worst, found)) == 4
    for purse, waiting, lost in found:
        assert purse.kept.epsilon == QUARTER * _worst((purse, waiting, lost)), "the sums say what may be lost"
    # More releases than their worst cases have room for.
    assert max(purse.spent.epsilon for purse, _, _ in found) > UNITS


def test_the_game_has_power() -> None:
    """Two mutants: what waits counts at its best, and a release is admitted while anything is left."""

    def at_its_best(purse: Purse, worst: int) -> bool:
        best = next(min(outcomes) for most, outcomes in MENU if most == worst)
        return purse.admits(_charge(best), Certificates())

    assert max(map(_worst, _reached(at_its_best, 3))) > 4
    assert max(map(_worst, _reached(lambda purse, _: (purse.kept.epsilon or 0) < UNITS, 3))) > 4


def test_limits_are_plain_texts() -> None:
    limit = limit_text(PureDP(1))
    assert json.loads(returning(limit, 5) or "") == {"epsilon": "1", "kind": "pure", "returned": "5"}
    assert returned_of(returning(returning(limit, 5), 7)) == 12
    assert returning(None, 5) is None
