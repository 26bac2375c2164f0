"""One thread for the linear algebra of small problems.

The library below NumPy and SciPy shares each product among as many threads as there are cores. For small matrices that
gains nothing, and where other work keeps the cores busy, most of the time is spent waiting for the other threads: a
search that multiplies a thousand times took forty times as long. ``with one_thread():`` keeps such a problem in the
thread that asks. Only OpenBLAS, which the wheels of NumPy and SciPy bring along, is limited; another library is left as
it is. No number depends on it beyond the order in which floats are added.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

#: Problems of more numbers than this gain from several threads.
LARGE: Final = 2**22
_NAMES = [
    (f"{first}{{}}_num_threads{last}") for first in ("scipy_openblas_", "openblas_") for last in ("64_", "", "_64")
]
_LOADED_BY = ("numpy.linalg", "scipy.linalg", "scipy.sparse.linalg", "scipy.optimize")


@dataclass(frozen=True)
class _Library:
    get: Callable[[], int]
    set: Callable[[int], None]


class _Limit:
    """Who is inside, in all threads of the process: the number of threads is one setting for all of them."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside = 0
        self.before: dict[str, tuple[_Library, int]] = {}
        self.libraries: dict[str, _Library] = {}
        self.seen: tuple[bool, ...] = ()

    def enter(self) -> None:
        with self.lock:
            self.inside += 1
            loaded = tuple(name in sys.modules for name in _LOADED_BY)
            if loaded != self.seen:
                self.libraries, self.seen = _libraries(), loaded
            for path, library in self.libraries.items():
                if path not in self.before:
                    self.before[path] = library, library.get()
                    library.set(1)

    def leave(self) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                for library, number in self.before.values():
                    library.set(number)
                self.before = {}


_LIMIT = _Limit()


@contextmanager
def one_thread(size: int = 0) -> Iterator[None]:
    """Do linear algebra in one thread while inside, in the whole process; usable as a decorator.

    Args:
        size: how many numbers the largest matrix has; above ``LARGE`` nothing is limited.

    >>> import numpy as np
    >>> with one_thread():
    ...     float(np.linalg.det(np.eye(3)))
    1.0

    """
    if size > LARGE:
        yield
        return
    _LIMIT.enter()
    try:
        yield
    finally:
        _LIMIT.leave()


def threads() -> list[int]:
    """Return how many threads each library of linear algebra that can be limited would use now."""
    return [library.get() for library in _libraries().values()]


def _libraries() -> dict[str, _Library]:
    """Return the libraries of linear algebra that are loaded, by path."""
    found = {}
    for path in _paths():
        try:
            handle = ctypes.CDLL(path)
        except OSError:  # pragma: no cover - a file that was replaced since it was loaded
            continue
        for name in _NAMES:
            get, change = (getattr(handle, name.format(verb), None) for verb in ("get", "set"))
            if get is not None and change is not None:
                get.restype, get.argtypes, change.restype, change.argtypes = ctypes.c_int, [], None, [ctypes.c_int]
                found[path] = _Library(get, change)
                break
    return found


def _paths() -> list[str]:
    """Return the files of OpenBLAS that this process has loaded, as far as they can be told."""
    maps = Path("/proc/self/maps")
    if maps.exists():
        lines = maps.read_text(encoding="utf-8", errors="replace").splitlines()
        return sorted({line.split(maxsplit=5)[5] for line in lines if "openblas" in line and line.count("/")})
    # Elsewhere: beside the packages that were imported, where their wheels put it.
    places = [
        folder
        for name in ("numpy", "scipy")
        if f"{name}.linalg" in sys.modules
        for home in [Path(str(sys.modules[name].__file__)).parent]
        for folder in (home / ".dylibs", home.parent / f"{name}.libs")
    ]
    return sorted(str(path) for folder in places if folder.is_dir() for path in folder.glob("*openblas*"))
