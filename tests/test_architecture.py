"""The house stands as drawn: imports go downwards, only noise draws bits, only primitives get noise, nothing hides."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import dither
from dither.mechanisms import Composed, Interactive, registered

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "dither"
MODULES = sorted(path for path in SOURCE.rglob("*.py"))

#: From top to bottom; a module may import from its own room and from rooms below it. Rooms on one line are siblings.
ROOMS = [
    {"cli"},
    {"service"},
    {"curator"},
    {"bench"},
    {"audit"},
    {"checks"},
    {"testing"},
    {"attack"},
    {"verbs"},
    {"publish", "learn", "local", "federate", "disguise"},
    {"lift"},
    {"estimate"},
    {"data"},
    {"mechanisms"},
    {"privacy"},
    {"noise"},
    {"exact", "pages"},
    {"errors"},
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
#: Rooms that may hold noise: the core and primitives, and those that test them.
HOLDS_NOISE = {"noise", "mechanisms", "local", "testing", "checks", "audit", "bench"}

#: Rooms that may use local reports: the door of devices, what carries and collects reports, and what tests them.
USES_LOCAL = {"local", "cli", "service", "curator", "bench", "audit", "checks", "testing", "attack"}

#: What is kept on disk is sealed, and people are known, by secrets of the same generator: nothing there is noise.
SECRETS = {
    SOURCE / "curator" / "streams" / "seal.py",
    SOURCE / "curator" / "keys.py",
    SOURCE / "disguise" / "parties" / "commutative.py",
}

#: What debits and stores, and what opens the rows of a session; by the order of a session alone.
DOORS = {SOURCE / "curator" / name for name in ("access.py", "drawing.py", "session.py")}
BEHIND_DOORS = re.compile(r"\.(?:reserve|complete|begin_draw)\(|\bsession\._(?:curator|open|tables|alone|charged)\b")

#: The nodes in which a statement may stand.
_HOLDING = (ast.stmt, ast.excepthandler, ast.match_case)


def room_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0].removesuffix(".py")


def imports(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield every module imported at run time, with its line; imports for type checkers only are left out."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        # Statements alone hold imports; expressions need not be walked.
        left.extend(part for part in ast.iter_child_nodes(node) if isinstance(part, _HOLDING))
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            left = [part for part in left if part not in node.body]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, node.lineno
            if node.module == "dither":
                yield from ((f"dither.{alias.name}", node.lineno) for alias in node.names)


@dataclass(frozen=True)
class Module:
    """A module of the package, read once for all rules."""

    path: Path
    text: str
    tree: ast.Module
    imports: tuple[tuple[str, int], ...]

    @classmethod
    def read(cls, path: Path) -> Module:
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        return cls(path, text, tree, tuple(imports(tree)))

    @property
    def packages(self) -> set[str]:
        return {module.split(".")[0] for module, _ in self.imports}


def imports_go_downwards(one: Module) -> None:
    here = room_of(one.path)
    if here in ("__init__", "__main__"):
        return
    for module, line in one.imports:
        parts = module.split(".")
        if parts[0] != "dither" or len(parts) < 2 or parts[1] not in LEVEL:
            continue
        there = parts[1]
        allowed = there == here or LEVEL[there] > LEVEL[here]
        assert allowed, f"{one.path.name}:{line}: {here} must not import {there}, which stands above or beside it"


def test_every_room_is_on_the_map() -> None:
    assert {room_of(path) for path in MODULES} - {"__init__", "__main__"} <= set(LEVEL)


@pytest.mark.parametrize("room", sorted({room_of(path) for path in MODULES} - {"__init__", "__main__", "errors"}))
def test_every_room_says_what_belongs_there(room: str) -> None:
    text = importlib.import_module(f"dither.{room}").__doc__ or ""
    assert len(text.split()) >= 20, f"{room} opens without a paragraph that says what belongs there"


#: Begins the random numbers anew that a caller's model draws from, and draws none.
CALLERS = SOURCE / "learn" / "deep" / "caller_random.py"


def only_noise_touches_the_system_generator(one: Module) -> None:
    text, path = one.text, one.path
    if room_of(path) != "noise" and path not in SECRETS:
        assert not one.packages & {"secrets", "cryptography"}
        assert path == CALLERS or "random" not in one.packages
        # The name alone is one of those that ``testing.reach`` looks for.
        assert "os.urandom" not in text
        assert "import urandom" not in text
        assert "getrandom" not in text
    # Records are drawn from released models, where nothing is left to protect.
    if room_of(path) not in {"testing", "bench"} and path not in {
        SOURCE / "estimate" / "public_randomness.py",
        CALLERS,
    }:
        assert "np.random" not in text
        assert "numpy.random" not in text


def only_primitives_get_noise(one: Module) -> None:
    if room_of(one.path) in HOLDS_NOISE or room_of(one.path) == "__init__":
        return
    for module, line in one.imports:
        assert not module.startswith("dither.noise"), f"{one.path.name}:{line} imports noise; draw through run instead"


def three_kinds_of_trust_stay_apart(one: Module) -> None:
    """Decision 29: nobody is trusted in ``local``, so that nothing of a curator is there, and few need it."""
    here = room_of(one.path)
    for module, line in one.imports:
        if here == "local":
            assert not module.startswith("dither.curator"), f"{one.path.name}:{line} imports the curator"
        if here not in USES_LOCAL and here != "__init__":
            assert not module.startswith("dither.local"), f"{one.path.name}:{line} imports local reports"


def clients_need_no_numpy(one: Module) -> None:
    """What is shipped to devices is the standard library, ``noise.client_words`` and itself."""
    local = SOURCE / "local"
    if one.path in {local / "__init__.py", local / "document.py", local / "domains.py"} or one.path.is_relative_to(
        local / "clients"
    ):
        allowed = ("dither.errors", "dither.noise.client_words", "dither.local.clients", "dither.local.d")
        for module, line in one.imports:
            known = module.startswith(allowed) or module.split(".")[0] in sys.stdlib_module_names
            assert known, f"{one.path.name}:{line} imports {module}, which no client has"


def test_composed_mechanisms_are_never_handed_noise() -> None:
    for kind, methods in ((Composed, ("plan", "release")), (Interactive, ("plan", "open"))):
        for method in methods:
            assert "noise" not in inspect.signature(getattr(kind, method)).parameters
    for entry in registered().values():
        if issubclass(entry.mechanism, Composed | Interactive):
            own = inspect.getsource(entry.mechanism)
            # The sources of noise, and not parts of a mechanism that are called after it, such as CountNoise.
            named = re.search(r"\b(Noise|Entropy|SystemEntropy|system_noise)\b", own)
            assert not named, f"{entry.name} is composed and names a source of noise"


def no_code_is_loaded_from_data(one: Module) -> None:
    assert not one.packages & {"pickle", "marshal", "shelve", "dill", "cloudpickle"}
    for node in ast.walk(one.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in {"eval", "exec", "compile", "__import__"}, f"{one.path.name}:{node.lineno}"


def no_module_is_too_long(one: Module) -> None:
    assert len(one.text.splitlines()) <= 600


def rows_and_receipts_have_one_door(one: Module) -> None:
    if one.path in DOORS or one.path.is_relative_to(SOURCE / "curator" / "ledger"):
        return
    for line, text in enumerate(one.text.splitlines(), start=1):
        found = BEHIND_DOORS.search(text)
        assert not found, f"{one.path.name}:{line} goes past curator/access: {found}"


RULES = (
    imports_go_downwards,
    only_noise_touches_the_system_generator,
    only_primitives_get_noise,
    three_kinds_of_trust_stay_apart,
    clients_need_no_numpy,
    no_code_is_loaded_from_data,
    no_module_is_too_long,
    rows_and_receipts_have_one_door,
)


@pytest.mark.parametrize("room", sorted({room_of(path) for path in MODULES}))
def test_every_module_keeps_the_rules(room: str) -> None:
    for path in MODULES:
        if room_of(path) == room:
            one = Module.read(path)
            for rule in RULES:
                try:
                    rule(one)
                except AssertionError as failure:
                    failure.add_note(f"{path.relative_to(SOURCE)} breaks: {rule.__name__}")
                    raise


def test_a_module_that_breaks_a_rule_is_found() -> None:
    """Each rule has something that it refuses."""
    broken = {
        imports_go_downwards: ("privacy/new.py", "from dither.cli import app"),
        only_noise_touches_the_system_generator: ("privacy/new.py", "import secrets"),
        three_kinds_of_trust_stay_apart: ("learn/new.py", "from dither.local.document import Document"),
        clients_need_no_numpy: ("local/clients/new.py", "import numpy as np"),
        only_primitives_get_noise: ("publish/new.py", "from dither.noise import system_noise"),
        no_code_is_loaded_from_data: ("privacy/new.py", "eval('1')"),
        no_module_is_too_long: ("privacy/new.py", "x = 1\n" * 601),
        rows_and_receipts_have_one_door: ("curator/new.py", "held = session._curator.ledger.reserve(account)"),
    }
    assert set(broken) == set(RULES)
    for rule, (name, text) in broken.items():
        tree = ast.parse(text)
        with pytest.raises(AssertionError):
            rule(Module(SOURCE / name, text, tree, tuple(imports(tree))))


def public_modules() -> Iterator[ModuleType]:
    yield dither
    for found in pkgutil.iter_modules([str(SOURCE)]):
        if found.name not in {"__main__", "bench", "cli"}:
            yield importlib.import_module(f"dither.{found.name}")


def public_callables(module: ModuleType) -> Iterator[tuple[str, object]]:
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        if callable(thing):
            yield f"{module.__name__}.{name}", thing
        if inspect.isclass(thing):
            for method, function in inspect.getmembers(thing, callable):
                if not method.startswith("_"):
                    yield f"{module.__name__}.{name}.{method}", function


def test_no_seed_in_a_public_signature() -> None:
    for module in public_modules():
        if module.__name__ == "dither.testing":
            continue
        for name, thing in public_callables(module):
            try:
                parameters = inspect.signature(thing).parameters  # type: ignore[arg-type]
            except (ValueError, TypeError):
                continue
            assert not set(parameters) & {"seed", "random_state", "rng", "generator"}, name


def test_public_surface_is_pinned(load_tool: Callable[[str], ModuleType]) -> None:
    """Adding or losing a public name is a decision: run tools/surface.py with it."""
    tool = load_tool("surface")
    assert tool.public_names() == tool.PINNED.read_text(encoding="utf-8").split()


def test_public_names_are_sorted_and_exist() -> None:
    for module in public_modules():
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{module.__name__} promises {name}"


def test_a_client_is_light() -> None:
    """The client half of a survey loads neither NumPy nor any room of mechanisms."""
    script = "import sys, dither.local.clients.kary, dither.local.document\nprint(*sys.modules)"
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not set(told) & {"numpy", "scipy", "cryptography", "dither.exact", "dither.privacy", "dither.mechanisms"}


def test_import_is_light() -> None:
    """Importing the package brings its errors alone, and a ledger no room of mechanisms, engines or noise."""
    script = (
        "import sys, dither\n"
        "print(*sys.modules)\n"
        "import dither.curator.ledger.sqlite\n"
        "print(*sys.modules)\n"
        "print(*(getattr(dither, name) is not None for name in dither.__all__))\n"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    package, ledger, named = (set(line.split()) for line in told.splitlines())
    heavy = {"scipy", "pandas", "altair", "rich", "typer", "duckdb", "sklearn", "torch"}
    assert not package & (heavy | {"numpy", "cryptography", "dither.mechanisms", "dither.privacy"})
    assert not ledger & (heavy | {"cryptography", "dither.noise", "dither.mechanisms.geometric", "dither.publish"})
    assert named == {"True"}


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == dither.__version__
    assert not any("==" in requirement for requirement in project["dependencies"])
