"""A mechanism is a module, a page and a test: in a copy of the project, all the rest is written by the tools."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.exports import completed, with_export

ROOT = Path(__file__).parents[2]
TOOLS = ("__init__", "catalogue", "exports", "surface")
#: What a person types after writing the files, and what they then ask of the copy: in one interpreter.
SCRIPT = """
import json, sys
from tools import catalogue, surface

names = ["toy-histogram", "toy-count"]
assert catalogue.main([]) == 0

from dither.cli.sources import elsewhere
from dither.mechanisms import find
from dither.mechanisms.core.tasks import all_tasks
from dither.privacy import PureDP
from dither.testing.calibrations import calibrated_names, calibrated_with
from dither.testing.sizes import wide_example
import dither.mechanisms, dither.publish.retrieval

toy = find("toy-histogram")
wide = wide_example(next(iter(toy.examples())))
print(json.dumps({
    "file": dither.__file__,
    "exported": [hasattr(dither.publish.retrieval, "ToyHistogram"), hasattr(dither.mechanisms, "ToyCount")],
    "public": [name for name in surface.public_names() if "Toy" in name],
    "tasks": [list(all_tasks()[task].methods)[-1] for task in ("histogram", "count")],
    "elsewhere": [name for name in elsewhere() if name in names],
    "calibrated": [name for name in calibrated_names() if name in names],
    "loss": str(toy.mechanism.calibrated(PureDP(1), **calibrated_with("toy-histogram")).loss(1)),
    "cells": wide.data.size,
}))
"""
COUNT = '''"""A count, clamped to a public range after the noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dither.exact import Number, Whole, non_negative
from dither.mechanisms.core.additive import DiscreteScale
from dither.mechanisms.core.mechanism import Numerics, Primitive
from dither.mechanisms.core.registry import Example, register
from dither.mechanisms.core.values import IntegerArray, saturating_sum
from dither.privacy import L1, Loss, Metric, PureDP


def _examples() -> Iterator[Example]:
    yield Example(ToyCount(scale=1, top=3), 2)


@register(examples=_examples, source="A toy of this test", tasks={"count": "To see that three files suffice."})
@dataclass(frozen=True, kw_only=True)
class ToyCount(Primitive[Any, int]):
    """Add discrete Laplace noise to a count, and clamp the sum to a public range.

    Guarantee: counts ``d_in`` apart lose epsilon = ``d_in / scale``.
    """

    name: ClassVar[str] = "toy-count"
    version: ClassVar[int] = 1
    numerics: ClassVar[Numerics] = Numerics.EXACT
    no_error_because: ClassVar[str] = "a count outside the range may be off by any amount"
    no_interval_because: ClassVar[str] = "a count outside the range may lie anywhere beyond it"

    scale: DiscreteScale = DiscreteScale()
    top: Whole = Whole(least=1, most=2**60)

    @property
    def distance(self) -> Metric:
        return L1

    @property
    def domain(self) -> IntegerArray:
        return IntegerArray(())

    def loss(self, d_in: Number = 1) -> Loss:
        return PureDP(non_negative("d_in", d_in) / self.scale)

    def draw_many(self, value: Any, count: int, noise: Any) -> Any:
        noisy = saturating_sum(self.domain.admit(value), noise.discrete_laplace(self.scale, count))
        return np.clip(noisy, 0, self.top)
'''
TASKS = 'section 3",\n    tasks={"histogram": "To see that three files suffice."},\n)'


def written(copy: Path) -> set[Path]:
    """Write two mechanisms, a composed one and a primitive, with their pages; return what was written."""
    twin = (ROOT / "src/dither/publish/histograms/uniform.py").read_text(encoding="utf-8")
    for old, new in (("UniformH", "ToyH"), ("uniform-histogram", "toy-histogram"), ('section 3",\n)', TASKS)):
        assert old in twin
        twin = twin.replace(old, new)
    files = {
        "src/dither/publish/retrieval/toy.py": twin,
        "docs/algorithms/toy-histogram.md": "# Toy: a histogram\n\nA proof.\n",
        "src/dither/mechanisms/toy_count.py": COUNT,
        "docs/algorithms/toy-count.md": "# Toy count\n\nA proof.\n",
    }
    for name, text in files.items():
        (copy / name).write_text(text, encoding="utf-8")
    return {copy / name for name in files}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project without its tests; bytecode as well, so that the copy is not compiled again."""
    for folder in ("src/dither", "docs/algorithms"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / "tools").mkdir()
    for name in TOOLS:
        shutil.copy(ROOT / f"tools/{name}.py", tmp_path / "tools")
    for name in ("mkdocs.yml", "docs/alphabet.md", "docs/sources.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_a_module_a_page_and_a_test_are_enough(copy: Path) -> None:
    """The tool completes rooms, tables and navigation; what runs over all that is registered knows both."""
    written(copy)
    # As the first step of the tool, which then starts again in a new interpreter.
    for path, text in completed(copy / "src").items():
        path.write_text(text, encoding="utf-8")
    assert completed(copy / "src") == {}
    paths = os.pathsep.join([str(copy / "src"), str(copy)])
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=copy,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    assert Path(said.pop("file")).is_relative_to(copy)
    assert said == {
        "exported": [True, True],
        "public": ["dither.mechanisms.ToyCount"],
        "tasks": ["toy-histogram", "toy-count"],
        "elsewhere": ["toy-count", "toy-histogram"],
        "calibrated": ["toy-histogram"],
        "loss": "epsilon = 1",
        "cells": 500,
    }
    nav = (copy / "mkdocs.yml").read_text(encoding="utf-8")
    assert '- "Toy: a histogram": algorithms/toy-histogram.md\n' in nav
    assert len(yaml.safe_load(nav)["nav"]) == 5
    for page in ("alphabet.md", "algorithms/index.md", "sources.md"):
        text = (copy / "docs" / page).read_text(encoding="utf-8")
        assert re.search(r"^\| \[toy-count\]\(", text, re.MULTILINE), page


def test_rooms_export_all_that_is_registered() -> None:
    assert completed() == {}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'from dither.a.c import C, shown\n\n__all__ = ["C", "shown"]\n',
            'from dither.a.b import B\nfrom dither.a.c import C, shown\n\n__all__ = ["B", "C", "shown"]\n',
        ),
        (
            'from dither.a.b import A\n\n__all__ = [\n    "A",\n]\n',
            'from dither.a.b import A, B\n\n__all__ = [\n    "A",\n    "B",\n]\n',
        ),
        ('"""A room."""\n\n__all__ = []\n', '"""A room."""\nfrom dither.a.b import B\n\n__all__ = ["B"]\n'),
        (
            'if TYPE_CHECKING:\n    from dither.a.c import C\n\n__all__ = ["C"]\n\n_HOMES = {\n    "C": "c",\n}\n',
            "if TYPE_CHECKING:\n    from dither.a.b import B\n    from dither.a.c import C\n\n"
            '__all__ = ["B", "C"]\n\n_HOMES = {\n    "B": "b",\n    "C": "c",\n}\n',
        ),
    ],
    ids=["sorted", "same module", "empty", "lazy"],
)
def test_an_export_is_added_where_a_person_would(before: str, after: str) -> None:
    assert with_export(before, "dither.a.b", "B") == after
