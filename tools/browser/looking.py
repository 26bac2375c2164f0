"""Open a page in Chromium, look at it in several ways, and return what is wrong with it.

A way to look is a width, light or dark, screen or paper. What is found:

- ``wide``: the page, or an element, reaches beyond the window.
- ``cut``: text that only appears after scrolling sideways, or does not appear at all.
- ``word``: a word of ordinary length that is broken over two lines, or reaches beyond its cell.
- ``tiny``: letters of less than six pixels.
- ``overlap``: two texts, one upon the other.
- ``contrast``: a text of a picture that its ground hides (axe looks at the other texts).
- ``console``: the page reported an error.
- ``axe``: a violation that axe-core found.

Chromium is the one of the system. axe-core comes with the package ``axe-playwright-python`` of the test group, and is
run only if its SHA-256 is the one stated here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from playwright.sync_api import Page

#: axe-core 4.12.1, minified.
AXE_HASH: Final = "84494fec757e4710dc751c8d7a636e457f4532f08f85c86dc9070133fbff53bc"
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_SCRIPT: Final = Path(__file__).with_name("faults.js")
#: Nothing is fetched, no window is needed; root, as in containers, has no sandbox.
_SWITCHES: Final = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run")
_LONGEST_TEXT: Final = 160


@dataclass(frozen=True)
class Look:
    """A way to look at a page.

    Args:
        width: of the window, in pixels.
        is_dark: whether the reader prefers dark colours.
        is_printed: whether the page is on paper.

    """

    width: int
    is_dark: bool = False
    is_printed: bool = False

    def __str__(self) -> str:
        words = ["dark" if self.is_dark else "light", *(["printed"] if self.is_printed else [])]
        return f"{self.width} px, {', '.join(words)}"


#: A4 without Chromium's margins is 718 px wide.
PAPER: Final = 718
WIDE, WIDE_DARK, NARROW, NARROW_DARK = Look(1280), Look(1280, True), Look(390), Look(390, True)
PRINTED, PRINTED_DARK = Look(PAPER, False, True), Look(PAPER, True, True)
LOOKS: Final = (WIDE, WIDE_DARK, NARROW, NARROW_DARK, PRINTED, PRINTED_DARK)
#: Each width and each set of colours once.
SOME_LOOKS: Final = (WIDE, NARROW_DARK, PRINTED)


@dataclass(frozen=True)
class Fault:
    """What is wrong with how a page looks.

    Args:
        rule: which of the rules above.
        where: the element, or the text.
        what: what is wrong with it.
        look: how it was looked at.

    """

    rule: str
    where: str
    what: str
    look: Look

    def __str__(self) -> str:
        return f"{self.rule} ({self.look}): {self.where}: {self.what}"


def chromium() -> Path | None:
    """Return the program, or None where there is none."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    return None if found is None else Path(found)


def axe_file() -> Path | None:
    """Return the file of axe-core, or None where the package is absent."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).with_name("axe.min.js")
    return file if file.is_file() else None


def axe_source() -> str:
    """Return the source of axe-core; refuse any but the stated one."""
    file = axe_file()
    if file is None:
        raise RuntimeError("axe-core is absent: install the group 'test'")
    content = file.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != AXE_HASH:
        raise RuntimeError(f"axe-core has the hash {found}, and must have {AXE_HASH}")
    return content.decode("utf-8")


def absent() -> str | None:
    """Return why no page can be looked at, or None where all parts are there."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is absent: install the group 'test'"
    if axe_file() is None:
        return "axe-core is absent: install the group 'test'"
    if chromium() is None:
        return f"Chromium is absent: none of {', '.join(_NAMES)} is on PATH (apt-get install chromium)"
    return None


