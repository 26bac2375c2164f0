"""The sentences on a table say what its figures say."""

from __future__ import annotations

from pathlib import Path

from dither.disguise import Table, risk_of
from dither.disguise.plain_risk import plain_risk
from dither.disguise.report import write_risk

ROWS = {"age": [30, 30, 30, 41, 41, 50], "zip": [1, 1, 1, 1, 2, 2], "ill": ["flu", "flu", "cold", "flu", "cold", "hiv"]}


def test_a_juror_reads_how_many_of_a_hundred_are_found_and_what_is_learned(tmp_path: Path) -> None:
    table = Table.of(ROWS)
    found = risk_of(table, ["age", "zip"], ["ill"], None)
    said = plain_risk(found, ["age", "zip"])
    assert said == [
        "Suppose that an attacker knows age and zip of a person, and that the person is in the table.",
        "3 of 6 rows (50 of 100) are unique: the attacker finds them for certain.",
        # Three rows of a class of three and three alone: (1 + 3) / 6.
        "On average the attacker picks the right row for 67 of 100 people; "
        "for the easiest person, in 100 of 100 tries.",
        "ill: the attacker guesses it right for 83 of 100 people, and without the table for 50 of 100; "
        "for 50 of 100 the table leaves no doubt.",
    ]
    page = write_risk(tmp_path / "r.html", found, known=["age", "zip"]).read_text()
    assert all(sentence in page for sentence in said)


def test_rows_that_all_look_like_others_are_said_to() -> None:
    alike = risk_of(Table.of({"age": [30, 30, 41, 41]}), ["age"], [], Table.of({"age": [30] * 4 + [41] * 8}))
    assert plain_risk(alike)[1:] == [
        "No row is unique: each one looks like at least 1 other row.",
        "On average the attacker picks the right row for 50 of 100 people; for the easiest person, in 50 of 100 tries.",
        "With the register alone, not knowing who is in the table: in at most 25 of 100 tries.",
    ]
