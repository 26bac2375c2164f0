"""What ``tests/curator/test_accurate_counts.py`` says of counts to a relative accuracy, of a session elsewhere."""

from __future__ import annotations

from tests.curator import test_accurate_counts as file
from tests.service.elsewhere.conftest import shared_by

here = file.session
LEFT_OUT = {
    "test_what_cannot_be_read_from_the_answer_stays_charged": "changes how an answer is read, which is done there",
}
globals().update(shared_by(file, LEFT_OUT))
