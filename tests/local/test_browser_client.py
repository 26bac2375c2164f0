"""The browser's client writes the same bytes as Python's from the same random integers, and has the same laws."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import dither.local.clients
from dither.local.clients import draw_report, half_of, scripted
from dither.local.document import Document
from dither.local.domains import Categories, Range
from dither.local.frequencies import (
    HadamardResponse,
    KaryResponse,
    LocalHashing,
    SubsetResponse,
    UnaryResponse,
)
from dither.local.randomiser import randomiser_of
from dither.privacy import PureDP
from dither.testing.client_laws import worst_ratio

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no node: the browser's client is not run")
_CLIENT = Path(dither.local.clients.__file__).parent / "browser" / "dither-client.js"
_VECTORS = 1000
_LOSS = PureDP("1.5")
_NAMES = Categories(("red", "gr\u00fcn", 'a "b" \u00bd', "\U0001f600", "other"), "other")
_WIDE = Range(-5, 2**33)

DOCUMENTS: dict[str, Document] = {
    "kary-response": KaryResponse.calibrated(_LOSS, categories=5).document('Which\u00a0\\ "?"', _NAMES),
    "unary-response": UnaryResponse.calibrated(_LOSS, categories=5).document("Which?", _NAMES),
    "subset-response": SubsetResponse.calibrated(_LOSS, categories=90).document("How old?", Range(0, 89)),
    "hadamard-response": HadamardResponse(categories=90, order=4, blocks=6, truth=2**31 + 7).document(
        "How old?", Range(0, 89)
    ),
    "local-hashing": LocalHashing.calibrated(_LOSS, categories=90).document("How old?", Range(0, 89)),
    "local-hashing of 62 bits": LocalHashing.calibrated(_LOSS, categories=_WIDE.cells).document("Which?", _WIDE),
}
_ANSWERS: list[Any] = [
    "red",
    "gr\u00fcn",
    "nothing",
    "\U0001f600",
    0,
    17,
    -3,
    88.9,
    10**9,
    2**33 + 5,
    None,
    True,
    1e300,
]


def _integers(seed: str, count: int) -> list[int]:
    """Return integers of 32 bits that a name decides."""
    stream = hashlib.shake_256(seed.encode()).digest(4 * count)
    return [int.from_bytes(stream[place : place + 4], "big") for place in range(0, len(stream), 4)]


def _node(script: str, given: Any) -> Any:
    """Return what a script of the client prints for what it is given."""
    with tempfile.TemporaryDirectory() as folder:
        # Under this name Node knows a module without a package around it.
        module = Path(folder) / "dither-client.mjs"
        module.write_bytes(_CLIENT.read_bytes())
        head = f"import * as client from {json.dumps(module.as_uri())}; import fs from 'node:fs';"
        whole = f"{head} const given = JSON.parse(fs.readFileSync(0)); {script}"
        done = subprocess.run(
            [str(NODE), "--input-type=module", "--eval", whole],
            input=json.dumps(given),
            capture_output=True,
            text=True,
            check=False,
            env={"PATH": os.environ["PATH"]},
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_both_languages_write_the_same_bytes(name: str) -> None:
    document = DOCUMENTS[name]
    half = half_of(document)
    words = 6 + 3 * len(half.widths) + 40
    scripts = [_integers(f"{name} {number}", words) for number in range(_VECTORS)]
    answers = [_ANSWERS[number % len(_ANSWERS)] for number in range(_VECTORS)]
    here = [
        draw_report(document, half, answer, scripted(script)).text
        for answer, script in zip(answers, scripts, strict=True)
    ]
    there = _node(
        "const survey = new client.Survey(given.document); process.stdout.write(JSON.stringify({identifier: "
        "survey.identifier, epsilon: survey.epsilon, reports: given.answers.map((answer, i) => "
        "survey.draw(answer, new client.Words(given.scripts[i])))}));",
        {"document": document.text, "answers": answers, "scripts": scripts},
    )
    assert there["identifier"] == document.identifier
    assert len(set(here)) == _VECTORS
    assert there["reports"] == here
    # The loss that a page shows is never below the exact one.
    assert 0 <= Fraction(there["epsilon"]) - randomiser_of(document).loss(1).epsilon < Fraction(1, 10**9)


def test_the_law_of_the_browser_is_enumerated() -> None:
    """All strings of few random integers, of which a few bits are read: the worst ratio is the claimed one."""
    laws = [
        KaryResponse(categories=3, truth=11, bits=4),
        UnaryResponse(categories=3, hold=2, stray=1, bits=2),
        SubsetResponse(categories=3, size_of_set=2, truth=3, bits=2),
        LocalHashing(categories=2, group_bits=1, truth=3, bits=2, width=2),
        HadamardResponse(categories=3, order=2, blocks=1, truth=3, bits=2),
    ]
    for law in laws:
        document = law.document("Which?", Range(0, law.half.cells - 1))
        bits = max(law.half.widths[0], document.parameters["bits"])
        found = _node(
            """
            class Short extends client.Words {
              word() { return (super.word() << (32 - given.bits)) >>> 0; }
            }
            const survey = new client.Survey(given.document);
            const masses = [];
            for (let cell = 0; cell < given.cells; cell++) {
              const mass = {};
              const waiting = [[]];
              while (waiting.length) {
                const script = waiting.pop();
                try {
                  const words = new Short(script);
                  const fields = survey.law.draw(survey.record.parameters, cell, words).join();
                  mass[fields] = (mass[fields] ?? 0) + 2 ** (given.bits * (given.most - script.length));
                } catch (failure) {
                  if (!/no more words/.test(failure.message)) throw failure;
                  if (script.length < given.most) {
                    for (let word = 0; word < 2 ** given.bits; word++) waiting.push([...script, word]);
                  }
                }
              }
              masses.push(mass);
            }
            process.stdout.write(JSON.stringify(masses));
            """,
            {"document": document.text, "cells": law.half.cells, "bits": bits, "most": 4},
        )
        payloads = set().union(*found)
        worst = max(
            Fraction(max(mass[payload] for mass in found), min(mass[payload] for mass in found)) for payload in payloads
        )
        assert worst == law.half.ratio == worst_ratio(law.half, word_bits=bits, max_words=4)[0]


def test_a_browser_answers_once_debits_first_and_seals(tmp_path: Path) -> None:
    told = _node(
        """
        const held = new Map();
        const storage = { getItem: (key) => held.get(key) ?? null, setItem: (key, text) => held.set(key, text) };
        const one = new client.Client(given[0], { cap: 2, storage });
        const reports = [await one.report("red"), await one.report("other"),
          await new client.Client(given[0], { cap: 2, storage }).report(null)];
        const errors = [];
        const attempt = async (act) => { try { await act(); } catch (failure) { errors.push(failure.message); } };
        await attempt(() => new client.Client(given[1], { cap: 2, storage }).report(3));
        const broken = new client.Client(given[1], { cap: 9, storage });
        broken.survey.draw = () => { throw new Error(`spent ${broken.spent > 2.9}`); };
        await attempt(() => broken.report(3));
        await attempt(() => new client.Client(given[1], { cap: 9, storage }).report(3));
        await attempt(() => new client.Client(given[0], { storage }));
        process.stdout.write(JSON.stringify({ reports, errors, fresh: one.survey.draw("red") }));
        """,
        [DOCUMENTS["kary-response"].text, DOCUMENTS["subset-response"].text],
    )
    assert len(set(told["reports"])) == 1
    assert told["fresh"] not in told["reports"]
    assert [message.split(":")[0] for message in told["errors"]] == [
        "the cap over all surveys is reached",
        "spent true",
        "a report to this survey was paid for and not stored",
        "cap must be above 0",
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", 2),
        ("surprise", 1),
        ("entropy", "words-64"),
        ("domain", {"kind": "categories", "names": ["a"], "other": "a"}),
        ("domain", {"kind": "toString"}),
        ("randomiser", "constructor"),
        ("parameters", {"categories": 5, "truth": 3}),
        ("parameters", {"categories": 5, "truth": 4, "bits": 2}),
        ("parameters", {"categories": 5, "truth": 1, "bits": 3}),
        ("parameters", {"categories": 5, "truth": 2**32 - 1, "bits": 32}),
        ("question", "Which\nof them?"),
        ("question", "a\u202eb"),
        ("question", "a\u2028b"),
        ("question", 1001 * "a"),
        ("parameters", {"categories": 4, "truth": 3, "bits": 2}),
    ],
)
def test_a_browser_refuses_a_bad_document(field: str, value: Any) -> None:
    record = {**json.loads(DOCUMENTS["kary-response"].text), field: value}
    told = _node(
        "let failed = false; try { new client.Survey(given); } catch { failed = true; } "
        "process.stdout.write(JSON.stringify(failed));",
        record,
    )
    assert told is True


def test_the_client_is_one_small_module() -> None:
    text = _CLIENT.read_text(encoding="utf-8")
    assert "import " not in text
    # Blanks at the ends of lines and comments are most of what a minifier takes away.
    lines = [line.strip() for line in text.splitlines()]
    assert len("\n".join(line for line in lines if not line.startswith(("/*", "*", "//")))) < 15_000
