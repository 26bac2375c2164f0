"""The style of the site: no line of code is cut, whatever browser shows it; ``make browser`` looks at all pages."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_long_lines_of_code_continue_on_the_next() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    keys = re.findall(r"^(\w+):", text, re.MULTILINE)
    assert len(keys) == len(set(keys))  # of two alike, YAML takes the last
    settings = yaml.safe_load(text)
    (file,) = settings["extra_css"]
    style = (ROOT / "docs" / file).read_text(encoding="utf-8")
    (code,) = re.findall(r"\.md-typeset pre > code \{(.*?)\}", style, re.DOTALL)
    assert "white-space: pre-wrap" in code
    assert "overflow-wrap: anywhere" in code
