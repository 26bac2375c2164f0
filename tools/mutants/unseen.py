"""Mutants that tell where nobody looks: in a corner of the released object, or in the world around the process.

Some show from thousands of rows or from many units on alone.
"""

from __future__ import annotations

import os
import socket
import tempfile
import types
import weakref
from contextvars import ContextVar
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from dither.checks.prices import check_far_prices
from dither.checks.replays import check_crowded, check_replay, check_wild_outputs
from dither.exact import Number, non_negative
from dither.privacy import Loss
from tools.mutants.record import Mutant, mutated
from tools.mutants.targets import BAYES, HISTOGRAM, LINEAR, of, planted

_CAP = Fraction(5)
_MANY = 5000
_last: ContextVar[int] = ContextVar("last")


class _Annotated(np.ndarray[Any, Any]):
    """An array with a remark."""

    remark: Any = None


def _total(data: Any) -> int:
    return int(np.asarray(data).sum())


def _in_the_environment(before: Any, self: Any, data: Any, run: Any) -> Any:
    os.environ["DITHER_TOTAL"] = str(_total(data))
    return before(self, data, run)


def _in_the_mask(before: Any, self: Any, data: Any, run: Any) -> Any:
    os.umask(0o022 if _total(data) % 2 else 0o027)
    return before(self, data, run)


def _in_a_context(before: Any, self: Any, data: Any, run: Any) -> Any:
    _last.set(_total(data))
    return before(self, data, run)


def _in_a_file(before: Any, self: Any, data: Any, run: Any) -> Any:
    # As a cache that would be read next time; the file goes, but a watcher of the folder has seen it.
    handle, name = tempfile.mkstemp()
    os.close(handle)
    np.asarray(data).tofile(name)
    Path(name).unlink()
    return before(self, data, run)


def _in_a_packet(before: Any, self: Any, data: Any, run: Any) -> Any:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as metrics:
        metrics.sendto(f"rows:{len(data)}|g".encode(), ("127.0.0.1", 9))
    return before(self, data, run)


def _in_a_command(before: Any, self: Any, data: Any, run: Any) -> Any:
    os.system(f": {len(data)}")  # noqa: S605 - a planted bug
    return before(self, data, run)


