"""The shared settings of a process, and callbacks that a run may leave for later.

Threads that go on, handlers for the end of the process, finalizers and functions that the collector calls hold what
they close over, long after a release. Settings such as what is done about floating-point errors, the locale or the
limits of Python change what other code does, and tell it something. Each has a name here, a way to ask for it, and a
way back where there is one.
"""

from __future__ import annotations

import _thread
import atexit
import decimal
import gc
import locale
import signal
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final

import numpy as np

#: What is there now, and what puts it back.
_Setting = tuple[Callable[[], Any], Callable[[Any], Any] | None]


def _set_floats(kept: tuple[dict[str, Any], Any]) -> None:
    np.seterr(**kept[0])
    np.seterrcall(kept[1])


def _set_hooks(kept: tuple[Any, Any, Any]) -> None:
    sys.excepthook, sys.unraisablehook, threading.excepthook = kept


def _set_collector(kept: tuple[bool, tuple[int, int, int]]) -> None:
    (gc.enable if kept[0] else gc.disable)()
    gc.set_threshold(*kept[1])


_ALL: Final = slice(None)
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2)


SETTINGS: Final[dict[str, _Setting]] = {
    "functions called by the collector": (
        lambda: list(gc.callbacks),
        lambda kept: gc.callbacks.__setitem__(_ALL, kept),
    ),
    "whether the collector runs": (lambda: (gc.isenabled(), gc.get_threshold()), _set_collector),
    "what is done about floating-point errors": (lambda: (np.geterr(), np.geterrcall()), _set_floats),
    "how arrays are printed": (np.get_printoptions, lambda kept: np.set_printoptions(**kept)),
    "how decimals are computed": (lambda: repr(decimal.getcontext()), None),
    "the locale": (lambda: locale.setlocale(locale.LC_ALL), lambda kept: locale.setlocale(locale.LC_ALL, kept)),
    "the depth of recursion": (sys.getrecursionlimit, sys.setrecursionlimit),
    "the most digits of an integer": (sys.get_int_max_str_digits, sys.set_int_max_str_digits),
    "handlers of exceptions": (lambda: (sys.excepthook, sys.unraisablehook, threading.excepthook), _set_hooks),
    "what is done about signals": (lambda: [signal.getsignal(one) for one in _SIGNALS], None),
}


def settings() -> dict[str, Any]:
    """Return every setting, by its name."""
    return {name: ask() for name, (ask, _) in SETTINGS.items()}


def put_back(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Restore changed settings, and return their names and new values."""
    changed = [name for name, kept in before.items() if kept is not after[name] and kept != after[name]]
    for name in changed:
        give_back = SETTINGS[name][1]
        if give_back is not None:
            give_back(before[name])
    return [f"{name}: {after[name]!r}" for name in changed]


class Later:
    """Running threads, callbacks at the end of the process or of an object, and loaded modules."""

    def __init__(self) -> None:
        self._threads, self._alive = _thread._count(), set(threading.enumerate())
        self._at_exit = atexit._ncallbacks()
        self._finalizers = set(_finalizers())
        self._modules = len(sys.modules)

    def added(self) -> list[str]:
        """Return what was added since. Handlers are left out if modules were loaded meanwhile, which may have some."""
        found = [f"the thread {one.name!r} still runs" for one in threading.enumerate() if one not in self._alive]
        if not found and _thread._count() > self._threads:
            # One that is not a Python object; before 3.12 its start is not an event, and it is seen once it runs.
            found.append("a thread still runs")
        if len(sys.modules) != self._modules:
            return found
        handlers = atexit._ncallbacks() - self._at_exit
        if handlers > 0:
            found.append(f"{handlers} handlers for the end of the process were registered")
        finalizers = _finalizers() - self._finalizers
        if finalizers:
            found.append(f"{len(finalizers)} finalizers were registered")
        return found


def _finalizers() -> set[Any]:
    kept: dict[Any, Any] = vars(weakref.finalize)["_registry"]
    return set(kept)
