"""What ``tests/curator/test_reports.py`` says of reports, of a session elsewhere."""

from __future__ import annotations

from tests.curator import test_reports as file
from tests.service.elsewhere.conftest import shared_by

home, here = file.home, file.session
globals().update(shared_by(file, {}))
