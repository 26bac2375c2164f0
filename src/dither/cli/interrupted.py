"""What became of a request that somebody interrupted: whether its charge stands, and how to come to its answer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dither.cli.console import complain, complain_in_json
from dither.cli.exits import INTERRUPTED
from dither.cli.remote import is_elsewhere
from dither.curator.ledger.chain import PROOF
from dither.curator.ledger.interface import MOST_ATTEMPTS
from dither.errors import DitherError

if TYPE_CHECKING:
    from dither.curator.session import Session


#: What was told in this run of the command.
_told: list[str] = []


def tell(sentence: str) -> None:
    """Print what became of an interrupted request, for people or, where JSON was asked for, for programs.

    Args:
        sentence: that says it.

    """
    _told.append(sentence)
    if "--json" in sys.argv[1:]:
        complain_in_json({"error": {"kind": "Interrupted", "message": sentence, "exit_code": INTERRUPTED}})
    else:
        complain(sentence)


def tell_once() -> None:
    """Say that nothing was charged, where an interruption came before a session was opened or after it was closed."""
    if not _told:
        tell("interrupted; nothing was charged by this command")


def what_became(session: Session, key: str | None, *, has_files: bool = False) -> str:
    """Return in one sentence what an interrupted request cost, and how to go on; the ledger says it, not a guess.

    Args:
        session: in which it was made.
        key: of the request; empty where nothing could be charged, None where it is not known.
        has_files: whether some of its files are there already.

    """
    if key is None:
        return "interrupted; 'dither ledger show' says what was charged"
    if is_elsewhere():
        return (
            "interrupted; the same command, with the same --key if it had one, gets what was paid for, if anything was"
        )
    if not key:
        return "interrupted; nothing was charged"
    again = f"the same command with --key {key}{' --force' if has_files else ''}"
    from dither.curator.access import curator_of

    try:
        dataset, analyst = session._account.dataset, session._account.analyst
        known = [
            entry
            for entry in curator_of(session).ledger.entries(dataset)
            if entry.key == key and entry.analyst in (analyst, None)
        ]
    except DitherError:
        return f"interrupted; whether it was charged the ledger cannot say now: {again} finds out, and never pays twice"
    kinds = {entry.kind for entry in known}
    if not kinds:
        return "interrupted before anything was charged"
    cost = next((f"{entry.loss} stays charged" for entry in known if entry.loss is not None), "the charge stands")
    if "return" in kinds:
        cost = "what the answer lost stays charged"
    if "answer" in kinds:
        return f"interrupted; {cost} and the answer is stored: {again} returns it at no additional cost"
    proved = any(entry.record.get(PROOF) for entry in known)
    attempts = 1 + sum(entry.kind == "renew" for entry in known)
    if proved and attempts < MOST_ATTEMPTS and "seal" not in kinds:
        return f"interrupted while noise was drawn; {cost}: {again} resumes with the same noise at no additional cost"
    if "draw" in kinds:
        return (
            f"interrupted while noise was drawn; {cost}, and noise is not drawn twice for one charge: there is no "
            "answer, and a new request is charged again"
        )
    return f"interrupted before noise was drawn; {cost}: {again} continues at no additional cost"
