"""Parameters with which ``calibrated`` of any registered mechanism can be called, for tests of all of them."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

from dither.errors import InvalidParameter
from dither.mechanisms import Entry, find, registered
from dither.mechanisms.core.purse import Purse
from dither.mechanisms.core.registry import Takes
from dither.privacy import ApproxDP, Loss


def calibrated_names() -> list[str]:
    """Return the names of all mechanisms that are made for a loss and do not say that this is tried otherwise.

    No example is built for it.
    """
    known = registered()
    return [name for name, entry in known.items() if _is_calibrated(entry) and not isinstance(entry.made_for, str)]


def calibrated_with(name: str) -> dict[str, Any]:
    """Return the public parameters that a mechanism is made with beside a loss.

    They are those that ``calibrated`` requires and the first example has, and those that the registration adds.

    >>> calibrated_with("dawa")
    {'cells': 3}
    >>> calibrated_with("priv-tree")
    {'side': 4}
    """
    entry = find(name)
    if not _is_calibrated(entry) or isinstance(entry.made_for, str):
        raise InvalidParameter("name", name, "that of a mechanism that is made for a loss by its own parameters")
    mechanism: Any = entry.mechanism
    asked = inspect.signature(mechanism.calibrated).parameters
    example = next(iter(entry.examples())).mechanism
    is_open = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in asked.values())
    wanted = [word for word, one in asked.items() if one.default is inspect.Parameter.empty]
    if is_open:
        wanted += [field.name for field in fields(mechanism) if field.name in ("candidates", "chosen", "classes")]
    found = {word: getattr(example, word) for word in wanted if hasattr(example, word)}
    return found | ({"sensitivity": 1} if "sensitivity" in asked else {}) | dict(entry.made_for)


def is_taken(takes: Takes, target: Loss) -> bool:
    """Tell whether ``calibrated`` of a class that is registered so takes a loss, and does not refuse it.

    >>> from dither.privacy import PureDP
    >>> is_taken("any", PureDP(1)), is_taken("gaussian", PureDP(1))
    (True, False)
    """
    if takes == "delta":
        return isinstance(target, ApproxDP)
    is_pure = Purse.within(target).is_pure
    return not (takes == "gaussian" and is_pure) and not (takes == "pure" and not is_pure)


def _is_calibrated(entry: Entry) -> bool:
    return hasattr(entry.mechanism, "calibrated")
