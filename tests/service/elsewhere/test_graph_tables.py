"""What ``tests/curator/test_graph_tables.py`` says of graphs with more than edges, of a session elsewhere."""

from __future__ import annotations

import pytest

from tests.curator import test_graph_tables as file
from tests.service.elsewhere.conftest import shared_by

place = file.place
pytestmark = pytest.mark.usefixtures("opened_elsewhere")
globals().update(shared_by(file, {}, "place"))
