"""``python -m tools.security.fuzz``: bodies that nobody foresaw, planned under an eye on all they touch.

Whatever comes out of a body must be an answer from public facts or an error of ours. Meanwhile nothing may be imported,
executed, connected to or started, and no file may be opened outside of the curator's folder. Bodies are made from good
ones: bytes and trees are changed at random, and every text is replaced by every injection and every path.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import resource
import sys
import tempfile
import threading
import time
import typing
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import dither
from dither.curator.folder import Curator
from dither.curator.people import Bearer, People
from dither.errors import DitherError
from dither.privacy import PureDP
from dither.service.app import read_object
from dither.service.desk import Desk, wanted_of
from tools.security.payloads import injections, paths

SCHEMA: Final = """\
dataset: clinic
unit: person
contribution: {rows: 2, groups: 2, rows per group: 2}
tables:
  visits:
    source: visits.csv
    privacy id: patient
    columns:
      patient: integer
      ward: {kind: text, categories: [heart, skin]}
      waited: {kind: real, bounds: [0, 100]}
"""
_ONE: Final[dict[str, Any]] = {"number": "1/10"}
_TABLE: Final[dict[str, Any]] = {"table": "visits", "epsilon": _ONE}
_FIT: Final[dict[str, Any]] = {
    "estimator": {"estimator": "LogisticRegression", "parameters": {"epsilon": {"number": "1/10"}}}
}
_COUNT: Final = "SELECT ward, COUNT(*) AS n, AVG(waited) AS m FROM visits WHERE waited > 3 GROUP BY ward"
GOOD: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("release", {"verb": "sql", "words": {"text": _COUNT, "epsilon": _ONE}}),
    ("release", {"verb": "sql", "words": {"text": _COUNT, "loss": {"loss": {"kind": "zcdp", "rho": "1/10"}}}}),
    ("release", {"verb": "bounds", "words": {**_TABLE, "column": "waited"}}),
    ("release", {"verb": "limits", "words": _TABLE}),
    ("release", {"verb": "count", "words": _TABLE}),
    ("release", {"verb": "histogram", "words": {**_TABLE, "columns": "waited", "bins": 4}}),
    (
        "release",
        {"verb": "histogram", "words": {**_TABLE, "columns": ["ward", "waited"], "bins": {"map": [["waited", 4]]}}},
    ),
    (
        "release",
        {
            "verb": "marginals",
            "words": {**_TABLE, "sets": [["ward"], ["ward", "waited"]], "bins": {"map": [["waited", 2]]}},
        },
    ),
    ("release", {"verb": "anonymize", "words": {**_TABLE, "columns": ["ward"]}}),
    ("release", {"verb": "fit", "words": {**_FIT, "table": "visits", "target": "ward", "features": ["waited"]}}),
    ("quote", {"verb": "sql", "words": {"text": _COUNT}, "losses": [{"kind": "pure", "epsilon": "1/10"}]}),
    ("quote", {"verb": "histogram", "words": {**_TABLE, "columns": "ward"}}),
    ("room", {"loss": {"kind": "approx", "epsilon": "1", "delta": "1/1000000"}, "counted": True}),
)
_LOADING: Final = (("release", {"verb": "fit", "words": {"estimator": {"estimator": "x", "parameters": {}}}}),)
_ODD: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**63), 2**64, 10**400, "", "\x00", [], {}, [[]], {"": 0}),
    *({"number": "1e999"}, {"number": "1/0"}, {"real": "nan"}, {"date": "0000-00-00"}, {"map": [[1, 2], [1, 2]]}),
    *({"spec": {"mechanism": "laplace"}}, {"estimator": "os.system", "parameters": {}}, {"loss": {"kind": "pure"}}),
    *([0] * 1000, {str(number): number for number in range(300)}, {"code": "1"}, {"path": "/etc/passwd"}),
)
_BYTES: Final = (
    b"\x00",
    b"\xff",
    b"\xed\xa0\x80",
    b'"',
    b"{",
    b"[" * 150,
    b"}",
    b",",
    b":",
    b"NaN",
    b"1e9",
    b"\\u0000",
    b"9" * 500,
)
SECONDS: Final = 0.05
_WATCHED: Final = (
    *("import", "exec", "open", "compile", "subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty"),
    *(
        "os.posix_spawn",
        "os.spawn",
        "socket.connect",
        "socket.bind",
        "socket.getaddrinfo",
        "ctypes.dlopen",
        "os.remove",
    ),
    *(
        "os.rename",
        "os.mkdir",
        "os.rmdir",
        "os.putenv",
        "os.chmod",
        "pickle.find_class",
        "shutil.rmtree",
        "code.__new__",
    ),
)


class Eye:
    """Sees what a thread touches while it looks. It cannot be taken away again, and costs little when it is shut."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._thread: int | None = None
        self.seen: Counter[str] = Counter()
        sys.addaudithook(self._hook)

    def open(self) -> None:
        """Begin to look at this thread."""
        self._thread = threading.get_ident()

    def shut(self) -> None:
        """Look no more."""
        self._thread = None

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if self._thread is None or event not in _WATCHED or self._thread != threading.get_ident():
            return
        what = str(args[0]) if args else ""
        # Declarations of data sets are read again where they may have changed, and modules where they are needed first.
        if event == "open" and (what.startswith(self._folder) or _is_module(what)):
            return
        if event in ("import", "exec", "compile") and _is_ours(event, args):
            return
        # Annotations of our own records, which are read when a record is decoded for the first time.
        if event in ("exec", "compile") and sys._getframe(1).f_code.co_filename == typing.__file__:
            return
        self.seen[f"{event} {what[:80]}"] += 1


