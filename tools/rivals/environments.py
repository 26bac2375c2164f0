"""Environments of rivals: each has its own, so that what it needs meddles with nothing here."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_RIVALS = Path(__file__).parent


def environment(folder: Path, *, modules: str, packages: Sequence[str]) -> Path | None:
    """Return the interpreter of a rival's environment, made if need be; None where it cannot be installed.

    Args:
        folder: where the environment is, or will be.
        modules: what can be imported there once it is complete, separated by commas.
        packages: what is installed otherwise.

    """
    python = folder / "bin" / "python"
    try:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        present = subprocess.run([str(python), "-c", f"import {modules}"], capture_output=True, check=False)
        if present.returncode:
            subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return python


def ask_rival(python: Path, script: str, *arguments: str, seconds: int = 600) -> Any:
    """Run a script of the folder of rivals by another interpreter, and return the record in its last line."""
    words = [str(python), str(_RIVALS / script), *arguments]
    result = subprocess.run(words, capture_output=True, text=True, timeout=seconds, check=True)
    return json.loads(result.stdout.splitlines()[-1])
