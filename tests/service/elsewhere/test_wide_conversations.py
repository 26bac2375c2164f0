"""What ``tests/curator/test_wide_conversations.py`` says of wide conversations, of a session elsewhere."""

from __future__ import annotations

import pytest

from tests.curator import test_wide_conversations as file
from tests.service.elsewhere.conftest import shared_by

pytestmark = pytest.mark.usefixtures("opened_elsewhere")
HANDLE = "reads the book of an open conversation, which is where the rows are"
LEFT_OUT = {
    "test_a_question_that_was_written_down_before_a_death_is_answered_from_what_was_frozen": HANDLE,
    "test_the_book_has_the_same_size_whatever_the_rows": HANDLE,
}
globals().update(shared_by(file, LEFT_OUT, "tmp_path"))
