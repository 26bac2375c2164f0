"""A witness finds out whether a ledger was rewritten; a client checks receipts with the first key it saw."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.curator.keys import SigningKey
from dither.curator.receipts import PublicKey, read_checkpoint
from dither.curator.receipts.checkpoint import Checkpoint
from dither.errors import InvalidParameter
from dither.service import kept
from dither.service.client import connect_publicly
from dither.service.kept import first_key, keep_token, kept_token
from dither.service.witness import visit
from tests.service.conftest import Running

COUNT = "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_a_ledger_that_only_grows_is_the_same_at_every_visit(running: Running, home: Path) -> None:
    keep = home / "kept"
    assert visit(running.url, keep).before is None
    running.connect("busy").session("clinic").sql(COUNT, epsilon="0.1", key="visit")
    found = visit(running.url, keep)
    assert found.is_consistent
    assert found.before is not None
    assert found.size > found.before
    assert visit(running.url, keep).is_consistent


def test_a_ledger_that_was_rewritten_is_found(running: Running, home: Path) -> None:
    keep = home / "kept"
    visit(running.url, keep)
    kept = json.loads(keep.read_text())
    signing = SigningKey.kept(running.curator.folder / "receipts" / "key")
    head = read_checkpoint(kept["checkpoint"], PublicKey.read(kept["key"]))
    for forged in (
        Checkpoint(head.origin, head.size, b"x" * 32),
        Checkpoint(head.origin, head.size + 100, head.root),
        Checkpoint(head.origin, head.size - 1, head.root),
    ):
        keep.write_text(json.dumps({**kept, "checkpoint": forged.signed(signing)}))
        assert not visit(running.url, keep).is_consistent
    other = SigningKey(b"k" * 32)
    key = str(PublicKey(head.origin, other.public))
    keep.write_text(json.dumps({"key": key, "checkpoint": head.signed(other)}))
    assert "another key" in visit(running.url, keep).reason
    keep.write_text("{")
    with pytest.raises(InvalidParameter):
        visit(running.url, keep)


def test_a_client_refuses_another_key_than_it_saw_first(running: Running, home: Path) -> None:
    client = running.connect("pinned")
    found = client.session("clinic").sql(COUNT, epsilon="0.1")
    assert client.receipt("clinic", found.receipt)["receipt"] == 1
    path = home / "dither" / "keys.json"
    known = json.loads(path.read_text())
    known[running.url] = known[running.url][:-3] + "AAA"
    path.write_text(json.dumps(known))
    with pytest.raises(InvalidParameter, match="seen first"):
        client.receipt("clinic", found.receipt)
    assert json.loads(path.read_text()) == known
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"one": 1}', b"\xff", b"[" * 10**5, None], ids=range(7))
def test_keys_and_tokens_that_cannot_be_read_are_neither_forgotten_nor_replaced(
    running: Running, home: Path, content: bytes | None
) -> None:
    for name in ("keys.json", "tokens.json"):
        path = home / "dither" / name
        path.parent.mkdir(exist_ok=True)
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content)
            path.chmod(0o600)
    for asked in (
        lambda: connect_publicly(running.url).key(),
        lambda: kept_token(running.url),
        lambda: keep_token(running.url, "token"),
    ):
        with pytest.raises(InvalidParameter, match=rf"repair {home / 'dither'}/(keys|tokens)\.json"):
            asked()
    if content is not None:
        assert [(home / "dither" / name).read_bytes() for name in ("keys.json", "tokens.json")] == [content, content]


def test_what_is_no_key_is_not_kept(running: Running, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = connect_publicly(running.url)
    monkeypatch.setattr("dither.service.client.Transport.get", lambda *_: type("Reply", (), {"content": b"<html>"}))
    with pytest.raises(InvalidParameter, match="key"):
        client.key()
    assert not (home / "dither" / "keys.json").exists()


def test_a_key_is_kept_whole_or_not_at_all(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert first_key("https://one", "first") == "first"
    before = (home / "dither" / "keys.json").read_bytes()

    def cut_short(content: object, file: object, **_: object) -> None:
        file.write("{")  # type: ignore[attr-defined]
        raise OSError("no space is left")

    monkeypatch.setattr(kept.json, "dump", cut_short)
    with pytest.raises(OSError, match="no space"):
        first_key("https://two", "second")
    assert (home / "dither" / "keys.json").read_bytes() == before


def test_of_many_who_come_at_once_one_is_first_and_none_is_forgotten(home: Path) -> None:
    told: list[str] = []

    def come(number: int) -> None:
        first_key(f"https://{number}", str(number))
        told.append(first_key("https://all", str(number)))

    threads = [threading.Thread(target=come, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = json.loads((home / "dither" / "keys.json").read_text())
    assert found == {f"https://{number}": str(number) for number in range(12)} | {"https://all": told[0]}
    assert set(told) == {told[0]}
    # Another takes its place only as the one that was thought to be there.
    assert first_key("https://all", "next", instead_of="another") == told[0]
    assert first_key("https://all", "next", instead_of=told[0]) == "next"


def test_everybody_can_ask_a_service_for_its_head(
    running: Running, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DITHER_TOKEN", raising=False)
    words = ["--server", running.url]
    typed = [
        CliRunner().invoke(app, ["receipt", verb, *words], catch_exceptions=False) for verb in ("key", "checkpoint")
    ]
    key, note = (one.stdout for one in typed)
    assert read_checkpoint(note, PublicKey.read(key)).size == _entries(running)
    # Signed by another than the key that was seen first: refused.
    pinned = PublicKey(PublicKey.read(key).name, SigningKey(b"k" * 32).public)
    (home / "dither" / "keys.json").write_text(json.dumps({running.url: str(pinned)}))
    with pytest.raises(InvalidParameter, match="seen first"):
        CliRunner().invoke(app, ["receipt", "checkpoint", *words], catch_exceptions=False)


def _entries(running: Running) -> int:
    return max(entry.number for entry in running.curator.ledger.entries())
