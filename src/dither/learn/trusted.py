"""Estimators that a session may run on private rows: exactly the registered classes, rebuilt from plain parameters.

A class that extends an estimator may override any step: it could say one price, and see the rows. So types are
compared, not ancestries, and parameters are plain values.
"""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from types import NoneType
from typing import Any, Final

import numpy as np

from dither import learn
from dither.errors import InvalidParameter
from dither.mechanisms.core.public import PublicArray
from dither.privacy import ZCDP, ApproxDP, Loss, PureDP, Unit, unit_of, word_of

_PLAIN: Final = frozenset(
    {NoneType, bool, int, float, str, bytes, Fraction, Decimal, datetime.date, PublicArray, range}
)
#: Records that say what may be lost.
_LOSSES: Final = frozenset({PureDP, ZCDP, ApproxDP})
_DEEPEST: Final = 16


def trusted_estimator(estimator: Any) -> Any:
    """Return a fresh estimator with the parameters of one whose class is registered in ``dither.learn.ESTIMATORS``."""
    return _estimator(estimator, _DEEPEST)


def _estimator(estimator: Any, depth: int) -> Any:
    kind = type(estimator)
    if not (kind.__name__ in learn.ESTIMATORS and getattr(learn, kind.__name__) is kind):
        raise InvalidParameter("estimator", kind.__name__, "one of dither.learn, and of no class of its own")
    names = kind._get_param_names()
    # What was set on the object beside its parameters, methods for example, stays behind.
    return kind(**{name: _value(name, vars(estimator).get(name), depth - 1) for name in names})


def _value(name: str, value: Any, depth: int) -> Any:
    """Return a copy of a parameter made of plain values."""
    kind = type(value)
    if depth < 0:
        raise InvalidParameter(name, kind.__name__, f"nested at most {_DEEPEST} deep")
    if kind in _PLAIN or (issubclass(kind, np.generic) and kind.__module__ == "numpy"):
        return value
    if kind in _LOSSES:
        return Loss.from_dict(value.to_dict())
    if kind is Unit:
        return unit_of(word_of(value))
    if kind in (list, tuple, set, frozenset):
        return kind(_value(name, part, depth - 1) for part in value)
    if kind is dict:
        return {_value(name, key, depth - 1): _value(name, part, depth - 1) for key, part in value.items()}
    if kind is np.ndarray:
        copied = value.copy()
        if copied.dtype.hasobject:
            copied.reshape(-1)[:] = [_value(name, part, depth - 1) for part in value.reshape(-1).tolist()]
        return copied
    if kind.__name__ in learn.ESTIMATORS:
        return _estimator(value, depth)
    raise InvalidParameter(name, kind.__name__, "plain: numbers, texts, arrays, lists and dictionaries of these")
