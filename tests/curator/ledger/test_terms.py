"""Grants, approvals, stages and publications are decided in the ledger's own transaction, and the chain tells them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from dither.curator.ledger import OWNER, Account
from dither.curator.ledger.governed import JobRow
from dither.curator.ledger.terms import Allowance, Approval, Terms
from dither.curator.ledger.transaction import Page
from dither.errors import (
    AllowanceExceeded,
    AnalystUnknown,
    ApprovalDeclined,
    ApprovalPending,
    DataSetNotOpen,
    InvalidParameter,
    KeyReused,
    LedgerCorrupted,
    NotFound,
    QuotaExceeded,
)
from dither.privacy import ZCDP, ApproxDP, PureDP
from tests.curator.ledger.test_edits import edit

ANA = Account("visits", "ana")
START = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
DAY = 86_400.0
PAST, FAR = "2025-01-01T00:00:00.000+00:00", "2026-02-01T00:00:00.000+00:00"


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


def begin(home, terms: Terms | None = None, quota="1"):
    clock = Clock()
    ledger = home.open(clock=clock)
    ledger.register("visits", budget=PureDP(2), unit="row")
    ledger.set_quota("visits", "ana", PureDP(quota), terms=terms)
    return ledger, clock


def spend(ledger, key, epsilon="0.1", digest=None, account=ANA):
    return ledger.complete(ledger.reserve(account, key, digest or f"d {key}", PureDP(epsilon)), b"42")


def test_an_allowance_paces_a_quota_and_what_is_not_used_stays(home) -> None:
    ledger, clock = begin(home, Terms(allowance=Allowance.of("0.1", 7)))
    spend(ledger, "first")
    with pytest.raises(AllowanceExceeded, match=r"0\.1 every 7 days.*more from 2026-01-08"):
        spend(ledger, "second")
    assert ledger.balance("visits", "ana").left.pure == 0
    assert not ledger.would_admit(ANA, PureDP("0.1"))
    clock.now += 14 * DAY
    # Two weeks were not used, and are there now: 0.2 in one release.
    spend(ledger, "third", "0.2")
    with pytest.raises(AllowanceExceeded):
        spend(ledger, "fourth", "0.01")
    assert ledger.verify().is_intact


def test_no_clock_passes_a_quota_and_none_that_is_set_back_unlocks_anything(home) -> None:
    ledger, clock = begin(home, Terms(allowance=Allowance.of("0.4", 7)), quota="0.5")
    clock.now += 1000 * DAY
    spend(ledger, "far", "0.4")
    clock.now -= 2000 * DAY
    with pytest.raises(AllowanceExceeded):
        spend(ledger, "back", "0.1")
    clock.now = 1e30
    with pytest.raises(AllowanceExceeded):
        spend(ledger, "none", "0.1")
    clock.now = START + 10_000 * DAY
    with pytest.raises(QuotaExceeded, match="quota"):
        spend(ledger, "over", "0.2")
    spend(ledger, "rest", "0.1")
    assert ledger.verify().is_intact


@pytest.mark.parametrize("behind", [10 * 365 * DAY, -1e30], ids=["ten years behind", "no time at all"])
def test_an_allowance_that_is_granted_by_a_wrong_clock_begins_at_the_time_of_the_ledger(home, behind) -> None:
    ledger, clock = begin(home)
    clock.now -= behind
    ledger.set_quota("visits", "ana", PureDP(1), terms=Terms(allowance=Allowance.of("0.1", 7)))
    spend(ledger, "now", "0.1")
    clock.now = START
    with pytest.raises(AllowanceExceeded, match="more from 2026-01-08"):
        spend(ledger, "all of it", "0.9")
    clock.now += 7 * DAY
    spend(ledger, "a week later")
    assert ledger.verify().is_intact


def test_an_allowance_of_before_began_by_the_clock_and_one_of_now_does_not(file_home, monkeypatch) -> None:
    ledger, clock = begin(file_home)
    clock.now -= 10 * DAY
    monkeypatch.setattr(Page, "latest", property(lambda page: page.now))
    ledger.set_quota("visits", "ana", PureDP(1), terms=Terms(allowance=Allowance.of("0.1", 7)))
    assert "an allowance begins at another time" in ledger.verify().problems[0]
    ledger.close()
    # As it was written before: without the time of the ledger.
    assert _rewritten(file_home, "quota", lambda record: record.pop("at")) == ()


@pytest.mark.parametrize(
    ("budget", "quota", "each", "loss"),
    [
        (ZCDP("1"), ZCDP("0.5"), "0.1", ZCDP("0.1")),
        (ApproxDP(2, "1e-5"), ApproxDP(1, "1e-5"), "0.1", ApproxDP("0.1", "1e-7")),
    ],
)
def test_allowances_pace_quotas_of_every_kind(file_home, budget, quota, each, loss) -> None:
    ledger = file_home.open(clock=Clock())
    ledger.register("visits", budget=budget, unit="row")
    ledger.set_quota("visits", "ana", quota, terms=Terms(allowance=Allowance.of(each, 1)))
    ledger.complete(ledger.reserve(ANA, "a", "a", loss), b"1")
    with pytest.raises(AllowanceExceeded):
        ledger.reserve(ANA, "b", "b", loss)
    assert ledger.verify().is_intact


def test_the_same_allowance_goes_on_and_another_begins_anew(home) -> None:
    ledger, clock = begin(home, Terms(allowance=Allowance.of("0.1", 7)))
    spend(ledger, "first")
    ledger.set_quota("visits", "ana", PureDP("1.5"))
    ledger.set_quota("visits", "ana", PureDP("1.5"), terms=Terms(allowance=Allowance.of("0.1", 7)))
    with pytest.raises(AllowanceExceeded):
        spend(ledger, "second")
    ledger.set_quota("visits", "ana", PureDP("1.5"), terms=Terms(allowance=Allowance.of("0.2", 7)))
    spend(ledger, "third", "0.2")
    with pytest.raises(AllowanceExceeded):
        spend(ledger, "fourth")
    clock.now += 7 * DAY
    spend(ledger, "fourth", "0.2")
    ledger.set_quota("visits", "ana", PureDP("1.5"), terms=Terms())
    spend(ledger, "fifth", "1")
    assert ledger.verify().is_intact


def test_one_release_loses_no_more_than_its_grant_says(home) -> None:
    ledger, _ = begin(home, Terms(most=PureDP("0.1")))
    spend(ledger, "some")
    with pytest.raises(InvalidParameter, match=r"at most epsilon = 0\.1 for one release"):
        spend(ledger, "more", "0.2")
    assert ledger.verify().is_intact
    with home.open() as again:
        assert again.terms("visits", "ana").most == PureDP("0.1")


def test_a_grant_that_has_ended_spends_nothing_until_there_is_another(home) -> None:
    ledger, _ = begin(home)
    spend(ledger, "before")
    assert ledger.end_quota("visits", "ana")
    assert not ledger.end_quota("visits", "ana")
    with pytest.raises(AnalystUnknown):
        spend(ledger, "after")
    assert spend_again(ledger, "before") == b"42"
    ledger.set_quota("visits", "ana", PureDP(1))
    spend(ledger, "after")
    assert ledger.balance("visits", "ana").releases == 2
    assert ledger.verify().is_intact


def spend_again(ledger, key):
    return ledger.reserve(ANA, key, f"d {key}", PureDP("0.1")).answer


def test_what_needs_an_approval_waits_and_costs_nothing(home) -> None:
    ledger, clock = begin(home, Terms(approval=Approval()))
    with pytest.raises(ApprovalPending) as pending:
        spend(ledger, "k", digest="d")
    with pytest.raises(ApprovalPending):
        spend(ledger, "other key", digest="d")
    [asked] = ledger.questions("visits")
    assert (asked.state, asked.question.entry) == ("waiting", pending.value.entry)
    assert ledger.balance("visits").releases == 0
    assert ledger.approve(asked.question.entry, by="ben").state == "approved"
    # Another request is not agreed to, nor is this one with another loss.
    with pytest.raises(ApprovalPending):
        spend(ledger, "l", digest="another")
    spend(ledger, "k", digest="d")
    assert ledger.question(asked.question.entry).state == "used"
    # One approval is one debit: fresh noise is asked for anew.
    with pytest.raises(ApprovalPending):
        spend(ledger, "again", digest="d")
    assert ledger.verify().is_intact
    with home.open(clock=clock) as again:
        assert [one.state for one in again.questions()] == ["used", "waiting", "waiting"]


def test_an_approval_is_for_no_more_than_was_asked(home) -> None:
    ledger, _ = begin(home, Terms(approval=Approval(above=PureDP("0.1"))))
    spend(ledger, "small")
    with pytest.raises(ApprovalPending) as pending:
        spend(ledger, "k", "0.2", digest="d")
    ledger.approve(pending.value.entry, by="ben")
    with pytest.raises(ApprovalPending) as dearer:
        spend(ledger, "k", "0.3", digest="d")
    assert dearer.value.entry > pending.value.entry
    assert ledger.verify().is_intact


def test_two_must_agree_where_two_are_asked_and_never_the_asker(home) -> None:
    ledger, _ = begin(home, Terms(approval=Approval(approvers=2)))
    with pytest.raises(ApprovalPending) as pending:
        spend(ledger, "k", digest="d")
    entry = pending.value.entry
    with pytest.raises(InvalidParameter, match="another than the one who asks"):
        ledger.approve(entry, by="ana")
    assert ledger.approve(entry, by="ben").state == "waiting"
    with pytest.raises(InvalidParameter, match="agreed to by them already"):
        ledger.approve(entry, by="ben")
    with pytest.raises(ApprovalPending):
        spend(ledger, "k", digest="d")
    assert ledger.approve(entry, by="eve").state == "approved"
    spend(ledger, "k", digest="d")
    with pytest.raises(InvalidParameter, match="is used"):
        ledger.decline(entry, by="ben")
    with pytest.raises(NotFound):
        ledger.approve(1, by="ben")
    assert ledger.verify().is_intact


def test_declined_stays_declined_for_a_week_and_may_then_be_asked_anew(home) -> None:
    ledger, clock = begin(home, Terms(approval=Approval()))
    with pytest.raises(ApprovalPending) as pending:
        spend(ledger, "k", digest="d")
    ledger.decline(pending.value.entry, by="ben", because="too fine")
    with pytest.raises(ApprovalDeclined):
        spend(ledger, "k", digest="d")
    clock.now += 8 * DAY
    with pytest.raises(ApprovalPending):
        spend(ledger, "k", digest="d")
    assert [one.state for one in ledger.questions()] == ["expired", "waiting"]
    assert ledger.verify().is_intact


def test_an_approval_ends_after_seven_days_and_no_clock_brings_it_back(home) -> None:
    ledger, clock = begin(home, Terms(approval=Approval()))
    with pytest.raises(ApprovalPending) as pending:
        spend(ledger, "k", digest="d")
    ledger.approve(pending.value.entry, by="ben")
    clock.now += 7 * DAY
    ledger.raise_budget("visits", PureDP(3), reason="an entry that carries the time")
    clock.now -= 7 * DAY
    with pytest.raises(ApprovalPending) as anew:
        spend(ledger, "k", digest="d")
    assert anew.value.entry != pending.value.entry
    assert ledger.verify().is_intact


def test_a_clock_that_once_jumped_ahead_leaves_new_approvals_alone(home) -> None:
    """What comes after the jump counts from the ledger's time, which never goes back: seven days from there."""
    ledger, clock = begin(home, Terms(approval=Approval()))
    clock.now += 8 * DAY
    ledger.raise_budget("visits", PureDP(3), reason="an entry that carries a time far ahead")
    clock.now -= 8 * DAY
    with pytest.raises(ApprovalPending) as pending:
        spend(ledger, "k", digest="d")
    assert ledger.question(pending.value.entry).state == "waiting"
    assert ledger.approve(pending.value.entry, by="ben").state == "approved"
    assert ledger.verify().is_intact
    spend(ledger, "k", digest="d")
    with pytest.raises(ApprovalPending) as another:
        spend(ledger, "l", digest="e")
    ledger.approve(another.value.entry, by="ben")
    clock.now += 15 * DAY - 1
    assert ledger.question(another.value.entry).state == "approved"
    # Seven days of the ledger's time are over when the clock has caught up and gone on.
    clock.now += 1
    assert ledger.question(another.value.entry).state == "expired"
    assert ledger.verify().is_intact


