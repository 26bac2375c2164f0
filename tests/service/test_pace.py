"""When a release was drawn, stored and sent tells few bits, to whoever polls the books, too."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from dither.errors import InvalidParameter, ReleaseFailed
from dither.service import pace
from dither.service.desk import Desk, Wanted
from dither.service.pace import SMALLEST, Pace, Strict, Timing, TooLate
from tests.service.conftest import Running

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


def test_no_step_that_depends_on_rows_is_written_down_before_its_time(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, Counter[str]]] = []

    def wait(_: Pace, step: str) -> None:
        entries = running.curator.ledger.entries("clinic")
        seen.append((step, Counter(entry.kind for entry in entries if entry.analyst == "paced")))

    monkeypatch.setattr(Pace, "wait", wait)
    session = running.connect("paced").session("clinic")
    session.sql(COUNT, epsilon=1)
    (first, at_draw), (second, at_store) = seen
    assert (first, second) == ("draw", "store")
    assert (at_draw["reserve"], at_draw["draw"], at_draw["answer"]) == (1, 0, 0)
    assert (at_store["reserve"], at_store["draw"], at_store["answer"]) == (1, 1, 0)
    seen.clear()
    session.sql(COUNT, epsilon=1)
    assert not seen


@pytest.mark.parametrize(("step", "share"), [("draw", 0.6), ("store", 0.8)])
@pytest.mark.parametrize("elapsed", [0.0, 0.029, 0.3, 100.0])
def test_steps_have_buckets_of_their_own(
    step: str, share: float, elapsed: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    stopping = threading.Event()
    monkeypatch.setattr(stopping, "wait", waited.append)
    # The clock of this module alone: servers have clocks of their own.
    monkeypatch.setattr(pace, "time", SimpleNamespace(monotonic=lambda: 7 + elapsed))
    Pace(7, "buckets", stopping).wait(step)  # type: ignore[arg-type]
    Pace(7, "off", stopping).wait(step)  # type: ignore[arg-type]
    (seconds,) = waited
    until = (elapsed + seconds) / share / SMALLEST
    assert seconds >= 0
    assert any(until == pytest.approx(2**power) for power in range(20))


@pytest.mark.parametrize("text", ["fast", "strict", "strict 2", "strict 0s", "strict 2s, strict 3s", "fit 2s", 2, None])
def test_a_time_is_said_in_one_way(text: object) -> None:
    with pytest.raises(InvalidParameter, match="timing"):
        Timing.read(text)
    with pytest.raises(InvalidParameter, match="about verbs"):
        Timing.read("strict 2s, open 3s")


def test_verbs_have_times_of_their_own() -> None:
    found = Timing.read("strict 250ms, fit 60s")
    assert (found.seconds("sql"), found.seconds("fit")) == (0.25, 60)
    assert isinstance(found.pace("sql", threading.Event()), Strict)
    assert isinstance(Timing.read("buckets").pace("sql", threading.Event()), Pace)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    now = SimpleNamespace(
        now=100.0, monotonic=lambda: now.now, sleep=lambda seconds: setattr(now, "now", now.now + seconds)
    )
    monkeypatch.setattr(pace, "time", now)
    return now


def test_what_is_ready_is_stored_and_sent_at_moments_that_the_request_decides(clock: SimpleNamespace) -> None:
    for took in (0.0, 0.3, 1.5):
        clock.now = 100.0
        strict = Strict(100.0, 2.0).begin(1)
        clock.now += took
        strict.wait("draw")
        assert clock.now == 100.0 + took
        strict.wait("store")
        assert clock.now == pytest.approx(101.6)
        assert strict.left() == pytest.approx(0.4)


def test_answers_that_follow_each_other_have_a_moment_each(clock: SimpleNamespace) -> None:
    strict = Strict(100.0, 2.0).begin(4)
    moments = []
    for _ in range(4):
        strict.wait("store")
        moments.append(clock.now - 100)
    assert moments == pytest.approx([0.4, 0.8, 1.2, 1.6])


def test_what_is_late_is_never_stored_and_what_begins_late_is_never_debited(clock: SimpleNamespace) -> None:
    strict = Strict(100.0, 2.0).begin(1)
    clock.now = 101.61
    with pytest.raises(ReleaseFailed):
        strict.wait("store")
    with pytest.raises(TooLate):
        strict.begin(1)
    clock.now = 110.0
    assert strict.left() == 0


def test_a_release_says_that_it_draws_before_it_reads_rows(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that is late stays debited, has no answer, and says the one text, now and ever after."""
    bearer = running.people.authenticate(running.token("punctual"))
    assert bearer is not None
    desk, seen = running.service.desk, []

    def kinds() -> list[str]:
        return [one.kind for one in running.curator.ledger.entries("clinic") if one.analyst == "punctual"]

    monkeypatch.setattr(Strict, "wait", lambda _, step: seen.append((step, kinds()[-1])))
    desk.release(bearer, Wanted("clinic", "sql", {"text": COUNT, "epsilon": 1}, "in time"), Strict(0.0, 1e9))
    assert seen == [("draw", "reserve"), ("store", "draw")]

    def late(_: Strict, step: str) -> None:
        if step == "store":
            raise ReleaseFailed

    monkeypatch.setattr(Strict, "wait", late)
    for _ in range(2):
        with pytest.raises(ReleaseFailed):
            desk.release(bearer, Wanted("clinic", "sql", {"text": COUNT, "epsilon": 1}, "late"), Strict(0.0, 1e9))
    balance = running.curator.ledger.balance("clinic", "punctual")
    assert (balance.releases, balance.sealed, str(balance.spent)) == (2, 1, "epsilon = 2")


def test_a_strict_service_answers_at_its_time_and_tells_failures_apart_by_nothing(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running.service, "_timing", Timing.read("strict 400ms"))
    client = running.connect("strict")
    body = {"verb": "sql", "words": {"text": COUNT, "epsilon": 1}}

    def ask(key: str) -> tuple[float, int, bytes]:
        begun = time.monotonic()
        try:
            reply = client._transport._once(
                *("POST", "/v1/datasets/clinic/releases", json.dumps(body).encode()),
                {"Authorization": f"Bearer {client._transport._token}", "Idempotency-Key": key},
            )
        finally:
            took = time.monotonic() - begun
        return took, reply.status, reply.content

    took, status, answer = ask("one")
    assert (status, took >= 0.4) == (200, True)
    assert ask("one")[1:] == (200, answer)
    told = set()
    release = Desk.release
    slow = threading.Event()
    try:
        for key, fails in (("overruns", lambda: slow.wait(30)), ("fails", lambda: None)):

            def failing(desk: Desk, *words: Any, fails: Any = fails) -> Any:
                fails()
                raise ReleaseFailed

            monkeypatch.setattr(Desk, "release", failing)
            took, status, content = ask(key)
            assert took >= 0.4
            told.add((status, content))
    finally:
        slow.set()
        monkeypatch.setattr(Desk, "release", release)
    assert len(told) == 1
    body["words"] = {"text": COUNT, "epsilon": 1000}
    assert ask("dear")[1] == 409
