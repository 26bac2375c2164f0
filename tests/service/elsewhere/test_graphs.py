"""What ``tests/curator/test_graphs.py`` says of a graph, of a session elsewhere."""

from __future__ import annotations

from tests.curator import test_graphs as file
from tests.service.elsewhere.conftest import shared_by

curator, here = file.curator, file.session
globals().update(shared_by(file, {}))
