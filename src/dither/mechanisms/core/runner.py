"""The runner: follows a plan, refuses draws outside it, and only then draws.

``run(part, value, stability=c)`` is the only way to noise. ``c`` is public and bounds how far ``value`` moves per unit
of data, in the part's own distance; what the draw costs was priced from the plan before any data was seen.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from typing import Any, Generic, NoReturn, ParamSpec, TypeVar

import numpy as np

from dither.errors import DitherError, HandleMisuse, IncompatibleDistance, InvalidParameter, InvalidValue, PlanViolation
from dither.exact import Number, positive, whole
from dither.mechanisms.core.mechanism import Composed, Interactive, InteractivePrimitive, Mechanism, Primitive
from dither.noise import Noise
from dither.noise.entropy import about_to_draw
from dither.privacy import Filter, Plan, Repeats, Unit, Within
from dither.privacy.plans import Adapt, Draw, Sample, SampleExactly, Select, Split, Step

P = ParamSpec("P")
V = TypeVar("V")
O = TypeVar("O")  # noqa: E741
Rows = TypeVar("Rows", bound="Sequence[Any] | np.ndarray[Any, Any]")


#: Up to this many places, a sample of fixed size is drawn place by place.
_FEW_PLACES = 32


def quiet() -> AbstractContextManager[None]:
    """Return a context in which floats overflow and underflow without warnings.

    A caller may have asked NumPy to raise instead: whether a release raised would then depend on data.
    """
    return np.errstate(all="ignore")


def quietly(method: Callable[P, O]) -> Callable[P, O]:
    """Return a method of a conversation that is ``quiet`` from its first line to its last.

    A release is quiet because its runner is; a conversation goes on after its runner has opened it.
    """

    @functools.wraps(method)
    def inner(*given: P.args, **named: P.kwargs) -> O:
        with quiet():
            return method(*given, **named)

    return inner


class _Bound:
    """Bound to the thread and process that made it, and never copied: a copy would draw twice for one price."""

    def __init__(self) -> None:
        self._home = (os.getpid(), threading.get_ident())
        self._is_busy = False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let nothing in while a step is taken: a signal handler, or a value with code of its own, could take it too.

        Whoever comes between the question and its answer is through before anything else is looked at.
        """
        if self._is_busy:
            raise HandleMisuse(f"this {self._kind} is in the midst of a step: ask again when it is done")
        self._is_busy = True
        try:
            yield
        finally:
            self._is_busy = False

    def _check_home(self) -> None:
        if self._home != (os.getpid(), threading.get_ident()):
            raise HandleMisuse(f"a {self._kind} answers only in the thread and process that opened it")

    @property
    def _kind(self) -> str:
        return "handle" if isinstance(self, Handle) else "runner"

    def __copy__(self) -> NoReturn:
        raise HandleMisuse(f"a {self._kind} cannot be copied: both copies would answer for one price")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise HandleMisuse(f"a {self._kind} cannot be copied: both copies would answer for one price")

    def __reduce__(self) -> NoReturn:
        raise HandleMisuse(f"a {self._kind} cannot be pickled: both copies would answer for one price")


