"""One of several processes that serve a folder; started by ``workers`` and by nobody else."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path

from dither.curator.folder import Curator
from dither.errors import DitherError
from dither.service.app import Service
from dither.service.desk import desk_of
from dither.service.logs import Log
from dither.service.metrics import Metrics
from dither.service.server import Server
from dither.service.settings import Settings
from dither.service.sign_in import Link, SharedLink
from dither.service.starting import check_start


def main() -> int:
    """Serve as the parent says, until told to stop or until the parent is gone."""
    said = json.loads(sys.stdin.buffer.readline())
    settings = Settings(**said["settings"])
    shared = SharedLink(said["link"]["code"], said["link"]["ends"], Path(said["link"]["mark"]))
    try:
        with Curator.open(said["folder"], anchors=said["anchors"]) as curator:
            check_start(curator, settings)
            desk = desk_of(curator, settings)
            metrics = Metrics(settings.workers, said["number"], said["counts"])
            service = Service(desk, settings, Log(), Link(desk.people, shared), metrics)

            def ready(_port: int) -> None:
                os.write(said["ready"], b".")
                os.close(said["ready"])

            server = Server(service, settings, ready)
            threading.Thread(target=_stop_without_parent, daemon=True).start()
            server.run(sockets=[socket.socket(fileno=said["socket"])])
    except DitherError as problem:
        print(problem, file=sys.stderr)  # noqa: T201 - to whoever started the service
        return 1
    return 0


def _stop_without_parent() -> None:
    # Whole lines only: what is read here is the end of the parent.
    while sys.stdin.buffer.readline():
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
