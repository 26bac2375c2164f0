"""Queries over a table that stays with the curator: each is answered with noise and charged.

For a few questions that are not known in advance. The table is kept merged, as the thesis keeps it; a question about an
attribute finds its group and its place in it, un-merges that group, counts, and adds noise. Cost: a pass over the rows
for each condition of a question. Corrections: the printed method adds noise of the same scale to every answer and keeps
no account, so that asking again and averaging reveals the count; here a filter refuses what no longer fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.exact import Number, Of, positive, typed, whole
from dither.lift.attributes import Attributes
from dither.mechanisms.core.mechanism import Interactive, Numerics
from dither.mechanisms.core.purse import PureSpending
from dither.mechanisms.core.registry import Dialogue, Example, register
from dither.mechanisms.core.runner import Runner, quietly
from dither.mechanisms.geometric import Geometric
from dither.privacy import ROW, Filter, Loss, Plan, PureDP, Unit, Within
from dither.publish.microdata.merged import MergedAttributes, merged_of
from dither.publish.microdata.priv_fuzzy import GroupNames


@dataclass(frozen=True)
@typed
class Question:
    """A question: how many records have, for every condition, one of these codes of this attribute.

    Args:
        conditions: pairs of the name of an attribute and codes of it; all must hold.
        epsilon: what the answer may cost.

    """

    conditions: tuple[tuple[str, tuple[int, ...]], ...]
    epsilon: Fraction

    def __post_init__(self) -> None:
        is_well_formed = isinstance(self.conditions, tuple) and all(
            isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str) and isinstance(each[1], tuple)
            for each in self.conditions
        )
        if not is_well_formed:
            raise InvalidParameter(
                "conditions", self.conditions, "pairs of the name of an attribute and a tuple of codes"
            )

    @classmethod
    def about(cls, attribute: str, codes: Iterable[int], epsilon: Number) -> Question:
        """Return the question with one condition: query(attr, cond) in the thesis."""
        return cls(((attribute, tuple(codes)),), positive("epsilon", epsilon))


def _examples() -> Iterator[Example]:
    table = Attributes.of({"a": 2, "b": 3})
    rows = np.array([[0, 1], [1, 2], [5, -3]])
    script = (Question.about("b", [0, 2], "1/2"), Question((("a", (1,)), ("b", (0,))), Fraction(1, 4)))
    # The last row meets both questions, the first none.
    tables = ((rows, rows[:2]), (rows[:0], rows[2:]), (rows, rows[1:]))
    pairs = tuple((Dialogue(here, script), Dialogue(there, script), 1) for here, there in tables)
    mechanism = KeptTable(attributes=table, groups=(("a", "b"),), budget=PureDP(1))
    yield Example(mechanism, Dialogue(rows, script), pairs)


@register(
    examples=_examples,
    source="A study on privacy preserving data publishing with differential privacy (Kar 2017), section 3.4.4 and "
    "Algorithm 3, with an account",
)
@dataclass(frozen=True, kw_only=True)
class KeptTable(Interactive[Any, "Conversation"]):
    """Answer counting questions about a kept table, as long as their cost fits a budget.

    Guarantee: tables that differ in one row lose ``budget`` over the whole conversation, whatever is asked; in ``d_in``
    rows, d_in times that. One answer loses the epsilon that its question offers.

    Args:
        attributes: names and sizes, as encodings say; public.
        groups: public groups, in which the table is kept merged; others stay alone.
        budget: for the whole conversation.

    >>> KeptTable(attributes=Attributes.of({"age": 4}), budget=PureDP(1)).loss(1)
    PureDP('1')

    """

    name: ClassVar[str] = "kept-table"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "it depends on what each question offers: see Geometric with scale 1 / epsilon"
    no_interval_because: ClassVar[str] = no_error_because

    attributes: Of[Attributes] = Of(Attributes)
    groups: GroupNames = GroupNames(())
    budget: PureSpending = PureSpending()

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", merged_of(self.attributes, self.groups).groups)

    @property
    def distance(self) -> Unit:
        """Rows added or removed."""
        return ROW

    def plan(self) -> Plan:
        """Answers, while the filter admits them."""
        return Within(self.budget, (Geometric,))

    def open(self, data: Any, run: Runner) -> Conversation:
        """Return the conversation about these records."""
        merged = merged_of(self.attributes, self.groups)
        return Conversation(merged, merged.merge(self.attributes.codes(data).T), run.within(), Filter(self.budget))


class Conversation:
    """A kept table, and what has been asked about it. Its runner binds it to thread and process."""

    def __init__(self, merged: MergedAttributes, table: NDArray[np.int64], run: Runner, account: Filter) -> None:
        self._merged, self._table, self._run, self._account = merged, table, run, account

    @property
    def left(self) -> Loss:
        """The largest question that still fits."""
        return self._account.room()

    def query(self, attribute: str, codes: Iterable[int], epsilon: Number) -> int:
        """Return approximately how many records have one of these codes of an attribute."""
        return self.ask(Question.about(attribute, codes, epsilon))

    @quietly
    def ask(self, question: Question) -> int:
        """Return the noisy count, or raise BudgetExceeded and take nothing."""
        if not isinstance(question, Question):
            raise InvalidParameter("question", question, "a Question")
        # What is asked is public and is refused before it costs anything.
        wanted = [self._condition(name, codes) for name, codes in question.conditions]
        part = Geometric(scale=1 / positive("epsilon", question.epsilon))
        self._account.spend(part.loss(1))
        holds = np.ones(self._table.shape[0], dtype=bool)
        for column, mask in wanted:
            holds &= mask[self._codes(column)]
        return int(self._run(part, int(holds.sum())))

    def _condition(self, name: str, codes: tuple[int, ...]) -> tuple[str, NDArray[np.bool_]]:
        group, place = self._merged.place(name)
        size = self._merged.attributes.sizes[self._merged.axes[group][place]]
        mask = np.zeros(size, dtype=bool)
        mask[[whole("codes", code, most=size - 1) for code in codes]] = True
        return name, mask

    def _codes(self, name: str) -> NDArray[np.int64]:
        """Return the codes of one attribute from those of its merged group. Private."""
        group, place = self._merged.place(name)
        rest = self._table[:, group]
        sizes = [self._merged.attributes.sizes[axis] for axis in self._merged.axes[group]]
        return (rest // int(np.prod(sizes[place + 1 :], dtype=np.int64))) % sizes[place]
