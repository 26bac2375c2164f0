"""The words of a verb as JSON and back: how a request that is made elsewhere reaches a session.

A closed format: plain values, exact figures as texts, losses, mechanisms and queries as ``core.spec`` writes them, and
estimators by name. No code, no paths, no frames. What has no place in it is refused, not guessed.

===========================  ====================================================================================
text, true, false, NULL      as in JSON
an integer                   a JSON number, of at most 64 bits
an exact number              ``{"number": "1/3"}``
a float                      ``{"real": "0.1"}``, in the fewest digits that mean it; read as a JSON number, too
a date, a timestamp          ``{"date": "2024-01-31"}``, ``{"timestamp": "2024-01-31T12:00:00"}``
a list or tuple              a list
a mapping                    ``{"map": [[key, value], ...]}``
a loss                       ``{"loss": {...}}``
a query, a workload, ...     ``{"spec": {...}}``, as ``mechanisms.core.spec`` writes a parameter
an estimator                 ``{"estimator": "LogisticRegression", "parameters": {...}}``
===========================  ====================================================================================

Whoever asks from elsewhere knows a data set without the places of its rows (``public_view``). A record that is about
that view is read as one about the data set itself; about any other it is refused.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
import re
import sys
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dither.data.schema import FRAMES, DataSet, Table
from dither.errors import InvalidParameter, NotSerialisable
from dither.exact import exact
from dither.privacy import Loss

DEEPEST: Final = 64
_LARGEST: Final = 2**63
_NUMBER: Final = re.compile(r"-?[0-9]{1,400}(/[0-9]{1,400}|\.[0-9]{1,400})?(e-?[0-9]{1,3})?")
_REAL: Final = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?(e[+-]?[0-9]{1,3})?")
#: What an estimator is told by the ledger, and by nobody else.
_NOT_TOLD: Final = ("budget",)


def public_view(dataset: DataSet) -> DataSet:
    """Return what everybody who may ask knows of a data set: all that is declared but where its rows are.

    >>> from dither.data.examples import clinic
    >>> from dither.privacy import ROW
    >>> {table.source for table in public_view(clinic(ROW)).tables}
    {'frames'}
    """
    tables = tuple(dataclasses.replace(table, source=FRAMES) for table in dataset.tables)
    return dataclasses.replace(dataset, tables=tables, engine="duckdb")


def public_record(record: Any, dataset: DataSet) -> Any:
    """Return a record about a data set as one about what is public of it: without the places of its rows.

    Args:
        record: a query, a partition, or any other record of the closed encoding.
        dataset: as it is declared, places included.

    """
    view = public_view(dataset)
    return _about([(dataset, view), *zip(dataset.tables, view.tables, strict=True)], record, "record")


def write_words(words: Mapping[str, Any], dataset: DataSet) -> dict[str, Any]:
    """Return the words of a verb as plain JSON data, or raise NotSerialisable.

    Args:
        words: by name.
        dataset: what the builder of queries is about.

    >>> from dither.data.examples import clinic
    >>> from dither.privacy import ROW
    >>> write_words({"table": "visits", "epsilon": 0.1}, clinic(ROW))
    {'table': 'visits', 'epsilon': {'real': '0.1'}}

    """
    return {name: _write(value, dataset, DEEPEST) for name, value in words.items()}


def read_words(written: Any, dataset: DataSet) -> dict[str, Any]:
    """Return the words that ``write_words`` wrote; raise InvalidParameter, which names the place, otherwise.

    Args:
        written: plain JSON data.
        dataset: as it is declared, places included.

    """
    if not isinstance(written, dict):
        raise InvalidParameter("words", type(written).__name__, "an object: the arguments of the verb, by name")
    reader = _Reader(dataset)
    try:
        return {name: reader.read(value, f"words.{name}", DEEPEST) for name, value in written.items()}
    except RecursionError:
        raise InvalidParameter("words", "a deeper tree", f"nested at most {DEEPEST} levels deep") from None


def _write(value: Any, dataset: DataSet, depth: int) -> Any:
    if depth == 0:
        raise NotSerialisable(f"a request is nested at most {DEEPEST} levels deep")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -_LARGEST <= value < _LARGEST else {"number": str(value)}
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotSerialisable(f"{value} has no place in a request")
        return {"real": repr(value)}
    if isinstance(value, Decimal | Fraction):
        return {"number": str(exact("number", value))}
    if isinstance(value, datetime.datetime):
        return {"timestamp": value.isoformat()}
    if isinstance(value, datetime.date):
        return {"date": value.isoformat()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple | range):
        return [_write(one, dataset, depth - 1) for one in value]
    if isinstance(value, Mapping):
        pairs = [[_write(name, dataset, depth - 1), _write(one, dataset, depth - 1)] for name, one in value.items()]
        return {"map": pairs}
    if isinstance(value, Loss):
        return {"loss": value.to_dict()}
    return _write_record(value, dataset, depth)


def _write_record(value: Any, dataset: DataSet, depth: int) -> Any:
    from dither.mechanisms.core.spec import write_parameter
    from dither.publish.queries.builder import Groups
    from dither.publish.queries.parts import Partition, PartitionedGroups

    # Whoever has an estimator has loaded its module, which needs more than the core does.
    learning, recommending = map(sys.modules.get, ("dither.learn.base", "dither.learn.recommend.recommender"))
    is_recommender = recommending is not None and isinstance(value, recommending.Recommender)
    if is_recommender or (learning is not None and isinstance(value, learning.PrivateEstimator)):
        given = value.get_params(deep=False)
        told = {name: _write(one, dataset, depth - 1) for name, one in given.items() if name not in _NOT_TOLD}
        return {"estimator": type(value).__name__, "parameters": told}
    if isinstance(value, Groups | PartitionedGroups):
        value = value.build(dataset)
    if isinstance(value, Partition):
        value = value.open(dataset)
    return {"spec": write_parameter(value)}


class _Reader:
    """Reads words about one data set."""

    def __init__(self, dataset: DataSet) -> None:
        view = public_view(dataset)
        #: What is declared with the places of its rows, by what is public of it.
        self._declared = [(view, dataset), *zip(view.tables, dataset.tables, strict=True)]

    def read(self, value: Any, place: str, depth: int) -> Any:
        if depth == 0:
            raise InvalidParameter(place[:80], "a deeper tree", f"nested at most {DEEPEST} levels deep")
        if value is None or isinstance(value, bool | str):
            return value
        if type(value) is int and -_LARGEST <= value < _LARGEST:
            return value
        if type(value) is float and math.isfinite(value):
            return value
        if isinstance(value, list):
            return [self.read(one, f"{place}[{index}]", depth - 1) for index, one in enumerate(value)]
        if not isinstance(value, dict):
            raise InvalidParameter(place, value, 'a plain value; longer and exact numbers are {"number": "1/3"}')
        if set(value) == {"estimator", "parameters"}:
            return self._estimator(value, place, depth)
        if len(value) == 1:
            [(tag, written)] = value.items()
            read = getattr(self, f"_{tag}", None) if tag in _TAGS else None
            if read is not None:
                return read(written, place, depth)
        raise InvalidParameter(place, sorted(map(str, value))[:4], f"one of {', '.join(_TAGS)}, or an estimator")

    def _number(self, written: Any, place: str, _: int) -> Fraction:
        if not (isinstance(written, str) and _NUMBER.fullmatch(written)):
            raise InvalidParameter(place, written, 'a string such as "0.1" or "1/3"')
        return exact(place, written)

    def _real(self, written: Any, place: str, _: int) -> float:
        if isinstance(written, str) and _REAL.fullmatch(written):
            found = float(written)
            if math.isfinite(found):
                return found
        raise InvalidParameter(place, written, 'a string such as "0.1" or "1e-05"')

    def _date(self, written: Any, place: str, _: int) -> Any:
        return _moment(datetime.date, written, place)

    def _timestamp(self, written: Any, place: str, _: int) -> Any:
        return _moment(datetime.datetime, written, place)

    def _map(self, written: Any, place: str, depth: int) -> dict[Any, Any]:
        pairs = written if isinstance(written, list) else [None]
        found: dict[Any, Any] = {}
        for index, pair in enumerate(pairs):
            if not (isinstance(pair, list) and len(pair) == 2 and not isinstance(pair[0], list | dict)):
                raise InvalidParameter(f"{place}[{index}]", type(pair).__name__, "a pair of a plain key and a value")
            key = self.read(pair[0], f"{place}[{index}]", depth - 1)
            if key in found:
                raise InvalidParameter(f"{place}[{index}]", key, "a key that no other pair has")
            found[key] = self.read(pair[1], f"{place}[{index}]", depth - 1)
        return found

    def _loss(self, written: Any, place: str, _: int) -> Loss:
        if not isinstance(written, dict):
            raise InvalidParameter(place, type(written).__name__, "a loss as an object")
        return Loss.from_dict(written)

    def _spec(self, written: Any, place: str, _: int) -> Any:
        import dither.publish.microdata.taxonomy
        import dither.publish.queries.adaptive_parts
        import dither.publish.queries.reports.mechanism
        import dither.publish.workloads  # noqa: F401 - each says how its records are written
        from dither.mechanisms.core.spec import read_parameter

        return _about(self._declared, read_parameter(written), place)

    def _estimator(self, value: dict[str, Any], place: str, depth: int) -> Any:
        from dither import learn
        from dither.learn.base import PrivateEstimator

        name, parameters = value["estimator"], value["parameters"]
        is_known = isinstance(name, str) and (name in learn.ESTIMATORS or name in learn.RECOMMENDERS)
        kind = getattr(learn, name) if is_known else None
        if kind is None or not (name in learn.RECOMMENDERS or issubclass(kind, PrivateEstimator)):
            raise InvalidParameter(f"{place}.estimator", name, "an estimator of dither.learn")
        known = {one for one in kind().get_params(deep=False) if one not in _NOT_TOLD}
        if not isinstance(parameters, dict) or not known.issuperset(parameters):
            raise InvalidParameter(f"{place}.parameters", name, f"an object of {', '.join(sorted(known))}")
        return kind(**{one: self.read(said, f"{place}.{one}", depth - 1) for one, said in parameters.items()})


def _about(known: list[tuple[Any, Any]], record: Any, place: str) -> Any:
    """Return a record with what is known put in the place of what it is known as; about nothing else."""
    if isinstance(record, DataSet | Table):
        for before, after in known:
            if record == before:
                return after
        raise InvalidParameter(place, record.name, "about the data set as it is declared now")
    if isinstance(record, tuple):
        return tuple([_about(known, part, place) for part in record])
    if not dataclasses.is_dataclass(record) or isinstance(record, type):
        return record
    changed = {}
    for field in dataclasses.fields(record):
        part = getattr(record, field.name)
        about = _about(known, part, place)
        if about is not part and (about != part or isinstance(part, DataSet | Table)):
            changed[field.name] = about
    return dataclasses.replace(record, **changed) if changed else record


_TAGS: Final = ("number", "real", "date", "timestamp", "map", "loss", "spec")


def _moment(kind: Any, written: Any, place: str) -> Any:
    try:
        found = kind.fromisoformat(written)
    except (TypeError, ValueError):
        raise InvalidParameter(place, written, "a day or a moment as ISO 8601 writes it") from None
    if isinstance(found, datetime.datetime) and found.tzinfo is not None:
        raise InvalidParameter(place, written, "without a time zone")
    return found
