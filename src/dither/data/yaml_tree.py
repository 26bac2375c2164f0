"""Reads YAML into plain texts, lists and mappings that know their place. The rest of YAML is not supported.

``from_plain`` makes the same tree of Python's own texts, numbers, lists and dictionaries.

Scalars stay texts: what ``no`` or ``2024-01-01`` means is decided by the declared kind of a column, never guessed.
Tags, anchors, aliases, several documents, repeated keys, and anything too large or too deep are refused.
"""

from __future__ import annotations

import datetime
import difflib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.errors import InvalidSchema

LARGEST_TEXT: Final = 4 * 2**20
DEEPEST: Final = 12
#: What a draft contains where the curator has to decide.
UNDECIDED: Final = "???"


@dataclass
class Node:
    """A text, a list or a mapping, with its place in the file; line 0 means that it is not from a file."""

    value: str | list[Node] | dict[str, Node]
    place: str
    line: int
    is_plain: bool = False

    def refuse(self, offender: object, rule: str, key: str = "") -> InvalidSchema:
        """Return an error that names this place, or the place of a key below it."""
        place = ".".join(part for part in (self.place, key) if part) or "schema"
        return InvalidSchema(f"{place} (line {self.line})" if self.line else place, offender, rule)

    def text(self, rule: str) -> str:
        """Return a text that is not empty."""
        if not isinstance(self.value, str):
            raise self.refuse(type(self.value).__name__, rule)
        if self.value == UNDECIDED and self.is_plain:
            raise self.refuse(UNDECIDED, f"decided by the curator: {rule}")
        if not self.value:
            raise self.refuse("nothing", rule)
        return self.value

    def items(self, rule: str) -> list[Node]:
        """Return the elements of a list."""
        if not isinstance(self.value, list):
            raise self.refuse(self._shown(rule), rule)
        return self.value

    def mapping(self, rule: str, allowed: Iterable[str] | None = None) -> dict[str, Node]:
        """Return a mapping, all of whose keys are allowed."""
        if not isinstance(self.value, dict):
            raise self.refuse(self._shown(rule), rule)
        known = None if allowed is None else list(allowed)
        for key, node in self.value.items():
            if known is not None and key not in known:
                near = difflib.get_close_matches(key.replace("_", " ").lower(), known, n=1, cutoff=0.6)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise node.refuse(key, f"one of the keys {', '.join(known)}{hint}")
        return self.value

    def _shown(self, rule: str) -> str:
        # A text is shown, and an undecided one is said to be undecided; of anything else only the type is.
        return self.text(rule) if isinstance(self.value, str) else type(self.value).__name__


