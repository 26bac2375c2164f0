"""Tables whose rows were made alike in groups of k: the input of attacks on k-anonymity and l-diversity.

People stand in the order of what identifies them (a year of birth, say), and every k of them in a row are published as
one class, with the sensitive values of its members beside it: k-anonymity in one dimension, as Mondrian makes it. What
an attacker sees of a class is how often each value occurs in it.

The defended table counts the same classes and values with noise. Its attacker reads it in the same way and names the
people of whom it says most; whom to name depends on the release alone, so the ceiling of ``dither.attack.outcome``
holds for them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import ADELAIDE, BOOK, KAR, attack
from dither.estimate.public_randomness import public_generator
from dither.exact import Number

#: How many classes are made for each one that is named: those that give most away are rare.
_CLASSES_PER_NAMED = 100
Counts = NDArray[np.int64]


def class_counts(values: NDArray[np.int64], size: int) -> Counts:
    """Return how often each of ``size`` values occurs in each class; ``values`` has a row for each class."""
    counts = np.zeros((len(values), size), dtype=np.int64)
    np.add.at(counts, (np.arange(len(values))[:, None], values), 1)
    return counts


def surest(confidence: NDArray[np.generic], wanted: int, lots: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the ``wanted`` classes with the highest confidence; ties are ordered at random."""
    return np.lexsort((lots, -confidence.astype(np.float64)))[:wanted]


def share_right(values: NDArray[np.int64], chosen: NDArray[np.int64], guesses: NDArray[np.int64]) -> float:
    """Return the share of members of the chosen classes whose value is the one guessed for their class."""
    return float(np.mean(values[chosen] == guesses[chosen][:, None]))


_K_HOMOGENEITY, _VALUES_HOMOGENEITY = 3, 4
#: One class in this number is homogeneous by chance; twice the needed number of classes is made.
_RARITY = 2 * _VALUES_HOMOGENEITY ** (_K_HOMOGENEITY - 1)


