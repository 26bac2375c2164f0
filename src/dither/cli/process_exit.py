"""The ways into a command and out of it: without looking for garbage, and at once when all is written.

To take apart some eight hundred modules when a process ends takes as long as to answer a small question. So once the
verb has returned, all that was registered for the end has run and both streams are flushed, the process ends without
it. Whatever a verb opens it closes by itself: nothing is left to be closed by the interpreter.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading

#: Python looks for what can go after as many new objects as this, in place of 700.
_MANY_OBJECTS = 300_000


def look_seldom_for_garbage() -> None:
    """Let most commands end before Python looks for what can go.

    Most of what a command makes are modules and classes, which stay: to look through them again and again takes long.
    """
    gc.set_threshold(_MANY_OBJECTS, *gc.get_threshold()[1:])


def command() -> None:
    """Run the command, and end the process with its exit code."""
    look_seldom_for_garbage()
    from dither.cli.app import main

    code: object = 0
    try:
        main()
    except SystemExit as left:
        code = left.code
    if threading.active_count() > 1 or not (code is None or isinstance(code, int)):
        # What others still do is waited for, and a text is printed, as ever.
        raise SystemExit(code)
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):
        # Whoever read has gone: told as ever.
        raise SystemExit(code) from None
    os._exit(code or 0)
