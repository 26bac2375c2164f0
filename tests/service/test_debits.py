"""Whatever is debited, in whichever way, is told by one line of the log: verb, digest, charge and entry."""

from __future__ import annotations

import asyncio
import io
import json
import socket
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from dither.curator.access import Run
from dither.curator.ledger import Account
from dither.curator.ledger.interface import Reservation
from dither.curator.ledger.terms import Approval
from dither.curator.request_json import public_view, write_words
from dither.errors import DitherError
from dither.privacy import PureDP
from dither.publish.queries.builder import table
from dither.publish.queries.parts import query_of_part
from dither.service.debits import Watch
from dither.service.logs import Log
from dither.service.pace import Pace
from dither.service.transport import Transport
from tests.service.conftest import Running
from tests.service.test_door import ask

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
PATH = ("v1", "datasets", "clinic")
CLAMPED = "SELECT SUM(CLAMP(waited, AUTO)) AS waited FROM visits"


def body(text: str = COUNT, epsilon: str = "1/10") -> dict[str, Any]:
    return {"verb": "sql", "words": {"text": text, "epsilon": {"number": epsilon}}}


def lines(running: Running, person: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in running.log.getvalue().splitlines()]
    return [line for line in found if line.get("person") == person]


def debits(running: Running, person: str) -> list[tuple[str, str]]:
    """Return the digest and the charge of everything that was debited to a person, as the chain has it."""
    entries = [one for one in running.curator.ledger.entries("clinic") if one.analyst == person]
    return sorted((one.record["digest"], str(one.loss)) for one in entries if one.kind == "reserve")


def told(running: Running, person: str) -> list[dict[str, Any]]:
    """Return the lines that tell of debits, once there are as many as debits; a line may come after its answer."""
    for _ in range(1000):
        found = [line for line in lines(running, person) if "charge" in line]
        if len(found) >= len(debits(running, person)):
            break
        ask(running, "GET", "/healthz")
    return found


