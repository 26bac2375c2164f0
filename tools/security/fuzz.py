"""``python -m tools.security.fuzz``: bodies that nobody foresaw, planned under an eye on all they touch.

Whatever comes out of a body must be an answer from public facts or an error of ours. Meanwhile nothing may be imported,
executed, connected to or started, and no file may be opened outside of the curator's folder. Bodies are made from good
ones: bytes and trees are changed at random, and every text is replaced by every injection and every path.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import resource
import sys
import tempfile
import threading
import time
import typing
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import dither
from dither.curator.folder import Curator
from dither.curator.named_rows import NamedRows
from dither.curator.people import Bearer, People
from dither.data.files import loads
from dither.errors import DitherError
from dither.privacy import PureDP
from dither.service.body import read_object
from dither.service.desk import Desk, wanted_of
from dither.service.long_lived_kinds import SERVED
from tools.security.bodies import GOOD, LOADING, PARTS, changed, texts
from tools.security.verb_bodies import OTHERS, SCHEMA

SECONDS: Final = 0.05
MEGABYTES: Final = 64
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


_ON_FILES: Final = ("open", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod")


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
        # Declarations of data sets are read again where they may have changed, and modules where they are needed first;
        # what is paid for and goes on has a book of its own.
        if event in _ON_FILES and (what.startswith(self._folder) or (event == "open" and _is_module(what))):
            return
        # The compiled form of a module that is imported for the first time on this machine.
        if event in _ON_FILES and sys._getframe(1).f_code.co_filename.startswith("<frozen importlib"):
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


#: The name of the one of each kind that bodies are about, and the routes that open a kind or are a step of it.
_CALLED: Final = {"conversation": "talk", "parts": "wards", "stream": "ticks"}
_OPENED: Final = {kind.opens: kind.verb for kind in SERVED.values()}
_STEPS: Final = {step.name: (kind.verb, step) for kind in SERVED.values() for step in kind.steps}


@dataclass
class Tally:
    """What happened."""

    bodies: int = 0
    refused: int = 0
    planned: int = 0
    slow: int = 0
    slowest: float = 0.0
    body: bytes = b""
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
        (folder / "other.csv").write_text("patient,ward,waited\n3,heart,3\n")
        (folder / "other.yaml").write_text(SCHEMA.replace("clinic", "other").replace("visits.csv", "other.csv"))
        self._curator = Curator.create(folder / "home", anchors=folder / "anchors")
        people = People(self._curator)
        names = ["clinic", "other"]
        for text in OTHERS:
            names.append(_made(folder, text))
        for name in names:
            self._curator.add(folder / f"{name}.yaml", epsilon=1)
        for name, role in (("ana", "analyst"), ("ben", "analyst"), ("cleo", "curator")):
            people.add(name, role)
        for name in names:
            if name != "other":
                people.grant("ana", name, PureDP(1))
        # Those who decide do so about another data set: what becomes of it hinders nobody else.
        people.grant("ben", "other", PureDP(1))
        self._bearers = {name: _shown(people, name) for name in ("ana", "cleo")}
        (folder / "rows").mkdir()
        (folder / "rows" / "visits.csv").write_text("patient,ward,waited\n")
        self._desk = Desk(self._curator, named=NamedRows((folder / "rows",)))
        words = {"table": "visits", "columns": ["ward"], "epsilon": {"number": "1/10"}}
        for kind, opened in (("conversation", words), ("parts", PARTS)):
            body = {"name": _CALLED[kind], "words": opened}
            self._desk.open_long_lived(self._bearers["ana"], "clinic", kind, body)
        self._eye = Eye(folder)
        self.tally = Tally()
        for route, body in (*GOOD, *LOADING):
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
            if took > SECONDS and self._again(route, content) > SECONDS:
                self.tally.slow += 1
                self.tally.failures.append(f"{1000 * took:.0f} ms of CPU, and again, for {content[:200]!r}")
            if took > self.tally.slowest:
                self.tally.slowest = took
                self.tally.body = content[:300]
        self.tally.megabytes = _peak() - self._least
        if self.tally.megabytes > MEGABYTES:
            self.tally.failures.append(f"{self.tally.megabytes:.0f} MB more are held")
        seen = self._eye.seen
        self.tally.failures += [f"{count} times: {what}" for what, count in seen.most_common(20)]
        seen.clear()
        return self.tally

    def _again(self, route: str, content: bytes) -> float:
        """Return how long a body takes that has just been tried: the first may have waited for something else."""
        before = time.thread_time()
        self._try(route, content, is_watched=False)
        return time.thread_time() - before

    def _try(self, route: str, content: bytes, *, is_watched: bool) -> None:
        if is_watched:
            self._eye.open()
        try:
            _asked(self._desk, self._bearers, route, content)
            self.tally.planned += is_watched
        except DitherError:
            self.tally.refused += is_watched
        except Exception as error:
            self.tally.failures.append(f"{type(error).__name__}: {error} from {content[:200]!r}"[:400])
        finally:
            self._eye.shut()


def _made(folder: Path, text: str) -> str:
    """Write a schema with files that have no rows, and return the name of the data set."""
    dataset = loads(text)
    (folder / f"{dataset.name}.yaml").write_text(text)
    for one in dataset.tables:
        (folder / one.source).write_text(",".join(column.name for column in one.columns) + "\n")
    return dataset.name


def _shown(people: People, name: str) -> Bearer:
    found = people.authenticate(people.new_token(name))
    if found is None:
        raise AssertionError
    return found


def _asked(desk: Desk, bearers: Mapping[str, Bearer], route: str, content: bytes) -> None:
    body, asking, deciding = read_object(content), bearers["ana"], bearers["cleo"]
    name, _, dataset = route.partition(":")
    match name:
        case "release":
            desk.looked_up(asking, wanted_of(dataset or "clinic", body, None))
        case "quote":
            desk.quote(asking, dataset or "clinic", body)
        case "loss_for_error" | "room":
            getattr(desk, route)(asking, "clinic", body)
        case "ask_part":
            # Planned and looked up, as for a release: nothing is drawn.
            desk.stored_part(asking, "clinic", _CALLED["parts"], body, None)
        case _ if name in _OPENED:
            desk.open_long_lived(asking, "clinic", _OPENED[name], body)
        case _ if name in _STEPS:
            kind, step = _STEPS[name]
            desk.go_on(asking, "clinic", kind, step, _CALLED[kind], body)
        case "add":
            desk.named(body)
        case "answer_question":
            desk.answer_question(deciding, 1, body)
        case _:
            getattr(desk, route)(deciding, "other", body)


def _peak() -> float:
    """Return how many megabytes this process has ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _run(seed: int, bodies: int, seconds: float, place: int, places: int) -> Tally:
    """Fuzz in this process, one of several that share the known texts, for so long at most."""
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as name:
        fuzz = Fuzz(Path(name))

        def made() -> Iterator[tuple[str, bytes]]:
            known = texts(place, places)
            for count, found in enumerate(itertools.islice(itertools.chain(known, changed(seed)), bodies), 1):
                if time.monotonic() > until:
                    return
                if count % 100_000 == 0:
                    print(f"  {count} bodies, {len(fuzz.tally.failures)} failures", flush=True)
                yield found

        try:
            return fuzz.run(made())
        finally:
            fuzz.close()


