"""Every specimen is refuted in its stated way, its sound twin is not, and nothing in the package can reach one."""

from __future__ import annotations

import ast
import importlib
import json
import math
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from dither.audit import audit
from dither.audit.specimens import (
    NONE_YET,
    SPECIMENS,
    Odds,
    Specimen,
    choice,
    composition,
    find,
    learning,
    noise,
    recommenders,
    refute,
    sparse_vector,
    streams,
    tags,
)
from dither.audit.specimens.correlated import correlated_sensitivity, squared_degree
from dither.audit.specimens.laws import HALF, claimed
from dither.audit.specimens.locations import best_centres, grid_from_worker_counts, steps_without_bounds
from dither.cli.app import app
from dither.errors import InvalidParameter
from dither.exact import exp_up, log_up
from dither.mechanisms import (
    AboveThreshold,
    BoundedGeometric,
    GammaNorm,
    Geometric,
    Laplace,
    Mechanism,
    PrefixCounter,
    SmoothCauchy,
    TruncatedLaplace,
    registered,
)
from dither.privacy import L1, ApproxDP, Filter, Loss, PureDP, Relation, gaussian_sigma
from dither.privacy.sensitivity import Universe, smooth_sensitivity
from dither.publish.places.paths import PairResponse

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "dither"
FALSE_ALARM = 1e-9
#: Twins are drawn more often than their specimens, so that an audit which cried wolf would be heard.
TWIN_SAMPLES = 10_000
#: Conversations are led one by one.
CONVERSATIONS = 2_000
SAMPLED = [name for name, specimen in SPECIMENS.items() if specimen.refuted_by == "sampling"]
PROVED = [name for name, specimen in SPECIMENS.items() if specimen.refuted_by != "sampling"]


@pytest.mark.statistical(n=4_000, miss=1e-9, catches="a specimen that withstands the auditor")
@pytest.mark.parametrize("name", SAMPLED)
def test_a_sampled_specimen_is_refuted(name: str) -> None:
    found = refute(find(name), false_alarm=FALSE_ALARM)
    assert found.is_refuted, found.evidence
    assert found.samples > 0
    assert found.false_alarm == FALSE_ALARM


@pytest.mark.parametrize("name", PROVED)
def test_a_proof_refutes_its_specimen(name: str) -> None:
    specimen = find(name)
    found = refute(specimen)
    assert found.is_refuted, found.evidence
    assert found.false_alarm == 0
    assert specimen.claim.pure is not None
    assert found.epsilon_lower > float(specimen.claim.pure) or found.delta_lower > 0
    # An exact argument leaves no epsilon at all; a closed form is for those that break a promise and keep a weaker one.
    assert np.isinf(found.epsilon_lower) == (specimen.refuted_by == "exact argument")


def test_the_thesis_that_skips_noise_loses_a_third_of_its_delta() -> None:
    found = refute(find("skipped-noise"))
    assert found.delta_lower == pytest.approx((1 - 1e-4) ** 10_000 * 0.99**5, rel=1e-9)
    assert round(found.delta_lower, 2) == 0.35


def test_the_classical_gaussian_is_just_too_narrow() -> None:
    """1.4 times the delta claimed at epsilon = 10, by the normal law in floats."""
    sigma = math.sqrt(2 * math.log(2e5)) / 10
    near, far = (math.erfc((10 * sigma + sign / (2 * sigma)) / math.sqrt(2)) / 2 for sign in (-1, 1))
    true = near - math.exp(10) * far
    found = refute(find("classical-gaussian-at-large-epsilon"))
    assert found.delta_lower == pytest.approx(true, rel=1e-6)
    assert true / 1e-5 == pytest.approx(1.36, abs=0.01)


# Twins: what is used instead, on the same pair.


