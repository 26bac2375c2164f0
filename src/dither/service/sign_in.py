"""The link that is shown when a service starts: it works once, for ten minutes, and gives its owner a token."""

from __future__ import annotations

import getpass
import hmac
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
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
        shared: what other processes know it by; None for a new one, of this process alone.
        clock: tells seconds.

    """

    def __init__(
        self, people: People, shared: SharedLink | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._people, self._clock, self._shared = people, clock, shared
        self._ends = clock() + SECONDS if shared is None else shared.ends
        self._guard = threading.Lock()
        self.person = _host()
        self.code: str | None = new_secret() if shared is None else shared.code

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
        if self._shared is not None and not self._shared.spend():
            return None
        self._people.add(self.person, Role.CURATOR)
        return self._people.new_token(self.person, days=_DAYS)


@dataclass(frozen=True)
class SharedLink:
    """A link that several processes know, and that works in one of them.

    Args:
        code: as it stands in the link.
        ends: until when it works, by the clock that all processes of a machine share.
        mark: a file that goes when the link is used.

    """

    code: str
    ends: float
    mark: Path

    @classmethod
    def made(cls, folder: Path) -> SharedLink:
        """Return a new link.

        Args:
            folder: where its mark is kept.

        """
        mark = folder / "link"
        mark.touch(mode=0o600)
        return cls(new_secret(), time.monotonic() + SECONDS, mark)

    def spend(self) -> bool:
        """Use the link up; return whether nobody had."""
        try:
            self.mark.unlink()
        except FileNotFoundError:
            return False
        return True


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
