"""A caller's frozen extractor, called on one record at a time: a function, or a module of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from dither.errors import InvalidParameter, InvalidValue
from dither.learn.rows import Floats


def extracted(extractor: Any, records: Any, width: int) -> Floats:
    """Return the features of each record, made by a call for it alone.

    A record on which the extractor fails, or for which it returns another number of features, has features that are
    not numbers: nothing raises because of what a record holds.

    Args:
        extractor: a function of one record, or a module of PyTorch.
        records: a sequence or an array of records.
        width: the number of features.

    >>> extracted(lambda word: [len(word), 1], ["ab", None], 2).tolist()
    [[2.0, 1.0], [nan, nan]]

    """
    if not callable(extractor):
        raise InvalidParameter("extractor", type(extractor).__name__, "a function of one record, or a module")
    if isinstance(records, str | bytes) or not hasattr(records, "__len__"):
        raise InvalidValue("X", records, "a sequence or an array of records")
    call = _of_module(extractor) if _is_module(extractor) else extractor
    sequence = records.to_numpy() if hasattr(records, "to_numpy") else records
    found = np.full((len(sequence), width), np.nan)
    for number in range(len(sequence)):
        # What goes wrong depends on the record, so that no failure may be seen.
        with suppress(Exception):
            features = np.asarray(call(sequence[number]), dtype=np.float64).reshape(-1)
            if features.shape == (width,):
                found[number] = features
    return found


def _is_module(extractor: Any) -> bool:
    # A module exists only where PyTorch is imported already.
    return any(
        f"{kind.__module__}.{kind.__name__}" == "torch.nn.modules.module.Module" for kind in type(extractor).mro()
    )


def _of_module(module: Any) -> Callable[[Any], Any]:
    """Return a function of one record: the module in evaluation mode, its buffers as they were before each call."""
    import torch

    buffers = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    aligned: dict[tuple[int, ...], Any] = {}

    def call(record: Any) -> Any:
        given = torch.as_tensor(np.asarray(record)).to(torch.get_default_dtype())
        # One place in memory for all records of a shape: where an array begins can decide how it is added up.
        place = aligned.setdefault(tuple(given.shape), torch.empty((1, *given.shape), dtype=given.dtype))
        place.copy_(given[None])
        was = module.training
        module.eval()
        try:
            with torch.no_grad():
                return module(place).detach().to(torch.float64).reshape(-1).clone().numpy()
        finally:
            module.train(was)
            for buffer, before in buffers:
                buffer.copy_(before)

    return call
