"""Examples in pages and docstrings show numbers of a real run, and are compared by shape where these are noisy.

Noise is fresh in every run, so that an example which prints it cannot be compared to the letter. Two rules take any
number where a number is printed, and nothing else:

- a number with its interval, ``3165 [3098, 3232]``, is equal to any other number with an interval;
- below a line with the comment ``# noisy`` every number is, but for a privacy loss (``epsilon = 1``) and a percentage.

Rulers of tables may have other lengths. All else is compared as doctest does. ``conftest.py`` plugs this into pytest.

``python -m tools.examples docs/sql.md`` runs a page or a module, and writes what was printed in place of what is not
equal by these rules: to be run when the form of an output has changed, and read before it is committed. With ``--all``
it also writes examples anew that are abbreviated by ``...``, and with ``--fresh`` all noisy numbers.
"""

from __future__ import annotations

import argparse
import doctest
import importlib
import os
import re
import sys
import tempfile
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
#: An example below a line with the comment ``# noisy``.
NOISY = doctest.register_optionflag("NOISY")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
#: Pages are 88 columns wide where they are narrowest: longer lines are folded.
WIDTH = 100

_NUMBER = r"(?<![\w.])[-+\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?(?:/\d+)?(?![\w/])"
_INTERVAL = re.compile(rf"{_NUMBER}\s*\[{_NUMBER}, {_NUMBER}\]")
_PRICE = rf"\b(?:epsilon|delta|rho)\b\s*=?\s*{_NUMBER}|{_NUMBER}\s*%"
_NUMBERS = re.compile(rf"(?P<exact>{_PRICE})|{_NUMBER}")
_RULER = re.compile(r"-{3,}|\u2500{3,}")
_MARK = re.compile(r"#.*\bnoisy\b")


def shape(text: str, *, is_noisy: bool) -> str:
    """Return a text without the numbers that may differ.

    >>> shape("heart  612 [603, 621]  epsilon = 1", is_noisy=False)
    'heart  #  epsilon = 1'
    >>> shape("612 rows of 95 %, epsilon = 1", is_noisy=True)
    '# rows of 95 %, epsilon = 1'
    """
    text = _RULER.sub("---", _INTERVAL.sub("#", text))
    return _NUMBERS.sub(lambda found: found["exact"] or "#", text) if is_noisy else text


class Checker(doctest.OutputChecker):
    """Takes any number where a noisy one is printed."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        """Compare as doctest does, and then without what may differ."""
        if super().check_output(want, got, optionflags):
            return True
        is_noisy = bool(optionflags & NOISY)
        return super().check_output(shape(want, is_noisy=is_noisy), shape(got, is_noisy=is_noisy), optionflags)


def mark(examples: Iterable[doctest.Example]) -> None:
    """Give the option to the examples that have the comment."""
    for one in examples:
        if _MARK.search(one.source):
            one.options[NOISY] = True


class _Recorder(doctest.DocTestRunner):
    """Runs examples, and records what they print where it is not what is written."""

    def __init__(self, *, everything: bool, fresh: bool) -> None:
        super().__init__(checker=Checker(), optionflags=FLAGS, verbose=False)
        self.everything, self.fresh = everything, fresh
        self.printed: list[tuple[int, doctest.Example, str]] = []
        self.raised: list[str] = []

    def _record(self, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self.printed.append(((test.lineno or 0) + example.lineno, example, got))

    def report_success(self, out: object, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        is_short = "..." in example.want and "..." not in got and example.exc_msg is None
        is_other = "..." not in example.want and example.want.split() != got.split()
        if (self.everything and is_short) or (self.fresh and is_other):
            self._record(test, example, got)

    def report_failure(self, out: object, test: doctest.DocTest, example: doctest.Example, got: str) -> None:
        self._record(test, example, got)

    def report_unexpected_exception(
        self, out: object, test: doctest.DocTest, example: doctest.Example, exc_info: object
    ) -> None:
        self.raised.append(f"{test.name}, line {(test.lineno or 0) + example.lineno + 1}: {example.source.strip()}")


def folded(printed: str, indent: int) -> list[str]:
    """Return the lines of an output as they are written below an example."""
    lines = []
    for line in printed.rstrip("\n").split("\n"):
        room = WIDTH - indent
        parts = textwrap.wrap(line, room, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
        is_table = "   " in line.strip()
        lines += ["<BLANKLINE>"] if not line.strip() else [line.rstrip()] if is_table else parts
    return [" " * indent + line for line in lines]


def examples_of(path: Path) -> list[doctest.DocTest]:
    """Return the examples of a page or of a module."""
    if path.suffix == ".py":
        name = ".".join(path.resolve().relative_to(ROOT / "src").with_suffix("").parts)
        found = doctest.DocTestFinder().find(importlib.import_module(name.removesuffix(".__init__")))
    else:
        text = path.read_text(encoding="utf-8")
        found = [doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, path.name, str(path), 0)]
    for test in found:
        mark(test.examples)
    return [test for test in found if test.examples]


def rewrite(
    path: Path, *, everything: bool = False, fresh: bool = False, names: dict[str, Any] | None = None
) -> list[str]:
    """Write what the examples of a file print in place of what is not so; return those that raised.

    Args:
        path: a page or a module.
        everything: whether abbreviated outputs are written in full.
        fresh: whether noisy numbers are written, too.
        names: receives the names that the examples define.

    """
    recorder = _Recorder(everything=everything, fresh=fresh)
    for test in examples_of(path):
        recorder.run(test, out=lambda text: None, clear_globs=False)
        if names is not None:
            names.update(test.globs)
    lines = path.read_text(encoding="utf-8").split("\n")
    for start, example, got in sorted(recorder.printed, key=lambda one: one[0], reverse=True):
        first = start + example.source.count("\n")
        lines[first : first + example.want.count("\n")] = folded(got, example.indent) if got else []
    path.write_text("\n".join(lines), encoding="utf-8")
    print(f"{path}: {len(recorder.printed)} outputs written")
    return recorder.raised


def main(arguments: list[str]) -> int:
    """Rewrite the outputs of pages and modules."""
    parser = argparse.ArgumentParser(description="Write the outputs of examples that have changed.")
    parser.add_argument("paths", nargs="+", type=Path, help="pages and modules")
    parser.add_argument("--all", action="store_true", help="also those that are abbreviated")
    parser.add_argument("--fresh", action="store_true", help="also those whose numbers are others")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DITHER_ANCHORS"] = folder
        raised = [one for path in options.paths for one in rewrite(path, everything=options.all, fresh=options.fresh)]
    for one in raised:
        print(f"raised, and left alone: {one}")
    return int(bool(raised))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