def main() -> None:
    """Make bodies, and say what was found; exit 1 if anything was touched or raised, or took too much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--bodies", type=int, default=1_000_000, help="how many: each known text, then changes at random"
    )
    parser.add_argument("--minutes", type=float, default=15, help="stop after this, however many there were")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="of the changes, to repeat a run")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="how many work at once")
    asked = parser.parse_args()
    begun, count = time.monotonic(), asked.processes
    with ProcessPoolExecutor(count, multiprocessing.get_context("spawn")) as pool:
        shares = [
            pool.submit(_run, asked.seed + place, -(-asked.bodies // count), 60 * asked.minutes, place, count)
            for place in range(count)
        ]
        tallies = [share.result() for share in shares]
    failures = [failure for tally in tallies for failure in tally.failures]
    if (tried := sum(tally.bodies for tally in tallies)) < asked.bodies:
        failures.append(f"only {tried} bodies of {asked.bodies} in {asked.minutes:g} minutes")
    slowest = max(tallies, key=lambda tally: tally.slowest)
    print(
        f"{sum(tally.bodies for tally in tallies)} bodies (seed {asked.seed}, {count} processes, "
        f"{time.monotonic() - begun:.0f} s): {sum(tally.refused for tally in tallies)} refused, "
        f"{sum(tally.planned for tally in tallies)} planned or done, {sum(tally.slow for tally in tallies)} took more "
        f"than {1000 * SECONDS:.0f} ms of CPU twice, the slowest {1000 * slowest.slowest:.0f} ms, "
        f"{max(tally.megabytes for tally in tallies):.0f} MB more in a process, load {os.getloadavg()[0]:.1f}, "
        f"{len(failures)} failures"
    )
    print(f"  slowest: {slowest.body!r}")
    for failure in failures[:50]:
        print(f"  {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
