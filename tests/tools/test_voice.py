"""The count of words of the dialect: found in each kind of text, allowed with a reason alone, and never rising."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

#: One text that has the word, and one that does not.
WORDS = {
    "left out": ("k must be left out", "the left outlet"),
    "given": ("must be given for stars", "a given number"),
    "said": ("nothing unless said", "he said nothing"),
    "told": ("the answer is told", "untold answers"),
    "asked": ("what is asked of it", "asked nothing"),
    "whoever": ("a key; who asks again pays", "people who ask pay"),
    "whatever": ("for whatever reason", "what ever is"),
    "elsewhere": ("it is elsewhere", "it is else where"),
    "kept": ("an answer is kept", "an answer is stored"),
    "goes on": ("the stream goes on", "the stream goes"),
    "is none": ("there is none", "none of them"),
    "at once": ("both at once", "both at the door"),
    "by itself": ("it ends by itself", "its own end"),
    "as many": ("as many rows", "many rows"),
    "so many": ("so many rows", "so few rows"),
    "such that": ("such that it fits", "such a key"),
    "lies": ("it lies below 1", "it relies on 1"),
    "stands": ("it stands below", "it understands"),
    "nobody": ("nobody knows", "no one knows"),
    "anew": ("drawn anew", "drawn again"),
    "for ever": ("stored for ever", "forever"),
    "beforehand": ("the rows of before", "the rows before it"),
    "further": ("a further row", "a farther row"),
    "errs": ("it errs less", "its errors"),
    "looked at": ("rows that are looked at", "a look at rows"),
    "that are there": ("keys that are there", "keys that are here"),
    "wish": ("as you wish", "a washed key"),
    "words": ("its own words", "its own word"),
    "a text": ("it is a text", "it is a string"),
    "whole number": ("a whole number", "the whole of a number"),
}


@pytest.fixture(scope="module")
def voice(load_tool: Callable[[str], ModuleType]) -> Any:
    return load_tool("voice")


def project(root: Path, module: str, page: str = "") -> Path:
    """A project with one module and one page."""
    for path, text in (("src/dither/cli/a.py", module), ("docs/adr/a.md", page), ("docs/reference/a.md", "told")):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    (root / "README.md").write_text("All is told.\n", encoding="utf-8")
    (root / "tools").mkdir(exist_ok=True)
    return root


def counts_of(root: Path) -> Any:
    return json.loads((root / "tools/voice_counts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", WORDS)
def test_each_word_is_found_where_it_is_and_nowhere_else(voice: Any, name: str) -> None:
    assert [word.name for word in voice.WORDS] == list(WORDS)
    (word,) = (one for one in voice.WORDS if one.name == name)
    has, has_not = WORDS[name]
    assert word.pattern.search(has)
    assert word.pattern.search(has.upper())
    assert not word.pattern.search(has_not)


def test_messages_and_leads_of_a_module_and_pages_are_counted_apart(voice: Any, tmp_path: Path) -> None:
    module = '''"""What is told.

    Not counted: told, told.
    """

NAME = "told"
def f(x):
    """Return what is kept,
    and kept as many
    times."""
    return f"{x!r} is kept {'as it is told' if x else NAME}" "and kept"
'''
    root = project(tmp_path, module, "One line is kept.\nAnother is told, and told.\n")
    found = list(voice.hits(root))
    assert voice.counted(found) == {
        "messages": {"cli": 3},
        "leads": {"cli": 4},
        "public": {},
        "screens": {},
        "docs": {"adr": 3},
        "readme": {"README": 1},
    }
    assert ("src/dither/cli/a.py", 11, "kept") in {(hit.place, hit.line, hit.word.name) for hit in found}


def test_first_screens_and_public_names_are_counted_apart(voice: Any, tmp_path: Path) -> None:
    root = project(tmp_path, "")
    (root / "docs/page.md").write_text("# Told\n\nAll is told.\n\n## More\n\nAs told.\n", encoding="utf-8")
    (root / "docs/reference/a.md").write_text("| [`A`](#A) | What is told. |\n\nAll is told.\n", encoding="utf-8")
    counts = voice.counted(voice.hits(root))
    assert counts["screens"] == {".": 2}
    assert counts["docs"] == {".": 1}
    assert counts["public"] == {"a": 1}


def test_a_count_that_rises_fails_and_is_never_written(
    voice: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = project(tmp_path, 'A = "it is kept"\n')
    before = {"messages": {"cli": 1}, "leads": {"gone": 3}, "docs": {"adr": 2}, "readme": {"README": 1}}
    (root / "tools/voice_counts.json").write_text(json.dumps(before), encoding="utf-8")
    assert voice.main([], root) == 0
    assert counts_of(root) == before
    assert voice.main(["--update"], root) == 0
    lower = {"messages": {"cli": 1}, "leads": {}, "public": {}, "screens": {}, "docs": {}, "readme": {"README": 1}}
    assert counts_of(root) == lower
    assert capsys.readouterr().out == ""
    for module, page in (('A = "it is kept, and kept"\n', ""), ("", "As told.\n")):
        project(root, module, page)
        assert voice.main([], root) == 1
        assert "words of the dialect" in capsys.readouterr().out
        assert voice.main(["--update"], root) == 1
        assert counts_of(root)["docs"] == {}
        assert counts_of(root)["messages"].get("cli", 0) <= 1


def test_hits_are_listed_with_the_plain_words(voice: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = project(tmp_path, 'A = "it is kept"\n', "As told.\n")
    assert voice.main(["--list", "src/dither/cli"], root) == 0
    assert capsys.readouterr().out == "src/dither/cli/a.py:1: kept (stored; retained; saved): it is kept\n"
    assert voice.main(["--list", "--kind", "docs"], root) == 0
    assert capsys.readouterr().out.startswith("docs/adr/a.md:1: told")


def test_a_phrase_is_allowed_in_its_place_and_for_a_reason(voice: Any, tmp_path: Path) -> None:
    root = project(tmp_path, 'A = "a point lies inside, and this lies below"\nB = "it lies inside"\n')
    text = '[[allowed]]\nword = "lies"\nphrase = "point lies inside"\nreason = "geometry"\n'
    for path, left in (("", 2), ("src/dither/cli/", 2), ("src/dither/data/", 3)):
        allowed = voice.allowed_in(f'{text}path = "{path}"\n')
        assert voice.counted(voice.hits(root, allowed))["messages"] == {"cli": left}
    with pytest.raises(ValueError, match="needs a reason"):
        voice.allowed_in(text.replace("geometry", " "))
    with pytest.raises(TypeError, match="reason"):
        voice.allowed_in(text.replace('reason = "geometry"\n', ""))
    with pytest.raises(ValueError, match="not in the list"):
        voice.allowed_in(text.replace('"lies"', '"lied"'))


def test_what_is_allowed_in_this_project_has_reasons(voice: Any) -> None:
    allowed = voice.allowed_in((voice.ROOT / voice.ALLOWED).read_text(encoding="utf-8"))
    assert all(len(one.reason) > 10 for one in allowed)
