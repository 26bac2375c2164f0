"""The printed SQL is audited where it runs: nothing is found on the engines as they are, and a wrong limit is found."""

from __future__ import annotations

import pytest

from dither.audit.engines import PRINTED, EngineAudit, audit_engine
from dither.audit.everything import Extent, Run, run_all, tasks_of
from dither.audit.figures import figures_of
from dither.audit.queries import Found
from dither.testing.engines import EngineAbsent, Engines
from tools.mutants.plants import PLANTS, Plant

#: Limits of a person that every emitter prints too wide, and a clamp that only PostgreSQL prints on one side.
_WIDE, _ONE_SIDED = PLANTS[62], PLANTS[64]


def tried(name: str, pairs: int) -> EngineAudit:
    """Return the findings on an engine, or skip where it is absent."""
    found = audit_engine(name, pairs)
    if found.absent:
        pytest.skip(found.absent)
    return found


@pytest.mark.parametrize("name", ["duckdb", "postgresql"])
def test_numbers_of_an_engine_move_as_declared_and_are_those_of_the_reference(name: str) -> None:
    found = tried(name, 5)
    assert found.complaints == []
    assert found.pairs == 5
    assert found.moved
    assert "0 exceeded, 0 differences" in str(found)


@pytest.mark.parametrize(("name", "planted"), [("duckdb", _WIDE), ("postgresql", _WIDE), ("postgresql", _ONE_SIDED)])
def test_what_is_printed_wrongly_is_found(name: str, planted: Plant) -> None:
    # Limits are missed only where all rows of those who visit both sites lie at one (below 1e-9). A clamp is found by
    # values next to its bounds, which are the same in every run.
    with planted.patch():
        assert tried(name, 200).complaints


def test_an_absent_engine_is_named_and_is_no_complaint(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: object, **__: object) -> object:
        raise EngineAbsent("there is none here")

    monkeypatch.setattr(Engines, "_postgresql", absent)
    found = audit_engine("postgresql", 2)
    assert str(found) == "postgresql: not tried, because there is none here"
    run = Run(engines=[found])
    assert run.complaints == []
    assert str(found) in run.notes


def test_the_whole_audit_has_a_task_for_each_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [task.size for task in tasks_of(["engines"], Extent())]
    assert len(sizes) == len(PRINTED)
    assert min(sizes) >= 10
    seen = []

    def audited(name: str, pairs: int, *, seconds: float) -> EngineAudit:
        seen.append((name, pairs, seconds))
        return EngineAudit(name, pairs, {"sums": Found("sums", 2, 1)} if name == "spark" else {})  # type: ignore[arg-type]

    monkeypatch.setattr("dither.audit.everything.audit_engine", audited)
    run = run_all(["engines"], Extent(pairs=1000, processes=1))
    assert [name for name, *_ in seen] == list(PRINTED)
    assert run.complaints == ["spark: sums moved by more than its sensitivity"]
    rows = {name: said for name, said, _ in figures_of(run).rows}
    assert rows["SQL for spark"] == "1 hostile pairs, 1 exceeded, 0 differences"
