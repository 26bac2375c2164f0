"""What ``tests/curator/streams/test_stream.py`` says of streams, of a session elsewhere."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from dither.errors import InvalidParameter
from dither.service.client import RemoteSession
from tests.curator.streams import test_stream as file
from tests.service.elsewhere.conftest import shared_by

curator, here = file.curator, file.session
FED = "feeds rows, which never travel"
HANDLE = "is about the handle of an open book"
LEFT_OUT = {
    "test_a_stream_is_debited_once_for_all_of_its_ticks": FED,
    "test_running_numbers_and_those_of_each_tick_are_the_truth": FED,
    "test_sums_and_means_come_with_their_groups": FED,
    "test_a_batch_with_a_name_counts_once": FED,
    "test_other_rows_with_the_name_of_a_batch_are_refused_and_a_new_order_of_the_same_is_not": FED,
    "test_rows_may_come_with_a_release_and_wait_for_the_disk_once": FED,
    "test_a_closed_stream_and_one_that_was_let_go_of_answer_nothing_more": FED,
    "test_a_tick_that_has_not_ended_and_a_clock_that_was_put_back_are_refused": "the clock is that of the service",
    "test_rows_after_the_last_tick_are_not_taken": FED,
    "test_hostile_rows_do_not_raise_and_mean_what_a_table_would": FED,
    "test_a_name_is_one_stream": HANDLE,
    "test_nothing_is_written_over_a_book": HANDLE,
    "test_a_stream_has_no_copies": HANDLE,
    "test_a_stream_stays_in_its_thread": HANDLE,
    "test_a_stream_whose_opening_broke_off_is_paid_for_by_its_query_alone": "interrupts the process of the service",
}
globals().update(shared_by(file, LEFT_OUT))


def test_a_stream_says_when_it_ends(session: RemoteSession) -> None:
    stream = session.stream("hourly", file.COUNT, epsilon=file.HUGE)
    assert stream.ends_at == file.START + datetime.timedelta(hours=4)


@pytest.mark.parametrize("feed", [lambda one: one.feed([]), lambda one: one.release(rows=[])])
def test_rows_are_not_fed_from_elsewhere(session: RemoteSession, feed: Any) -> None:
    stream = session.stream("hourly", file.COUNT, epsilon=file.HUGE)
    with pytest.raises(InvalidParameter, match="rows never travel"):
        feed(stream)
