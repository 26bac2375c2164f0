"""A real PostgreSQL server for tests: private, in a temporary folder, reached by a Unix socket, gone at the end.

The server is the installed one: found on the search path or where the usual packages put it. It runs with its ordinary
durable settings. The database refuses to run as root, so that a root user starts it as the system user ``postgres``.
"""

from __future__ import annotations

import glob
import itertools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dither.exact import whole

#: Where packages of the usual systems put the server's programs; the highest version is taken.
PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/pgsql/bin")
_PROGRAMS = ("initdb", "pg_ctl", "postgres", "psql")
_START_SECONDS = 60


class PostgresAbsent(Exception):
    """No PostgreSQL server can be started here; the text says why, and a test skips with it."""


class PostgresServer:
    """A running server.

    ``url`` names its first, empty database; ``psycopg.connect(url)`` takes it as it is.
    """

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        self._count = itertools.count(1)
        self._user: dict[str, Any] = {}
        if os.geteuid() == 0:
            self._user = {"user": "postgres", "group": "postgres", "extra_groups": []}
            shutil.chown(folder, "postgres", "postgres")
        data = ["-D", str(folder / "data")]
        self._run("initdb", *data, "-U", "dither", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")

    @property
    def url(self) -> str:
        """The address of the first database."""
        return self.address("postgres")

    def address(self, database: str) -> str:
        """Return the URL of a database."""
        return f"postgresql://dither@/{database}?host={self._folder}"

    def new_database(self) -> str:
        """Make an empty database and return its URL."""
        name = f"test_{os.getpid()}_{next(self._count)}"
        self._run("psql", "-h", str(self._folder), "-U", "dither", "-q", "-c", f"CREATE DATABASE {name}", "postgres")
        return self.address(name)

    def start(self, connections: int = 100) -> None:
        """Start, and wait until connections are accepted."""
        settings = f"-c listen_addresses='' -c unix_socket_directories='{self._folder}'"
        settings += f" -c max_connections={whole('connections', connections, least=4)} -c unix_socket_permissions=0700"
        log = str(self._folder / "server.log")
        wait = ["-w", "-t", str(_START_SECONDS), "-l", log]
        self._run("pg_ctl", "-D", str(self._folder / "data"), *wait, "-o", settings, "start")

    def stop(self, *, abruptly: bool = False) -> None:
        """Stop: cleanly, or at once and without a checkpoint, as a crash does."""
        mode = "immediate" if abruptly else "fast"
        self._run("pg_ctl", "-D", str(self._folder / "data"), "-w", "-m", mode, "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        # Output goes to a file: a pipe would be kept open by the server, and never end.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(  # noqa: S603 - fixed programs, arguments of our own
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
                cwd=self._folder,
                **self._user,
            )
            if done.returncode:
                output.seek(0)
                said = output.read().decode(errors="replace").strip()
                raise PostgresAbsent(f"{program} failed: {said[-500:]}")


@contextmanager
def temporary_postgres() -> Iterator[PostgresServer]:
    """Start a private server, and remove it with all its data at the end.

    Raises:
        PostgresAbsent: no server is installed, or it does not start.

    """
    programs = _programs()
    # A socket's path may have about a hundred characters, so the folder is a short one.
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir=_roomy_folder()))
    try:
        server = PostgresServer(programs, folder)
        server.start()
        try:
            yield server
        finally:
            server.stop(abruptly=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _roomy_folder() -> str:
    """Return a folder in memory if there is much room: a server waits for its disk, and no test measures that."""
    try:
        memory = os.statvfs("/dev/shm")  # noqa: S108 - mkdtemp makes a private folder in it
        has_room = memory.f_bavail * memory.f_frsize > 2**30 and os.access("/dev/shm", os.W_OK)  # noqa: S108
    except OSError:
        has_room = False
    return "/dev/shm" if has_room else "/tmp"  # noqa: S108


def _programs() -> Path:
    """Return the folder of the server's programs."""
    found = [Path(folder) for place in PLACES for folder in glob.glob(place)]
    on_path = shutil.which("postgres")
    if on_path is not None:
        found.append(Path(on_path).resolve().parent)
    whole_sets = [folder for folder in found if all(os.access(folder / name, os.X_OK) for name in _PROGRAMS)]
    if not whole_sets:
        raise PostgresAbsent(f"no folder with {', '.join(_PROGRAMS)} on the search path or in {', '.join(PLACES)}")
    return max(whole_sets, key=_version)


def _version(folder: Path) -> tuple[int, ...]:
    """Return the numbers in a folder's name, so that 15 sorts after 9.6."""
    words = "".join(sign if sign.isdigit() else " " for sign in str(folder)).split()
    return tuple(int(word) for word in words)
