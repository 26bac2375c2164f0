"""What a process does to the world around it is seen, and settings are put back."""

from __future__ import annotations

import _thread
import atexit
import decimal
import gc
import locale
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dither.testing.outside import outside
from dither.testing.process import settings

ASIDE: ContextVar[int] = ContextVar("aside")
GATE = threading.Event()
STARTED: list[threading.Thread] = []


def directly(folder: Path) -> None:
    """Change what Python keeps of the environment, and nothing else."""
    vars(os.environ)["_data"][b"DITHER_SEEN"] = b"1"


def opened_low(folder: Path) -> None:
    os.close(os.open(folder / "low", os.O_WRONLY | os.O_CREAT))


def talked(folder: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM):
        pass


def goes_on(folder: Path) -> None:
    STARTED.append(threading.Thread(target=GATE.wait, daemon=True))
    STARTED[0].start()


def goes_on_unnamed(folder: Path) -> None:
    begun = threading.Event()
    _thread.start_new_thread(lambda: (begun.set(), GATE.wait()), ())
    begun.wait()


class Kept:
    """Something that may have a finalizer."""


KEPT = Kept()


def cleared() -> None:
    """Let the threads of this file end, and take back what has no way back of its own."""
    GATE.set()
    while STARTED:
        STARTED.pop().join()
    GATE.clear()
    atexit.unregister(nothing)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def nothing(*_: Any) -> None:
    """Do nothing, later."""


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
    "a thread": (goes_on, "still runs"),
    "a thread without a name": (goes_on_unnamed, "thread"),
    "a handler for the end": (lambda folder: atexit.register(nothing), "handlers for the end of the process"),
    "a finalizer": (lambda folder: weakref.finalize(KEPT, nothing), "finalizers were registered"),
    "a function for the collector": (lambda folder: gc.callbacks.append(nothing), "called by the collector"),
    "a collector that is off": (lambda folder: gc.disable(), "whether the collector runs"),
    "floating-point errors": (lambda folder: np.seterr(all="ignore"), "floating-point errors"),
    "how arrays are printed": (lambda folder: np.set_printoptions(precision=3), "how arrays are printed"),
    "how decimals are computed": (lambda folder: setattr(decimal.getcontext(), "prec", 5), "decimals"),
    "the locale": (lambda folder: locale.setlocale(locale.LC_ALL, "C"), "the locale"),
    "recursion": (lambda folder: sys.setrecursionlimit(sys.getrecursionlimit() + 7), "the depth of recursion"),
    "digits": (lambda folder: sys.set_int_max_str_digits(5000), "the most digits"),
    "who is told of exceptions": (lambda folder: setattr(sys, "excepthook", nothing), "handlers of exceptions"),
    "an interrupt": (lambda folder: signal.signal(signal.SIGINT, nothing), "about signals"),
    "a trace": (lambda folder: (sys.setprofile(nothing), sys.setprofile(None)), "sys.setprofile"),
    "all objects": (lambda folder: gc.get_objects(), "gc.get_objects"),
}


@pytest.mark.parametrize("name", DONE)
def test_what_is_done_outside_is_seen_and_settings_are_put_back(name: str, tmp_path: Path) -> None:
    call, told = DONE[name]
    (tmp_path / "old").write_text("x")
    mask = os.umask(0o022)
    try:
        before = dict(os.environ), Path.cwd()
        with decimal.localcontext(), outside() as seen:
            call(tmp_path)
        assert any(told in one for one in seen), seen
        assert (dict(os.environ), Path.cwd()) == before
        assert os.umask(0o022) == 0o022
        cleared()
        with outside() as seen:
            pass
        assert seen == []
    finally:
        cleared()
        os.umask(mask)


def test_everything_that_can_be_put_back_is(tmp_path: Path) -> None:
    with decimal.localcontext():
        before = settings()
        for name in ("a collector that is off", "floating-point errors", "how arrays are printed", "the locale"):
            with outside():
                DONE[name][0](tmp_path)
        for name in ("a function for the collector", "recursion", "digits", "who is told of exceptions"):
            with outside():
                DONE[name][0](tmp_path)
        assert settings() == before


@pytest.mark.skipif(sys.gettrace() is not None, reason="a tracer runs, and every thread tells of it")
def test_threads_that_end_and_modules_that_are_loaded_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dither_loaded_late.py").write_text("import atexit\natexit.register(print)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with outside() as seen:
        thread = threading.Thread(target=nothing)
        thread.start()
        thread.join()
        __import__("dither_loaded_late")
    atexit.unregister(print)
    sys.modules.pop("dither_loaded_late")
    assert seen == []


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
