"""The link that is shown when a service starts: it works once, for ten minutes, and gives its owner a token."""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import hmac
import os
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
#: How the marks of links begin that several processes know.
_MARK: Final = "link-"


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
            if self.code is None or not hmac.compare_digest(code.encode(), self.code.encode()):
                return None
            self.code = None
            is_over = self._clock() > self._ends
        # Used up in every process, whether it still worked or not.
        is_first = self._shared is None or self._shared.spend()
        if is_over or not is_first:
            return None
        self._people.add(self.person, Role.CURATOR)
        return self._people.new_token(self.person, days=_DAYS)


@dataclass(frozen=True)
class SharedLink:
    """A link that several processes know, and that works in one of them.

    Args:
        code: as it stands in the link.
        ends: until when it works, by the clock that all processes of a machine share.
        mark: a file of its own, which goes when the link is used or its time is over.

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
        _sweep(folder)
        code = new_secret()
        mark = folder / f"{_MARK}{hashlib.sha256(code.encode()).hexdigest()[:32]}"
        # Nobody else's, and not there before: other services of the folder have marks of their own.
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return cls(code, time.monotonic() + SECONDS, mark)

    def spend(self) -> bool:
        """Use the link up; return whether nobody had."""
        try:
            self.mark.unlink()
        except FileNotFoundError:
            return False
        return True

    def expire(self, now: float) -> None:
        """Remove the mark where the link's time is over.

        Args:
            now: by the clock that all processes of a machine share.

        """
        if now > self.ends:
            self.spend()


def link_page(token: str) -> str:
    """Return the page that shows a token."""
    return page(
        "You are signed in",
        paragraph("This token is yours for one day. It is shown once and not stored:"),
        paragraph(code(token)),
        paragraph("Programs read it from the variable ", code("DITHER_TOKEN"), "."),
    )


def _sweep(folder: Path) -> None:
    """Remove marks of links that are over: those of services that were killed and could not."""
    for mark in folder.glob(f"{_MARK}*"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - mark.stat().st_mtime > SECONDS:
                mark.unlink()


def _host() -> str:
    """Return the name of whoever started the service, as the books have it."""
    try:
        return checked_person(f"{getpass.getuser()} at the server")
    except (InvalidParameter, OSError, KeyError):
        return "host of the server"
