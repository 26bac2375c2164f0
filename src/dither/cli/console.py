"""Where the verbs print: a table for people, JSON for programs, complaints to standard error."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

console = Console()
_errors = Console(stderr=True)


def print_json(record: Any) -> None:
    """Print a record as JSON, and nothing else."""
    sys.stdout.write(json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def complain(text: str) -> None:
    """Print one line to standard error."""
    _errors.print(f"[bold red]dither:[/] {text}", highlight=False, soft_wrap=True)
