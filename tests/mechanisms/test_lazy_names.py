"""Primitives are imported when they are asked for, and the registry has all of them."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dither.mechanisms
from dither.mechanisms import registered


def test_every_name_has_a_home() -> None:
    assert sorted(dither.mechanisms._HOMES) == sorted(dither.mechanisms.__all__) == dir(dither.mechanisms)
    for name, home in dither.mechanisms._HOMES.items():
        found = getattr(dither.mechanisms, name)
        assert found is getattr(sys.modules[f"dither.mechanisms.{home}"], name)
    with pytest.raises(AttributeError, match="nothing"):
        _ = dither.mechanisms.nothing


def test_a_light_import_leaves_most_primitives_alone() -> None:
    """And whoever asks for all there is gets those as well."""
    script = (
        "import sys, dither\n"
        "assert 'dither.mechanisms.pan_private' not in sys.modules\n"
        "assert 'importlib.metadata' not in sys.modules\n"
        "from dither.mechanisms import find\n"
        "print(find('pan-private-counter').mechanism.__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == registered()["pan-private-counter"].mechanism.__name__
