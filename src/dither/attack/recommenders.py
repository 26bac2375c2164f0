"""A plain recommender to attack, and the private recommender of ``learn.recommend`` that would replace it.

Who bought what is a table of zeros and ones. The plain recommender gives a user what their nearest neighbours bought;
the plain shop shows, beside an item, what was bought together with it. Everybody buys each item by their own coin,
so nothing can be learnt about anybody but from what is released about them.

The private version releases means of items and how items go together, one person being the unit, however many items a
person has: everything shown is computed from that model.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts
from dither.attack.registry import BOOK, attack
from dither.estimate.public_randomness import public_generator
from dither.exact import Number, positive
from dither.learn.recommend import ItemCovariance, ItemCovarianceModel, ItemMeans
from dither.learn.recommend.personal import first_of
from dither.mechanisms import perform
from dither.privacy import ROW_REPLACED, ApproxDP, PureDP

Histories = NDArray[np.int64]


def neighbours_of(histories: Histories, user: int, count: int) -> NDArray[np.int64]:
    """Return the users whose histories have the highest cosine with that of ``user``."""
    lengths = np.sqrt(np.maximum(histories.sum(axis=1), 1))
    nearness = (histories @ histories[user]) / lengths
    nearness[user] = -1.0
    return np.argsort(-nearness, kind="stable")[:count]


def recommended(histories: Histories, user: int, neighbours: int, count: int) -> NDArray[np.int64]:
    """Return the items that most nearest neighbours have and the user lacks; items that none has are left out."""
    scores = histories[neighbours_of(histories, user, neighbours)].sum(axis=0)
    scores = np.where(histories[user] > 0, 0, scores)
    best = np.argsort(-scores, kind="stable")[:count]
    return best[scores[best] > 0]


def together(histories: Histories) -> NDArray[np.int64]:
    """Return the number of people who have both of two items; no item is counted with itself."""
    counts = histories.T @ histories
    np.fill_diagonal(counts, 0)
    return np.asarray(counts)


def private_model(histories: Histories, epsilon: Number) -> ItemCovarianceModel:
    """Return the model of a private recommender, for histories of which one is replaced."""
    items = histories.shape[1]
    method = ItemCovariance.calibrated(PureDP(epsilon), items=items, lower=0, upper=1, unit=ROW_REPLACED)
    return perform(method, histories.astype(np.float64))


_USERS, _SYBIL_ITEMS, _SYBIL_BOUGHT, _SYBIL_KNOWN, _SYBILS, _NAMED = 300, 120, 0.2, 8, 10, 10


@attack(
    "sybil",
    source="You Might Also Like: Privacy Risks of Collaborative Filtering (Calandrino et al. 2011); "
    f"{BOOK}, section 10.4.1",
    most=2000,
)
def sybil(targets: int = 500, epsilon: Number = "1/2") -> Outcome:
    """Create users with eight known purchases of the target; their recommendations are what the target bought.

    Sybils: false users copy what is known of the target, become its nearest neighbours, and are given the rest.
    """
    drawn = public_generator()
    attacked = -(-targets // _NAMED)
    users = max(_USERS, attacked)
    histories = (drawn.uniform(size=(users, _SYBIL_ITEMS)) < _SYBIL_BOUGHT).astype(np.int64)
    # Eight purchases are known; no one has fewer, and the rest is bought by the toss of a coin as before.
    known = np.argsort(drawn.uniform(size=(attacked, _SYBIL_ITEMS)), axis=1)[:, :_SYBIL_KNOWN]
    np.put_along_axis(histories[:attacked], known, 1, axis=1)
    false_users = np.zeros((attacked, _SYBIL_ITEMS), dtype=np.int64)
    np.put_along_axis(false_users, known, 1, axis=1)

    hits, named = 0, 0
    for target, sybil_history in enumerate(false_users):
        joined = np.vstack([histories, np.repeat(sybil_history[None, :], _SYBILS, axis=0)])
        items = recommended(joined, users, _SYBILS, _NAMED)
        hits, named = hits + int(histories[target, items].sum()), named + len(items)

    everybody = np.vstack([histories, np.repeat(false_users, _SYBILS, axis=0)])
    model = private_model(everybody, epsilon)
    scores = np.stack([model.expected(np.flatnonzero(one), np.ones(_SYBIL_KNOWN)) for one in false_users])
    scores[false_users > 0] = -np.inf
    given = np.argsort(-scores, axis=1, kind="stable")[:, :_NAMED]
    return Outcome(
        attack="sybil",
        measure="share of recommended items that are in the target's history",
        unprotected=hits / max(named, 1),
        protected=float(np.mean(np.take_along_axis(histories[:attacked], given, axis=1))),
        chance=_SYBIL_BOUGHT,
        ceiling=ceiling(_SYBIL_BOUGHT, epsilon),
        n=attacked * _NAMED,
        loss=f"{plainly(epsilon)} for one person's whole history",
        words=f"{_SYBILS} false users with {_SYBIL_KNOWN} known purchases have each other and the target as nearest "
        f"neighbours: {hits} of {named} recommended items were bought by the target. A private model recommends them "
        f"items that anybody may have bought.",
        figures=(("items named per target without protection", named / attacked),),
    )


_RELATED_ITEMS, _RELATED_BOUGHT, _RELATED_KNOWN = 200, 0.1, 8


@attack(
    "related-items",
    source="You Might Also Like: Privacy Risks of Collaborative Filtering (Calandrino et al. 2011); Differentially "
    "Private Data Publishing and Analysis: A Survey (Zhu et al. 2017), section 5.2",
    most=1000,
)
def related_items(targets: int = 200, epsilon: Number = "1/2") -> Outcome:
    """Watch which item moves up in the lists of all items that the target is known to have; it is the new one.

    Related items: lists that change when somebody buys tell what they bought.
    """
    drawn = public_generator()
    before = (drawn.uniform(size=(targets, _RELATED_ITEMS)) < _RELATED_BOUGHT).astype(np.int64)
    known = np.argsort(drawn.uniform(size=(targets, _RELATED_ITEMS)), axis=1)[:, :_RELATED_KNOWN]
    np.put_along_axis(before, known, 1, axis=1)
    # The new item is any that is not among the known ones: the attacker has no other reason to prefer one.
    new = np.argmax(drawn.uniform(size=(targets, _RELATED_ITEMS)) * _not_among(known), axis=1)
    before[np.arange(targets), new] = 0
    after = before.copy()
    after[np.arange(targets), new] = 1

    half = positive("epsilon", epsilon) / 2
    views = {
        "exact lists": (together(before), together(after)),
        "private model": tuple(_lists(private_model(one, half)) for one in (before, after)),
    }
    allowed = _not_among(known)
    shares, curves = [], []
    for name, (early, late) in views.items():
        moved = late - early
        counts, right = list(range(1, _RELATED_KNOWN + 1)), []
        for first in counts:
            # In how many of the watched lists an item moved up; by how much decides between equals.
            watched = moved[known[:, :first]]
            score = (watched > 0).sum(axis=1) + 1e-6 * watched.sum(axis=1)
            right.append(float(np.mean(np.argmax(np.where(allowed, score, -np.inf), axis=1) == new)))
        shares.append(right[-1])
        curves.append(Curve(name, tuple(map(float, counts)), tuple(right)))
    prior = 1 / (_RELATED_ITEMS - _RELATED_KNOWN)
    return Outcome(
        attack="related-items",
        measure="share of people whose newest purchase is inferred correctly",
        unprotected=shares[0],
        protected=shares[1],
        chance=prior,
        ceiling=ceiling(prior, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's whole history, both days together",
        words=(
            f"{targets} people buy one item each between two days. An attacker who knows {_RELATED_KNOWN} earlier "
            f"purchases of a person finds the new one in {shares[0]:.0%} of the cases, from public lists of what is "
            "bought together."
        ),
        axes=("known purchases", "share inferred correctly"),
        curves=tuple(curves),
    )


def _lists(model: ItemCovarianceModel) -> NDArray[np.float64]:
    """Return how like every item is to every other, by a released model."""
    return np.stack([model.alike(item) for item in range(model.items)])


def _not_among(
    known: np.ndarray[tuple[int, ...], np.dtype[np.int64]],
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    allowed = np.ones((len(known), _RELATED_ITEMS), dtype=bool)
    np.put_along_axis(allowed, known, False, axis=1)
    return allowed


_FILMS, _SCORES, _DAYS = 200, 5, 365
_RATED, _RATINGS_KNOWN, _DAYS_OFF = 20, 6, 7
_AGAINST = 8


def agreement(
    films: NDArray[np.int64], scores: NDArray[np.int64], days: NDArray[np.int64], about: tuple[int, int, int]
) -> NDArray[np.bool_]:
    """Return which rows hold a film with about this score, about this day.

    Args:
        films: one row for each user.
        scores: beside them.
        days: beside them.
        about: a film, a score and a day.

    """
    film, score, day = about
    near = (np.abs(scores - score) <= 1) & (np.abs(days - day) <= _DAYS_OFF)
    return np.asarray(((films == film) & near).any(axis=1))


@attack(
    "ratings",
    source=f"Robust De-anonymization of Large Sparse Datasets (Narayanan and Shmatikov 2008); {BOOK}, section 1.2",
    most=1000,
)
def ratings(targets: int = 300, epsilon: Number = "1/2") -> Outcome:
    """Find a person's row of ratings by the few that they made public, and read off one that they did not.

    Ratings without names: a few opinions that somebody aired elsewhere find the rest of them.

    A table of ratings is published under false names. Of the target the attacker knows a few ratings, from a public
    page or a chat: which film, about what score, about which day, and some of that is wrong. Every row of the table is
    scored by how well it fits, rare films counting more; the row that stands out is the target's, and holds what was
    never aired.

    The defended release is the noisy table of scores of the film in question.
    """
    drawn = public_generator()
    users = _AGAINST * targets
    popularity = 1.0 / np.arange(1, _FILMS + 1)
    lots = np.log(drawn.uniform(size=(users, _FILMS))) / popularity
    films = np.argsort(-lots, axis=1)[:, :_RATED]
    scores = drawn.integers(0, _SCORES, size=films.shape)
    days = drawn.integers(0, _DAYS, size=films.shape)
    secret = drawn.integers(0, _SCORES, size=users)
    weights = 1 / np.log(2 + np.bincount(films.ravel(), minlength=_FILMS))
    chosen = drawn.permutation(users)[:targets]
    aired = np.argsort(drawn.uniform(size=(targets, _RATED)), axis=1)[:, :_RATINGS_KNOWN]
    # Scores are off by one and days by a week at most; one film in three was never rated: the attacker is misled.
    told = np.take_along_axis(films[chosen], aired, axis=1)
    is_wrong = drawn.uniform(size=told.shape) < 1 / 3
    told = np.where(is_wrong, drawn.integers(0, _FILMS, size=told.shape), told)
    near = np.take_along_axis(scores[chosen], aired, axis=1) + drawn.integers(-1, 2, size=told.shape)
    when = np.take_along_axis(days[chosen], aired, axis=1) + drawn.integers(-_DAYS_OFF, _DAYS_OFF + 1, size=told.shape)
    best = np.zeros((_RATINGS_KNOWN + 1, targets), dtype=np.int64)
    best[0] = drawn.integers(0, users, size=targets)
    lots = drawn.uniform(0, 1e-6, size=users)
    for place in range(targets):
        total = lots.copy()
        for many, about in enumerate(
            zip(told[place].tolist(), near[place].tolist(), when[place].tolist(), strict=True)
        ):
            total += agreement(films, scores, days, about) * weights[about[0]]
            best[many + 1, place] = int(total.argmax())
    shares = [float(np.mean(secret[row] == secret[chosen])) for row in best]
    found = float(np.mean(best[_RATINGS_KNOWN] == chosen))
    private = noisy_counts(np.bincount(secret, minlength=_SCORES), epsilon, moved=2)
    return Outcome(
        attack="ratings",
        measure="share of people whose score of a film is inferred correctly",
        unprotected=shares[-1],
        protected=float(np.mean(secret[chosen] == int(private.argmax()))),
        chance=1 / _SCORES,
        ceiling=ceiling(1 / _SCORES, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's score of the film",
        words=f"{users} users with {_RATED} ratings each. {_RATINGS_KNOWN} ratings that are about right, a third of "
        f"them not at all, find the row of {found:.0%} of {targets} people. Counts of scores have no rows.",
        figures=(("share of people whose row is found", found),),
        axes=("ratings that are known", "share inferred correctly"),
        curves=(Curve("rows under false names", tuple(float(n) for n in range(_RATINGS_KNOWN + 1)), tuple(shares)),),
    )


_SHOP_ITEMS, _SHOP_USERS, _PUSHED, _FALSE_RATERS, _SHELF = 300, 1500, 30, 30, 30
_SHILLING_DELTA: Final = "1e-6"


def shelf(means: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the items that are shown to a newcomer: the best by their means."""
    return first_of(means, _SHELF)


