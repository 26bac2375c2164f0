"""Nothing of the room can be named in a plan, a request or a session, and the curator cannot import it."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path
from typing import Any

import pytest

import dither.disguise
from dither.curator.session import Session
from dither.data import wire
from dither.disguise import Disguise, Disguised, Mondrian, Roles, Rules, disguises, find_disguise
from dither.disguise.baskets import Apriori
from dither.disguise.parties import CommutativeKey
from dither.disguise.perturbation import perturbations
from dither.errors import InvalidParameter, NotSerialisable, UnknownMechanism
from dither.mechanisms import Mechanism, registered
from dither.mechanisms.core.registry import find
from dither.mechanisms.core.spec import digest, from_spec, to_spec
from dither.privacy import ROW, Loss
from dither.privacy.plans import Use
from dither.verbs.offers import Offers

SOURCE = Path(dither.disguise.__file__).parents[1]
#: The rooms that may name it: itself and the verbs a person types.
MAY = {"disguise", "cli"}
METHOD: Any = Mondrian(Roles(("age",)), Rules(k=2))
MADE: Any = METHOD.apply({"age": [1, 2]})


def named(text: str) -> bool:
    """Whether a module imports the room, at its top, later, or by its name in a text."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import) and any(one.name.startswith("dither.disguise") for one in node.names):
            return True
        if isinstance(node, ast.ImportFrom):
            whole = [f"{node.module}.{one.name}" for one in node.names]
            if any(name.startswith("dither.disguise") for name in whole):
                return True
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("dither.disguise"):
            return True
    return False


def test_no_other_room_imports_it() -> None:
    rooms = {path: path.relative_to(SOURCE).parts[0] for path in SOURCE.rglob("*.py")}
    assert "curator" in rooms.values()
    others = [path for path, room in rooms.items() if room not in MAY and "disguise" in path.read_text("utf-8")]
    assert [path for path in others if named(path.read_text("utf-8"))] == []
    for text in (
        "import dither.disguise",
        "from dither import disguise",
        "def f():\n  from dither.disguise import Rules",
    ):
        assert named(text)
    assert named("import_module('dither.disguise.mondrian')")


def test_verbs_that_release_do_not_import_it() -> None:
    """Of the verbs, only those whose output says that nothing is guaranteed."""
    found = [path.name for path in (SOURCE / "cli").rglob("*.py") if named(path.read_text("utf-8"))]
    parts = ("checks", "numbers", "parties", "tables", "totals")
    assert sorted(found) == ["disclosure.py", "disguise.py", *(f"disguise_{part}.py" for part in parts)]


@pytest.mark.parametrize("name", disguises())
def test_no_mechanism_has_its_name_or_its_words(name: str) -> None:
    kind = find_disguise(name)
    assert name not in registered()
    assert not issubclass(kind, Mechanism)
    assert not any(hasattr(kind, word) for word in ("loss", "plan", "release", "draw", "distance", "numerics"))
    assert dataclasses.is_dataclass(kind)
    with pytest.raises(dataclasses.FrozenInstanceError):
        METHOD.rules = Rules()
    with pytest.raises(UnknownMechanism):
        find(name)
    with pytest.raises(UnknownMechanism):
        from_spec({"mechanism": name, "version": 1, "parameters": {}})


def test_no_mechanism_has_the_name_of_a_perturbation() -> None:
    assert not set(perturbations()) & (set(registered()) | set(disguises()))


def test_nothing_of_it_has_a_place_in_a_plan_or_a_request() -> None:
    for thing in (METHOD, MADE, Roles(("age",)), Rules(), Apriori(2), CommutativeKey()):
        with pytest.raises(NotSerialisable):
            wire.encode(thing)
    for write in (to_spec, digest):
        with pytest.raises(NotSerialisable):
            write(METHOD)
    # A plan has no loss with it: there is none to ask for.
    with pytest.raises(AttributeError, match="loss"):
        Use(METHOD).loss(1)
    with pytest.raises(AttributeError):
        Use(METHOD).check(ROW)


def test_no_verb_of_a_session_takes_it() -> None:
    words = {word for owner in (Session, Offers) for word in vars(owner) if not word.startswith("_")}
    assert not words & {"disguise", "risk", *disguises()}
    assert not {field.name for field in dataclasses.fields(Disguised)} & {"loss", "receipt", "unit", "epsilon"}
    assert not any(isinstance(value, Loss) for value in vars(MADE).values())


def test_a_disguise_is_abstract() -> None:
    with pytest.raises(TypeError):
        Disguise()  # type: ignore[abstract]
    with pytest.raises(InvalidParameter):
        find_disguise("laplace")
