"""What ``tests/curator/test_partition_account.py`` says of parts that are asked in turn, of a session elsewhere."""

from __future__ import annotations

from tests.curator import test_partition_account as file
from tests.service.elsewhere.conftest import shared_by

here = file.session
HANDLE = "is about the handle of an open book: elsewhere it is opened anew for each request"
LEFT_OUT = {
    "test_it_cannot_be_held_twice_copied_or_asked_about_other_rows": HANDLE,
    "test_what_was_written_down_and_never_asked_stays_taken": "interrupts the process of the service",
    "test_a_question_that_the_ledger_knows_goes_on_after_a_death": "interrupts the process of the service",
    "test_a_failure_after_the_draw_keeps_what_it_took": "after a draw a service says one fixed text",
}
globals().update(shared_by(file, LEFT_OUT))
