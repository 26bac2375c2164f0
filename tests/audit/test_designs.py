"""Blocks of designs in an audit: all classes are in one, what is found is complained of, what is cut is said."""

from __future__ import annotations

from typing import Any

import pytest

import dither.publish.queries.partitioned as partitioned
from dither.audit import designs
from dither.audit.everything import Extent, Run, tasks_of
from dither.checks import contract
from dither.checks.designs import Designed, run_design
from dither.checks.violation import require
from dither.mechanisms import Example, find, registered


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
    examples = len(list(find("identity-histogram").examples()))
    assert f"contract: {examples} examples, in full" in run.notes


def test_the_contract_is_kept_on_all_examples_and_a_fault_of_one_is_complained_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also of one in the middle of the list, which the test of the contract leaves out."""
    examples = list(find("query").examples())
    middle = examples[len(examples) // 2]

    def broken(example: Example) -> None:
        require(example is not middle, "this example is broken")

    monkeypatch.setattr(contract, "MECHANISM_CHECKS", (broken,))
    monkeypatch.setattr(contract, "CLASS_CHECKS", ())
    monkeypatch.setattr(designs, "run_design", lambda name, **_: designed())
    block = designs.block_of(0, ["query"])
    assert block.examples == len(examples) > 2
    assert Run(designs=[block]).complaints == [f"query-{len(examples) // 2}-broken: this example is broken"]
    for _, check in contract.checks("query", most=2):
        check()


def test_the_contract_in_full_has_the_longer_checks() -> None:
    few, whole = (dict(contract.checks("laplace", most=most)) for most in (2, None))
    assert few.keys() <= whole.keys()
    for short, long in contract._IN_FULL.items():
        (title,) = (title for title in few if title.endswith(f"-{short.__name__}"))
        assert few[title].func is short  # type: ignore[attr-defined]
        assert whole[title].func is long  # type: ignore[attr-defined]


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