def _is_module(path: str) -> bool:
    """Whether a file is compiled or native code of an installed package."""
    return path.startswith((sys.prefix, sys.base_prefix, _HOME)) and path.endswith((".pyc", ".py", ".so"))


def _is_ours(event: str, args: tuple[Any, ...]) -> bool:
    """Whether a module is loaded that is a part of this program, or of what it is made of: by no name in a body."""
    if event == "import":
        return str(args[0]).partition(".")[0] in _PARTS
    name = getattr(args[0], "co_filename", None) if event == "exec" else str(args[1]) if len(args) > 1 else None
    return name is not None and (name.startswith((sys.prefix, sys.base_prefix, "<frozen")) or "/dither/" in name)


_HOME: Final = str(Path(dither.__file__).parent)
_PARTS: Final = frozenset(
    {*sys.stdlib_module_names, "dither", "numpy", "scipy", "sqlglot", "duckdb", "yaml", "sklearn", "pandas", "joblib"}
)


@dataclass
class Tally:
    """What happened."""

    bodies: int = 0
    refused: int = 0
    planned: int = 0
    slow: int = 0
    slowest: float = 0.0
    megabytes: float = 0.0
    failures: list[str] = field(default_factory=list)


class Fuzz:
    """A desk without a service around it, to which bodies are given.

    Args:
        folder: where its curator's folder is made.

    """

    def __init__(self, folder: Path) -> None:
        (folder / "visits.csv").write_text("patient,ward,waited\n1,heart,3\n2,skin,4\n")
        (folder / "clinic.yaml").write_text(SCHEMA)
        self._curator = Curator.create(folder / "home", anchors=folder / "anchors")
        self._curator.add(folder / "clinic.yaml", epsilon=1)
        people = People(self._curator)
        people.add("ana", "analyst")
        people.grant("ana", "clinic", PureDP(1))
        found = people.authenticate(people.new_token("ana"))
        if found is None:
            raise AssertionError
        self._desk, self._bearer = Desk(self._curator), found
        self._eye = Eye(folder)
        self.tally = Tally()
        for route, body in (*GOOD, *_LOADING):
            # Modules that are loaded when they are first needed are loaded here.
            self._try(route, json.dumps(body).encode(), is_watched=False)
        self._least = _peak()

    def close(self) -> None:
        """Let go of the folder."""
        self._desk.close()
        self._curator.close()

    def run(self, bodies: Iterator[tuple[str, bytes]]) -> Tally:
        """Give bodies to the desk, one after another.

        Args:
            bodies: with the route that each is for.

        """
        for route, content in bodies:
            before = time.thread_time()
            self._try(route, content, is_watched=True)
            took = time.thread_time() - before
            self.tally.bodies += 1
            self.tally.slow += took > SECONDS
            if took > self.tally.slowest:
                self.tally.slowest = took
                self.slowest = content[:300]
        self.tally.megabytes = _peak() - self._least
        seen = self._eye.seen
        self.tally.failures += [f"{count} times: {what}" for what, count in seen.most_common(20)]
        seen.clear()
        return self.tally

    def _try(self, route: str, content: bytes, *, is_watched: bool) -> None:
        if is_watched:
            self._eye.open()
        try:
            _asked(self._desk, self._bearer, route, content)
            self.tally.planned += is_watched
        except DitherError:
            self.tally.refused += is_watched
        except Exception as error:
            self.tally.failures.append(f"{type(error).__name__}: {error} from {content[:200]!r}"[:400])
        finally:
            self._eye.shut()