def test_an_approval_is_about_the_rows_of_its_time(home) -> None:
    ledger, _ = begin(home, Terms(approval=Approval()))
    with pytest.raises(ApprovalPending) as pending:
        spend(ledger, "k", digest="d")
    ledger.approve(pending.value.entry, by="ben")
    ledger.begin_edition("visits")
    with pytest.raises(ApprovalPending) as anew:
        spend(ledger, "k", digest="d")
    assert anew.value.entry > pending.value.entry
    with pytest.raises(InvalidParameter, match="is expired"):
        ledger.approve(pending.value.entry, by="chris")
    ledger.approve(anew.value.entry, by="ben")
    assert [one.state for one in ledger.questions()] == ["expired", "approved"]
    spend(ledger, "k", digest="d")
    assert ledger.verify().is_intact


@pytest.mark.parametrize(
    "end", [lambda ledger: ledger.end_person("ben"), lambda ledger: ledger.keep_person("ben", "auditor")]
)
def test_whoever_is_no_longer_a_curator_has_agreed_to_nothing_that_is_open(home, end) -> None:
    ledger, _ = begin(home, Terms(approval=Approval()))
    ledger.keep_person("ben", "curator")
    entries = []
    for key in ("used", "open"):
        with pytest.raises(ApprovalPending) as pending:
            spend(ledger, key, digest=key)
        entries.append(pending.value.entry)
        ledger.approve(pending.value.entry, by="ben")
    spend(ledger, "used", digest="used")
    end(ledger)
    assert [one.state for one in ledger.questions()] == ["used", "waiting"]
    with pytest.raises(ApprovalPending) as still:
        spend(ledger, "open", digest="open")
    assert still.value.entry == entries[1]
    ledger.approve(entries[1], by="chris")
    spend(ledger, "open", digest="open")
    assert ledger.verify().is_intact


