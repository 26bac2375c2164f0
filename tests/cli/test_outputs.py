"""Every way of getting an output wrong costs nothing, or loses nothing: the answer is kept, and its key is named."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dither.cli import ask, console, main, outputs
from dither.cli.app import app
from dither.cli.outputs import Output
from dither.curator.folder import Curator
from dither.errors import DitherError, InvalidParameter, MissingExtra, NotDelivered
from dither.mechanisms.core.spec import to_spec

from .test_publish import SCHEMA, record, run

pytest.importorskip("pyarrow")

QUERY = "SELECT city, COUNT(*) AS n FROM sales GROUP BY city"
VERBS: dict[str, tuple[str, ...]] = {
    "sql": ("sql", "shop", QUERY),
    "histogram": ("publish", "histogram", "shop", "sales", "city"),
    "workload": ("publish", "workload", "shop", "sales", "items", "--range", "0:4"),
    "synthesize": ("synthesize", "shop", "--columns", "city"),
    "anonymize": ("anonymize", "shop", "--columns", "city"),
    "fit": ("fit", "shop", "sales", "items", "--model", "LinearRegression", "--features", "price"),
}
ENDING = dict.fromkeys(VERBS, "csv") | {"fit": "json"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One curator's folder for all tests here, among files that are in the way."""
    folder = tmp_path_factory.mktemp("outputs")
    rows = "".join(f"{n},{('Basel', 'Bern')[n % 2]},{n % 40},{n % 10}\n" for n in range(60))
    (folder / "sales.csv").write_text("customer,city,price,items\n" + rows)
    (folder / "shop.yaml").write_text(SCHEMA)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DITHER_ANCHORS", str(folder / "anchors"))
        patch.setenv("DITHER_HOME", str(folder / "home"))
        patch.chdir(folder)
        run("init", "home")
        run("add", "shop.yaml", "--budget", "1000")
        for ending in ("csv", "json"):
            (folder / f"folder.{ending}").mkdir()
            (folder / f"into-nowhere.{ending}").symlink_to(folder / "nowhere" / f"a.{ending}")
            (folder / f"loop.{ending}").symlink_to(folder / f"loop.{ending}")
            (folder / f"same.{ending}").hardlink_to(folder / "sales.csv")
            (folder / f"named.{ending}").symlink_to(folder / "sales.csv")
            (folder / f"null.{ending}").symlink_to("/dev/null")
            os.mkfifo(folder / f"pipe.{ending}")
            (folder / f"there.{ending}").write_text("a year of work")
        (folder / "m-city.csv").mkdir()
        (folder / "plot.html").mkdir()
        for name in ("taken.html", "t-items.csv"):
            (folder / name).write_text("a year of work")
        yield folder


def releases() -> int:
    return int(record("ledger", "show", "shop")[0]["releases"])


WRONG = [
    "nowhere/a.{0}",
    "folder.{0}",
    "a.xlsx",
    "a",
    "",
    "sales.csv/a.{0}",
    "/proc/a.{0}",
    "x" * 300 + ".{0}",
    "into-nowhere.{0}",
    "loop.{0}",
    "same.{0}",
    "named.{0}",
    "null.{0}",
    "pipe.{0}",
    "home/data/a.{0}",
    "home/datasets/shop.{0}",
    "there.{0}",
]


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_files_that_cannot_be_written_cost_nothing(place: Path, wrong: str) -> None:
    before, source = releases(), (place / "sales.csv").read_bytes()
    files = sorted(path.name for path in place.iterdir())
    for verb, words in VERBS.items():
        with pytest.raises(InvalidParameter, match="out must be"):
            run(*words, "--epsilon", "1", "-o", wrong.format(ENDING[verb]))
    assert releases() == before
    assert (place / "sales.csv").read_bytes() == source
    assert sorted(path.name for path in place.iterdir()) == files


UNCHARGED = [
    "attack differencing -o sales.csv --force",
    "audit geometric --report home/data/a.json",
    "bench workloads -o home/data",
    "bench learn -o home/datasets",
    "demo --out home/data/a.html",
    "add --suggest sales.csv -o home/datasets/draft.yaml",
    "add sales.csv -o home/datasets/draft.yaml",
    "ledger export shop -o sales.csv --force",
    "card shop -o sales.csv --force",
]


@pytest.mark.parametrize("words", UNCHARGED)
def test_no_verb_writes_over_what_a_curator_keeps(place: Path, words: str) -> None:
    source = (place / "sales.csv").read_bytes()
    kept = sorted(str(path) for path in (place / "home").rglob("*"))
    with pytest.raises(InvalidParameter, match=r"(out|report|schema_file) must be another file than those that hold"):
        run(*words.split())
    assert (place / "sales.csv").read_bytes() == source
    assert sorted(str(path) for path in (place / "home").rglob("*")) == kept


