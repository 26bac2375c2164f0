"""Two words for plain data: ``to_json`` is a text, ``to_dict`` a dictionary that JSON takes; there is no third word."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import json
import re
import typing
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dither
from dither.mechanisms import Geometric, release
from dither.mechanisms.core.release import Budget
from dither.privacy import ROW, ZCDP, ApproxDP, GaussianDP, Loss, PureDP, Unit

SOURCE = Path(dither.__file__).parent
TESTS = Path(__file__).parent
#: How each word is declared: what it returns, or what it is given first. ``mypy --strict`` holds the bodies to it.
DECLARED = {"to_json": ("str",), "to_dict": (), "from_json": ("str",), "from_dict": ("Any", "Mapping[str, Any]")}
#: Other words for the same.
REFUSED = frozenset(
    f"{way}_{what}"
    for way in ("to", "from", "as")
    for what in ("record", "bytes", "text", "plain", "mapping", "jsonable", "json_dict")
) | {"as_dict", "as_json", "dumps", "serialise", "serialize"}
#: Classes whose words go through JSON in tests of their own.
ELSEWHERE = {
    "dither.service.settings:Settings": "service/test_door.py",
    "Stream": "curator/streams/test_stream.py",
    "Talk": "cli/test_ask.py",
    "PartsInTurn": "curator/test_partition_account.py",
    "RemoteParts": "curator/test_partition_account.py",
    "AnonymizedTable": "publish/microdata/test_tables_in_engines.py",
    "Agreement": "disguise/test_parties.py",
    "Anatomised": "disguise/test_buckets.py",
    "LabelledBaskets": "disguise/test_baskets.py",
    "WeightedRisk": "disguise/test_uniques.py",
    "Recommender": "learn/recommend/test_recommender.py",
    "Card": "curator/test_html.py",
    "Disguised": "disguise/test_tables.py",
    "Distorted": "disguise/test_matrices.py",
    "Edition": "curator/test_editions.py",
    "FamilyModel": "publish/synthetic/test_parent_child.py",
    "FoundModel": "publish/synthetic/test_found_bins.py",
    "FamilyTable": "publish/synthetic/test_counted_families.py",
    "Model": "learn/test_bayes.py",
    "dither.bench.comparison:Outcome": "bench/test_comparison.py",
    "PerturbedTable": "disguise/test_perturbation.py",
    "PrivateEstimator": "learn/test_estimators.py",
    "PrivateSearch": "learn/selection/test_private_search.py",
    "PublicTransformer": "learn/preparing/test_preparing.py",
    "QueryModel": "publish/interactive/test_published_model.py",
    "Reweighted": "disguise/test_networks.py",
    "QueryResult": "publish/queries/test_answer_results.py",
    "Special": "disguise/test_uniques.py",
    "SentVector": "publish/retrieval/test_retrieval.py",
    "Savable": "learn/test_estimators.py",
    "SuppressedTotals": "disguise/test_totals.py",
    "SyntheticFamilies": "publish/synthetic/test_counted_families.py",
    "SyntheticTable": "publish/synthetic/test_synthesizer.py",
    "RemoteHandle": "service/test_long_lived_server.py",
    "_Wrapped": "publish/workloads/test_matrices.py",
    "Sliced": "disguise/test_buckets.py",
    "Strategy": "publish/workloads/test_strategies.py",
    "Workload": "publish/workloads/test_matrices.py",
}


def classes_in(text: str) -> list[ast.ClassDef]:
    """The classes of a module that has one of the words in it."""
    if not re.search(rf"def ({'|'.join({*DECLARED, *REFUSED})})\b", text):
        return []
    return [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.ClassDef)]


def complaints(text: str, where: str) -> Iterator[str]:
    """What is wrong with the words of the classes of a module."""
    for kind in classes_in(text):
        for method in kind.body:
            if not isinstance(method, ast.FunctionDef):
                continue
            if method.name in REFUSED:
                yield f"{where}: {kind.name}.{method.name} is another word for to_json or to_dict"
            if method.name not in DECLARED:
                continue
            given = [one for one in method.args.args if one.arg not in ("self", "cls")]
            declared = method.returns if method.name.startswith("to_") else given[0].annotation if given else None
            said = "" if declared is None else ast.unparse(declared)
            if not (said in DECLARED[method.name] or (said.startswith("dict[") and method.name == "to_dict")):
                yield f"{where}: {kind.name}.{method.name} is declared with {said or 'nothing'}"
            if method.name.startswith("to_") and given:
                yield f"{where}: {kind.name}.{method.name} takes {given[0].arg}"


def speakers() -> dict[str, tuple[str, set[str]]]:
    """Classes that define one of the words, by name: their module and the words."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        module = ".".join(("dither", *path.relative_to(SOURCE).with_suffix("").parts))
        for kind in classes_in(path.read_text(encoding="utf-8")):
            words = {one.name for one in kind.body if isinstance(one, ast.FunctionDef)} & set(DECLARED)
            if words:
                found[f"{module}:{kind.name}"] = (module, words)
    return found