def smooth_medians() -> tuple[SmoothCauchy, Any, Any]:
    """Return a mechanism for medians with the smooth bounds of both inputs of the specimen, by exhaustive search."""
    specimen = find("raw-local-sensitivity")
    rows = Universe((0, 10), 5, relation=Relation.REPLACE)
    mechanism = SmoothCauchy(least=1, smoothness="1/4", scale=8, grid=1)

    def asked(values: tuple[int, ...]) -> Any:
        bound = smooth_sensitivity(lambda row: sorted(row)[2], list(values), rows, L1, beta="1/4")
        return np.array([sorted(values)[2], float(max(bound, 1))])

    return mechanism, asked(specimen.value), asked(specimen.neighbour)


TWINS: dict[str, tuple[Mechanism[Any, Any], Any, Any]] = {
    "floating-point-laplace": (Laplace(scale=1, grid="1/1024"), 0.0, 1.0),
    "one-sided-exponential-noise": (BoundedGeometric(scale=1, low=0, high=20), 0, 1),
    "round-up-of-the-noise": (Laplace(scale=1, grid="1/1024"), 0.5, 0.25),
    "raw-local-sensitivity": smooth_medians(),
    "gamma-coordinates": (GammaNorm(shape=(2,), scale=1, grid="1/16"), np.array([0, 0]), np.array([1, 0])),
    "averaged-noisy-copies": (Geometric(scale=1), 0, 1),
    "noise-tolerance-loop": (TruncatedLaplace(scale=1, bound=12), 6, 5),
    "path-publication": (PairResponse(epsilon=1, pairs=1), np.array([0]), np.array([1])),
    "sparse-vector-lee-clifton": (
        AboveThreshold(threshold=0, threshold_scale=4, query_scale=8, positives=3),
        [0, 1] * 3,
        [1, 0] * 3,
    ),
}


@pytest.mark.statistical(n=TWIN_SAMPLES, false_alarm=FALSE_ALARM, catches="a twin that is no sounder than its specimen")
@pytest.mark.parametrize("name", sorted(TWINS))
def test_a_sound_twin_is_not_refuted(name: str) -> None:
    mechanism, value, neighbour = TWINS[name]
    samples = CONVERSATIONS if isinstance(mechanism, AboveThreshold) else TWIN_SAMPLES
    verdict = audit(mechanism, value, neighbour, samples=samples, false_alarm=FALSE_ALARM)
    assert not verdict.is_refuted, str(verdict)


def sound_sparse_vector() -> Odds:
    """Return the odds of the transcript under noise that grows with the three positives: ratio 3/4 on the answers."""
    specimen = find("sparse-vector-lee-clifton")
    answers = [False, True] * 3
    here, there = (
        sparse_vector.transcript(given, answers, Fraction(3, 4)) for given in (specimen.value, specimen.neighbour)
    )
    return Odds("the answers", here[0], there[1])


#: The formula of a specimen with the numbers of its sound version, and what that version promises.
SOUND: dict[str, tuple[Callable[[], Odds], Loss]] = {
    # Threshold noise for ln 2, and each of three positives for twice ln(4/3).
    "sparse-vector-lee-clifton": (sound_sparse_vector, claimed(2 * Fraction(4, 3) ** 6)),
    "exponential-without-two": (lambda: choice.without_two((1,) + (0,) * 8, (0,) + (1,) * 8), claimed(4)),
    "structure-from-data": (
        lambda: choice.bound_from_data((2,) + (1,) * 63 + (0,) * 64, (1,) * 64 + (0,) * 64, bound=2),
        PureDP(1),
    ),
    "correlated-iteration-constants": (lambda: composition.correlated_iteration(1, 0, eta=Fraction(1)), PureDP(1)),
    "refresh-without-a-ledger": (lambda: composition.refresh(1, 0), claimed(2**12)),
    "free-iteration": (lambda: composition.free_iteration(0, 1), claimed(2**20)),
    "counter-with-too-few-levels": (
        lambda: streams.too_few_levels((0, 0, 0, 0), (1, 0, 0, 0)),
        PureDP(3 * log_up(Fraction(2))),
    ),
    "classical-gaussian-at-large-epsilon": (
        lambda: noise.classical_gaussian(1, 0, sigma=gaussian_sigma(ApproxDP(10, "1e-5"), 1)),
        ApproxDP(10, "1e-5"),
    ),
    # Chaudhuri, Monteleoni and Sarwate (2011): a penalty of c / (e^(epsilon / 4) - 1), and noise for half of epsilon.
    "objective-perturbation-uncorrected": (
        lambda: learning.weight_near_zero(Fraction(1, 4) / (exp_up(Fraction(1, 4)) - 1), Fraction(4)),
        PureDP(1),
    ),
    "swapped-factor-bounds": (lambda: recommenders.swapped_bounds(1, -1, bound=Fraction(1)), PureDP("1/2")),
}


