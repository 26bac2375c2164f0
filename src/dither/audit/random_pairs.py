"""Thousands of random neighbours for every registered class and at the door of every estimator, replayed.

Graphs of four to twelve nodes of every degree, flipped labels, people with several visits to a stream, baskets,
journeys, places, rows that are wild in every field, people with several rows: a pair is drawn by the unit of a
mechanism, and replayed with frozen outputs. For graphs every second pair comes from a search for the worst one.
Same path, values no farther apart than declared, same output, and a price that covers
what the draws cost. Every third pair is frozen with outputs that no honest draw reaches. No statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import count, cycle, islice
from time import process_time
from typing import Any, Final

from dither.audit.greybox import shown
from dither.audit.neighbours import neighbours
from dither.errors import DitherError, InvalidValue, NoGuarantee
from dither.mechanisms import Composed, Example, Interactive, find, registered
from dither.noise import system_noise
from dither.testing.choices import Choices
from dither.testing.climbing import climb_of
from dither.testing.doors import replay_call
from dither.testing.estimators import DECLARED, PUBLIC, declared_estimator, rows_pairs
from dither.testing.random_graphs import MOST_NODES
from dither.testing.random_neighbours import Case, Planned, for_nodes, random_cases, varied
from dither.testing.replay import Replayed, replayed, run_watched
from dither.testing.wild import WildRunner, canned

#: Before the name of an estimator: its ``fit`` is tried, and not a class of its own.
FIT: Final = "fit of "
_MOST_FOUND: Final = 3
#: Prices of whole plans take longer than replays: some pairs are priced, the first among them.
_PRICED: Final = 7
#: Steps of searches with one instance.
_STEPS: Final = 250


@dataclass(frozen=True)
class RandomPairs:
    """The pairs of one class that were replayed, and what told them apart."""

    name: str
    pairs: int
    leaks: tuple[str, ...]
    seconds: float
    is_whole: bool = True

    @property
    def complaints(self) -> list[str]:
        """The complaints, as sentences."""
        found = [f"{self.name}, random neighbours: {leak}" for leak in self.leaks]
        return found if self.pairs or found else [f"{self.name}: no random neighbours were replayed"]


def random_subjects() -> list[str]:
    """Return all that can be tried: classes that make plans, and estimators where scikit-learn is installed."""
    planned = [name for name, one in registered().items() if issubclass(one.mechanism, Composed | Interactive)]
    try:
        import sklearn  # noqa: F401
    except ImportError:
        return planned
    return [*planned, *(f"{FIT}{name}" for name in DECLARED if name not in PUBLIC)]


def try_random_pairs(name: str, pairs: int, *, seconds: float | None = None) -> RandomPairs:
    """Replay random neighbours of a class, on all its examples in turn, or of the ``fit`` of an estimator.

    Args:
        name: of a registered class, or of an estimator after ``FIT``.
        pairs: how many.
        seconds: of this process's time after which no further pair is begun.

    >>> try_random_pairs("graph-laplace", 7).leaks
    ()

    """
    start, done, leaks = process_time(), 0, list[str]()
    trials = _fits(name.removeprefix(FIT)) if name.startswith(FIT) else _trials(list(find(name).examples()))
    for found in islice(trials, pairs):
        done += 1
        leaks += found
        is_late = seconds is not None and process_time() - start > seconds
        if len(leaks) >= _MOST_FOUND or is_late:
            break
    return RandomPairs(name, done, tuple(leaks[:_MOST_FOUND]), process_time() - start, done == pairs)


def cases_of(example: Example, choices: Choices | None = None) -> Iterator[Case]:
    """Return random neighbours by unit; where no generator suits, those that are made from the example's own data."""
    mechanism, made = example.mechanism, random_cases(example, choices)
    if made is not None:
        return made
    # Checked by the caller: only what makes plans is replayed.
    planned: Planned = mechanism  # type: ignore[assignment]
    return (Case(planned, here, there, apart) for here, there, apart in neighbours(example))


