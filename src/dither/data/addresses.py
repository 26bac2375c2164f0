"""Addresses of engines: where a data set's rows are, without a secret ever being shown.

An address such as ``postgresql://reader:${CLINIC_PASSWORD}@db/clinic`` names variables of the environment. It is kept
as written everywhere (schemas, dumps, requests, errors); ``expand`` reads the environment only when a connection is
opened. ``redact`` hides a password that somebody wrote in the clear.
"""

from __future__ import annotations

import os
import re
from typing import Final

from dither.errors import EngineUnavailable

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# Everything up to the last @ is taken for the user's part, so that a password with strange signs is hidden as well.
_USER: Final = re.compile(r"(?s)(?<=://)([^:@]*):(.*)@")
_PARAMETER: Final = re.compile(r"(?i)([a-z_]*(?:password|secret|token|passfile)=)([^&\s]*)")


def expand(address: str) -> str:
    """Return the address with its variables replaced from the environment; raise EngineUnavailable if one is absent.

    >>> expand("duckdb")
    'duckdb'
    """

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name not in os.environ:
            raise EngineUnavailable(f"the engine's address names the environment variable {name}, which is not set")
        return os.environ[name]

    return _VARIABLE.sub(value, address)


def redact(address: str) -> str:
    """Return the address with every password in the clear replaced by stars; variables stay as written.

    >>> redact("postgresql://ana:hunter2@db/clinic"), redact("postgresql://ana:${SECRET}@db/clinic")
    ('postgresql://ana:***@db/clinic', 'postgresql://ana:${SECRET}@db/clinic')
    """
    hidden = _USER.sub(lambda found: f"{found[1]}:{_stars(found[2])}@", address)
    return _PARAMETER.sub(lambda found: found[1] + _stars(found[2]), hidden)


def has_secret(address: str) -> bool:
    """Whether a password stands in the address in the clear."""
    return redact(address) != address


def _stars(secret: str) -> str:
    return secret if not _VARIABLE.sub("", secret) else "***"