@pytest.mark.parametrize("name", sorted(SOUND))
def test_the_corrected_formula_is_not_refuted(name: str) -> None:
    weigh, claim = SOUND[name]
    odds = weigh()
    assert not odds.refutes(claim), odds
    assert odds.least > 0


def test_the_filter_of_the_package_stops_the_run_that_optimal_composition_lets_through() -> None:
    budget = Filter(ApproxDP(log_up(Fraction(6)), Fraction(2, 15)), conversion=0)
    budget.spend(claimed(2))
    assert not budget.admits(claimed(4))


def test_the_counter_of_the_package_is_charged_all_its_levels() -> None:
    assert PrefixCounter(node=Geometric(scale=3), steps=4).loss(1).pure == 1


# Independent truth for the closed forms.


@pytest.mark.statistical(n=100_000, false_alarm=1e-9, catches="a transcript whose probability is wrong by 0.0104")
def test_transcripts_have_the_probabilities_that_are_computed() -> None:
    """A literal run of the comparisons; Hoeffding's bound at 5e-10 a side for n = 100,000 is 0.0104."""
    count, generator = 100_000, np.random.default_rng()

    def two_sided(ratio: float, size: Any) -> Any:
        return generator.geometric(1 - ratio, size) - generator.geometric(1 - ratio, size)

    values = np.array([0, 1, 0])
    threshold = two_sided(0.5, (count, 1))
    above = values + two_sided(0.5, (count, 3)) >= threshold
    met = float(np.mean((above == [False, True, False]).all(axis=1)))
    least, most = sparse_vector.transcript((0, 1, 0), [False, True, False], HALF)
    assert float(least) - 0.0104 <= met <= float(most) + 0.0104
    assert 0.05 < met < 0.5


def test_transcripts_add_up() -> None:
    for query in (HALF, Fraction(1, 8), None):
        total = sum(sparse_vector.transcript((0, 1, 0), given, query)[0] for given in product((False, True), repeat=3))
        assert 1 - Fraction(1, 2**80) <= total <= 1


def test_topics_have_the_probabilities_of_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The posterior of all assignments of seven tokens, by the predictive rule instead of the closed form."""
    monkeypatch.setattr(tags, "_TIMES", 2)
    tokens = [(0, 0), (0, 0), (1, 1), (1, 1), (2, 2), (2, 2), (0, 1)]
    prior = Fraction(1, 100)
    total = apart = Fraction(0)
    for topics in product((0, 1), repeat=len(tokens)):
        weight = Fraction(1)
        tag_counts, topic_counts, resource_counts = np.zeros((3, 2), int), np.zeros(2, int), np.zeros((3, 2), int)
        for (resource, tag), topic in zip(tokens, topics, strict=True):
            weight *= int(tag_counts[tag, topic]) + prior
            weight /= int(topic_counts[topic]) + 3 * prior
            weight *= int(resource_counts[resource, topic]) + prior
            tag_counts[tag, topic] += 1
            topic_counts[topic] += 1
            resource_counts[resource, topic] += 1
        total += weight
        # More than one, noise of ratio 1/2: at least 2 - count.
        of_a, of_b = (tags.at_least(HALF, 2 - int(tag_counts[tag, 0])) for tag in (0, 1))
        apart += weight * (of_a * (1 - of_b) + (1 - of_a) * of_b)
    assert tags.split_apart(1) == apart / total


@pytest.mark.statistical(n=200_000, false_alarm=1e-9, catches="a weight whose probability is wrong by 0.0074")
def test_weights_are_near_zero_as_often_as_computed() -> None:
    """A literal minimisation by bisection of the derivative; Hoeffding's bound at 5e-10 for n = 200,000 is 0.0074."""
    penalty, scale, count = 0.5, 2.0, 200_000
    linear = np.random.default_rng().laplace(0.0, scale, count)
    for feature in (1, 0):
        low, high = np.full(count, -200.0), np.full(count, 200.0)
        for _ in range(50):
            middle = (low + high) / 2
            rises = -feature / (1 + np.exp(np.clip(feature * middle, -50, 50))) + penalty * middle + linear > 0
            low, high = np.where(rises, low, middle), np.where(rises, middle, high)
        met = float(np.mean(np.abs(low) < 0.1))
        odds = learning.weight_near_zero(Fraction(1, 2), Fraction(2))
        assert met == pytest.approx(float(odds.least if feature else odds.most), abs=0.0074)


