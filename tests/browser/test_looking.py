"""What looks at pages finds a planted defect of every kind, and nothing on a page without one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.browser import looking
from tools.browser.__main__ import told
from tools.browser.looking import NARROW, PRINTED, WIDE, WIDE_DARK, Browser, Fault, Look
from tools.browser.site import faults_of_page

HEAD = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>t</title><style>{}</style></head>'
PLAIN = "body {{ font: 16px sans-serif; margin: 8px }}"
SOUND = """<h1>Visits by ward</h1><p>Some words that take a line, and <code>code</code>.</p>
<div style="overflow-x:auto" tabindex="0" role="group" aria-label="Table"><table><thead><tr><th scope="col">ward</th>
<th scope="col">visits</th></tr></thead><tbody><tr><td>orthopaedics</td><td>3,165</td></tr></tbody></table></div>
<svg role="img" aria-label="A bar" width="200" height="40"><rect width="100" height="20" fill="#333"/>
<text x="4" y="15" fill="#fff">12</text><text x="4" y="36">wards</text></svg>
<details open><summary>more</summary><pre style="white-space:pre-wrap">SELECT COUNT(*) FROM visits</pre></details>"""


def drawn(*inside: str, width: int = 99) -> str:
    return f'<svg role="img" aria-label="a" width="{width}" height="60">{"".join(inside)}</svg>'


def cell(style: str, *others: str) -> str:
    cells = "".join(f"<td>{other}</td>" for other in others)
    return f'<table style="width:50px;table-layout:fixed"><tr><td style="{style}">cardiology</td>{cells}</tr></table>'


#: The rule that finds it, how it is looked at, and what is planted within the page.
PLANTED = {
    "a box wider than the window": ("wide", NARROW, '<div style="width:600px">x</div>'),
    "a table wider than paper": ("wide", PRINTED, '<table style="min-width:900px"><tr><td>x</td></tr></table>'),
    "a box that begins before the window": ("wide", WIDE, '<div style="margin-left:-80px">x</div>'),
    "code that has to be scrolled": ("cut", WIDE, f'<pre style="overflow:auto;width:300px">{"word " * 40}</pre>'),
    "text that is hidden": (
        "cut",
        NARROW,
        '<p style="overflow:hidden;width:40px;white-space:nowrap">visits of all</p>',
    ),
    "a picture that cuts its text": ("cut", WIDE, drawn('<text x="10" y="15">cardiology</text>', width=50)),
    "a cell narrower than its word": ("word", WIDE, cell("overflow-wrap:anywhere")),
    "a word that leaves its cell": ("word", WIDE, cell("", "")),
    "a word broken in a paragraph": ("word", NARROW, f'<p style="word-break:break-all">{"orthopaedics " * 30}</p>'),
    "two paragraphs, one upon the other": ("overlap", WIDE, '<p>some words</p><p style="margin-top:-26px">others</p>'),
    "two labels of a picture": (
        "overlap",
        WIDE,
        drawn('<text x="2" y="20">visits</text><text x="9" y="22">ward</text>'),
    ),
    "two slanted labels": (
        "overlap",
        WIDE,
        drawn(*(f'<text x="{x}" y="15" transform="rotate(40 {x} 15)">visits</text>' for x in (9, 14))),
    ),
    "a label as pale as its bar": (
        "contrast",
        WIDE,
        drawn('<rect width="99" height="30" fill="#999"/><text x="50" y="20" fill="#ccc">no</text>'),
    ),
    "a picture made too small": (
        "tiny",
        NARROW,
        '<svg role="img" aria-label="a" width="90" viewBox="0 0 900 90"><text x="9" y="50">visits</text></svg>',
    ),
    "an error of a script": ("console", WIDE, "<script>undefined_name()</script>"),
}
AXE = {
    "a picture without words": ("image-alt", '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'),
    "a field without a label": ("label", "<input>"),
    "pale text": ("color-contrast", '<p style="color:#bbb;background:#fff">pale</p>'),
    "a drawing without a name": ("svg-img-alt", '<svg role="img" width="9" height="9"></svg>'),
    "a column without a heading": (
        "empty-table-header",
        "<table><tr><th></th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>",
    ),
}


def written(inside: str, style: str = "") -> str:
    return HEAD.format(PLAIN.format() + style) + f"<body><main>{inside}</main></body></html>"


def test_a_sound_page_has_no_fault(window: Browser) -> None:
    window.show(written(SOUND))
    assert told(window.faults([WIDE, NARROW, PRINTED], with_axe=[WIDE])) == []


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_defect_is_found(window: Browser, planted: str) -> None:
    rule, look, inside = PLANTED[planted]
    window.show(written(f"<h1>t</h1>{inside}"))
    assert {fault.rule for fault in window.layout(look)} == {rule}


@pytest.mark.parametrize("planted", AXE)
def test_axe_finds_what_it_is_for(window: Browser, planted: str) -> None:
    rule, inside = AXE[planted]
    window.show(written(f"<h1>t</h1>{inside}"))
    assert [fault.what.partition(":")[0] for fault in window.axe(WIDE)] == [rule]


def test_what_is_folded_is_looked_at_and_dark_colours_are_as_well(window: Browser) -> None:
    dark = "@media (prefers-color-scheme: dark) { body { background: #000; color: #333 } }"
    window.show(
        written('<h1>Visits</h1><details><summary>more</summary><div style="width:1500px">x</div></details>', dark)
    )
    found = window.faults([WIDE, WIDE_DARK])
    assert {(fault.rule, fault.look) for fault in found} >= {("wide", WIDE), ("axe", WIDE_DARK)}
    assert not [fault for fault in found if (fault.rule, fault.look) == ("axe", WIDE)]


def test_words_that_may_break_are_no_faults(window: Browser) -> None:
    digest, narrow = "0123456789abcdef" * 4, "width:100px;overflow-wrap:anywhere"
    inside = f'<p style="{narrow}">{digest}</p><p style="width:90px">well-known north/south</p>'
    inside += f'<pre style="{narrow};white-space:pre-wrap">{digest}</pre><p style="{narrow}">Bürgermeister_innen</p>'
    window.show(written(inside))
    assert told(window.layout(WIDE)) == []


def test_code_cut_on_a_page_of_the_site_is_found(window: Browser, tmp_path: Path) -> None:
    file = tmp_path / "a.html"
    file.write_text(written(f'<pre style="overflow:auto">{"x" * 400}</pre>'))
    (found,) = faults_of_page(window, file)
    assert (found.rule, found.look) == ("cut", WIDE)


def test_faults_are_told_once_with_all_ways_of_looking() -> None:
    faults = [Fault("wide", "page", "1500 px wide", Look(width)) for width in (1280, 390)]
    assert told(faults) == ["wide: page: 1500 px wide (1280 px, light; 390 px, light)"]


def test_another_axe_is_refused_and_what_is_absent_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "axe.min.js"
    other.write_text("window.axe = {run: () => ({violations: []})}")
    monkeypatch.setattr(looking, "axe_file", lambda: other)
    with pytest.raises(RuntimeError, match="and must have 84494fec"):
        looking.axe_source()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "Chromium is absent" in str(looking.absent())
    monkeypatch.setattr(looking, "axe_file", lambda: None)
    assert "axe-core is absent" in str(looking.absent())
