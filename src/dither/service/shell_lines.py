"""Lines for a shell that ask a service, to be copied as they are."""

from __future__ import annotations

import json
from typing import Final

from dither.service.routes import BY_NAME

BEARER: Final = '-H "Authorization: Bearer $DITHER_TOKEN"'


def asking_line(address: str, dataset: str, query: str) -> str:
    """Return a line for a shell that asks a query of a data set, with the token in a variable.

    Args:
        address: of the service.
        dataset: its name.
        query: in SQL, without quotes.

    """
    body = json.dumps({"verb": "sql", "words": {"text": query, "epsilon": 0.1}})
    place = BY_NAME["release"].path.format(dataset=dataset)
    return f"curl {BEARER} -H \"Content-Type: application/json\" -d '{body}' {address}{place}"


def sign_in_line(address: str, link: str) -> str:
    """Return a line for a shell that signs in with the link of a service, which works once, and lists the data sets.

    Args:
        address: of the service.
        link: as it was shown.

    """
    token = f"$(curl -s -H 'Accept: text/plain' {link})"
    return f'curl -H "Authorization: Bearer {token}" {address}{BY_NAME["datasets"].path}'


def reading_line(address: str, dataset: str) -> str:
    """Return a line for a shell that reads the release card of a data set, with the token in a variable."""
    return f"curl {BEARER} {address}{BY_NAME['card'].path.format(dataset=dataset)}"


def listing_line(address: str) -> str:
    """Return a line for a shell that lists data sets, with the token in a variable."""
    return f"curl {BEARER} {address}{BY_NAME['datasets'].path}"
