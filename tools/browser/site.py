"""The built documentation: no page is wider than its window, and no code is cut at the right edge."""

from __future__ import annotations

import time
from pathlib import Path

from tools.browser.looking import NARROW, WIDE, Browser, Fault

#: The theme draws headings, navigation and search, and is not ours to mend.
RULES = ("wide", "cut")


def faults_of_page(window: Browser, file: Path) -> list[Fault]:
    """Return what is wrong with a page of the site."""
    window.open(file)
    return [*window.layout(WIDE, only=RULES), *window.layout(NARROW, only=("wide",))]


def faults_of_site(window: Browser, site: Path) -> int:
    """Look at all pages; print what is wrong, and return how many have faults."""
    begun, bad = time.monotonic(), 0
    files = sorted(site.rglob("*.html"))
    for file in files:
        if found := faults_of_page(window, file):
            bad += 1
            print(f"{file.relative_to(site)}: {len(found)} faults")
            for fault in found:
                print(f"  {fault}")
    print(f"site: {len(files)} pages, {bad} with faults ({time.monotonic() - begun:.0f} s)", flush=True)
    return bad
