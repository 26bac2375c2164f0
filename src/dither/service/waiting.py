"""Waiting for a plan as long as its client does, and for a release to its end or until its time under ``strict``.

A plan costs nothing and is nothing to anybody else: it is given up when its client goes away. A release that was begun
is only waited for, never cancelled: it ends, and is stored, even where nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final

from starlette.requests import Request

from dither.errors import EngineFailure, ReleaseFailed, RequestSealed
from dither.publish.queries.work import while_wanted
from dither.service.pace import Pace, Strict, TooLate
from dither.service.problems import FAILED, GONE, Refused
from dither.service.queue import FairPool

_LOOK_AGAIN: Final = 0.1


async def planned(pool: FairPool, person: str, request: Request, work: Callable[[], Any]) -> Any:
    """Return what is planned for a client that waits; once it has gone away, planning ends within a few milliseconds.

    Args:
        pool: of those who plan.
        person: whose line.
        request: whose body was read to its end.
        work: what is planned; debits nothing.

    """
    has_gone = threading.Event()

    def wanted_work() -> Any:
        with while_wanted(lambda: not has_gone.is_set()):
            return work()

    future = pool.submit(person, wanted_work)
    waited, leaving = asyncio.wrap_future(future), asyncio.ensure_future(_gone(request))
    # A plan that was given up leaves an outcome that nobody fetches.
    waited.add_done_callback(lambda done: done.cancelled() or done.exception())
    try:
        await asyncio.wait({waited, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if waited.done():
            return waited.result()
        raise Refused(GONE)
    finally:
        # Also where whoever waits is cancelled. What has ended already takes no notice.
        has_gone.set()
        leaving.cancel()
        future.cancel()


async def _gone(request: Request) -> None:
    """Wait until a client has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        # The body has come to its end: a server that has more to hand over is not listened to without a pause.
        await asyncio.sleep(_LOOK_AGAIN)


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
