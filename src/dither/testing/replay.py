"""Grey-box replay: run on the data with every draw recorded, then on a neighbour with the outputs frozen.

What a mechanism releases may depend on data only through its draws. With the outputs of the draws frozen, a run on a
neighbour must take the same path, hand over values no farther apart than it declared, touch no more siblings than it
declared, and return the same output. Any difference is a leak, shown with the place in the code; two runs, no
statistics. The recorder holds private values: it is for tests and audits only.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dither.errors import DitherError
from dither.exact import Number, positive
from dither.mechanisms.core.mechanism import Composed, Interactive, InteractivePrimitive, Mechanism, Primitive
from dither.mechanisms.core.runner import Runner
from dither.mechanisms.core.running import TickLengths
from dither.mechanisms.sample_and_aggregate import plain
from dither.noise import Noise, system_noise
from dither.noise.entropy import about_to_draw
from dither.privacy import L1, L2, LARGEST, NOTHING, ONE_WAY, Loss, Metric, Plan, Repeats
from dither.privacy.plans import Parallel, Split, Within
from dither.testing.effects import Effects, watched
from dither.testing.sameness import difference, digest, held

AnyMechanism = Mechanism[Any, Any]
AnyPlanned = Composed[Any, Any] | Interactive[Any, Any]
#: Where in the tree of plans a draw was made; a sibling of a division adds its number.
Where = tuple[str, ...]
_LONGEST_CHAIN = 16
#: Where runners are: this room, and the module of the runner itself.
_RUNNERS = (f"{Path(__file__).parent}{os.sep}", str(sys.modules[Runner.__module__].__file__))


@dataclass(frozen=True)
class Violation:
    """One way in which two neighbours were told apart."""

    rule: str
    place: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule} at {self.place}: {self.detail}"


@dataclass
class Event:
    """One recorded step."""

    kind: str
    where: Where
    part: AnyMechanism | None
    stability: Fraction
    value: Any
    out: Any
    place: str
    d_in: Fraction = Fraction(1)


@dataclass
class Tape:
    """The record of one run: its events, and the secret key by which rows were sampled.

    Every sample has a number, and its own key: two steps that sample the same rows take different ones.
    """

    events: list[Event] = field(default_factory=list)
    divisions: dict[Where, Fraction] = field(default_factory=dict)
    #: The budgets under which parts were chosen freely; and how far apart data are at a budget or a division.
    budgets: dict[Where, Loss] = field(default_factory=dict)
    apart: dict[Where, Fraction] = field(default_factory=dict)
    #: Of each sample, the place in the tree of plans where it is used.
    samples: list[Where] = field(default_factory=list)
    #: A key, or the tape of an earlier run, whose key is used again.
    given: Tape | int | None = None
    #: Other keys for some samples, by their numbers.
    rekeyed: dict[int, int] = field(default_factory=dict)

    @cached_property
    def key(self) -> int:
        """The secret key; drawn when it is first asked for, since few mechanisms sample."""
        if self.given is None:
            return int(system_noise().uniform_below(2**128, 1)[0])
        return self.given.key if isinstance(self.given, Tape) else self.given

    def key_of(self, sample: int) -> str:
        """Return the secret key of one sample."""
        return f"{self.rekeyed.get(sample, self.key)}:{sample}"

    @property
    def is_random(self) -> bool:
        """Whether rows were sampled or a number of runs was drawn on the way."""
        return bool(self.samples) or any(event.kind == "count" for event in self.events)


class Diverged(DitherError):
    """The second run left the path of the first."""


class RecordingRunner(Runner):
    """A runner that writes every step to a tape."""

    def __init__(
        self,
        plan: Plan,
        noise: Noise,
        *,
        tape: Tape | None = None,
        where: Where = (),
        d_in: Fraction = Fraction(1),
    ) -> None:
        super().__init__(plan, noise)
        self.tape = Tape() if tape is None else tape
        self._where, self._d_in, self._stability = where, d_in, Fraction(1)
        self._children: Counter[str] = Counter()
        if isinstance(plan, Within):
            self.tape.budgets[where], self.tape.apart[where] = plan.budget, d_in

    def parallel(self, siblings: int) -> list[Runner]:
        """Return a runner for each sibling, having noted how many of them may be touched at the distance here."""
        name = self._name("parallel")
        taken = self._rest.after(Split(siblings))
        touched = next((plan.touched for plan in _walk(self._rest) if isinstance(plan, Parallel)), 1) if taken else 1
        # A method of rows that is lifted to persons is as many rows apart as were paid for.
        place = (*self._where, name)
        self.tape.divisions[place], self.tape.apart[place] = touched * self._d_in, self._d_in
        inner = self._enter(Split(siblings))
        return [self._child(inner, f"{name}/{number}", self._d_in) for number in range(siblings)]

    def _take_draw(self, part: AnyMechanism, stability: Number) -> None:
        super()._take_draw(part, stability)
        self._stability = positive("stability", stability)

    def _inner(self, plan: Plan, part: AnyMechanism | None = None, value: Any = None) -> Runner:
        distance = self._d_in * (self._stability if part is not None else 1)
        return self._child(plan, self._name(part.name if part is not None else "inner"), distance)

    def _child(self, plan: Plan, name: str, d_in: Fraction) -> Runner:
        return type(self)(plan, self._noise, tape=self.tape, where=(*self._where, name), d_in=d_in)

    def _name(self, kind: str) -> str:
        self._children[kind] += 1
        return f"{kind}{self._children[kind]}"

    def _step(self, kind: str, part: AnyMechanism | None, value: Any, out: Any) -> Event:
        return Event(kind, self._where, part, self._stability, value, out, _place(), self._d_in)

    def _record(self, kind: str, part: AnyMechanism | None, value: Any, out: Any) -> Any:
        self.tape.events.append(self._step(kind, part, value, out))
        return out

    def _draw(self, part: Primitive[Any, Any], value: Any) -> Any:
        return self._record("draw", part, value, super()._draw(part, value))

    def _begin(self, part: InteractivePrimitive[Any, Any]) -> Any:
        # The state is secret and never compared; a replay needs only something to hand back.
        return self._record("begin", part, None, super()._begin(part))

    def _reply(self, part: InteractivePrimitive[Any, Any], state: Any, value: Any) -> Any:
        return self._record("reply", part, value, super()._reply(part, state, value))

    def _count_runs(self, repeats: Repeats) -> int:
        count: int = self._record("count", None, None, super()._count_runs(repeats))
        return count

    def _sample(self, data: Sequence[Any] | np.ndarray[Any, Any], rate: Fraction) -> np.ndarray[Any, Any]:
        """Sample each row by a keyed hash of its content, so that rows that neighbours share share their fate."""
        return np.array([number < rate * 2**256 for number in self._hashes(data)], dtype=bool)

    def _sample_exactly(self, data: Sequence[Any] | np.ndarray[Any, Any], kept: int) -> np.ndarray[Any, Any]:
        """Sample the rows of least keyed hash: where one row is replaced, at most one sampled row is."""
        hashes = self._hashes(data)
        mask = np.zeros(len(hashes), dtype=bool)
        mask[sorted(range(len(hashes)), key=hashes.__getitem__)[:kept]] = True
        return mask

    def _hashes(self, data: Sequence[Any] | np.ndarray[Any, Any]) -> list[int]:
        """Return a hash of the content of each row, keyed by the step; equal rows are numbered to tell them apart."""
        about_to_draw()
        key = self.tape.key_of(len(self.tape.samples))
        # The runner for the sample is the next one that is made here.
        self.tape.samples.append((*self._where, f"inner{self._children['inner'] + 1}"))
        seen: Counter[bytes] = Counter()
        hashes = []
        for row in data:
            content = repr(plain(row)).encode("utf-8", "surrogatepass")
            seen[content] += 1
            text = f"{key}:{seen[content]}:".encode() + content
            hashes.append(int.from_bytes(hashlib.sha256(text).digest(), "big"))
        return hashes


class ReplayRunner(RecordingRunner):
    """A runner that returns the outputs of an earlier run, and records where this one differs.

    A frozen output stands for a draw, also to whoever is told of draws: a session takes it for one.
    """

    def __init__(self, plan: Plan, noise: Noise, *, earlier: Tape, **others: Any) -> None:
        super().__init__(plan, noise, **others)
        self._earlier = earlier

    def _child(self, plan: Plan, name: str, d_in: Fraction) -> Runner:
        where = (*self._where, name)
        return ReplayRunner(plan, self._noise, earlier=self._earlier, tape=self.tape, where=where, d_in=d_in)

    def _follow(self, kind: str, part: AnyMechanism | None, value: Any) -> Any:
        about_to_draw()
        here = self._step(kind, part, value, None)
        number = len(self.tape.events)
        if number >= len(self._earlier.events):
            raise Diverged(f"{here.place}: another {kind} of {part}")
        there = self._earlier.events[number]
        if (there.kind, there.where, there.part, there.stability) != (kind, self._where, part, self._stability):
            raise Diverged(f"{here.place}: {kind} of {part} in place of {there.kind} of {there.part}")
        here.out = there.out
        self.tape.events.append(here)
        return here.out

    def _draw(self, part: Primitive[Any, Any], value: Any) -> Any:
        return self._follow("draw", part, value)

    def _begin(self, part: InteractivePrimitive[Any, Any]) -> Any:
        return self._follow("begin", part, None)

    def _reply(self, part: InteractivePrimitive[Any, Any], state: Any, value: Any) -> Any:
        return self._follow("reply", part, value)

    def _count_runs(self, repeats: Repeats) -> int:
        count: int = self._follow("count", None, None)
        return count


@dataclass(frozen=True)
class Course:
    """The end of one run: its result or exception, and all other observable effects."""

    out: Any
    failure: Exception | None
    effects: Effects


@dataclass(frozen=True)
class Replayed:
    """Two frozen runs: their differences, and the values that each passed to its draws."""

    violations: list[Violation]
    first: Tape
    second: Tape

    def walked(self) -> Loss | None:
        """Return the cost of all draws together, each priced at the distance that its value really moved.

        No price of the whole plan may be below that. None where rows were sampled or runs selected, whose prices are
        no sums.
        """
        if self.violations or self.first.is_random:
            return None
        total: Loss = NOTHING
        for here, there in zip(self.first.events, self.second.events, strict=True):
            if here.kind == "draw" and isinstance(here.part, Primitive):
                apart = _apart(here.part, here.value, there.value, here.d_in, here.d_in * here.stability)
                total = total + here.part.loss(max((apart or Fraction(0)) - here.part.slack, Fraction(0)))
        for (_, part), pairs in _talks(self.first, self.second).items():
            apart = _talk_apart(part, [(a.value, b.value) for a, b in pairs], pairs[0][0].d_in)
            total = total + part.loss(apart or Fraction(0))
        return total

    def share(self) -> float:
        """Return the largest share of what it may move that a draw moved; a search for worse pairs follows it."""
        found = 0.0
        for here, there in zip(self.first.events, self.second.events, strict=False):
            if here.kind == "draw" and isinstance(here.part, Primitive):
                allowed = here.d_in * here.stability + here.part.slack
                apart = _apart(here.part, here.value, there.value, here.d_in, allowed)
                found = max(found, 2.0 if apart is None else float(apart / allowed))
        return found


def replay(
    mechanism: AnyPlanned,
    data: Any,
    neighbour: Any,
    *,
    d_in: Number = 1,
    runner: RecordingRunner | None = None,
) -> list[Violation]:
    """Return every way in which frozen runs on ``data`` and ``neighbour``, ``d_in`` units apart, differ.

    For an interactive mechanism both are a ``Dialogue``.
    An empty list is what a private mechanism gives, on every pair of neighbours. Outputs are compared bit by bit, with
    everything that can be reached from them; neither may hold a part of its data, and neither run may warn, log, print
    or change its input. A ``runner`` of your own makes the first run, with other draws than honest ones.
    """
    return replayed(mechanism, data, neighbour, d_in=d_in, runner=runner).violations


def replayed(
    mechanism: AnyPlanned,
    data: Any,
    neighbour: Any,
    *,
    d_in: Number = 1,
    runner: RecordingRunner | None = None,
    is_large: bool = False,
) -> Replayed:
    """Return what ``replay`` finds, with the tapes of both runs.

    Of ``is_large`` data it is not asked whether a row was changed within, and of lists not whether they are held: that
    is long, and smaller data tell it.
    """
    distance, noise = positive("d_in", d_in), system_noise()
    first = RecordingRunner(mechanism.plan(), noise, d_in=distance) if runner is None else runner
    one = run_watched(mechanism, data, first, is_large=is_large)
    second = ReplayRunner(mechanism.plan(), noise, earlier=first.tape, tape=Tape(given=first.tape), d_in=distance)
    other = run_watched(mechanism, neighbour, second, is_large=is_large)
    is_long = is_large and not isinstance(data, np.ndarray)
    # Outputs that are the same in all that can be reached from them both hold their data, or neither does.
    found = compared(mechanism, (first.tape, second.tape), (one, other), (None if is_long else data, None))
    return Replayed(found, first.tape, second.tape)


def compared(
    public: Any, tapes: tuple[Tape, Tape], courses: tuple[Course, Course], data: tuple[Any, Any]
) -> list[Violation]:
    """Return every way in which two runs differ, and what could be observed of either beside its output.

    Args:
        public: an object with parts that data and outputs may share, such as a schema.
        tapes: of both runs.
        courses: how both ended.
        data: of both, no part of which may be in their outputs; None where that is not looked for.

    """
    found = [*_same_course(tapes, *courses), *_same_reach(*tapes)]
    beside = [_beside(public, *one) for one in zip(tapes, courses, data, strict=True)]
    return [*found, *beside[0], *beside[1]]


def record(mechanism: AnyPlanned, data: Any) -> tuple[Any, Tape, bool]:
    """Return the output of one run, its tape, and whether the plan was walked to its end."""
    runner = RecordingRunner(mechanism.plan(), system_noise())
    return _released(mechanism, data, runner), runner.tape, runner.is_finished


def _released(mechanism: AnyPlanned, data: Any, runner: RecordingRunner) -> Any:
    if isinstance(mechanism, Composed):
        return mechanism.release(data, runner)
    return data.lead(mechanism.open(data.data, runner))


def run_watched(mechanism: AnyPlanned, data: Any, runner: RecordingRunner, *, is_large: bool = False) -> Course:
    """Return how a run on ``data`` ended; of ``is_large`` data only numbers and changed rows are compared."""
    # An engine may keep what it has computed; its tables must stay as they are.
    given = [] if is_large else _watched_parts(data)
    with watched(*given, outlined=(data.data if hasattr(data, "script") else data) if is_large else None) as effects:
        try:
            out, failure = _released(mechanism, data, runner), None
        except Exception as raised:  # every exception is an observable difference, whatever it is
            out, failure = None, raised
    return Course(out, failure, effects)


def _watched_parts(data: Any) -> list[Any]:
    """Return what of the data must stay as it is: of an engine its tables, also where a conversation is about it."""
    opened: Any = getattr(data, "data", None)
    if hasattr(data, "script") and hasattr(opened, "frames"):
        # A question may hold a mechanism, which keeps what it has computed of itself.
        return [opened.frames, [one for one in data.script if not _holds_mechanism(one)]]
    return [getattr(data, "frames", data)]


def _holds_mechanism(question: Any) -> bool:
    return any(isinstance(part, Mechanism) for part in getattr(question, "__dict__", {}).values())


def _same_course(tapes: tuple[Tape, Tape], one: Course, other: Course) -> list[Violation]:
    first, second = tapes
    if isinstance(other.failure, Diverged):
        place, _, detail = str(other.failure).partition(": ")
        return [Violation("another path was taken", place, detail)]
    if _raised(one.failure) != _raised(other.failure):
        detail = f"{one.failure!r} against {other.failure!r}"
        return [Violation("an exception depends on data", _end(first), detail)]
    if one.failure is not None:
        return [Violation("a run raised", _end(first), repr(one.failure))]
    if len(first.events) != len(second.events):
        counts = f"{len(first.events)} draws against {len(second.events)}"
        return [Violation("another path was taken", _end(first), counts)]
    differs = difference(one.out, other.out)
    if differs is not None:
        return [Violation("the output depends on data outside its draws", _end(first), differs)]
    return []


def _beside(public: Any, tape: Tape, course: Course, data: Any) -> list[Violation]:
    """Return what could be observed of one run beside its output, and the data that the output holds."""
    found = [Violation("a run has side effects", _end(tape), one) for one in course.effects.seen]
    holds = held(course.out, data, public) if course.failure is None and data is not None else None
    if holds is not None:
        found.append(Violation("the output holds its data", _end(tape), f"at {holds}"))
    return found


def _raised(failure: BaseException | None) -> list[tuple[str, str, str]]:
    """Return the types, messages, arguments, notes and attributes of an exception and of all its causes."""
    chain: list[tuple[str, str, str]] = []
    while failure is not None and len(chain) < _LONGEST_CHAIN:
        chain.append((type(failure).__qualname__, str(failure), digest([failure.args, vars(failure)])))
        failure = failure.__cause__ or failure.__context__
    return chain


def _same_reach(first: Tape, second: Tape) -> list[Violation]:
    found = []
    moved: set[Where] = set()
    for here, there in zip(first.events, second.events, strict=False):
        if here.kind == "draw" and isinstance(here.part, Primitive):
            allowed = here.d_in * here.stability + here.part.slack
            apart = _apart(here.part, here.value, there.value, here.d_in, allowed)
            if apart != 0:
                moved.add(here.where)
            if apart is None or (apart > allowed and not _is_within(here, there, allowed)):
                found.append(Violation("a value moved too far", here.place, f"by {apart}, {allowed} declared"))
    for (where, part), pairs in _talks(first, second).items():
        here = pairs[0][0]
        apart = _talk_apart(part, [(a.value, b.value) for a, b in pairs], here.d_in)
        if apart != 0:
            moved.add(where)
        if apart is None or apart > here.d_in * here.stability:
            found.append(Violation("a value moved too far", here.place, f"by {apart} in a conversation"))
    for division, most in first.divisions.items():
        siblings = {_sibling(where, division) for where in moved} - {None}
        if len(siblings) > most:
            detail = f"{len(siblings)}, {most} declared"
            found.append(Violation("too many siblings were touched", "/".join(division), detail))
    return found


def _is_within(here: Event, there: Event, allowed: Fraction) -> bool:
    """Whether values are within a Euclidean length after all: a measured one is rounded up, and its square is not."""
    part = here.part
    if not isinstance(part, Primitive) or part.distance is not L2:
        return False
    one, other = (np.asarray(part.domain.admit(event.value), dtype=object).ravel() for event in (here, there))
    changes = (Fraction(a) - Fraction(b) for a, b in zip(one.tolist(), other.tolist(), strict=True))
    return sum((change * change for change in changes), Fraction(0)) <= allowed * allowed


def _talks(first: Tape, second: Tape) -> dict[tuple[Where, AnyMechanism], list[tuple[Event, Event]]]:
    """Return the replies of each conversation, in both runs."""
    talks: dict[tuple[Where, AnyMechanism], list[tuple[Event, Event]]] = {}
    for here, there in zip(first.events, second.events, strict=False):
        if here.kind == "reply" and here.part is not None:
            talks.setdefault((here.where, here.part), []).append((here, there))
    return talks


def _apart(part: Primitive[Any, Any], one: Any, other: Any, d_in: Fraction, allowed: Fraction) -> Fraction | None:
    """Return how far apart two values are; a root that was rounded up beyond what is allowed is compared squared."""
    here, there = part.domain.admit(one), part.domain.admit(other)
    apart = _measured(part.distance, here, there, d_in)
    if apart is not None and apart > allowed and part.distance is L2:
        moved = np.asarray(here != there)
        pairs = zip(here[moved].tolist(), there[moved].tolist(), strict=True)
        squared = sum(((Fraction(before) - Fraction(after)) ** 2 for before, after in pairs), Fraction(0))
        return allowed if squared <= allowed**2 else apart
    if apart is None and part.distance is ONE_WAY and part.slack:
        # Where values may be off by the slack, so may the direction of a change.
        against = min(LARGEST.measure(np.maximum(here, there), side) or 0 for side in (here, there))
        return LARGEST.measure(here, there) if against <= part.slack else None
    return apart


def _measured(metric: Any, here: Any, there: Any, d_in: Fraction) -> Fraction | None:
    """Return the distance of two values; several units may each move one way, and the moves add up."""
    if metric in (L1, L2, LARGEST, ONE_WAY) and isinstance(here, np.ndarray) and np.shape(here) == np.shape(there):
        # Entries that are the same add nothing to a norm, and exact arithmetic on thousands of them is long.
        moved = np.asarray(here != there)
        here, there = here[moved], there[moved]
        if not here.size:
            return Fraction(0)
    apart: Fraction | None = metric.measure(here, there)
    if apart is None and metric is ONE_WAY and d_in > 1:
        highest = np.maximum(here, there)
        ways = LARGEST.measure(highest, here), LARGEST.measure(highest, there)
        return None if None in ways else Fraction(sum(way for way in ways if way is not None))
    return apart


def _talk_apart(part: AnyMechanism, pairs: list[tuple[Any, Any]], d_in: Fraction) -> Fraction | None:
    metric = part.distance
    if not (isinstance(metric, Metric) and isinstance(part, InteractivePrimitive)):
        return None
    columns = zip(*((part.domain.admit(one), part.domain.admit(other)) for one, other in pairs), strict=True)
    if isinstance(metric, TickLengths):
        # It tells ticks apart, and what happens at one of them.
        scripts = [[value.reshape(metric.shape) for value in column] for column in columns]
        return _measured(metric, scripts[0], scripts[1], d_in)
    here, there = (np.concatenate([np.atleast_1d(value) for value in column]) for column in columns)
    return _measured(metric, here, there, d_in)


def _sibling(where: Where, division: Where) -> str | None:
    depth = len(division) - 1
    if len(where) > depth and where[:depth] == division[:depth] and where[depth].startswith(division[depth] + "/"):
        return where[depth]
    return None


def _walk(plan: Plan) -> list[Plan]:
    """Return the plan and, of a sequence, its parts in order."""
    inner = [*getattr(plan, "plans", ()), *([plan.plan] if hasattr(plan, "plan") else [])]
    return [plan, *(found for part in inner for found in _walk(part))]


def _place() -> str:
    """Return the nearest line of code outside the runners: where the mechanism asked for the draw."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_RUNNERS):
        frame = frame.f_back
    return f"{frame.f_code.co_filename.rpartition(os.sep)[2]}:{frame.f_lineno}"


def _end(tape: Tape) -> str:
    return tape.events[-1].place if tape.events else "the beginning"
