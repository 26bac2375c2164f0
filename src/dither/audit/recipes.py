"""How to make small instances that an audit can see something of, where dividing all scales alike is not enough.

A recipe names the example to start from, fields to set first, and the parts that get the loss because what they draw
can be seen in the output; parts that are not named keep noise that is many times as large. It changes public parameters
alone. The claim is that of the resulting instance, for every recipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from dither.audit.far import far_pairs
from dither.errors import DitherError
from dither.mechanisms import Dialogue, DiscreteGaussian, Example, GammaNorm, Gaussian, Geometric, Mechanism, find
from dither.privacy import PureDP
from dither.publish.queries.answer import plan_query
from dither.testing.hostile import Pair

#: How much louder the parts are that are seen.
LOUDER: Final = Fraction(32)
#: One column in place of two: the fewer numbers are drawn, the more each of them shows.
_ONE: Final[Mapping[str, Any]] = MappingProxyType({"lower": (-1,), "upper": (1,)})
_SURVEYED = 40


@dataclass(frozen=True)
class Recipe:
    """The changes to an example before its scales are divided.

    Args:
        example: its number among the examples.
        sets: fields and their new values; a dot leads into a part.
        loud: fields whose noise is divided by ``LOUDER`` before all others are.
        is_pure: whether Gaussian noise becomes noise with an epsilon, of which a part that is half seen shows half.
        claim: the approximate final claim.
        pairs: makes the neighbours for the instance; by default all that are made without one, and rows in corners.

    """

    example: int = 0
    sets: Mapping[str, Any] = field(default_factory=dict)
    loud: tuple[str, ...] = ()
    is_pure: bool = False
    claim: Fraction = Fraction(6)
    pairs: Callable[[Any, Example], list[Pair]] | None = None

    def begun(self, mechanism: Any) -> Any:
        """Return a mechanism with the fields set, and with pure noise if wanted and possible."""
        made = {name: value() if callable(value) else value for name, value in self.sets.items()}
        own = {name: value for name, value in made.items() if "." not in name}
        mechanism = replace(mechanism, **own) if own else mechanism
        for name in made.keys() - own.keys():
            mechanism = _with(mechanism, name.split("."), made[name])
        return _pure(mechanism) if self.is_pure else mechanism


def _one_question(mechanism: Any, example: Example) -> list[Pair]:
    """Return conversations of one question that takes the whole budget."""
    question = (replace(example.data.script[0], epsilon=mechanism.budget.epsilon),)
    return [(Dialogue(here.data, question), Dialogue(there.data, question), 1) for here, there, _ in example.neighbours]


def _as_given(mechanism: Any, example: Example) -> list[Pair]:
    """Return the pairs of the example, each with its own distance: others that are made assume a distance of 1."""
    return list(example.neighbours)


def _one_part(mechanism: Any, example: Example) -> list[Pair]:
    """Return conversations of one question about a part, which takes all that the part may lose."""
    first = example.data.script[0]
    question = (replace(first, answer=plan_query(first.answer.query, mechanism.each)),)
    return [(Dialogue(here.data, question), Dialogue(there.data, question), 1) for here, there, _ in example.neighbours]


def _one_batch(mechanism: Any, example: Example) -> list[Pair]:
    """Return conversations in which the first batch is a crowd, with or without one row in a corner."""
    rows = np.concatenate(example.data.script)
    rest = (rows[:0],) * (mechanism.batches - 1)
    pairs = far_pairs(mechanism, rows)
    return [(Dialogue(None, (here, *rest)), Dialogue(None, (there, *rest)), 1) for here, there, _ in pairs]


def _a_vote(mechanism: Any, example: Example) -> list[Pair]:
    """Return rows of which the last one decides which column explains the classes best."""
    rows = np.array([[-0.25, 1, 1], [-0.75, 7, 1], [0, 6, 0], [-1, 7, 0]])
    return [(rows[:3], rows, 1)]


def _learned_from(mechanism: Any, example: Example) -> list[Pair]:
    """Return rows for the learners among which one is chosen."""
    return far_pairs(mechanism.candidates[0], example.data)


def _first_alone(mechanism: Any, example: Example) -> list[Pair]:
    """Return the first row of the example, and nothing."""
    return [(example.data[:1], example.data[:0], 1)]


def _from_end_to_end(mechanism: Any, example: Example) -> list[Pair]:
    """Return rows of which one moves from one end of the range to the other, into its own block."""
    rows = np.full(mechanism.of, int(mechanism.part.lower), dtype=example.data.dtype)
    moved = rows.copy()
    moved[0] = int(mechanism.part.upper)
    return [(rows, moved, 1)]


def _surveyed(mechanism: Any, example: Example) -> list[Pair]:
    """Return a few rows away from the middle of a box, and the same with one row at its far end."""
    # The columns are those of the mechanism, and after them a target if the example has one.
    chosen: list[Any] = [mechanism, example.mechanism]
    box, given = (getattr(one, "select", one) for one in chosen)
    targets = [()] if example.data.shape[1] == len(given.lower.values) else [(0.0,), (1.0,)]
    near, far = box.upper.values * 0.625 + box.lower.values * 0.375, box.lower.values
    rows = np.array([[*near, *targets[place % len(targets)]] for place in range(_SURVEYED)])
    return [(rows, np.vstack([rows, [*far, *target]]), 1) for target in targets]


def _two_learners() -> tuple[Any, ...]:
    """Return two equal learners: either choice shows what it lost."""
    learner: Any = next(iter(find("gradient-descent").examples())).mechanism
    return (_pure(replace(learner, loss_name="hinge", steps=1)),) * 2


RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {
        "adaptive-parts": Recipe(pairs=_one_part),
        "all-pairs": Recipe(loud=("single",)),
        "best-first-itemsets": Recipe(sets={"counting": Fraction(9, 10), "chosen": 1}),
        "binary-estimation": Recipe(sets={"threshold": 1, "chosen": 1}),
        "block-clusters": Recipe(),
        "boosted-trees": Recipe(is_pure=True),
        "chosen-components": Recipe(loud=("survey",)),
        # What is claimed is for one unit of length, and the neighbours of the example are five apart.
        "chosen-place": Recipe(claim=Fraction(1), pairs=_as_given),
        "chosen-tree": Recipe(loud=("leaf",)),
        "community-graph": Recipe(loud=("node",)),
        "compressed-classifier": Recipe(
            sets={"learner.steps": 1, "learner.classes": 2, "learner.loss_name": "hinge"}, loud=("step",), is_pure=True
        ),
        "coreset-clusters": Recipe(loud=("parts",), is_pure=True),
        "counted-families": Recipe(loud=("of_parents",)),
        "entropy-descent": Recipe(example=1),
        "fixed-size-sample": Recipe(
            sets={"kept": 4, "part.blocks": 4, "part.otherwise": Fraction(0)}, pairs=_from_end_to_end
        ),
        "frank-wolfe": Recipe(example=1),
        "gaussian-copula": Recipe(loud=("single",), is_pure=True),
        "gradient-descent": Recipe(sets={"loss_name": "hinge"}, loud=("step",), is_pure=True),
        "image-features": Recipe(example=2, sets={"learner.steps": 1}, loud=("step",)),
        "joint-degree-graph": Recipe(loud=("node",)),
        "jtree": Recipe(loud=("single",)),
        # The cells of a huge table that pass a filter.
        "lifted": Recipe(example=6, sets={"method.threshold": 1}),
        "kept-table": Recipe(pairs=_one_question),
        "kernel-machine": Recipe(sets={"learner.steps": 1}, loud=("step",), is_pure=True),
        "minibatch-descent": Recipe(
            example=2, sets={"loss_name": "hinge", "rate": Fraction(9, 10), "steps": 1}, loud=("step",)
        ),
        "mst": Recipe(loud=("pair",)),
        "mwem": Recipe(sets={"budget": PureDP(1)}),
        "noisy-perceptron": Recipe(is_pure=True),
        "parent-child": Recipe(loud=("total",)),
        "preconditioned-descent": Recipe(sets={"loss_name": "hinge"}, loud=("step",), is_pure=True),
        "poisson-sample": Recipe(sets={"rate": Fraction(3, 4)}),
        "priv-fuzzy": Recipe(sets={"groups": (("a", "b", "c"),)}),
        "refined-clusters": Recipe(loud=("part",)),
        # With the logarithmic law of runs the price is two runs in place of three.
        "repeat-and-select": Recipe(sets={"shape": 0, "candidates": (Geometric(scale=4),) * 2}),
        "selected-columns": Recipe(loud=("survey",), is_pure=True, pairs=_surveyed),
        "small-database": Recipe(loud=("total",)),
        "support-selection": Recipe(sets={"blocks": 1}, pairs=_a_vote),
        "top-edges-graph": Recipe(sets={"threshold": 1}, loud=("total",)),
        "threshold-descent": Recipe(sets={"size": 1}, pairs=_first_alone),
    }
    | dict.fromkeys(
        (
            "functional-mechanism",
            "gaussian-naive-bayes",
            "lloyd-clusters",
            "moment-classifier",
            "moment-regression",
            "newton-descent",
            "objective-perturbation",
            "output-perturbation",
        ),
        Recipe(sets=_ONE, loud=("survey",), is_pure=True, pairs=_surveyed),
    )
)


def _with(record: Any, path: list[str], value: Any) -> Any:
    first, *rest = path
    return replace(record, **{first: _with(getattr(record, first), rest, value) if rest else value})


def _pure(mechanism: Any) -> Any:
    """Return a mechanism with noise of one epsilon in place of Gaussian noise, wherever its fields allow it."""
    if not isinstance(mechanism, Mechanism) or isinstance(mechanism, DiscreteGaussian | Gaussian):
        return mechanism
    record: Any = mechanism
    noise = {name: getattr(record, name) for name in getattr(record, "__dataclass_fields__", {})}
    kinds = {name: found for name, before in noise.items() if (found := _kinds(before))}
    # Some ask for one kind of noise in all parts, others for one in each.
    for place in (0, 1):
        together = {name: found[min(place, len(found) - 1)] for name, found in kinds.items()}
        if (changed := _replaced(record, together)) is not None:
            return changed
    for name, found in kinds.items():
        accepted = (changed for one in found if (changed := _replaced(record, {name: one})) is not None)
        record = next(accepted, record)
    return record


def _replaced(record: Any, changes: Mapping[str, Any]) -> Any | None:
    """Return a record with fields replaced, or None if it does not allow that."""
    try:
        return replace(record, **changes)
    except (DitherError, TypeError, ValueError):
        return None


def _kinds(before: Any) -> list[Any]:
    if isinstance(before, Gaussian):
        return [GammaNorm(scale=before.sigma)] if before.shape == () else []
    if isinstance(before, DiscreteGaussian):
        return [GammaNorm(scale=before.sigma), Geometric(scale=before.sigma)] if before.shape == () else []
    if isinstance(before, tuple) and before and all(isinstance(one, DiscreteGaussian) for one in before):
        return [tuple(kind(scale=one.sigma) for one in before) for kind in (GammaNorm, Geometric)]
    return [_pure(before)] if isinstance(before, Mechanism) else []
