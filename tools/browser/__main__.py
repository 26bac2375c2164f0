"""Look at every page that the product writes, and at the built site: ``make browser``.

Ends with status 1 if a page has a fault. ``--keep FOLDER`` keeps the pages; names of kinds as arguments choose some.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from tools.browser.everything import KINDS, Maker
from tools.browser.looking import Browser, Fault, absent, browser
from tools.browser.site import faults_of_site

SITE = Path(__file__).resolve().parents[2] / "site"


def told(faults: Iterable[Fault]) -> list[str]:
    """Return the faults as lines, each with all ways of looking in which it is found."""
    looks: dict[tuple[str, str, str], list[str]] = {}
    for fault in faults:
        looks.setdefault((fault.rule, fault.where, fault.what), []).append(str(fault.look))
    return [f"{rule}: {where}: {what} ({'; '.join(found)})" for (rule, where, what), found in looks.items()]


def look_at(window: Browser, folder: Path, kinds: Iterable[str]) -> int:
    """Make pages of these kinds and look at them; return how many have faults."""
    maker, bad = Maker(folder), 0
    for kind in kinds:
        begun = time.monotonic()
        window.open(maker.make(kind))
        lines = told(window.faults())
        bad += bool(lines)
        print(f"{kind}: {len(lines) or 'no'} faults ({time.monotonic() - begun:.1f} s)", flush=True)
        for line in lines:
            print(f"  {line}")
    return bad


def main() -> int:
    """Look at pages of the chosen kinds, and at the site."""
    parser = argparse.ArgumentParser(prog="python -m tools.browser", description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"of {', '.join(KINDS)}, site; all by default")
    parser.add_argument("--keep", type=Path, help="a new folder, in which the pages stay")
    asked = parser.parse_args()
    chosen = asked.kinds or [*KINDS, "site"]
    if unknown := [kind for kind in chosen if kind not in KINDS and kind != "site"]:
        parser.error(f"not a kind of page: {', '.join(unknown)}")
    if asked.keep is not None and asked.keep.exists():
        parser.error(f"--keep must be a new folder: {asked.keep}")
    if (reason := absent()) is not None:
        print(f"nothing was looked at: {reason}")
        return 2
    bad = 0
    if pages := [kind for kind in chosen if kind != "site"]:
        with browser() as window, tempfile.TemporaryDirectory(prefix="dither-pages-") as temporary:
            bad += look_at(window, (asked.keep or Path(temporary)).absolute(), pages)
    if "site" in chosen and (SITE / "index.html").is_file():
        # The theme's scripts load an index of everything: what is read needs none of them.
        with browser(has_scripts=False) as window:
            bad += faults_of_site(window, SITE)
    elif "site" in chosen:
        print(f"site: not built; 'make docs' writes {SITE.name}/")
        bad += bool(asked.kinds)
    print(f"{bad} pages have faults" if bad else "no page has a fault")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
