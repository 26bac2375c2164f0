"""Pictures for the documentation: a terminal shows what is left on it, and a picture loses bytes, not its content."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tools.browser import terminal
from tools.browser.everything import KINDS
from tools.browser.looking import WIDE, Browser
from tools.browser.screenshots import PAGES, PICTURES, SCENES, pixels, small

BOLD, PLAIN = "\x1b[1m", "\x1b[0m"


def test_lines_that_were_written_over_are_gone_and_colours_stay() -> None:
    written = f"10 %\r\x1b[2K20 %\r\n\x1b[1A\x1b[2K{BOLD}done{PLAIN}\r\n\x1b[?25h"
    assert terminal.screen(written) == f"{BOLD}done{PLAIN}\n"


def test_a_command_is_typed_at_and_shown(tmp_path: Path, window: Browser) -> None:
    code = f"import os; print('{BOLD}<b>ward{PLAIN}', os.environ['WARD']); print(input('name> ') * 2); input('more> ')"
    shown = terminal.typed([sys.executable, "-c", code], ["ab"], folder=tmp_path, columns=40, WARD="9")
    assert shown.splitlines() == [f"{BOLD}<b>ward{PLAIN} 9", "name> ab", "abab", "more> "]
    window.show(terminal.page(shown, columns=40))
    assert window.page.inner_text("pre").splitlines()[0] == "<b>ward 9"
    assert window.layout(WIDE) == []
    assert window.height(400) < 200


def test_a_small_picture_has_the_same_pixels(tmp_path: Path, window: Browser) -> None:
    window.show("<body style='margin:0;background:#fff'><div style='width:20px;height:9px;background:#3b72a8'></div>")
    picture = window.picture(tmp_path / "a.png", width=40, height=30).read_bytes()
    before = pixels(window, picture)
    assert before.shape == (30, 40, 3)
    assert {tuple(one) for one in before.reshape(-1, 3).tolist()} == {(255, 255, 255), (0x3B, 0x72, 0xA8)}
    np.testing.assert_array_equal(pixels(window, small(window, picture)), before)


def test_of_many_colours_the_nearest_are_kept(tmp_path: Path, window: Browser) -> None:
    window.show("<body style='margin:0;height:60px;background:linear-gradient(to right,#000,#f80 50%,#08f)'>")
    picture = window.picture(tmp_path / "a.png", width=600, height=60).read_bytes()
    before, after = pixels(window, picture), pixels(window, small(window, picture))
    many = len(np.unique(before.reshape(-1, 3), axis=0))
    assert many > 256 >= len(np.unique(after.reshape(-1, 3), axis=0))
    assert np.abs(before.astype(int) - after).max() <= 16


@pytest.mark.parametrize("name", [*SCENES, *PAGES])
def test_every_picture_is_written_small_and_shown(name: str) -> None:
    file = PICTURES / f"screen-{name}.png"
    assert file.read_bytes().startswith(b"\x89PNG")
    assert file.stat().st_size < 80_000
    assert name in SCENES or PAGES[name][0] in KINDS
    docs = PICTURES.parent
    assert any(f"pictures/{file.name}" in page.read_text(encoding="utf-8") for page in docs.glob("*.md"))