def test_every_class_declares_the_words_as_they_are() -> None:
    found = [one for path in SOURCE.rglob("*.py") for one in complaints(path.read_text(encoding="utf-8"), path.name)]
    assert found == []


def test_a_class_with_other_words_is_found() -> None:
    for body in (
        "def to_json(self) -> dict[str, str]: ...",
        "def to_json(self) -> bytes: ...",
        "def to_dict(self) -> str: ...",
        "def to_dict(self): ...",
        "def to_dict(self, deep: bool) -> dict[str, str]: ...",
        "def from_json(text: bytes) -> int: ...",
        "def from_json(text: str | bytes) -> int: ...",
        "def to_record(self) -> dict[str, str]: ...",
    ):
        assert list(complaints(f"class Planted:\n    {body}", "here"))


def sample_of(hint: Any) -> Any:
    """A value of a declared type."""
    plain: dict[Any, Any] = {str: "a", int: 1, float: 0.5, bool: True, bytes: b"a"}
    plain |= {Loss: PureDP(1), Fraction: Fraction(1, 2), Unit: ROW}
    if hint in plain:
        return plain[hint]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return made(hint)
    parts = typing.get_args(hint)
    if type(None) in parts:
        return sample_of(next(one for one in parts if one is not type(None)))
    if typing.get_origin(hint) is tuple:
        return tuple(sample_of(one) for one in parts if one is not Ellipsis)
    if parts and issubclass(typing.get_origin(hint), typing.Mapping):
        return {"a": 1}
    raise TypeError(hint)


def made(kind: type) -> Any:
    """A record of a class whose fields are plain."""
    hints = typing.get_type_hints(kind)
    return kind(**{one.name: sample_of(hints[one.name]) for one in dataclasses.fields(kind) if one.init})


def special() -> dict[str, list[Any]]:
    """Records of classes that cannot be made of their fields' types alone."""
    from dither.audit.specimens import SPECIMENS
    from dither.audit.specimens.refutation import Refutation
    from dither.curator.ledger.amounts import Amount
    from dither.publish.choose import choose
    from dither.publish.synthetic.quality import Quality

    losses: list[Any] = [PureDP(1), ZCDP("1/8"), GaussianDP("1/3"), ApproxDP(1, "1e-6", rho="1/8")]
    released = release(Geometric(scale=1), 3, budget=Budget(epsilon=1, unit=ROW), stability=1)
    return {
        "Loss": losses,
        "PureDP": losses,
        "ZCDP": losses,
        "GaussianDP": losses,
        "ApproxDP": losses,
        "Amount": [Amount.of(loss) for loss in losses],
        "Choice": [choose("cells", 4, epsilon=1)],
        "Release": [released],
        "Quality": [Quality((), False, None)],  # type: ignore[arg-type]
        "Refutation": [Refutation(next(iter(SPECIMENS.values())), True, float("inf"), 0.5, "all", 1, 0.0)],
    }


def test_dictionaries_are_what_json_takes_and_texts_are_texts() -> None:
    pytest.importorskip("sklearn")
    known = special()
    for place, (module, words) in sorted(speakers().items()):
        name = place.partition(":")[2]
        if tested := ELSEWHERE.get(place, ELSEWHERE.get(name)):
            text = (TESTS / tested).read_text(encoding="utf-8")
            assert any(word in text for word in ("json", "save", "load")), name
            continue
        kind = getattr(importlib.import_module(module), name)
        for record in known[name] if name in known else [made(kind)]:
            if "to_dict" in words:
                found = record.to_dict()
                assert type(found) is dict, place
                again = json.loads(json.dumps(found))
                if "from_dict" in words:
                    assert kind.from_dict(again) == record, place
            if "to_json" in words:
                text = record.to_json()
                assert type(text) is str, place
                json.loads(text)
                if "from_json" in words:
                    assert kind.from_json(text) == record, place
