"""Networks: trained privately by noisy sums of gradients, or on public features.

Belongs here: what is learned by PyTorch or by networks of integers, the features made before learning, and what
trains a module of the user's own. Does not belong here: linear models (``learn.linear``). PyTorch is the extra
'deep'; it is imported when something here needs it, and nothing in this room imports it on the way in.
"""

from __future__ import annotations

import importlib
from typing import Any

from dither.learn.deep.network_descent import NetworkDescent
from dither.learn.deep.noisy_gradients import NoisyGradients

#: What needs PyTorch, and where it is.
_HOMES = {
    "Lot": "dither.learn.deep.training",
    "PrivateTrainer": "dither.learn.deep.training",
    "PrivateTraining": "dither.learn.deep.training",
    "replace_layers": "dither.learn.deep.mixing",
}

__all__ = ["Lot", "NetworkDescent", "NoisyGradients", "PrivateTrainer", "PrivateTraining", "replace_layers"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dither.learn.deep' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