@attack("homogeneity", source=f"l-diversity (Machanavajjhala et al. 2006); {ADELAIDE}, section 2.2; {KAR}, section 2.4")
def homogeneity(targets: int = 600, epsilon: Number = "1/2") -> Outcome:
    """Read a diagnosis off a k-anonymous class all of whose members have the same one.

    Homogeneity: all members of a class share one value, so being in the class is having the value.
    """
    drawn = public_generator()
    wanted = -(-targets // _K_HOMOGENEITY)
    values = drawn.integers(0, _VALUES_HOMOGENEITY, size=(_RARITY * wanted, _K_HOMOGENEITY))
    counts = class_counts(values, _VALUES_HOMOGENEITY)
    private = noisy_counts(counts, epsilon, moved=2)
    lots = drawn.uniform(size=len(values))
    ordered = np.sort(private, axis=1)
    shares = [
        share_right(values, surest(confidence, wanted, lots), seen.argmax(axis=1))
        for seen, confidence in ((counts, counts.max(axis=1)), (private, ordered[:, -1] - ordered[:, -2]))
    ]
    found = int(np.sum(counts.max(axis=1) == _K_HOMOGENEITY))
    return Outcome(
        attack="homogeneity",
        measure="share right, of the people whose value the attacker is surest of",
        unprotected=shares[0],
        protected=shares[1],
        chance=1 / _VALUES_HOMOGENEITY,
        ceiling=ceiling(1 / _VALUES_HOMOGENEITY, epsilon),
        n=wanted * _K_HOMOGENEITY,
        loss=f"{plainly(epsilon)} for one person's value",
        words=f"{found} of {len(values)} classes of {_K_HOMOGENEITY} are homogeneous, though every row is "
        f"{_K_HOMOGENEITY}-anonymous: their members' values are certain. Noisy counts of the same classes leave "
        "nothing certain.",
        figures=(("share of classes that are homogeneous", found / len(values)),),
    )


_L_BACKGROUND, _EXCLUDED, _POSSIBLE = 3, 10, 10


@attack("background", source=f"l-diversity (Machanavajjhala et al. 2006); {ADELAIDE}, section 2.2; {KAR}, section 2.4")
def background(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Strike out the values that the target cannot have; one is left of an l-diverse class.

    Background knowledge: a class of diverse values does not protect a person known not to have most of them.
    """
    drawn = public_generator()
    # The others have different values among those that the target's sex or age rules out for the target.
    others = np.argsort(drawn.uniform(size=(targets, _EXCLUDED)), axis=1)[:, : _L_BACKGROUND - 1]
    own = drawn.integers(0, _POSSIBLE, size=targets)
    values = np.hstack([own[:, None] + _EXCLUDED, others])
    counts = class_counts(values, _EXCLUDED + _POSSIBLE)
    private = noisy_counts(counts, epsilon, moved=2)
    shares = [float(np.mean(seen[:, _EXCLUDED:].argmax(axis=1) == own)) for seen in (counts, private)]
    return Outcome(
        attack="background",
        measure="share of people whose value is inferred correctly",
        unprotected=shares[0],
        protected=shares[1],
        chance=1 / _POSSIBLE,
        ceiling=ceiling(1 / _POSSIBLE, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's value",
        words=(
            f"Every class holds {_L_BACKGROUND} different values, so it is {_L_BACKGROUND}-diverse. An attacker who "
            f"knows {_EXCLUDED} values that the target does not have strikes them out, and one remains. With noise, "
            "many are left."
        ),
    )


_K_SKEWNESS, _RARE = 10, 0.05


@attack("skewness", source=f"t-closeness (Li, Li, Venkatasubramanian 2007); {ADELAIDE}, section 2.2", most=2000)
def skewness(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Name the members of the 2-diverse classes in which a rare diagnosis is most frequent.

    Skewness: a class may be diverse and still say that its members have a rare value far more often than others.
    """
    drawn = public_generator()
    wanted = -(-targets // _K_SKEWNESS)
    values = (drawn.uniform(size=(_CLASSES_PER_NAMED * wanted, _K_SKEWNESS)) < _RARE).astype(np.int64)
    counts = class_counts(values, 2)
    # How many members a class has is known, so one count says all; another value of one person moves it by 1.
    private = noisy_counts(counts[:, 1], epsilon, moved=1)
    lots = drawn.uniform(size=len(values))
    always = np.ones(len(values), dtype=np.int64)
    # Classes in which everybody has it are not 2-diverse and would not be published.
    published = np.where(counts[:, 1] < _K_SKEWNESS, counts[:, 1], -1)
    shares = [share_right(values, surest(seen, wanted, lots), always) for seen in (published, private)]
    return Outcome(
        attack="skewness",
        measure="share that has the rare value, of the people named",
        unprotected=shares[0],
        protected=shares[1],
        chance=_RARE,
        ceiling=ceiling(_RARE, epsilon),
        n=wanted * _K_SKEWNESS,
        loss=f"{plainly(epsilon)} for one person's value",
        words=(
            f"One person in {1 / _RARE:.0f} has the value. In the most skewed of {len(values)} classes, all of them "
            f"2-diverse, {shares[0]:.0%} have it: {shares[0] / _RARE:.1f} times the average. Noise removes it."
        ),
    )


_L_SIMILARITY, _KINDS, _PER_KIND = 3, 5, 6


@attack("similarity", source=f"t-closeness (Li, Li, Venkatasubramanian 2007); {ADELAIDE}, section 2.2", most=2000)
def similarity(targets: int = 600, epsilon: Number = "1/2") -> Outcome:
    """Tell the kind of disease from an l-diverse class whose different diseases are all of one kind.

    Similarity: different values of one kind are diverse by the letter, and tell the kind.
    """
    drawn = public_generator()
    wanted = -(-targets // _L_SIMILARITY)
    values = drawn.integers(0, _KINDS * _PER_KIND, size=(_CLASSES_PER_NAMED * wanted, _L_SIMILARITY))
    ordered = np.sort(values, axis=1)
    is_diverse = np.all(np.diff(ordered, axis=1) > 0, axis=1)
    kinds = values // _PER_KIND
    counts = class_counts(kinds, _KINDS)
    # A class that is not diverse would be merged away: it is not published.
    confidence = np.where(is_diverse, counts.max(axis=1), -1)
    # The defended table gives counts of values; its reader adds those of one kind.
    private = noisy_counts(class_counts(values, _KINDS * _PER_KIND), epsilon, moved=2)
    seen = private.reshape(len(values), _KINDS, _PER_KIND).sum(axis=2)
    spread = np.sort(seen, axis=1)
    lots = drawn.uniform(size=len(values))
    shares = [
        share_right(kinds, surest(confidence, wanted, lots), counts.argmax(axis=1)),
        share_right(kinds, surest(spread[:, -1] - spread[:, -2], wanted, lots), seen.argmax(axis=1)),
    ]
    alike = int(np.sum(is_diverse & (counts.max(axis=1) == _L_SIMILARITY)))
    return Outcome(
        attack="similarity",
        measure="share right, of the people whose kind of value the attacker is surest of",
        unprotected=shares[0],
        protected=shares[1],
        chance=1 / _KINDS,
        ceiling=ceiling(1 / _KINDS, epsilon),
        n=wanted * _L_SIMILARITY,
        loss=f"{plainly(epsilon)} for one person's value",
        words=f"{alike} of {int(is_diverse.sum())} {_L_SIMILARITY}-diverse classes hold different values of one kind "
        f"only: the kind of each member is certain.",
        figures=(("share of diverse classes that are all of one kind", alike / max(int(is_diverse.sum()), 1)),),
    )


_SMALL, _LARGE, _SENSITIVE = 2, 4, 0.3
_PAIRS_PER_NAMED = 100


@attack(
    "minimality",
    source=f"Minimality Attack in Privacy Preserving Data Publishing (Wong et al. 2007); {BOOK}, section 1.3; "
    f"{KAR}, section 2.3",
)
def minimality(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Ask why two classes had to be merged; the answer is a value.

    Minimality: that an anonymizer changed something tells why it had to.

    The anonymizer merges two classes only if one of them has too many sensitive values (more than half). Where two
    classes are found merged, and there are just two sensitive values among six people, the class of two must have had
    them both: else nothing would have been merged. What is published says a third; what is known is certainty.
    """
    drawn = public_generator()
    wanted = -(-targets // _SMALL)
    small = (drawn.uniform(size=(_PAIRS_PER_NAMED * wanted, _SMALL)) < _SENSITIVE).astype(np.int64)
    large = (drawn.uniform(size=(len(small), _LARGE)) < _SENSITIVE).astype(np.int64)
    few, many = small.sum(axis=1), large.sum(axis=1)
    is_merged = (2 * few > _SMALL) | (2 * many > _LARGE)
    # Only a class of two with both can be the reason: the class of four would need three.
    gives_away = np.flatnonzero(is_merged & (few + many == _SMALL))
    named = gives_away[:wanted]
    # Counts of fixed classes, however many of their members are sensitive: nothing is merged for a reason.
    private = noisy_counts(few, epsilon, moved=1)
    chosen = surest(private, wanted, drawn.uniform(size=len(few)))
    return Outcome(
        attack="minimality",
        measure="share that has the sensitive value, of the people named",
        unprotected=float(np.mean(small[named])),
        protected=float(np.mean(small[chosen])),
        chance=_SENSITIVE,
        ceiling=ceiling(_SENSITIVE, epsilon),
        n=wanted * _SMALL,
        loss=f"{plainly(epsilon)} for one person's value",
        words=f"{int(is_merged.sum())} of {len(small)} pairs of classes were merged to hide that more than half of a "
        f"class is sensitive. In {len(gives_away)} of them the merging itself proves who it was, while the table "
        f"says one in {(_SMALL + _LARGE) // _SMALL}.",
    )


_VALUES_DEFINETTI, _LIKELY = 10, 0.4
_PEOPLE_PER_NAMED, _ROUNDS = 12, 12


def learned_chances(
    kinds: NDArray[np.int64], values: NDArray[np.int64], size: int, rounds: int
) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Return the probability that the first member of each class has its first value, after every round.

    Args:
        kinds: of the two members of each class.
        values: the two values of each class, in any order.
        size: how many kinds and values there are.
        rounds: of going back and forth.

    """
    straight, course = np.full(len(kinds), 0.5), []
    for _ in range(rounds):
        together = np.full((size, size), 1.0)
        for member in (0, 1):
            for place in (0, 1):
                weight = straight if member == place else 1 - straight
                np.add.at(together, (kinds[:, member], values[:, place]), weight)
        chances = together / together.sum(axis=1, keepdims=True)
        first = chances[kinds[:, 0], values[:, 0]] * chances[kinds[:, 1], values[:, 1]]
        second = chances[kinds[:, 0], values[:, 1]] * chances[kinds[:, 1], values[:, 0]]
        straight = first / (first + second)
        course.append(straight)
    return straight, course


@attack("definetti", source=f"Attacks on Privacy and deFinetti's Theorem (Kifer 2009); {BOOK}, section 1.3")
def definetti(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Learn from the classes of a table which values go together, and read off who in each class has which value.

    De Finetti's attack: the table itself teaches what goes with what, and that undoes its classes.

    Anatomy publishes what identifies people and what is sensitive in two lists that are joined by the number of a class
    only: two people, two different diagnoses, and nothing that says who has which. But over many classes people of one
    occupation meet one diagnosis more often than others. That is learned from the classes alone, by going back and
    forth between who has what and what goes with what (expectation and maximisation), and then most classes of which
    the two readings differ enough are read correctly.

    The defended table counts occupations and diagnoses with noise. It teaches what goes with what just as well, which
    is what tables are for; but it says nothing of who was in which class, so that everybody is guessed as well as by
    their occupation alone.
    """
    drawn = public_generator()
    people = _PEOPLE_PER_NAMED * targets
    # Which diagnosis goes with which occupation is not a secret, but not known in advance.
    goes_with = drawn.permutation(_VALUES_DEFINETTI)
    kinds = drawn.integers(0, _VALUES_DEFINETTI, size=people)
    shift = np.where(drawn.uniform(size=people) < _LIKELY, 0, drawn.integers(1, _VALUES_DEFINETTI, size=people))
    values = (goes_with[kinds] + shift) % _VALUES_DEFINETTI
    pairs, own = kinds.reshape(-1, 2), values.reshape(-1, 2)
    # Of a class with one value nothing would be hidden: such classes are not published.
    is_diverse = own[:, 0] != own[:, 1]
    pairs, own = pairs[is_diverse], own[is_diverse]
    is_turned = drawn.uniform(size=len(own)) < 0.5
    listed = np.where(is_turned[:, None], own[:, ::-1], own)
    straight, course = learned_chances(pairs, listed, _VALUES_DEFINETTI, _ROUNDS)
    wanted = -(-targets // 2)
    shares = [_share_right(chance, is_turned, wanted) for chance in course]
    table = np.zeros((_VALUES_DEFINETTI, _VALUES_DEFINETTI), dtype=np.int64)
    np.add.at(table, (kinds, values), 1)
    guesses = noisy_counts(table, epsilon, moved=2).argmax(axis=1)
    named = drawn.permutation(people)[: 2 * wanted]
    return Outcome(
        attack="definetti",
        measure="share of people whose diagnosis is inferred correctly, of those named",
        unprotected=_share_right(straight, is_turned, wanted),
        protected=float(np.mean(guesses[kinds[named]] == values[named])),
        chance=_LIKELY,
        ceiling=ceiling(_LIKELY, epsilon),
        n=2 * wanted,
        loss=f"{plainly(epsilon)} for one person's diagnosis",
        words=(
            f"{len(own)} classes of two people with two different diagnoses: in the table each reading is as likely "
            f"as the other. {_LIKELY:.0%} of people have what goes with their occupation; that is learned from the "
            f"classes, and identifies most people of the {wanted} surest classes."
        ),
        axes=("rounds of learning", "share inferred correctly"),
        curves=(Curve("of the surest classes", tuple(float(n + 1) for n in range(len(shares))), tuple(shares)),),
    )


def _share_right(straight: NDArray[np.float64], is_turned: NDArray[np.bool_], wanted: int) -> float:
    """Return the share of the surest classes that are read correctly."""
    surest = np.argsort(-np.abs(straight - 0.5), kind="stable")[:wanted]
    return float(np.mean((straight[surest] < 0.5) == is_turned[surest]))


_CLASS, _VISIBLE, _LOOKS, _HIDDEN = 10, 3, 6, 8


def rules(
    classes: NDArray[np.int64], seen: NDArray[np.int64], hidden: NDArray[np.int64], looks: int, size: int
) -> NDArray[np.int64]:
    """Return, for every person, how often each hidden value occurs among rows of their class that look like them."""
    key = classes.copy()
    for column in seen.T:
        key = key * looks + column
    _, group = np.unique(key, return_inverse=True)
    counts = np.zeros((int(group.max()) + 1, size), dtype=np.int64)
    np.add.at(counts, (group, hidden), 1)
    return np.asarray(counts[group])


@attack("freeform", source=f"FF-anonymity (Wang, Xu, Fu and Wong 2009); {KAR}, section 2.3.12")
def freeform(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Find a row within its anonymous class by values that can be seen, and read off one that cannot.

    The freeform attack: a value that was thought sensitive identifies, because it can be seen.

    A table is made k-anonymous in what was declared to identify people, and keeps everything else as it is. Some of
    that can be seen on the street: a plaster cast, glasses, a limp. Such values, in any column, single out a row
    within its class, and the rest of the row holds what cannot be seen. FF-anonymity asks that no set A of values that
    can be seen makes any value b that cannot be seen likely; rules A -> b are what is counted here.
    """
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
        measure="share of people whose hidden value is inferred correctly",
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
        axes=("columns that are seen", "share inferred correctly"),
        curves=(Curve("rows as they are", tuple(float(n) for n in range(_VISIBLE + 1)), tuple(shares)),),
    )


_K_INTERSECTION, _VALUES_INTERSECTION = 4, 60


@attack(
    "intersection",
    source="Composition Attacks and Auxiliary Information in Data Privacy (Ganta, Kasiviswanathan, Smith 2008); "
    f"{BOOK}, section 1.3; {KAR}, section 2.3",
)
def intersection(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Intersect the classes of a person who is in two anonymous tables.

    Intersection: two releases, each anonymous alone, have one value in common.

    A target is in the tables of two hospitals. Each puts them into a class of k people with k different values; only
    the target is in both. Neither release is wrong by its own rule, and together they identify: the reason why losses
    have to be added up over releases, which anonymity has no means to do.
    """
    drawn = public_generator()
    own = drawn.integers(0, _VALUES_INTERSECTION, size=targets)
    others = drawn.integers(0, _VALUES_INTERSECTION, size=(2, targets, _K_INTERSECTION - 1))
    tables = np.stack([class_counts(np.hstack([own[:, None], rest]), _VALUES_INTERSECTION) for rest in others])
    lots = drawn.uniform(0, 0.5, size=(targets, _VALUES_INTERSECTION))
    alone = np.argmax(np.minimum(tables[0], 1) + lots, axis=1)
    both = np.argmax(np.minimum(tables, 1).sum(axis=0) + lots, axis=1)
    # One target's value moves two counts in each of two tables.
    private = noisy_counts(tables, epsilon, moved=4)
    guesses = np.argmax(private.sum(axis=0) + lots, axis=1)
    return Outcome(
        attack="intersection",
        measure="share of people whose value is inferred correctly",
        unprotected=float(np.mean(both == own)),
        protected=float(np.mean(guesses == own)),
        chance=1 / _VALUES_INTERSECTION,
        ceiling=ceiling(1 / _VALUES_INTERSECTION, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's value, both tables together",
        words=f"One {_K_INTERSECTION}-anonymous table lets {np.mean(alone == own):.0%} of the targets' values be "
        f"guessed, as it promises; two of them let {np.mean(both == own):.0%} be. Noise is paid for both together.",
        figures=(("share inferred correctly from one table", float(np.mean(alone == own))),),
    )
