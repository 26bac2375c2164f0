"""The link that is shown when a service starts: it works once, for ten minutes, and gives its owner a token."""

from __future__ import annotations

import getpass
import hmac
import threading
import time
from collections.abc import Callable
from typing import Final

from dither.curator.keys import new_secret
from dither.curator.people import People, Role, checked_person
from dither.errors import InvalidParameter
from dither.pages.page import code, page, paragraph

SECONDS: Final = 600
_DAYS: Final = 1


class Link:
    """A link to a token of the person who started the service.

    Args:
        people: who is declared; the person is added as a curator where they are not.
        clock: tells seconds.

    """

    def __init__(self, people: People, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._people, self._clock = people, clock
        self._ends = clock() + SECONDS
        self._guard = threading.Lock()
        self.person = _host()
        self.code: str | None = new_secret()

    def token(self, code: str) -> str | None:
        """Return a new token for the code, once; None for any other, and ever after.

        Args:
            code: as it stands in the link.

        """
        with self._guard:
            if (
                self.code is None
                or self._clock() > self._ends
                or not hmac.compare_digest(code.encode(), self.code.encode())
            ):
                return None
            self.code = None
        self._people.add(self.person, Role.CURATOR)
        return self._people.new_token(self.person, days=_DAYS)


def link_page(token: str) -> str:
    """Return the page that shows a token."""
    return page(
        "You are signed in",
        paragraph("This token is yours for one day. It is shown once and kept nowhere:"),
        paragraph(code(token)),
        paragraph("Programs read it from the variable ", code("DITHER_TOKEN"), "."),
    )


def _host() -> str:
    """Return the name of whoever started the service, as the books have it."""
    try:
        return checked_person(f"{getpass.getuser()} at the server")
    except (InvalidParameter, OSError, KeyError):
        return "host of the server"
