"""Commands as they look on a terminal: run on a real one, and returned as a page to be photographed."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import select
import struct
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import Final

#: How long a program may be silent before it is taken to wait for an answer, in seconds.
_SILENCE: Final = 1.0
_PROMPT: Final = re.compile(r"[>:?\]] ?$")
_CONTROL: Final = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


def typed(words: Sequence[str], answers: Sequence[str] = (), *, folder: Path, columns: int, **settings: str) -> str:
    """Return what a command shows on a terminal, with what is typed at its prompts; it is ended after the last answer.

    Args:
        words: of the command.
        answers: what is typed, one at a time.
        folder: where it runs.
        columns: how wide the terminal is.
        settings: variables of its environment.

    """
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        size = {"COLUMNS": str(columns), "LINES": "50", "TERM": "xterm-256color"}
        os.execvpe(words[0], list(words), {**os.environ, **size, **settings})  # noqa: S606 - our own command
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    found, left = b"", list(answers)
    try:
        while True:
            ready, _, _ = select.select([terminal], [], [], _SILENCE)
            if ready:
                try:
                    part = os.read(terminal, 65536)
                except OSError:  # the program has ended
                    break
                if not part:
                    break
                found += part
            elif _PROMPT.search(_CONTROL.sub("", found.decode("utf-8", "replace"))):
                if not left:
                    break
                os.write(terminal, f"{left.pop(0)}\n".encode())
    finally:
        os.close(terminal)
        os.waitpid(child, 0)
    return screen(found.decode("utf-8", "replace"))


def screen(written: str) -> str:
    r"""Return what is left on a terminal: lines that were written over are gone, colours stay.

    >>> screen("10 %\r\x1b[2K20 %\r\n\x1b[1A\x1b[2K\x1b[1mdone\x1b[0m\r\n")
    '\x1b[1mdone\x1b[0m\n'

    """
    lines = [""]
    for part in re.split(r"(\x1b\[[0-9;?]*[A-Za-z]|\r\n|\r|\n)", written):
        control = _CONTROL.fullmatch(part)
        if part in ("\r\n", "\n"):
            lines.append("")
        elif control and control[2] == "A" and len(lines) > 1:
            lines.pop()
        elif control and control[2] == "K":
            lines[-1] = ""
        elif part != "\r" and not (control and control[2] != "m"):
            lines[-1] += part
    return "\n".join(lines)


def page(shown: str, *, columns: int) -> str:
    """Return a page that shows a terminal.

    Args:
        shown: texts with their colours.
        columns: how wide it is.

    """
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, file=io.StringIO(), width=columns, force_terminal=True, legacy_windows=False)
    console.print(Text.from_ansi(shown), soft_wrap=False)
    code = console.export_html(inline_styles=True, code_format="<pre>{code}</pre>")
    style = (
        "body { margin: 0; background: #eef0f3 } main { margin: 14px; padding: 14px 18px; background: #fff;"
        " border: 1px solid #cfd4da; border-radius: 6px; overflow: hidden }"
        " pre { margin: 0; font: 13px/1.17 'DejaVu Sans Mono', monospace; color: #1d2126 }"
    )
    head = f'<meta charset="utf-8"><title>dither</title><style>{style}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body><main>{code}</main></body></html>'
