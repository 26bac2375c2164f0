"""Every error of the package survives a pool of processes: pickled and copied it keeps message, fields and notes."""

from __future__ import annotations

import copy
import importlib
import pickle
import re
import threading
import traceback
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dither
from dither import errors
from dither.errors import DitherError, InvalidParameter, MissingExtra, NotDelivered
from dither.privacy import ROW, ROW_REPLACED, PureDP

_PLACE = Path("home") / "ledger.db"
_SPENT = (PureDP(1), PureDP(2), PureDP("5/2"))
_TEXT: tuple[Any, ...] = ("a sentence about 'public' things",)

#: Arguments that a real constructor takes, for each class; a new class gets a line here.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "AcrossPersons": ({"select": 1}, {}, "a reason", "another query"),
    "AllowanceExceeded": (*_SPENT, "ann", "epsilon 1 a day", "2026-11-19"),
    "AnalystUnknown": ("ann", "clinic"),
    "ApprovalDeclined": ("clinic", 7, "too dear"),
    "ApprovalPending": ("clinic", 7),
    "BudgetExceeded": (*_SPENT, "; ask for less"),
    "DataSetNotOpen": ("clinic", "paused"),
    "DataSetRetired": ("clinic",),
    "DitherError": _TEXT,
    "Diverged": _TEXT,
    "EngineFailure": (),
    "EngineUnavailable": _TEXT,
    "EntropyFailure": _TEXT,
    "HandleMisuse": _TEXT,
    "IncompatibleDistance": ("unit", ROW, ROW_REPLACED),
    "InvalidParameter": ("epsilon", Fraction(-1, 3), "positive"),
    "InvalidSchema": ("tables.visits", ["a", None], "a mapping"),
    "InvalidValue": ("value", np.zeros((3, 2)), "whole numbers"),
    "KeyReused": ("monday",),
    "LedgerBehindAnchor": (_PLACE, "12 entries are missing"),
    "LedgerCorrupted": (_PLACE, "an entry was changed"),
    "LedgerUnavailable": (_PLACE, "it is locked"),
    "LoginFailed": _TEXT,
    "LossNotStated": ("rho", PureDP(3)),
    "Misbuilt": ("ValueError",),
    "MissingExtra": ("a plot", "plots"),
    "NoGuarantee": _TEXT,
    "NotApproved": _TEXT,
    "NotDelivered": ("monday", "the disk is full"),
    "NotFitted": ("fit",),
    "NotFound": _TEXT,
    "NotLetIn": _TEXT,
    "NotAnExample": _TEXT,
    "NotSerialisable": _TEXT,
    "NotSigned": _TEXT,
    "NotYours": _TEXT,
    "PlanViolation": _TEXT,
    "QuotaExceeded": (*_SPENT, "ann", "; ask for less"),
    "ReleaseFailed": (),
    "RequestCancelled": ("monday",),
    "RequestSealed": ("monday", 3),
    "RequestUnderWay": ("monday", 2.5),
    "ScriptExhausted": (),
    "ServiceUnreachable": _TEXT,
    "StreamUnavailable": ("doors", "its book is gone", "conversation"),
    "TooFine": _TEXT,
    "Unanswerable": ("a reason", "another query"),
    "UnknownMechanism": _TEXT,
}


@cache
def tree() -> dict[str, type[DitherError]]:
    """Return every class below the root, wherever in the package it is defined."""
    names = "|".join(name for name in vars(errors) if name[0].isupper())
    for path in Path(dither.__file__).parent.rglob("*.py"):
        if re.search(rf"^class \w+\(({names})\b", path.read_text("utf-8"), re.MULTILINE):
            importlib.import_module(".".join(path.relative_to(Path(dither.__file__).parents[1]).with_suffix("").parts))
    found, left = {}, [DitherError]
    while left:
        kind = left.pop()
        if kind.__module__.startswith("dither."):
            found[kind.__name__] = kind
        left += kind.__subclasses__()
    return found


