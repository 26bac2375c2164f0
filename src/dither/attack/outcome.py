"""What an attack recovered, with and without protection, and the most that a promise lets anyone recover.

Every attack is reduced to one kind of figure: of ``n`` guesses about people, which share was right. Beside it stand the
share that is right without any release (``chance``) and, where the guesses are about independent people and the loss is
pure, the share that the promise itself allows (``ceiling``).

Why the ceiling holds: let a person have value v with prior probability p, and let the release lose epsilon when that
one value is replaced. For any release and any knowledge of all others, the posterior probability of v is
at most p e^epsilon / (p e^epsilon + 1 - p). This holds for each person given the values of those before, so the number
of right guesses is never likelier to be large than a binomial one with that chance, however the guesses were made and
whomever they are about. Tests use exactly that.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from dither.errors import InvalidParameter
from dither.exact import Number, positive


@dataclass(frozen=True)
class Curve:
    """Points to be drawn, one line or cloud of them.

    Args:
        name: its name in the legend.
        x: horizontal places.
        y: vertical places.
        joined: whether a line goes through them.

    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    joined: bool = True

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise InvalidParameter("y", len(self.y), f"a list of the length of x, which is {len(self.x)}")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of one run of an attack.

    Args:
        attack: its name.
        measure: the counted quantity, as a share of ``n``.
        unprotected: the share that was right where nothing was protected, or not in a way that counts.
        protected: the share that was right against a release of dither.
        chance: the share that is right without any release.
        ceiling: the share that no attack exceeds on average, as the promise proves; None where that is not proved.
        n: the number of guesses behind each share.
        loss: the loss of the protected release, and its unit.
        words: what happened, for people.
        figures: further figures by name.
        axes: what the curves are drawn over: the horizontal and the vertical axis.
        curves: further lines to draw beside the shares.

    """

    attack: str
    measure: str
    unprotected: float
    protected: float
    chance: float
    ceiling: float | None
    n: int
    loss: str
    words: str
    figures: tuple[tuple[str, float], ...] = ()
    axes: tuple[str, str] = ("", "")
    curves: tuple[Curve, ...] = ()

    def __post_init__(self) -> None:
        for name in ("unprotected", "protected", "chance"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidParameter(name, getattr(self, name), "a share between 0 and 1")

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        record = asdict(self)
        record["figures"] = dict(self.figures)
        return record


def ceiling(prior: float, epsilon: Number) -> float:
    """Return the largest posterior probability of a value with this prior, after a loss of ``epsilon``.

    >>> round(ceiling(0.5, 1), 4), round(ceiling(0.1, "1/2"), 4)
    (0.7311, 0.1548)

    """
    if not 0 < prior < 1:
        raise InvalidParameter("prior", prior, "a probability between 0 and 1")
    return 1 / (1 + (1 - prior) / prior * math.exp(-float(positive("epsilon", epsilon))))


def plainly(epsilon: Number) -> str:
    """Return a loss in the usual notation."""
    return f"epsilon = {float(positive('epsilon', epsilon)):g}"
