"""Independence: every step samples for itself, and no random word serves two draws.

Both are exact. With the outputs of all draws frozen, another key for the sample of one step changes what that step
hands over, and nothing else. With values frozen, other words for one draw change that draw, and no other one. In a
conversation no answer may follow from earlier ones except by a rule that holds for all data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from dither.checks.law import conversed
from dither.checks.sampling import parts_of
from dither.checks.violation import require
from dither.errors import InvalidValue
from dither.mechanisms import Composed, Example, Interactive
from dither.mechanisms.core.mechanism import InteractivePrimitive, Primitive
from dither.mechanisms.core.values import IntegerArray
from dither.noise import Noise, system_noise
from dither.privacy import Plan, Sampled, SampledExactly
from dither.testing.replay import Diverged, RecordingRunner, ReplayRunner, Tape, Where, run_watched
from dither.testing.sameness import difference
from dither.testing.sizes import large_pairs
from dither.testing.words import OwnWords, WordRecorder, WordsRunner, redrawn, repeated

Planned = Composed[Any, Any] | Interactive[Any, Any]

#: Steps and draws that get other keys and words: the first, the last, some between.
_STEPS: Final = 4
_DRAWS: Final = 2
_RECORDINGS: Final = 12
#: Other words that are tried until a draw changes.
_WORDS: Final = 8
#: Keys that are tried until one of them changes what is handed over: by chance none does once in 2^50 times.
_KEYS: Final = 50
_TICKS: Final = 6
_IMPULSE: Final = 1000
#: Combinations of integers, by floats.
_ROUNDING: Final = 1e-7


def check_samples_apart(example: Example) -> None:
    """Check that another key for the sample of one step changes what that step hands over, and nothing else."""
    mechanism = example.mechanism
    if not isinstance(mechanism, Composed | Interactive):
        return
    data = example.data
    if not _recorded(mechanism, data).samples:
        return
    for pair in large_pairs(example)[:1]:
        # More rows, of which another sample is another set; where their number is public, the example's own.
        data = pair[0] if _recorded(mechanism, pair[0]).samples else data
    # After extreme outputs all rows may count alike, and a sample makes no difference: then it is tried after others.
    told = ""
    for _ in range(_RECORDINGS):
        told = _unused(mechanism, data)
        if not told:
            return
    require(not told, told)


def _unused(mechanism: Planned, data: Any) -> str:
    """Return which sample decides nothing of what its step hands over, after one run; nothing where all decide."""
    first = _recorded(mechanism, data)
    for sample in _some(len(first.samples)):
        if not _is_used_once(mechanism, data, first, sample):
            return (
                f"the sample of step {sample + 1} of {len(first.samples)} decides nothing of what that step hands over"
            )
    return ""


def _recorded(mechanism: Planned, data: Any) -> Tape:
    runner = RecordingRunner(mechanism.plan(), system_noise())
    course = run_watched(mechanism, data, runner, is_large=True)
    return Tape() if isinstance(course.failure, InvalidValue) else runner.tape


def _is_used_once(mechanism: Planned, data: Any, first: Tape, sample: int) -> bool:
    """Whether another key for a sample changes what its own step hands over; raise if it changes anything else."""
    place, steps = first.samples[sample], len(first.samples)
    own = [number for number, event in enumerate(first.events) if _is_under(event.where, place)]
    is_changed = False
    for key in range(_KEYS):
        tape = Tape(given=first, rekeyed={sample: key})
        runner = ReplayRunner(mechanism.plan(), system_noise(), earlier=first, tape=tape)
        course = run_watched(mechanism, data, runner, is_large=True)
        told = f"the sample of step {sample + 1} of {steps}"
        require(not isinstance(course.failure, Diverged), f"{told} decides the path: {course.failure}")
        require(len(tape.events) == len(first.events), f"{told} decides the number of draws")
        for number, (here, there) in enumerate(zip(first.events, tape.events, strict=True)):
            if difference(here.value, there.value) is not None:
                require(number in own, f"{told} also serves the draw at {there.place}, which is not its own")
                is_changed = True
        if is_changed or _is_everything(mechanism.plan()):
            return True
    return False


def _is_everything(plan: Plan) -> bool:
    """Whether a plan samples all rows, so that keys make no difference."""
    return all(one.rate == 1 for one in parts_of(plan) if isinstance(one, Sampled)) and not any(
        isinstance(one, SampledExactly) and one.kept < one.of for one in parts_of(plan)
    )


def _is_under(where: Where, place: Where) -> bool:
    return where[: len(place)] == place


def check_own_words(example: Example) -> None:
    """Check that other random words for one draw, or one conversation, change no other one."""
    mechanism = example.mechanism
    if isinstance(mechanism, Primitive):
        _changes_alone([partial(mechanism.draw, example.data)] * 3)
    elif isinstance(mechanism, InteractivePrimitive):
        _changes_alone([partial(conversed, mechanism, list(example.data))] * 3)
    elif isinstance(mechanism, Composed | Interactive):
        _draws_alone(mechanism, example.data)


def _changes_alone(draws: Sequence[Callable[[Noise], Any]]) -> None:
    first = redrawn(draws, OwnWords())
    for turn in range(len(draws)):
        for key in range(1, _WORDS):
            again = redrawn(draws, OwnWords({turn: key}))
            pairs = zip(first, again, strict=True)
            differ = [place for place, pair in enumerate(pairs) if difference(*pair) is not None]
            others = [place + 1 for place in differ if place != turn]
            require(not others, f"the random words of draw {turn + 1} also serve draw {others[:1]}")
            if differ:
                # Narrow noise may be the same for most words; once it is not, this key has told.
                break


def check_words_once(example: Example) -> None:
    """Check that the system hands out no word twice: no 128 bits of a run and of the next one are the same."""
    mechanism, words = example.mechanism, WordRecorder()
    noise = Noise(words)
    for _ in range(2):
        if isinstance(mechanism, Primitive):
            mechanism.draw(example.data, noise)
        elif isinstance(mechanism, InteractivePrimitive):
            conversed(mechanism, list(example.data), noise)
        elif isinstance(mechanism, Composed | Interactive):
            run_watched(mechanism, example.data, RecordingRunner(mechanism.plan(), noise), is_large=True)
    again = repeated(np.concatenate(words.seen)) if words.seen else 0
    require(not again, f"{again} sequences of random words were handed out twice")


def _draws_alone(mechanism: Planned, data: Any) -> None:
    """Make the draws of a whole run again, on frozen outputs, with other words for one of them."""
    recorder = RecordingRunner(mechanism.plan(), system_noise())
    run_watched(mechanism, data, recorder, is_large=True)
    drawn = [number for number, event in enumerate(recorder.tape.events) if event.kind in ("draw", "begin", "reply")]
    first = _drawn(mechanism, data, recorder.tape, OwnWords())
    for place in _some(len(drawn), _DRAWS):
        turn = drawn[place]
        own = recorder.tape.events[turn]
        for key in range(1, _WORDS):
            again = _drawn(mechanism, data, recorder.tape, OwnWords({turn: key}))
            pairs = enumerate(zip(first, again, strict=True))
            differ = [number for number, pair in pairs if difference(*pair) is not None]
            for number in differ:
                event = recorder.tape.events[number]
                # What a conversation has drawn may serve its later answers, and nothing else.
                is_later = number > turn and own.kind != "draw" and (event.where, event.part) == (own.where, own.part)
                told = f"the random words of the draw at {own.place} also serve the one at {event.place}"
                require(number == turn or is_later, told)
            if differ:
                break


def _drawn(mechanism: Planned, data: Any, earlier: Tape, words: OwnWords) -> list[Any]:
    runner = WordsRunner(
        mechanism.plan(), Noise(words), earlier=earlier, tape=Tape(given=earlier), words=words, drawn=[]
    )
    run_watched(mechanism, data, runner, is_large=True)
    return runner.drawn


def check_noise_of_every_tick(example: Example) -> None:
    """Check that no answer of a conversation follows from earlier answers, except by a rule that holds for all data.

    On zeros answers are noise alone. Where one of them is a fixed combination of those before it, in many
    conversations, it must be so also where a tick is not zero: else that combination is free of noise and shows it.
    """
    mechanism = example.mechanism
    if not isinstance(mechanism, InteractivePrimitive) or not isinstance(mechanism.domain, IntegerArray):
        return
    ticks = min(_TICKS, len(_answers(mechanism, [0] * _TICKS) or ()))
    silent = [row for row in (_answers(mechanism, [0] * ticks) for _ in range(8 * ticks + 16)) if row is not None]
    if ticks < 2 or len(silent) < 8 * ticks:
        return
    table = np.array(silent, dtype=np.float64)
    for tick in range(1, ticks):
        before = np.column_stack([table[:, :tick], np.ones(len(table))])
        weights, *_ = np.linalg.lstsq(before, table[:, tick], rcond=None)
        scale = max(1.0, float(np.abs(table).max()))
        if float(np.abs(before @ weights - table[:, tick]).max()) > _ROUNDING * scale:
            continue
        for at in range(tick + 1):
            script = [_IMPULSE if place == at else 0 for place in range(ticks)]
            for row in filter(None, (_answers(mechanism, script) for _ in range(8))):
                told = float(np.dot(weights[:-1], row[:tick]) + weights[-1])
                wide = max(scale, float(np.abs(row).max()))
                require(
                    abs(told - row[tick]) <= 4 * _ROUNDING * wide,
                    f"the noise of tick {tick + 1} follows from that of earlier ticks, and shows tick {at + 1}",
                )


def _answers(mechanism: InteractivePrimitive[Any, Any], script: Sequence[int]) -> list[float] | None:
    """Return the first number of each answer; None where answers are no numbers."""
    noise, shape = system_noise(), getattr(mechanism.domain, "shape", ())
    state, found = mechanism.begin(noise), []
    for value in script:
        given: Any = np.full(shape, value, dtype=np.int64) if shape else value
        answer, is_over = mechanism.reply(state, given, noise)
        number = np.asarray(answer).ravel()
        if number.dtype.kind not in "iuf" or not number.size:
            return None
        found.append(float(number[0]))
        if is_over:
            break
    return found


def _some(count: int, most: int = _STEPS) -> list[int]:
    """Return the first and last of some numbers, and a few between."""
    return sorted({round(place * (count - 1) / (most - 1)) for place in range(most)}) if count else []
