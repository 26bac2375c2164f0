"""``python -m tools.security.schema``: schemathesis over the OpenAPI text of a service.

It is a program of its own, with many parts: it is installed into an environment of its own, unless one is named with
``--program``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from dither.service.client import Connection, connect
from dither.service.routes import path_to
from tools.faults.served import COUNT, Served, made
from tools.rivals.environments import environment


def _installed(folder: Path) -> str | None:
    """Return where the program is, installed if need be; None where it cannot be."""
    python = environment(folder, modules="schemathesis", packages=["schemathesis"])
    return None if python is None else str(python.with_name("schemathesis").absolute())


def _named(client: Connection) -> dict[str, Any]:
    """Return the OpenAPI text with a data set and entries that are there: random names would reach little."""
    there = {"dataset": ["clinic", "nowhere"], "entry": ["1", "5", "5.csv", "99", "x"]}
    found: dict[str, Any] = client._transport.get(*path_to("openapi")).json()
    for operations in found["paths"].values():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if parameter["name"] in there:
                    parameter["schema"] = {"type": "string", "enum": there[parameter["name"]]}
    return found


def main() -> None:
    """Let it try every operation; exit 1 if the service fails at anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", help="where it is; installed otherwise")
    parser.add_argument("--rivals", type=Path, default=Path(".venv-rivals"), help="where environments are made")
    parser.add_argument("--examples", type=int, default=200, help="of each operation")
    asked = parser.parse_args()
    program = asked.program or _installed(asked.rivals / "schemathesis")
    if program is None:
        print("schemathesis is not installed, and cannot be: nothing was tried")
        sys.exit(1)
    with tempfile.TemporaryDirectory() as name:
        token = made(Path(name), "50")
        served = Served(Path(name))
        served.start()
        try:
            connect(served.url, token).session("clinic").sql(COUNT, epsilon="0.1")
            checks = "not_a_server_error,content_type_conformance,response_schema_conformance,ignored_auth"
            text = Path(name) / "openapi.json"
            text.write_text(json.dumps(_named(connect(served.url, token))))
            command = [program, "run", str(text), "--url", served.url, "--checks", checks]
            command += ["--header", f"Authorization: Bearer {token}", "--max-examples", str(asked.examples)]
            # With each operation alone: a link is used once, and entries are whatever there is.
            command += ["--phases", "examples,fuzzing", "--request-timeout", "30", "--generation-deterministic"]
            status = subprocess.run(command, cwd=name).returncode
        finally:
            served.kill()
    sys.exit(status)


if __name__ == "__main__":
    main()
