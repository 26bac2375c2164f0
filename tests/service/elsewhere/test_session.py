"""What ``tests/curator/test_session.py`` says of a session, of one elsewhere."""

from __future__ import annotations

import pytest

from tests.curator import test_session as file
from tests.service.elsewhere.conftest import shared_by

pytestmark = pytest.mark.usefixtures("opened_elsewhere")
FIXED = "after a debit, and of rows and ledgers that fail, a service says fixed texts, and no notes"
WITHIN = "asks from within the thread that answers, which elsewhere is that of the service"
OPENING = "is about opening a ledger or rows in hand, which is done where they are"
LEFT_OUT = {
    "test_without_a_key_every_answer_is_a_new_release": "the same again without a key is free elsewhere",
    "test_threads_that_share_a_session_take_turns_at_its_tables": "asks the same at once without a key: once elsewhere",
    "test_real_rows_are_compared_for_their_owner_alone": "nobody is the owner elsewhere; test_asking has the refusal",
    "test_a_missing_file_costs_nothing_and_is_named": "where rows are is not said elsewhere",
    "test_an_engine_that_dies_keeps_the_debit_and_says_one_text": FIXED,
    "test_a_query_that_meets_the_time_limit_stays_charged_and_counts_as_an_attempt": FIXED,
    "test_a_retry_after_a_failure_is_answered_for_the_same_debit": FIXED,
    "test_an_answer_that_could_not_be_stored_hangs_on_nothing": FIXED,
    "test_nothing_is_drawn_that_the_ledger_does_not_know_of": FIXED,
    "test_nothing_hangs_on_an_engine_s_own_failure": "asks an engine, and no session",
    "test_a_session_is_not_asked_in_the_midst_of_a_statement": WITHIN,
    "test_a_signal_handler_that_asks_is_refused_wherever_it_comes": WITHIN,
    "test_processes_of_one_key_at_once_get_one_answer": "asks in processes of its own; test_jobs has 64 callers",
    "test_frames_of_no_table_are_refused": OPENING,
    "test_the_ledger_is_not_opened_in_the_midst_of_being_opened": OPENING,
}
globals().update(shared_by(file, LEFT_OUT, "session", "noiseless", "curator", "folder"))
