"""Gradients of a PyTorch module, one example a call: what an example adds depends on that example alone.

In a batch PyTorch gives an example other bits in other company. Here no call sees two examples, every call begins with
the same parameters, buffers, attributes and random numbers, and the example lies in the same memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import HandleMisuse
from dither.learn.deep.caller_random import RandomState
from dither.learn.deep.module_state import ModuleState, modules_in
from dither.learn.deep.torch_library import torch_for

#: Shapes of examples whose memory is held.
_MOST_PLACES: Final = 64
_NEEDS: Final = "private training of a PyTorch module"


def trained_parameters(module: Any) -> list[Any]:
    """Return the parameters that are trained, each once: tied ones count as one."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


class LoneGradients:
    """The gradient of the loss of one example in the parameters of a module.

    Args:
        module: a PyTorch module.
        loss_of: returns the loss of a batch that holds one example; its arguments are the parts of the example, each
            with a first axis of length 1.

    """

    def __init__(self, module: Any, loss_of: Callable[..., Any]) -> None:
        self._torch = torch_for(_NEEDS)
        self._module, self._loss_of = module, loss_of
        self._parameters = trained_parameters(module)
        self._state: ModuleState | None = None
        self._random: RandomState | None = None
        self._places: dict[tuple[Any, ...], Any] = {}
        self._step = b""

    @property
    def entries(self) -> int:
        """The number of entries of a gradient."""
        return sum(parameter.numel() for parameter in self._parameters)

    @contextmanager
    def at_step(self, number: int) -> Iterator[None]:
        """Compute gradients of one step: in one thread, and with random numbers of this step.

        The caller's random numbers and threads, and all that the module holds, are afterwards what they were: they say
        nothing about examples.
        """
        torch = self._torch
        threads, random = torch.get_num_threads(), RandomState()
        state = ModuleState([self._module, *modules_in(self._loss_of)])
        torch.set_num_threads(1)
        self._state, self._random, self._step = state, random, number.to_bytes(8, "big")
        try:
            yield
        finally:
            state.restore()
            random.restore()
            self._state = self._random = None
            torch.set_num_threads(threads)

    def read(self, example: Callable[[], Any]) -> NDArray[np.float32]:
        """Return the gradient of an example that is read by a call, which draws the random numbers of the step."""
        self._begin(self._step)
        return self(example())

    def _begin(self, seed: bytes) -> None:
        if self._state is None or self._random is None:
            raise HandleMisuse("gradients are computed inside 'at_step'")
        self._state.restore()
        self._random.begin(hashlib.blake2b(seed, digest_size=8).digest())

    def __call__(self, example: Any) -> NDArray[np.float32]:
        """Return the gradient of one example: its parts in a tuple, or one array."""
        torch = self._torch
        parts = example if isinstance(example, tuple | list) else (example,)
        tensors = [torch.as_tensor(part) for part in parts]
        seed = hashlib.blake2b(self._step, digest_size=8)
        for tensor in tensors:
            seed.update(_bytes(torch, tensor))
        self._begin(seed.digest())
        batch = [self._in_place(number, tensor) for number, tensor in enumerate(tensors)]
        with torch.enable_grad():
            loss = self._loss_of(*batch)
            found = torch.autograd.grad(loss.reshape(()), self._parameters, allow_unused=True)
        return flat(torch, found, self._parameters)

    def _in_place(self, number: int, tensor: Any) -> Any:
        """Return a batch of this one example, at an address that depends on public shapes alone."""
        torch = self._torch
        dtype = torch.get_default_dtype() if tensor.dtype == torch.float64 else tensor.dtype
        key = (number, tuple(tensor.shape), dtype)
        if key not in self._places:
            if len(self._places) >= _MOST_PLACES:
                self._places.clear()
            self._places[key] = torch.empty((1, *tensor.shape), dtype=dtype)
        place = self._places[key]
        place.copy_(tensor)
        return place


def flat(torch: Any, gradients: Any, parameters: list[Any]) -> NDArray[np.float32]:
    """Return gradients as one vector; one that is missing is 0."""
    rows = [
        (torch.zeros_like(parameter) if gradient is None else gradient).detach().reshape(-1).to(torch.float32)
        for gradient, parameter in zip(gradients, parameters, strict=True)
    ]
    found: NDArray[np.float32] = torch.cat(rows).numpy()
    return found


def _bytes(torch: Any, tensor: Any) -> bytes:
    """Return the content of a tensor."""
    return bytes(tensor.detach().contiguous().reshape(-1).view(torch.uint8).numpy())
