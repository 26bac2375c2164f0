"""Count what the shape of the project promises: names of a session, spellings of a loss, lines of the package.

``python -m tools.house_limits`` prints each figure with its limit, and exits 1 where one is above it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).resolve().parents[1] / "src" / "dither"
#: Arguments that state a loss: what spells all three could take them as one set of terms.
LOSS: Final = frozenset({"epsilon", "delta", "rho"})
#: Constructors whose signatures are those of scikit-learn, where every parameter is spelled.
ESTIMATORS: Final = ("learn/", "publish/synthetic/synthesizer.py")
LIMITS: Final = {"public names of a session": 30, "signatures that spell a loss, but for estimators": 30}


def session_names() -> list[str]:
    """Return the public names of a session: those of its class, and what it declares about itself."""
    from dither.curator.session import Session

    return sorted({"dataset", *(name for name in dir(Session) if not name.startswith("_"))})


def spelled_losses(source: Path = SOURCE) -> Iterator[str]:
    """Yield the functions that spell epsilon, delta and rho, but for estimators."""
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).as_posix()
        if name.startswith(ESTIMATORS):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                known = {one.arg for one in (*node.args.args, *node.args.kwonlyargs)}
                if known >= LOSS:
                    yield f"{name}:{node.name}"


def lines(source: Path = SOURCE) -> int:
    """Return the lines of the package."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in source.rglob("*.py"))


def counts() -> dict[str, int]:
    """Return every figure that has a limit."""
    return dict(zip(LIMITS, (len(session_names()), len(list(spelled_losses()))), strict=True))


def main() -> int:
    """Print the figures; return 1 where one is above its limit."""
    found = counts()
    for name, count in found.items():
        print(f"{name}: {count} (at most {LIMITS[name]})")
    print(f"lines of the package: {lines():,}")
    return int(any(count > LIMITS[name] for name, count in found.items()))


if __name__ == "__main__":
    sys.exit(main())
