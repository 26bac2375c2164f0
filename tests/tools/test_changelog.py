"""The changelog is written from fragments, says each thing in a line, and takes what a branch wrote by hand."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import changelog
from tools.changelog import ROOT, Fragment, adopted, complaints, fragments, main, unreleased

OLD = """# Changelog

## 0.2.0 (unreleased)

### Added

*A room*

- A thing that
  spans two lines.

Words between.

### Fixed

- `x` is mended.

## 0.1.0

### Added

- All of it.
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of version 0.2.0 with two fragments and a released version."""
    files = {
        "src/dither/__init__.py": '"""."""\n\n__version__ = "0.2.0.dev0"\n',
        "changelog.d/sql/medians.fixed.md": "Medians are right.\n`AVG` is right.\n",
        "changelog.d/room.added.md": "A room.\n",
        "changelog.d/released/0.1.0.md": "## 0.1.0\n\n### Added\n\n- All of it.\n",
        "changelog.d/released/0.10.0.md": "## 0.10.0\n\n### Added\n\n- Later.\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_changelog_is_fresh_and_its_fragments_are_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_no_line_of_the_changelog_is_longer_than_an_entry() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert max(map(len, lines)) <= max(changelog.MOST.values()) + len("- ")


def test_every_promise_that_was_wrong_says_which_release_it_concerns() -> None:
    """But for what is new, and asks something of a curator."""
    entries = [entry for one in fragments() if one.kind == "privacy" for entry in one.entries]
    known = ("0.1.0: ", "Development versions of 0.2.0: ")
    new = [entry for entry in entries if not entry.startswith(known)]
    assert len(entries) > 80
    assert [entry.partition(" ")[0] for entry in new] == ["Killed", "Protect", "Not", "Ledgers", "Budgets"]


def test_entries_are_sorted_by_class_and_area(project: Path) -> None:
    assert main([], project) == 0
    text = (project / "CHANGELOG.md").read_text(encoding="utf-8")
    _, *versions = text.split("\n## ")
    assert versions == [
        "0.2.0 (unreleased)\n\n### Added\n\n- A room.\n\n### Fixed\n\n#### SQL and queries\n\n"
        "- Medians are right.\n- `AVG` is right.\n",
        "0.10.0\n\n### Added\n\n- Later.\n",
        "0.1.0\n\n### Added\n\n- All of it.\n",
    ]
    assert main(["--check"], project) == 0


def test_a_stale_changelog_is_named_and_left_alone(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "CHANGELOG.md").write_text("by hand", encoding="utf-8")
    assert main(["--check"], project) == 1
    assert "stale: CHANGELOG.md" in capsys.readouterr().out
    assert (project / "CHANGELOG.md").read_text(encoding="utf-8") == "by hand"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("sql/medians.md", "Right.\n", "must end with a class"),
        ("sql/medians.mended.md", "Right.\n", "must end with a class"),
        ("Medians.fixed.md", "Right.\n", "must end with a class"),
        ("nowhere/medians.fixed.md", "Right.\n", "no such area"),
        ("sql/medians.fixed.md", "\n", "says nothing"),
        ("sql/medians.fixed.md", "- Right.\n", "without bullet"),
        ("sql/medians.fixed.md", "# Right.\n", "without bullet"),
        ("sql/medians.fixed.md", "no sentence\n", "a sentence"),
        ("sql/medians.fixed.md", f"{'Long ' * 44}.\n", "221 characters, at most 220"),
        ("sql/medians.privacy.md", f"{'Long ' * 80}.\n", "401 characters, at most 400"),
        ("sql/medians.fixed.md", "Right.\nRight.\n", "said twice"),
    ],
)
def test_a_fragment_that_is_not_in_order_is_refused(
    name: str, text: str, said: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = complaints([Fragment(name, text)])
    assert len(found) == 1
    assert said in found[0]
    (project / "changelog.d" / name).parent.mkdir(exist_ok=True)
    (project / "changelog.d" / name).write_text(text, encoding="utf-8")
    assert main([], project) == 1
    assert main(["--check"], project) == 1
    assert said in capsys.readouterr().out


def test_fragments_of_the_greatest_length_pass() -> None:
    assert complaints([Fragment("a.fixed.md", "L" * 219 + ".\n"), Fragment("b.privacy.md", "L" * 399 + ".\n")]) == []


def test_entries_by_hand_are_read_with_their_lines_joined() -> None:
    assert unreleased(OLD) == [("added", "A thing that spans two lines."), ("fixed", "`x` is mended.")]
    assert unreleased("# Changelog\n") == []


def test_new_entries_of_a_branch_become_fragments() -> None:
    new = OLD.replace(
        "### Fixed\n\n", "### Fixed\n\n- `dither add` of an empty\n  file is refused.\n- `AVG` is right.\n"
    )
    known = [Fragment("sql/avg.fixed.md", "`AVG` is right.\n")]
    assert adopted(OLD, new, known) == {
        "dither-add-of-an-empty-file.fixed.md": "`dither add` of an empty file is refused.\n"
    }
    assert adopted(new, OLD, []) == {}


def test_a_branch_is_adopted_in_the_midst_of_a_merge(project: Path) -> None:
    """Ours wrote fragments, theirs wrote by hand: after the conflict both are in the changelog."""

    def git(*words: str, is_checked: bool = True) -> int:
        asked = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-C", str(project), *words]
        return subprocess.run(asked, check=is_checked, capture_output=True).returncode

    path = project / "CHANGELOG.md"
    path.write_text(OLD, encoding="utf-8")
    git("init", "-b", "main")
    git("add", "CHANGELOG.md", "src")
    git("commit", "-m", "Begin")
    git("checkout", "-b", "theirs")
    path.write_text(OLD.replace("### Added\n\n", "### Added\n\n- Their work is here.\n", 1), encoding="utf-8")
    git("commit", "-am", "Write by hand")
    git("checkout", "main")
    assert main([], project) == 0
    git("add", ".")
    git("commit", "-m", "Write from fragments")
    assert git("merge", "theirs", is_checked=False) == 1
    assert main(["--adopt", "MERGE_HEAD"], project) == 0
    assert (project / "changelog.d/their-work-is-here.added.md").read_text(encoding="utf-8") == "Their work is here.\n"
    text = path.read_text(encoding="utf-8")
    assert "- Their work is here.\n" in text
    assert "- Medians are right.\n" in text
    assert "<<<<" not in text


def test_a_release_moves_all_fragments(project: Path) -> None:
    assert main(["--release", "0.2.0", "2026-12-01"], project) == 0
    assert fragments(project) == []
    versions = (project / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert [one.split("\n", 1)[0] for one in versions] == ["0.10.0", "0.2.0 (2026-12-01)", "0.1.0"]
    assert "- Medians are right.\n" in versions[1]
    assert main(["--check"], project) == 0