class Runner(_Bound):
    """Makes the draws of one plan. Holds the noise source and never gives it out."""

    def __init__(self, plan: Plan, noise: Noise) -> None:
        super().__init__()
        self._rest = plan
        self._noise = noise
        # Under Within the parts are chosen as the answers come, and a filter takes the place of the plan.
        self._filter = Filter(plan.budget) if isinstance(plan, Within) else None
        self._parts, self._unit = (plan.parts, plan.unit) if isinstance(plan, Within) else ((), None)

    def __call__(self, part: Primitive[V, O] | Composed[V, O], value: V, *, stability: Number = 1) -> O:
        """Return what ``part`` releases for ``value``, which moves by at most ``stability`` per unit of data."""
        if not isinstance(part, Primitive | Composed):
            raise InvalidParameter("part", part, "a primitive or a composed mechanism")
        self._take_draw(part, stability)
        if isinstance(part, Composed):
            inner = self._inner(part.fixed_plan, part, value)
            with quiet():
                return part.release(value, inner)
        return self._draw(part, value)

    def open(self, part: InteractivePrimitive[V, O], *, stability: Number = 1) -> Handle[V, O]:
        """Return a conversation with ``part``, every value of which moves by at most ``stability`` per unit."""
        if not isinstance(part, InteractivePrimitive):
            raise InvalidParameter("part", part, "an interactive primitive")
        self._take_draw(part, stability)
        return Handle(self, part)

    def converse(self, part: Interactive[V, O], data: V, *, stability: Number = 1) -> O:
        """Return the object with which ``part`` answers about ``data``."""
        if not isinstance(part, Interactive):
            raise InvalidParameter("part", part, "an interactive mechanism")
        self._take_draw(part, stability)
        inner = self._inner(part.fixed_plan, part, data)
        with quiet():
            return part.open(data, inner)

    def parallel(self, siblings: int) -> list[Runner]:
        """Return a runner for each of ``siblings`` disjoint parts of the data."""
        inner = self._enter(Split(siblings))
        return [self._inner(inner) for _ in range(siblings)]

    def sampled(self, data: Rows, rate: Number) -> tuple[Rows, Runner]:
        """Return a secret Poisson sample of the rows, and the runner for it. The size of the sample is private."""
        chance = positive("rate", rate)
        inner = self._enter(Sample(chance))
        return _keep(data, self._sample(data, chance)), self._inner(inner)

    def sampled_exactly(self, data: Rows, kept: int, of: int) -> tuple[Rows, Runner]:
        """Return a secret sample of exactly ``kept`` of the ``of`` rows, and the runner for it.

        Rows are only ever replaced here, so their number is public: data of another size is refused as data of another
        shape is, before anything is drawn, and neighbours are refused alike.
        """
        inner = self._enter(SampleExactly(whole("kept", kept), whole("of", of)))
        if len(data) != of:
            raise InvalidValue("data", data, f"exactly {of} rows, as declared")
        return _keep(data, self._sample_exactly(data, kept)), self._inner(inner)

    def best(self, part: Composed[V, tuple[Number, O]], data: V, repeats: Repeats) -> O:
        """Return the best of a secret random number of runs of ``part``, which returns a score and a result."""
        inner = self._enter(Select(repeats))
        winner: tuple[Number, O] | None = None
        for _ in range(self._count_runs(repeats)):
            run = self._inner(inner)
            candidate = run(part, data)
            if winner is None or _outscores(candidate[0], winner[0]):
                winner = candidate
        if winner is None:
            raise PlanViolation("a selection needs at least one run")
        return winner[1]

    def within(self) -> Runner:
        """Return a runner whose draws are chosen freely while the filter of the plan admits them."""
        # A mechanism whose whole plan is adaptive is handed such a runner from the start.
        return self if self._filter is not None else self._inner(self._enter(Adapt()))

    @property
    def is_finished(self) -> bool:
        """Whether every required draw has been made."""
        return self._filter is not None or self._rest.may_end

    def _take_draw(self, part: Mechanism[Any, Any], stability: Number) -> None:
        distance = positive("stability", stability)
        if self._filter is None:
            self._take(Draw(part, distance))
        elif not isinstance(part, self._parts):
            raise PlanViolation(f"{part!r} is not one of the part types of the adaptive plan")
        elif isinstance(part.distance, Unit) and part.distance != self._unit:
            raise IncompatibleDistance("part", self._unit, part.distance)
        else:
            self._check_home()
            loss = part.loss(distance)
            with self._alone():
                self._filter.spend(loss)

    def _take(self, step: Step) -> Plan | None:
        """Advance past ``step`` in the plan and return the plan it opens, or refuse before any draw."""
        self._check_home()
        with self._alone():
            taken = None if self._filter is not None else self._rest.after(step)
            if taken is None:
                raise PlanViolation(f"{step!r} is not what the plan allows next: {self._rest!r}")
            self._rest = taken.rest
        return taken.inner

    def _enter(self, step: Step) -> Plan:
        inner = self._take(step)
        if inner is None:
            raise PlanViolation(f"{step!r} opens nothing")
        return inner

    # What a recording or replaying runner (dither.testing) does otherwise.

    def _inner(self, plan: Plan, part: Mechanism[Any, Any] | None = None, value: Any = None) -> Runner:
        return type(self)(plan, self._noise)

    def _draw(self, part: Primitive[V, O], value: V) -> O:
        about_to_draw()
        return part.draw(value, self._noise)

    def _begin(self, part: InteractivePrimitive[V, O]) -> Any:
        about_to_draw()
        return part.begin(self._noise)

    def _reply(self, part: InteractivePrimitive[V, O], state: Any, value: V) -> tuple[O, bool]:
        about_to_draw()
        return part.reply(state, value, self._noise)

    def _sample(self, data: Sequence[Any] | np.ndarray[Any, Any], rate: Fraction) -> np.ndarray[Any, Any]:
        about_to_draw()
        return self._noise.bernoulli(rate, len(data))

    def _sample_exactly(self, data: Sequence[Any] | np.ndarray[Any, Any], kept: int) -> np.ndarray[Any, Any]:
        about_to_draw()
        return _subset(self._noise, kept, len(data))

    def _count_runs(self, repeats: Repeats) -> int:
        """Return the number of runs, drawn from its distribution."""
        about_to_draw()
        while True:
            runs = 1
            while not self._noise.bernoulli(repeats.stop, 1)[0]:
                runs += 1
            # The logarithmic law is the geometric one, kept with probability 1 / k.
            if repeats.shape == 1 or self._noise.bernoulli(Fraction(1, runs), 1)[0]:
                return runs


