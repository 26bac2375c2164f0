"""How a service is run: what it tells those who watch it, and the files with which it is set up."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from dither.errors import DitherError
from dither.service.metrics import BOUNDS, Metrics, MetricsServer, shared_memory
from dither.service.routes import ROUTES
from dither.service.workers import listening
from tests.service.conftest import Running
from tests.service.test_door import COUNT, ask, bearer

DEPLOY = Path(__file__).parents[2] / "deploy"
CANARY = "kanarienvogel"


def parsed(text: str) -> dict[str, float]:
    """Return the samples of a text, each of which stands below the type of its family."""
    found, family = {}, ""
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            family = line.split()[2]
        elif not line.startswith("#"):
            sample, _, value = line.rpartition(" ")
            assert sample.startswith(family)
            assert sample not in found
            assert re.fullmatch(r'[a-z_]+(\{[a-z]+="[^"\\]*"(,[a-z]+="[^"\\]*")*\})?', sample)
            found[sample] = float(value)
    return found


def test_a_port_that_is_taken_is_named_with_another(running: Running) -> None:
    port = int(running.url.rsplit(":", 1)[1])
    with pytest.raises(DitherError, match=f"port {port} .*--port {port + 1}"):
        listening("127.0.0.1", port)
    # Of a socket that is not named as TCP every small reply would wait for 40 milliseconds.
    with listening("127.0.0.1", 0) as place:
        assert place.proto == socket.IPPROTO_TCP


def test_requests_are_counted_in_every_worker_and_added_up() -> None:
    handle = shared_memory(2)
    try:
        one, other = (Metrics(2, number, handle) for number in range(2))
        one.count("release", 200, 0.1)
        other.count("release", 200, 0.4)
        other.count("release", 418, 1e9)
        other.count_answer(is_new=True)
        other.set_waiting(3)
        found = parsed(one.text())
    finally:
        os.close(handle)
    assert found['dither_requests_total{route="release",code="200"}'] == 2
    assert found['dither_requests_total{route="release",code="other"}'] == 1
    buckets = [found[f'dither_request_seconds_bucket{{route="release",le="{bound}"}}'] for bound in BOUNDS]
    assert buckets[:5] == [0, 1, 1, 2, 2]
    assert found['dither_request_seconds_bucket{route="release",le="+Inf"}'] == 3
    assert found['dither_request_seconds_count{route="release"}'] == 3
    assert found['dither_answers_total{kind="new"}'] == 1
    assert found["dither_releases_waiting"] == 3


def test_numbers_are_told_to_prometheus_at_a_port_of_their_own(running: Running) -> None:
    ask(running, "GET", "/healthz")
    server = MetricsServer(running.service.metrics, 0)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics") as reply:
            text = reply.read().decode()
    finally:
        server.close()
    found = parsed(text)
    assert found['dither_requests_total{route="health",code="200"}'] >= 1
    counted = {sample.split('"')[1] for sample in found if sample.startswith("dither_request_seconds_count")}
    assert counted == {route.name for route in ROUTES}
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool, which reads the text as Prometheus would, is not installed")
    subprocess.run([program, "check", "metrics"], input=text, text=True, check=True)


def test_a_canary_in_texts_literals_paths_and_headers_is_written_nowhere(running: Running) -> None:
    token = running.token("canaries")
    headers = bearer(token) | {"X-Canary": CANARY, "User-Agent": CANARY, "Referer": CANARY, "Cookie": f"a={CANARY}"}
    bodies: list[Any] = [
        {"verb": "sql", "words": {"text": COUNT.replace("GROUP", f"WHERE ward = '{CANARY}' GROUP"), "epsilon": 1}},
        {"verb": "sql", "words": {"text": COUNT.replace("ward", CANARY), "epsilon": 1}},
        {"verb": CANARY, "words": {}},
        {CANARY: 1},
        CANARY.encode(),
    ]
    for body in bodies:
        for path in ("releases", "quotes"):
            for dataset in ("clinic", CANARY):
                ask(running, "POST", f"/v1/datasets/{dataset}/{path}", body, headers | {"Idempotency-Key": CANARY})
    for path in (
        f"/v1/datasets/{CANARY}/card",
        f"/v1/datasets/clinic/releases/{CANARY}",
        f"/{CANARY}",
        f"/v1/me?{CANARY}",
    ):
        ask(running, "GET", path, None, headers)
        ask(running, "GET", path, None, {"Authorization": f"Bearer {CANARY}"})
    written = running.log.getvalue() + running.service.metrics.text()
    assert '"person": "canaries"' in written
    assert CANARY not in written
    assert token not in written


def test_a_line_says_what_was_asked_by_its_digest_and_what_it_cost(running: Running) -> None:
    token = running.token("lines")
    body = {"verb": "sql", "words": {"text": COUNT, "epsilon": 1}}
    for _ in range(2):
        ask(running, "POST", "/v1/datasets/clinic/releases", body, bearer(token))
    lines = [json.loads(line) for line in running.log.getvalue().splitlines()]
    first, again = [line for line in lines if line["person"] == "lines"]
    assert (first["verb"], first["dataset"], first["charge"], first["status"]) == ("sql", "clinic", "epsilon = 1", 200)
    assert len(first["digest"]) == 64
    assert (again["digest"], again["entry"], "charge" in again) == (first["digest"], first["entry"], False)
    assert all(line["seconds"] in BOUNDS for line in lines)


def test_posts_that_other_sites_make_a_browser_send_are_refused(running: Running) -> None:
    token, host = running.token("browser"), urlsplit(running.url).netloc
    body = {"loss": {"kind": "pure", "epsilon": "1"}}
    cases: list[tuple[dict[str, str], int]] = [
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Origin": f"http://{host}"}, 403),
        ({"Origin": "https://elsewhere.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
        ({"Origin": f"http://{host}:1"}, 403),
        ({"Origin": f"http://{host}"}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Origin": f"http://{host}"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({}, 200),
    ]
    for headers, status in cases:
        assert ask(running, "POST", "/v1/datasets/clinic/room", body, bearer(token) | headers)[0] == status, headers


def test_the_unit_is_accepted_and_exposes_little(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / "dither.service"
    # The program is not where the unit has it, on this machine.
    unit.write_text(
        (DEPLOY / "dither.service").read_text().replace("/opt/dither/bin/dither", shutil.which("true") or "")
    )
    verified = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True)
    if "Failed to initialize manager" in verified.stderr:
        pytest.skip("systemd cannot be asked here")
    assert (verified.returncode, verified.stderr) == (0, "")
    said = subprocess.run([program, "security", "--offline=true", str(unit)], capture_output=True, text=True).stdout
    level = re.search(r"exposure level for dither\.service: ([0-9.]+)", said)
    assert level is not None
    assert float(level[1]) <= 2.0


def certificate(folder: Path) -> None:
    """Write a certificate of this machine, and its key."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")]), datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
    signed = made.add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False).sign(
        key, hashes.SHA256()
    )
    (folder / "certificate.pem").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_real_nginx_takes_the_file_and_hands_requests_on(running: Running, tmp_path: Path) -> None:
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    certificate(tmp_path)
    port = free_port()
    text = (DEPLOY / "nginx.conf").read_text()
    for old, new in (
        ("127.0.0.1:8077", urlsplit(running.url).netloc),
        ("listen 443", f"listen 127.0.0.1:{port}"),
        ("dither.example.org", "localhost"),
        ("/etc/ssl/dither", str(tmp_path)),
    ):
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "dither.conf").write_text(text)
    places = "".join(
        f"{name}_temp_path {tmp_path}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    main = f"pid {tmp_path}/pid; error_log {tmp_path}/errors; events {{}} http {{ {places} include dither.conf; }}"
    (tmp_path / "nginx.conf").write_text(main)
    command = [program, "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "errors")]
    subprocess.run([*command, "-t"], check=True, capture_output=True)
    server = subprocess.Popen([*command, "-g", "daemon off;"], stderr=subprocess.DEVNULL)
    try:
        context = ssl.create_default_context(cafile=str(tmp_path / "certificate.pem"))
        token = running.token("proxied")

        def through(method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes, Any]:
            connection = http.client.HTTPSConnection("localhost", port, timeout=30, context=context)
            try:
                connection.request(method, path, body, headers | bearer(token))
                reply = connection.getresponse()
                return reply.status, reply.read(), reply.headers
            finally:
                connection.close()

        for _ in range(1000):
            try:
                status, _, headers = through("GET", "/healthz")
                break
            except ConnectionRefusedError:
                assert server.poll() is None
        assert (status, "nginx/" in (headers["Server"] or "")) == (200, False)
        assert headers["Strict-Transport-Security"] == "max-age=31536000"
        body = json.dumps({"verb": "sql", "words": {"text": COUNT, "epsilon": 1}}).encode()
        first, again = (through("POST", "/v1/datasets/clinic/releases", body) for _ in range(2))
        assert first[0] == 200
        assert first[:2] == again[:2]
        assert through("POST", "/v1/datasets/clinic/releases", b" " * (2**20 + 1))[0] == 413
        assert through("POST", "/v1/datasets/clinic/room", b"{}", Origin="https://localhost:1")[0] == 403
        assert through("GET", "/v1/me", None, X="y" * 40_000)[0] in (400, 431)
    finally:
        server.terminate()
        server.wait()
