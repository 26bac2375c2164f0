"""The freeform attack: a value that was thought sensitive identifies, because it can be seen.

A table is made k-anonymous in what was declared to identify people, and keeps everything else as it is. Some of that
can be seen on the street: a plaster cast, glasses, a limp. Such values, in whatever column, single out a row within its
class, and the rest of the row holds what cannot be seen. FF-anonymity asks that no set A of values that can be seen
makes any value b that cannot be seen likely; rules A -> b are what is counted here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.attack.anonymous_classes import class_counts
from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import attack
from dither.attack.sources import KAR
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

_CLASS, _VISIBLE, _LOOKS, _HIDDEN = 10, 3, 6, 8


def rules(
    classes: NDArray[np.int64], seen: NDArray[np.int64], hidden: NDArray[np.int64], looks: int, size: int
) -> NDArray[np.int64]:
    """Return for every person how often each hidden value occurs among rows of their class that look like them."""
    key = classes.copy()
    for column in seen.T:
        key = key * looks + column
    _, group = np.unique(key, return_inverse=True)
    counts = np.zeros((int(group.max()) + 1, size), dtype=np.int64)
    np.add.at(counts, (group, hidden), 1)
    return np.asarray(counts[group])


@attack("freeform", source=f"FF-anonymity (Wang, Xu, Fu and Wong 2009); {KAR}, section 2.3.12")
def freeform(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Find a row within its anonymous class by values that can be seen, and read off one that cannot."""
    drawn = public_generator()
    groups = -(-targets // _CLASS)
    people = groups * _CLASS
    classes = np.repeat(np.arange(groups), _CLASS)
    seen = drawn.integers(0, _LOOKS, size=(people, _VISIBLE))
    hidden = drawn.integers(0, _HIDDEN, size=people)
    shares = []
    for known in range(_VISIBLE + 1):
        found = rules(classes, seen[:, :known], hidden, _LOOKS, _HIDDEN)
        shares.append(float(np.mean(found.argmax(axis=1) == hidden)))
    confidence = found.max(axis=1) / found.sum(axis=1)
    counts = class_counts(hidden.reshape(groups, _CLASS), _HIDDEN)
    private = noisy_counts(counts, epsilon, moved=2)
    return Outcome(
        attack="freeform",
        measure="share of people whose hidden value is told rightly",
        unprotected=shares[-1],
        protected=float(np.mean(private.argmax(axis=1)[classes] == hidden)),
        chance=1 / _HIDDEN,
        ceiling=ceiling(1 / _HIDDEN, epsilon),
        n=people,
        loss=f"{plainly(epsilon)} for one person's hidden value",
        words=f"Every class has {_CLASS} people, so the table is {_CLASS}-anonymous. {_VISIBLE} columns that were not "
        f"declared to identify anybody can be seen; with them {np.mean(confidence == 1):.0%} of people follow a rule "
        "that is certain. Noisy counts of classes keep neither rows nor looks.",
        figures=(("share of people with a rule of confidence 1", float(np.mean(confidence == 1))),),
        axes=("columns that are seen", "share told rightly"),
        curves=(Curve("rows as they are", tuple(float(n) for n in range(_VISIBLE + 1)), tuple(shares)),),
    )
