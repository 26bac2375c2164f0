"""What ``tests/curator/test_session.py`` says of a session, of one elsewhere."""

from __future__ import annotations

from tests.curator import test_session as file
from tests.service.elsewhere.conftest import shared_by

INSIDE = "reaches into the tables or the ledger, which are behind the service"
FREE = "asks the same again without a key, which is free elsewhere"
FIXED = "after a debit a service says one fixed text"
LEFT_OUT = {
    "test_a_quote_says_how_many_such_queries_are_left": FREE,
    "test_a_query_may_state_its_own_loss": FREE,
    "test_without_a_key_every_answer_is_a_new_release": FREE,
    "test_an_answer_is_charged_and_has_a_receipt": INSIDE,
    "test_real_rows_are_compared_for_their_owner_alone": INSIDE,
    "test_a_missing_file_costs_nothing_and_is_named": "where rows are is not said elsewhere",
    "test_an_engine_that_dies_keeps_the_debit_and_says_one_text": FIXED,
    "test_a_retry_after_a_failure_is_answered_for_the_same_debit": FIXED,
    "test_nothing_hangs_on_a_failure": INSIDE,
    "test_nothing_hangs_on_an_engine_s_own_failure": INSIDE,
    "test_an_answer_that_could_not_be_stored_hangs_on_nothing": INSIDE,
    "test_an_answer_is_stored_as_soon_as_the_ledger_is_there_again": INSIDE,
    "test_nothing_is_drawn_that_the_ledger_does_not_know_of": INSIDE,
    "test_a_process_that_dies_after_the_draw_is_not_followed_by_another_draw": "compares the chain, which has a grant",
    "test_the_debit_is_durable_before_the_data_is_asked": INSIDE,
    "test_the_description_in_the_ledger_is_the_text_that_was_asked": INSIDE,
    "test_threads_that_share_a_session_take_turns_at_its_tables": INSIDE,
    "test_a_session_is_not_asked_in_the_midst_of_a_statement": INSIDE,
    "test_a_signal_handler_that_asks_is_refused_wherever_it_comes": INSIDE,
    "test_arguments_that_a_verb_does_not_have_are_refused_in_words": INSIDE,
}
globals().update(shared_by(file, LEFT_OUT))
