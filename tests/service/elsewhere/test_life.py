"""What ``tests/curator/test_life.py`` says of editions and names, of a session elsewhere."""

from __future__ import annotations

import pytest

from tests.curator import test_life as file
from tests.service.elsewhere.conftest import shared_by

pytestmark = pytest.mark.usefixtures("opened_elsewhere")
LEFT_OUT = {
    "test_quotas_let_nobody_else_spend": "opens a session of somebody without a grant, and elsewhere everybody has one",
    "test_history_tells_who_asked_what_at_which_price": "compares the chain, which has a grant",
}
globals().update(shared_by(file, LEFT_OUT, "curator"))
