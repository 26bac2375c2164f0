"""Long parts of an expression, computed once each and read by name: so that nesting does not multiply the SQL.

A form that repeats its operand, in a form that repeats its own, is printed as often as there are ways through the
nest. So a part whose SQL has grown long is put into a *level* (``emit_portable.Levels``), a record of named values that
what stands around it reads. Every function is total, so that a part may be computed where a CASE would have passed it
by. A part that stands in an expression several times, as one object or with the same SQL, is computed once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dither.data.engines.emit_portable import Levels
from dither.data.expressions import Expression


@dataclass
class LongParts:
    """The long parts of one expression that were met so far.

    Attributes:
        root: the expression itself, which is not a part of another one.
        deepest: the level of what was read since it was last set, 0 for none.

    """

    root: Expression
    alias: str = ""
    deepest: int = 0
    _levels: list[list[tuple[str, str]]] = field(default_factory=list)
    _known: dict[int, tuple[Expression, str, int]] = field(default_factory=dict)
    _printed: dict[str, tuple[str, int]] = field(default_factory=dict)

    def read(self, part: Expression) -> str | None:
        """Return the name of a part that was computed before."""
        if id(part) not in self._known:
            return None
        _, name, level = self._known[id(part)]
        self.deepest = max(self.deepest, level)
        return name

    def compute(self, part: Expression, sql: str, emitter: Levels) -> str:
        """Return a name for a part, which reads nothing deeper than ``deepest``."""
        self.alias = self.alias or emitter.fresh("b")
        if sql not in self._printed:
            level = self.deepest + 1
            if len(self._levels) < level:
                self._levels.append([])
            name = f"e{len(self._printed)}"
            self._levels[level - 1].append((name, sql))
            self._printed[sql] = f"{self.alias}.{name}", level
        name, self.deepest = self._printed[sql]
        self._known[id(part)] = part, name, self.deepest  # the part is kept, so that its identity is not reused
        return name

    def around(self, sql: str, emitter: Levels) -> str:
        """Return the SQL of the expression with its long parts computed before it."""
        if not self._levels:
            return sql
        text, known = emitter.first_level(self._levels[0]), [name for name, _ in self._levels[0]]
        for level in self._levels[1:]:
            carried = [(name, f"{self.alias}.{name}") for name in known]
            text = emitter.next_level(text, self.alias, [*carried, *level])
            known += [name for name, _ in level]
        return emitter.last_level(text, self.alias, sql)