def plain_means(ratings: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the mean of each item, NaN being no rating; an item without ratings has the lowest."""
    rated = ~np.isnan(ratings)
    sums = np.where(rated, ratings, 0.0).sum(axis=0)
    return np.where(rated.any(axis=0), sums / np.maximum(rated.sum(axis=0), 1), -np.inf)


def _rated_shop(drawn: Any) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return ratings of honest people, and items that few of them rated, and not well."""
    popularity = 0.3 / np.sqrt(1 + np.arange(_SHOP_ITEMS)) + 0.01
    quality = drawn.normal(3.4, 0.5, size=_SHOP_ITEMS)
    pushed = np.arange(_SHOP_ITEMS - _PUSHED, _SHOP_ITEMS)
    quality[pushed], popularity[pushed] = 2.5, 0.004
    values = np.clip(np.rint(quality + drawn.normal(0, 1, size=(_SHOP_USERS, _SHOP_ITEMS))), 1, 5)
    rated = drawn.uniform(size=values.shape) < popularity
    return np.where(rated, values, np.nan), pushed


@attack(
    "shilling",
    source="Shilling Recommender Systems for Fun and Profit (Lam and Riedl 2004); "
    "Lu, doctoral thesis, University of Adelaide (2021), section 1.1",
    most=3000,
)
def shilling(targets: int = 120, epsilon: Number = "1/2") -> Outcome:
    """Rate one poor item highly under many false names, so that everybody is shown it.

    Shilling: false profiles lift an item that few have rated. Some of them also rate everything else badly.

    A private model counts a false profile as it counts any person: one profile moves all sums together by a public
    length, so that one that rates everything counts each rating less, and an item with few ratings is pulled towards
    what is usual. That is no promise against many false names: a group of k people may lose k times as much.
    """
    drawn = public_generator()
    rounds = -(-targets // _PUSHED)
    lifted = {"plain": 0, "private": 0, "before": 0, "all": 0}
    for _ in range(rounds):
        honest, pushed = _rated_shop(drawn)
        false = np.full((_FALSE_RATERS * _PUSHED, _SHOP_ITEMS), np.nan)
        false[np.arange(len(false)), np.repeat(pushed, _FALSE_RATERS)] = 5.0
        everybody = np.vstack([honest, false])
        spiteful = np.where(np.isnan(false), 1.0, false)
        loss = ApproxDP(epsilon, _SHILLING_DELTA)
        method = ItemMeans.calibrated(loss, items=_SHOP_ITEMS, lower=1, upper=5, unit=ROW_REPLACED)
        for name, means in (
            ("before", plain_means(honest)),
            ("plain", plain_means(everybody)),
            ("private", perform(method, everybody).means),
            ("all", perform(method, np.vstack([honest, spiteful])).means),
        ):
            lifted[name] += int(np.isin(pushed, shelf(means)).sum())
    count = rounds * _PUSHED
    shares = {name: many / count for name, many in lifted.items()}
    return Outcome(
        attack="shilling",
        measure="share of pushed items that are shown to newcomers",
        unprotected=shares["plain"],
        protected=shares["private"],
        chance=shares["before"],
        ceiling=None,
        n=count,
        loss=f"{plainly(epsilon)} at delta {_SHILLING_DELTA} for one person's ratings",
        words=f"{_FALSE_RATERS} false users rate a poor item with 5: {shares['plain']:.0%} of such items are then "
        f"among the {_SHELF} of {_SHOP_ITEMS} that a newcomer is shown, and {shares['private']:.0%} where the model is "
        f"private. If they rate everything else with 1 as well, {shares['all']:.0%}.",
        figures=(("share with false users who rate everything", shares["all"]),),
    )
