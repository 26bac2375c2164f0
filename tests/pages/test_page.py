"""Pages: everything is text unless it is markup, nothing comes from outside, and no script runs."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dither
from dither.errors import InvalidParameter
from dither.pages import page as pages
from dither.pages.markup import Markup, breakable, joined, tag, text
from dither.pages.page import page, page_target
from dither.pages.style import COLOURS, PAGE_STYLE

HOSTILE = "</title><script>alert(1)</script>\" onload='x' & <!-- ]]> \x00\x1b \ud800"
VOID = {"meta", "br", "wbr"}


class Elements(HTMLParser):
    """Reads a page, and holds its elements and texts; every element that is opened is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def hostile_page(words: str) -> str:
    """Return a page in which a text stands wherever a text may stand."""
    return page(
        words,
        words,
        pages.section(words, pages.paragraph(words), pages.note(words), pages.alarm(words)),
        pages.bullets([words, tag("b", words)]),
        pages.table([words], [[words], [pages.code(words)]], bad={0}, groups=[(words, 1)]),
        pages.listing(words),
        pages.details(words, words, anchor=words, is_open=True),
        pages.link(words, words),
        pages.figures([pages.figure(tag("svg"), words)]),
    )


@given(st.text() | st.just(HOSTILE))
def test_whatever_a_text_holds_it_stays_text(words: str) -> None:
    found, plain = Elements(hostile_page(words or " ")), Elements(hostile_page("a"))
    assert found.names - {"wbr"} == plain.names  # where a long word may end a line
    assert found.attributes == plain.attributes
    assert "script" not in found.names
    # It can be written: half a surrogate pair in a name does not spoil a page.
    hostile_page(words).encode("utf-8")


def test_an_escaped_text_reads_as_it_was_written() -> None:
    assert html.unescape(text("a < b & 'c' \"d\"")) == "a < b & 'c' \"d\""
    assert joined(["<", tag("i", "&")], ">") == "&lt;&gt;<i>&amp;</i>"
    assert text(Markup("<b>")) == "<b>"


def test_attributes_are_escaped_and_checked() -> None:
    assert tag("a", href='"><script>') == '<a href="&quot;&gt;&lt;script&gt;"></a>'
    assert tag("p", class_=None, hidden=True, open=False, x=1.0, y=2.126) == '<p hidden x="1" y="2.13"></p>'
    with pytest.raises(AssertionError, match="not an element"):
        tag("p onload=x")
    with pytest.raises(AssertionError, match="not an element"):
        tag("p", **{"a b": 1})


def test_a_page_loads_nothing_and_runs_nothing() -> None:
    made = page("Title", pages.table(("a",), [["1"]]))
    assert made.startswith("<!doctype html>\n<html")
    assert not re.search(r"://|@import|url\(|<script|<link|src=", made)
    assert "default-src &#x27;none&#x27;" in made


def test_a_column_of_numbers_is_aligned_and_no_other() -> None:
    made = pages.table(("name", "count", "share", "mixed"), [["a", "1,200", "4.5%", "1"], ["b", "-3e-05", "", "x"]])
    assert made.count('class="number"') == 2 * 3
    assert '<td class="number">1,200</td>' in made
    assert "<td>x</td>" in made
    # Intervals are not found: whoever knows them says so.
    assert pages.table(("n",), [["[10, 14]"]], numbers=[0]).count('class="number"') == 2
    assert 'class="number"' not in pages.table(("n",), [["[10, 14]"]])


def test_a_heading_above_others_spans_them() -> None:
    made = pages.table(("a", "b", "c"), [["x", "1", "2"]], groups=[("", 1), ("n", 2)])
    assert '<td colspan="1"></td><th scope="colgroup" colspan="2" class="group">n</th>' in made
    assert "<thead>" not in pages.table((), [["a", "b"]])
    assert pages.table(("a",), []).count("<tr>") == 1
    assert '<tr class="bad"><td>y' in pages.table(("a",), [["x"], ["y"]], bad={1})


def test_lists_without_items_are_left_out() -> None:
    assert pages.bullets([]) == ""


def test_places_for_pages_are_checked(tmp_path: Path) -> None:
    assert page_target(tmp_path / "a.HTML").name == "a.HTML"
    for bad, rule in ((tmp_path / "a.pdf", "ending in"), (tmp_path / "no" / "a.html", "in a folder that exists")):
        with pytest.raises(InvalidParameter, match=rule) as refused:
            page_target(bad, option="out")
        assert refused.value.parameter == "out"


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as the guidelines for accessible content define it."""
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("is_dark", [0, 1])
@pytest.mark.parametrize(("name", "least"), [("ink", 7), ("soft", 4.5), *((f"s{n}", 2.7) for n in range(1, 7))])
def test_colours_can_be_told_from_the_ground(name: str, least: float, is_dark: int) -> None:
    both = sorted((luminance(COLOURS[name][is_dark]), luminance(COLOURS["ground"][is_dark])))
    assert (both[1] + 0.05) / (both[0] + 0.05) >= least


def test_every_colour_that_is_named_is_declared() -> None:
    for name in re.findall(r"var\(--dither-([\w-]+)\)", PAGE_STYLE):
        assert name in COLOURS
    assert PAGE_STYLE.count("{") == PAGE_STYLE.count("}")


def test_only_this_room_writes_pages_and_drawings() -> None:
    """Whoever writes an element by hand escapes by hand, and forgets it once."""
    by_hand = re.compile(r"<(!doctype|html|body|svg|table|tr|td|p|h[1-6])\b[^>]*>|\bMarkup\([^)]")
    source = Path(dither.__file__).parent
    for path in source.rglob("*.py"):
        if path.parent.name != "pages":
            found = by_hand.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{path.relative_to(source)} writes {found and found[0]}: use dither.pages"
    for written in ("f'<td>{name}</td>'", '"<svg width=3>"', "Markup(name)"):
        assert by_hand.search(written)


def test_cells_are_never_narrower_than_a_word_and_long_words_may_end_a_line() -> None:
    # ``anywhere`` makes a column as narrow as a letter where another one is wide.
    rules = [rule for rule in re.findall(r"[^{}]+\{[^{}]*\}", PAGE_STYLE) if "overflow-wrap: anywhere" in rule]
    assert [rule.partition("{")[0].strip() for rule in rules] == ["pre"]
    assert "word-break" not in PAGE_STYLE
    assert "table-layout: fixed" not in PAGE_STYLE
    digest = "0123456789abcdef" * 4
    shown = pages.table(["orthopaedics"], [["orthopaedics", pages.code(digest)], [digest, ""]])
    assert shown.count("orthopaedics") == 2
    assert shown.count("<wbr>") == 10
    assert max(map(len, re.split("<wbr>", breakable(digest)))) == 12


@given(st.text())
def test_what_may_end_a_line_is_the_same_text(words: str) -> None:
    assert breakable(words).replace("<wbr>", "") == text(words)
    assert breakable(text(words)) == text(words)


def test_a_table_scrolls_by_keys_and_a_corner_is_no_heading() -> None:
    shown = pages.table(["", "visits"], [["cardiology", "3"]])
    assert 'class="scroll" tabindex="0" role="group" aria-label="Table"' in shown
    assert "<th></th>" not in shown
    assert shown.count("<th ") == 1
    assert page("t", shown).count("<main>") == 1
