"""What ``tests/curator/test_publishing.py`` says of histograms, workloads and marginals, of a session elsewhere."""

from __future__ import annotations

from tests.curator import test_publishing as file
from tests.service.elsewhere.conftest import shared_by

LEFT_OUT = {"test_plans_keep_to_every_kind_of_loss": "asks nothing of a session but what it declares"}
globals().update(shared_by(file, LEFT_OUT))
