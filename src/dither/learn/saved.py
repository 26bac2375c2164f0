"""Saved estimators: versioned JSON of their declarations, their release, and its cost.

A closed format: names are looked up in one table, numbers and texts are read as such, and nothing in a file is run.
"""

from __future__ import annotations

import json
from collections.abc import KeysView, Mapping, ValuesView
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Self

import numpy as np

from dither.errors import InvalidParameter
from dither.privacy import Loss, Unit, word_of

#: Version 2 has scikit-learn's words for parameters, and a loss as a record.
VERSION: Final = 2
_PARTS: Final = {"estimator", "version", "parameters", "columns", "names", "model", "privacy"}


@dataclass(frozen=True)
class Privacy:
    """The guarantee of a fitted estimator.

    Args:
        loss: the loss of the release for one unit.
        stated: the requested loss, which the loss is within.
        unit: whom it protects, in words.
        numerics: the kind of guarantee: exact, bounded or idealised.
        mechanism: the name of the mechanism that released it.
        request_digest: the SHA-256 of the public request.
        receipt: where the charge is written down.

    """

    loss: Loss
    stated: Loss
    unit: str
    numerics: str
    mechanism: str
    request_digest: str
    receipt: str = "unledgered"

    def __str__(self) -> str:
        return f"{self.stated} for {self.unit} ({self.numerics}, {self.mechanism}, {self.receipt})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        return {**vars(self), "loss": self.loss.to_dict(), "stated": self.stated.to_dict()}

    @classmethod
    def from_dict(cls, record: Any) -> Privacy:
        """Return the record that ``to_dict`` wrote."""
        names = {"loss", "stated", "unit", "numerics", "mechanism", "request_digest", "receipt"}
        if not (isinstance(record, Mapping) and set(record) == names):
            raise InvalidParameter("privacy", "another record", f"a record with exactly {sorted(names)}")
        texts = {name: record[name] for name in names - {"loss", "stated"}}
        if not all(isinstance(text, str) for text in texts.values()):
            raise InvalidParameter("privacy", "a record of other parts", "texts")
        return cls(Loss.from_dict(record["loss"]), Loss.from_dict(record["stated"]), **texts)


class Savable:
    """An estimator that can be written to a file and read back once it is fitted."""

    n_features_in_: int

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the fitted estimator that a text describes, or refuse the text."""
        raise NotImplementedError

    def _released(self) -> dict[str, Any]:
        """Return the model and the privacy as plain data, or refuse an estimator that is not fitted."""
        raise NotImplementedError

    def save(self, path: Path | str) -> Path:
        """Write the fitted estimator to a JSON file that ``load`` reads, and return its path."""
        target = Path(path)
        target.write_text(self.to_json(), encoding="utf-8")
        return target

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Return the fitted estimator that ``save`` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def _saved_parameters(self) -> dict[str, Any]:
        """Return the public parameters that are written."""
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        return {name: value for name, value in parameters.items() if name != "budget"}

    def to_json(self) -> str:
        """Return the fitted estimator as JSON."""
        released = self._released()
        names = getattr(self, "feature_names_in_", None)
        return write(
            type(self).__name__,
            {
                "parameters": {name: plain(value) for name, value in self._saved_parameters().items()},
                "columns": int(self.n_features_in_),
                "names": None if names is None else [str(name) for name in names],
                **released,
            },
        )


def plain(value: Any) -> Any:
    """Return a public parameter as plain JSON data."""
    if isinstance(value, Loss):
        return value.to_dict()
    if isinstance(value, Unit):
        return word_of(value)
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, set | frozenset):
        return [plain(entry) for entry in sorted(value, key=repr)]  # of labels, whose order says nothing
    if isinstance(value, tuple | list | range | KeysView | ValuesView):
        return [plain(entry) for entry in value]
    if hasattr(value, "to_numpy"):
        return plain(value.to_numpy())
    if isinstance(value, Fraction | Decimal):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InvalidParameter(
        "parameters", type(value).__name__, "numbers, strings or lists of them: no other value can be saved"
    )


def parameters_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the public parameters of a saved estimator."""
    parameters = dict(record["parameters"])
    if parameters.get("loss") is not None:
        parameters["loss"] = Loss.from_dict(parameters["loss"])
    return parameters


def write(estimator: str, record: Mapping[str, Any]) -> str:
    """Return an estimator as a text."""
    return json.dumps({"estimator": estimator, "version": VERSION, **record}, separators=(",", ":"))


def read(text: str) -> dict[str, Any]:
    """Return the parts of a saved estimator, or refuse the text."""
    try:
        record = json.loads(text)
    except ValueError:
        raise InvalidParameter("text", "no JSON", "an estimator as save writes it") from None
    if not (isinstance(record, dict) and set(record) == _PARTS):
        raise InvalidParameter("text", "another record", f"an estimator of version {VERSION}")
    if record["version"] != VERSION:
        written = f"version {record['version']}"
        raise InvalidParameter(
            "text", written, f"an estimator of version {VERSION}: fit the model again with this release of dither"
        )
    return record


def kind_of(text: str) -> str:
    """Return the class name of the estimator that a text describes."""
    from dither.learn import ESTIMATORS, RECOMMENDERS

    name = read(text)["estimator"]
    if name not in ESTIMATORS and name not in RECOMMENDERS:
        raise InvalidParameter("estimator", name, f"one of {', '.join((*ESTIMATORS, *RECOMMENDERS))}")
    return str(name)
