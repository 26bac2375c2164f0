"""``dither login``: a token for a service, by signing in at its issuer."""

from __future__ import annotations

from typing import Annotated

import typer

from dither.cli.console import say


def login(
    url: Annotated[str, typer.Argument(metavar="URL", help="Where the service is.")],
) -> None:
    """Sign in to a service, and keep its token for the commands that ask it."""
    from dither.service.kept import keep_token
    from dither.service.login import log_in

    def tell(where: str, code: str) -> None:
        say(f"open {where} in a browser, on any machine, and type {code}")

    path = keep_token(url, log_in(url, tell))
    say(f"signed in; the token is stored in {path}")
