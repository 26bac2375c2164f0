"""Every attack succeeds where nothing is protected, and tells no more than the promise allows where it is."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dither.attack import Outcome, attack, attacks, ceiling, find_attack, page, write_page
from dither.cli.app import app
from dither.errors import InvalidParameter

ROOT = Path(__file__).parents[2]
#: Where no ceiling is proved: a share well above what the attack reaches against a protected release.
ALLOWED = {
    **dict.fromkeys(("angles", "one-record", "known-set", "graph-seeds"), 0.1),
    "timing": ceiling(0.5, "1/4") + 0.05,
    "shilling": 0.4,
}


def most_right(outcome: Outcome) -> int:
    """How many right guesses a protected release leaves, but for a chance of 1e-10."""
    from scipy.stats import binom

    share = ALLOWED[outcome.attack] if outcome.ceiling is None else outcome.ceiling
    return int(binom.isf(1e-10, outcome.n, share))


@pytest.mark.statistical(false_alarm=1e-9)
@pytest.mark.parametrize("name", list(attacks()))
def test_what_is_open_is_recovered_and_what_is_protected_is_not(name: str) -> None:
    """n is the number of guesses of each attack, 80 to 2,000.

    With a ceiling, right guesses against the protected release are at most binomial with it: 1e-10 is exact. Against
    the open release the share is certain, or so far above the limit (ten standard deviations of forty runs, at least)
    that failing is out of reach. A defence that adds no noise is caught by every attack: the same limit refutes what
    the open release gives away. One that adds a tenth of its noise is caught by 11 of the first 26, which come near
    their ceiling; it is for audits to find less.
    """
    outcome = attacks()[name].run()
    limit = most_right(outcome)
    assert round(outcome.protected * outcome.n) <= limit
    assert round(outcome.unprotected * outcome.n) > limit
    assert outcome.unprotected > 3 * outcome.chance or outcome.unprotected > 0.8
    assert set(ALLOWED) >= {name} or outcome.ceiling is not None
    assert outcome.attack == name
    assert outcome.n >= 50


@pytest.mark.statistical(false_alarm=1e-9)
@pytest.mark.parametrize(
    "name", ["differencing", "background", "collusion", "frequency", "nearest-edge", "endpoint", "edge-differencing"]
)
def test_a_large_loss_protects_nobody(name: str) -> None:
    """At epsilon = 1,000 the defended release is as good as open: the noise follows what was asked for.

    n = 100 guesses. The noise turns one of them with probability below 1e-5, so ten or more, which the margin allows,
    with far less than 1e-9. Noise of a fixed size is caught.
    """
    outcome = find_attack(name).run(targets=100, epsilon=1000)
    assert outcome.protected >= outcome.unprotected - 0.1
    assert outcome.protected > 0.6


def test_no_channel_of_that_loss_beats_the_ceiling() -> None:
    """Random channels whose rows differ by a factor of e^epsilon at most, all posteriors computed; some reach it."""
    drawn = np.random.default_rng()
    for epsilon in (0.1, 1.0, 3.0):
        for values in (2, 5):
            law = drawn.dirichlet(np.ones(values))
            channel = np.exp(epsilon * drawn.uniform(size=(values, 40)))
            # Shared weights of outputs leave ratios as they are; the last output makes rows add up to 1.
            posterior = law[:, None] * channel / (law @ channel)
            assert np.all(posterior.max(axis=1) <= [ceiling(p, epsilon) + 1e-12 for p in law])
            response = np.where(np.eye(values, dtype=bool), math.exp(epsilon), 1.0)
            told = law[:, None] * response / (law @ response)
            assert told.diagonal() == pytest.approx([ceiling(p, epsilon) for p in law])


def test_ceiling_refuses_what_is_no_probability() -> None:
    for wrong in (0.0, 1.0, -1.0, 2.0):
        with pytest.raises(InvalidParameter):
            ceiling(wrong, 1)


def test_the_list_is_complete_and_every_attack_says_where_it_is_from() -> None:
    known = attacks()
    assert len(known) == 37
    for name, one in known.items():
        assert one.name == name
        assert one.summary.endswith((".", ";"))
        assert one.source
        assert find_attack(name) is one


def test_the_page_of_the_documentation_has_a_row_for_every_attack() -> None:
    text = (ROOT / "docs" / "attacks.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z-]+)` \|", text, flags=re.MULTILINE) == list(attacks())


def test_wrong_requests_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="one of differencing"):
        find_attack("nothing")
    one = find_attack("reconstruction-lp")
    for targets in (49, one.most + 1):
        with pytest.raises(InvalidParameter, match="targets"):
            one.run(targets=targets)
    with pytest.raises(InvalidParameter, match="epsilon"):
        one.run(epsilon=0)
    with pytest.raises(InvalidParameter, match="no other attack"):
        attack("differencing", source="nowhere")(lambda: None)


def small_outcome(**changes: object) -> Outcome:
    fields: dict[str, object] = {
        "attack": "differencing",
        "measure": "share <of> people",
        "unprotected": 1.0,
        "protected": 0.5,
        "chance": 0.5,
        "ceiling": None,
        "n": 100,
        "loss": "epsilon = 1",
        "words": "a & b",
    }
    return Outcome(**(fields | changes))  # type: ignore[arg-type]


def test_shares_are_shares() -> None:
    for name in ("unprotected", "protected", "chance"):
        with pytest.raises(InvalidParameter, match=name):
            small_outcome(**{name: 1.5})


def test_a_page_needs_nothing_from_outside_and_escapes_texts(tmp_path: Path) -> None:
    outcomes = [small_outcome(), find_attack("averaging").run(targets=50), find_attack("angles").run(targets=50)]
    text = page(outcomes)
    assert "Share &lt;of&gt; people" in text
    assert "a &amp; b" in text
    # The namespace of SVG is a name, not an address.
    assert not re.search(r"https?:|src=|@import|<script", text.replace("http://www.w3.org/2000/svg", ""))
    assert text.count("<svg") == 5
    assert text.count("<polyline") == 2
    # Two clouds of a point for each of the first pairs.
    assert len(re.findall(r'<circle [^>]*opacity="0.55"', text)) == 100
    # The only ceiling is marked.
    assert text.count("proved ceiling: ") == 1
    assert write_page(tmp_path / "page.html", outcomes).read_text(encoding="utf-8") == text
    with pytest.raises(InvalidParameter, match="html"):
        write_page(tmp_path / "page.pdf", outcomes)


def test_the_command_lists_runs_and_plots(tmp_path: Path) -> None:
    runner = CliRunner()
    listed = json.loads(runner.invoke(app, ["attack", "list", "--json"]).stdout)
    assert [row["name"] for row in listed] == list(attacks())
    assert runner.invoke(app, ["attack"]).stdout.count("\n") > 32
    out = tmp_path / "differencing.html"
    asked = ["attack", "differencing", "--targets", "60", "--epsilon", "1/5", "-o", str(out)]
    told = json.loads(runner.invoke(app, [*asked, "--json"]).stdout)
    assert told["n"] == 60
    assert told["unprotected"] == 1.0
    assert told["ceiling"] == pytest.approx(ceiling(0.5, "1/5"))
    assert "epsilon = 0.2" in out.read_text(encoding="utf-8")
    shown = runner.invoke(app, [*asked, "--force"]).stdout
    assert "100.0%" in shown
    assert "plotted in" in shown
