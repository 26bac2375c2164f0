"""One line of JSON for each request: who, what, when; never the text of a query, a value, or a time that tells much."""

from __future__ import annotations

import json
import logging
import sys
import threading
from datetime import UTC, datetime
from typing import Any, TextIO


class Others(logging.Handler):
    """One line of JSON for whatever else a library has to say, without a word of it: it may quote what was sent.

    Args:
        log: where the lines go.

    """

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write down that something was said, by whom, and how grave it is."""
        self._log.write(source=record.name, level=record.levelname.lower())


class Log:
    """Lines of JSON.

    Args:
        out: where they go; None for standard error.

    """

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out
        self._guard = threading.Lock()

    def write(self, **facts: Any) -> None:
        """Write one line."""
        line = json.dumps({"time": datetime.now(UTC).isoformat(timespec="seconds"), **facts})
        with self._guard:
            print(line, file=self._out or sys.stderr, flush=True)
