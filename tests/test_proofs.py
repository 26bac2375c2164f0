"""Signatures mean something: a page proves its own module, and says what it rests on. Violations are planted."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from dither.mechanisms import registered

DOCS = Path(__file__).parents[1] / "docs"

LAPLACE = '''
"""A mechanism."""
from dither.mechanisms.values import clipped
from dither.mechanisms import Spec
from dither.publish import shown

def release(x):
    """Return it."""
    return shown(clipped(x))  # rounded
'''
VALUES = "def clipped(x):\n    return min(x, 60)\n"
GEOMETRIC = "from dither.mechanisms.laplace import release\nfrom dither.learn.rows import steps\n"
SOURCES = {
    "dither.mechanisms.laplace": LAPLACE,
    "dither.mechanisms.geometric": GEOMETRIC,
    "dither.mechanisms.values": VALUES,
    "dither.mechanisms.spec": "class Spec: ...\n",
    "dither.mechanisms.runner": "class Runner: ...\n",
    "dither.mechanisms.__init__": "".join(
        f"from dither.mechanisms.{name.lower()} import {name}\n" for name in ("Spec", "Runner")
    ),
    "dither.learn.rows": "from dither.mechanisms.values import clipped\n",
    "dither.learn.units": "from dither.learn.rows import steps\n",
    "dither.publish.__init__": "from dither.publish.drawing import shown\n",
    "dither.publish.drawing": "def shown(x):\n    return x\n",
}
LISTED = "| module | what it is handed |\n| --- | --- |\n| `dither.publish.drawing` | Released values. |\n"


@pytest.fixture(scope="module")
def tool(load_tool: Callable[[str], ModuleType]) -> Any:
    return load_tool("proofs")


@pytest.fixture(scope="module")
def library(tool: Any) -> Any:
    """A small house in order: two mechanisms, two lemmas of which one has two modules, and one listed module."""
    bare = tool.Library(
        mechanisms={"laplace": "dither.mechanisms.laplace", "geometric": "dither.mechanisms.geometric"},
        pages={"laplace": "# Laplace\n\nText.\n", "geometric": "# Geometric\n\nText.\n"},
        lemmas={
            "values": "# Values\n\n<!-- proves: dither.mechanisms.values code: 0 -->\n\nText.\n",
            "rows": "# Rows\n\n" + "".join(f"<!-- proves: dither.learn.{m} code: 0 -->\n" for m in ("rows", "units")),
        },
        post_processing=LISTED,
        sources=SOURCES,
        plumbing={"dither.mechanisms.spec": "JSON"},
    )
    pages = {name: bare.with_hashes(f"algorithms/{name}") for name in bare.pages}
    lemmas = {name: bare.with_hashes(f"lemmas/{name}") for name in bare.lemmas}
    found = replace(bare, pages=pages, lemmas=lemmas)
    assert found.complaints() == []
    return found


def changed(library: Any, **sources: str) -> Any:
    """Return the library with some modules of ``dither.mechanisms`` replaced or added."""
    return replace(
        library, sources=library.sources | {f"dither.mechanisms.{name}": text for name, text in sources.items()}
    )


def test_the_house_is_in_order(tool: Any) -> None:
    """Each proof speaks about the present code and says what it rests on; tools/proofs.py names what does not."""
    assert tool.Library.read().complaints() == []


@pytest.mark.parametrize("name", sorted(registered()))
def test_every_mechanism_has_a_page(name: str) -> None:
    text = (DOCS / "algorithms" / f"{name}.md").read_text(encoding="utf-8")
    for heading in ("What it promises", "Why", "Assumptions", "When to use it"):
        assert heading in text, f"{name}.md lacks '{heading}'"


def test_every_lemma_has_its_parts_and_a_place_in_the_navigation() -> None:
    navigation = (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    index = (DOCS / "lemmas" / "index.md").read_text(encoding="utf-8")
    for path in (DOCS / "lemmas").glob("*.md"):
        assert f"lemmas/{path.name}" in navigation
        if path.stem == "index":
            continue
        assert f"({path.name})" in index
        if path.stem != "post-processing":
            text = path.read_text(encoding="utf-8")
            for heading in ("## Statement", "## Proof", "## Assumptions", "## Who uses it"):
                assert heading in text, f"{path.name} lacks '{heading}'"


def test_a_page_names_what_its_module_imports(library: Any) -> None:
    assert "Rests on: [values](../lemmas/values.md)\n" in library.pages["laplace"]
    assert "Rests on: [rows](../lemmas/rows.md), [laplace](laplace.md)\n" in library.pages["geometric"]
    assert "Rests on: [values](values.md)\n" in library.lemmas["rows"]
    assert "Rests on: nothing beside the theory\n" in library.lemmas["values"]


def test_a_changed_module_asks_for_its_own_page_to_be_read_and_no_other(library: Any) -> None:
    assert changed(library, values=VALUES.replace("60", "61")).stale() == ["lemmas/values"]
    assert changed(library, laplace=LAPLACE.replace("shown(clipped(x))", "clipped(shown(x))")).stale() == [
        "algorithms/laplace"
    ]


def test_words_and_layout_are_not_hashed(library: Any) -> None:
    other = (
        LAPLACE.replace("Return it.", "Give it back.")
        .replace("  # rounded", "")
        .replace("\n    return", "\n\n    return")
    )
    assert other != LAPLACE
    assert changed(library, laplace=other).complaints() == []


def test_the_mark_of_literature_is_not_hashed_and_other_words_of_a_registration_are(library: Any) -> None:
    def registered(words: str) -> Any:
        return changed(library, laplace=f"{LAPLACE}\n@register({words})\nclass New: ...\n")

    plain = registered("examples=some").with_hashes("algorithms/laplace")
    assert registered("examples=some, reference=True").with_hashes("algorithms/laplace") == plain
    assert registered("examples=others").with_hashes("algorithms/laplace") != plain


@pytest.mark.parametrize(
    "line",
    [
        "from dither.mechanisms.new import thing",
        "import dither.mechanisms.new",
        "from dither.mechanisms import new",
        "from dither.publish.package import thing",
        "from dither import thing",
        "def later():\n    from dither.mechanisms.new import thing",
    ],
)
@pytest.mark.parametrize("module", ["dither.mechanisms.laplace", "dither.mechanisms.values"])
def test_a_proof_that_rests_on_an_unlisted_module_is_found(library: Any, module: str, line: str) -> None:
    sources = library.sources | {
        module: f"{library.sources[module]}\n{line}\n",
        "dither.mechanisms.new": "thing = 1\n",
        "dither.publish.package.__init__": "from dither.mechanisms.new import thing\n",
    }
    found = replace(library, sources=sources).complaints()
    unlisted = "dither" if line == "from dither import thing" else "dither.mechanisms.new"
    assert any(f"rests on {unlisted}, which no page proves" in complaint for complaint in found), found


def test_what_stands_below_the_rooms_may_be_imported(library: Any) -> None:
    other = changed(library, values="from dither.privacy import Loss\nimport numpy\n" + VALUES)
    assert [complaint for complaint in other.complaints() if not complaint.startswith("stale")] == []


@pytest.mark.parametrize("page", ["laplace", "geometric"])
@pytest.mark.parametrize("line", ["", "Rests on: [rows](../lemmas/rows.md)", "Rests on: nothing beside the theory"])
def test_a_page_that_does_not_say_what_it_rests_on_is_found(library: Any, tool: Any, page: str, line: str) -> None:
    told = library.line(f"algorithms/{page}")
    other = replace(library, pages=library.pages | {page: library.pages[page].replace(told, line)})
    assert other.complaints() == [f"docs/algorithms/{page}.md does not say what it rests on; run --links"]
    assert other.with_links(f"algorithms/{page}").replace("\n\n\n", "\n") == library.pages[page].replace("\n\n\n", "\n")


def test_a_listed_module_that_is_gone_is_found(library: Any) -> None:
    for gone in ("dither.mechanisms.spec", "dither.publish.drawing", "dither.learn.units"):
        sources = {name: text for name, text in library.sources.items() if name != gone}
        assert f"listed, and not there: {gone}" in replace(library, sources=sources).complaints()


def test_a_module_with_two_places_is_found(library: Any) -> None:
    for module in ("dither.mechanisms.values", "dither.mechanisms.laplace", "dither.mechanisms.spec"):
        listed = f"{LISTED}| `{module}` | Released values. |\n"
        assert replace(library, post_processing=listed).complaints() == [f"listed twice: {module}"]


def test_a_module_that_can_draw_is_no_post_processing(library: Any) -> None:
    for line in (
        "from dither.mechanisms.runner import Runner",
        "from dither.mechanisms import Runner",
        "from dither.noise import Noise",
    ):
        sources = library.sources | {"dither.publish.drawing": line}
        (complaint,) = replace(library, sources=sources).complaints()
        assert complaint.startswith("dither.publish.drawing is listed as post-processing, and imports")


def test_a_listed_module_says_what_it_is_handed(library: Any) -> None:
    (complaint,) = replace(library, post_processing=LISTED.replace("Released values.", "")).complaints()
    assert "docs/algorithms/laplace.md rests on dither.publish.drawing" in complaint


def test_missing_and_spare_pages_are_found(library: Any) -> None:
    assert "algorithms/laplace" in replace(library, pages={"geometric": library.pages["geometric"]}).stale()
    assert "algorithms/other" in replace(library, pages=library.pages | {"other": "# Other\n"}).stale()
    assert "lemmas/empty" in replace(library, lemmas=library.lemmas | {"empty": "# Empty\n"}).stale()
    double = replace(library, lemmas=library.lemmas | {"laplace": "# Laplace\n"})
    assert "docs/lemmas/laplace.md has the name of a mechanism" in double.complaints()


def test_a_page_that_is_not_there_is_not_updated(tool: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["--update", "nobody"]) == 1
    assert "no such mechanism or lemma, or no page for it: nobody" in capsys.readouterr().out


def test_lost_tests_are_noticed(load_tool: Callable[[str], ModuleType]) -> None:
    tool = load_tool("collected")
    assert tool.lost(12_000, 12_000) is None
    assert tool.lost(11_760, 12_000) is None
    assert "11759 tests were collected, and 12000 the last time" in str(tool.lost(11_759, 12_000))
    assert tool.lost(20_000, 12_000) is None
    assert tool.last_collected() > 0


@pytest.mark.parametrize(
    ("present", "is_the_same"),
    [
        ('def f(x):\n    if x < 0:\n        raise InvalidParameter("x", x, "at least 0")\n    return x', True),
        ('def f(x):\n    if x < 1:\n        raise InvalidParameter("x", x, "0 or more")\n    return x', False),
        ('def f(x):\n    if x < 0:\n        raise InvalidParameter("x", 0, "0 or more")\n    return x', False),
        ('def f(x):\n    if x < 0:\n        raise InvalidParameter("x", x, "0 or more")\n    return "x"', False),
    ],
)
def test_only_texts_of_refusals_may_be_reworded(tool: Any, present: str, is_the_same: bool) -> None:
    old = 'def f(x):\n    if x < 0:\n        raise InvalidParameter("x", x, "0 or more")\n    return x'
    written = [ast.dump(tool._without_refusals(text)) for text in (old, present)]
    assert (written[0] == written[1]) is is_the_same
