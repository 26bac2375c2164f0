"""What a PyTorch module holds: put back between examples.

A module may change itself when it is called: buffers, weights that are kept at a length, caches in attributes. What one
example leaves there the next one would meet, and a saved model would show.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, Final

from dither.errors import InvalidParameter
from dither.learn.deep.torch_library import torch_for

_NEEDS: Final = "private training of a PyTorch module"
#: What cannot change: it is not copied.
_FIXED: Final = (
    *(int, float, complex, bool, str, bytes, type(None), type, range),
    *(FunctionType, BuiltinFunctionType, ModuleType),
)
_MOST_NAMES: Final = 2**16


class ModuleState:
    """All that modules hold, as it was when this was made.

    Parameters, trained and frozen, and buffers are the tensors that they were, with their content, their gradients
    dropped; attributes are as they were, those that can change as fresh copies; what was added is removed.

    Args:
        modules: the modules; their parts are found.

    """

    def __init__(self, modules: Iterable[Any]) -> None:
        torch = torch_for(_NEEDS)
        self._torch = torch
        parts = {id(part): part for module in modules for part in module.modules()}
        tensors: dict[int, Any] = {}
        for part in parts.values():
            for held in (part._parameters, part._buffers):
                tensors |= {id(tensor): tensor for tensor in held.values() if tensor is not None}
        self._keep: dict[int, Any] = {**parts, **tensors}
        self._lists: list[tuple[dict[str, Any], str, Any, tuple[Any, ...]]] = []
        self._names: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._copied: list[tuple[dict[str, Any], str, Any]] = []
        for part in parts.values():
            found = vars(part)
            fixed: dict[str, Any] = {}
            for name, value in found.items():
                if isinstance(value, dict) and name.startswith("_") and name in _own(torch):
                    fixed[name] = value
                    self._lists.append((found, name, value, tuple(value.items())))
                elif isinstance(value, (*_FIXED, torch.dtype, torch.device, torch.nn.Module)) or id(value) in tensors:
                    fixed[name] = value
                elif isinstance(value, torch.Tensor):
                    fixed[name] = tensors[id(value)] = value
                else:
                    self._copied.append((found, name, self._copy(part, name, value)))
            self._names.append((found, fixed))
        self._tensors = [(tensor, tensor.detach().clone(), tensor.requires_grad) for tensor in tensors.values()]

    def _copy(self, part: Any, name: str, value: Any) -> Any:
        with contextlib.suppress(Exception):  # any class may refuse to be copied
            return copy.deepcopy(value, dict(self._keep))
        rule = f"a module whose attributes can be copied: {type(part).__name__}.{name} cannot"
        raise InvalidParameter("model", type(value).__name__, rule)

    def restore(self) -> None:
        """Put everything back."""
        for found, name, held, items in self._lists:
            found[name] = held
            if len(held) != len(items) or any(held.get(key, held) is not value for key, value in items):
                held.clear()
                held.update(items)
        copied = {id(found): set[str]() for found, _ in self._names}
        for found, name, value in self._copied:
            copied[id(found)].add(name)
            found[name] = copy.deepcopy(value, dict(self._keep))
        for found, fixed in self._names:
            if len(found) != len(fixed) + len(copied[id(found)]):
                for name in [name for name in found if name not in fixed and name not in copied[id(found)]]:
                    del found[name]
            found.update(fixed)
        for tensor, value, is_trained in self._tensors:
            if tensor.shape == value.shape and tensor.dtype == value.dtype:
                tensor.data.copy_(value)
            else:
                tensor.data = value.clone()
            if tensor.is_leaf:
                if tensor.requires_grad != is_trained:
                    tensor.requires_grad_(is_trained)
                tensor.grad = None


def modules_in(function: Callable[..., Any]) -> list[Any]:
    """Return the modules that a function of a caller can reach by name: bound, enclosed, a default, global."""
    torch = torch_for(_NEEDS)
    found: list[Any] = [function, getattr(function, "__self__", None), getattr(function, "func", None)]
    found += [*getattr(function, "args", ()), *getattr(function, "keywords", {}).values()]
    for one in (function, getattr(function, "func", None)):
        plain = getattr(one, "__func__", one)
        if not isinstance(plain, FunctionType):
            continue
        for cell in plain.__closure__ or ():
            try:
                found.append(cell.cell_contents)
            except ValueError:  # not filled yet
                continue
        found += [*(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values()]
        found += [plain.__globals__.get(name) for name in plain.__code__.co_names[:_MOST_NAMES]]
    inner = [value for one in found if one is not None for value in getattr(one, "__dict__", {}).values()]
    every = {id(one): one for one in (*found, *inner) if isinstance(one, torch.nn.Module)}
    return list(every.values())


def _own(torch: Any) -> frozenset[str]:
    """Return the names under which every module keeps its parts, parameters, buffers and hooks."""
    global _NAMES
    if _NAMES is None:
        _NAMES = frozenset(vars(torch.nn.Module()))
    return _NAMES


_NAMES: frozenset[str] | None = None
