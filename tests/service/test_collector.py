"""A collector over HTTP: everybody gets one reply, nothing acknowledged is lost, and nothing counts twice."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from dither.errors import InvalidParameter
from dither.local.domains import Categories
from dither.local.frequencies import KaryResponse
from dither.privacy import PureDP
from dither.service.collector import LARGEST_BODY, Collector, Limits
from dither.service.report_store import ReportStore
from dither.testing.devices import simulated_reports

_DOMAIN = Categories(("red", "green", "other"), "other")
_DOCUMENT = KaryResponse.calibrated(PureDP(1), categories=3).document("Which <colour>?", _DOMAIN)
_OTHER = KaryResponse.calibrated(PureDP(2), categories=3).document("Which?", _DOMAIN)


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    with ReportStore(tmp_path / "some.reports", _DOCUMENT) as store:
        made = Collector(store, limits=Limits(per_second=0.001, burst=12))
        thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield made
        made.shutdown()
        thread.join()
        made.close()


def _ask(collector: Collector, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes, dict[str, str]]:
    link = http.client.HTTPConnection("127.0.0.1", collector.server_address[1], timeout=20)
    link.request(method, path, body)
    answer = link.getresponse()
    found = answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
    link.close()
    return found


def test_all_that_post_get_one_reply(collector: Collector) -> None:
    mine, others = simulated_reports(_DOCUMENT, ["red"] * 3), simulated_reports(_OTHER, ["red"])
    bodies = [mine[0], mine[0], others[0], "nonsense", "", "\n".join([*mine[1:], "?"]), "\xe9\0" * 99]
    replies = {_ask(collector, "POST", "/reports", body.encode())[:2] for body in bodies}
    assert replies == {(202, b'{"received":true}\n')}
    assert dict(collector.store.dropped()) == {"malformed": 3, "foreign": 1, "repeated": 1}
    assert collector.store.estimator().reports == 3


def test_sizes_and_paces_are_limited(collector: Collector) -> None:
    assert _ask(collector, "POST", "/reports", b"a" * (LARGEST_BODY + 1))[0] == 413
    assert _ask(collector, "POST", "/elsewhere", b"a")[0] == 404
    found = [_ask(collector, "POST", "/reports", b"a")[0] for _ in range(14)]
    assert found == [202] * 12 + [429] * 2
    with socket.create_connection(collector.server_address[:2], timeout=20) as link:  # type: ignore[arg-type]
        link.sendall(b"POST /reports HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert link.recv(100).startswith(b"HTTP/1.1 411")


@contextlib.contextmanager
def _serving(store: ReportStore, limits: Limits) -> Iterator[Collector]:
    made = Collector(store, limits=limits)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        thread.join()
        made.close()


@pytest.mark.parametrize("sent", [b"G", b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n"])
def test_a_request_that_trickles_in_ends_at_its_deadline(tmp_path: Path, sent: bytes) -> None:
    """Each byte would have begun another wait: only a closed connection ends the loop."""
    with ReportStore(tmp_path / "some.reports", _DOCUMENT) as store, _serving(store, Limits(seconds=0.2)) as collector:
        with socket.create_connection(collector.server_address[:2], timeout=0.02) as link:  # type: ignore[arg-type]
            link.sendall(sent)
            for _ in range(1500):
                try:
                    link.sendall(b"x")
                    if link.recv(1) == b"":
                        break
                except TimeoutError:
                    continue
                except OSError:
                    break
            else:
                pytest.fail("the connection is still open")
        assert _ask(collector, "GET", "/survey.json")[0] == 200


def test_one_address_has_few_connections(tmp_path: Path) -> None:
    limits = Limits(at_once=2, seconds=60)
    with ReportStore(tmp_path / "some.reports", _DOCUMENT) as store, _serving(store, limits) as collector:
        place = collector.server_address[:2]
        with contextlib.ExitStack() as stack:
            links = [stack.enter_context(socket.create_connection(place, timeout=20)) for _ in range(3)]  # type: ignore[arg-type]
            # The third is closed without a word; the two before are still served.
            assert links[2].recv(1) == b""
            for link in links[:2]:
                link.sendall(b"GET /survey.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                assert link.recv(12) == b"HTTP/1.1 200"
        # What is closed counts no longer.
        for _ in range(500):
            with contextlib.suppress(OSError, http.client.HTTPException):
                assert _ask(collector, "GET", "/survey.json")[0] == 200
                break
        else:
            pytest.fail("closed connections still count")


def test_it_serves_the_document_and_a_page_that_asks(collector: Collector) -> None:
    status, body, headers = _ask(collector, "GET", "/survey.json")
    assert (status, body.decode()) == (200, _DOCUMENT.text)
    status, body, headers = _ask(collector, "GET", "/")
    assert b"Which &lt;colour&gt;?" in body
    assert "script-src 'self'" in headers["content-security-policy"]
    for script in ("/dither-client.js", "/survey-page.js"):
        status, body, headers = _ask(collector, "GET", script)
        assert (status, headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert _ask(collector, "GET", "/../some.reports")[0] == 404


def test_a_full_disk_acknowledges_nothing(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    report = simulated_reports(_DOCUMENT, ["red"])[0].encode()

    def full(_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(collector.store, "add", full)
        assert _ask(collector, "POST", "/reports", report)[0] == 503
    assert _ask(collector, "POST", "/reports", report)[0] == 202
    assert collector.store.estimator().reports == 1


def test_a_file_of_another_survey_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.reports"
    ReportStore(path, _DOCUMENT).close()
    with pytest.raises(InvalidParameter, match="this survey"):
        ReportStore(path, _OTHER)
    (tmp_path / "text").write_text("no database, and longer than a header of one would be" * 30)
    with pytest.raises(InvalidParameter, match="reports"):
        ReportStore(tmp_path / "text", _DOCUMENT)


def test_a_failed_transaction_counts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = simulated_reports(_DOCUMENT, ["red"] * 5)
    with ReportStore(tmp_path / "some.reports", _DOCUMENT) as store:
        judge = store._gate.judge

        def broken(given: object) -> object:
            return [*judge(given)[:3], None]  # type: ignore[arg-type]

        with monkeypatch.context() as patched:
            patched.setattr(store._gate, "judge", broken)
            with pytest.raises(TypeError):
                store.add(texts)
        assert store.estimator().reports == 0
        store.add(texts)
        assert store.estimator().reports == 5


def test_a_killed_collector_loses_nothing_it_has_acknowledged(tmp_path: Path) -> None:
    survey, path = tmp_path / "some.json", tmp_path / "some.reports"
    survey.write_text(_DOCUMENT.text)
    texts = simulated_reports(_DOCUMENT, ["red"] * 120)
    words = [sys.executable, "-m", "dither", "collect", str(survey), "--port", "0", "--json", "--rate", "100000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ}) as process:
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1] != "}\n":
            lines.append(process.stdout.readline())
        port = int(json.loads("".join(lines))["address"].rpartition(":")[2])
        acknowledged: list[str] = []

        def post(mine: list[str]) -> None:
            with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as link:
                for text in mine:
                    try:
                        link.request("POST", "/reports", text.encode())
                        answer = link.getresponse()
                        answer.read()
                    except (OSError, http.client.HTTPException):
                        return
                    if answer.status == 202:
                        acknowledged.append(text)
                    # Two threads may pass 40 together.
                    if len(acknowledged) >= 40:
                        process.send_signal(signal.SIGKILL)

        threads = [threading.Thread(target=post, args=(texts[start::4],)) for start in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert 40 <= len(acknowledged) < 120
    with ReportStore(path, _DOCUMENT) as store:
        stored = store.estimator().reports
        assert stored >= len(acknowledged)
        # Everything is sent again, as clients that saw no reply do.
        store.add(texts)
        assert store.estimator().reports == 120
        assert store.dropped()["repeated"] == stored
