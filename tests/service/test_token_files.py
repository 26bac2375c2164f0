"""A token that a client has in a file goes to the address it was stored for, and comes from a file of its owner's."""

from __future__ import annotations

from pathlib import Path

import pytest

from dither.errors import InvalidParameter, NotFound
from dither.service.client import connect
from dither.service.kept import keep_token, kept_token

HERE, THERE = "http://127.0.0.1:8077", "https://dither.example.org"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("DITHER_TOKEN", raising=False)
    (tmp_path / "dither").mkdir()
    return tmp_path / "dither"


def written(home: Path, text: str, mode: int = 0o600) -> Path:
    path = home / "token"
    path.write_text(text)
    path.chmod(mode)
    return path


def sent_to(url: str) -> str | None:
    """Return the token that a client of an address would send."""
    return connect(url)._transport._token


def test_a_token_goes_to_its_own_address_alone(home: Path) -> None:
    written(home, f"# mine\n{THERE} theirs\n\n{HERE}/   ours\n")
    assert sent_to(THERE) == "theirs"
    for same in (HERE, f"{HERE}/", "HTTP://127.0.0.1:8077"):
        assert sent_to(same) == "ours"
    for same in ("https://DITHER.example.org", f"{THERE}:443/"):
        assert sent_to(same) == "theirs"
    others = ("http://127.0.0.1:8078", "http://localhost:8077", "http://127.0.0.1", "https://127.0.0.1:8077")
    for other in (*others, f"{HERE}/inner", "https://dither.example.org.evil.example", f"{THERE}:8443"):
        with pytest.raises(NotFound, match="no token is known"):
            connect(other)


def test_what_was_kept_by_signing_in_is_bound_as_well(home: Path) -> None:
    keep_token(THERE, "theirs")
    assert kept_token("https://Dither.Example.org:443/") == "theirs"
    assert kept_token(HERE) is None
    keep_token("https://DITHER.example.org", "newer")
    assert kept_token(THERE) == "newer"


@pytest.mark.parametrize(
    "text", ["dither_0_secret\n", f"{HERE}\n", f"{HERE} a b\n", "localhost dither_0_secret\n", "\xff"]
)
def test_a_token_without_an_address_is_sent_nowhere(home: Path, text: str) -> None:
    path = written(home, "")
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidParameter, match="address of the service") as refused:
        connect(HERE)
    assert str(path) in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o606, 0o620, 0o602, 0o644])
@pytest.mark.parametrize("name", ["token", "tokens.json"])
def test_a_file_that_others_can_read_or_write_is_refused(home: Path, name: str, mode: int) -> None:
    keep_token(HERE, "kept")
    path = written(home, f"{HERE} ours\n") if name == "token" else home / name
    if name == "token":
        (home / "tokens.json").unlink()
    path.chmod(mode)
    with pytest.raises(InvalidParameter, match="chmod 600"):
        connect(HERE)
    path.chmod(0o400)
    assert sent_to(HERE) in ("ours", "kept")


def test_without_files_and_with_a_token_of_ones_own_nothing_is_read(home: Path) -> None:
    with pytest.raises(NotFound, match="no token is known"):
        connect(HERE)
    written(home, "bare", 0o644)
    assert {connect(HERE, "given")._transport._token} == {"given"}
