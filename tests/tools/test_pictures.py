"""The figures of pages that speak of pictures are those of the runs that draw them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import pictures

pytest.importorskip("pandas")
DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_limits_is_what_is_drawn() -> None:
    left_out, noise = pictures.measured_limits()
    both = [out + off for out, off in zip(left_out, noise, strict=True)]
    drawn = dict(zip(pictures.LIMITS, zip(left_out, noise, both, strict=True), strict=True))
    text = (DOCS / "limits.md").read_text(encoding="utf-8")
    said = [tuple(map(int, row)) for row in re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", text, re.MULTILINE)]
    assert len(said) == 5
    assert all(drawn[limit] == tuple(figures) for limit, *figures in said)
    best = min(drawn, key=lambda limit: drawn[limit][2])
    assert f"A limit of {best} is best" in text


def test_errors_over_epsilon_are_what_the_page_says() -> None:
    assert [pictures.count_error(epsilon, 1) for epsilon in (0.1, 1)] == [30, 3]
    assert "off by at most 30 rows at epsilon 0.1 and by at most 3 at epsilon 1" in (
        (DOCS / "epsilon.md").read_text(encoding="utf-8")
    )


def test_every_picture_of_the_pages_has_one_that_draws_it() -> None:
    names = {path.stem for path in pictures.PICTURES.glob("*.svg")}
    tools = Path(pictures.__file__).parent
    files = dict.fromkeys(tools.glob("*pictures.py"), "") | {tools / "gallery.py": "gallery-"}
    drawn = {
        before + name
        for file, before in files.items()
        for name in re.findall(r'yield \(?\s*"([\w-]+)"', file.read_text(encoding="utf-8"))
    }
    assert names == drawn
