"""Whose code runs beside private rows: exactly that of registered classes.

A session prices what it is handed and runs it on rows. A class that extends a known one may override any step: it could
say one price, and see the rows. So types are compared, not ancestries, and all that a request is made of is registered
by name: records of queries, sources, kinds of matrices, mechanisms, estimators. An owner who trusts a further class
registers it; an analyst's request names what is registered and holds plain values.

This guards the session's promises against requests, not the process against Python: anyone who can run code in the
process of the data can read the data.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from dither.data.wire import encode
from dither.errors import InvalidParameter, UnknownMechanism
from dither.lift.lifted import Lifted
from dither.mechanisms.core.mechanism import Mechanism
from dither.mechanisms.core.registry import find


def checked_class(parameter: str, given: Any, known: type) -> None:
    """Reject objects of any class but ``known``, subclasses included."""
    if type(given) is not known:
        raise InvalidParameter(parameter, type(given).__name__, f"a {known.__name__}, and of no class of its own")


def checked_mechanism(mechanism: Any) -> None:
    """Reject a mechanism whose class is not the one registered under its name; likewise its parts.

    The source of a lifted method is written down: records that are not registered have no place in a request.
    """
    name = getattr(type(mechanism), "name", None)
    known = None
    if isinstance(name, str):
        try:
            known = find(name).mechanism
        except UnknownMechanism:
            known = None
    if known is not type(mechanism):
        raise InvalidParameter("mechanism", type(mechanism).__name__, "of a registered class exactly: see register")
    if isinstance(mechanism, Lifted):
        encode(mechanism.source)
    for field in fields(mechanism):  # type: ignore[arg-type]
        content = getattr(mechanism, field.name)
        for part in content if isinstance(content, tuple) else (content,):
            if isinstance(part, Mechanism):
                checked_mechanism(part)
