"""Places where an object can carry something unseen: walked in addition to attributes, entries and containers.

Metadata of types of entries, the memory behind views, buffers, weak references, constants, defaults and attributes of
functions, notes and tracebacks of exceptions, frames that wait, classes and modules that were made on the way, and the
state of objects that are written in another language.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import sys
import types
import weakref
from typing import Any, Final

import numpy as np

Parts = list[tuple[str, Any]]

#: They stand for what they refer to in all but their type.
PROXIES: Final = frozenset(weakref.ProxyTypes)
#: What ``described`` knows.
RARE: Final = (
    *(types.FunctionType, types.MethodType, functools.partial, types.CodeType, memoryview, weakref.ref, BaseException),
    *(types.TracebackType, types.FrameType, types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType),
    np.random.Generator,
)
#: A class with one of these has its own way of telling what it holds.
_TELLING = ("__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__", "__getnewargs_ex__")
#: Of a class or module, and nothing that its maker chose; the order of some of it changes from run to run.
_BOOKKEEPING = ("__dict__", "__weakref__", "__builtins__", "__static_attributes__", "_abc_")


def described(thing: Any) -> tuple[str, Parts] | None:
    """Return a text and the parts of a rare object, without its attributes; None where it is not special."""
    if isinstance(thing, types.FunctionType):
        return _of_function(thing)
    if isinstance(thing, types.MethodType):
        return f"method {thing.__func__.__qualname__}", [("self", thing.__self__), ("function", thing.__func__)]
    if isinstance(thing, functools.partial):
        return "partial", [("function", thing.func), ("arguments", thing.args), ("named", thing.keywords)]
    if isinstance(thing, types.CodeType):
        return _of_code(thing)
    if isinstance(thing, memoryview):
        return _of_memory(thing)
    if isinstance(thing, weakref.ref):
        return "weak reference", [("referent", thing())]
    if isinstance(thing, BaseException):
        return _of_exception(thing)
    if isinstance(thing, types.TracebackType):
        return f"traceback {thing.tb_lineno}", [("frame", thing.tb_frame), ("next", thing.tb_next)]
    if isinstance(thing, types.FrameType):
        return f"frame {thing.f_code.co_name}", [("locals", dict(thing.f_locals))]
    for kind, attribute in (
        (types.GeneratorType, "gi_frame"),
        (types.CoroutineType, "cr_frame"),
        (types.AsyncGeneratorType, "ag_frame"),
    ):
        if isinstance(thing, kind):
            frame = getattr(thing, attribute)
            return f"{kind.__name__} {thing.__qualname__}", [] if frame is None else [("locals", dict(frame.f_locals))]
    if isinstance(thing, np.random.Generator):
        return type(thing).__qualname__, [("state", thing.bit_generator.state)]
    return None


def of_numpy(thing: Any) -> Parts:
    """Return what a dtype, or a single entry, holds beside its own bits."""
    if isinstance(thing, np.generic):
        # A record keeps the array that it was taken from.
        kept = [] if getattr(thing, "base", None) is None else [("base", thing.base)]
        return kept + (of_numpy(thing.dtype) if isinstance(thing, np.void) else [])
    parts: Parts = [] if thing.metadata is None else [("metadata", thing.metadata)]
    if thing.fields is not None:
        parts += [(f"field {name!r}", field) for name, field in thing.fields.items()]
    if thing.subdtype is not None:
        parts.append(("entry", thing.subdtype[0]))
    return parts


def behind_view(array: np.ndarray[Any, Any]) -> Parts:
    """Return the object behind an array that shows more than the array does.

    A view of all of a plain array shows no more than it shows; a view of a part holds the rest as well, and what is no
    plain array may hold anything.
    """
    base: Any = array.base
    while type(base) is np.ndarray and base.nbytes == array.nbytes and _is_full(array) and not of_numpy(base.dtype):
        base = base.base
    return [] if base is None else [("base", base)]


def _is_full(array: np.ndarray[Any, Any]) -> bool:
    """Whether no two entries overlap and nothing lies between them."""
    expected = array.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape, strict=True)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def behind_proxy(proxy: Any) -> Any:
    """Return the object behind a weak proxy, or None where it is gone."""
    try:
        return proxy.__init__.__self__
    except (ReferenceError, AttributeError):
        return None


def is_made(thing: Any) -> bool:
    """Whether a class or module was made at run time: it is not what is found under its name."""
    if isinstance(thing, types.ModuleType):
        return sys.modules.get(thing.__name__) is not thing
    return isinstance(thing, type) and thing.__module__ != "builtins" and not _is_found(thing)


def of_made(thing: Any) -> Parts:
    """Return the attributes of a class or module that was made at run time, except Python's own bookkeeping."""
    parts: Parts = [("bases", thing.__bases__)] if isinstance(thing, type) else []
    return parts + [(name, one) for name, one in vars(thing).items() if not name.startswith(_BOOKKEEPING)]


@functools.lru_cache(maxsize=4096)
def _is_found(kind: type) -> bool:
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        if name == "<locals>":
            return False
        found = getattr(found, name, None)
    return found is kind


@functools.lru_cache(maxsize=4096)
def tells_itself(kind: Any) -> bool:
    """Whether objects of a class may hold more than their attributes show."""
    return any(name in vars(one) for one in kind.__mro__ if one is not object for name in _TELLING)


def told(thing: Any, *, is_known: bool) -> Parts:
    """Return what an object says of itself, otherwise the memory that it shows, otherwise all that it refers to.

    Args:
        thing: of a class that is not written in Python, or that has its own way to be stored.
        is_known: whether it has attributes, and what it refers to need not be looked for.

    """
    try:
        reduced = thing.__reduce_ex__(4)
    except Exception:  # what refuses to be stored may still be looked at
        reduced = None
    if isinstance(reduced, tuple):
        return [("reduced", reduced)]
    if isinstance(reduced, str):
        # It is stored by its name alone, and may hold anything: a function with a cache does.
        is_known = False
    try:
        return [("memory", memoryview(thing))]
    except TypeError:
        pass
    return [] if is_known else [("referents", [one for one in gc.get_referents(thing) if not isinstance(one, type)])]


def _of_function(thing: types.FunctionType) -> tuple[str, Parts]:
    parts: Parts = [(f"cell {number}", _content(cell)) for number, cell in enumerate(thing.__closure__ or ())]
    parts += [("defaults", thing.__defaults__), ("named defaults", thing.__kwdefaults__), ("doc", thing.__doc__)]
    parts += [("code", thing.__code__)]
    return f"function {thing.__module__}.{thing.__qualname__}", parts


def _of_code(code: types.CodeType) -> tuple[str, Parts]:
    content = hashlib.sha256(code.co_code).hexdigest()
    names = [("names", (*code.co_names, *code.co_varnames, *code.co_freevars))]
    return f"code {code.co_name} {content}", [("constants", code.co_consts), *names]


def _of_memory(view: memoryview) -> tuple[str, Parts]:
    try:
        text = f"memory {view.format} {view.shape} {view.strides} {view.readonly} {view.tobytes().hex()}"
    except ValueError:
        return "memory that was given back", []
    return text, [("object", view.obj)]


def _of_exception(failure: BaseException) -> tuple[str, Parts]:
    causes = [("cause", failure.__cause__), ("context", failure.__context__), ("traceback", failure.__traceback__)]
    return f"exception {type(failure).__module__}.{type(failure).__qualname__}", [("args", failure.args), *causes]


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
