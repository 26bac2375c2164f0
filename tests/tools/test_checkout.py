"""Tools are found in a checkout and refused in an installation, and the wheel has none of them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dither
from dither.audit.everything import PARTS, Extent, run_all, tasks_of
from dither.cli.app import app
from dither.errors import NotFound
from dither.testing import checkout

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let the package lie where an installer puts it."""
    monkeypatch.setattr(dither, "__file__", str(tmp_path / "site-packages" / "dither" / "__init__.py"))


def test_a_checkout_finds_its_tools() -> None:
    assert checkout.root() == ROOT
    assert len(checkout.tool("mutants").MUTANTS) > 100


def test_tools_are_found_from_any_folder(tmp_path: Path) -> None:
    """Not by the working directory, in which a stranger's package may lie."""
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "__init__.py").write_text("")
    script = "from dither.testing.checkout import tool; print(tool('mutants').__file__)"
    asked = [sys.executable, "-c", script]
    hidden = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "another package named 'tools'" in hidden.stderr
    found = subprocess.run(asked, cwd=tmp_path.parent, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str(ROOT / "tools" / "mutants" / "__init__.py")


@pytest.mark.usefixtures("installed")
def test_an_installation_says_where_they_are() -> None:
    with pytest.raises(NotFound, match="tools/rivals/learning is in the source checkout"):
        checkout.tool("rivals.learning")
    with pytest.raises(NotFound, match="tools/mutants is in the source checkout"):
        tasks_of(["mutants"], Extent())
    for words in (["audit", "mutants"], ["bench", "learn", "--models", "logistic", "--rivals", "nowhere"]):
        asked = CliRunner().invoke(app, words)
        assert isinstance(asked.exception, NotFound)
    assert not Path("nowhere").exists()


@pytest.mark.usefixtures("installed")
def test_an_audit_of_everything_leaves_them_out_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.audit.everything.registered", dict)
    parts = list(dict.fromkeys(task.kind for task in tasks_of(["all"], Extent())))
    assert parts == [part for part in PARTS if part != "mutants"]
    run = run_all([], Extent(minutes=0))
    assert "mutants: not tried, because they are in the source checkout alone" in run.notes
    assert not run_all(["minima"], Extent(minutes=0)).notes


def test_the_wheel_is_the_package_and_its_pages() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert built["wheel"].keys() == {"packages", "force-include"}
    assert built["wheel"]["packages"] == ["src/dither"]
    assert all(source.startswith("docs/") for source in built["wheel"]["force-include"])
    assert "tools" in built["sdist"]["include"]


def test_no_tool_lies_in_the_package_or_is_imported_by_it() -> None:
    for path in (ROOT / "src" / "dither").rglob("*.py"):
        assert not re.search(r"^\s*(from|import) tools\b", path.read_text(encoding="utf-8"), re.MULTILINE), path
    names = {path.stem for path in (ROOT / "src" / "dither").rglob("*")}
    assert not names & {"rivals", "mutants", "faults", "shared_faults", "speed", "environments"}
