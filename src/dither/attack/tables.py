"""Attacks on a table that is there: what somebody who knows everybody's quasi-identifiers tells of a sensitive column.

The attacks of ``anonymity`` and ``linkage`` make their own people. These take a release of the reader's. What a release
says is a ``View``: the kind of person that each row is of, and for each kind how much speaks for each value. For
classes of rows that look alike these are the counts of values; of another release they are anything not negative.
The attacker knows no more than the view, and is scored on the true values. Figures are of this one release; they bound
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.estimate.public_randomness import public_generator

Codes = NDArray[np.int64]
Weights = NDArray[np.float64]
#: Of everybody, the attacker of homogeneity and similarity names the tenth that is surest.
_NAMED: Final = 10
#: Values that the target is known not to have.
_STRUCK: Final = 2
#: A value is rare, and worth hiding, if about one row in this many has it.
_RARE: Final = 50
#: Kinds times values: what is larger is not looked at.
MOST_CELLS: Final = 1 << 23
#: For minimality: classes looked at, random orders of each, and the largest class.
_CLASSES, _ORDERS, _LARGEST = 200, 300, 200
#: Whether a cut breaks a rule, for each order of a class's rows.
Refused = Callable[[Codes, NDArray[np.bool_]], NDArray[np.bool_]]


@dataclass(frozen=True)
class Found:
    """What one attack got out of one release.

    Args:
        attack: its name in ``dither attack``.
        measure: the counted quantity, as a share of ``n``.
        share: of the guesses that were right.
        chance: of those that are right without the release, with the same other knowledge.
        n: guesses.

    """

    attack: str
    measure: str
    share: float
    chance: float
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class View:
    """What a release says of people, kind by kind.

    Args:
        of_row: the kind that each person is of, from 0 on.
        weights: a row for each kind, a column for each value: how much speaks for the value.

    """

    of_row: Codes
    weights: Weights

    @classmethod
    def of_classes(cls, of_row: Codes, values: Codes, size: int) -> View:
        """Return what classes of rows that look alike say: how often each of ``size`` values occurs in each."""
        kinds = int(of_row.max()) + 1
        if kinds * size > MOST_CELLS:
            raise InvalidParameter("values", size, f"at most {MOST_CELLS // kinds} for {kinds} classes")
        counts = np.bincount(of_row * size + values, minlength=kinds * size)
        return cls(of_row, counts.reshape(kinds, size).astype(np.float64))

    def shares(self) -> Weights:
        """Return the weights of each kind as shares; where nothing is said, all values are alike."""
        totals = self.weights.sum(axis=1, keepdims=True)
        even = np.full_like(self.weights, 1 / self.weights.shape[1])
        return np.asarray(np.divide(self.weights, totals, out=even, where=totals > 0))

    def merged(self, groups: Codes, count: int) -> View:
        """Return the view of groups of values: ``groups`` has the group of each value."""
        weights = np.zeros((len(self.weights), count))
        np.add.at(weights.T, groups, self.weights.T)
        return View(self.of_row, weights)


def attacks_on(view: View, values: Codes, groups: Codes | None = None) -> tuple[Found, ...]:
    """Run every attack that needs one release only.

    Args:
        view: what the release says.
        values: of the people, from 0 on: the truth that guesses are scored on.
        groups: the group of each value, for the attack by similar values; left out without it.

    """
    found = [linkage(view, values), homogeneity(view, values), background(view, values), skewness(view, values)]
    return (*found, similarity(view, values, groups)) if groups is not None else tuple(found)


def linkage(view: View, values: Codes) -> Found:
    """Draw one of the rows that fit a target, and take its value: the expected share of right ones."""
    whole = _whole(view, values)
    share = float(view.shares()[view.of_row, values].mean())
    return Found("linkage", "value of a row that fits is the target's", share, float(whole @ whole), len(values))


def homogeneity(view: View, values: Codes) -> Found:
    """Guess the values of the tenth of people whom the release says most of."""
    share, named = _surest(view, values)
    chance = float(_whole(view, values).max())
    return Found("homogeneity", "value inferred correctly, of the tenth that is surest", share, chance, named)


def background(view: View, values: Codes) -> Found:
    """Guess everybody's value, knowing two frequent values that they do not have."""
    whole = _whole(view, values)
    order = np.argsort(-whole, kind="stable")
    size = len(whole)
    ruled_out = min(_STRUCK, max(size - 2, 0))
    right = chance = 0
    shares, ordered = view.shares(), whole[order]
    for own in np.unique(values).tolist():
        # What a target is known not to have depends on its own value only: the most frequent of the others. Two values
        # stay open at least, else anything would tell. Ties go to what is more frequent in the whole.
        allowed = np.ones(size)
        allowed[np.flatnonzero(order != own)[:ruled_out]] = 0
        kinds, counts = np.unique(view.of_row[values == own], return_counts=True)
        guesses = (shares[kinds][:, order] * allowed).argmax(axis=1)
        right += int(counts[order[guesses] == own].sum())
        chance += int(counts.sum()) if order[(ordered * allowed).argmax()] == own else 0
    words = f"value inferred correctly, {ruled_out} others being ruled out"
    return Found("background", words, right / len(values), chance / len(values), len(values))


