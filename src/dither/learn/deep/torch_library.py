"""PyTorch, imported where it is needed and not before."""

from __future__ import annotations

import importlib
from typing import Any

from dither.errors import MissingExtra


def has_torch() -> bool:
    """Return whether PyTorch can be imported."""
    try:
        importlib.import_module("torch")
    except ImportError:
        return False
    return True


def torch_for(feature: str) -> Any:
    """Return the module ``torch``; without it the error names the feature and the extra that brings it.

    Args:
        feature: what needs PyTorch, as the subject of a sentence: "a private trainer".

    """
    return _imported("torch", feature)


def safetensors_for(feature: str) -> Any:
    """Return the module ``safetensors.numpy``, which reads and writes weights without running code."""
    return _imported("safetensors.numpy", feature)


def _imported(module: str, feature: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(feature, "deep", besides=_HOW) from None


_HOW = "the optional part 'deep': pip install \"dither[deep]\""
