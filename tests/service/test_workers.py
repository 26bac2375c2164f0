"""Several processes that serve one folder: one debit for one key, whoever dies; what stops, stops cleanly."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

pytest.importorskip("uvicorn", reason="the extra 'service' is not installed")

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from dither.cli.app import app
from dither.curator.folder import Curator
from dither.errors import InvalidParameter
from dither.privacy import PureDP
from dither.service import starting
from dither.service.client import connect
from dither.service.settings import Settings
from dither.service.sign_in import SECONDS, Link, SharedLink
from dither.service.starting import check_start, in_use
from dither.service.workers import _Member
from tests.service.conftest import Running
from tools.faults.served import COUNT, EACH, Served, made

CALLERS = 16


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path, str]]:
    if not Path("/proc/self/task").is_dir():
        pytest.skip("the processes of a service are found in /proc")
    folder = tmp_path_factory.mktemp("shared")
    token = made(folder, "1")
    running = Served(folder, workers=2)
    running.start()
    try:
        yield running, folder, token
        assert running.end() == 0
    finally:
        running.kill()


def fetched(url: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=30)
    try:
        connection.request("GET", urlsplit(url).path)
        return connection.getresponse().status
    finally:
        connection.close()


def test_callers_of_one_key_are_debited_once_over_all_workers(served: tuple[Served, Path, str]) -> None:
    running, folder, token = served
    answers: list[str] = []

    def ask() -> None:
        answers.append(connect(running.url, token).session("clinic").sql(COUNT, epsilon=EACH, key="one").to_stored())

    threads = [threading.Thread(target=ask) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == CALLERS
    assert len(set(answers)) == 1
    with Curator.open(folder / "home", anchors=folder / "anchors") as curator:
        balance = curator.ledger.balance("clinic", "ana")
    assert (balance.releases, balance.sealed, balance.spent) == (1, 0, PureDP(EACH))


def test_a_worker_that_is_killed_is_replaced_and_the_link_works_once(served: tuple[Served, Path, str]) -> None:
    running, folder, token = served
    first = connect(running.url, token).session("clinic").sql(COUNT, epsilon=EACH, key="two").to_stored()
    killed = running.workers()[0]
    os.kill(killed, 9)
    assert connect(running.url, token).session("clinic").sql(COUNT, epsilon=EACH, key="two").to_stored() == first
    while killed in running.workers() or len(running.workers()) < 2:
        assert running.seconds_to_answer() < 60
    assert sorted(fetched(running.link) for _ in range(4)) == [200, 410, 410, 410]
    assert not list((folder / "home").glob("link*"))


def test_each_link_is_used_up_by_itself_whoever_else_serves_the_folder(running: Running, tmp_path: Path) -> None:
    first = SharedLink.made(tmp_path)
    # A worker of the first service, and then another one, after a second service has begun.
    assert Link(running.people, first).token(first.code) is not None
    second = SharedLink.made(tmp_path)
    assert Link(running.people, first).token(first.code) is None
    assert second.mark.stat().st_mode & 0o777 == 0o600
    assert second.code not in second.mark.name
    # The first service stops, and the link of the second works on: once.
    assert not first.spend()
    tokens = [Link(running.people, second).token(second.code) for _ in range(3)]
    assert [token is None for token in tokens] == [False, True, True]
    assert list(tmp_path.iterdir()) == []


def test_no_mark_of_a_link_stays_longer_than_it(running: Running, tmp_path: Path) -> None:
    late, kept, left = (SharedLink.made(tmp_path) for _ in range(3))
    assert Link(running.people, late, clock=lambda: late.ends + 1).token(late.code) is None
    kept.expire(kept.ends)
    assert kept.mark.exists()
    kept.expire(kept.ends + 1)
    # Of a service that was killed: whoever starts next removes it.
    long_ago = left.mark.stat().st_mtime - SECONDS - 1
    os.utime(left.mark, (long_ago, long_ago))
    new = SharedLink.made(tmp_path)
    assert list(tmp_path.iterdir()) == [new.mark]


@pytest.mark.parametrize("takes_requests", [True, False])
def test_only_workers_that_never_took_requests_are_started_later_and_later(
    takes_requests: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dead:
        """A process that may say that it takes requests, and is killed."""

        stdin = None

        def __init__(self, _words: list[str], *, stdin: int, pass_fds: tuple[int, ...]) -> None:
            begun.append(stdin)
            if takes_requests:
                os.write(pass_fds[-1], b".")

        def poll(self) -> int:
            return -9

    begun: list[int] = []
    now = [0.0]
    monkeypatch.setattr("dither.service.workers.subprocess.Popen", Dead)
    monkeypatch.setattr("dither.service.workers.time.monotonic", lambda: now[0])
    member = _Member(0, lambda number: ({"number": number}, ()))
    member.start()
    for _ in range(40):
        now[0] += 0.1
        member.look_after()
    member._let_go()
    # Every second look, against waits of 0.2, 0.4, 0.8, 1.6 and more seconds.
    assert len(begun) > 15 if takes_requests else 3 <= len(begun) <= 6


def test_settings_are_printed_or_refused_by_check(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["serve", "--check", "--json", "--home", str(running.curator.folder)]
    found = CliRunner().invoke(app, [*words, "--workers", "3"], catch_exceptions=False)
    assert (found.exit_code, json.loads(found.stdout)["workers"]) == (0, 3)
    monkeypatch.setenv("DITHER_SERVICE_COLOUR", "red")
    found = CliRunner().invoke(app, words, catch_exceptions=False)
    assert (found.exit_code, json.loads(found.stdout)["error"]["kind"]) == (1, "InvalidParameter")
    monkeypatch.delenv("DITHER_SERVICE_COLOUR")
    monkeypatch.setenv("DITHER_SERVICE_WORKERS", "0")
    assert CliRunner().invoke(app, words, catch_exceptions=False).exit_code == 1


SECRETLESS = """service:
  address: https://dither.example
  oidc issuer: https://login.example
  oidc client: dither
  oidc secret: HERE/nowhere