def test_a_cancelled_request_takes_its_question_back(home) -> None:
    ledger, _ = begin(home, Terms(approval=Approval()))
    job = JobRow("visits", "ana", "k", "a name", "d", "{}", "begun", None, "")
    ledger.keep_job(job)
    with pytest.raises(ApprovalPending) as pending:
        spend(ledger, "k", digest="d")
    assert ledger.cancel_job(job)
    assert ledger.question(pending.value.entry).state == "cancelled"
    for decide in (ledger.approve, ledger.decline):
        with pytest.raises(InvalidParameter, match="is cancelled"):
            decide(pending.value.entry, by="ben")
    # Cancelling again enters nothing more, and asking anew is another question.
    assert ledger.cancel_job(job)
    ledger.keep_job(job, reopens=True)
    with pytest.raises(ApprovalPending) as anew:
        spend(ledger, "k", digest="d")
    assert anew.value.entry == pending.value.entry + 2
    assert ledger.verify().is_intact


def test_rows_of_jobs_go_after_thirty_days(home) -> None:
    ledger, clock = begin(home)

    def row(name: str) -> JobRow:
        return JobRow("visits", "ana", name, f"name of {name}", "d", "{}", "begun", None, "")

    for name in ("failed", "cancelled", "begun"):
        ledger.keep_job(row(name))
    ledger.fail_job(row("failed"), "{}")
    ledger.cancel_job(row("cancelled"))
    clock.now += 30 * DAY
    ledger.keep_job(row("on the day"))
    assert ledger.job("visits", "ana", "cancelled").state == "cancelled"
    clock.now = 1e30
    ledger.keep_job(row("no clock"))
    assert ledger.job("visits", "ana", "failed").state == "failed"
    clock.now = START + 30 * DAY + 1
    ledger.keep_job(row("a second later"))
    left = [name for name in ("failed", "cancelled", "begun", "on the day") if ledger.job("visits", "ana", name)]
    assert left == ["on the day"]


