"""The verbs a person types. Thin: words in, tables out; no privacy logic.

Every verb prints for people by default and for programs with ``--json``. What its exit code means is in ``exits``; what
it is typed like, in ``examples``.
"""

from dither.cli.app import main
from dither.cli.process_exit import command

__all__ = ["command", "main"]