def test_a_counter_answers_from_its_partial_sums() -> None:
    """Every event of 16 is in five block sums at most, and in as many as its blocks tell."""
    for event in range(16):
        stream = [int(step == event) for step in range(16)]
        starts = [-(-(event + 1) // 2**level) * 2**level for level in range(5)]
        assert sum(streams.partial_sums(stream)) == len({end for end in starts if end <= 16})


# The records themselves.


def test_an_honest_mechanism_in_the_place_of_a_specimen_is_not_refuted() -> None:
    honest = replace(find("one-sided-exponential-noise"), sample=lambda value, count: value + 0 * np.arange(count))
    assert refute(replace(honest, neighbour=0)).is_refuted is False
    assert not Odds("heads", Fraction(1, 2), Fraction(1, 2)).refutes(PureDP(0))
    assert Odds("heads", Fraction(1, 2), Fraction(1, 2)).epsilon_lower(Fraction(0)) == 0


def test_odds_are_exact_where_they_meet_the_claim() -> None:
    even = Odds("heads", Fraction(3, 4), Fraction(1, 4))
    assert even.refutes(ApproxDP(0, Fraction(1, 2) - Fraction(1, 10**30)))
    assert not even.refutes(ApproxDP(0, Fraction(1, 2)))
    assert not even.refutes(claimed(3))
    assert even.refutes(PureDP(Fraction("1.0986122886681")))
    with pytest.raises(InvalidParameter, match="least"):
        Odds("heads", Fraction(3, 2), Fraction(0))


def test_a_specimen_says_how_it_is_refuted() -> None:
    known = find("one-sided-exponential-noise")
    with pytest.raises(InvalidParameter, match="sample"):
        replace(known, refuted_by="closed form")
    with pytest.raises(InvalidParameter, match="sample"):
        replace(known, sample=None)
    with pytest.raises(InvalidParameter, match="one-sided"):
        find("one-sided-noise")


@pytest.mark.parametrize("specimen", SPECIMENS.values(), ids=lambda specimen: specimen.name)
def test_every_replacement_exists(specimen: Specimen) -> None:
    if specimen.replacement == NONE_YET or specimen.replacement in registered():
        return
    module, _, name = specimen.replacement.rpartition(".")
    assert hasattr(importlib.import_module(module), name)


# Nobody can reach a specimen by accident.


def test_no_module_but_the_command_imports_specimens() -> None:
    users = {SOURCE / "cli" / "specimens.py", SOURCE / "audit" / "everything.py"}
    allowed = users | set((SOURCE / "audit" / "specimens").glob("*.py"))
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        # Whoever imports them names them; only such modules need to be parsed.
        if path in allowed or "specimens" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            names = [alias.name for alias in getattr(node, "names", ()) if isinstance(alias, ast.alias)]
            module = getattr(node, "module", None) or ""
            found = [f"{module}.{name}" for name in names] if module else names
            assert not any(name.startswith("dither.audit.specimens") for name in found), path


def test_specimens_are_no_mechanisms() -> None:
    assert not set(SPECIMENS) & set(registered())
    for path in (SOURCE / "audit" / "specimens").glob("*.py"):
        module = importlib.import_module(f"dither.audit.specimens.{path.stem}".removesuffix(".__init__"))
        classes = [thing for thing in vars(module).values() if isinstance(thing, type)]
        assert not any(issubclass(kind, Mechanism) for kind in classes), path
        assert "@register" not in path.read_text(encoding="utf-8")


def test_the_package_loads_without_them() -> None:
    script = "import sys, dither, dither.audit; print([name for name in sys.modules if 'specimens' in name])"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


# What people see.


@pytest.mark.statistical(n=4_000, miss=1e-9 * len(SAMPLED), catches="a specimen that withstands the auditor")
def test_the_command_lists_them_all() -> None:
    done = CliRunner().invoke(app, ["specimens", "--json"])
    assert done.exit_code == 0
    records = json.loads(done.stdout)
    assert [record["name"] for record in records] == list(SPECIMENS)
    assert all(record["is_refuted"] and record["evidence"] and record["source"]["title"] for record in records)


def test_the_command_tells_one_in_full() -> None:
    done = CliRunner().invoke(app, ["specimens", "path-publication"])
    assert done.exit_code == 0
    for word in ("lemma 6.2", "no epsilon", "exact argument", "pair-response"):
        assert word in done.stdout


def test_the_page_shows_them_all() -> None:
    rows = {}
    for line in (ROOT / "docs" / "specimens.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("| `"):
            name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
            rows[name.strip(" `")] = cells
    assert list(rows) == list(SPECIMENS)
    for name, cells in rows.items():
        specimen = SPECIMENS[name]
        assert cells[0].endswith(specimen.source.section)
        assert cells[1:3] == [str(specimen.claim), specimen.what_is_wrong]
        assert cells[3].endswith(specimen.refuted_by)
        assert specimen.replacement in cells[4]


def test_centres_of_places_minimise_the_printed_sum_of_distances() -> None:
    """By brute force over all integers: the sum of distances, not of their squares, whose minimum is elsewhere."""
    for places, wanted in (((9, 10, 11), 10), ((9, 13, 11), 11)):
        by_distance = min(range(30), key=lambda centre: sum(abs(place - centre) for place in places))
        assert by_distance == wanted
        for added in (-7, 0, 7):
            assert best_centres((0, 1, 2, *places), added) == (1, wanted)
    # A far place pulls a mean, and not a median.
    assert best_centres((0, 1, 2, 9, 10, 29), 0) == (1, 10)


def test_correlated_degrees_are_pearsons() -> None:
    drawn = np.random.default_rng()
    for _ in range(20):
        one, other = (np.append(part, -part.sum()) for part in drawn.integers(-5, 6, size=(2, 4)))
        if one.any() and other.any():
            degree = squared_degree(tuple(one.tolist()), tuple(other.tolist()))
            assert float(degree) == pytest.approx(np.corrcoef(one, other)[0, 1] ** 2)
    specimen = SPECIMENS["correlation-from-data"]
    scales = [float(correlated_sensitivity(records, up=True)) for records in (specimen.value, specimen.neighbour)]
    assert scales == pytest.approx([1 + math.sqrt(2), 1])


def test_a_grid_of_a_declared_size_says_nothing() -> None:
    """The twin: with as many cells on both sides the claim withstands."""
    assert grid_from_worker_counts(20, 21).most == 0
    assert grid_from_worker_counts(21, 22).most == 1


def test_steps_lose_as_much_as_there_are() -> None:
    for journey, wanted in (("AB", 1), ("ABC", 2), ("ABABAB", 5)):
        odds = steps_without_bounds(("AB", journey), ("AB",))
        assert odds.epsilon_lower(Fraction(0)) == pytest.approx(wanted)
        assert odds.refutes(PureDP(1)) == (wanted > 1)