def test_only_an_open_data_set_is_debited(home) -> None:
    ledger = home.open()
    ledger.register("visits", budget=PureDP(1), unit="row", stage="draft")
    owner = Account("visits", OWNER)
    with pytest.raises(DataSetNotOpen, match="is a draft"):
        spend(ledger, "k", account=owner)
    assert not ledger.would_admit(owner, PureDP("0.1"))
    ledger.set_stage("visits", "open")
    spend(ledger, "k", account=owner)
    ledger.set_stage("visits", "paused", reason="a complaint")
    with pytest.raises(InvalidParameter, match="it is paused already"):
        ledger.set_stage("visits", "paused")
    with pytest.raises(DataSetNotOpen, match="is paused"):
        spend(ledger, "l", account=owner)
    ledger.set_stage("visits", "open")
    spend(ledger, "l", account=owner)
    ledger.set_stage("visits", "closed", reason="the study is over")
    with pytest.raises(InvalidParameter, match="nothing: it was closed permanently"):
        ledger.set_stage("visits", "open")
    with pytest.raises(DataSetNotOpen, match="is closed"):
        spend(ledger, "m", account=owner)
    assert ledger.reserve(owner, "l", "d l", PureDP("0.1")).answer == b"42"
    ledger.retire("visits", reason="rows deleted")
    assert ledger.verify().is_intact
    with home.open() as again:
        assert again.standings()["visits"].stage == "closed"
        assert again.standings()["visits"].is_retired


