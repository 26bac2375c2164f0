"""What a table gives away, in sentences for a juror: how many people of a hundred are found, and what is learned.

Made of the same measured figures as the tables of a report, and of nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence

from dither.disguise.measures import Guess, Risk


def plain_risk(risk: Risk, known: Sequence[str] = ()) -> list[str]:
    """Return what an attacker finds in a table, a sentence each.

    Args:
        risk: as it was measured.
        known: the columns that the attacker knows of people.

    """
    columns = listed(known) if known else "the columns that others know"
    found = [f"Suppose that an attacker knows {columns} of a person, and that the person is in the table."]
    if risk.uniques:
        share = out_of_100(risk.uniques / risk.rows)
        rows = f"{risk.uniques:,} of {risk.rows:,} {'row' if risk.rows == 1 else 'rows'}"
        are, them = ("is", "it") if risk.uniques == 1 else ("are", "them")
        found.append(f"{rows} ({share}) {are} unique: the attacker finds {them} for certain.")
    else:
        others = risk.smallest - 1
        alike = f"at least {others:,} other {'row' if others == 1 else 'rows'}"
        found.append(f"No row is unique: each one looks like {alike}.")
    if risk.uniques < risk.rows:
        found.append(
            f"On average the attacker picks the right row for {out_of_100(risk.marketer)} people; "
            f"for the easiest person, in {out_of_100(risk.prosecutor)} tries."
        )
    if risk.journalist is not None:
        found.append(
            f"With the register alone, not knowing who is in the table: in at most {out_of_100(risk.journalist)} tries."
        )
    return [*found, *map(plain_guess, risk.guesses)]


def plain_guess(one: Guess) -> str:
    """Return what an attacker learns of a sensitive column, in a sentence."""
    return (
        f"{one.column}: the attacker guesses it right for {out_of_100(one.right)} people, and without the table for "
        f"{out_of_100(one.blind)}; for {out_of_100(one.certain)} the table leaves no doubt."
    )


def out_of_100(share: float) -> str:
    """Return a share as a number of a hundred.

    >>> out_of_100(0.413), out_of_100(1), out_of_100(0.001), out_of_100(0.999), out_of_100(0)
    ('41 of 100', '100 of 100', 'fewer than 1 of 100', 'more than 99 of 100', '0 of 100')
    """
    if 0 < share < 0.01:
        return "fewer than 1 of 100"
    if 0.99 < share < 1:
        return "more than 99 of 100"
    return f"{100 * share:.0f} of 100"


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence.

    >>> listed(["age"]), listed(["age", "zip", "sex"])
    ('age', 'age, zip and sex')
    """
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else "".join(names)
