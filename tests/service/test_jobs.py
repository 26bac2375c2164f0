"""Releases that are waited for: one debit whoever waits and whoever goes away, and none that was cancelled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent import futures
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.curator.ledger.terms import Approval
from dither.errors import ApprovalDeclined, ApprovalPending, DitherError, EngineFailure, RequestCancelled
from dither.privacy import PureDP
from dither.service.client import RemoteSession
from dither.service.queue import FairPool
from dither.service.settings import Settings
from dither.service.transport import Transport
from tests.curator.conftest import ROWS, SCHEMA
from tests.service.conftest import Running, serving

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
BODY = {"verb": "sql", "words": {"text": COUNT, "epsilon": {"number": "1/10"}}}
PATH = ("v1", "datasets", "clinic")


class Gate:
    """Holds releases back before they are debited until it is opened."""

    def __init__(self, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        self.opened, self.reached = threading.Event(), threading.Semaphore(0)
        release = running.service.desk.release

        def held(*words: Any) -> Any:
            self.reached.release()
            assert self.opened.wait(30)
            return release(*words)

        monkeypatch.setattr(running.service.desk, "release", held)


@pytest.fixture
def gate(running: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made = Gate(running, monkeypatch)
    yield made
    made.opened.set()


def transport(running: Running, name: str, **terms: Any) -> Transport:
    return Transport(running.url, running.token(name, **terms))


def test_a_job_is_begun_once_and_answered_under_its_address(running: Running, gate: Gate) -> None:
    client = transport(running, "patient")
    first = client.post(*PATH, "releases", body=BODY, wait=0)
    again = client.post(*PATH, "releases", body=BODY, wait=0)
    assert (first.status, again.status) == (202, 202)
    assert first.headers["location"] == again.headers["location"]
    assert gate.reached.acquire(timeout=30)
    assert client.told(first.headers["location"]).json()["state"] == "running"
    gate.opened.set()
    said = client.told(first.headers["location"], wait=30).json()
    assert said["state"] == "answered"
    answer = client.told(said["answer"])
    assert client.post(*PATH, "releases", body=BODY, wait=0).content == answer.content
    assert running.curator.ledger.balance("clinic", "patient").releases == 1


def test_whoever_waits_behind_others_is_told_the_place(running: Running, gate: Gate) -> None:
    client = transport(running, "crowd")
    places = []
    for number in range(12):
        body = {"verb": "sql", "words": {**BODY["words"], "epsilon": {"number": f"1/{100 + number}"}}}  # type: ignore[dict-item]
        places.append(client.post(*PATH, "releases", body=body, wait=0).json())
    queued = [one["place"] for one in places if one["state"] == "queued"]
    assert queued == sorted(queued)
    assert queued[-1] >= 5
    gate.opened.set()


def test_what_is_cancelled_is_never_debited_until_it_is_asked_again(running: Running, gate: Gate) -> None:
    session = running.connect("undecided").session("clinic")
    job = session.begin(session.offer.sql(COUNT, epsilon="0.1"))
    assert gate.reached.acquire(timeout=30)
    job.cancel()
    assert job.state == "cancelled"
    gate.opened.set()
    with pytest.raises(RequestCancelled):
        job.result()
    assert session.balance().releases == 0
    assert dict(session.sql(COUNT, epsilon="0.1").rows).keys() == {"heart", "skin"}
    assert session.balance().releases == 1
    with pytest.raises(DitherError, match="debited already"):
        job.cancel()
    assert job.result().to_json() == session.sql(COUNT, epsilon="0.1").to_json()


def test_what_is_cancelled_stays_so_where_somebody_else_still_waits(running: Running, gate: Gate) -> None:
    client = transport(running, "of two minds")
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(client.post, *PATH, "releases", body=BODY, wait=1)
        assert gate.reached.acquire(timeout=30)
        job = client.post(*PATH, "releases", body=BODY, wait=0).headers["location"]
        client.delete(job)
        # The one that waits gives up, and is told where to come back: that is no second thought.
        assert waits.result(timeout=30).status == 202
    begun = list(running.service._jobs._here.values())
    gate.opened.set()
    assert client.told(job, wait=30).json()["state"] == "cancelled"
    assert not futures.wait(begun, timeout=30).not_done
    assert running.curator.ledger.balance("clinic", "of two minds").releases == 0


def test_what_stands_in_line_is_not_debited_once_its_token_is_revoked(running: Running, gate: Gate) -> None:
    token = running.token("robbed")
    client = Transport(running.url, token)
    job = client.post(*PATH, "releases", body=BODY, wait=0).headers["location"]
    assert gate.reached.acquire(timeout=30)
    running.people.revoke_token(token.split("_")[1])
    gate.opened.set()
    mine = Transport(running.url, running.people.new_token("robbed"))
    assert mine.told(job, wait=30).json()["state"] == "failed"
    assert running.curator.ledger.balance("clinic", "robbed").releases == 0
    # Asked anew by the one whose quota it is.
    assert mine.post(*PATH, "releases", body=BODY).status == 200


def test_a_client_that_goes_away_changes_nothing(running: Running, gate: Gate) -> None:
    client = transport(running, "leaving")
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(client.post, *PATH, "releases", body=BODY, key="kept", wait=1)
        assert gate.reached.acquire(timeout=30)
        assert asked.result().status == 202
    client.close()
    gate.opened.set()
    assert transport_again(running, "leaving").post(*PATH, "releases", body=BODY, key="kept").status == 200
    assert running.curator.ledger.balance("clinic", "leaving").releases == 1


def transport_again(running: Running, name: str) -> Transport:
    return Transport(running.url, running.people.new_token(name))


def test_a_job_that_its_process_left_is_gone_on_with(running: Running) -> None:
    """As after a restart: the table has the job, and nobody works on it."""
    token = running.token("restarted")
    bearer = running.people.authenticate(token)
    assert bearer is not None
    from dither.service.desk import wanted_of

    ticket = running.service.desk.looked_up(bearer, wanted_of("clinic", BODY, "mine")).ticket
    running.curator.books.keep_job(ticket.row)
    client = Transport(running.url, token)
    said = client.told(f"/v1/datasets/clinic/jobs/{ticket.name}", wait=30).json()
    assert said["state"] == "answered"
    with pytest.raises(DitherError, match="no job of yours"):
        transport(running, "stranger").told(f"/v1/datasets/clinic/jobs/{ticket.name}")


def test_a_job_that_fails_says_what_a_release_would(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> Any:
        raise EngineFailure

    monkeypatch.setattr(running.service.desk, "release", fail)
    session = running.connect("unlucky").session("clinic")
    job = session.begin(session.offer.sql(COUNT, epsilon="0.1"))
    with pytest.raises(EngineFailure):
        job.result()
    assert job.state == "failed"
    monkeypatch.undo()
    assert session.begin(session.offer.sql(COUNT, epsilon="0.1")).result() is not None
    assert job.state == "answered"


def test_64_callers_of_one_request_share_one_debit(running: Running) -> None:
    token = running.token("many")

    def ask(number: int) -> bytes:
        client = Transport(running.url, token)
        reply = client.post(*PATH, "releases", body=BODY, wait=0 if number % 2 else 30)
        while reply.status == 202:
            said = client.told(reply.headers["location"], wait=30).json()
            reply = client.told(said["answer"]) if said["state"] == "answered" else reply
        return reply.content

    with ThreadPoolExecutor(64) as pool:
        answers = set(pool.map(ask, range(64)))
    assert len(answers) == 1
    balance = running.curator.ledger.balance("clinic", "many")
    assert (balance.releases, balance.sealed) == (1, 0)


def asked_for(running: Running, name: str) -> int:
    return next(one.number for one in running.curator.questions("clinic") if one.analyst == name)


def test_what_needs_an_approval_waits_and_goes_on_once_others_agree(running: Running) -> None:
    session: RemoteSession = running.connect("careful", approval=Approval()).session("clinic")
    with pytest.raises(ApprovalPending, match="waits for an approval"):
        session.sql(COUNT, epsilon="0.1")
    job = session.begin(session.offer.sql(COUNT, epsilon="0.1"))
    assert job.progress(wait=30)["state"] == "waiting for approval"
    assert session.balance().releases == 0
    running.curator.approve(asked_for(running, "careful"), by="boss")
    assert job.result() is not None
    assert session.balance().releases == 1
    local = running.curator.session("clinic", analyst="careful")
    with pytest.raises(ApprovalPending):
        local.sql(COUNT, epsilon="0.2")


def test_what_others_decline_is_not_debited(running: Running) -> None:
    session = running.connect("refused", approval=Approval()).session("clinic")
    job = session.begin(session.offer.sql(COUNT, epsilon="0.1"))
    assert job.progress(wait=30)["state"] == "waiting for approval"
    running.curator.decline(asked_for(running, "refused"), by="boss", because="too fine")
    assert job.state == "declined"
    with pytest.raises(ApprovalDeclined, match="too fine"):
        job.result()
    with pytest.raises(ApprovalDeclined, match="too fine"):
        session.sql(COUNT, epsilon="0.1")
    assert session.balance().releases == 0


def test_places_in_the_line_are_those_in_which_lines_are_served() -> None:
    """Every order of three people's pieces of work on one worker, compared with the order in which they are done."""
    for persons in ("aaabbc", "abcabc", "cbbaaa", "abbbba"):
        pool, gate, done = FairPool(1, "test"), threading.Event(), []
        begun = threading.Event()

        def first(begun: threading.Event = begun, gate: threading.Event = gate) -> None:
            begun.set()
            gate.wait(30)

        pool.submit("x", first)
        assert begun.wait(30)
        futures = [pool.submit(person, partial(done.append, number)) for number, person in enumerate(persons)]
        places = [pool.place(future) for future in futures]
        gate.set()
        for future in futures:
            future.result(30)
        assert [places[number] for number in done] == list(range(len(persons)))
        pool.close(1)


