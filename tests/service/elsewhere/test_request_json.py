"""What ``tests/curator/test_request_json.py`` says of words that travel, of a session elsewhere."""

from __future__ import annotations

from tests.curator import test_request_json as file
from tests.service.elsewhere.conftest import shared_by

LEFT_OUT = {
    "test_what_has_no_place_in_words_is_refused": "asks nothing of a session but what it declares, in 25 cases",
    "test_plain_values_come_back_as_they_were": "asks nothing of a session but what it declares",
    "test_a_deep_tree_is_refused_both_ways": "asks nothing of a session but what it declares",
}
globals().update(shared_by(file, LEFT_OUT))
