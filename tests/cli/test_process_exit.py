"""A command ends at once, and says all it has to say before."""

from __future__ import annotations

import subprocess
import sys

import pytest


def _end(verb: str) -> subprocess.CompletedProcess[str]:
    """Run a command whose verb is replaced by some lines."""
    script = f"import sys\nimport dither.cli.app\ndef main():\n    {verb}\n"
    script += "dither.cli.app.main = main\nfrom dither.cli.process_exit import command\ncommand()\n"
    return subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)


#: Another thread, which has something to say when the first has ended.
_THREAD = (
    "import threading as t; t.Thread(target=lambda: (t.main_thread().join(), print('other'))).start(); print('mine')"
)


@pytest.mark.parametrize(
    ("verb", "code", "said"),
    [
        ("print('x' * 100_000)", 0, "x" * 100_000 + "\n"),
        ("sys.exit(3)", 3, ""),
        ("sys.exit()", 0, ""),
        ("import atexit; atexit.register(print, 'late'); print('first')", 0, "first\nlate\n"),
        (_THREAD, 0, "mine\nother\n"),
    ],
    ids=["long", "code", "none", "atexit", "thread"],
)
def test_what_was_said_and_the_code_arrive(verb: str, code: int, said: str) -> None:
    done = _end(verb)
    assert (done.returncode, done.stdout, done.stderr) == (code, said, "")


def test_a_text_in_place_of_a_code_is_printed() -> None:
    done = _end("sys.exit('gone')")
    assert (done.returncode, done.stderr) == (1, "gone\n")


def test_a_defect_is_shown_as_ever() -> None:
    done = _end("raise ZeroDivisionError")
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
