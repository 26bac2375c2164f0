"""One Idempotency-Key and several bodies: one body is answered, and every other is refused, at every moment."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from dither.curator.folder import Curator
from dither.curator.ledger.terms import Approval
from dither.errors import BudgetExceeded, EngineFailure, KeyReused, NotFound
from dither.privacy import PureDP
from dither.service.settings import Settings
from dither.service.transport import Transport
from tests.curator.conftest import ROWS, SCHEMA
from tests.service.conftest import Running, serving
from tests.service.test_jobs import BODY, PATH, Gate, asked_for, gate, transport, transport_again

__all__ = ["gate"]
TEXTS = (
    "SELECT COUNT(*) AS first FROM visits",
    "SELECT SUM(waited) AS second FROM visits",
    "SELECT AVG(waited) AS third FROM visits",
    "SELECT COUNT(*) AS fourth FROM visits WHERE ward = 'skin'",
)
NAMES = ("first", "second", "third", "fourth")


def body(text: str) -> dict[str, Any]:
    return {"verb": "sql", "words": {"text": text, "epsilon": {"number": "1/10"}}}


OTHER = body(TEXTS[1])


def asked(url: str, token: str, number: int, key: str = "one") -> tuple[int, str]:
    """Ask one of the four bodies, waited for or not; return which, and what was answered."""
    client = Transport(url, token)
    try:
        reply = client.post(*PATH, "releases", body=body(TEXTS[number % 4]), key=key, wait=0 if number % 3 else 30)
        while reply.status == 202:
            said = client.told(reply.headers["location"], wait=30).json()
            reply = client.told(said["answer"]) if said["state"] == "answered" else reply
    except KeyReused:
        return number % 4, "reused"
    finally:
        client.close()
    return number % 4, next(name for name in NAMES if f'"{name}"' in reply.content.decode())


def one_body_answered(found: list[tuple[int, str]]) -> None:
    answered = {which for which, said in found if said != "reused"}
    assert len(answered) == 1
    # The same body always joins, every other is refused, and nobody is given the answer to another's.
    assert all(said == (NAMES[which] if which in answered else "reused") for which, said in found)


def test_36_callers_with_one_key_and_four_bodies(running: Running) -> None:
    token = running.token("one key")
    with ThreadPoolExecutor(36) as pool:
        found = list(pool.map(lambda number: asked(running.url, token, number), range(36)))
    one_body_answered(found)
    assert running.curator.ledger.balance("clinic", "one key").releases == 1


@contextmanager
def two_servers(folder: Path) -> Iterator[tuple[Running, Running]]:
    """Two servers on one folder, each with a ledger that it has opened itself."""
    (folder / "visits.csv").write_text(ROWS)
    (folder / "clinic.yaml").write_text(SCHEMA)
    settings = Settings(port=0, timing="off", requests_per_second=10_000)
    with ExitStack() as stack:
        first = stack.enter_context(Curator.create(folder / "home", anchors=folder / "anchors"))
        first.add(folder / "clinic.yaml", budget=PureDP(100))
        second = stack.enter_context(Curator.open(folder / "home", anchors=folder / "anchors"))
        served = [contextmanager(serving)(one, settings) for one in (first, second)]
        one, other = (stack.enter_context(each) for each in served)
        yield one, other


def test_two_servers_on_one_folder(tmp_path: Path) -> None:
    with two_servers(tmp_path) as servers:
        token = servers[0].token("ana")
        with ThreadPoolExecutor(12) as pool:
            found = list(pool.map(lambda number: asked(servers[number % 2].url, token, number), range(12)))
        one_body_answered(found)
        assert servers[1].curator.ledger.balance("clinic", "ana").releases == 1


def test_what_waits_in_one_server_has_its_key_in_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with two_servers(tmp_path) as (one, other), ThreadPoolExecutor(1) as pool:
        held = Gate(one, monkeypatch)
        token = one.token("ana")
        waits = pool.submit(Transport(one.url, token).post, *PATH, "releases", body=BODY, key="k")
        assert held.reached.acquire(timeout=30)
        for wait in (None, 0):
            with pytest.raises(KeyReused):
                Transport(other.url, token).post(*PATH, "releases", body=OTHER, key="k", wait=wait)
        held.opened.set()
        assert waits.result(timeout=30).status == 200


@pytest.mark.parametrize("wait", [None, 0])
def test_another_body_while_the_first_is_queued_and_once_it_is_answered(
    running: Running, gate: Gate, wait: float | None
) -> None:
    client = transport(running, f"queued {wait}")
    job = client.post(*PATH, "releases", body=BODY, key="k", wait=0).headers["location"]
    assert gate.reached.acquire(timeout=30)
    for answered in (False, True):
        with pytest.raises(KeyReused):
            client.post(*PATH, "releases", body=OTHER, key="k", wait=wait)
        if not answered:
            gate.opened.set()
            assert client.told(job, wait=30).json()["state"] == "answered"
    assert client.post(*PATH, "releases", body=BODY, key="k").status == 200


def test_another_body_while_the_first_waits_for_an_approval(running: Running) -> None:
    client = transport(running, "approved", approval=Approval())
    job = client.post(*PATH, "releases", body=BODY, key="k").headers["location"]
    with pytest.raises(KeyReused):
        client.post(*PATH, "releases", body=OTHER, key="k")
    running.curator.approve(asked_for(running, "approved"), by="boss")
    assert client.told(job, wait=30).json()["state"] == "answered"
    with pytest.raises(KeyReused):
        client.post(*PATH, "releases", body=OTHER, key="k", wait=0)


def test_a_key_stays_bound_when_its_request_was_cancelled(running: Running, gate: Gate) -> None:
    client = transport(running, "bound")
    job = client.post(*PATH, "releases", body=BODY, key="k", wait=0).headers["location"]
    assert gate.reached.acquire(timeout=30)
    client.delete(job)
    gate.opened.set()
    with pytest.raises(KeyReused):
        client.post(*PATH, "releases", body=OTHER, key="k")
    assert running.curator.ledger.balance("clinic", "bound").releases == 0
    assert client.post(*PATH, "releases", body=BODY, key="k").status == 200
    # The address of before is that of the request of now.
    assert client.told(job).json()["state"] == "answered"


def test_a_key_stays_bound_when_its_job_has_failed(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    client = transport(running, "failed once")

    def fail(*_: Any) -> Any:
        raise EngineFailure

    with monkeypatch.context() as patched:
        patched.setattr(running.service.desk, "release", fail)
        job = client.post(*PATH, "releases", body=BODY, key="k", wait=0).headers["location"]
        assert client.told(job, wait=30).json()["state"] == "failed"
    with pytest.raises(KeyReused):
        client.post(*PATH, "releases", body=OTHER, key="k")
    assert client.post(*PATH, "releases", body=BODY, key="k").status == 200
    assert client.told(job).json()["state"] == "answered"


def test_a_key_is_free_again_when_its_request_was_refused_to_one_who_waited(running: Running) -> None:
    client = transport(running, "too dear", quota=1)
    dear = {"verb": "sql", "words": {"text": TEXTS[0], "epsilon": {"number": "2"}}}
    for _ in range(2):
        with pytest.raises(BudgetExceeded):
            client.post(*PATH, "releases", body=dear, key="k")
    assert client.post(*PATH, "releases", body=BODY, key="k").status == 200
    with pytest.raises(KeyReused):
        client.post(*PATH, "releases", body=dear, key="k")


def test_a_key_that_is_only_bound_has_no_job_that_others_find(running: Running, gate: Gate) -> None:
    client = transport(running, "no job")
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(client.post, *PATH, "releases", body=BODY, key="k")
        assert gate.reached.acquire(timeout=30)
        row = running.curator.books.job("clinic", "no job", "k")
        assert row is not None
        with pytest.raises(NotFound):
            client.told(f"/v1/datasets/clinic/jobs/{row.id}")
        # Whoever asks the same without waiting is told a job.
        again = transport_again(running, "no job").post(*PATH, "releases", body=BODY, key="k", wait=0)
        gate.opened.set()
        assert waits.result(timeout=30).status == 200
    assert again.status == 202
    assert client.told(again.headers["location"], wait=30).json()["state"] == "answered"


def test_a_refused_plan_binds_no_key(running: Running) -> None:
    client = transport(running, "misspelt")
    with pytest.raises(Exception, match="waitd"):
        client.post(*PATH, "releases", body=body("SELECT SUM(waitd) AS s FROM visits"), key="k")
    assert client.post(*PATH, "releases", body=BODY, key="k").status == 200
