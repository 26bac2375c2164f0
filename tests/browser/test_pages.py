"""Pages of the product in a real browser: a part of what ``make browser`` looks at."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.browser.__main__ import told
from tools.browser.everything import KINDS, Maker
from tools.browser.looking import SOME_LOOKS, WIDE, Browser

#: One of each way to draw or to write; make browser looks at the others, too.
SOME = ("demo", "query", "histogram", "heat map", "flows", "synthetic graph", "stream", "disguise", "home")


@pytest.fixture(scope="module")
def maker(tmp_path_factory: pytest.TempPathFactory) -> Maker:
    return Maker(tmp_path_factory.mktemp("pages"))


@pytest.mark.parametrize("kind", SOME)
def test_a_page_looks_well(kind: str, window: Browser, maker: Maker) -> None:
    window.open(maker.make(kind))
    assert told(window.faults(SOME_LOOKS, with_axe=[WIDE])) == []


def test_every_kind_has_a_page_of_its_own() -> None:
    assert set(SOME) <= KINDS.keys()
    assert len({make.__code__.co_consts for make in KINDS.values()}) == len(KINDS)


def test_whatever_writes_html_is_looked_at() -> None:
    # A module that writes a page is named here with the kinds that open it: a new one is a question to its author.
    source = Path(__file__).parents[2] / "src" / "dither"
    imported = re.compile(r"^ *from dither\.pages\.page import (\([^)]*\bpage\b|[^(\n]*\bpage\b)", re.MULTILINE)
    writers = {
        str(file.relative_to(source))
        for file in source.rglob("*.py")
        if imported.search(file.read_text(encoding="utf-8"))
    }
    assert writers == LOOKED_AT.keys()
    assert {kind for kinds in LOOKED_AT.values() for kind in kinds} <= KINDS.keys()


#: The modules that write pages, and the kinds in which they are seen.
LOOKED_AT = {
    "attack/page.py": ["attack"],
    "audit/report.py": ["audit"],
    "cli/compare.py": ["comparison"],
    "cli/compare_learning.py": ["comparison of models"],
    "cli/demo/report.py": ["demo"],
    "cli/survey.py": ["survey"],
    "cli/survey_quantities.py": ["survey of numbers"],
    "disguise/report.py": ["disguise", "risk"],
    "pages/frame.py": ["saved picture"],
    "publish/graphs/synthesis/pictures.py": ["synthetic graph"],
    "publish/microdata/report.py": ["anonymized table"],
    "publish/places/shown.py": ["heat map", "regions", "flows", "stops", "journeys"],
    "publish/queries/pictures.py": [
        "query",
        "one measure",
        "wide query",
        "single number",
        "histogram",
        "workload",
        "limits",
    ],
    "publish/streams/pictures.py": ["stream"],
    "publish/synthetic/report.py": ["synthetic table"],
    "service/front.py": ["home", "api"],
    "service/sign_in.py": ["signed in"],
}
