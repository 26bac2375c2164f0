"""The list of attacks: the name, the source and the run of each."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dither.attack.outcome import Outcome
from dither.errors import InvalidParameter
from dither.exact import Number, positive, whole

Demonstration = Callable[..., Outcome]
_FEWEST: Final = 50
#: Works that several attacks were taken from.
BOOK: Final = "Differential Privacy and Applications (Zhu et al. 2017)"
KENTUCKY: Final = "Liu, doctoral thesis, University of Kentucky (2015)"
ADELAIDE: Final = "Lu, Differentially Private Data Analytics, doctoral thesis, University of Adelaide (2021)"
KAR: Final = "A study on privacy preserving data publishing with differential privacy (Kar 2017)"
_FAMILIES: Final = (
    "reconstruction",
    "linkage",
    "anonymity",
    "graphs",
    "foreground",
    "models",
    "recommenders",
    "places",
    "perturbation",
    "protocols",
    "side_channels",
)


@dataclass(frozen=True)
class Attack:
    """An attack that can be shown on generated data.

    Args:
        name: its name.
        source: where it was published.
        demonstration: the function that shows it.
        most: the largest number of targets, so that a run does not take hours.

    """

    name: str
    source: str
    demonstration: Demonstration
    most: int

    @property
    def summary(self) -> str:
        """The first line of its documentation."""
        return (inspect.getdoc(self.demonstration) or "").split("\n", 1)[0]

    def run(self, *, targets: int | None = None, epsilon: Number | None = None) -> Outcome:
        """Generate data, attack it with and without protection, and return what was recovered.

        Args:
            targets: the approximate number of guesses; by default the attack's own number.
            epsilon: the loss of the protected release; by default the attack's own.

        """
        wanted: dict[str, int | Number] = {}
        if targets is not None:
            wanted["targets"] = whole("targets", targets, least=_FEWEST, most=self.most)
        if epsilon is not None:
            wanted["epsilon"] = positive("epsilon", epsilon)
        return self.demonstration(**wanted)


_attacks: dict[str, Attack] = {}


def attack(name: str, *, source: str, most: int = 5000) -> Callable[[Demonstration], Demonstration]:
    """Register a demonstration under a name that is still free."""

    def put(demonstration: Demonstration) -> Demonstration:
        if name in _attacks:
            raise InvalidParameter("name", name, "a name that no other attack has")
        _attacks[name] = Attack(name, source, demonstration, most)
        return demonstration

    return put


def attacks() -> dict[str, Attack]:
    """Return all attacks by name, in the order of presentation."""
    for family in _FAMILIES:
        importlib.import_module(f"dither.attack.{family}")
    return dict(_attacks)


def find_attack(name: str) -> Attack:
    """Return the attack of that name.

    >>> find_attack("differencing").summary
    'Ask for a total with a person and for the same total without them, and subtract.'

    """
    known = attacks()
    if name not in known:
        raise InvalidParameter("attack", name, f"one of {', '.join(known)}")
    return known[name]