def test_publishing_shows_withdrawing_hides_and_neither_gives_anything_back(home) -> None:
    ledger, _ = begin(home)
    entry = spend(ledger, "k").entry
    with pytest.raises(NotFound):
        ledger.publish("visits", entry - 1, by="ben")
    ledger.publish("visits", entry, by="ben", title="Visits")
    with pytest.raises(InvalidParameter, match="not published"):
        ledger.publish("visits", entry, by="ben")
    [shown] = ledger.published()
    assert (shown["about"], shown["title"], shown["stated"]["releases"]) == (entry, "Visits", 1)
    ledger.withdraw("visits", entry, by="ben", because="a mistake in its title")
    assert ledger.published() == ()
    with pytest.raises(NotFound):
        ledger.withdraw("visits", entry, by="ben")
    ledger.publish("visits", entry, by="ben")
    assert len(ledger.published("visits")) == 1
    # Another process follows a statement, and reads it from every kind of ledger.
    with home.open() as other:
        stated = ledger.state("visits", by="ben")
        assert other.statements() == {"visits": [stated]}
        assert other.balance("visits").releases == 1
    assert ledger.balance("visits").spent.pure == PureDP("0.1").pure
    assert ledger.verify().is_intact


def test_a_publication_states_every_raise_of_the_budget_before_it(home) -> None:
    ledger, clock = begin(home)
    ledger.register("other", budget=PureDP(1), unit="row")
    ledger.raise_budget("other", PureDP(2), reason="not about visits")
    entries = [spend(ledger, key).entry for key in ("first", "second")]
    ledger.publish("visits", entries[0], by="ben")
    for budget, reason in ((3, 'a "second","kind":"raise","reason": study'), (4, "a third")):
        clock.now += DAY
        ledger.raise_budget("visits", PureDP(budget), reason=reason)
    ledger.publish("visits", entries[1], by="ben")
    stated = [record["stated"]["raises"] for record in ledger.published()]
    assert stated[0] == []
    assert [(one["from"]["epsilon"], one["to"]["epsilon"], one["time"][:10]) for one in stated[1]] == [
        ("2", "3", "2026-01-02"),
        ("3", "4", "2026-01-03"),
    ]
    assert [one["reason"] for one in stated[1]] == ['a "second","kind":"raise","reason": study', "a third"]
    assert list(ledger.raises("visits")) == stated[1]
    balance = ledger.balance("visits")
    assert ledger.spent("visits") == (balance.budget, balance.spent)
    assert ledger.verify().is_intact


