"""The tally: what counts of a person, against rules applied one row at a time."""

from __future__ import annotations

import datetime
import itertools
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dither.data import CountRows, Persons
from dither.data.ticks import Ticks
from dither.publish.queries.measures import Measured
from dither.publish.streams.arrivals import Batch
from dither.publish.streams.tally import Standing, tick_sums

START = datetime.datetime(2025, 1, 1)
ROWS, UNITS = Measured(CountRows(), 0, 9), Measured(Persons(), 0, 1, counts_units=True)
CELLS = 2
Row = tuple[int, str, int, int]  # the moment within its tick, whose it is, its group, its number


def batch_of(rows: list[Row], *, has_people: bool = True) -> Batch:
    """Return rows as a batch, equal ones once."""
    counted = Counter(rows)
    found = list(counted)
    return Batch(
        np.array([row[0] for row in found], dtype=np.int64),
        tuple(row[1] for row in found) if has_people else None,
        np.array([row[2] for row in found], dtype=np.int64),
        np.array([[row[3], 1] for row in found], dtype=np.int64).reshape(-1, 2),
        np.array([counted[row] for row in found], dtype=np.int64),
    )


def stream_sums(arrived: list[list[Row]], ticks: Ticks, *, only_first: bool = True) -> list[Any]:
    """Return what each tick adds up to."""
    standings: dict[Any, Standing] = {}
    found = []
    for tick, rows in enumerate(arrived):
        numbers, changed = tick_sums(
            batch_of(rows),
            tick,
            ticks=ticks,
            measured=(ROWS, UNITS),
            cells=CELLS,
            standings=standings,
            only_first=only_first,
        )
        standings.update(changed)
        found.append(numbers)
    return found


def slowly(arrived: list[list[Row]], ticks: Ticks, *, only_first: bool) -> list[Any]:
    """Return the same, one row at a time."""
    assert ticks.rows is not None
    assert ticks.ticks is not None
    used: Counter[str] = Counter()
    last: dict[str, int] = {}
    found = []
    for tick, rows in enumerate(arrived):
        total = np.zeros((CELLS, 2), dtype=np.int64)
        for person in sorted({row[1] for row in rows}):
            if used[person] >= ticks.ticks or tick - last.get(person, -(10**9)) < ticks.gap:
                continue
            own = sorted((row for row in rows if row[1] == person), key=lambda row: (row[0], row[2], row[3]))
            for row in own[: ticks.rows]:
                total[row[2], 0] += row[3]
            if not only_first or not used[person]:
                for group in {row[2] for row in own[: ticks.rows]}:
                    total[group, 1] += 1
            used[person] += 1
            last[person] = tick
        found.append(total)
    return found


rows_of_a_tick = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.integers(0, CELLS - 1), st.integers(0, 9)), max_size=8
)
limits = st.builds(
    lambda rows, ticks, gap: Ticks("at", 3600, START, rows=rows, ticks=ticks, gap=gap),
    st.integers(1, 3),
    st.integers(1, 4),
    st.integers(1, 3),
)


@given(st.lists(rows_of_a_tick, max_size=6), limits, st.booleans())
def test_what_counts_of_people_is_what_the_rules_say(arrived: list[list[Row]], ticks: Ticks, only_first: bool) -> None:
    fast, slow = stream_sums(arrived, ticks, only_first=only_first), slowly(arrived, ticks, only_first=only_first)
    assert [one.tolist() for one in fast] == [one.tolist() for one in slow]


@given(st.lists(rows_of_a_tick, max_size=6), limits)
def test_one_person_moves_few_ticks_far_apart_and_each_of_them_a_little(arrived: list[list[Row]], ticks: Ticks) -> None:
    """The bound that every price rests on: with and without a person, whatever the others do."""
    without = [[row for row in rows if row[1] != "a"] for rows in arrived]
    pairs = zip(stream_sums(arrived, ticks), stream_sums(without, ticks), strict=True)
    moved = [np.abs(one - other) for one, other in pairs]
    assert ticks.rows is not None
    assert ticks.ticks is not None
    touched = [tick for tick, one in enumerate(moved) if one.any()]
    assert len(touched) <= ticks.ticks
    assert all(later - earlier >= ticks.gap for earlier, later in itertools.pairwise(touched))
    assert all(one[:, 0].sum() <= 9 * ticks.rows for one in moved)
    # A person appears for the first time once.
    assert sum(one[:, 1].max() for one in moved) <= 1


@given(rows_of_a_tick)
def test_without_people_every_row_counts(rows: list[Row]) -> None:
    numbers, changed = tick_sums(
        batch_of(rows, has_people=False),
        0,
        ticks=Ticks("at", 3600, START),
        measured=(ROWS, UNITS),
        cells=CELLS,
        standings={},
        only_first=True,
    )
    assert not changed
    for group in range(CELLS):
        assert numbers[group].tolist() == [
            sum(row[3] for row in rows if row[2] == group),
            sum(row[2] == group for row in rows),
        ]


def test_a_sum_beyond_sixty_bits_stays_there() -> None:
    """A sum that wrapped around would move by 2^64 when one row comes."""
    huge = Batch(
        np.zeros(2, dtype=np.int64), None, np.zeros(2, dtype=np.int64), np.full((2, 2), 2**30), np.full(2, 2**33)
    )
    numbers, _ = tick_sums(
        huge, 0, ticks=Ticks("at", 3600, START), measured=(ROWS, UNITS), cells=1, standings={}, only_first=True
    )
    assert numbers.tolist() == [[2**62, 2**62]]
