"""Printing the portable elementary functions: in levels, each of which names the values that the next ones read.

A value that is read more than once would be printed more than once, its operands again in each, and so on without
measure. So it is computed in a *level*, a record of named values that the next level reads; what is read once is
printed in place. The SQL of a function grows with its number of operations and holds each argument once. How levels
follow one another is up to the dialect: subqueries, or a list of one record that is transformed again and again.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dither.data.portable_reals import PORTABLE, Symbol

_Columns = Sequence[tuple[str, str]]


class Levels(ABC):
    """How a dialect computes values once and reads them by name."""

    @abstractmethod
    def first_level(self, columns: _Columns) -> str:
        """Return the SQL of a record with these names and values."""

    @abstractmethod
    def next_level(self, below: str, alias: str, columns: _Columns) -> str:
        """Return the SQL of a record whose values read those of the record below as ``alias.name``."""

    @abstractmethod
    def last_level(self, below: str, alias: str, value: str) -> str:
        """Return the SQL of a value that reads those of the record below as ``alias.name``."""

    @abstractmethod
    def fresh(self, letter: str) -> str:
        """Return a name that is not in use."""

    @abstractmethod
    def real(self, value: float) -> str:
        """Return a finite real constant."""

    def portable_function(self, function: str, arguments: Sequence[str]) -> str:
        """Return the SQL of a portable function, which is NULL or finite and never raises."""
        plan = _plan(function)
        text = self.first_level(list(zip(plan.names.values(), arguments, strict=False)))
        known: frozenset[Symbol] = frozenset(plan.levels[0])
        for level in plan.levels[1:]:
            alias = self.fresh("b")
            columns = [(plan.names[one], self._printed(one, plan, known, alias)) for one in level]
            text = self.next_level(text, alias, columns)
            known = frozenset(level)
        alias = self.fresh("b")
        return self.last_level(text, alias, self._printed(plan.result, plan, known, alias))

    def _printed(self, value: Symbol | float | None, plan: _Plan, known: frozenset[Symbol], alias: str) -> str:
        if value is None:
            return "NULL"
        if not isinstance(value, Symbol):
            return self.real(value)
        if value in known:
            return f"{alias}.{plan.names[value]}"
        parts = [self._printed(operand, plan, known, alias) for operand in value.operands]
        if value.operation in _CHOICES:
            return f"CASE WHEN {parts[0]} {value.operation} {parts[1]} THEN {parts[2]} ELSE {parts[3]} END"
        return f"({parts[0]} {value.operation} {parts[1]})"


_CHOICES = (">=", "=")


@dataclass(frozen=True)
class _Plan:
    """A function as levels of symbols, the arguments first; the result is read from the last level."""

    levels: tuple[tuple[Symbol, ...], ...]
    names: Mapping[Symbol, str]
    result: Symbol


@functools.cache
def _plan(function: str) -> _Plan:
    arguments = [Symbol(name) for name in inspect.signature(PORTABLE[function]).parameters]
    result = PORTABLE[function](*arguments)
    ordered = _in_order(result)
    uses = Counter(operand for one in ordered for operand in _below(one))
    named = [*arguments, *(one for one in ordered if uses[one] > 1 and one not in arguments)]
    reads = {one: _named_below(one, frozenset(named)) for one in (*named, result)}
    level: dict[Symbol, int] = {}
    for one in (*named, result):
        level[one] = 1 + max((level[other] for other in reads[one]), default=-1)
    readers: dict[Symbol, list[Symbol]] = {one: [] for one in named}
    for one, others in reads.items():
        for other in others:
            readers[other].append(one)
    last = {one: max(level[other] for other in readers[one]) - 1 for one in named}
    for one in reversed(named[len(arguments) :]):
        # Computed just before it is first read, if that keeps nothing longer than it is kept anyway.
        latest = min(level[other] for other in readers[one]) - 1
        if all(last[other] >= latest - 1 for other in reads[one]):
            level[one] = latest
    levels = tuple(tuple(one for one in named if level[one] <= number <= last[one]) for number in range(level[result]))
    return _Plan(levels, {one: f"x{number}" for number, one in enumerate(named)}, result)


def _named_below(symbol: Symbol, named: frozenset[Symbol]) -> frozenset[Symbol]:
    """Return the named values that the SQL of a value reads."""
    parts = [frozenset((operand,)) if operand in named else _named_below(operand, named) for operand in _below(symbol)]
    return frozenset().union(*parts)


def _below(symbol: Symbol) -> list[Symbol]:
    return [operand for operand in symbol.operands if isinstance(operand, Symbol)]


def _in_order(result: Symbol) -> list[Symbol]:
    """Return every value that the result is computed from, operands before their readers."""
    found: dict[Symbol, None] = {}

    def visit(symbol: Symbol) -> None:
        if symbol not in found:
            for operand in _below(symbol):
                visit(operand)
            found[symbol] = None

    visit(result)
    return list(found)