def test_an_analyst_has_no_more_than_64_questions_waiting(file_home, monkeypatch) -> None:
    monkeypatch.setattr("dither.curator.ledger.commands.MOST_WAITING", 2)
    ledger, _ = begin(file_home, Terms(approval=Approval()))
    for key in "ab":
        with pytest.raises(ApprovalPending):
            spend(ledger, key)
    with pytest.raises(InvalidParameter, match="wait for an approval"):
        spend(ledger, "c")


def test_an_approval_that_is_edited_away_is_missed(file_home) -> None:
    ledger, _ = begin(file_home, Terms(approval=Approval()))
    with pytest.raises(ApprovalPending) as pending:
        spend(ledger, "k", digest="d")
    edit(file_home, "DELETE FROM decisions")
    assert ledger.verify().problems == ("the table of decisions contradicts the entries",)
    said = f"{pending.value.entry - 1}, 'visits', 'approve', 'ana', 'd'"
    edit(file_home, f"INSERT INTO decisions VALUES ({said})")  # noqa: S608 - the test's own words
    with pytest.raises(LedgerCorrupted):
        ledger.approve(pending.value.entry, by="ben")


def _rewritten(home, kind: str, change) -> tuple[str, ...]:
    """Change the last entry of a kind, link the chain anew, and return what verify finds."""
    import sqlite3

    from dither.curator.ledger.chain import canonical, first_link, link

    plain = sqlite3.connect(home.path)
    for trigger in ("entries_stay", "head_advances"):
        plain.execute(f"DROP TRIGGER {trigger}")
    rows = plain.execute("SELECT seq, record FROM entries ORDER BY seq").fetchall()
    last = max(seq for seq, record in rows if json.loads(record)["kind"] == kind)
    before = first_link(plain.execute("SELECT ledger FROM head").fetchone()[0])
    for seq, text in rows:
        record = json.loads(text)
        if seq == last:
            change(record)
        before = link(before, canonical(record))
        plain.execute("UPDATE entries SET record = ?, hash = ? WHERE seq = ?", (canonical(record), before, seq))
    plain.execute("UPDATE head SET hash = ?", (before,))
    plain.commit()
    plain.close()
    for anchor in home.anchors.glob("*"):
        anchor.unlink()
    with home.open() as ledger:
        return ledger.verify().problems


def _set(record, *path_and_value) -> None:
    *path, name, value = path_and_value
    for step in path:
        record = record[step]
    record[name] = value