BESIDE = [
    ("publish marginals shop sales city items -o m.csv", "out"),
    ("publish marginals shop sales city items,city -o m.csv", "out"),
    ("publish histogram shop sales city -o plot.csv --plot", "plot"),
    ("publish histogram shop sales city --plot", "plot"),
    ("synthesize shop -o a.csv --model nowhere/m.json", "model"),
    ("synthesize shop -o a.csv --model folder.json", "model"),
    ("synthesize shop -o a.json --model a.json", "model"),
    ("synthesize shop -o a.csv --report r.txt", "report"),
    ("synthesize shop -o a.csv --report folder.json", "report"),
    ("synthesize shop -o a.json --report ./a.json", "report"),
    ("synthesize shop -o a.csv --model r.json --report r.json", "report"),
    ("synthesize shop -o a.csv --model sales.csv", "model"),
    ("synthesize shop -o a.csv --compare-with-real", "report"),
    ("anonymize shop -o a.csv --model nowhere/m.json", "model"),
    ("anonymize shop -o a.json --model a.json", "model"),
    ("anonymize shop -o a.csv --report folder.json", "report"),
    ("anonymize shop --columns city", "out"),
    ("synthesize shop -o a.csv --model there.json", "model"),
    ("synthesize shop -o a.csv --report there.json", "report"),
    ("anonymize shop --columns city -o a.csv --report there.json", "report"),
    ("publish histogram shop sales city -o taken.csv --plot", "plot"),
    ("publish marginals shop sales price items -o t.csv --bins price=5", "out"),
]


@pytest.mark.parametrize(("words", "named"), BESIDE)
def test_files_beside_it_are_checked_too(place: Path, words: str, named: str) -> None:
    before = releases()
    with pytest.raises(InvalidParameter, match=named):
        run(*words.split(), "--epsilon", "1")
    assert releases() == before


@pytest.mark.parametrize(
    ("words", "module"),
    [
        (("sql", "shop", QUERY, "-o", "a.parquet"), "pyarrow"),
        (("publish", "histogram", "shop", "sales", "city", "-o", "a.parquet"), "pyarrow"),
        (("synthesize", "shop", "-o", "a.csv"), "pyarrow"),
        (("anonymize", "shop", "-o", "a.parquet"), "pyarrow"),
    ],
)
def test_what_a_file_needs_is_asked_before(
    place: Path, words: tuple[str, ...], module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, find = releases(), importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == module else find(name, *rest))
    with pytest.raises(MissingExtra):
        run(*words, "--epsilon", "1")
    assert releases() == before


def full(path: Path, write: Any) -> Path:
    raise OSError(28, "No space left on device", str(path))


