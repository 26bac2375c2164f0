"""Pictures of conversations, of published models and of retrieval: errors on generated tables, with fresh noise."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dither import Budget, converse, release
from dither.data import Column, DataSet, Kind, Table
from dither.data.reference import ReferenceEngine
from dither.data.schema import person_unit
from dither.lift.attributes import Attributes
from dither.lift.cells import cells_of
from dither.mechanisms import PublicArray
from dither.pages.charts import Line, line_chart
from dither.pages.frame import Axis, Chart
from dither.privacy import EDGE, ROW, PureDP
from dither.publish.interactive import (
    CutConversation,
    DisjunctionConversation,
    DistanceConversation,
    IterativeConstruction,
    LiftedQuestions,
    MinimisingConversation,
    ModelFirst,
    PublishedModel,
)
from dither.publish.interactive.capacity import MOST_QUESTIONS, capacity
from dither.publish.retrieval import SharedVector, inner_product

WIDTH = 560
_QUESTIONS = 400
_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


def pictures() -> Iterator[tuple[str, Chart]]:
    """Draw all of them."""
    for part in (
        conversations,
        updates,
        cuts,
        distances,
        disjunctions,
        minimisers,
        people,
        published_models,
        retrieval,
        capacities,
    ):
        yield from part()


def conversations() -> Iterator[tuple[str, Chart]]:
    """Draw the errors of a conversation by epsilon, beside those of questions that are paid for one by one."""
    dice = np.random.default_rng(2)
    people = Attributes.of({"age": 60, "region": 12, "ward": 8, "smokes": 2})
    ages = np.exp(-((np.arange(60) - 25) ** 2) / 300)
    law = ages[:, None, None, None] * dice.dirichlet(np.full(12, 0.7))[:, None, None]
    law = law * dice.dirichlet(np.full(8, 0.7), size=(60, 1))[..., None] * np.array([0.8, 0.2])
    counts = dice.multinomial(50_000, (law / law.sum()).ravel()).reshape(people.sizes)
    lines: dict[str, list[float]] = {"a conversation": [], "epsilon divided among 300 questions": []}
    for epsilon in _EPSILONS:
        method = ModelFirst.calibrated(PureDP(epsilon), attributes=people, questions=300)
        talk = converse(method, counts, budget=Budget(epsilon=epsilon, unit=ROW), stability=1)
        errors = []
        for _ in range(300):
            mask = np.ones(people.sizes, dtype=np.bool_)
            for axis in dice.choice(4, int(dice.integers(1, 4)), replace=False):
                shape = [1] * 4
                shape[axis] = people.sizes[axis]
                mask &= (dice.random(people.sizes[axis]) < 0.5).reshape(shape)
            errors.append(abs(talk.ask(mask).value - int(counts[mask].sum())))
        lines["a conversation"].append(float(np.mean(errors)))
        lines["epsilon divided among 300 questions"].append(300 / epsilon)
    chart = line_chart(
        "What three hundred answers are off by",
        [Line(name, _EPSILONS, errors) for name, errors in lines.items()],
        across=Axis("epsilon", is_log=True),
        up=Axis("an answer is off by", "rows, on average", is_log=True),
        width=WIDTH,
    )
    yield "conversation", chart.captioned("50,000 generated rows, 11,520 cells, questions about one to three columns.")


def updates() -> Iterator[tuple[str, Chart]]:
    """Draw how three updates learn the counts of a table."""
    dice = np.random.default_rng(3)
    people = Attributes.of({"a": 16, "b": 16})
    counts = (10_000 * dice.dirichlet(np.full(256, 0.1))).astype(np.int64).reshape(16, 16)
    asked = [dice.random((16, 16)) < 0.5 for _ in range(_QUESTIONS)]
    lines = []
    for update in ("multiplicative", "proportional", "frieze-kannan"):
        method = IterativeConstruction.calibrated(
            PureDP(2), attributes=people, update=update, corrections=30, questions=_QUESTIONS
        )
        talk = converse(method, counts, budget=Budget(epsilon=2, unit=ROW), stability=1)
        errors = [abs(talk.ask(one).value - int(counts[one].sum())) for one in asked]
        lines.append(Line(update, *_blocks(errors)))
    facts = "10,000 rows in 256 cells, random sets of cells, epsilon 2, 30 corrections."
    yield "updates", _by_question("What three updates have learned", lines, "an answer is off by", "rows", facts)


def cuts() -> Iterator[tuple[str, Chart]]:
    """Draw the errors of random cuts of a graph of two communities."""
    dice = np.random.default_rng(4)
    nodes = 120
    side = np.arange(nodes) < nodes // 2
    chance = np.where(side[:, None] == side, 0.5, 0.05)
    edges = [(u, v) for u, v in itertools.combinations(range(nodes), 2) if dice.random() < chance[u, v]]
    method = CutConversation.calibrated(PureDP(4), nodes=nodes, corrections=15, questions=_QUESTIONS)
    talk = converse(method, edges, budget=Budget(epsilon=4, unit=EDGE))
    errors, plain = [], []
    for _ in range(_QUESTIONS):
        # Nodes of one side are likelier in the set, so that the two sides matter.
        one = dice.random(nodes) < np.where(side, dice.random(), dice.random())
        truth = sum(bool(one[u] != one[v]) for u, v in edges)
        errors.append(abs(talk.ask((one, ~one)).value - truth))
        plain.append(_QUESTIONS / 4)
    lines = [Line("from the construction", *_blocks(errors)), Line("epsilon divided among all", *_blocks(plain))]
    facts = f"A generated graph of {nodes} nodes and {len(edges):,} edges, epsilon 4 for an edge, 15 corrections."
    yield "cuts", _by_question("Cuts of a graph of two communities", lines, "a cut is off by", "edges", facts)


def distances() -> Iterator[tuple[str, Chart]]:
    """Draw the errors of distances of all rows from each hour of a day."""
    dice = np.random.default_rng(5)
    hours = np.arange(96)
    apart = np.minimum((hours[:, None] - hours) % 96, (hours - hours[:, None]) % 96)
    counts = np.bincount(np.rint(dice.normal(30, 8, 20_000)).astype(np.int64) % 96, minlength=96)
    lines = []
    for corrections in (3, 12):
        method = DistanceConversation.calibrated(
            PureDP(1), metric=PublicArray(apart), corrections=corrections, questions=96
        )
        talk = converse(method, counts, budget=Budget(epsilon=1, unit=ROW), stability=1)
        order = dice.permutation(96)
        errors = {int(one): abs(talk.ask(int(one)).value - int(counts @ apart[one])) / 20_000 for one in order}
        lines.append(Line(f"{corrections} corrections", hours.tolist(), [errors[int(one)] for one in hours]))
    chart = line_chart(
        "The mean distance of all rows from a time of day",
        lines,
        across=Axis("quarter of an hour"),
        up=Axis("a mean is off by", "quarters of an hour"),
        width=WIDTH,
    )
    yield "distances", chart.captioned("20,000 generated rows around half past seven, epsilon 1, asked in any order.")


def disjunctions() -> Iterator[tuple[str, Chart]]:
    """Draw the errors of disjunctions over twenty attributes, by degree."""
    dice = np.random.default_rng(6)
    names = [f"sign{number}" for number in range(20)]
    kinds = dice.random((4, 20)) < 0.25
    rows = (kinds[dice.integers(4, size=20_000)] & (dice.random((20_000, 20)) < 0.7)).astype(np.int64)
    asked = [tuple(dice.choice(names, size=int(dice.integers(2, 7)), replace=False)) for _ in range(_QUESTIONS)]
    lines = []
    for degree in (1, 2, 4):
        method = DisjunctionConversation.calibrated(
            PureDP(1), attributes=Attributes.of(dict.fromkeys(names, 2)), degree=degree, corrections=60, questions=400
        )
        talk = converse(method, rows, budget=Budget(epsilon=1, unit=ROW), stability=1)
        errors = []
        for one in asked:
            truth = int(rows[:, [names.index(name) for name in one]].any(axis=1).sum())
            errors.append(abs(talk.ask(one).value - truth))
        lines.append(Line(f"degree {degree}: {method.numbers:,} numbers", *_blocks(errors)))
    facts = "20,000 generated rows of 20 attributes (1,048,576 cells), two to six attributes a question, epsilon 1."
    yield "disjunctions", _by_question("Rows that have any of some attributes", lines, "off by", "rows", facts)


def minimisers() -> Iterator[tuple[str, Chart]]:
    """Draw what chosen medians of groups lose beyond the best."""
    dice = np.random.default_rng(7)
    groups, values = 32, 32
    centres = dice.integers(4, 28, groups)
    counts = np.zeros((groups, values), dtype=np.int64)
    for group, centre in enumerate(centres):
        np.add.at(counts[group], np.clip(np.rint(dice.normal(centre, 3, 3000)), 0, values - 1).astype(np.int64), 1)
    far = np.abs(np.arange(values)[:, None] - np.arange(values))
    lines = []
    for corrections in (2, 10):
        method = MinimisingConversation.calibrated(
            PureDP(4), cells=groups * values, candidates=values, top=values, corrections=corrections, questions=200
        )
        talk = converse(method, counts.ravel(), budget=Budget(epsilon=4, unit=ROW), stability=1)
        excess = []
        for _ in range(200):
            chosen = dice.random(groups) < 0.5
            losses = (chosen[None, :, None] * far[:, None, :]).reshape(values, -1)
            lost = losses @ counts.ravel()
            excess.append(
                float(lost[talk.ask(PublicArray(losses)).candidate] - lost.min()) / max(counts[chosen].sum(), 1)
            )
        lines.append(Line(f"{corrections} corrections", *_blocks(excess, 20)))
    facts = "The median of random halves of 32 groups, 96,000 generated rows, epsilon 4, 200 questions."
    yield "minimisers", _by_question("What a chosen median loses beyond the best", lines, "loss beyond", "a row", facts)


def people() -> Iterator[tuple[str, Chart]]:
    """Draw what questions about a data set of people are off by, by how many rows of one person count."""
    dice = np.random.default_rng(12)
    persons, hours, limits = 5000, 24, (1, 2, 3, 4, 6, 8)
    rows = [
        {"person": person, "hour": int(hour)}
        for person in range(persons)
        for hour in np.rint(dice.normal(9 + person % 8, 2, 1 + person % 4)).astype(np.int64) % hours
    ]
    apart = np.abs(np.arange(hours)[:, None] - np.arange(hours))
    truth = apart @ np.bincount([row["hour"] for row in rows], minlength=hours)
    columns = (Column("person", Kind.INTEGER), Column("hour", Kind.INTEGER, lower=0, upper=hours - 1))
    lines = []
    for epsilon in (1, 4):
        errors = []
        for most in limits:
            visits = Table("visits", columns, "frames", person="person")
            source = cells_of(DataSet("clinic", (visits,), person_unit("person"), rows=most), "visits", "hour", hours)
            loss = PureDP(Fraction(epsilon, most))
            method = DistanceConversation.calibrated(
                loss, metric=PublicArray(apart), corrections=hours, questions=hours
            )
            asked = LiftedQuestions(source=source, method=method)
            data, off = ReferenceEngine(source.dataset, {"visits": rows}), []
            for _ in range(5):
                talk = converse(asked, data, budget=Budget(loss=asked.loss(1), unit=asked.distance))
                off += [abs(talk.ask(hour).value - int(truth[hour])) / len(rows) for hour in range(hours)]
            errors.append(float(np.mean(off)))
        lines.append(Line(f"epsilon {epsilon} for a person", [float(one) for one in limits], errors))
    chart = line_chart(
        "The mean distance of all rows from an hour, asked of people",
        lines,
        across=Axis("rows of a person that count"),
        up=Axis("a mean is off by", "hours"),
        width=WIDTH,
    )
    facts = f"{persons:,} generated people with 1 to 4 rows each; rows that do not count are part of the error."
    yield "people", chart.captioned(facts)


def published_models() -> Iterator[tuple[str, Chart]]:
    """Draw the errors of fresh ranges by the number of training queries."""
    dice = np.random.default_rng(8)
    cells = 64
    counts = np.bincount(np.clip(dice.normal(30, 9, 5000), 0, cells - 1).astype(np.int64), minlength=cells)
    fresh = _ranges(dice, cells, 300)
    sizes = (8, 16, 32, 64, 128, 256, 512)
    lines = []
    for regressor in ("ridge", "tree"):
        errors = []
        for size in sizes:
            off = []
            for _ in range(5):
                method = PublishedModel.calibrated(
                    PureDP(1),
                    sensitivity=1,
                    shape=cells,
                    queries=PublicArray(_ranges(dice, cells, size)),
                    regressor=regressor,
                )
                model = release(method, counts, budget=Budget(epsilon=1, unit=ROW), stability=1).value
                off.append(float(np.abs(model.answer(fresh) - fresh @ counts).mean()))
            errors.append(float(np.mean(off)))
        lines.append(Line(regressor, sizes, errors))
    chart = line_chart(
        "Fresh ranges, answered by a regressor",
        lines,
        across=Axis("training queries", is_log=True),
        up=Axis("an answer is off by", "rows, on average"),
        width=WIDTH,
    )
    yield (
        "models",
        chart.captioned("5,000 generated rows in 64 cells, epsilon 1 for all training answers together."),
    )


def retrieval() -> Iterator[tuple[str, Chart]]:
    """Draw errors and error bars by how many coefficients a client sends."""
    dice = np.random.default_rng(9)
    cells = 1024
    visits = np.rint(200 * np.exp(-((np.arange(cells) - 400) ** 2) / 40_000)).astype(np.int64)
    wanted = np.zeros(cells, dtype=np.int64)
    wanted[dice.choice(np.arange(300, 500), 40, replace=False)] = 1
    truth = int(visits @ wanted)
    sizes = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
    errors, bars = [], []
    for kept in sizes:
        off, wide = [], []
        for _ in range(15):
            budget = Budget(epsilon=8, unit=ROW)
            server = release(SharedVector.calibrated(PureDP(4), shape=cells), visits, budget=budget, stability=1).value
            query = SharedVector.calibrated(PureDP(4), shape=cells, sent="top", kept=kept)
            found = inner_product(server, release(query, wanted, budget=budget, stability=1).value)
            off.append(abs(found.value - truth))
            wide.append(found.interval.high - found.value)
        errors.append(float(np.mean(off)))
        bars.append(float(np.mean(wide)))
    lines = [Line("mean error", sizes, errors), Line("half of the interval at 95 %", sizes, bars)]
    chart = line_chart(
        "An inner product by what the client sends",
        lines,
        across=Axis("coefficients that are sent, of 1,024", is_log=True),
        up=Axis("the product is off by", is_log=True),
        width=WIDTH,
    )
    yield "retrieval", chart.captioned(f"40 of 1,024 cells, epsilon 4 on either side; the true product is {truth:,}.")


def capacities() -> Iterator[tuple[str, Chart]]:
    """Draw how many questions are answered within an error, by family."""
    shares = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
    found = [capacity(rows=10**6, cells=2**20, error=int(10**6 * share), epsilon=1) for share in shares]
    lines = []
    for name, said in (
        ("separate", "each by itself"),
        ("table", "from a noisy table"),
        ("iterative", "by construction"),
    ):
        known = [(share, getattr(one, name)) for share, one in zip(shares, found, strict=True) if getattr(one, name)]
        if known:
            lines.append(Line(said, [share for share, _ in known], [float(count) for _, count in known]))
    chart = line_chart(
        "How many counting questions epsilon 1 answers",
        lines,
        across=Axis("error", "share of a million rows", is_log=True),
        up=Axis("questions", is_log=True),
        width=WIDTH,
    )
    yield (
        "capacity",
        chart.captioned(
            f"2^20 cells, all answers within the error with 95 %; {MOST_QUESTIONS:,} stands for any number."
        ),
    )


def _ranges(dice: Any, cells: int, count: int) -> Any:
    """Return random ranges of cells, a row for each."""
    ends = np.sort(dice.integers(0, cells + 1, (count, 2)), axis=1)
    places = np.arange(cells)
    return ((ends[:, :1] <= places) & (places < ends[:, 1:])).astype(np.int64)


def _blocks(errors: Sequence[float], size: int = 40) -> tuple[list[float], list[float]]:
    """Return the mean error of each block of questions, and where the block ends."""
    means = [float(np.mean(errors[start : start + size])) for start in range(0, len(errors), size)]
    return [float((place + 1) * size) for place in range(len(means))], means


def _by_question(title: str, lines: Sequence[Line], off: str, unit: str, facts: str) -> Chart:
    return line_chart(
        title, list(lines), across=Axis("questions asked so far"), up=Axis(off, unit), width=WIDTH
    ).captioned(facts)