def read(text: str) -> Node:
    """Return the tree of one YAML document; raise InvalidSchema otherwise."""
    import yaml

    if len(text.encode(errors="surrogatepass")) > LARGEST_TEXT:
        raise InvalidSchema("schema", f"{len(text)} characters", f"at most {LARGEST_TEXT} bytes long")
    try:
        events = yaml.parse(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))
        return _document(events, yaml)
    except (yaml.YAMLError, UnicodeError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark is not None else ""
        if mark is not None and UNDECIDED in "".join(text.splitlines()[mark.line : mark.line + 1]):
            raise InvalidSchema(f"schema{where}", UNDECIDED, "decided by the curator") from None
        problem = getattr(error, "problem", None) or "characters that no YAML contains"
        raise InvalidSchema(f"schema{where}", str(problem), "YAML that can be read") from None


def to_plain(node: Node) -> Any:
    """Return a tree as texts, lists and dictionaries, of which ``from_plain`` makes the same tree without lines.

    Raises:
        InvalidSchema: something is undecided.

    """
    if isinstance(node.value, dict):
        return {key: to_plain(part) for key, part in node.value.items()}
    if isinstance(node.value, list):
        return [to_plain(part) for part in node.value]
    return node.text("a value") if node.value == UNDECIDED else node.value


def from_plain(value: object) -> Node:
    """Return the tree of plain Python data, as if it had been written in YAML; raise InvalidSchema otherwise.

    Texts, numbers, dates, true and false are the texts that YAML would have, lists are lists, and dictionaries have
    texts as keys. A text is what it says: ``"???"`` is not undecided here.

    >>> from_plain({"bounds": (0, 1.5)}).mapping("a column")["bounds"].items("bounds")[1].value
    '1.5'
    """
    root = Node("", "", 0)
    waiting: list[tuple[Node, object, int]] = [(root, value, 0)]
    size = 0
    while waiting:
        node, found, depth = waiting.pop()
        if depth > DEEPEST:
            raise node.refuse(f"more than {DEEPEST} levels", f"at most {DEEPEST} levels deep")
        if isinstance(found, Mapping):
            node.value = {}
            for key, part in found.items():
                if not issubclass(type(key), str):
                    raise node.refuse(_shown(key), "keyed by strings")
                name = str.__str__(key)
                node.value[name] = Node("", f"{node.place}.{name}" if node.place else name, 0)
                waiting.append((node.value[name], part, depth + 1))
        elif isinstance(found, list | tuple):
            node.value = [Node("", f"{node.place}[{place}]", 0) for place in range(len(found))]
            waiting += [(below, part, depth + 1) for below, part in zip(node.value, found, strict=True)]
        else:
            node.value = _as_text(node, found)
            size += len(node.value)
        if size > LARGEST_TEXT:
            raise InvalidSchema("schema", f"more than {LARGEST_TEXT} characters", f"at most {LARGEST_TEXT} bytes long")
    return root


def _as_text(node: Node, value: object) -> str:
    """Return a plain value as it would be written."""
    if isinstance(value, np.generic):
        value = value.item()
    if issubclass(type(value), Enum):
        value = getattr(value, "value", None)  # a kind by its name
    if issubclass(type(value), str):
        return str.__str__(value)
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is int:
        return str(value)
    if isinstance(value, float | Decimal | Fraction):
        return _real_text(node, value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    raise node.refuse(_shown(value), "a string, a number, true or false, a date, a list or a dictionary")


def _real_text(node: Node, value: float | Decimal | Fraction) -> str:
    if isinstance(value, Decimal) and value.is_finite():
        return Decimal.__str__(value)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        number = math.inf
    if not math.isfinite(number):
        raise node.refuse(value, "a finite number")
    return repr(number)


def _shown(value: object) -> str:
    # Of a value that is not plain only the type is shown: it may be data.
    return "nothing" if value is None else type(value).__name__


def _document(events: Iterator[Any], yaml: Any) -> Node:
    """Build the tree without recursion, so that no depth can exhaust the stack."""
    root: Node | None = None
    open_nodes: list[tuple[Node, list[str]]] = []  # each with the key that awaits its value
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent) and root is not None:
            raise InvalidSchema("schema", "several documents", "one YAML document")
        if isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent):
            open_nodes.pop()
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        line = event.start_mark.line + 1
        tag = getattr(event, "tag", None)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None or tag not in (None, "!"):
            raise InvalidSchema(
                f"schema (line {line})",
                "an anchor, alias or tag",
                "YAML without anchors, aliases (& and *) and tags: write values out",
            )
        if isinstance(event, yaml.ScalarEvent):
            node = Node(event.value, "", line, is_plain=bool(event.implicit[0]))
        else:
            node = Node([] if isinstance(event, yaml.SequenceStartEvent) else {}, "", line)
        if open_nodes:
            _put(node, *open_nodes[-1])
        else:
            root = node
        if not isinstance(node.value, str):
            open_nodes.append((node, []))
            if len(open_nodes) > DEEPEST:
                raise node.refuse(f"more than {DEEPEST} levels", f"at most {DEEPEST} levels deep")
    if root is None:
        raise InvalidSchema("schema", "nothing", "a YAML document")
    return root


def _put(node: Node, parent: Node, awaiting: list[str]) -> None:
    if isinstance(parent.value, list):
        node.place = f"{parent.place}[{len(parent.value)}]"
        parent.value.append(node)
    elif isinstance(parent.value, dict) and awaiting:
        key = awaiting.pop()
        node.place = f"{parent.place}.{key}" if parent.place else key
        parent.value[key] = node
    elif isinstance(parent.value, dict):
        if not isinstance(node.value, str):
            raise InvalidSchema(
                f"{parent.place or 'schema'} (line {node.line})", "a list or mapping", "keyed by strings"
            )
        if node.value in parent.value:
            raise InvalidSchema(f"{parent.place or 'schema'} (line {node.line})", node.value, "without repeated keys")
        awaiting.append(node.value)
