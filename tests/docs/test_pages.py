"""The pages begin with how to install and with a picture, and stand alone."""

from __future__ import annotations

import re
import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PICTURES = sorted((DOCS / "pictures").glob("*.svg"))
SVG = "{http://www.w3.org/2000/svg}"


def test_the_readme_begins_with_a_sentence_a_picture_and_how_to_install() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    before, install, *_ = text.split("\n## ")
    assert "(docs/pictures/readme.svg)" in before
    assert before.count(". ") == 0, "one sentence"
    assert install.startswith("Install\n")
    assert "pip install " in install
    assert "uv tool install ." in install


def test_the_readme_is_read_in_two_minutes() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 90
    assert len(text.split()) <= 700
    table = [line for line in text.splitlines() if line.startswith("| ")][2:]
    assert len(table) <= 10
    assert all(len(cell.split()) <= 6 for line in table for cell in line.strip("|").split("|"))


def test_examples_show_numbers() -> None:
    """Noisy numbers are compared by shape, and need no dots."""
    for page in (ROOT / "README.md", *DOCS.rglob("*.md")):
        assert "[..., ...]" not in page.read_text(encoding="utf-8"), page.name


def test_the_pages_have_four_parts_after_the_home_page() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    assert [next(iter(part)) for part in nav] == ["Home", "Tutorials", "How-to", "Reference", "Why"]
    assert (DOCS / "index.md").read_text(encoding="utf-8").startswith("# Ask your own table\n")


def test_the_gallery_has_a_picture_lines_and_a_page_for_each_kind_of_release() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    parts = text[text.index("## Gallery") : text.index("## What is promised")].split("\n### ")[1:]
    assert len(parts) == 12
    for part in parts:
        assert "](pictures/" in part, part[:20]
        assert "```pycon" in part or "```console" in part, part[:20]
        assert re.search(r"\]\([\w-]+\.md\)", part), part[:20]


def test_how_tos_are_in_groups() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    how_to = next(part["How-to"] for part in nav if "How-to" in part)
    groups = {name: pages for group in how_to for name, pages in group.items() if isinstance(pages, list)}
    assert [name.split()[0].strip(",") for name in groups] == [
        "Ask", "Publish", "Continue", "Learn", "Decide", "Disguise", "Extend",
    ]  # fmt: skip
    assert len(groups) + 1 == len(how_to), "one page stands before the groups"


def test_every_guide_begins_with_whom_it_is_for() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    found = [
        page
        for part in nav[1:3]
        for one in next(iter(part.values()))
        for value in one.values()
        for page in ([value] if isinstance(value, str) else [name for inner in value for name in inner.values()])
    ]
    assert len(found) > 25
    for page in found:
        first = (DOCS / page).read_text(encoding="utf-8").split("\n\n")[1]
        assert first.startswith("For "), page


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_a_picture_has_a_title_axes_and_a_caption_and_is_shown(path: Path) -> None:
    read = ElementTree.parse(path).getroot()  # noqa: S314 - our own
    words = ["".join(part.itertext()) for part in read.iter(f"{SVG}text")]
    assert words[0]
    assert any(part.get("transform", "").startswith("rotate(-90") for part in read.iter(f"{SVG}text")), (
        "a vertical axis"
    )
    assert read.find(f"{SVG}desc") is not None
    assert "http" not in path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    pages = (ROOT / "README.md", *DOCS.rglob("*.md"))
    assert any(f"pictures/{path.name})" in page.read_text(encoding="utf-8") for page in pages)


def test_every_picture_that_is_shown_is_there_and_described() -> None:
    for page in (ROOT / "README.md", *DOCS.glob("*.md")):
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).is_file(), (page.name, target)
            assert len(words) > 20, (page.name, target)


def test_rows_about_streams_questions_and_retrieval_have_pages_with_pictures() -> None:
    text = (DOCS / "sources.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (T0[1-9]|R0[1-3]|P12|Q0[789]|Q1[0-4]|C06) \|(.*)$", text, flags=re.MULTILINE)
    assert len(rows) == 22
    for name, row in rows:
        pages = [DOCS / one for one in re.findall(r"\]\(([\w/-]+\.md)\)", row) if one != "specimens.md"]
        assert pages, name
        assert any("![" in page.read_text(encoding="utf-8") for page in pages), name
    # The last of the 23, D03, is how a stream is declared.
    assert "![" in (DOCS / "streams.md").read_text(encoding="utf-8")


def test_commands_to_install_are_of_what_exists() -> None:
    """No address to be filled in, no name in an index in which the package is not, no version but the declared one."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for page in (ROOT / "README.md", *DOCS.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"git clone [A-Z]", text), page.name
        assert not re.search(r"pip install ['\"]?dither(?!-)", text), page.name
        assert set(re.findall(r"dither-([\w.]+)-py3", text)) <= {version}, page.name


def test_search_needs_nothing_from_elsewhere() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    script = re.search(r"polyfills:\n    - (\S*iframe-worker\S*)", settings)
    assert script is not None
    assert (DOCS / script[1]).is_file()


def test_the_versions_of_the_tests_admit_what_is_declared() -> None:
    """Every direct requirement of the core has its version in the constraints."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    fixed = {line.partition("==")[0].lower() for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()}
    assert {re.split(r"[><=]", one)[0].lower() for one in declared} <= fixed
