"""A caller's frozen extractor, called on one record at a time: a function, or a module of PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
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
    sequence = records.to_numpy() if hasattr(records, "to_numpy") else records
    found = np.full((len(sequence), width), np.nan)
    with _lone(extractor) if _is_module(extractor) else nullcontext(extractor) as call:
        for number in range(len(sequence)):
            # What goes wrong depends on the record, so that no failure may be seen.
            with suppress(Exception):
                features = np.asarray(call(sequence[number]), dtype=np.float64).reshape(-1)
                if features.shape == (width,):
                    found[number] = features
    return found


def check_extractor(extractor: Any, records: Any, width: int) -> None:
    """Try an extractor on a record of zeros, where the form of records is public: arrays of numbers have one.

    Args:
        extractor: a function of one record, or a module of PyTorch.
        records: of which the shape and the type of numbers are read.
        width: the declared number of features.

    """
    if not callable(extractor):
        raise InvalidParameter("extractor", type(extractor).__name__, "a function of one record, or a module")
    if not isinstance(records, np.ndarray) or not records.ndim or records.dtype.kind not in "biuf":
        return
    blank = np.zeros((1, *records.shape[1:]), dtype=records.dtype)
    lone = _lone(extractor) if _is_module(extractor) else nullcontext(extractor)
    found, failed = 0, None
    try:
        with warnings.catch_warnings(), lone as call:
            warnings.simplefilter("ignore")
            found = np.asarray(call(blank[0]), dtype=np.float64).size
    except Exception as error:  # of a caller's function, on zeros alone
        failed = error
    if failed is not None:
        rule = f"a function that works on a record of zeros, {blank.dtype} {list(blank.shape[1:])}"
        raise InvalidParameter("extractor", f"{type(failed).__name__}: {failed}", rule) from failed
    if found != width:
        rule = f"{found}, the number of features that the extractor returns for a record of zeros"
        raise InvalidParameter("n_outputs", width, rule)


def _is_module(extractor: Any) -> bool:
    # A module exists only where PyTorch is imported already.
    return any(
        f"{kind.__module__}.{kind.__name__}" == "torch.nn.modules.module.Module" for kind in type(extractor).mro()
    )


@contextmanager
def _lone(module: Any) -> Iterator[Callable[[Any], Any]]:
    """Yield a function of one record: the module in evaluation mode, put back before each call.

    So are the random numbers of the process. Afterwards both are what they were.
    """
    import torch

    from dither.learn.deep.caller_random import RandomState
    from dither.learn.deep.module_state import ModuleState

    random, before = RandomState(), ModuleState([module])
    module.eval()
    state = ModuleState([module])
    aligned: dict[tuple[int, ...], Any] = {}

    def call(record: Any) -> Any:
        given = torch.as_tensor(np.asarray(record)).to(torch.get_default_dtype())
        # One place in memory for all records of a shape: where an array begins can decide how it is added up.
        place = aligned.setdefault(tuple(given.shape), torch.empty((1, *given.shape), dtype=given.dtype))
        place.copy_(given[None])
        state.restore()
        random.begin(b"features")
        with torch.no_grad():
            return module(place).detach().to(torch.float64).reshape(-1).clone().numpy()

    try:
        yield call
    finally:
        before.restore()
        random.restore()