def _asked(desk: Desk, bearer: Bearer, route: str, content: bytes) -> None:
    body = read_object(content)
    if route == "release":
        desk.looked_up(bearer, wanted_of("clinic", body, None))
    elif route == "quote":
        desk.quote(bearer, "clinic", body)
    else:
        desk.room(bearer, "clinic", body)


def texts() -> Iterator[tuple[str, bytes]]:
    """Yield each good body with each of its texts replaced by each injection and each path."""
    payloads = (*injections(), *paths())
    for route, body in GOOD:
        for place in _places(body):
            if isinstance(_at(body, place), str):
                for payload in payloads:
                    yield route, json.dumps(_with(body, place, payload)).encode("utf-8", "surrogatepass")


def changed(seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield good bodies with bytes or parts changed at random, for ever."""
    dice = random.Random(seed)  # noqa: S311 - nothing here is secret
    while True:
        route, body = dice.choice(GOOD)
        if dice.random() < 0.5:
            for _ in range(dice.randint(1, 3)):
                body = _with(body, dice.choice(list(_places(body))), dice.choice(_ODD))
            yield route, json.dumps(body).encode()
        else:
            content = bytearray(json.dumps(body).encode())
            for _ in range(dice.randint(1, 4)):
                start = dice.randrange(len(content))
                end = start + dice.choice((0, 1, 1, 4, 40))
                content[start:end] = dice.choice(
                    (dice.choice(_BYTES), bytes([dice.randrange(256)]), content[start:end] * 2)
                )
            yield route, bytes(content)


def _places(tree: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if before:
        yield before
    if isinstance(tree, dict | list):
        for key in tree if isinstance(tree, dict) else range(len(tree)):
            yield from _places(tree[key], (*before, key))


def _at(tree: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        tree = tree[key]
    return tree


def _with(tree: Any, place: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(tree)
    _at(made, place[:-1])[place[-1]] = value
    return made


def _peak() -> float:
    """Return how many megabytes this process has ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Make bodies, and say what was found; exit 1 if anything was touched or raised."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bodies", type=int, default=1_000_000, help="how many are changed at random")
    parser.add_argument("--minutes", type=float, default=15, help="stop after this, however many there were")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="of the changes, to repeat a run")
    asked = parser.parse_args()
    until = time.monotonic() + 60 * asked.minutes
    with tempfile.TemporaryDirectory() as name:
        fuzz = Fuzz(Path(name))

        def bodies() -> Iterator[tuple[str, bytes]]:
            yield from texts()
            for _, found in zip(range(asked.bodies), changed(asked.seed), strict=False):
                if time.monotonic() > until:
                    return
                yield found

        tally = fuzz.run(bodies())
        print(
            f"{tally.bodies} bodies (seed {asked.seed}): {tally.refused} refused, {tally.planned} planned, "
            f"{tally.slow} took more than {1000 * SECONDS:.0f} ms of CPU, the slowest {1000 * tally.slowest:.0f} ms, "
            f"{tally.megabytes:.0f} MB more in all, {len(tally.failures)} failures"
        )
        print(f"  slowest: {fuzz.slowest!r}")
        fuzz.close()
    for failure in tally.failures[:50]:
        print(f"  {failure}")
    sys.exit(1 if tally.failures else 0)


if __name__ == "__main__":
    main()
