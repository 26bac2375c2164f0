"""Association rules from released itemsets: post-processing, at no further loss.

A rule says: transactions with these items tend to have those. All figures are quotients of released supports; noise in
a small support makes them wild, so a rule needs a least support of what it starts from.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from dither.exact import Number, positive, probability
from dither.learn.itemsets.common import Itemsets
from dither.learn.itemsets.universe import Itemset


@dataclass(frozen=True)
class Rule:
    """If all items of ``given`` are there, so are those of ``then``.

    Args:
        given: the items that are there.
        then: the items that follow.
        support: the noisy number of transactions with all of them.
        confidence: the share of transactions with ``given`` that also have ``then``, clamped to [0, 1].
        lift: how much more frequent ``then`` is among those, as a factor; None if its support or a total is not known.

    """

    given: Itemset
    then: Itemset
    support: float
    confidence: float
    lift: float | None


def association_rules(
    found: Itemsets, *, confidence: Number, least_support: Number, total: Number | None = None
) -> list[Rule]:
    """Return the rules whose figures follow from the released supports, the most confident first.

    Args:
        found: released sets; a rule needs its whole set and ``given`` among them.
        confidence: the least confidence of a rule.
        least_support: the least support of ``given``; some standard deviations of the noise is wise.
        total: the number of transactions, public or released; needed for the lift alone.

    >>> found = Itemsets(((0,), (1,), (0, 1)), (80.0, 50.0, 40.0))
    >>> rules = association_rules(found, confidence="0.6", least_support=5)
    >>> [(rule.given, rule.then, rule.confidence) for rule in rules]
    [((1,), (0,), 0.8)]

    """
    lowest, floor = probability("confidence", confidence), positive("least_support", least_support)
    everyone = None if total is None else float(positive("total", total))
    known = dict(zip(found.sets, found.supports, strict=True))
    rules = []
    for itemset, support in known.items():
        for size in range(1, len(itemset)):
            for given in combinations(itemset, size):
                base = known.get(given, 0.0)
                if base < floor:
                    continue
                share = min(max(support / base, 0.0), 1.0)
                if share < lowest:
                    continue
                then = tuple(item for item in itemset if item not in given)
                followed = known.get(then, 0.0)
                lift = share * everyone / followed if everyone is not None and followed >= floor else None
                rules.append(Rule(given, then, support, share, lift))
    return sorted(rules, key=lambda rule: (-rule.confidence, -rule.support, rule.given, rule.then))
