"""What ``tests/curator/test_trusted.py`` says of classes of one's own, of a session elsewhere."""

from __future__ import annotations

from tests.curator import test_trusted as file
from tests.service.elsewhere.conftest import shared_by

globals().update(shared_by(file, {}))
