"""What ``tests/curator/test_conversations.py`` says of conversations, of a session elsewhere."""

from __future__ import annotations

from tests.curator import test_conversations as file
from tests.service.elsewhere.conftest import shared_by

curator, here = file.curator, file.session
#: Elsewhere it is opened anew for each request: nothing is held that could be copied, carried away or in use.
HANDLE = "is about the handle of an open book"
LEFT_OUT = {
    "test_a_question_that_was_written_down_before_a_death_is_answered_as_it_would_have_been": HANDLE,
    "test_a_name_is_taken_once_and_a_handle_ends": HANDLE,
    "test_a_conversation_has_no_copies": HANDLE,
    "test_a_conversation_stays_in_its_thread_and_process": HANDLE,
    "test_a_conversation_is_read_while_another_asks_and_errors_call_it_a_conversation": HANDLE,
    "test_no_stream_has_the_key_of_a_conversation": HANDLE,
    "test_one_whose_opening_broke_off_is_paid_for_by_its_columns_alone": "interrupts the process of the service",
}
globals().update(shared_by(file, LEFT_OUT))
