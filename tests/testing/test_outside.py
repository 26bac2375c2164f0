"""What a process does to the world around it is seen, and settings are put back."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.testing.outside import outside

ASIDE: ContextVar[int] = ContextVar("aside")


def directly(folder: Path) -> None:
    """Change what Python keeps of the environment, and nothing else."""
    vars(os.environ)["_data"][b"DITHER_SEEN"] = b"1"


def opened_low(folder: Path) -> None:
    os.close(os.open(folder / "low", os.O_WRONLY | os.O_CREAT))


def talked(folder: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM):
        pass


DONE: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a variable": (lambda folder: os.environ.update(DITHER_SEEN="1"), "os.putenv"),
    "a variable that goes again": (
        lambda folder: (os.putenv("DITHER_SEEN", "1"), os.unsetenv("DITHER_SEEN")),
        "putenv",
    ),
    "a variable past the events": (directly, "environment: b'DITHER_SEEN'"),
    "another folder": (os.chdir, "os.chdir"),
    "a mask": (lambda folder: os.umask(0o077), "the mask of new files"),
    "a context variable": (lambda folder: ASIDE.set(3), "the context variable 'aside'"),
    "a file": (lambda folder: (folder / "file").write_text("x"), "open"),
    "a file that was opened low": (opened_low, "open"),
    "a file of an array": (lambda folder: np.arange(3).tofile(folder / "array"), "open"),
    "a file in memory that is mapped": (lambda folder: np.memmap(folder / "map", mode="w+", shape=1), "open"),
    "a temporary file": (lambda folder: tempfile.TemporaryFile(dir=folder).close(), "open"),
    "a folder": (lambda folder: (folder / "inner").mkdir(), "os.mkdir"),
    "another name": (lambda folder: (folder / "old").rename(folder / "new"), "os.rename"),
    "a command": (
        lambda folder: subprocess.run([sys.executable, "--version"], capture_output=True, check=False),
        "Popen",
    ),
    "a socket": (talked, "socket.__new__"),
}


@pytest.mark.parametrize("name", DONE)
def test_what_is_done_outside_is_seen_and_settings_are_put_back(name: str, tmp_path: Path) -> None:
    call, told = DONE[name]
    (tmp_path / "old").write_text("x")
    mask = os.umask(0o022)
    try:
        before = dict(os.environ), Path.cwd()
        with outside() as seen:
            call(tmp_path)
        assert any(told in one for one in seen), seen
        assert (dict(os.environ), Path.cwd()) == before
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(mask)


def test_what_only_looks_is_let_through(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with outside() as seen:
        (tmp_path / "file").read_text()
        list(tmp_path.iterdir())
        np.memmap(tmp_path / "file", mode="r", dtype="u1")
        with np.errstate(all="ignore"):
            np.zeros(1) / 0
    assert seen == []


def test_folders_that_are_allowed_may_be_written_to(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "own-too"
    own.mkdir()
    other.mkdir()
    with outside([own]) as seen:
        (own / "file").write_text("x")
        (own / "file").rename(own / "later")
        (own / "later").unlink()
    assert seen == []
    with outside([own]) as seen:
        (other / "file").write_text("x")
        (other / "file").rename(own / "file")
        (own / ".." / "file").write_text("x")
    assert [one.partition(":")[0] for one in seen] == ["open", "os.rename", "open"]


def test_what_modules_do_while_they_are_loaded_is_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dither_loaded_once.py").write_text("import os\nos.environ['DITHER_LOADED'] = '1'\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("DITHER_LOADED", "0")
    with outside() as seen:
        __import__("dither_loaded_once")
    assert seen == []
    assert os.environ["DITHER_LOADED"] == "1"
    sys.modules.pop("dither_loaded_once")


def test_nothing_is_seen_while_nobody_watches(tmp_path: Path) -> None:
    with outside() as seen:
        pass
    (tmp_path / "file").write_text("x")
    assert seen == []
