"""Waiting for what a release gives: to its end, or until its time under ``strict``, after which one text is told.

What was begun is only waited for, never cancelled: it ends, and is stored, even where nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any

from dither.errors import EngineFailure, ReleaseFailed, RequestSealed
from dither.service.pace import Pace, Strict, TooLate
from dither.service.problems import FAILED, Refused


async def has_ended(future: Future[Any], came: Pace | Strict, patience: float | None) -> bool:
    """Wait for a release, and return whether it has ended; it goes on where it has not.

    Args:
        future: of the release.
        came: when it may be answered; under ``strict`` nothing is waited for longer.
        patience: for how many seconds it is waited for; None for as long as it takes.

    """
    if patience == 0 and not future.done():
        return False
    waited = asyncio.wrap_future(future)
    # Whoever waits no longer leaves an outcome that nobody fetches.
    waited.add_done_callback(lambda done: done.cancelled() or done.exception())
    limits = [patience, None if isinstance(came, Pace) else came.left()]
    done, _ = await asyncio.wait({waited}, timeout=min((one for one in limits if one is not None), default=None))
    if done or isinstance(came, Pace) or came.left() > 0:
        return bool(done)
    # What waits in line is not debited, and refuses itself when its turn comes: others may wait for it, too.
    raise Refused(FAILED) if future.running() else TooLate


def outcome(future: Future[Any], came: Pace | Strict) -> Any:
    """Return what a release that has ended gives; under ``strict`` all failures after a debit are one."""
    if isinstance(came, Pace):
        return future.result()
    try:
        return future.result()
    except (ReleaseFailed, EngineFailure, RequestSealed):
        pass
    # Whatever failed, and whether it failed or was late, is told apart by nothing.
    raise Refused(FAILED)
