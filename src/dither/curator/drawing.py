"""What becomes of a reservation: whether noise was drawn for it, its answer, and what is said where there is none."""

from __future__ import annotations

from dither.curator.held_back import wait_for
from dither.curator.ledger import Ledger, Receipt
from dither.curator.ledger.interface import MOST_ATTEMPTS, Reservation
from dither.errors import DitherError, EngineFailure, LedgerUnavailable, ReleaseFailed
from dither.privacy import Loss


class Drawing:
    """What became of a reservation: whether noise was drawn for it, and what the ledger said to that."""

    def __init__(self, ledger: Ledger, held: Reservation) -> None:
        self._ledger, self._held = ledger, held
        self._is_drawn = False
        self._refusal: DitherError | None = None

    def begin(self) -> None:
        """Tell the ledger that noise is drawn; called before the first random bit, which is not drawn if this fails.

        Does nothing where it was told before.
        """
        if self._is_drawn:
            return
        wait_for("draw")
        try:
            self._ledger.begin_draw(self._held)
        except DitherError as refusal:
            self._refusal = refusal
            raise
        self._is_drawn = True

    def complete(self, answer: bytes, spent: Loss | None = None) -> Receipt:
        """Store the answer; once more if the ledger could not be reached, because it cannot be drawn again.

        Args:
            answer: the bytes to store.
            spent: what the answer says that was lost; None where that is what was debited.

        """
        try:
            return self._ledger.complete(self._held, answer, spent=spent)
        except LedgerUnavailable:
            pass
        return self._ledger.complete(self._held, answer, spent=spent)

    def failure(self) -> DitherError:
        """Return why there is no answer, in words that depend on public facts alone."""
        if self._is_drawn:
            # What fails after a draw may follow from the draw: another one would tell more than was paid for.
            return ReleaseFailed()
        if self._refusal is not None:
            # What hangs on it are frames of the engine, which hold rows.
            refusal = self._refusal.with_traceback(None)
            refusal.__context__ = refusal.__cause__ = None
            return refusal
        failure = EngineFailure()
        failure.add_note(self._what_is_left())
        return failure

    def _what_is_left(self) -> str:
        left = MOST_ATTEMPTS - self._held.attempt
        if not left:
            return (
                f"this was the last of {MOST_ATTEMPTS} attempts, and the request is not tried again: to ask anew, with "
                "another key, is a further charge"
            )
        count = "1 attempt is" if left == 1 else f"{left} attempts are"
        return f"{count} left: to retry without a further charge, ask again with key={self._held.key!r}"


def place_of(receipt: Receipt) -> str:
    """Return where a charge is written down."""
    return f"{receipt.ledger}:{receipt.entry}:{receipt.hash}"
