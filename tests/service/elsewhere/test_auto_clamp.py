"""What ``tests/curator/test_auto_clamp.py`` says of ranges that are found first, of a session elsewhere."""

from __future__ import annotations

from tests.curator import test_auto_clamp as file
from tests.service.elsewhere.conftest import shared_by

LEFT_OUT = {
    "test_both_are_priced_together_and_charged_once_each": "compares the chain, which has a grant",
    "test_a_failure_midway_keeps_the_debits_and_the_same_key_goes_on": "after a debit a service says one fixed text",
}
globals().update(shared_by(file, LEFT_OUT))
