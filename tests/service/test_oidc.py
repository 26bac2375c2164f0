"""Who an issuer says somebody is: believed when all of it is as it must be, and not otherwise."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
from typer.testing import CliRunner

pytest.importorskip("joserfc", reason="the extra 'oidc' is not installed")

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet, OctKey

from dither.cli.app import app
from dither.errors import DitherError, InvalidParameter
from dither.service.kept import keep_token, kept_token
from dither.service.login import LoginFailed, log_in
from dither.service.oidc import OLDEST, SKEW, Issuer, NotSigned
from dither.service.settings import Settings
from tests.service.conftest import Running
from tests.service.test_door import ask, bearer

CLIENT = "dither at the clinic"
KEY = ECKey.generate_key("P-256", parameters={"kid": "one"})
OTHER = ECKey.generate_key("P-256", parameters={"kid": "one"})
NOW = 1_800_000_000


def signed(claims: Mapping[str, Any], key: Any = KEY, algorithm: str = "ES256") -> str:
    return jwt.encode({"alg": algorithm, "kid": "one"}, dict(claims), key)


def unsigned(claims: Mapping[str, Any]) -> str:
    parts = (json.dumps({"alg": "none"}), json.dumps(claims))
    return ".".join(base64.urlsafe_b64encode(part.encode()).rstrip(b"=").decode() for part in parts) + "."


def told(address: str) -> dict[str, Any]:
    names = ("authorization", "token", "device_authorization")
    ends = {f"{name}_endpoint": f"{address}/{name}" for name in names}
    return {"issuer": address, "jwks_uri": f"{address}/keys", **ends}


PLACE = "https://login.example"
CLAIMS = {"iss": PLACE, "aud": CLIENT, "sub": "s-1", "iat": NOW, "exp": NOW + 300, "nonce": "n"}


def issuer(fetch: Any = None, now: float = NOW) -> Issuer:
    def fetched(address: str, _form: Any) -> Any:
        return told(PLACE) if address.endswith("configuration") else KeySet([KEY]).as_dict(private=False)

    return Issuer(PLACE, CLIENT, fetch=fetch or fetched, clock=lambda: now)


def test_a_token_that_is_all_it_must_be_names_its_subject() -> None:
    assert issuer().subject(signed(CLAIMS), "n") == "s-1"
    assert issuer().subject(signed({**CLAIMS, "aud": [CLIENT, "x"], "azp": CLIENT}), "n") == "s-1"
    assert issuer().subject(signed({name: value for name, value in CLAIMS.items() if name != "nonce"}), None) == "s-1"
    assert issuer(now=NOW + 300 + SKEW - 1).subject(signed(CLAIMS), "n") == "s-1"


WRONG: dict[str, Callable[[], str]] = {
    "none": lambda: unsigned(CLAIMS),
    "a key of the same name": lambda: signed(CLAIMS, OTHER),
    "the public key as a secret": lambda: jwt.encode(
        {"alg": "HS256", "kid": "one"}, dict(CLAIMS), OctKey.import_key(json.dumps(KEY.as_dict(private=False)))
    ),
    "another audience": lambda: signed({**CLAIMS, "aud": "another"}),
    "no audience": lambda: signed({name: value for name, value in CLAIMS.items() if name != "aud"}),
    "many audiences": lambda: signed({**CLAIMS, "aud": [CLIENT, "another"]}),
    "handed on by another": lambda: signed({**CLAIMS, "azp": "another"}),
    "another issuer": lambda: signed({**CLAIMS, "iss": "https://login.example.org"}),
    "almost the issuer": lambda: signed({**CLAIMS, "iss": f"{PLACE}/"}),
    "another nonce": lambda: signed({**CLAIMS, "nonce": "m"}),
    "no nonce": lambda: signed({name: value for name, value in CLAIMS.items() if name != "nonce"}),
    "over": lambda: signed({**CLAIMS, "exp": NOW - SKEW}),
    "without an end": lambda: signed({name: value for name, value in CLAIMS.items() if name != "exp"}),
    "an end in words": lambda: signed({**CLAIMS, "exp": "later"}),
    "from tomorrow": lambda: signed({**CLAIMS, "iat": NOW + 86_400}),
    "not yet": lambda: signed({**CLAIMS, "nbf": NOW + 86_400}),
    "nobody": lambda: signed({**CLAIMS, "sub": ""}),
    "a number": lambda: signed({**CLAIMS, "sub": 7}),
    "cut": lambda: signed(CLAIMS)[:-4],
    "other claims": lambda: ".".join(
        [signed(CLAIMS).split(".")[0], signed({**CLAIMS, "sub": "s-2"}).split(".")[1], signed(CLAIMS).split(".")[2]]
    ),
    "no token": lambda: "x.y.z",
    "nothing": lambda: "",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_token_that_is_not_is_refused(name: str) -> None:
    with pytest.raises(NotSigned):
        issuer().subject(WRONG[name](), "n")


PROGRAM = {name: value for name, value in CLAIMS.items() if name != "nonce"} | {"exp": NOW + 86_400}


def test_a_program_shows_a_young_token_without_a_nonce() -> None:
    assert issuer(now=NOW + OLDEST - 1).subject(signed(PROGRAM), None) == "s-1"
    with pytest.raises(NotSigned):
        issuer(now=NOW + OLDEST).subject(signed(PROGRAM), None)
    for nonce in ("n", "", None, 0):
        with pytest.raises(NotSigned):
            issuer().subject(signed({**PROGRAM, "nonce": nonce}), None)


def test_a_token_is_known_by_its_claims_however_it_is_signed_and_written() -> None:
    token = signed(PROGRAM)
    assert issuer().statement(token, None) == issuer().statement(twin(token), None)
    assert issuer().statement(token, None) != issuer().statement(signed({**PROGRAM, "iat": NOW - 1}), None)


def twin(token: str) -> str:
    """Return the same token with the other signature that holds: (r, n - s) for (r, s)."""
    order = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
    head, _, last = token.rpartition(".")
    raw = base64.urlsafe_b64decode(last + "==")
    other = raw[:32] + (order - int.from_bytes(raw[32:], "big")).to_bytes(32, "big")
    return f"{head}.{base64.urlsafe_b64encode(other).rstrip(b'=').decode()}"


def test_an_issuer_that_calls_itself_otherwise_or_is_read_by_others_is_not_asked() -> None:
    with pytest.raises(NotSigned):
        issuer(lambda *_: told("https://other.example")).endpoint("token_endpoint")
    with pytest.raises(NotSigned):
        issuer(lambda *_: {**told(PLACE), "token_endpoint": "http://login.example/token"}).endpoint("token_endpoint")
    for settings in (
        {"oidc_issuer": PLACE},
        {"oidc_issuer": "http://login.example", "oidc_client": "c", "address": "https://d.example"},
        {"oidc_issuer": f"{PLACE}/", "oidc_client": "c", "address": "https://d.example"},
        {"oidc_client": "c"},
    ):
        with pytest.raises(InvalidParameter):
            Settings(**settings)


def test_nobody_is_known_as_curator(running: Running) -> None:
    running.people.add("sub ana", "analyst")
    with pytest.raises(InvalidParameter, match="another than 'curator'"):
        running.people.identify("sub ana", PLACE, "Curat0r")
    with pytest.raises(DitherError):
        running.people.identify("nobody at all", PLACE, "s")


class Provider:
    """An issuer on this machine, at which everybody is let in."""

    def __init__(self) -> None:
        self.subject, self.pending, self.codes = "s-ana", 1, dict[str, dict[str, str]]()
        self.asked, self.answers, self.reached = list[str](), threading.Event(), threading.Semaphore(0)
        self.answers.set()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = urlsplit(self.path)
                if asked.path == "/authorization":
                    self.send_response(302)
                    self.send_header("Location", provider.authorized(dict(parse_qsl(asked.query))))
                    self.end_headers()
                    return
                self._send(told(provider.url) if "well-known" in asked.path else KeySet([KEY]).as_dict(private=False))

            def do_POST(self) -> None:
                provider.asked.append(self.path)
                provider.reached.release()
                assert provider.answers.wait(30)
                form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
                self._send(provider.token(form) if self.path == "/token" else provider.device(form))

            def _send(self, record: Mapping[str, Any]) -> None:
                content = json.dumps(record).encode()
                self.send_response(400 if "error" in record else 200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def authorized(self, asked: dict[str, str]) -> str:
        assert asked["code_challenge_method"] == "S256"
        self.codes["code"] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': 'code', 'state': asked['state']})}"

    def token(self, form: dict[str, str]) -> dict[str, Any]:
        claims = {"iss": self.url, "aud": CLIENT, "sub": self.subject, "iat": time.time(), "exp": time.time() + 300}
        if form["grant_type"].endswith("device_code"):
            self.pending -= 1
            return {"id_token": signed(claims)} if self.pending < 0 else {"error": "authorization_pending"}
        asked = self.codes.pop(form["code"], None)
        digest = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if asked is None or asked["code_challenge"] != digest or asked["redirect_uri"] != form["redirect_uri"]:
            return {"error": "invalid_grant"}
        return {"id_token": signed({**claims, "nonce": asked["nonce"]})}

    def device(self, form: dict[str, str]) -> dict[str, Any]:
        assert form["client_id"] == CLIENT
        return {"device_code": "d", "user_code": "ABCD-EFGH", "verification_uri": f"{self.url}/device", "interval": 1}


@pytest.fixture
def provider(running: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    made = Provider()
    settings = dataclasses.replace(
        running.service.settings, address=running.url, oidc_issuer=made.url, oidc_client=CLIENT
    )
    monkeypatch.setattr(running.service, "settings", settings)
    monkeypatch.setattr(running.service, "_issuer", Issuer.of(settings))
    monkeypatch.setattr(running.service._limits, "admits_stranger", lambda _: True)
    running.people.add("signed ana", "analyst")
    running.people.identify("signed ana", made.url, "s-ana")
    yield made
    made.close()


def cookies(headers: Mapping[str, str]) -> dict[str, str]:
    """Return one cookie by name, with all that is said about it."""
    name, _, rest = headers["set-cookie"].partition("=")
    return {"name": name, "value": rest.split(";")[0], "said": rest.lower()}


def there_and_back(running: Running, provider: Provider) -> tuple[str, str]:
    """Go to the issuer as a browser does; return the cookie and where the issuer sends one back to."""
    status, headers, _ = ask(running, "GET", "/sign-in")
    going = cookies(headers)
    assert (status, going["name"]) == (302, "__Host-dither-going")
    assert all(word in going["said"] for word in ("secure", "httponly", "path=/", "samesite=lax", "max-age=600"))
    place = urlsplit(provider.authorized(dict(parse_qsl(urlsplit(headers["location"]).query))))
    assert place.path == "/signed-in"
    return f"{going['name']}={going['value']}", f"{place.path}?{place.query}"


def test_a_browser_signs_in_at_the_issuer(running: Running, provider: Provider) -> None:
    found = []
    for _ in range(2):
        cookie, back = there_and_back(running, provider)
        status, _, page = ask(running, "GET", back, None, {"Cookie": cookie})
        assert status == 200
        token = page.decode().replace("<wbr>", "").split("<code>")[1].split("</code>")[0]
        assert json.loads(ask(running, "GET", "/v1/me", None, bearer(token))[2])["name"] == "signed ana"
        found.append(token)
        # A code is good once, and a cookie with it.
        assert ask(running, "GET", back, None, {"Cookie": cookie})[0] == 401
    assert found[0] != found[1]


def test_a_sign_in_that_others_began_is_refused(running: Running, provider: Provider) -> None:
    cookie, back = there_and_back(running, provider)
    other, _ = there_and_back(running, provider)
    state = parse_qs(urlsplit(back).query)["state"][0]
    name, _, value = cookie.partition("=")
    _, nonce, verifier, ends, mac = value.split(".")
    cases = [
        (back, {}),
        (back, {"Cookie": other}),
        (back, {"Cookie": f"{name}=x"}),
        (back.replace(state, "x"), {"Cookie": cookie}),
        (f"/signed-in?state={state}", {"Cookie": cookie}),
        (back, {"Cookie": f"{name}={state}.{nonce}.x.{ends}.{mac}"}),
        (back, {"Cookie": f"{name}={state}.{nonce}.{verifier}"}),
        (back, {"Cookie": f"{name}={state}.{nonce}.{verifier}.{int(ends) + 1}.{mac}"}),
        (back.replace("code=code", "code=x"), {"Cookie": cookie}),
    ]
    for place, headers in cases:
        provider.codes.setdefault("code", {}) if not provider.codes else None
        assert ask(running, "GET", place, None, headers)[0] == 401, place
    cookie, back = there_and_back(running, provider)
    state, _, *rest = cookie.partition("=")[2].split(".")
    provider.asked.clear()
    assert ask(running, "GET", back, None, {"Cookie": f"{name}={'.'.join((state, 'other', *rest))}"})[0] == 401
    # What was not begun here is refused without a word to the issuer.
    assert provider.asked == []


def test_a_slow_issuer_keeps_nobody_waiting_who_reads(running: Running, provider: Provider) -> None:
    cookie, back = there_and_back(running, provider)
    token = running.token("beside a slow issuer")
    provider.answers.clear()
    with ThreadPoolExecutor(8) as pool:
        signing_in = [pool.submit(ask, running, "GET", back, None, {"Cookie": cookie}) for _ in range(8)]
        assert provider.reached.acquire(timeout=30)
        # All threads that wait for the issuer are taken, and more wait for them.
        while running.service._asking_issuer.waiting < 4:
            pass
        assert ask(running, "GET", "/readyz")[0] == 200
        assert ask(running, "GET", "/v1/datasets/clinic/balance", None, bearer(token))[0] == 200
        assert not any(one.done() for one in signing_in)
        provider.answers.set()
        assert sorted(one.result()[0] for one in signing_in) == [200, *[401] * 7]


def test_who_is_not_declared_is_not_let_in(running: Running, provider: Provider) -> None:
    provider.subject = "s-stranger"
    cookie, back = there_and_back(running, provider)
    status, headers, content = ask(running, "GET", back, None, {"Cookie": cookie})
    assert (status, "set-cookie" in headers) == (403, False)
    assert "s-stranger" in json.loads(content)["detail"]
    running.people.add("gone", "analyst")
    running.people.identify("gone", provider.url, "s-stranger")
    running.people.remove("gone")
    cookie, back = there_and_back(running, provider)
    assert ask(running, "GET", back, None, {"Cookie": cookie})[0] == 403


def test_a_terminal_signs_in_by_a_code_that_is_typed_elsewhere(
    running: Running, provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    waits: list[float] = []
    said: list[tuple[str, str]] = []
    token = log_in(running.url, lambda *words: said.append(words), wait=waits.append)
    assert (said, waits) == ([(f"{provider.url}/device", "ABCD-EFGH")], [1.0, 1.0])
    assert json.loads(ask(running, "GET", "/v1/me", None, bearer(token))[2])["name"] == "signed ana"
    path = keep_token(f"{running.url}/", token)
    assert path.stat().st_mode & 0o777 == 0o600
    assert kept_token(running.url) == token
    path.chmod(0o644)
    with pytest.raises(InvalidParameter, match="chmod 600"):
        kept_token(running.url)
    with pytest.raises(LoginFailed, match="expired_token"):
        log_in(running.url, lambda *_: None, wait=waits.append, fetch=refusing("expired_token"))
    with pytest.raises(LoginFailed, match="the sign-in code expired"):
        log_in(running.url, lambda *_: None, wait=waits.append, fetch=refusing("slow_down"))


def refusing(error: str) -> Callable[..., Any]:
    def fetch(_place: str, form: Any) -> Any:
        if "device_code" in form:
            return {"error": error}
        return {"device_code": "d", "user_code": "u", "verification_uri": "https://x.example", "expires_in": 60}

    return fetch


def test_an_id_token_is_shown_as_it_was_given(running: Running, provider: Provider) -> None:
    assert ask(running, "POST", "/v1/login", {"id_token": "x.y.z"})[0] == 401
    assert ask(running, "POST", "/v1/login", {"id_token": 1})[0] == 400
    assert ask(running, "POST", "/v1/login", {"id_token": "x", "more": 1})[0] == 400


def of_program(provider: Provider, **claims: Any) -> str:
    now = time.time()
    said = {"iss": provider.url, "aud": CLIENT, "sub": "s-ana", "iat": now, "exp": now + 300, **claims}
    return signed(said)


def test_an_id_token_serves_once(running: Running, provider: Provider) -> None:
    shown = of_program(provider)
    status, _, content = ask(running, "POST", "/v1/login", {"id_token": shown})
    assert status == 200
    assert ask(running, "GET", "/v1/me", None, bearer(json.loads(content)["token"]))[0] == 200
    for again in (shown, twin(shown)):
        status, _, content = ask(running, "POST", "/v1/login", {"id_token": again})
        assert status == 401
        assert "used before" in json.loads(content)["detail"]
    # Nor after the token that it gave was revoked.
    running.people.revoke_token(next(one.id for one in running.people.tokens() if one.person == "signed ana"))
    assert ask(running, "POST", "/v1/login", {"id_token": shown})[0] == 401
    assert ask(running, "POST", "/v1/login", {"id_token": of_program(provider)})[0] == 200


def test_an_id_token_serves_once_in_all_processes_and_at_one_moment(running: Running, provider: Provider) -> None:
    shown = of_program(provider)
    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: ask(running, "POST", "/v1/login", {"id_token": shown})[0], range(8)))
    assert sorted(statuses) == [200] + [401] * 7
    shown = of_program(provider)
    assert ask(running, "POST", "/v1/login", {"id_token": shown})[0] == 200
    # Another process of the same folder, or the same service after it was started again.
    issuer = running.service._issuer
    assert issuer is not None
    proof = issuer.statement(shown, None).digest
    folder = running.curator.folder
    code = (
        "import sys\nfrom dither.curator.folder import Curator\nfrom dither.curator.people import People\n"
        "with Curator.open(sys.argv[1], anchors=sys.argv[2]) as curator:\n"
        "    people = People(curator)\n"
        "    print(people.new_token('signed ana', proof=sys.argv[3]), people.new_token('signed ana', proof='x')[:7])"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(folder), str(running.curator.anchors), proof],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split() == ["None", "dither_"]
    assert running.people.new_token("signed ana", proof="x") is None


def test_an_id_token_with_a_nonce_belongs_to_a_browser(running: Running, provider: Provider) -> None:
    assert ask(running, "POST", "/v1/login", {"id_token": of_program(provider, nonce="n")})[0] == 401


def test_who_is_not_declared_uses_no_id_token_up(running: Running, provider: Provider) -> None:
    shown = of_program(provider, sub="s-late")
    assert ask(running, "POST", "/v1/login", {"id_token": shown})[0] == 403
    running.people.add("late", "analyst")
    running.people.identify("late", provider.url, "s-late")
    assert [ask(running, "POST", "/v1/login", {"id_token": shown})[0] for _ in range(2)] == [200, 401]


def test_a_browser_that_signed_in_shows_its_cookie(running: Running) -> None:
    token = running.token("cookies")
    headers = {"Cookie": f"__Host-dither={token}"}
    assert json.loads(ask(running, "GET", "/v1/me", None, headers)[2])["name"] == "cookies"
    body = {"loss": {"kind": "pure", "epsilon": "1"}}
    site = {"Sec-Fetch-Site": "cross-site"}
    assert ask(running, "POST", "/v1/datasets/clinic/room", body, headers)[0] == 200
    assert ask(running, "POST", "/v1/datasets/clinic/room", body, headers | site)[0] == 403
    assert ask(running, "GET", "/v1/me", None, {"Cookie": "__Host-dither=x"})[0] == 401


def test_without_an_issuer_there_is_nowhere_to_sign_in(running: Running) -> None:
    for place in ("/sign-in", "/signed-in?code=x&state=y", "/v1/login"):
        assert ask(running, "GET", place)[0] == 404
    typed = CliRunner().invoke(app, ["login", running.url])
    assert typed.exit_code != 0


def test_a_person_is_declared_with_a_subject(running: Running) -> None:
    words = [
        "people",
        "add",
        "typed ana",
        "--role",
        "analyst",
        "--subject",
        "s-9",
        "--home",
        str(running.curator.folder),
    ]
    with pytest.raises(InvalidParameter, match="issuer"):
        CliRunner().invoke(app, words, catch_exceptions=False)
    CliRunner().invoke(app, [*words, "--issuer", PLACE], catch_exceptions=False)
    found = running.people.identified(PLACE, "s-9")
    assert found is not None
    assert found.name == "typed ana"
