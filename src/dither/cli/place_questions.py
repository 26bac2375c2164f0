"""What a schema needs of a table whose rows say where somebody was: the questions about places, and what is decided.

They are asked where names of columns are those of positions. Nothing is proposed from the rows: a box around them would
publish where the outermost people are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from dither.cli.kind_questions import QUESTIONS, Part
from dither.cli.prompts import NOWHERE, Question, meant
from dither.data.expressions import Kind
from dither.data.facts import FROM_NAME, FROM_TYPE, Facts
from dither.data.hints import position_pairs, words
from dither.data.place_tables import DEGREES, METRES, MOST_POINTS, MOST_TRIPS

PLACES: Final = "places"
AT, COORDINATES, BOX, TO, TRIP, TIME, TRIPS, POINTS = (
    f"{PLACES}.{what}" for what in ("at", "coordinates", "box", "to", "trip", "time", "trips", "points")
)
_LIMITS: Final = {TRIPS: ("trips per person", MOST_TRIPS), POINTS: ("points per trip", MOST_POINTS)}
_TRIPS: Final = frozenset({"trip", "trips", "journey", "ride", "tour", "track", "trajectory"})


def place_questions(facts: Facts) -> list[Question]:
    """Return all that is open about positions; nothing where no columns are named like them.

    Args:
        facts: what the rows show to their owner; only names and kinds are looked at.

    """
    names = [one.name for one in facts.columns]
    pairs = position_pairs(names)
    if not pairs:
        return []
    first, second, are_degrees = pairs[0]
    ended = ", ".join(pairs[1][:2]) if len(pairs) > 1 else ""
    trips = [name for name in names if _TRIPS.intersection(words(name))]
    timed = [one.name for one in facts.columns if one.kind in (Kind.DATE, Kind.TIMESTAMP)]
    return [
        Question(
            AT,
            "which two columns hold a person's position? latitude and longitude in this order, or y and x; 'n' where "
            "they are ordinary numbers",
            f"{first}, {second}",
            FROM_NAME,
            "with places there are maps: 'dither places'; without, the columns are numbers like others",
        ),
        Question(
            COORDINATES,
            f"'{DEGREES}', for latitude and longitude; '{METRES}', for coordinates of a plane",
            DEGREES if are_degrees else METRES,
            FROM_NAME,
        ),
        Question(
            BOX,
            "in which box do positions count? public: south, west, north, east",
            otherwise="the edges of a map of the area in round numbers, as anybody would draw it who has not seen the "
            "rows. Positions outside do not count. Nothing is proposed: a box around these rows would publish "
            "where the outermost people are",
        ),
        Question(
            TO,
            "which two columns say where a trip ended? 'n' where a row is one position",
            ended,
            FROM_NAME if ended else NOWHERE,
        ),
        Question(
            TRIP,
            "which column identifies the trips of a person, where a row is a point of a journey? 'n' where it is a "
            "visit",
            trips[0] if trips else "",
            FROM_NAME if trips else NOWHERE,
            "with trips and times there are synthetic journeys: 'dither places ... synthesize'",
        ),
        Question(
            TIME,
            "which column orders the points of a trip? a time, a date or a number",
            timed[0] if timed else "",
            FROM_TYPE if timed else NOWHERE,
        ),
        Question(TRIPS, "how many trips of one person count?", otherwise="a release costs that many times the price"),
        Question(POINTS, "how many points of one trip count?", otherwise="from public knowledge: how long trips are"),
    ]


class PlaceDecisions:
    """What the owner has decided so far about places, as a part of a schema.

    Args:
        facts: what the rows show.
        problem: returns what is wrong with places as a schema has them, if anything is.

    """

    def __init__(self, facts: Facts, problem: Callable[[Mapping[str, Any]], str]) -> None:
        self._facts, self._problem = facts, problem
        self.tree: dict[str, Any] = {}
        self._warned: list[float] = []

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are named by now."""
        ends = (*self.tree.get("at", ()), *self.tree.get("to", ()))
        return (*ends, *(self.tree[name] for name in ("trip", "time") if name in self.tree))

    @property
    def unbounded(self) -> tuple[str, ...]:
        """The columns that hold coordinates: the box bounds them."""
        return (*self.tree.get("at", ()), *self.tree.get("to", ()))

    @property
    def is_whole(self) -> bool:
        """Whether enough is decided that a schema can be read."""
        is_journey = "trip" in self.tree
        return "box" in self.tree and (not is_journey or all(name in self.tree for name, _ in _LIMITS.values()))

    def applies(self, question: Question, *, has_persons: bool) -> bool:
        """Return whether a question is still open, by what was decided before."""
        if question.place == AT:
            return True
        if not self.tree:
            return False
        if question.place == TO:
            return bool(question.proposal)
        if question.place == TRIP:
            return has_persons and "to" not in self.tree
        return question.place not in (TIME, *_LIMITS) or "trip" in self.tree

    def leave_out(self, question: Question) -> str:
        """Decide that something is not declared; return why that cannot be, if it cannot."""
        return "" if question.place in (AT, TO, TRIP) else "this one must be decided"

    def decide(self, question: Question, typed: str) -> str:
        """Take what was typed; return what is wrong with it, if anything is."""
        what = question.place.rpartition(".")[2]
        if question.place in (AT, TO):
            found = [meant(self._facts, word.strip()) for word in typed.strip("[]").split(",")]
            if len(found) != 2 or None in found or found[0] == found[1]:
                return f"not two columns with a comma between; there are {self._named()}"
            if texts := [name for name in found if name and not self._facts.column(name).kind.is_number]:
                return f"{texts[0]} does not hold numbers"
            return self._take(what, found)
        if question.place in (TRIP, TIME):
            column = meant(self._facts, typed)
            return f"not a column; there are {self._named()}" if column is None else self._take(what, column)
        if question.place == COORDINATES:
            if typed.lower() not in (DEGREES, METRES):
                return f"not '{DEGREES}' or '{METRES}'"
            return self._take(what, typed.lower())
        if question.place == BOX:
            try:
                edges = [float(word) for word in typed.strip("[]").split(",")]
            except ValueError:
                edges = []
            if len(edges) != 4:
                return "not four numbers: south, west, north, east"
            wrong = self._take(what, edges)
            if not wrong and self._warned != edges and self._is_elsewhere(edges):
                self._warned = edges
                return "no row is there (are latitude and longitude swapped?); type it again to keep it"
            return wrong
        name, most = _LIMITS[question.place]
        if not (typed.isascii() and typed.isdecimal() and 1 <= int(typed) <= most):
            return f"not an integer from 1 to {most}"
        return self._take(name, int(typed))

    def _is_elsewhere(self, edges: list[float]) -> bool:
        """Return whether all positions lie outside, which is told to the owner of the rows alone."""
        found = [self._facts.column(name) for name in self.tree["at"]]
        ranges = [(one.least, one.largest) for one in found]
        return any(
            isinstance(least, int | float) and isinstance(largest, int | float) and (largest < low or high < least)
            for (least, largest), low, high in zip(ranges, edges[:2], edges[2:], strict=True)
        )

    def _take(self, name: str, value: Any) -> str:
        before, self.tree = self.tree, {**self.tree, name: value}
        wrong = self._problem(self.tree) if self.is_whole else ""
        if wrong:
            self.tree = before
        return wrong

    def _named(self) -> str:
        return ", ".join(one.name for one in self._facts.columns)


QUESTIONS.add(PLACES, Part(place_questions, PlaceDecisions, "a column of positions, times or trips"))