@pytest.mark.parametrize("verb", VERBS)
def test_a_disk_that_is_full_loses_nothing(place: Path, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The complaint names the key, and the same command with it writes the answer at no cost."""
    out = f"later-{verb}.{ENDING[verb]}"
    words = (*VERBS[verb], "--epsilon", "1", "-o", out)
    before = releases()
    with monkeypatch.context() as patch:
        for module in ("ask", "deliveries"):
            patch.setattr(f"dither.cli.{module}.write_whole", full)
        with pytest.raises(
            NotDelivered, match=r"No space left on device .*; the same command with --key [0-9a-f]{32}"
        ) as lost:
            run(*words)
    assert releases() == before + 1
    assert not (place / out).exists()
    run(*words, "--key", lost.value.key)
    assert releases() == before + 1
    assert (place / out).stat().st_size > 10


@pytest.mark.parametrize("verb", [*VERBS, "kept"])
def test_a_pipe_that_closed_loses_nothing(place: Path, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ("anonymize", "shop", "--method", "kept-table", "--ask", "city=Bern")
    words = kept if verb == "kept" else VERBS[verb]
    files = [] if verb in ("kept", "sql") else ["-o", f"pipe-{verb}.{ENDING[verb]}"]

    def closed(*_: Any, **__: Any) -> None:
        raise BrokenPipeError(32, "Broken pipe")

    before = releases()
    with monkeypatch.context() as patch:
        patch.setattr(console.console, "print", closed)
        with pytest.raises(NotDelivered, match="Broken pipe") as lost:
            run(*words, "--epsilon", "1", *files)
    assert ("--force" in str(lost.value)) is bool(files)
    run(*words, "--epsilon", "1", *files, "--key", lost.value.key, *(["--force"] if files else []))
    assert releases() == before + 1


def test_more_rows_than_fit_into_memory_lose_nothing(place: Path) -> None:
    before, words = releases(), ("synthesize", "shop", "--columns", "city", "--epsilon", "1", "-o", "many.csv")
    with pytest.raises(NotDelivered) as lost:
        run(*words, "--rows", "1" + "0" * 17)
    run(*words, "--rows", "3", "--key", lost.value.key)
    assert releases() == before + 1


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_that_is_there_is_written_over_when_that_is_asked(place: Path, verb: str) -> None:
    out = place / f"again-{verb}.{ENDING[verb]}"
    words = (*VERBS[verb], "--epsilon", "1", "-o", str(out), "--key", f"again-{verb}")
    run(*words)
    out.write_text("a year of work")
    with pytest.raises(InvalidParameter, match="out must be a new file; --force"):
        run(*words)
    assert out.read_text() == "a year of work"
    run(*words, "--force")
    assert out.read_text() != "a year of work"


class Full(io.StringIO):
    """A screen that says when it is flushed that nothing arrived, as files do that buffer."""

    def flush(self) -> None:
        raise OSError(28, "No space left on device")


def test_a_process_that_cannot_show_its_answer_says_so_by_its_exit_code(place: Path) -> None:
    words = [sys.executable, "-m", "dither", *VERBS["sql"], "--epsilon", "1", "--json"]
    before = releases()
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 6, done.stderr
    key = json.loads(done.stderr)["error"]["key"]
    assert "Basel" in run(*words[3:], "--key", key)
    assert releases() == before + 1


@pytest.mark.parametrize("verb", [*VERBS, "kept", "marginals"])
def test_a_screen_that_takes_nothing_loses_nothing(
    place: Path, verb: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON to a full device, or to a screen that was closed before the charge."""
    more = {
        "kept": ("anonymize", "shop", "--method", "kept-table", "--ask", "city=Bern"),
        "marginals": ("publish", "marginals", "shop", "sales", "city"),
    }
    words = (VERBS | more)[verb]
    files = ("-o", f"full-{verb}.{ENDING[verb]}") if verb in ("synthesize", "anonymize", "fit") else ()
    words = ("dither", *words, "--epsilon", "1", *files, "--json")
    before = releases()
    for stdout, code in ((None, 2), (Full(), 6)):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", list(words))
            patch.setattr(sys, "stdout", stdout)
            with pytest.raises(SystemExit) as left:
                main()
        assert left.value.code == code
    said = capsys.readouterr().err
    lost = json.loads(said[said.index("\n}\n") + 3 :])["error"]
    assert "No space left on device" in lost["message"]
    assert releases() == before + 1
    assert run(*words[1:], "--key", lost["key"], *(["--force"] if files else []))
    assert releases() == before + 1


def test_a_described_release_loses_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Curator.open(place / "home") as curator, curator.session("shop") as session:
        described = to_spec(session.offer.histogram("sales", "city", epsilon=1).mechanism)
    (place / "method.json").write_text(json.dumps(described))
    words, before = ("release", "shop", "method.json"), releases()
    for wrong in [*(way.format("json") for way in WRONG), "a.csv"]:
        with pytest.raises(InvalidParameter, match="out must be"):
            run(*words, "-o", wrong)
    assert record(*words, "--quote", "-o", "there.json")["fits"] is True
    assert releases() == before
    with monkeypatch.context() as patch:
        patch.setattr("dither.cli.release.write_whole", full)
        with pytest.raises(NotDelivered) as lost:
            run(*words, "-o", "described.json")
    run(*words, "-o", "described.json", "--key", lost.value.key)
    assert releases() == before + 1
    assert (place / "described.json").stat().st_size > 10


def test_forty_ways_were_tried() -> None:
    """Of getting an output wrong: most of them on every verb that writes one."""
    assert len({*WRONG, *(words for words, _ in BESIDE)}) + len(VERBS) >= 40


def test_what_was_there_stays_until_the_new_file_is_whole(place: Path) -> None:
    target = place / "kept.txt"
    target.write_text("before")
    target.chmod(0o640)

    def half(draft: Path) -> None:
        draft.write_text("hal")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        outputs.write_whole(target, half)
    assert target.read_text() == "before"
    (place / "link.txt").symlink_to(target)
    outputs.write_whole(place / "link.txt", lambda draft: draft.write_text("after"))
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("after", 0o640)
    assert (place / "link.txt").is_symlink()
    assert not [path for path in place.iterdir() if path.name.startswith(".")]


def test_a_failure_after_the_charge_names_the_key_on_the_command_line(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An engine that fails notes how to go on, and the note is shown."""

    def die(*_: Any) -> None:
        raise ValueError("canary-4711")

    with monkeypatch.context() as patch:
        patch.setattr("dither.data.engines.duckdb.DuckDBEngine.aggregate", die)
        patch.setattr(sys, "argv", ["dither", "sql", "shop", QUERY, "--epsilon", "1"])
        with pytest.raises(SystemExit) as left:
            main()
    said = capsys.readouterr().err
    assert left.value.code == 5
    assert "canary" not in said
    key = said.split("key='")[1].split("'")[0]
    before = releases()
    assert "Basel" in run("sql", "shop", QUERY, "--epsilon", "1", "--key", key)
    assert releases() == before


def test_the_prompt_keeps_what_it_could_not_show(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unprintable(result: Any, *, as_json: bool) -> None:
        raise UnicodeEncodeError("ascii", "\u00fc", 0, 1, "ordinal not in range(128)")

    before = releases()
    with monkeypatch.context() as patch:
        patch.setattr(ask, "show", unprintable)
        done = CliRunner().invoke(app, ["sql", "shop", "--epsilon", "1", "--yes"], input=f"{QUERY};\n")
    assert done.exit_code == 6
    key = done.stderr.split("--key ")[1].split()[0]
    assert "Basel" in run("sql", "shop", QUERY, "--epsilon", "1", "--key", key)
    assert releases() == before + 1


@pytest.mark.parametrize(
    "words", ["card shop -o nowhere/c.yaml", "ledger export -o folder.json", "card shop -o /proc/c"]
)
def test_what_costs_nothing_is_refused_in_one_line_too(place: Path, words: str) -> None:
    with pytest.raises(DitherError, match="out must be"):
        run(*words.split())


def test_a_quote_is_shown_and_not_written(place: Path) -> None:
    with pytest.raises(InvalidParameter, match="out is not allowed with EXPLAIN PRIVACY"):
        run("sql", "shop", f"EXPLAIN PRIVACY {QUERY}", "--epsilon", "1", "-o", "quote.csv")
    assert not (place / "quote.csv").exists()


def kept_files(place: Path) -> list[Path]:
    """Return everything that the curator keeps, with the files that a ledger has while it is in use."""
    found = [place / "sales.csv", place / "home" / "dither.yaml"]
    for folder in (place / "home" / "data", place / "home" / "datasets", place / "anchors"):
        found += [path for path in folder.rglob("*") if path.is_file()]
    return found + [path for path in (place / "home").iterdir() if path.name.startswith("ledger.sqlite")]


@pytest.mark.parametrize("way", ["itself", "symlink", "hard link", "through a linked folder"])
def test_nothing_that_the_curator_keeps_is_written_over(place: Path, tmp_path: Path, way: str) -> None:
    with Curator.open(place / "home").ledger as ledger:
        assert ledger.datasets() == ("shop",)
        kept = kept_files(place)  # with the log and the locks, which go with the last user
        names = {path.name.removeprefix("ledger.sqlite") for path in kept if path.name.startswith("ledger.sqlite")}
        assert names >= {"", "-wal", "-shm", "-queue", "-post", "-holds"}
    contents = {path: path.read_bytes() for path in kept if path.exists()}
    spent = releases()
    for number, path in enumerate(kept):
        named = tmp_path / f"{number}.csv"
        if way == "itself":
            named = path
        elif way == "symlink":
            named.symlink_to(path)
        elif way == "hard link":
            if not path.exists():
                continue
            named.hardlink_to(path)
        else:
            (tmp_path / f"{number}").symlink_to(path.parent)
            named = tmp_path / f"{number}" / path.name
        with pytest.raises(InvalidParameter, match="another file than those"):
            outputs.keep_sources([Output("out", named)], Curator.open(place / "home"))
    # The verbs: the ledger itself, by a name that ends as an answer may.
    link = tmp_path / "answer.csv"
    link.symlink_to(place / "home" / "ledger.sqlite")
    for words in ((*VERBS["sql"], "--epsilon", "1"), ("card", "shop"), ("ledger", "export")):
        with pytest.raises(InvalidParameter, match="another file than those"):
            run(*words, "-o", str(link))
    assert {path: path.read_bytes() for path in contents if "ledger" not in path.name} == {
        path: content for path, content in contents.items() if "ledger" not in path.name
    }
    assert releases() == spent
    run("ledger", "verify")


def test_other_files_in_the_folder_may_be_written(place: Path) -> None:
    run("ledger", "export", "-o", str(place / "home" / "books.jsonl"))
    assert (place / "home" / "books.jsonl").read_text().count("\n") >= 1
