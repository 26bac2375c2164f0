"""What ``tests/curator/test_other_conversations.py`` says of other conversations, of a session elsewhere."""

from __future__ import annotations

import pytest

from dither.service.client import RemoteSession
from tests.curator import test_other_conversations as file
from tests.service.elsewhere.conftest import shared_by

curator, here = file.curator, file.people


@pytest.fixture
def people(session: RemoteSession) -> RemoteSession:
    return session


globals().update(shared_by(file, {}, "people"))
