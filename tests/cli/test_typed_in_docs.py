"""What pages and help tell people to type works on the data set of the demonstration: each is priced, none is asked."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from dither.cli import exits
from dither.cli.demo import clinic
from dither.cli.examples import EXAMPLES
from dither.errors import InvalidParameter

from .test_publish import record, run

DOCS = Path(__file__).parents[2] / "docs"
CHARGING = ("sql", "synthesize", "anonymize", "fit", "publish")
_TYPED = re.compile(rf"^(?:\$ )?(dither (?:{'|'.join(CHARGING)}|quote)\b.* clinic .*)$", re.MULTILINE)


def typed() -> list[str]:
    """Return the commands about the demonstration's data set, of pages and of help."""
    pages = [path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))]
    found = [line for page in pages for line in _TYPED.findall(page)]
    found += [line for lines in EXAMPLES.values() for line in lines if _TYPED.match(line)]
    return list(dict.fromkeys(line for line in found if "--epsilon" in line or "--target " in line))


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("typed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DITHER_ANCHORS", str(folder / "anchors"))
        patch.setenv("DITHER_HOME", str(folder / "home"))
        patch.chdir(folder)
        clinic.write(folder, persons=20)
        run("init", "home")
        run("add", "clinic.yaml", "--budget", "2", "--delta", "1e-5")
        yield folder


def test_there_is_something_to_try() -> None:
    assert len(typed()) > 15


@pytest.mark.parametrize("line", typed())
def test_what_people_are_told_to_type_can_be_priced(line: str) -> None:
    words = shlex.split(line, comments=True)[1:]
    quoted = [] if words[0] == "quote" or "--quote" in words else ["--quote"]
    assert run(*words, *quoted)


def test_nothing_was_asked() -> None:
    assert record("ledger", "show", "clinic")[0]["releases"] == 0


def test_the_page_has_all_exit_codes() -> None:
    page = (DOCS / "command.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| (\d+) \| (.*) \|$", page, re.MULTILINE))
    assert listed == {str(code): said for code, said in exits.MEANINGS.items()}


def test_a_synthetic_table_needs_no_list_of_columns(place: Path) -> None:
    """What nothing is declared about is left out, and said; what was said of a column is not."""
    done = record("synthesize", "clinic", "--epsilon", "0.5", "-o", "made.json", "--method", "independent")
    assert done["columns"] == ["age", "region", "ward", "day", "waited"]
    words = ("synthesize", "clinic", "--epsilon", "0.5", "-o", "more.json", "--method", "independent")
    said = run(*words, "--key", "more")
    assert "omitted, because neither categories nor bounds are declared: complaint" in said
    assert "a row counts only if it has a declared value in each of age, region, ward, day, waited" in " ".join(
        said.split()
    )
    assert "synthetic rows of visits to more.json: age, region, ward, day, waited" in said
    assert "by independent; its rows are synthetic" in said
    assert "draw more rows for free with --rows N --key more" in said
    with pytest.raises(InvalidParameter, match="complaint"):
        run("synthesize", "clinic", "--epsilon", "0.5", "-o", "other.json", "--columns", "age,complaint")
