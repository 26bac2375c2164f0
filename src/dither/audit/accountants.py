"""Are the accountants right? Random compositions, each priced by three independent routes.

A closed form, brute force over all outcomes, and the loss distribution must tell one story: no composition may be
priced below the truth, and none by more than a hundredth above it. Beside them, prices of groups, samples, rounds and
disjoint parts are held against laws that are written out (``explicit_prices``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dither.audit.explicit_prices import understated_prices
from dither.noise import system_noise
from dither.privacy.accountants.crosscheck import cross_check

MOST_OVER = 0.01
MOST_DISAGREEMENT = 1e-9


@dataclass(frozen=True)
class Agreement:
    """The findings over all compositions."""

    compositions: int
    understated: int
    over: float
    disagreement: float
    below_laws: tuple[str, ...] = ()

    @property
    def complaints(self) -> list[str]:
        """The complaints, as sentences."""
        found = list(self.below_laws)
        if self.understated:
            found.append(f"{self.understated} of {self.compositions:,} compositions are priced below the truth")
        if self.over > MOST_OVER:
            found.append(f"a composition is priced {self.over:.2%} above the truth")
        if self.disagreement > MOST_DISAGREEMENT:
            found.append(f"closed form and brute force differ by {self.disagreement:.1e}")
        return found

    def __str__(self) -> str:
        return (
            f"accountants: {self.compositions:,} random compositions, {self.understated} understated, "
            f"at most {self.over:.2%} over, routes differ by at most {self.disagreement:.1e}"
        )


def audit_accountants(compositions: int, *, progress: Callable[[int], None] = lambda _: None) -> Agreement:
    """Price ``compositions`` random compositions by three routes and return how far they differ."""
    noise = system_noise()
    understated, over, disagreement = 0, 0.0, 0.0
    for done in range(compositions):
        progress(done)
        verdict = cross_check(lambda below: int(noise.uniform_below(below, 1)[0]))
        understated += verdict.is_understated
        over = max(over, verdict.over)
        disagreement = max(disagreement, verdict.disagreement)
    return Agreement(compositions, understated, over, disagreement, tuple(understated_prices()))
