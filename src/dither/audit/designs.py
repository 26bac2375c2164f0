"""All instances of the covering designs, all examples under contract, and ten thousand rows for who takes rows.

``checks.designs`` says what is tried of an instance; here it is tried of all of them, with all of their neighbours. The
contract is kept on every example, in full, of which the tests try two. No statistics, but for the coverage of intervals
and the laws of what is enlarged: what is found is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from dither.checks.contract import checks
from dither.checks.designs import Designed, check_thousands, run_design
from dither.checks.violation import ContractViolation
from dither.mechanisms import find, registered

#: In so many blocks the classes are tried, each a task of its own.
BLOCKS: Final = 32
#: Of one process, after which no further instance of a class is begun.
_SECONDS: Final = 90.0
#: By chance the contract of a sound example fails: three confidences, and the laws of what is enlarged, 1e-10 each.
FALSE_ALARM: Final = 4e-10


@dataclass(frozen=True)
class DesignBlock:
    """What was found in the designs of some classes, on ten thousand rows of each, and on so many examples."""

    designs: tuple[Designed, ...]
    large: tuple[str, ...]
    violations: tuple[str, ...]
    examples: int = 0


def block_of(number: int, names: Sequence[str] | None = None) -> DesignBlock:
    """Run the designs of one block of classes, a pair of ten thousand rows of each, and the contract in full.

    Args:
        number: of the block, counted from 0.
        names: of classes; all that are registered where it is None.

    """
    found: list[Designed] = []
    large: list[str] = []
    violations: list[str] = []
    examples = 0
    for name in list(registered() if names is None else names)[number::BLOCKS]:
        found.append(run_design(name, seconds=_SECONDS))
        try:
            if check_thousands(name):
                large.append(name)
        except ContractViolation as violation:
            violations.append(f"{name}, of ten thousand rows: {violation}")
        examples += len(list(find(name).examples()))
        violations += _contract_of(name)
    return DesignBlock(tuple(found), tuple(large), tuple(violations), examples)


def _contract_of(name: str) -> Iterator[str]:
    """Return what a class breaks of its contract, on all of its examples."""
    for title, check in checks(name):
        try:
            check()
        except ContractViolation as violation:
            yield f"{title}: {violation}"


def complaints_of(blocks: Sequence[DesignBlock]) -> list[str]:
    """Return what was found, and which designs were not tried to their end, as sentences."""
    designs = [design for block in blocks for design in block.designs]
    found = [complaint for design in designs for complaint in design.complaints]
    found += [violation for block in blocks for violation in block.violations]
    return found + [
        f"{design.name}: only {design.share:.0%} of its pairs of parameters were tried in time"
        for design in designs
        if design.share < 1 and not design.violations
    ]


def notes_of(blocks: Sequence[DesignBlock]) -> list[str]:
    """Return what was tried, in sentences."""
    designs = [design for block in blocks for design in block.designs]
    if not designs:
        return []
    instances, pairs = sum(one.instances for one in designs), sum(one.pairs for one in designs)
    large = sum(len(block.large) for block in blocks)
    said = [
        f"designs: {instances:,} instances of {len(designs)} classes, in which every allowed pair of values of two "
        f"parameters occurs; {pairs:,} pairs of neighbours replayed; {large} classes tried on 10,000 rows",
        f"contract: {sum(block.examples for block in blocks):,} examples, in full",
    ]
    without = {one.name: len(one.unfitted) for one in designs if one.unfitted}
    if without:
        listed = ", ".join(f"{count} of {name}" for name, count in sorted(without.items()))
        said.append(f"designs: instances without data that fits them, of which only the price is known: {listed}")
    return said