def skewness(view: View, values: Codes) -> Found:
    """Name as many people as have a rare value, where the release says that it is most frequent."""
    whole = _whole(view, values)
    rare = int(np.argmin(np.where(whole >= min(1 / _RARE, whole.max()), whole, 2.0)))
    wanted = int(np.count_nonzero(values == rare))
    named = _first(view.shares()[view.of_row, rare], wanted)
    share = float(np.mean(values[named] == rare))
    return Found("skewness", "people named have a certain rare value", share, float(whole[rare]), wanted)


def similarity(view: View, values: Codes, groups: Codes) -> Found:
    """Guess of what group the value of the surest tenth of people is: different values may be alike."""
    count = int(groups.max()) + 1
    merged, kinds = view.merged(groups, count), groups[values]
    share, named = _surest(merged, kinds)
    chance = float(np.bincount(kinds).max() / len(kinds))
    return Found("similarity", "kind of value inferred correctly, of the tenth that is surest", share, chance, named)


def intersection(view: View, earlier: View, values: Codes) -> Found:
    """Guess everybody's value from two releases: only what both classes hold is left.

    ``chance`` is here what the one release gives without the other.
    """
    if len(view.of_row) != len(earlier.of_row):
        raise InvalidParameter("earlier", len(earlier.of_row), f"{len(view.of_row)} rows long, in the same order")
    width = len(earlier.weights)
    pairs, places = np.unique(view.of_row * width + earlier.of_row, return_inverse=True)
    if len(pairs) * view.weights.shape[1] > MOST_CELLS:
        raise InvalidParameter("earlier", len(pairs), f"at most {MOST_CELLS // view.weights.shape[1]} pairs of classes")
    both = np.minimum(view.weights[pairs // width], earlier.weights[pairs % width])
    alone = float(np.mean(_guesses(view)[view.of_row] == values))
    share = float(np.mean(_guesses(View(places, both))[places] == values))
    return Found(
        "intersection", "value inferred correctly by two releases (by chance: by this one)", share, alone, len(values)
    )


def minimality(
    view: View, values: Codes, groups: Sequence[tuple[Codes, NDArray[np.bool_]]], refused: Refused
) -> Found | None:
    """Guess values in classes that were left whole, knowing that the method would have cut them if it could.

    Members of a class are given its values in many random orders; those orders stay in which every cut breaks a rule.
    None where there is no such class. ``chance`` is here what the counts of the same classes give.

    Args:
        view: what the classes say.
        values: of the people.
        groups: the rows of such classes, and a line for each cut: whether a row is right of it.
        refused: whether a cut breaks a rule, for each of several orders: the rows whose values stand at each place (a
            line for each order), and what is right of the cut.

    """
    drawn = public_generator()
    known = [one for one in groups if len(one[0]) <= _LARGEST]
    plain, right, informed, n = _guesses(view), 0, 0, 0
    for place in drawn.permutation(len(known))[:_CLASSES].tolist():
        rows, cuts = known[place]
        orders = rows[drawn.permuted(np.tile(np.arange(len(rows)), (_ORDERS, 1)), axis=1)]
        kept = np.logical_and.reduce([refused(orders, is_right) for is_right in cuts])
        told = values[orders[kept]] if kept.any() else values[orders]
        own = values[rows]
        # Members on the same side of every cut are alike to the attacker: their chances are taken together.
        # NumPy 2.0.0 alone gives the inverse a second axis.
        sides = np.unique(cuts, axis=1, return_inverse=True)[1].ravel()
        for side in np.unique(sides).tolist():
            mine = sides == side
            guess = int(np.bincount(told[:, mine].ravel()).argmax())
            informed += int(np.count_nonzero(own[mine] == guess))
        right += int(np.count_nonzero(own == plain[view.of_row[rows]]))
        n += len(rows)
    words = "value inferred correctly where a class was left whole (by chance: by its counts)"
    return Found("minimality", words, informed / n, right / n, n) if n else None


def _whole(view: View, values: Codes) -> Weights:
    """Return the share of every value, which is taken to be known from elsewhere."""
    return np.bincount(values, minlength=view.weights.shape[1]) / len(values)


def _guesses(view: View) -> Codes:
    """Return the value that most speaks for, of each kind; ties are broken at random."""
    lots = public_generator().permutation(view.weights.shape[1])
    return np.asarray(lots[view.weights[:, lots].argmax(axis=1)])


def _surest(view: View, values: Codes) -> tuple[float, int]:
    wanted = -(-len(values) // _NAMED)
    named = _first(view.shares().max(axis=1)[view.of_row], wanted)
    return float(np.mean(_guesses(view)[view.of_row[named]] == values[named])), wanted


def _first(scores: Weights, wanted: int) -> Codes:
    """Return the people with the highest scores; ties are ordered at random."""
    lots = public_generator().permutation(len(scores))
    return np.asarray(np.lexsort((lots, -scores))[:wanted])