def test_a_strict_job_has_failed_at_its_time_and_not_when_it_did(running: Running) -> None:
    """Debited and without an answer: whatever the table knows, the time alone decides what is told."""
    from dither.curator.ledger import Account
    from dither.service.jobs import Ticket

    running.token("strict")
    books, jobs = running.curator.books, running.service._jobs
    ticket = Ticket("clinic", "strict", "k", "d", "{}")
    books.keep_job(ticket.row)
    held = running.curator.ledger.reserve(Account("clinic", "strict"), "k", "d", PureDP("0.1"))
    for fail in (False, True):
        if fail:
            books.fail_job(ticket.row, "{}")
        row = books.job("clinic", "strict", "k")
        assert row is not None
        assert jobs.progress(row, 3600.0).state == "running"
        assert jobs.progress(row, 0.0).state == "failed"
    assert jobs.progress(row).state == "failed"
    running.curator.ledger.complete(held, b"42")
    assert jobs.progress(row, 0.0).state == "answered"


def test_a_job_is_answered_under_strict_times(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text(ROWS)
    (tmp_path / "clinic.yaml").write_text(SCHEMA)
    with Curator.create(tmp_path / "home", anchors=tmp_path / "anchors") as curator:
        curator.add(tmp_path / "clinic.yaml", budget=PureDP(10))
        for served in serving(curator, Settings(port=0, timing="strict 5s", requests_per_second=10_000)):
            session = served.connect("ana", quota=5).session("clinic")
            job = session.begin(session.offer.sql(COUNT, epsilon="0.1"))
            assert job.state in ("queued", "running")
            assert job.result() is not None
            with session.conversation("wards", "visits", ["ward"], epsilon=1) as talk:
                assert talk.loss.pure == 1
