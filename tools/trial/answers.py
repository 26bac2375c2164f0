"""From a file to the first private table: what is typed to the wizard, in a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.trial.export import write_export
from tools.trial.mistakes import BY_REGION, run_command, surroundings

#: How many answers may be typed at most.
MOST_ANSWERS: Final = 8
#: What is typed, Enter included, until the export is registered.
ANSWERS: Final = (
    "public 4 7 10 11",
    "6 form 15 %; 6 range 0..100; 8 form DD.MM.YYYY; 2 9 out",
    "",
    "",
    "3",
    "",
    "1, 1e-6",
    "y",
)


def type_answers(folder: Path, words: tuple[str, ...] = ()) -> tuple[int, str]:
    """Register the export in a pseudo-terminal, and return the exit code and all that was on it.

    Args:
        folder: with a curator's folder and the export.
        words: more options of ``dither add``.

    """
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "dither", "add", "visits.csv", *words]
    with subprocess.Popen(command, cwd=folder, stdin=follower, stdout=follower, stderr=follower) as running:
        os.close(follower)
        # The end of input follows, so that one more question is no end of waiting.
        os.write(leader, "".join(f"{line}\n" for line in ANSWERS).encode() + b"\x04")
        seen = b""
        try:
            while part := os.read(leader, 65536):
                seen += part
        except OSError:
            pass  # Linux ends a pseudo-terminal so
    os.close(leader)
    return running.returncode, seen.decode(errors="replace")


def first_table(folder: Path) -> str:
    """Return what is wrong on the way from the file to a private table; empty if nothing is.

    Args:
        folder: an empty one.

    """
    with surroundings(folder):
        write_export(folder / "visits.csv")
        run_command(("init", "home"))
        code, seen = type_answers(folder)
        if code:
            return f"the wizard left with {code}: {seen[-2000:]}"
        code, said = run_command(("sql", "visits", BY_REGION, "--epsilon", "0.5"))
        if code or "Zürich" not in said:
            return f"no private table: {said}"
    return "" if len(ANSWERS) <= MOST_ANSWERS else f"{len(ANSWERS)} answers, at most {MOST_ANSWERS}"