def _in_the_type(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    return out.astype(np.dtype(out.dtype, metadata={"counts": np.asarray(data).tolist()}))


def _behind_a_whole_view(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    annotated = _Annotated(out.shape, out.dtype)
    annotated[...] = out
    annotated.remark = np.asarray(data).copy()
    return annotated.view(np.ndarray)


def _in_a_buffer(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    object.__setattr__(out, "_buffer", memoryview(np.ascontiguousarray(data).tobytes()))
    return out


def _through_a_weak_reference(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    _alive[:] = [data.copy()]
    object.__setattr__(out, "_rows", weakref.ref(_alive[0]))
    return out


_alive: list[Any] = []


def _on_a_class_of_its_own(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    kind = type(out)
    made = types.new_class(kind.__name__, (kind,), {}, lambda body: body.update(n_samples=len(data)))
    object.__setattr__(out, "__class__", made)
    return out


def _notes_a_cell(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    if (out < 0).all():
        failure = ValueError("all counts are negative")
        failure.add_note(f"the counts are {np.asarray(data).tolist()}")
        raise failure
    return out


def _exact_when_crowded(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    # Beside a large total the noise seems to be nothing.
    return np.asarray(data, dtype=out.dtype) if _total(data) > _MANY else out


def _sums_many_rows(before: Any, self: Any, data: Any, run: Any) -> Any:
    out = before(self, data, run)
    if len(data) > _MANY:
        object.__setattr__(out, "_means", np.nan_to_num(data).clip(-9, 9).mean(axis=0))
    return out


def _capped(before: Any, self: Any, d_in: Number = 1) -> Loss:
    found: Loss = before(self, min(non_negative("d_in", d_in), _CAP))
    return found


UNSEEN = (
    Mutant(
        86,
        "exact counts are put into the environment",
        "",
        "every process that is started later inherits them",
        "replay",
        planted(HISTOGRAM, _in_the_environment),
        of(check_replay, HISTOGRAM),
    ),
    Mutant(
        87,
        "the mask of new files is the parity of the counts",
        "",
        "a setting of the process depends on data",
        "replay",
        planted(HISTOGRAM, _in_the_mask),
        of(check_replay, HISTOGRAM),
    ),
    Mutant(
        88,
        "a context variable holds the total",
        "",
        "whoever calls next in the same context reads it",
        "replay",
        planted(HISTOGRAM, _in_a_context),
        of(check_replay, HISTOGRAM),
    ),
    Mutant(
        89,
        "exact counts are written to the temporary folder",
        "",
        "others read the folder",
        "replay",
        planted(HISTOGRAM, _in_a_file),
        of(check_replay, HISTOGRAM),
    ),
    Mutant(
        90,
        "the number of rows is sent as a metric",
        "statsd and its like",
        "the network is outside",
        "replay",
        planted(LINEAR, _in_a_packet),
        of(check_replay, LINEAR),
    ),
    Mutant(
        91,
        "a command is started with the number of rows",
        "",
        "lists of processes show it to everybody",
        "replay",
        planted(LINEAR, _in_a_command),
        of(check_replay, LINEAR),
    ),
    Mutant(
        92,
        "exact counts in the metadata of a type of numbers",
        "",
        "the type of a released array carries them",
        "replay",
        planted(HISTOGRAM, _in_the_type),
        of(check_replay, HISTOGRAM),
    ),
    Mutant(
        93,
        "a view of all of an array with a remark",
        "",
        "what stands behind a released array carries the exact counts",
        "replay",
        planted(HISTOGRAM, _behind_a_whole_view),
        of(check_replay, HISTOGRAM),
    ),
    Mutant(
        94,
        "a buffer on a model holds its rows",
        "",
        "a view of memory says nothing when it is printed, and holds all",
        "replay",
        planted(LINEAR, _in_a_buffer),
        of(check_replay, LINEAR),
    ),
    Mutant(
        95,
        "a weak reference on a model leads to its rows",
        "",
        "while something else keeps the rows the model gives them away",
        "replay",
        planted(LINEAR, _through_a_weak_reference),
        of(check_replay, LINEAR),
    ),
    Mutant(
        96,
        "a class made for one model carries the number of rows",
        "",
        "what hangs on the class of an object hangs on the object",
        "replay",
        planted(BAYES, _on_a_class_of_its_own),
        of(check_replay, BAYES),
    ),
    Mutant(
        97,
        "an exception carries the counts in a note",
        "",
        "its message says nothing, and what is printed does",
        "replay",
        planted(HISTOGRAM, _notes_a_cell),
        of(check_wild_outputs, HISTOGRAM),
    ),
    Mutant(
        98,
        "counts with a total above 5,000 are exact",
        "",
        "small noise is left out where it seems not to matter",
        "replay",
        planted(HISTOGRAM, _exact_when_crowded),
        of(check_crowded, HISTOGRAM),
    ),
    Mutant(
        99,
        "from 5,000 rows on a model keeps their means",
        "",
        "no test with few rows sees it",
        "replay",
        planted(LINEAR, _sums_many_rows),
        of(check_crowded, LINEAR),
    ),
    Mutant(
        100,
        "the price of a draw stops at five units",
        "",
        "large groups are promised what nobody keeps",
        "contract",
        lambda: mutated("dither.mechanisms.geometric:Geometric.loss", _capped),
        of(check_far_prices, "geometric"),
    ),
    Mutant(
        101,
        "the price of a plan stops at five units",
        "",
        "a step of a plan is charged as if no more than five units moved",
        "contract",
        lambda: mutated("dither.privacy.plans:Use.loss", _capped),
        of(check_far_prices, HISTOGRAM),
    ),
)
