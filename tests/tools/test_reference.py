"""The reference of the public names is fresh and whole, and no example on it runs a second time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import reference
from tools.surface import public_names

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return reference.pages()


def test_pages_are_fresh(pages: dict[str, str]) -> None:
    found = {path.name: path.read_text(encoding="utf-8") for path in reference.PAGES.glob("*.md")}
    assert found.keys() == pages.keys(), "run python -m tools.reference"
    stale = [name for name, text in pages.items() if found[name] != text]
    assert not stale, f"run python -m tools.reference: {', '.join(stale)}"


def test_every_public_name_has_an_entry(pages: dict[str, str]) -> None:
    for name in public_names():
        room, _, short = name.rpartition(".")
        assert f"\n## {short} {{ #{short} }}\n" in pages[f"{room.removeprefix('dither.')}.md"], name


def test_nothing_hangs_on_the_run(pages: dict[str, str]) -> None:
    """An address in memory would make a page stale at once; a prompt would be run again."""
    for text in pages.values():
        assert " at 0x" not in text
        assert ">>>" not in text


def test_what_scikit_learn_adds_to_an_estimator_is_left_to_its_own_pages(pages: dict[str, str]) -> None:
    """Its words change from version to version, and a page would be stale with another one installed."""
    from dither.learn import LogisticRegression

    assert hasattr(LogisticRegression, "set_fit_request")
    assert "set_fit_request" not in pages["learn.md"]


def test_a_docstring_becomes_markdown() -> None:
    words = "First ``line``.\n\nArgs:\n    one: what\n        it is.\n\n>>> 1 + 1\n2"
    written = [line for line in reference._words(words) if line]
    assert written == ["First `line`.", "*Args*", "- `one`: what it is.", "```python", "1 + 1", "# 2", "```"]


def test_a_stale_page_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(reference, "PAGES", tmp_path)
    monkeypatch.setattr(reference, "pages", lambda: {"dither.md": "fresh"})
    assert reference.main(["--check"]) == 1
    assert "stale: docs/reference/dither.md" in capsys.readouterr().out
    assert reference.main([]) == 0
    assert reference.main(["--check"]) == 0
