"""The verbs a person types. Thin: words in, tables out; no privacy logic.

Every verb prints for people by default and for programs with ``--json``. Exit codes: 0 done, 1 the answer is no (an
audit refuted a claim), 2 the request was wrong.
"""

from dither.cli.app import main

__all__ = ["main"]