def test_every_debit_has_one_line_whichever_way_it_is_made(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    token = running.token("spender")
    client = Transport(running.url, token)
    client.post(*PATH, "releases", body=body())
    client.post(*PATH, "releases", body=body())  # found, and not debited
    client.post(*PATH, "releases", body=body(CLAMPED, "1"))
    job = client.post(*PATH, "releases", body=body(), key="later", wait=0).headers["location"]
    assert client.told(job, wait=30).json()["state"] == "answered"
    with ThreadPoolExecutor(8) as pool:
        together = [
            pool.submit(Transport(running.url, token).post, *PATH, "releases", body=body(), key="together", wait=wait)
            for wait in (0, 30) * 4
        ]
        for one in together:
            one.result()
    words: dict[str, Any] = {"table": "visits", "columns": ["ward"], "epsilon": {"number": "1/10"}}
    for _ in range(2):
        client.post(*PATH, "conversations", body={"name": "talk", "words": words})
    dataset = running.curator.dataset("clinic")
    wards = table("visits").partition("ward", {"heart": ["heart"], "skin": ["skin"]}).open(public_view(dataset))
    opened = write_words({"partition": wards, "epsilon": "1/10"}, dataset)
    client.post(*PATH, "parts", body={"name": "parts", "words": opened})
    asked = {"label": "heart", "question": query_of_part(wards, "heart", lambda rows: rows.count()), "epsilon": "1/20"}
    for _ in range(2):
        client.post(*PATH, "parts", "parts", "questions", body={"words": write_words(asked, dataset)})
    monkeypatch.setattr(Run, "carry_out", lambda *_: 1 / 0)
    with pytest.raises(DitherError):
        client.post(*PATH, "releases", body=body(), key="fails")
    found = told(running, "spender")
    assert sorted((line["digest"], line["charge"]) for line in found) == debits(running, "spender")
    assert len({line["entry"] for line in found}) == len(found)
    assert all(line["dataset"] == "clinic" and line["entry"].isdecimal() for line in found)
    assert sorted(line["verb"] for line in found) == ["conversation", "parts", "parts", *["sql"] * 6]
    assert [line["status"] for line in found if line["verb"] == "sql"].count(500) == 1


def test_what_waited_for_an_approval_is_told_when_it_is_debited(running: Running) -> None:
    client = Transport(running.url, running.token("patient", approval=Approval()))
    job = client.post(*PATH, "releases", body=body(), wait=30).headers["location"]
    assert not [line for line in lines(running, "patient") if "charge" in line]
    number = next(one.number for one in running.curator.questions("clinic") if one.analyst == "patient")
    running.curator.approve(number, by="boss")
    assert client.told(job, wait=30).json()["state"] == "answered"
    [line] = told(running, "patient")
    assert (line["route"], line["verb"], line["charge"], line["status"]) == ("job", "sql", "epsilon = 0.1", 200)
    assert [(line["digest"], line["charge"])] == debits(running, "patient")


def test_a_quote_is_told_by_verb_and_digest(running: Running) -> None:
    client = Transport(running.url, running.token("quoting"))
    client.post(*PATH, "quotes", body=body())
    client.post(*PATH, "releases", body=body())
    words: dict[str, Any] = {"table": "visits", "columns": ["ward"], "epsilon": {"number": "1/10"}}
    client.post(*PATH, "quotes", body={"verb": "conversation", "words": words})
    client.post(*PATH, "conversations", body={"name": "talk", "words": words})
    quote, release, priced, opened = lines(running, "quoting")
    assert (quote["verb"], quote["digest"]) == ("sql", release["digest"])
    assert (priced["verb"], priced["digest"]) == ("conversation", opened["digest"])
    assert not {"charge"} & (quote.keys() | priced.keys())


def reservation(attempt: int = 1) -> Reservation:
    return Reservation(Account("clinic", "ana"), "k", "d", PureDP(1), attempt, 7, "h")


class Recorded(Pace):
    """Nothing is held back; what was written before somebody asked for how long it should be is remembered."""

    def __init__(self, log: io.StringIO) -> None:
        self._log, self.before = log, list[str]()

    def left(self) -> float:
        self.before.append(self._log.getvalue())
        return 0.0


@pytest.mark.parametrize("end", [lambda future: future.set_exception(ZeroDivisionError()), lambda _: None])
def test_the_line_of_a_job_is_not_written_before_its_time(running: Running, end: Callable[[Future[Any]], None]) -> None:
    """Nor is it lost where the service goes before the job ends."""
    log = io.StringIO()
    came, future = Recorded(log), Future[Any]()
    watch = Watch(Log(log), {"person": "ana", "digest": "d"}, came)
    watch.noticed.add(reservation())
    watch.noticed.add(reservation(attempt=2))
    end(future)

    async def watched() -> None:
        running.service._watch(future, watch)
        await running.service.tell_rest(0.0 if not future.done() else 30.0)

    asyncio.run(watched())
    [line] = log.getvalue().splitlines()
    assert (json.loads(line)["charge"], json.loads(line)["entry"]) == ("epsilon = 1", "7")
    assert json.loads(line)["status"] == (500 if future.done() else 202)
    assert came.before == ([""] if future.done() else [])
    # What is debited after the line was written has a line of its own.
    watch.noticed.add(reservation())
    assert len(log.getvalue().splitlines()) == 2


def test_what_is_no_request_is_one_line_without_its_content(
    running: Running, capfd: pytest.CaptureFixture[str]
) -> None:
    place = urlsplit(running.url)
    with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
        connection.sendall(b"kanarienvogel\r\n\r\n")
        while connection.recv(10_000):
            pass
    for _ in range(1000):
        found = [json.loads(line) for line in running.log.getvalue().splitlines()]
        if any("source" in line for line in found):
            break
        ask(running, "GET", "/healthz")
    [line] = [line for line in found if "source" in line]
    assert (line["source"], line["level"]) == ("uvicorn.error", "warning")
    assert "kanarienvogel" not in running.log.getvalue()
    assert capfd.readouterr().err == ""
