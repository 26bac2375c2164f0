"""What ``tests/curator/test_graph_synthesis.py`` says of synthetic graphs, of a session elsewhere."""

from __future__ import annotations

import pytest

from tests.curator import test_graph_synthesis as file
from tests.service.elsewhere.conftest import shared_by

pytestmark = pytest.mark.usefixtures("opened_elsewhere")
globals().update(shared_by(file, {}, "tmp_path"))