def _trials(examples: list[Example]) -> Iterator[list[str]]:
    planned = [one for one in examples if isinstance(one.mechanism, Composed | Interactive)]
    choices = Choices()
    # As many pairs are searched for as are drawn, where there is a search.
    searches = [search for one in planned for search in [climbs(one, choices)] if search is not None]
    drawn = _drawn(planned)
    for number in count():
        if searches and number % 2:
            yield next(searches[number // 2 % len(searches)])
        else:
            found = next(drawn, None)
            if found is None:
                return
            yield found


def climbs(example: Example, choices: Choices) -> Iterator[list[str]] | None:
    """Return what searches for the worst graphs find, with other instances in turn; None where data is no graph."""
    mechanism: Any = example.mechanism
    if climb_of(mechanism, example.data, choices) is None:
        return None
    return _climbed(mechanism, example.data, choices)


def _climbed(mechanism: Any, data: Any, choices: Choices) -> Iterator[list[str]]:
    while True:
        made: Any = mechanism
        with suppress(DitherError, TypeError, ValueError):
            made = for_nodes(mechanism, MOST_NODES - choices.below(4))
        made = (varied(made, choices) if choices.below(4) else None) or made
        climb = climb_of(made, data, choices)
        if climb is None:
            continue
        for _ in range(_STEPS):
            here, there = climb.step()
            found = replayed(made, here, there)
            climb.tell(found.share())
            yield [f"{one} by {made} on {here} and {there}" for one in found.violations]


def _drawn(examples: list[Example]) -> Iterator[list[str]]:
    sources = [cases_of(one) for one in examples]
    for number, source in enumerate(cycle(sources)):
        case = next(source, None)
        if case is not None:
            yield told_apart(case, number)


def told_apart(case: Case, number: int = 0) -> list[str]:
    """Return how a pair is told apart: by its replay, or by a price below what its draws cost.

    Args:
        case: an instance and two inputs.
        number: of the pair: every third is frozen with wild outputs, every seventh is priced.

    """
    mechanism, distance = case.mechanism, Fraction(case.apart)
    is_wild, turn = number % 3 == 2, number // 3
    runner = WildRunner(mechanism.plan(), system_noise(), turn=turn, d_in=distance) if is_wild else None
    found = replayed(mechanism, case.here, case.there, d_in=distance, runner=runner)
    if found.violations and _is_refused(mechanism, case.here):
        # Where the number of rows is public, another number is refused for both alike.
        return []
    leaks = [f"{one} on {shown(case.here)} and {shown(case.there)}" for one in found.violations]
    if not leaks and number % _PRICED == 0:
        leaks += _underpriced(mechanism, found, distance)
    return leaks


def _is_refused(mechanism: Planned, data: Any) -> bool:
    return isinstance(run_watched(mechanism, data, canned(mechanism.plan())).failure, InvalidValue)


def _underpriced(mechanism: Planned, found: Replayed, distance: Fraction) -> list[str]:
    """Return whether the draws of a pair cost more than is charged for its distance."""
    if distance.denominator != 1:
        return []
    with suppress(NoGuarantee):
        walked, price = found.walked(), mechanism.loss(distance)
        if walked is None or walked.delta or price.delta:
            return []
        if walked.pure is not None and price.pure is not None and walked.pure > price.pure:
            return [f"the draws cost epsilon = {walked.pure} at distance {distance}, {price.pure} is charged"]
        if walked.rho > price.rho:
            return [f"the draws cost rho = {walked.rho} at distance {distance}, {price.rho} is charged"]
    return []


def _fits(name: str) -> Iterator[list[str]]:
    """Replay ``fit`` of an estimator on random rows, for each unit that it takes."""
    choices = Choices()
    makes: list[tuple[Callable[[], Any], bool]] = []
    for unit in ("row", "row_replaced"):
        with suppress(DitherError, TypeError, ValueError):
            one = declared_estimator(name, unit=unit)
            # Some methods take one unit alone, and say so when they are made.
            one.mechanism(2)
            makes.append((_maker(name, unit), unit == "row_replaced"))
    if not makes:
        makes = [(_maker(name, None), False)]
    sources = [(make, rows_pairs(is_replaced=is_replaced, choices=choices)) for make, is_replaced in makes]
    for make, source in cycle(sources):
        here, there, apart = next(source)
        found = replay_call(lambda rows, make=make: _fitted(make(), rows), here, there, d_in=apart)  # type: ignore[misc]
        yield [f"{one} on {here} and {there}" for one in found]


def _maker(name: str, unit: str | None) -> Callable[[], Any]:
    changes = {} if unit is None else {"unit": unit}
    return lambda: declared_estimator(name, **changes)


def _fitted(estimator: Any, rows: tuple[list[Any], list[Any]]) -> Any:
    """Return what is released: the model, or the weights of one that holds a conversation and goes on."""
    fitted = estimator.fit(*rows, columns=2)
    return (fitted.coef_, fitted.intercept_) if hasattr(fitted, "partial_fit") else fitted
