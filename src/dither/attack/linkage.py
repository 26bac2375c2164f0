"""Linkage: records without names are joined with outside knowledge by the values that they share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.attack.outcome import Curve, Outcome, ceiling, plainly
from dither.attack.protection import noisy_counts, random_answers
from dither.attack.registry import ADELAIDE, BOOK, KAR, attack
from dither.estimate.public_randomness import public_generator
from dither.exact import Number, positive

_POSTCODES, _YEARS, _SEXES, _DIAGNOSES = 40, 80, 2, 5
#: How many postcodes and years make one band of the defended table.
_BAND = 20


def class_sizes(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each key of ``first`` how often it occurs in ``second``."""
    counts = np.bincount(second, minlength=int(max(first.max(), second.max())) + 1)
    return np.asarray(counts[first], dtype=np.int64)


@attack("linkage", source=f"{BOOK}, section 1.2; {ADELAIDE}, section 2.2; {KAR}, section 2.4")
def linkage(targets: int = 1000, epsilon: Number = "1/2") -> Outcome:
    """Join a table without names with a register that has them, on postcode, year of birth and sex.

    Linkage: a table without names is joined with a register that has them.

    People are described by postcode, year of birth and sex. A hospital publishes its rows without names; the attacker
    has the town's register. Where one row fits, the diagnosis is theirs. The two usual risks are counted too: the
    prosecutor's (the target is known to be in the table: one over the number of rows that fit) and the journalist's (it
    is not known: one over the number of people in the register who fit).

    The defended hospital publishes noisy counts of diagnoses by bands of postcodes and years instead of rows.
    """
    drawn = public_generator()
    town = 4 * targets
    who = [drawn.integers(0, size, size=town) for size in (_POSTCODES, _YEARS, _SEXES)]
    register = (who[0] * _YEARS + who[1]) * _SEXES + who[2]
    patients = drawn.permutation(town)[:targets]
    rows, diagnoses = register[patients], drawn.integers(0, _DIAGNOSES, size=targets)
    # For every patient: a random row among those that fit what the register says.
    order = drawn.permutation(targets)
    first_fit = dict(zip(rows[order].tolist(), diagnoses[order].tolist(), strict=True))
    guesses = np.array([first_fit[key] for key in rows.tolist()])
    prosecutor, journalist = 1 / class_sizes(rows, rows), 1 / class_sizes(rows, register)

    bands = (who[0][patients] // _BAND) * (_YEARS // _BAND) + who[1][patients] // _BAND
    table = np.zeros((int(bands.max()) + 1, _DIAGNOSES), dtype=np.int64)
    np.add.at(table, (bands, diagnoses), 1)
    private = noisy_counts(table, epsilon, moved=2)
    limits = [1.0, *(float(size) for size in range(2, 11))]
    return Outcome(
        attack="linkage",
        measure="share of patients whose diagnosis is inferred correctly",
        unprotected=float(np.mean(guesses == diagnoses)),
        protected=float(np.mean(private.argmax(axis=1)[bands] == diagnoses)),
        chance=1 / _DIAGNOSES,
        ceiling=ceiling(1 / _DIAGNOSES, epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one patient's diagnosis",
        words=(
            f"{np.mean(prosecutor == 1):.0%} of {targets} patients are alone with their postcode, year of birth and "
            f"sex. A person known to be in the table is found with probability {prosecutor.mean():.2f} on average, a "
            f"person of the town with {journalist.mean():.2f}. Counts by wide bands, with noise, identify no one."
        ),
        figures=(
            ("prosecutor risk, average", float(prosecutor.mean())),
            ("prosecutor risk, highest", float(prosecutor.max())),
            ("journalist risk, average", float(journalist.mean())),
            ("journalist risk, highest", float(journalist.max())),
            ("share of rows that fit one patient only", float(np.mean(prosecutor == 1))),
        ),
        axes=("people who fit, at most", "share of patients"),
        curves=(
            Curve("in the table", tuple(limits), tuple(float(np.mean(1 / prosecutor <= size)) for size in limits)),
            Curve("in the register", tuple(limits), tuple(float(np.mean(1 / journalist <= size)) for size in limits)),
        ),
    )


_VALUES = 12


@attack("frequency", source=f"{KAR}, section 3.4", most=5000)
def frequency(targets: int = 2000, epsilon: Number = "1/2") -> Outcome:
    """Match secret codes with values by how frequent they are.

    Frequency analysis: a secret code table keeps the frequencies, and they are known from elsewhere.

    Replacing values by secret codes, merging columns into codes and keeping the rules secret is a substitution cipher.
    The attacker orders codes and values by how frequent they are and pairs them off.
    """
    drawn = public_generator()
    weights = 0.6 ** np.arange(_VALUES)
    law = weights / weights.sum()
    values = drawn.choice(_VALUES, size=targets, p=law)
    secret = drawn.permutation(_VALUES)
    codes = secret[values]
    decoded = np.empty(_VALUES, dtype=np.int64)
    seen = np.bincount(codes, minlength=_VALUES)
    decoded[np.argsort(-seen, kind="stable")] = np.arange(_VALUES)
    answers = random_answers(values, epsilon, _VALUES)
    # The likeliest value behind an answer, the frequencies being known.
    likely = float(positive("epsilon", epsilon)) * np.eye(_VALUES) + np.log(law)
    return Outcome(
        attack="frequency",
        measure="share of records decoded",
        unprotected=float(np.mean(decoded[codes] == values)),
        protected=float(np.mean(likely.argmax(axis=1)[answers] == values)),
        chance=float(law.max()),
        ceiling=ceiling(float(law.max()), epsilon),
        n=targets,
        loss=f"{plainly(epsilon)} for one person's value",
        words=f"{targets} records under a secret code table: {int(np.sum(decoded[secret] == np.arange(_VALUES)))} of "
        f"{_VALUES} codes are read by their order of frequency. Randomised answers leave little more than the guess "
        f"that everybody has the most frequent value.",
        axes=("code or value, in order of frequency", "share of records"),
        curves=(
            Curve("codes as published", tuple(map(float, range(_VALUES))), tuple(np.sort(seen)[::-1] / targets)),
            Curve("values as known", tuple(map(float, range(_VALUES))), tuple(law.tolist())),
        ),
    )
