"""What ``tests/curator/test_stated_losses.py`` says of stated losses, of a session elsewhere."""

from __future__ import annotations

from tests.curator import test_stated_losses as file
from tests.service.elsewhere.conftest import shared_by

globals().update(shared_by(file, {}))