"""
#: What stands in dither.yaml beside its version, and what must be said of it: the setting, and a word of the fix.
WRONG = {
    "service: 5": ("service", "settings by name"),
    "service:": ("service", "omitted"),
    "servce: {port: 1}": ("servce", "write 'service'"),
    "ledger: 5": ("ledger", "such as ledger.db"),
    "service: {prot: 1}": ("prot", "write 'port'"),
    "service: {certificate: HERE/nowhere, key: HERE/key}": ("certificate", "put it there"),
    "service: {certificate: HERE/certificate, key: HERE/nowhere}": ("key", "put it there"),
    "service: {certificate: HERE, key: HERE/key}": ("certificate", "put it there"),
    "service: {certificate: HERE/certificate, key: HERE/open}": ("key", "chmod 600"),
    "service: {certificate: HERE/certificate, key: HERE/other}": ("certificate", "belongs to it"),
    "service: {certificate: HERE/certificate, key: HERE/locked}": ("certificate", "without a password"),
    "service: {host: no-such-host.invalid, proxy: nginx}": ("host", "such as 127.0.0.1"),
    "service: {host: 192.0.2.1, proxy: nginx}": ("host", "such as 127.0.0.1"),
    SECRETLESS: ("oidc_secret", "leave the setting out"),
}


def tls_files(folder: Path) -> None:
    """Write a certificate and its key, the key for others to read, under a password, and another one."""
    key, other = (ed25519.Ed25519PrivateKey.generate() for _ in range(2))
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "dither.example")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    made = made.serial_number(1).not_valid_before(begun).not_valid_after(begun + timedelta(days=1))
    (folder / "certificate").write_bytes(made.sign(key, None).public_bytes(Encoding.PEM))
    locked = BestAvailableEncryption(b"password")
    for file, secret, how in (
        ("key", key, NoEncryption()),
        ("open", key, NoEncryption()),
        ("other", other, NoEncryption()),
        ("locked", key, locked),
    ):
        (folder / file).write_bytes(secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how))
        (folder / file).chmod(0o644 if file == "open" else 0o600)


def test_check_says_no_to_every_setting_that_no_service_could_start_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("DITHER_ANCHORS", str(tmp_path / "anchors"))
    Curator.create(home).close()
    tls_files(tmp_path)
    words = ["serve", "--check", "--json", "--home", str(home)]
    real = socket.getaddrinfo

    def found_here(host: str, *rest: Any, **more: Any) -> Any:
        """Ask no server of names, which may take its time to say no."""
        if host.endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return real(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", found_here)

    def said(text: str) -> tuple[int, str]:
        (home / "dither.yaml").write_text(f"version: 1\n{text.replace('HERE', str(tmp_path))}\n")
        found = CliRunner().invoke(app, words, catch_exceptions=False)
        return found.exit_code, " ".join(found.stdout.split())

    for text, (setting, fix) in WRONG.items():
        code, told = said(text)
        assert (code, '"exit_code": 1' in told, setting in told, fix in told) == (1, True, True, True), told
    code, told = said("service: {host: localhost, certificate: HERE/certificate, key: HERE/key}")
    assert code == 0, told


def test_a_folder_is_served_by_one_version_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with in_use(tmp_path), in_use(tmp_path):
        monkeypatch.setattr(starting, "dither", SimpleNamespace(__version__="another"))
        with pytest.raises(InvalidParameter, match="stop the service"), in_use(tmp_path):
            raise AssertionError
    with in_use(tmp_path):
        pass


def test_a_service_does_not_start_with_what_others_can_read(
    running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starting, "sys", SimpleNamespace(modules={}))
    folder = running.curator.folder
    check_start(running.curator)
    certificate, key = tmp_path / "certificate", tmp_path / "key"
    tls_files(tmp_path)
    key.chmod(0o644)
    tls = Settings(certificate=str(certificate), key=str(key))
    with pytest.raises(InvalidParameter, match="chmod 600"):
        check_start(running.curator, tls)
    key.chmod(0o600)
    check_start(running.curator, tls)
    with pytest.raises(InvalidParameter, match="can be read"):
        check_start(running.curator, Settings(certificate=str(tmp_path / "nowhere"), key=str(key)))
    signing = folder / "receipts" / "key"
    signing.chmod(0o644)
    with pytest.raises(InvalidParameter, match="chmod 600"):
        check_start(running.curator)
    signing.chmod(0o600)
    folder.chmod(0o750)
    with pytest.raises(InvalidParameter, match="chmod 700"):
        check_start(running.curator)
    folder.chmod(0o700)
    monkeypatch.setattr(starting, "sys", SimpleNamespace(modules={"dither.testing": None}))
    with pytest.raises(InvalidParameter, match="foreseen: start in a process that does not import it"):
        check_start(running.curator)


def test_a_service_is_not_ready_behind_its_anchor(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = running.service.desk
    assert desk.ready()
    monkeypatch.setattr(running.curator.ledger, "contradiction", lambda: "entry 9 is gone")
    assert not desk.ready()
    monkeypatch.undo()
    monkeypatch.setattr(running.curator.ledger._anchor, "read", lambda: (_ for _ in ()).throw(OSError(5, "broken")))
    assert not desk.ready()
