"""PyTorch is optional: nothing imports it on the way in, and without it the error says how to install it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dither.errors import MissingExtra
from dither.learn.deep.torch_library import has_torch, safetensors_for, torch_for


def test_the_room_does_not_import_torch() -> None:
    script = "import sys, dither.learn.deep; print(any(name.split('.')[0] == 'torch' for name in sys.modules))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "False"


@pytest.mark.parametrize(("module", "load"), [("torch", torch_for), ("safetensors.numpy", safetensors_for)])
def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch, module: str, load: object) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert callable(load)
    with pytest.raises(MissingExtra, match=r'a trainer needs .* pip install "dither\[deep\]"') as found:
        load("a trainer")
    assert found.value.extra == "deep"


def test_a_missing_torch_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert not has_torch()
