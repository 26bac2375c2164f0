"""The tally of a stream: how much of each person has counted, and what a tick adds up to.

Of one person at most ``Ticks.rows`` rows count in a tick, the first by time; in at most ``Ticks.ticks`` ticks, the
first ones; and no two of these are less than ``Ticks.gap`` apart. What counts of a person is a function of that
person's own rows, which is why the tally is private state and has to outlive the process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from dither.data.ticks import Ticks
from dither.mechanisms.core.values import LARGEST_SUM
from dither.publish.queries.measures import Measured
from dither.publish.streams.arrivals import Batch


@dataclass(frozen=True)
class Standing:
    """What has counted of one person: in how many ticks, and in which one last."""

    used: int = 0
    last: int | None = None

    def may_count(self, tick: int, ticks: Ticks) -> bool:
        """Return whether the person counts in a tick."""
        is_left = ticks.ticks is None or self.used < ticks.ticks
        return is_left and (self.last is None or tick - self.last >= ticks.gap)


def tick_sums(
    batch: Batch,
    tick: int,
    *,
    ticks: Ticks,
    measured: tuple[Measured, ...],
    cells: int,
    standings: Mapping[Any, Standing],
    only_first: bool,
) -> tuple[NDArray[np.int64], dict[Any, Standing]]:
    """Return what a tick adds to each cell (rows) and measure (columns), and the standings that change.

    Args:
        batch: the rows of the tick.
        tick: its number.
        ticks: how rows arrive, and how much of one person counts.
        measured: what is measured.
        cells: the number of groups.
        standings: of the people who have counted before.
        only_first: whether a number of people counts each person in their first tick alone.

    """
    total = np.zeros((cells, len(measured)), dtype=np.int64)
    if batch.people is None:
        for column in range(len(measured)):
            _add(total[:, column], batch, column)
        return total, {}
    # Declared wherever rows belong to people.
    most = cast("int", ticks.rows)
    known = {person: standings.get(person, Standing()) for person in set(batch.people)}
    rows = batch.only(np.array([known[person].may_count(tick, ticks) for person in batch.people], dtype=bool))
    rows = first_rows(rows, most)
    people = rows.people or ()
    for column, one in enumerate(measured):
        if not one.counts_units:
            _add(total[:, column], rows, column)
            continue
        counted = {
            (person, group)
            for person, group in zip(people, rows.groups.tolist(), strict=True)
            if not only_first or not known[person].used
        }
        for _, group in counted:
            total[group, column] += 1
    changed = {person: Standing(known[person].used + 1, tick) for person in set(people)}
    return total, changed


def first_rows(batch: Batch, rows: int) -> Batch:
    """Return the first rows of each person by time; of rows at the same moment, by their groups and numbers.

    The order is one of that person's own rows, and of nothing else.
    """
    people = batch.people or ()
    codes = {person: place for place, person in enumerate(dict.fromkeys(people))}
    owners = np.array([codes[person] for person in people], dtype=np.int64)
    columns = [batch.numbers[:, column] for column in reversed(range(batch.numbers.shape[1]))]
    order = np.lexsort((*columns, batch.groups, batch.moments, owners))
    ordered, owners = batch.only(order), owners[order]
    counts = np.minimum(ordered.counts, rows)
    before = np.cumsum(counts) - counts
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    # How many rows of the same person come before.
    before -= np.repeat(before[starts], np.diff(starts, append=len(owners)))
    left = np.clip(rows - before, 0, counts)
    return replace(ordered, counts=left).only(left > 0)


def _add(total: NDArray[np.int64], batch: Batch, column: int) -> None:
    """Add up what each row adds to its cell, exactly; a sum beyond 60 bits stays there, as its neighbours do."""
    numbers, counts = batch.numbers[:, column], batch.counts
    largest = int(np.abs(numbers).max(initial=0)) * sum(counts.tolist())
    if largest < LARGEST_SUM:
        np.add.at(total, batch.groups, numbers * counts)
        return
    exact = [0] * len(total)
    for cell, number, count in zip(batch.groups.tolist(), numbers.tolist(), counts.tolist(), strict=True):
        exact[cell] += number * count
    total[:] = [min(max(number, -LARGEST_SUM), LARGEST_SUM) for number in exact]
