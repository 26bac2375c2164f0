"""What every test of the verbs would otherwise make anew: the parser of the command, a database to import with."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from tests.one_importer import one_importer


@pytest.fixture(scope="session", autouse=True)
def made_once() -> Iterator[None]:
    """Build the parser of all verbs once instead of for each line typed.

    It is a function of what is installed alone. A context of parsing is new for each line all the same.
    """
    import typer.testing

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", functools.cache(typer.main.get_command))
        yield


@pytest.fixture(scope="module", autouse=True)
def importing() -> Iterator[None]:
    """Start one database to import with instead of one for each file."""
    with one_importer():
        yield
