"""Gradients of a PyTorch module, one example a call: what an example adds depends on that example alone.

In a batch PyTorch gives an example other bits in other company. Here no call sees two examples, every call begins with
the same buffers, attributes and random numbers, and the example lies in the same memory.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.learn.deep.torch_library import torch_for

#: Shapes of examples whose memory is held.
_MOST_PLACES: Final = 64
_NEEDS: Final = "private training of a PyTorch module"


def trained_parameters(module: Any) -> list[Any]:
    """Return the parameters that are trained, each once: tied ones count as one."""
    return [parameter for parameter in module.parameters() if parameter.requires_grad]


class ModuleState:
    """What a module holds besides its parameters, as it was when this was made.

    Args:
        module: the module. Buffers and plain attributes of it and of its parts are set back, wherever they were
            changed in place or replaced.

    """

    def __init__(self, module: Any) -> None:
        torch = torch_for(_NEEDS)
        own = set(vars(torch.nn.Module()))
        self._buffers = [
            (part, name, buffer, buffer.detach().clone())
            for part in module.modules()
            for name, buffer in part._buffers.items()
            if buffer is not None
        ]
        self._plain: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = []
        for part in module.modules():
            found = vars(part)
            plain = {name: value for name, value in found.items() if name not in own}
            changing = (torch.Tensor, list, dict, set, bytearray)
            held = {name: copy.deepcopy(value) for name, value in plain.items() if isinstance(value, changing)}
            if plain:
                self._plain.append((found, {name: plain[name] for name in plain if name not in held}, held))
        self._attributes = [(vars(part), frozenset(vars(part))) for part in module.modules()]

    def restore(self) -> None:
        """Set everything back."""
        for part, name, buffer, value in self._buffers:
            part._buffers[name] = buffer
            buffer.detach().copy_(value)
        for found, names in self._attributes:
            if len(found) != len(names) or not names.issuperset(found):
                for name in [name for name in found if name not in names]:
                    del found[name]
        for found, fixed, held in self._plain:
            found.update(fixed)
            for name, value in held.items():
                found[name] = copy.deepcopy(value)


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
        self._state = ModuleState(module)
        self._places: dict[tuple[Any, ...], Any] = {}
        self._step = b""

    @property
    def entries(self) -> int:
        """The number of entries of a gradient."""
        return sum(parameter.numel() for parameter in self._parameters)

    @contextmanager
    def at_step(self, number: int) -> Iterator[None]:
        """Compute gradients of one step: in one thread, and with random numbers of this step.

        The caller's random numbers, threads and buffers are afterwards what they were: they say nothing about examples.
        """
        torch = self._torch
        threads, random = torch.get_num_threads(), torch.get_rng_state()
        torch.set_num_threads(1)
        self._step = number.to_bytes(8, "big")
        try:
            yield
        finally:
            self._state.restore()
            torch.set_rng_state(random)
            torch.set_num_threads(threads)

    def __call__(self, example: Any) -> NDArray[np.float32]:
        """Return the gradient of one example: its parts in a tuple, or one array."""
        torch = self._torch
        parts = example if isinstance(example, tuple | list) else (example,)
        tensors = [torch.as_tensor(part) for part in parts]
        seed = hashlib.blake2b(self._step, digest_size=8)
        for tensor in tensors:
            seed.update(_bytes(torch, tensor))
        self._state.restore()
        torch.default_generator.manual_seed(int.from_bytes(seed.digest(), "big") >> 1)
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
