"""What ``tests/curator/test_learning.py`` says of models, of a session elsewhere."""

from __future__ import annotations

import pytest

from tests.curator import test_learning as file
from tests.service.elsewhere.conftest import shared_by

place = file.place
pytestmark = pytest.mark.usefixtures("opened_elsewhere")
LEFT_OUT = {"test_the_command_writes_a_model": "types the command in a curator's folder"}
globals().update(shared_by(file, LEFT_OUT, "place"))