def _outscores(score: Any, other: Any) -> bool:
    """Whether ``score`` is better. NaN ranks below everything: selection needs one total order of all runs."""
    return bool(score > other or (other != other and score == score))


def _subset(noise: Noise, kept: int, of: int) -> np.ndarray[Any, Any]:
    """Return a uniformly random mask of exactly ``kept`` out of ``of`` places.

    Few places are decided one by one, each by a coin of chance (still to be kept) / (places left). Many are decided by
    one coin each of chance kept / of: given how many these pick, all sets of that size are equally likely. What they
    picked too many or too few, about the square root of ``kept``, is a uniform subset of the picked or of the others.
    """
    if kept in (0, of):
        return np.full(of, kept > 0)
    if of <= _FEW_PLACES:
        return _one_by_one(noise, kept, of)
    mask = noise.bernoulli(Fraction(kept, of), of)
    surplus = int(mask.sum()) - kept
    among = np.flatnonzero(mask == (surplus > 0))
    mask[among[_subset(noise, abs(surplus), among.size)]] = surplus < 0
    return mask


def _one_by_one(noise: Noise, kept: int, of: int) -> np.ndarray[Any, Any]:
    mask = np.zeros(of, dtype=bool)
    for place in range(of):
        left = kept - int(mask.sum())
        mask[place] = noise.bernoulli(Fraction(left, of - place), 1)[0]
    return mask


def _keep(data: Any, mask: np.ndarray[Any, Any]) -> Any:
    if isinstance(data, np.ndarray):
        return data[mask]
    return type(data)(row for row, kept in zip(data, mask.tolist(), strict=True) if kept)


class Handle(_Bound, Generic[V, O]):
    """A conversation with an interactive primitive.

    Bound to the thread and process that opened it, and never copied: a second copy would answer twice for one price.
    Calls are numbered; asking again with the number of an answered call returns that answer and draws nothing.
    """

    def __init__(self, runner: Runner, part: InteractivePrimitive[V, O]) -> None:
        super().__init__()
        self._runner, self.part = runner, part
        self._answers: list[O] = []
        #: Calls that were answered before the conversation was resumed.
        self._before = 0
        with quiet():
            self._state = runner._begin(part)
        self._is_over = self._is_torn = False

    @property
    def is_over(self) -> bool:
        """Whether the conversation has ended; answered calls can still be repeated by number."""
        return self._is_over

    @property
    def calls(self) -> int:
        """The number of values answered so far."""
        return self._before + len(self._answers)

    @quietly
    def ask(self, value: V, *, call: int | None = None) -> O:
        """Return the answer to ``value``; with ``call``, the stored answer if that call has been answered."""
        self._check_home()
        with self._alone():
            if call is not None and whole("call", call) < self.calls:
                if call < self._before:
                    raise HandleMisuse(f"call {call} was answered before the conversation was resumed")
                return self._answers[call - self._before]
            if call is not None and call != self.calls:
                raise HandleMisuse(f"call must be at most {self.calls}, the next one, got {call}")
            if self.is_over:
                raise HandleMisuse(f"the conversation ended after {self.calls} calls, as its price allows")
            if self._is_torn:
                raise HandleMisuse("the conversation was broken off in the midst of an answer, and cannot continue")
            # What breaks off in between has taken the value, or not: taken again it would count twice.
            self._is_torn = True
            try:
                answer, self._is_over = self._runner._reply(self.part, self._state, value)
                self._answers.append(answer)
            except DitherError:
                # A refusal comes before anything is taken.
                self._is_torn = False
                raise
            self._is_torn = False
            return answer

    # For entry points that keep the key of the noise, and see to it that nothing is answered twice.

    def _frozen(self) -> dict[str, Any]:
        """Return what the conversation must remember between two calls, as plain JSON data; it is secret."""
        self._check_home()
        if self._is_torn:
            raise HandleMisuse("the conversation was broken off in the midst of an answer, and cannot continue")
        return {"calls": self.calls, "over": self._is_over, "state": self.part.freeze(self._state)}

    def _thaw(self, frozen: dict[str, Any]) -> None:
        """Take up, before the first call, what another conversation with the same part remembered."""
        self._check_home()
        if self.calls:
            raise HandleMisuse("a conversation is resumed before its first call")
        self._state = self.part.thaw(frozen["state"])
        self._before, self._is_over = frozen["calls"], frozen["over"]
