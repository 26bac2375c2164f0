"""A client tries again for as long as a service takes to start anew, where that changes nothing; then it says so."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from dither.cli.exits import FAILED, code_of
from dither.curator.people import Scope
from dither.privacy import PureDP
from dither.service import transport as module
from dither.service.client import connect
from dither.service.routes import ROUTES
from dither.service.transport import NotLetIn, Reply, ServiceUnreachable, Transport, _NotConnected
from tests.service.conftest import Running

DONE = Reply(200, {}, json.dumps({"done": True}).encode())
BUSY = Reply(503, {"retry-after": "5"}, json.dumps({"title": "Stopping", "detail": "it stops"}).encode())
REFUSED, LOST = _NotConnected(), http.client.RemoteDisconnected()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock of its own, which only pauses move on."""
    slept: list[float] = []
    clock = SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append)
    monkeypatch.setattr(module, "time", clock)
    return slept


class Scripted(Transport):
    """Answers as it is told, one after the other, and the last for ever."""

    def __init__(self, *outcomes: Reply | Exception) -> None:
        super().__init__("http://127.0.0.1:1", "token")
        self.outcomes, self.asked = list(outcomes), 0

    def _once(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str | bytes]) -> Reply:
        found = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        self.asked += 1
        if isinstance(found, Reply):
            return found
        raise found


def test_a_service_that_is_gone_is_tried_for_ten_seconds(pauses: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(ServiceUnreachable, match=r"nothing listens at .* tried for 10 seconds") as caught:
        Transport(f"http://127.0.0.1:{port}", "token").get("v1", "me")
    assert caught.value.__cause__ is None
    assert code_of(caught.value) == FAILED
    assert pauses == sorted(pauses)
    assert 8 < sum(pauses) <= 10


@pytest.mark.parametrize(
    "outcomes",
    [[LOST, *[REFUSED] * 6, DONE], [BUSY, *[REFUSED] * 4, DONE], [BUSY, BUSY, DONE]],
    ids=["a restart", "one that was announced", "no time"],
)
def test_what_may_be_asked_again_is_answered_once_the_service_is_there(outcomes: Any, pauses: list[float]) -> None:
    for ask in (
        lambda one: one.get("v1", "me"),
        lambda one: one.post("v1", "datasets", "clinic", "releases", body={}, key="k"),
    ):
        transport = Scripted(*outcomes)
        assert ask(transport).json() == {"done": True}
        assert transport.asked == len(outcomes)
        # It was away for longer than a restart takes.
        assert 5 <= sum(pauses) <= 10
        pauses.clear()


def test_a_decision_is_sent_once(pauses: list[float]) -> None:
    for decide in (
        lambda one: one.delete("/v1/datasets/clinic/grants/ana"),
        lambda one: one.post("v1", "approvals", "3", body={}),
    ):
        assert decide(Scripted(REFUSED, BUSY, DONE)).json() == {"done": True}
        lost = Scripted(REFUSED, LOST, DONE)
        with pytest.raises(ServiceUnreachable, match="look whether it was done"):
            decide(lost)
        assert lost.asked == 2


def test_all_but_decisions_and_sign_ins_may_be_asked_again() -> None:
    sent = [route for route in ROUTES if route.method == "POST"]
    again = {route.name for route in sent if route.path.rpartition("/")[2] in module._AGAIN}
    assert again == {route.name for route in sent if route.scope is not Scope.DECIDE} - {"login"}


def test_a_certificate_that_is_wrong_is_said_at_once(pauses: list[float]) -> None:
    wrong = _NotConnected()
    wrong.__cause__ = ssl.SSLCertVerificationError(1, "certificate verify failed: unable to get local issuer")
    with pytest.raises(ServiceUnreachable, match="verify failed"):
        Scripted(wrong, DONE).get("v1", "me")
    assert not pauses


def test_a_connection_that_has_ended_meanwhile_is_made_anew(running: Running, pauses: list[float]) -> None:
    boss = connect(running.url, running.token("decides", "curator", quota=None))
    running.people.add("waits", "analyst")

    def ends() -> None:
        boss._transport._here.connection.sock.shutdown(socket.SHUT_RDWR)

    assert boss.grant("waits", "clinic", PureDP(1)).quota == PureDP(1)
    ends()
    assert "waits" in [one.grant.person for one in boss.grants("clinic")]
    ends()
    boss.end_grant("waits", "clinic")
    assert "waits" not in [one.grant.person for one in boss.grants("clinic")]


def test_who_is_not_let_in_is_told_so(running: Running) -> None:
    with pytest.raises(NotLetIn, match="unknown, revoked or expired"):
        connect(running.url, "dither_0000000000000000_" + "x" * 43).datasets()
