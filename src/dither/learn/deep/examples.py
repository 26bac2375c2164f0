"""Private examples as they are passed to a training: their container, and what is public about one example.

Containers, shapes and types of numbers are public, and refused where they do not fit; what an array holds never is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Set
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter
from dither.learn.deep.torch_library import torch_for

_NEEDS: Final = "private training"
_TUPLE: Final = "a tuple of arrays or tensors, such as (X, y), or a map-style data set of PyTorch"


class LazyExample:
    """An example of a map-style data set, read when it is needed."""

    def __init__(self, dataset: Any, place: int) -> None:
        self._dataset, self._place = dataset, place

    def read(self) -> Any:
        """Return the example."""
        return self._dataset[self._place]


def check_container(data: Any, *, pairs: bool = False) -> None:
    """Refuse what cannot hold examples, by its type alone; a bare array holds examples of one part.

    Args:
        data: what is passed as private examples.
        pairs: whether an example is a pair of features and a target.

    """
    torch = torch_for(_NEEDS)
    kind = type(data).__name__
    if isinstance(data, torch.utils.data.DataLoader | torch.utils.data.Sampler | torch.utils.data.IterableDataset):
        raise InvalidParameter("data", kind, "a map-style data set or a tuple of arrays: dither draws the lots itself")
    if isinstance(data, list):
        raise InvalidParameter("data", kind, f"{_TUPLE}; fit((X, y)) in place of fit([X, y])")
    if isinstance(data, Mapping):
        raise InvalidParameter("data", kind, f"{_TUPLE}; fit((data['x'], data['y'])) in place of fit(data)")
    table = isinstance(data, str | bytes | Set) or (hasattr(data, "to_numpy") and not isinstance(data, torch.Tensor))
    if table or not (hasattr(data, "__getitem__") and hasattr(data, "__len__")):
        raise InvalidParameter("data", kind, _TUPLE)
    if pairs and isinstance(data, np.ndarray | torch.Tensor):
        raise InvalidParameter("data", kind, "a tuple of features and targets: fit((X, y)) in place of fit(X)")
    if pairs and isinstance(data, tuple) and len(data) != 2:
        raise InvalidParameter("data", f"{len(data)} in a tuple", "a tuple of features and targets: fit((X, y))")


def examples_of(data: Any, example: Any = None) -> tuple[NDArray[Any], list[Any] | None]:
    """Return private examples as an array of objects, and a public batch of one of their form where that is known.

    Args:
        data: a tuple of arrays or tensors of one length, such as features and labels; or a map-style data set. A
            loader, a sampler or a stream is refused: the runner draws the samples, because the price depends on it.
        example: a made-up example of the form that the data set returns; without one only data sets of tensors have a
            known form.

    """
    torch = torch_for(_NEEDS)
    check_container(data)
    declared = None if example is None else public_batch(example)
    if isinstance(data, torch.utils.data.TensorDataset):
        data = tuple(data.tensors)
    elif isinstance(data, np.ndarray | torch.Tensor):
        data = (data,)
    if isinstance(data, tuple):
        tensors = [_tensor(part) for part in data]
        if not tensors or any(part.ndim < 1 or len(part) != len(tensors[0]) for part in tensors):
            raise InvalidParameter("data", "arrays of other lengths", "arrays of one length in a tuple")
        found = np.empty(len(tensors[0]), dtype=object)
        for place, parts in enumerate(zip(*tensors, strict=True)):
            found[place] = parts
        return found, _zeros(tensors) if declared is None else declared
    found = np.empty(len(data), dtype=object)
    for place in range(len(found)):
        found[place] = LazyExample(data, place)
    return found, _zeros_of_set(data) if declared is None else declared


def public_batch(example: Any) -> list[Any]:
    """Return a made-up example as a batch of one, as training will see those of its form."""
    torch = torch_for(_NEEDS)
    parts = example if isinstance(example, tuple | list) else (example,)
    tensors: list[Any] | None = None
    with contextlib.suppress(TypeError, ValueError, RuntimeError):
        tensors = [torch.as_tensor(part) for part in parts]
    if tensors is None:
        kinds = ", ".join(type(part).__name__ for part in parts)
        raise InvalidParameter("example", kinds, "a tuple of tensors, arrays or numbers, as the data set returns")
    return [tensor[None].to(_trained_type(tensor)) for tensor in tensors]


def _tensor(part: Any) -> Any:
    """Return a part as a tensor; an array that cannot be one is refused by its type."""
    torch = torch_for(_NEEDS)
    if isinstance(part, torch.Tensor):
        return part
    if not isinstance(part, np.ndarray):
        # A list, a column or a frame would take one type for all, which a single example can change.
        rule = "a tuple of arrays: numpy.asarray makes one, with a dtype for all examples"
        raise InvalidParameter("data", f"a {type(part).__name__} in a tuple", rule)
    if part.dtype.kind not in "biuf":
        rule = "a tuple of arrays of numbers; encode labels and strings as integers first"
        raise InvalidParameter("data", f"an array of {part.dtype.type.__name__}", rule)
    with contextlib.suppress(TypeError):  # of the type of its numbers
        return torch.as_tensor(np.ascontiguousarray(part) if part.ndim else part)
    rule = "a tuple of arrays of float32, float64 or integers of at most 64 bits"
    raise InvalidParameter("data", f"an array of {part.dtype.type.__name__}", rule)


def _zeros(tensors: list[Any]) -> list[Any]:
    """Return a public example of the shapes and types of these tensors, as a batch of one."""
    torch = torch_for(_NEEDS)
    return [torch.zeros((1, *part.shape[1:]), dtype=_trained_type(part)) for part in tensors]


def _zeros_of_set(data: Any) -> list[Any] | None:
    """Return a public example of a part of a data set of tensors; None where only an example would show its form."""
    torch = torch_for(_NEEDS)
    while type(data) is torch.utils.data.Subset:
        data = data.dataset
    return _zeros(list(data.tensors)) if type(data) is torch.utils.data.TensorDataset else None


def _trained_type(tensor: Any) -> Any:
    torch = torch_for(_NEEDS)
    return torch.get_default_dtype() if tensor.dtype == torch.float64 else tensor.dtype
