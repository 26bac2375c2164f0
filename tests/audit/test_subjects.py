"""Anybody's own mechanism or function: found by name, audited by one command, with a page that shows why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dither.audit import subject, subjects_of
from dither.audit.__main__ import main
from dither.audit.everything import Extent, run_all, tasks_of
from dither.cli import audit as verb
from dither.errors import InvalidParameter, UnknownMechanism
from dither.privacy import PureDP

OWN = '''
import numpy as np
from dither.audit import subject
from dither.mechanisms import Example, Geometric
from dither.privacy import PureDP

def leaky(value):
    """Adds no noise at all."""
    return value

def many(value, count):
    return np.full(count, value)

careless = subject(many, PureDP(1), (0, 1), (3, 5))
instance = Geometric(scale=1, shape=2)
examples = [Example(Geometric(scale=1), 4)]
number = 7
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "my_own_mechanisms.py"
    path.write_text(OWN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return path


def test_what_a_name_may_be(own: Path) -> None:
    assert len(subjects_of("my_own_mechanisms:careless")) == 1
    assert len(subjects_of(f"{own}:examples")) == 1
    assert subjects_of("my_own_mechanisms:instance")[0].data.shape == (2,)  # type: ignore[union-attr]
    assert len(subjects_of("dither.mechanisms:Geometric")) == 3
    (found,) = subjects_of("my_own_mechanisms:leaky", claim=PureDP(1), pairs=[(0, 1)])
    assert found.sample(4, 2).tolist() == [4, 4]  # type: ignore[union-attr]
    for name, complaint in {
        "my_own_mechanisms:number": "an Example",
        "my_own_mechanisms:missing": "has",
        "no_such_module:thing": "imported",
        "no_such_file.py:thing": "exists",
        "my_own_mechanisms:leaky": "claim",
    }.items():
        with pytest.raises(InvalidParameter, match=complaint):
            subjects_of(name)
    with pytest.raises(UnknownMechanism):
        subjects_of("nonsense")
    with pytest.raises(InvalidParameter, match="pair"):
        subject(len, PureDP(1))


def test_a_leak_is_refuted_and_the_page_says_why(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["my_own_mechanisms:careless", "--samples", "2000", "--report", "page.html"]) == 1
    page = Path("page.html").read_text(encoding="utf-8")
    for shown in ("REFUTED", "<svg", "x in {", "the value", "its neighbour", "given pair", "epsilon = 1"):
        assert shown in page
    # Nothing is fetched from outside; the namespace of SVG is a name, not an address.
    assert "://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "REFUTED" in capsys.readouterr().out


@pytest.mark.statistical(n=1000, false_alarm=1e-9, catches="a verb that refutes what is true")
def test_the_verb_audits_what_is_yours(
    own: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verb, "_FALSE_ALARM", 1e-9)
    claimed = {"claim": PureDP(1), "pairs": [(0, 1)]}
    assert verb.run("my_own_mechanisms:leaky", samples=1000, as_json=True, **claimed) == 1  # type: ignore[arg-type]
    (verdict,) = json.loads(capsys.readouterr().out)
    assert verdict["is_refuted"]
    assert verb.run("my_own_mechanisms:examples", samples=1000, as_json=False, report=Path("report.json")) == 0
    assert json.loads(Path("report.json").read_text(encoding="utf-8"))["accounts"][0]["pairs"] > 5
    with pytest.raises(InvalidParameter, match="report"):
        verb.run("my_own_mechanisms:examples", samples=1000, as_json=True, report=Path("report.pdf"))


@pytest.mark.statistical(n=2000, false_alarm=1e-9, catches="a verb that refutes sound noise")
def test_the_verb_audits_the_noise(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verb, "_FALSE_ALARM", 1e-9)
    assert verb.run("noise", samples=2000, as_json=True) == 0
    assert len(json.loads(capsys.readouterr().out)) >= 12
    assert verb.run("noise", samples=2000, as_json=False) == 0
    assert "noise is fresh" in capsys.readouterr().out


def test_a_run_never_spends_more_than_its_false_alarm() -> None:
    extent = Extent(false_alarm=1e-6, compositions=1000, pairs=6000)
    tasks = tasks_of([], extent)
    assert sum(task.false_alarm for task in tasks) <= 1e-6 * (1 + 1e-9)
    assert sum(task.size for task in tasks if task.kind == "accountants") == 1000
    assert sum(task.size for task in tasks if task.kind == "queries") == 6000
    replays = sum(task.replays for task in tasks if task.name == "poisson-sample")
    assert replays >= extent.replays


def test_what_was_not_tried_is_named() -> None:
    seen = []
    run = run_all(["geometric"], Extent(minutes=0, processes=1), lambda *told: seen.append(told))
    assert run.unfinished == ["geometric 0", "geometric 1", "geometric 2"]
    assert len(run.complaints) == 3
    assert seen[-1][:2] == (3, 3)


@pytest.mark.statistical(n=500, false_alarm=1e-9, catches="a replay that is left out of the account")
def test_composed_mechanisms_are_replayed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dither.audit.everything.SECONDS_COMPOSED", 0.2)
    run = run_all(["grouping-and-smoothing"], Extent(samples=500, replays=20, processes=1, false_alarm=1e-9))
    assert [account.replayed for account in run.accounts] == [7, 7, 7]
    assert run.complaints == []
