"""The random numbers that a caller's model draws from, PyTorch's, NumPy's and Python's: restarted for each example.

Nothing is drawn here, and these numbers are no noise: dropout and augmentation draw them. They must not show how many
were drawn for the examples before.
"""

from __future__ import annotations

import random
from typing import Final

import numpy as np

from dither.learn.deep.torch_library import torch_for

_NEEDS: Final = "private training of a PyTorch module"


class RandomState:
    """The random numbers of the process: those of PyTorch, of NumPy and of Python, as they were when this was made."""

    def __init__(self) -> None:
        self._torch = torch_for(_NEEDS)
        self._before = (self._torch.get_rng_state(), np.random.get_state(), random.getstate())

    def begin(self, seed: bytes) -> None:
        """Restart all of them. They draw for a caller's model and are no noise."""
        number = int.from_bytes(seed[:8], "big") >> 1
        self._torch.default_generator.manual_seed(number)
        np.random.seed(number % 2**32)
        random.seed(number)

    def restore(self) -> None:
        """Put them back."""
        torch_state, numpy_state, python_state = self._before
        self._torch.set_rng_state(torch_state)
        np.random.set_state(numpy_state)
        random.setstate(python_state)
