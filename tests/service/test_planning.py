"""Planning has threads, limits and an end of its own: nobody who reads waits for what others have planned."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from dither.errors import DitherError, Unanswerable
from dither.privacy import PureDP
from dither.publish.queries import work
from dither.publish.queries.sql import request
from dither.service.transport import Transport
from tests.service.conftest import Running
from tests.service.test_door import ask, bearer
from tests.service.test_jobs import BODY, PATH, transport

COUNT = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
LOSSES = [PureDP(f"{number}/10") for number in range(1, 65)]


def curve(text: str, losses: list[PureDP] = LOSSES) -> dict[str, Any]:
    return {"verb": "sql", "words": {"text": text}, "losses": [one.to_dict() for one in losses]}


def test_a_curve_is_parsed_once_and_says_what_single_quotes_say(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, read = transport(running, "curved"), list[str]()

    class Counted(request.Parsed):
        def __init__(self, text: str) -> None:
            read.append(text)
            super().__init__(text)

    monkeypatch.setattr(request, "Parsed", Counted)
    quotes = client.post(*PATH, "quotes", body=curve(COUNT)).json()["quotes"]
    assert len(quotes) == len(LOSSES)
    assert len(read) == 1
    for place in (0, 31, 63):
        single = {"verb": "sql", "words": {"text": COUNT, "loss": {"loss": LOSSES[place].to_dict()}}}
        assert client.post(*PATH, "quotes", body=single).json()["quote"] == quotes[place]
    # For one loss, too: its quote and the search for stored answers share what was read.
    assert len(read) == 4


def test_the_steps_of_a_curve_are_counted_together(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    client = transport(running, "counted")
    monkeypatch.setattr(work, "MOST_STEPS", 2000)
    assert client.post(*PATH, "quotes", body=curve(COUNT, LOSSES[:2])).status == 200
    with pytest.raises(Unanswerable, match="steps to price"):
        client.post(*PATH, "quotes", body=curve(COUNT))


def test_planning_that_takes_too_long_is_refused_and_costs_nothing(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = transport(running, "late")
    monkeypatch.setattr(running.service.desk, "_planning_seconds", 0)
    long = "SELECT COUNT(*) AS n FROM visits WHERE patient IN (" + ", ".join(map(str, range(500))) + ")"  # noqa: S608
    body = {"verb": "sql", "words": {"text": long, "epsilon": {"number": "1/10"}}}
    for path, asked in (("quotes", {"verb": "sql", "words": body["words"]}), ("releases", body)):
        with pytest.raises(Unanswerable, match="seconds of computing"):
            client.post(*PATH, path, body=asked, key="k" if path == "releases" else None)
    monkeypatch.undo()
    assert running.curator.ledger.balance("clinic", "late").releases == 0
    # The key was not bound to what was never planned.
    assert client.post(*PATH, "releases", body=BODY, key="k").status == 200


class Planning:
    """Quotes that do not end before they are told to."""

    def __init__(self) -> None:
        self._reached, self._ends = threading.Semaphore(0), threading.Event()

    def quote(self, *_: Any) -> dict[str, Any]:
        self._reached.release()
        assert self._ends.wait(60)
        raise Unanswerable("the test is over", "nothing")

    def await_one(self) -> None:
        """Wait until one more is being planned."""
        assert self._reached.acquire(timeout=30)

    def end(self) -> None:
        self._ends.set()


@pytest.fixture
def endless(running: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[Planning]:
    made = Planning()
    monkeypatch.setattr(running.service.desk, "quote", made.quote)
    yield made
    made.end()


def test_nobody_who_reads_waits_for_those_who_plan(running: Running, endless: Planning) -> None:
    tokens = [running.token(f"hostile {number}") for number in range(4)]
    mine = running.token("reader")
    answer = Transport(running.url, mine).post(*PATH, "releases", body=BODY).headers["location"]
    with ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(ask, running, "POST", "/v1/datasets/clinic/quotes", {}, bearer(one)) for one in tokens * 3]
        for _ in tokens:
            endless.await_one()
        # Every thread that plans is taken, and each of the four has more in line.
        for path in ("/healthz", "/readyz", "/v1/published", "/v1/datasets/clinic/balance", "/v1/me", answer):
            assert ask(running, "GET", path, None, bearer(mine))[0] == 200
        assert not any(one.done() for one in asked)
        endless.end()
        assert {one.result()[0] for one in asked} == {422}


def test_one_person_plans_on_one_thread_at_a_time(running: Running, endless: Planning) -> None:
    token, other = running.token("greedy"), running.token("modest")
    with ThreadPoolExecutor(5) as pool:
        for _ in range(4):
            pool.submit(ask, running, "POST", "/v1/datasets/clinic/quotes", {}, bearer(token))
        endless.await_one()
        while running.service._planners.waiting < 3:
            pass
        pool.submit(ask, running, "POST", "/v1/datasets/clinic/quotes", {}, bearer(other))
        # The other is being planned while three of the first still wait.
        endless.await_one()
        assert running.service._planners.waiting == 3
        endless.end()


def test_a_client_that_goes_away_ends_its_planning(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    reached, given_up = threading.Event(), threading.Event()

    def quote(*_: Any) -> dict[str, Any]:
        try:
            with work.planning():
                while True:
                    reached.set()
                    work.step()
        except work.PlanningAbandoned:
            given_up.set()
            raise

    monkeypatch.setattr(running.service.desk, "quote", quote)
    monkeypatch.setattr(work, "MOST_STEPS", float("inf"))
    token, place = running.token("fleeting"), urlsplit(running.url)
    content = json.dumps({}).encode()
    head = (
        f"POST /v1/datasets/clinic/quotes HTTP/1.1\r\nHost: {place.netloc}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    with socket.create_connection((place.hostname, place.port), timeout=30) as client:
        client.sendall(head.encode() + content)
        assert reached.wait(30)
    assert given_up.wait(30)


def test_a_foreign_lock_on_the_ledger_stops_no_reader(running: Running) -> None:
    token = running.token("locked out")
    answer = Transport(running.url, token).post(*PATH, "releases", body=BODY).headers["location"]
    newcomer = running.token("newcomer")
    other = sqlite3.connect(running.curator.ledger.place, isolation_level=None)
    with ThreadPoolExecutor(6) as pool:
        other.execute("BEGIN EXCLUSIVE")
        try:
            # Each has to write before it is begun, and waits for the lock.
            waiting = [
                pool.submit(Transport(running.url, token).post, *PATH, "releases", body=BODY, key=f"k {number}", wait=0)
                for number in range(4)
            ]
            while not running.curator.ledger._turns._inside:  # type: ignore[attr-defined]
                pass
            for path in ("/healthz", "/readyz", "/v1/published", "/v1/datasets/clinic/balance", "/v1/me", answer):
                assert ask(running, "GET", path, None, bearer(token))[0] == 200
            # One whose token was never used today is let in, although that cannot be written down yet.
            assert ask(running, "GET", "/v1/datasets/clinic/balance", None, bearer(newcomer))[0] == 200
            assert not any(one.done() for one in waiting)
        finally:
            other.execute("ROLLBACK")
            other.close()
        assert [one.result().status for one in waiting] == [202] * 4


def test_a_ledger_that_cannot_be_read_is_told_as_503(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    token = running.token("unread")
    assert ask(running, "GET", "/v1/me", None, bearer(token))[0] == 200
    ledger = running.curator.ledger

    def locked() -> None:
        raise sqlite3.OperationalError("database is locked")

    for name in ("_readers", "_hurried"):
        monkeypatch.setattr(getattr(ledger, name), "_connect", locked)
        monkeypatch.setattr(getattr(ledger, name), "_idle", [])
    for path in ("/readyz", "/v1/datasets/clinic/balance"):
        status, _, content = ask(running, "GET", path, None, bearer(token))
        assert status == 503
        assert json.loads(content)["title"] in ("NotReady", "LedgerUnavailable")
    assert ask(running, "GET", "/healthz")[0] == 200
    monkeypatch.undo()
    assert ask(running, "GET", "/v1/datasets/clinic/balance", None, bearer(token))[0] == 200


def test_errors_of_planning_are_still_told_one_by_one(running: Running) -> None:
    client = transport(running, "curious")
    with pytest.raises(DitherError, match="nothing_here"):
        client.post(*PATH, "quotes", body=curve("SELECT SUM(nothing_here) FROM visits"))


def test_large_tables_at_many_losses_are_counted_too(running: Running) -> None:
    client = transport(running, "tabular")
    body = {"verb": "histogram", "words": {"table": "visits", "columns": ["waited"], "bins": 2**14}}
    losses = [one.to_dict() for one in LOSSES]
    assert len(client.post(*PATH, "quotes", body={**body, "losses": losses[:2]}).json()["quotes"]) == 2
    body["words"]["bins"] = 2**17
    with pytest.raises(Unanswerable, match="steps to price"):
        client.post(*PATH, "quotes", body={**body, "losses": losses})
