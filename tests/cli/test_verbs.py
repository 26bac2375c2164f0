"""Commands that are made of declared verbs: options of one verb alone, and a new verb is typed as it is declared."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Unpack

import pytest
from typer.testing import CliRunner

from dither.cli.app import app
from dither.cli.lazy import Choice, _loaded
from dither.cli.verbs import DERIVED, command
from dither.errors import InvalidParameter
from dither.lift.forms import Reading
from dither.lift.offer import Offer
from dither.lift.verb import REGISTRY, Arg, Measured, Typed, verb
from dither.publish.queries import QueryResult
from dither.verbs.graphs import Graph, GraphTable
from tools import commands

CHOICES = ("graph", "places")


def helped(*words: str) -> str:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*words, "--help"])
    assert done.exit_code == 0, done.output
    return done.output


def choice(name: str) -> Choice:
    found = command(name)
    assert isinstance(found, Choice)
    return found


def test_summaries_are_those_that_the_tool_writes() -> None:
    assert commands.TARGET.read_text(encoding="utf-8") == commands.written()


@pytest.mark.parametrize("name", CHOICES)
def test_a_list_has_every_word_with_what_it_does(name: str) -> None:
    words = [verb.attribute.replace("_", "-") for verb in REGISTRY.values() if verb.part == name]
    assert set(words) <= set(choice(name).commands)
    for asked in ((name,), (name, "friends")):
        shown = " ".join(helped(*asked).split())
        for word, function in choice(name).commands.items():
            assert f" {word} {function.__doc__}" in shown
        assert "--epsilon" not in shown.partition("Examples:")[0]


def test_help_of_a_word_has_its_own_options_and_examples() -> None:
    stars = helped("graph", "friends", "stars")
    assert re.search(r"DATASET\b}? stars", stars)  # braces, where the library draws them
    assert "Required: the neighbours of a star" in stars
    assert "--worth" not in stars
    assert "dither graph friends stars --k 3" in stars
    assert "clustering" not in stars
    assert stars == CliRunner(env={"COLUMNS": "200"}).invoke(app, ["graph", "-h", "friends", "stars"]).output
    assert "--algorithm" not in helped("places", "town", "stops")
    assert "--levels" not in helped("places", "town", "stops")


@pytest.mark.parametrize("name", CHOICES)
def test_options_of_one_name_are_typed_alike(name: str) -> None:
    """They are parsed before the word is known that says whose they are."""
    found = _loaded(name, f"verbs:{name}")
    for one in found.params:
        for word in found.commands:
            for other in (other for other in found.chosen(word).params if other.name == one.name):
                assert one.opts == other.opts
                assert getattr(one, "is_flag", None) == getattr(other, "is_flag", None)
                assert (one.nargs, getattr(one, "multiple", None)) == (other.nargs, getattr(other, "multiple", None))


def test_options_stand_anywhere_and_siblings_are_refused_by_name() -> None:
    for line in ("graph --k 2 ring edges", "graph ring --k=2 edges --epsilon 1", "graph ring edges --epsilon 1 --k 2"):
        refused = CliRunner().invoke(app, line.split()).exception
        assert "k is not allowed for edges: an option of stars, k-triangles, cliques" in str(refused)
    assert "Missing argument 'WHAT'" in CliRunner().invoke(app, ["graph", "ring", "--k", "2"]).output
    assert "No such option" in CliRunner().invoke(app, ["graph", "ring", "edges", "--kk", "2"]).output


def test_a_shell_completes_words_and_their_options() -> None:
    def completed(*words: str) -> list[str]:
        env = {
            "_DITHER_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        return CliRunner().invoke(app, [], env=env, prog_name="dither").output.split()

    assert completed("dither", "graph", "friends", "k-t") == ["k-triangles"]
    assert completed("dither", "graph", "friends", "stars", "--k") == ["--k", "--key"]
    assert completed("dither", "graph", "friends", "edges", "--k") == ["--key"]


@pytest.fixture
def toy() -> Iterator[str]:
    """A verb that is declared, and nothing else."""

    class Toys(Graph[Any]):
        """A group of one verb."""

        @verb
        @staticmethod
        def ring_size(
            graph: GraphTable,
            most: Annotated[int, Arg("the longest ring: 3 or more")],
            *,
            where: Annotated[str, Arg("on which side", choices=("left", "right"))] = "left",
            **terms: Unpack[Measured],
        ) -> Offer[QueryResult]:
            """Release the length of the longest ring."""
            raise InvalidParameter("most", most, f"less, on the {where}, at {terms.get('epsilon')}")

    yield "graph.ring_size"
    del REGISTRY["graph.ring_size"]


SCHEMA = """
dataset: ring
unit: edge
tables:
  ring:
    source: ring.csv
    graph: {ends: [one, other]}
    columns: {one: {kind: integer, bounds: [0, 9]}, other: {kind: integer, bounds: [0, 9]}}
"""


def test_a_verb_that_is_declared_can_be_typed(toy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert toy in REGISTRY
    monkeypatch.chdir(tmp_path)
    _loaded.cache_clear()
    try:
        Path("ring.csv").write_text("one,other\n1,2\n")
        Path("ring.yaml").write_text(SCHEMA)
        for words in (["init", "home"], ["--home", "home", "add", "ring.yaml", "--budget", "1"]):
            assert CliRunner().invoke(app, words).exit_code == 0
        shown = helped("graph", "ring", "ring-size")
        assert "Release the length of the longest ring." in shown
        assert "Required: the longest ring: 3 or more." in shown
        assert "left|right" in shown
        assert "[default: left]" in shown
        typed = ["--home", "home", "graph", "ring", "ring-size", "--epsilon", "1/2"]
        refused = CliRunner().invoke(app, [*typed, "--most", "7", "--where", "right"]).exception
        assert str(refused) == "most must be less, on the right, at 1/2, got 7"
        assert "required for ring-size" in str(CliRunner().invoke(app, typed).exception)
    finally:
        _loaded.cache_clear()


def test_arguments_are_read_when_others_ask_for_them() -> None:
    """Each once, and one that is being read is not known yet."""
    seen: list[str] = []

    def reading(name: str, other: str) -> Any:
        def read(typed: Typed) -> str:
            seen.append(name)
            return f"{name} beside {typed.arguments.get(other)}"

        return read

    dataset: Any = None
    found = Reading(dataset, {"a": reading("a", "b"), "b": reading("b", "a"), "c": lambda _: None})
    assert dict(found) == {"a": "a beside b beside None", "b": "b beside None"}
    assert seen == ["a", "b"]
    assert "c" not in found
    assert len(found) == 2


def test_every_release_has_the_same_options_behind_its_own() -> None:
    for name in DERIVED:
        found = command(name)
        for function in found.commands.values() if isinstance(found, Choice) else [found]:
            known = list(inspect.signature(function).parameters)
            assert (
                known[-9:]
                == [
                    one
                    for one in (
                        "epsilon",
                        "delta",
                        "rho",
                        "analyst",
                        "key",
                        "force",
                        "is_quoted",
                        "server",
                        "home",
                        "json",
                    )
                    if one in known
                ][-9:]
            )
            assert known[0] == "dataset"