def made(name: str) -> DitherError:
    error = tree()[name](*ARGUMENTS[name])
    error.add_note("a note that a session added")
    return error


def facts(error: BaseException) -> tuple[Any, ...]:
    shown = "".join(traceback.format_exception_only(error))
    fields = {name: value for name, value in vars(error).items() if isinstance(value, str | int | float | list)}
    return type(error), str(error), error.args, shown, fields, repr(sorted(vars(error).items()))


def test_every_class_of_the_tree_has_arguments_here() -> None:
    assert sorted(tree()) == sorted(ARGUMENTS)


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_an_error_keeps_message_fields_and_notes_when_it_is_pickled_or_copied(name: str) -> None:
    error = made(name)
    before = facts(error)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert facts(pickle.loads(pickle.dumps(error, protocol))) == before  # noqa: S301
    for again in (copy.copy(error), copy.deepcopy(error)):
        assert facts(again) == before
        again.add_note("a further note")
        again.late = True  # type: ignore[attr-defined]
        assert facts(error) == before


def test_fields_of_this_package_and_of_python_are_equal_after_the_journey() -> None:
    for name in sorted(set(ARGUMENTS) - {"AcrossPersons"}):
        error = made(name)
        assert vars(pickle.loads(pickle.dumps(error))) == vars(error), name  # noqa: S301


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("2 or more", "k must be 2 or more, got 1"),
        ("required for stars: 2 or more", "k is required for stars: 2 or more"),
        ("required", "k is required"),
        ("not allowed for edges", "k is not allowed for edges"),
        ("not negative", "k must be not negative, got 1"),
        ("requiredly large", "k must be requiredly large, got 1"),
    ],
)
def test_a_refusal_has_one_of_three_forms_here_and_after_a_journey(rule: str, message: str) -> None:
    error = InvalidParameter("k", 1, rule)
    for found in (error, pickle.loads(pickle.dumps(error)), InvalidParameter("k", error.offender, error.rule)):  # noqa: S301
        assert (str(found), found.parameter, found.offender, found.rule) == (message, "k", 1, rule)


def test_a_message_that_its_base_keeps_apart_survives() -> None:
    again = pickle.loads(pickle.dumps(MissingExtra("a plot", "plots")))  # noqa: S301
    assert (again.msg, again.extra, str(again)) == (
        again.args[0],
        "plots",
        "a plot needs the optional part 'plots': pip install 'dither[plots]'",
    )


def test_an_argument_by_name_alone_needs_no_default_on_the_way() -> None:
    error = NotDelivered("monday", "the disk is full", has_files=True)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301


class Unloadable:
    """Pickles, and breaks whoever unpickles it."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (int, ("not a number",))


def _looped() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def _laughs() -> list[Any]:
    nested: list[Any] = []
    for _ in range(11):
        nested = [nested, nested]
    return nested


OFFENDERS = {
    "lock": threading.Lock,
    "function": lambda: lambda: 1,
    "unloadable": Unloadable,
    "unloadable in a list": lambda: [Unloadable()],
    "unloadable in an array": lambda: np.array([Unloadable()], dtype=object),
    "unloadable class": lambda: Unloadable,
    "loop": _looped,
    "shared": _laughs,
}


@pytest.mark.parametrize("offender", OFFENDERS)
def test_an_offender_that_cannot_travel_is_described(offender: str) -> None:
    error = InvalidParameter("epsilon", OFFENDERS[offender](), "positive")
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):  # noqa: S301
        assert (str(again), again.parameter, again.rule) == (str(error), "epsilon", "positive")
        assert str(error).endswith(f"got {again.offender!r}")
    assert copy.copy(error).offender is error.offender


def refuse(name: str) -> None:
    raise made(name)


def test_a_pool_of_processes_raises_what_its_workers_raised_and_goes_on() -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        for name in ("InvalidParameter", "AllowanceExceeded", "MissingExtra", "NotDelivered"):
            error = pool.submit(refuse, name).exception()
            assert error is not None
            assert facts(error) == facts(made(name))