class Browser:
    """One Chromium, in which pages are opened one after the other."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._errors: list[str] = []
        self._script = _SCRIPT.read_text(encoding="utf-8")
        self._has_axe = False
        page.on("pageerror", lambda error: self._errors.append(str(error)))
        page.on("console", lambda said: self._errors.append(said.text) if said.type == "error" else None)

    @property
    def page(self) -> Page:
        """What is open."""
        return self._page

    def open(self, address: str | Path) -> None:
        """Open a file or an address."""
        self._errors.clear()
        self._has_axe = False
        self._page.goto(address.absolute().as_uri() if isinstance(address, Path) else address, wait_until="load")

    def show(self, text: str) -> None:
        """Open a page from its text."""
        self._errors.clear()
        self._has_axe = False
        # What was open may have had a policy, which its successor would inherit.
        self._page.goto("about:blank")
        self._page.set_content(text, wait_until="load")

    def look(self, look: Look, *, height: int = 900) -> None:
        """Give the window a width, and the page its colours."""
        self._page.set_viewport_size({"width": look.width, "height": height})
        self._page.emulate_media(
            media="print" if look.is_printed else "screen", color_scheme="dark" if look.is_dark else "light"
        )

    def layout(self, look: Look, *, only: Sequence[str] = ()) -> list[Fault]:
        """Return what is wrong with the layout of what is open.

        Args:
            look: how it is looked at.
            only: the rules to be looked for; all by default.

        """
        self.look(look)
        found = self._page.evaluate(self._script, {"isPrinted": look.is_printed, "only": list(only)})
        faults = [Fault(one["rule"], _short(one["where"]), _short(one["what"]), look) for one in found]
        if not only or "console" in only:
            faults += [Fault("console", "page", _short(error), look) for error in self._errors]
        return faults

    def axe(self, look: Look) -> list[Fault]:
        """Return what axe-core finds in what is open; what a reader can unfold is looked at unfolded."""
        self.look(look)
        if not self._has_axe:
            self._page.evaluate(axe_source())
            self._has_axe = True
        found: list[dict[str, Any]] = self._page.evaluate(
            "async () => (await axe.run(document, {resultTypes: ['violations']})).violations.flatMap(rule => "
            "rule.nodes.map(node => ({id: rule.id, help: rule.help, where: node.target.join(' '), html: node.html})))"
        )
        return [
            Fault("axe", _short(f"{one['where']} {one['html']}"), f"{one['id']}: {one['help']}", look) for one in found
        ]

    def unfold(self) -> None:
        """Open everything that a reader can unfold."""
        self._page.evaluate("() => document.querySelectorAll('details').forEach(one => { one.open = true; })")

    def faults(self, looks: Sequence[Look] = LOOKS, *, with_axe: Sequence[Look] | None = None) -> list[Fault]:
        """Return all that is wrong with what is open, with everything unfolded.

        Args:
            looks: how it is looked at.
            with_axe: in which of these ways by axe-core, too; by default in all.

        """
        self.unfold()
        found = []
        for look in looks:
            found += self.layout(look)
            if with_axe is None or look in with_axe:
                found += self.axe(look)
        return found

    def height(self, width: int) -> int:
        """Return how high what is open is in a window of a width."""
        self.look(Look(width), height=200)
        return int(self._page.evaluate("() => Math.ceil(document.body.getBoundingClientRect().bottom)"))

    def picture(self, path: Path, *, width: int, height: int, is_dark: bool = False) -> Path:
        """Write what the window shows as PNG."""
        self.look(Look(width, is_dark), height=height)
        self._page.screenshot(path=path, scale="css", animations="disabled")
        return path


@contextmanager
def browser(*, has_scripts: bool = True) -> Iterator[Browser]:
    """Start Chromium, and end it.

    Args:
        has_scripts: whether the scripts of pages run.

    """
    from playwright.sync_api import sync_playwright

    reason = absent()
    if reason is not None:
        raise RuntimeError(reason)
    # Playwright looks for no browser of its own, and asks nobody for one.
    os.environ.setdefault("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1")
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=str(chromium()), args=list(_SWITCHES))
        try:
            context = started.new_context(java_script_enabled=has_scripts, reduced_motion="reduce")
            yield Browser(context.new_page())
        finally:
            started.close()


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