@pytest.mark.parametrize(
    ("kind", "change", "found"),
    [
        ("quota", lambda r: _set(r, "quota", "returned", "5"), "something else came back"),
        ("quota", lambda r: _set(r, "quota", "ended", True), "has ended"),
        ("quota", lambda r: _set(r, "quota", "allowance", "since", "2025-01-01T00:00:00+00:00"), "another time"),
        ("quota", lambda r: (_set(r, "quota", "allowance", "since", PAST), _set(r, "at", PAST)), "than the ledger had"),
        ("quota", lambda r: (_set(r, "quota", "allowance", "since", FAR), _set(r, "at", FAR)), "than the ledger had"),
        ("quota", lambda r: _set(r, "quota", "most", {"kind": "pure", "epsilon": "1/100"}), "more than its grant"),
        ("quota", lambda r: _set(r, "quota", "allowance", "each", "1/1000"), "than the allowance"),
        ("approve", lambda r: _set(r, "by", "ana"), "the analyst who asks agreed"),
        ("approve", lambda r: (_set(r, "at", PAST), _set(r, "time", PAST)), "without the approval"),
        ("approve", lambda r: (_set(r, "at", FAR), _set(r, "time", FAR)), "it was settled"),
        ("approve", lambda r: _set(r, "at", FAR), "another time than the ledger had"),
        ("ask", lambda r: _set(r, "at", PAST), "another time than the ledger had"),
        ("ask", lambda r: _set(r, "edition", 2), "about other rows"),
        ("approve", lambda r: _set(r, "digest", "another"), "about another request"),
        ("ask", lambda r: _set(r, "charge", "epsilon", "1"), "without the approval"),
        ("publish", lambda r: _set(r, "stated", "releases", 0), "states other sums"),
        ("publish", lambda r: _set(r, "stated", "raises", []), "other raises"),
        ("publish", lambda r: _set(r, "stated", "raises", 0, "reason", "none of yours"), "other raises"),
        ("publish", lambda r: _set(r, "stated", "answer", "0" * 64), "states another answer"),
        ("publish", lambda r: _set(r, "stated", "loss", "epsilon", "1"), "states another answer"),
        ("publish", lambda r: r["stated"].pop("loss"), "states another answer"),
        ("publish", lambda r: _set(r, "about", 1), "about no answer"),
        ("publish", lambda r: _set(r, "about", None), "about no answer"),
        ("publish", lambda r: _set(r, "kind", "withdraw"), "nothing of its data set is published"),
        ("state", lambda r: _set(r, "stated", "releases", 0), "states other sums"),
        ("state", lambda r: _set(r, "stated", "spent", "epsilon", "0"), "states other sums"),
        ("state", lambda r: _set(r, "stated", "answer", "0" * 64), "states other sums"),
        ("register", lambda r: _set(r, "budget", "returned", "5"), "says more than its figures"),
        ("stage", lambda r: _set(r, "stage", "draft"), "does not follow"),
    ],
)
def test_verify_finds_entries_that_the_rules_do_not_allow(file_home, kind, change, found) -> None:
    ledger, _ = begin(file_home, Terms(approval=Approval(), allowance=Allowance.of("0.5", 7)))
    with pytest.raises(ApprovalPending) as pending:
        spend(ledger, "k", digest="d")
    ledger.approve(pending.value.entry, by="ben")
    receipt = spend(ledger, "k", digest="d")
    # Without an answer: nothing of it can be published.
    ledger.reserve(Account("visits", OWNER), "unanswered", "d", PureDP("0.1"))
    ledger.raise_budget("visits", PureDP(3), reason="a second study")
    ledger.publish("visits", receipt.entry, by="ben")
    ledger.state("visits", by="ben")
    ledger.set_stage("visits", "paused")
    assert ledger.verify().is_intact
    ledger.close()
    assert any(found in problem for problem in _rewritten(file_home, kind, change))


def test_publications_of_before_state_no_raises_and_are_right(file_home) -> None:
    ledger, _ = begin(file_home)
    ledger.raise_budget("visits", PureDP(3), reason="a second study")
    ledger.publish("visits", spend(ledger, "k").entry, by="ben")
    ledger.close()
    assert _rewritten(file_home, "publish", lambda record: record["stated"].pop("raises")) == ()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Allowance.of(0, 7),
        lambda: Allowance.of("0.1", 0),
        lambda: Allowance.of("0.1", True),
        lambda: Approval(approvers=3),
        lambda: Terms(most=PureDP(1), usual=PureDP(2)),
    ],
)
def test_terms_that_mean_nothing_are_refused(wrong) -> None:
    with pytest.raises(InvalidParameter):
        wrong()


