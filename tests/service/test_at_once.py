"""What was refused by public facts is told at once, whatever the time of answers; all else keeps its time."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from dither.curator.ledger.request_effects import notice_private
from dither.curator.request_json import public_view, write_words
from dither.errors import EngineFailure, InvalidParameter, ReleaseFailed
from dither.publish.queries.builder import table
from dither.publish.queries.parts import query_of_part
from dither.service.app import Service
from dither.service.logs import Log
from dither.service.pace import Pace
from dither.service.settings import Settings
from tests.service.conftest import Running
from tests.service.test_door import ask, bearer
from tools.security.without_network import asked

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"
SET = "/v1/datasets/clinic"


def release(epsilon: Any = 1) -> dict[str, Any]:
    return {"verb": "sql", "words": {"text": COUNT, "epsilon": epsilon}}


def conversation(name: Any, **words: Any) -> dict[str, Any]:
    return {"name": name, "words": {"table": "visits", "columns": ["ward"], "epsilon": 1, **words}}


def test_what_is_dropped_from_its_line_is_told_at_once_where_answers_take_an_hour(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(running.service.desk, Settings(timing="strict 3600s", releasing=1), Log(io.StringIO()))
    application, headers = service.application(), {"authorization": f"Bearer {running.token('stopped')}"}
    is_begun, goes_on = threading.Event(), threading.Event()

    def released(*_: Any) -> None:
        is_begun.set()
        goes_on.wait(30)
        raise ReleaseFailed

    monkeypatch.setattr(service.desk, "release", released)

    def post(path: str, body: dict[str, Any], key: str) -> asyncio.Task[Any]:
        content, named = json.dumps(body).encode(), headers | {"idempotency-key": key}
        return asyncio.create_task(asked(application, "POST", f"{SET}/{path}", named, content))

    async def all_of_it() -> list[tuple[int, Any]]:
        first = post("releases", release(), "one")
        assert await asyncio.to_thread(is_begun.wait, 30)
        waiting = [post("releases", release(), "two"), post("conversations", conversation("talk"), "")]
        while service._releasing.waiting < len(waiting):
            await asyncio.to_thread(is_begun.wait, 30)
        service.begin_stop()
        told = await asyncio.wait_for(asyncio.gather(*waiting), 30)
        first.cancel()
        await first
        goes_on.set()
        return [(status, found["retry-after"]) for status, found, _ in told]

    try:
        assert asyncio.run(all_of_it()) == [(503, "5"), (503, "5")]
    finally:
        goes_on.set()
        for pool in (service._releasing, service._readers, service._doors, service._adding):
            pool.close(30)


class Held(Pace):
    """Nothing waits; how often somebody asked for how long is counted."""

    def __init__(self) -> None:
        super().__init__(0.0, "off", threading.Event())
        self.times = 0

    def left(self) -> float:
        self.times += 1
        return 0.0


@pytest.fixture
def held(running: Running, monkeypatch: pytest.MonkeyPatch) -> Held:
    found = Held()
    timing = SimpleNamespace(pace=lambda *_: found, way="off", seconds=lambda _: 0.0)
    monkeypatch.setattr(running.service, "_timing", timing)
    return found


def opened(running: Running, who: dict[str, str]) -> dict[str, Any]:
    """Open a conversation and an account of parts, and return a question about a part, without its loss."""
    dataset = running.curator.dataset("clinic")
    wards = table("visits").partition("ward", {"heart": ["heart"], "skin": ["skin"]}).open(public_view(dataset))
    words = write_words({"partition": wards}, dataset)
    assert ask(running, "POST", f"{SET}/conversations", conversation("talk"), who)[0] == 200
    assert ask(running, "POST", f"{SET}/parts", {"name": "parts", "words": {**words, "epsilon": 1}}, who)[0] == 200
    asked_about = query_of_part(wards, "heart", lambda rows: rows.count())
    return {"partition": words, "question": write_words({"label": "heart", "question": asked_about}, dataset)}


def test_refusals_by_public_facts_keep_nobody_waiting(running: Running, held: Held) -> None:
    who = bearer(running.token("refused at once"))
    words = opened(running, who)
    assert held.times == 2  # what was paid for keeps its time
    held.times = 0
    for path, body in (
        ("conversations", conversation("dear", epsilon=100)),
        ("conversations", conversation("odd", columns=["nothing"])),
        ("conversations", conversation("odd", epsilon=None)),
        ("conversations", conversation(3)),
        ("conversations", conversation("talk", epsilon=2)),
        ("conversations/nowhere/questions", {"questions": ["ward = 'skin'"]}),
        ("conversations/talk/questions", {"questions": ["waited > 3"]}),
        ("parts", {"name": "dear", "words": {**words["partition"], "epsilon": 100}}),
        ("parts/parts/questions", {"words": {**words["question"], "epsilon": 3}}),
        ("parts/nowhere/questions", {"words": {**words["question"], "epsilon": 1}}),
        ("streams", {"name": "ticks", "words": {"query": COUNT, "epsilon": 1}}),
        ("streams/nowhere/ticks", {}),
        ("releases", release(100)),
    ):
        status, _, content = ask(running, "POST", f"{SET}/{path}", body, who)
        assert (status // 100, held.times) == (4, 0), (path, content)
    for path, body in (
        ("conversations/talk/questions", {"questions": ["ward = 'skin'"]}),
        ("parts/parts/questions", {"words": {**words["question"], "epsilon": {"number": "1/2"}}}),
        ("releases", release()),
    ):
        held.times = 0
        assert (ask(running, "POST", f"{SET}/{path}", body, who)[0], held.times) == (200, 1)


@pytest.mark.parametrize(
    ("is_read", "error"),
    [(True, InvalidParameter("questions", "x", "y")), (False, EngineFailure()), (False, ZeroDivisionError())],
)
def test_whatever_may_follow_from_rows_keeps_its_time(
    running: Running, held: Held, monkeypatch: pytest.MonkeyPatch, is_read: bool, error: Exception
) -> None:
    def fail(*_: Any) -> Any:
        if is_read:
            notice_private()
        raise error

    who = bearer(running.token("held back"))
    monkeypatch.setattr(running.service.desk, "go_on", fail)
    monkeypatch.setattr(running.service.desk, "release", fail)
    for path in ("conversations/talk/questions", "releases"):
        held.times = 0
        assert ask(running, "POST", f"{SET}/{path}", release(), who)[0] >= 400
        assert held.times == 1


def test_who_has_waited_for_somebody_else_is_not_told_when_that_was(
    running: Running, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Taken:
        def acquire(self, *, blocking: bool = True) -> bool:
            return blocking

        def release(self) -> None:
            pass

    who = bearer(running.token("in turn"))
    assert ask(running, "POST", f"{SET}/conversations", conversation("odd", columns=["nothing"]), who)[0] == 400
    assert held.times == 0
    monkeypatch.setattr(running.service.desk, "_turns", (Taken(),))
    assert ask(running, "POST", f"{SET}/conversations", conversation("odd", columns=["nothing"]), who)[0] == 400
    assert held.times == 1
