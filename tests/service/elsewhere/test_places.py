"""What ``tests/curator/test_places.py`` says of places, of a session elsewhere."""

from __future__ import annotations

import pytest

from tests.curator import test_places as file
from tests.service.elsewhere.conftest import shared_by

pytestmark = pytest.mark.usefixtures("opened_elsewhere")
globals().update(shared_by(file, {}, "curator"))
