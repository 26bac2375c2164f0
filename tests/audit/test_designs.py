"""Blocks of designs in an audit: all classes are in one, what is found is complained of, what is cut is said."""

from __future__ import annotations

from typing import Any

import pytest

import dither.publish.queries.partitioned as partitioned
from dither.audit import designs
from dither.audit.everything import Extent, Run, tasks_of
from dither.checks.designs import Designed, run_design
from dither.mechanisms import registered


def test_every_class_is_in_one_block() -> None:
    tasks = tasks_of(["designs"], Extent())
    assert [(task.kind, task.number) for task in tasks] == [("designs", number) for number in range(designs.BLOCKS)]
    blocks = [list(registered())[number :: designs.BLOCKS] for number in range(designs.BLOCKS)]
    assert sorted(name for block in blocks for name in block) == sorted(registered())


def test_a_sound_block_is_noted_and_not_complained_of() -> None:
    block = designs.block_of(0, ["identity-histogram"])
    (found,) = block.designs
    assert found.share == 1
    assert found.pairs > found.instances > 3
    assert block.large == ("identity-histogram",)
    run = Run(designs=[block])
    assert run.complaints == []
    assert f"{found.instances} instances of 1 classes" in run.notes[0]


def test_a_planted_fault_is_complained_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of the test above: a person in many parts is priced as in two."""
    before = partitioned.touched_parts
    monkeypatch.setattr(partitioned, "touched_parts", lambda *given: min(2, before(*given)))
    monkeypatch.setattr(designs, "run_design", lambda name, **_: run_design(name, most=8, most_pairs=8, is_full=False))
    block = designs.block_of(0, ["partitioned-query"])
    assert any("too many siblings" in complaint for complaint in Run(designs=[block]).complaints)


def designed(**changes: Any) -> Designed:
    given: dict[str, Any] = {"instances": 3, "pairs": 9, "share": 1.0, "unfitted": (), "violations": (), "seconds": 1.0}
    return Designed("a-class", **(given | changes))


def test_what_was_cut_short_never_looks_like_what_passed() -> None:
    cut = designs.DesignBlock((designed(share=0.5),), (), ())
    assert Run(designs=[cut]).complaints == ["a-class: only 50% of its pairs of parameters were tried in time"]
    large = designs.DesignBlock((designed(),), (), ("a-class, of ten thousand rows: another path was taken",))
    assert Run(designs=[large]).complaints == list(large.violations)


def test_instances_without_data_are_named() -> None:
    lacking = designs.DesignBlock((designed(unfitted=("one", "two")),), (), ())
    assert "2 of a-class" in Run(designs=[lacking]).notes[-1]
