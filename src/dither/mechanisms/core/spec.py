"""A mechanism as JSON and back: the content of requests, digests and receipts.

A closed format: a name and version looked up in the registry, numbers as texts parsed by a pattern, no code and no
imports. What has no place in it is refused, not guessed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

from dither.errors import DitherError, InvalidParameter, NotSerialisable, UnknownMechanism
from dither.exact import exact
from dither.mechanisms.core.mechanism import Mechanism
from dither.mechanisms.core.public import PublicArray
from dither.mechanisms.core.registry import AnyMechanism, find
from dither.privacy import Loss, Relation, Unit

_DEEPEST = 16
_DTYPES = ("<i8", "<f8", "|b1", "<i4", "<f4", "|u1")


@dataclass(frozen=True)
class Codec:
    """How records of a type defined in higher rooms are written as plain JSON data and read back."""

    kind: type
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]


_codecs: dict[str, Codec] = {}


def register_codec(tag: str, codec: Codec) -> None:
    """Let parameters of one type appear in requests as ``{tag: written}``. Each tag and each type is registered once.

    Args:
        tag: the one key of the written record.
        codec: the type, and two functions between its records and plain JSON data; ``read`` refuses what it does not
            know with InvalidParameter.

    """
    taken = {"number", "array", "dtype", "shape", "loss", "unit", "mechanism", "version", "parameters"}
    if tag in taken or _codecs.get(tag, codec).kind is not codec.kind:
        raise InvalidParameter("tag", tag, "new")
    _codecs[tag] = codec


def to_spec(mechanism: AnyMechanism) -> dict[str, Any]:
    """Return the mechanism as plain JSON data.

    >>> from dither.mechanisms import Geometric
    >>> to_spec(Geometric(scale="1/3"))
    {'mechanism': 'geometric', 'version': 1, 'parameters': {'shape': [], 'scale': {'number': '1/3'}}}
    """
    parameters = {field.name: _encode(getattr(mechanism, field.name)) for field in fields(mechanism)}  # type: ignore[arg-type]
    return {"mechanism": mechanism.name, "version": mechanism.version, "parameters": parameters}


def from_spec(spec: Mapping[str, Any]) -> AnyMechanism:
    """Return the mechanism that ``to_spec`` wrote."""
    return _mechanism(spec, _DEEPEST)


def write_parameter(value: Any) -> Any:
    """Return a parameter of a mechanism as plain JSON data: a number, a loss, a mechanism, a record with a codec."""
    return _encode(value)


def read_parameter(written: Any) -> Any:
    """Return the parameter that ``write_parameter`` wrote."""
    return _decode(written, _DEEPEST)


def digest(mechanism: AnyMechanism) -> str:
    """Return the SHA-256 of the mechanism's canonical JSON: equal for equal requests."""
    text = json.dumps(to_spec(mechanism), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _mechanism(spec: Mapping[str, Any], depth: int) -> AnyMechanism:
    if not (isinstance(spec, Mapping) and set(spec) == {"mechanism", "version", "parameters"}):
        raise InvalidParameter("spec", spec, "a record with mechanism, version and parameters")
    kind = find(str(spec["mechanism"])).mechanism
    if isinstance(spec["version"], bool | float) or spec["version"] != kind.version:
        raise UnknownMechanism(f"{kind.name} has version {kind.version} here, the request has {spec['version']!r}")
    parameters = spec["parameters"]
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    if not (isinstance(parameters, Mapping) and set(parameters) == known):
        raise InvalidParameter("parameters", parameters, f"a record with exactly {sorted(known)}")
    return kind(**{name: _decode(value, depth - 1) for name, value in parameters.items()})


def _encode(value: Any) -> Any:
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, Fraction):
        return {"number": str(value)}
    if isinstance(value, tuple):
        return [_encode(entry) for entry in value]
    if isinstance(value, PublicArray):
        array = value.values
        if array.dtype.str not in _DTYPES:
            raise NotSerialisable(f"an array of {array.dtype} has no place in a request: use one of {_DTYPES}")
        return {"array": array.tolist(), "dtype": array.dtype.str, "shape": list(array.shape)}
    if isinstance(value, Mechanism):
        return to_spec(value)
    if isinstance(value, Loss):
        return {"loss": value.to_dict()}
    if isinstance(value, Unit):
        return {"unit": [value.protects, value.relation.name, value.detail]}
    for tag, codec in _codecs.items():
        if isinstance(value, codec.kind):
            return {tag: codec.write(value)}
    raise NotSerialisable(f"a {type(value).__name__} has no place in a request")


def _decode(value: Any, depth: int) -> Any:
    if depth < 0:
        raise InvalidParameter("spec", "a deeper record", f"nested at most {_DEEPEST} deep")
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, list):
        return tuple(_decode(entry, depth - 1) for entry in value)
    if isinstance(value, Mapping):
        keys = set(value)
        if keys == {"number"}:
            return _number(value["number"])
        if keys == {"array", "dtype", "shape"}:
            return _array(value)
        if keys == {"loss"}:
            return Loss.from_dict(value["loss"])
        if keys == {"unit"}:
            return _unit(value["unit"])
        if len(keys) == 1 and keys <= _codecs.keys():
            (tag,) = keys
            return _read(tag, value[tag])
        return _mechanism(value, depth)
    raise InvalidParameter("spec", value, "plain JSON data without floats")


def _read(tag: str, record: Any) -> Any:
    """Return what a codec reads; whatever it stumbles over in a record from elsewhere is one refusal."""
    try:
        return _codecs[tag].read(record)
    except DitherError:
        raise
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
        pass
    raise InvalidParameter(tag, type(record).__name__, "a record as it was written")


def _number(value: Any) -> Fraction:
    if not isinstance(value, str):
        raise InvalidParameter("number", value, "a string such as '1/3'")
    return exact("number", value)


def _array(value: Mapping[str, Any]) -> PublicArray:
    dtype = value["dtype"]
    if dtype not in _DTYPES:
        raise InvalidParameter("dtype", dtype, "one of the plain number types")
    try:
        return PublicArray(np.array(value["array"], dtype=dtype).reshape(value["shape"]))
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter("array", "a ragged or mistyped array", "numbers of that dtype and shape") from None


def _unit(value: Any) -> Unit:
    names = {relation.name for relation in Relation}
    if not (isinstance(value, list) and len(value) == 3 and all(isinstance(text, str) for text in value)):
        raise InvalidParameter("unit", value, "three strings")
    if value[1] not in names:
        raise InvalidParameter("unit", value[1], f"one of {sorted(names)}")
    return Unit(value[0], Relation[value[1]], value[2])
