"""A witness finds out whether a ledger was rewritten; a client checks receipts with the first key it saw."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dither.curator.keys import SigningKey
from dither.curator.receipts import PublicKey, read_checkpoint
from dither.curator.receipts.checkpoint import Checkpoint
from dither.errors import InvalidParameter
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
