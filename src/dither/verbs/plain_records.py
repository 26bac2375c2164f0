"""What stands for long records in a request."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def digest_of(record: Any) -> str:
    """Return the SHA-256 of plain data: what stands for a long record in a request."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def unversioned(spec: Any) -> Any:
    """Return the record of a mechanism without the versions of its algorithms: what is asked stays when they change."""
    if isinstance(spec, dict):
        return {
            name: unversioned(value) for name, value in spec.items() if name != "version" or "mechanism" not in spec
        }
    return [unversioned(entry) for entry in spec] if isinstance(spec, list) else spec