def test_a_week_is_seven_days_to_the_second() -> None:
    begun = datetime(2026, 3, 1, tzinfo=UTC)
    weekly = Allowance.of("0.1", 7).begun(begun.isoformat(), Allowance.of(1, 1).base)
    ends = begun + timedelta(days=7)
    assert [weekly.periods((ends + timedelta(seconds=s)).isoformat()) for s in (-1, 0, 1)] == [1, 2, 2]
    assert weekly.periods("unknown") == weekly.periods((begun - timedelta(days=99)).isoformat()) == 1


def test_a_key_is_bound_to_one_request_before_it_is_debited(home) -> None:
    ledger, _ = begin(home)
    job = JobRow("visits", "ana", "k", "a name", "d", "{}", "begun", None, "")
    ledger.keep_job(job)
    other = home.open()
    for one in (ledger, other):
        with pytest.raises(KeyReused):
            one.keep_job(job._replace(digest="e"), reopens=True)
        with pytest.raises(KeyReused):
            spend(one, "k", digest="e")
    ledger.cancel_job(job)
    with pytest.raises(KeyReused):
        spend(ledger, "k", digest="e")
    ledger.keep_job(job, reopens=True)
    spend(ledger, "k", digest="d")
    with pytest.raises(KeyReused):
        ledger.keep_job(job._replace(digest="e"))
    assert ledger.verify().is_intact


def test_a_key_that_is_debited_cannot_be_kept_for_another_request(home) -> None:
    ledger, _ = begin(home)
    spend(ledger, "k", digest="d")
    assert ledger.binding(Account("visits", "ana"), "k") == ("d", "")
    assert ledger.binding(Account("visits", "ana"), "free") is None
    with pytest.raises(KeyReused):
        ledger.keep_job(JobRow("visits", "ana", "k", "a name", "e", "{}", "begun", None, ""))


def test_a_job_is_found_by_its_name_before_a_key_that_looks_like_it(home) -> None:
    ledger, _ = begin(home)
    ledger.keep_job(JobRow("visits", "ana", "a name", "another", "d", "{}", "begun", None, ""))
    ledger.keep_job(JobRow("visits", "ana", "k", "a name", "d", "{}", "begun", None, ""))
    assert ledger.job("visits", "ana", "a name").key == "k"


def test_a_refusal_of_one_body_says_nothing_of_another(home) -> None:
    """The key was freed and bound to another body while the first one's server had not yet written its refusal down."""
    ledger, _ = begin(home)
    first = JobRow("visits", "ana", "k", "name of k", "first", "", "begun", None, "")
    other = first._replace(digest="other", asked="{}")
    ledger.keep_job(first)
    ledger.fail_job(first, "{}")
    ledger.keep_job(other)
    ledger.fail_job(first, "{}")
    ledger.cancel_job(first)
    found = ledger.job("visits", "ana", "k")
    assert (found.digest, found.state) == ("other", "begun")


def test_a_key_that_looks_like_the_name_of_another_request_is_looked_up_as_a_key(home) -> None:
    ledger, _ = begin(home)
    ledger.keep_job(JobRow("visits", "ana", "k", "a name", "d", "{}", "begun", None, ""))
    assert ledger.job("visits", "ana", "a name").key == "k"
    assert ledger.job("visits", "ana", "a name", is_key=True) is None
    ledger.keep_job(JobRow("visits", "ana", "a name", "another", "e", "{}", "begun", None, ""))
    assert ledger.job("visits", "ana", "a name", is_key=True).id == "another"
