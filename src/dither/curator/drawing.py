"""What becomes of a reservation: whether noise was drawn for it, its answer, and what is said where there is none."""

from __future__ import annotations

from contextlib import suppress

from dither.curator.ledger import Ledger, Receipt
from dither.curator.ledger.interface import MOST_ATTEMPTS, Reservation
from dither.curator.resuming import ResumableNoise
from dither.curator.timing_gate import wait_for
from dither.errors import DitherError, EngineFailure, EntropyFailure, LedgerUnavailable, ReleaseFailed
from dither.mechanisms.core.derived_runner import DerivedWords, new_key
from dither.privacy import Loss


class Drawing:
    """What became of a reservation: whether noise was drawn for it, and what the ledger said to that.

    Args:
        ledger: that holds it.
        held: the reservation.
        noise: where its noise comes from, if it may resume; None for the system's generator.

    """

    def __init__(self, ledger: Ledger, held: Reservation, noise: ResumableNoise | None = None) -> None:
        self._ledger, self._held, self._noise = ledger, held, noise
        #: Whether noise was drawn in this attempt, and whether another caller could draw the same again.
        self._is_drawn, self._is_proved = False, bool(held.proof)
        self._has_drawn = False
        #: Whether the same noise cannot be drawn again after all.
        self._is_lost = False
        self._refusal: DitherError | None = None

    @property
    def has_drawn(self) -> bool:
        """Whether a mechanism has asked for noise: that the ledger was told of a draw beforehand is not enough."""
        return self._has_drawn

    @property
    def words(self) -> DerivedWords | None:
        """Where all randomness comes from, for a release that may resume."""
        return None if self._noise is None else DerivedWords(self._begin_derived)

    def drew(self) -> None:
        """Note that a mechanism asks for noise; called before it is given any, which it is not if this fails."""
        self.begin()
        self._has_drawn = True

    def begin(self) -> None:
        """Tell the ledger that noise is drawn; called before the first random bit, which is not drawn if this fails.

        Does nothing where it was told before. Where the same noise could be drawn again, no other noise is drawn.
        """
        if self._is_proved:
            self._is_lost = True
            raise EntropyFailure("a release that may resume draws from its own key alone")
        if not self._is_drawn:
            self._tell("")

    def _begin_derived(self) -> bytes:
        """Tell the ledger that noise is drawn, with the proof by which it is known again; return the noise's key."""
        key = self._derived_key()
        self._has_drawn = True
        return key

    def _derived_key(self) -> bytes:
        if self._held.proof:
            try:
                key = None if self._noise is None else self._noise.again(self._held)
            except LedgerUnavailable as refusal:
                self._refusal = refusal
                raise
            if key is None:
                # Something is not as it was: the same noise would meet other values.
                self._is_lost = True
                raise ReleaseFailed
            wait_for("draw")
            self._is_drawn = True
            return key
        found = None if self._is_drawn or self._noise is None else self._noise.fresh(self._held)
        if found is None:
            self.begin()
            return new_key()
        key, proof = found
        self._tell(proof)
        return key

    def _tell(self, proof: str) -> None:
        wait_for("draw")
        try:
            self._ledger.begin_draw(self._held, proof=proof)
        except DitherError as refusal:
            self._refusal = refusal
            raise
        self._is_drawn, self._is_proved = True, bool(proof)

    def complete(self, answer: bytes, spent: Loss | None = None) -> Receipt:
        """Store the answer; once more if the ledger could not be reached, because it cannot be drawn again.

        Args:
            answer: the bytes to store.
            spent: what the answer says that was lost; None where that is what was debited.

        """
        try:
            return self._complete(answer, spent)
        except LedgerUnavailable:
            pass
        return self._complete(answer, spent)

    def _complete(self, answer: bytes, spent: Loss | None) -> Receipt:
        receipt = self._ledger.complete(self._held, answer, spent=spent)
        if self._noise is not None:
            self._noise.tidy()
        return receipt

    def failure(self) -> DitherError:
        """Return why there is no answer, in words that depend on public facts alone."""
        if self._is_lost or (self._is_drawn and self._is_proved):
            # It would fail again. Where the ledger cannot be reached, whoever comes next finds that out.
            with suppress(LedgerUnavailable):
                self._ledger.seal(self._held)
        if self._is_lost or self._is_drawn:
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
                f"this was the last of {MOST_ATTEMPTS} attempts, and the request is not tried again: a new request, "
                "with another key, is charged again"
            )
        count = "1 attempt is" if left == 1 else f"{left} attempts are"
        return f"{count} left: to continue at no additional cost, retry with key={self._held.key!r}"


def place_of(receipt: Receipt) -> str:
    """Return where a charge is written down."""
    return f"{receipt.ledger}:{receipt.entry}:{receipt.hash}"
